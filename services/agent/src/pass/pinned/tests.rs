//! Who is trusted: chains as a control plane, and as somebody in the middle, would show them.

use super::*;
use mainstay_wire::join::TLS_NAME;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, PublicKeyData as _};

struct Authority {
    key: KeyPair,
    params: CertificateParams,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        Self { key: KeyPair::generate().unwrap(), params }
    }

    fn pin(&self) -> CaPin {
        CaPin(Sha256::digest(self.key.subject_public_key_info()).into())
    }

    fn certificate(&self) -> CertificateDer<'static> {
        self.params.self_signed(&self.key).unwrap().der().clone()
    }

    fn leaf(&self, name: &str, years: (i32, i32)) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(years.0, 1, 1);
        params.not_after = rcgen::date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().unwrap();
        let issuer = Issuer::from_params(&self.params, &self.key);
        params.signed_by(&key, &issuer).unwrap().der().clone()
    }
}

const NOW: u64 = 1_790_000_000; // in 2026

fn judge(pin: CaPin, leaf: &CertificateDer<'_>, rest: &[CertificateDer<'_>]) -> (bool, Seen) {
    let verifier = Pinned::new(pin, Arc::new(rustls::crypto::ring::default_provider()));
    let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(NOW));
    let name = ServerName::try_from(TLS_NAME).unwrap();
    let verified = verifier.verify_server_cert(leaf, rest, &name, &[], now);
    (verified.is_ok(), verifier.seen())
}

#[test]
fn the_pinned_authoritys_control_plane_is_trusted() {
    let ours = Authority::new();
    let leaf = ours.leaf(TLS_NAME, (2026, 2027));
    assert_eq!(judge(ours.pin(), &leaf, &[ours.certificate()]), (true, Seen::Nothing));
}

#[test]
fn another_authority_is_not_whatever_it_shows_beside_its_own() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let leaf = theirs.leaf(TLS_NAME, (2026, 2027));
    let chains = [
        (vec![theirs.certificate()], Seen::Other(Some(theirs.pin()))),
        // Our authority's certificate is public: showing it makes nobody ours.
        (vec![ours.certificate()], Seen::Other(None)),
        (vec![theirs.certificate(), ours.certificate()], Seen::Other(None)),
        (vec![ours.certificate(), theirs.certificate()], Seen::Other(None)),
    ];
    for (chain, seen) in chains {
        assert_eq!(judge(ours.pin(), &leaf, &chain), (false, seen));
    }
    let (trusted, seen) = judge(ours.pin(), &leaf, &[]);
    assert!(!trusted && matches!(seen, Seen::Other(_)), "{seen:?}");
    let (trusted, _) = judge(ours.pin(), &leaf, &[CertificateDer::from(vec![0x30, 0x82, 0xff])]);
    assert!(!trusted, "nonsense is no authority");
}

/// An authority that copies our name, so that only the key tells them apart.
#[test]
fn a_name_like_ours_over_another_key_is_not_trusted() {
    let ours = Authority::new();
    let theirs = Authority { key: KeyPair::generate().unwrap(), params: ours.params.clone() };
    let leaf = theirs.leaf(TLS_NAME, (2026, 2027));
    assert!(!judge(ours.pin(), &leaf, &[ours.certificate()]).0);
    assert!(!judge(ours.pin(), &leaf, &[theirs.certificate()]).0);
}

#[test]
fn a_certificate_of_ours_for_another_name_is_not_the_control_planes() {
    let ours = Authority::new();
    let leaf = ours.leaf("elsewhere.example", (2026, 2027));
    assert_eq!(judge(ours.pin(), &leaf, &[ours.certificate()]), (false, Seen::Other(None)));
}

/// "A clock that is wrong on either side must not lock agents out silently": it does not at all.
#[test]
fn dates_that_do_not_fit_this_clock_are_told_and_let_pass() {
    let ours = Authority::new();
    for years in [(2020, 2021), (2040, 2041)] {
        let leaf = ours.leaf(TLS_NAME, years);
        let (trusted, seen) = judge(ours.pin(), &leaf, &[ours.certificate()]);
        assert!(trusted && matches!(seen, Seen::Dates { seconds } if seconds > 86_400), "{seen:?}");
    }
    // And only for what is otherwise in order.
    let theirs = Authority::new();
    assert!(!judge(ours.pin(), &theirs.leaf(TLS_NAME, (2020, 2021)), &[theirs.certificate()]).0);
    assert!(!judge(ours.pin(), &ours.leaf("elsewhere.example", (2020, 2021)), &[ours.certificate()]).0);
}
