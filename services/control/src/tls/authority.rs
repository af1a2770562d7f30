//! The control plane's own certificate authority.
//!
//! Only its key is kept (`ca.key`, mode 0600). `ca.pem` is for callers who want to trust it; it is written anew at each
//! start, under the same name and key, so an older copy goes on being right.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mainstay_core::Timestamp;
use mainstay_journal::durable;
use mainstay_wire::join::{CaPin, TLS_NAME};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use time::{Duration, OffsetDateTime};

use super::TlsError;
use crate::http::sha256;
use crate::kept::{folder, only_its_owners};

/// How long a certificate of ours lasts; it is made anew long before.
const LEAF_LIFE: Duration = Duration::days(90);
/// How long before its making a certificate counts already: callers whose clocks are slow.
const LEAF_EARLY: Duration = Duration::days(7);
/// How long a copy of `ca.pem` is good for.
const CA_LIFE: Duration = Duration::days(3653);

const KEY_FILE: &str = "ca.key";
const CERTIFICATE_FILE: &str = "ca.pem";

/// The certificate authority.
pub(crate) struct Authority {
    key: KeyPair,
    dir: PathBuf,
    pin: CaPin,
}

impl Authority {
    /// Reads the key, or makes it, once.
    pub(crate) fn open(dir: &Path) -> Result<Self, TlsError> {
        let path = dir.join(KEY_FILE);
        let files = |what, path: &Path| {
            let path = path.to_owned();
            move |source| TlsError::Files { what, path, source }
        };
        folder(dir).map_err(files("make", dir))?;
        let key = match fs::read_to_string(&path) {
            Ok(text) => {
                only_its_owners(&path).map_err(files("close to others", &path))?;
                KeyPair::from_pem(&text).map_err(|source| TlsError::Key { path, source })?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = KeyPair::generate().map_err(TlsError::Make)?;
                durable::write(dir, KEY_FILE, key.serialize_pem().as_bytes(), 0o600)
                    .map_err(files("write", &path))?;
                key
            }
            Err(source) => return Err(TlsError::Files { what: "read", path, source }),
        };
        let pin = CaPin(sha256(&key.subject_public_key_info()));
        Ok(Self { key, dir: dir.to_owned(), pin })
    }

    /// What agents pin.
    pub(crate) const fn pin(&self) -> CaPin {
        self.pin
    }

    /// A new certificate for this host, with the authority's own behind it, which is also written to `ca.pem`.
    pub(crate) fn issue(&self, names: &[String], now: Timestamp) -> Result<Arc<CertifiedKey>, TlsError> {
        let now = moment(now);
        let ca = self.certificate(now)?;
        let path = self.dir.join(CERTIFICATE_FILE);
        durable::write(&self.dir, CERTIFICATE_FILE, ca.pem().as_bytes(), 0o644)
            .map_err(|source| TlsError::Files { what: "write", path, source })?;
        let all = [TLS_NAME, "localhost", "127.0.0.1", "::1"].map(str::to_owned).into_iter();
        let all: Vec<String> = all.chain(names.iter().cloned()).collect();
        let mut leaf = CertificateParams::new(all).map_err(TlsError::Make)?;
        (leaf.not_before, leaf.not_after) = (now - LEAF_EARLY, now + LEAF_LIFE);
        leaf.distinguished_name = named("Mainstay control plane");
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        leaf.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(TlsError::Make)?;
        let params = self.params(now);
        let issuer = Issuer::from_params(&params, &self.key);
        let leaf = leaf.signed_by(&key, &issuer).map_err(TlsError::Make)?;
        certified(vec![leaf.der().clone(), ca.der().clone()], &key)
    }

    fn certificate(&self, now: OffsetDateTime) -> Result<Certificate, TlsError> {
        self.params(now).self_signed(&self.key).map_err(TlsError::Make)
    }

    fn params(&self, now: OffsetDateTime) -> CertificateParams {
        let mut params = CertificateParams::default();
        // The name is of the key, so that certificates of two control planes are never confused, and one's always agree.
        let pin = self.pin.to_string();
        params.distinguished_name = named(&format!("Mainstay control plane CA {}", &pin[..16]));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (params.not_before, params.not_after) = (rcgen::date_time_ymd(2024, 1, 1), now + CA_LIFE);
        params
    }
}

fn certified(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Result<Arc<CertifiedKey>, TlsError> {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map(Arc::new).map_err(TlsError::Setup)
}

fn named(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

/// A clock that is beyond what certificates can say counts as 1970: agents do not judge by it anyway.
fn moment(now: Timestamp) -> OffsetDateTime {
    let seconds = i64::try_from(now.unix_ms() / 1000).unwrap_or_default();
    let latest = rcgen::date_time_ymd(9000, 1, 1);
    OffsetDateTime::from_unix_timestamp(seconds)
        .ok()
        .filter(|now| *now < latest)
        .unwrap_or(OffsetDateTime::UNIX_EPOCH + LEAF_EARLY)
}
