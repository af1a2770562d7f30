//! Who a peer is: a key that is made when its process starts, and the fingerprint of it.
//!
//! Links are TLS 1.3 with bare keys (RFC 7250) instead of certificates: there is nobody to issue any, and a key that proves
//! itself is all that a fingerprint needs. Whoever is dialed has to have the fingerprint that was dialed; whoever dials
//! proves its own.

use std::sync::Arc;

use ed25519_dalek::{Signature as Dalek, VerifyingKey, verify_batch};
use mainstay_migration::{Epoch, Grant, Keys, Pass, PeerId, Receipt, SessionId, Signature, Signed};
use mainstay_wire::lobby::{LobbyKey, peer_of};
use ring::rand::SystemRandom;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring as algorithms, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, SignatureScheme,
    version::TLS13,
};

use crate::StartError;

/// What TLS reckons with.
pub(crate) fn provider() -> Arc<CryptoProvider> {
    Arc::new(algorithms::default_provider())
}

/// A process's key, and what it is known by.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) peer: PeerId,
    pair: Arc<Ed25519KeyPair>,
    certified: Arc<CertifiedKey>,
    provider: Arc<CryptoProvider>,
}

impl Key {
    /// A new one.
    pub(crate) fn new() -> Result<Self, StartError> {
        let document =
            Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| StartError::NoRandomness)?;
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).map_err(|_| StartError::NoRandomness)?;
        let private = PrivatePkcs8KeyDer::from(document.as_ref().to_vec());
        let signing = algorithms::sign::any_eddsa_type(&private).map_err(StartError::Key)?;
        let public = signing.public_key().ok_or(StartError::NoRandomness)?;
        let certificate = CertificateDer::from(public.as_ref().to_vec());
        Ok(Self {
            peer: fingerprint(&certificate).ok_or(StartError::NoRandomness)?,
            pair: Arc::new(pair),
            certified: Arc::new(CertifiedKey::new(vec![certificate], signing)),
            provider: provider(),
        })
    }

    /// What TLS reckons with, here as everywhere in this process.
    pub(crate) fn provider(&self) -> Arc<CryptoProvider> {
        Arc::clone(&self.provider)
    }

    /// Its public half.
    pub(crate) fn public(&self) -> [u8; KEY_BYTES] {
        let mut public = [0; KEY_BYTES];
        public.copy_from_slice(self.pair.public_key().as_ref());
        public
    }

    /// An Ed25519 signature.
    pub(crate) fn signature(&self, words: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        signature.copy_from_slice(self.pair.sign(words).as_ref());
        signature
    }

    /// TLS for whoever dials this peer.
    pub(crate) fn server(&self, alpn: &[u8]) -> Result<rustls::ServerConfig, StartError> {
        let mut config = rustls::ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(StartError::Key)?
            .with_client_cert_verifier(Arc::new(Anybody(self.provider.signature_verification_algorithms)))
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::clone(
                &self.certified,
            ))));
        config.alpn_protocols = vec![alpn.to_vec()];
        Ok(config)
    }

    /// TLS to dial `whom`.
    pub(crate) fn client(&self, alpn: &[u8], whom: Whom) -> Result<rustls::ClientConfig, StartError> {
        let verifier = Expected { whom, algorithms: self.provider.signature_verification_algorithms };
        let mut config = rustls::ClientConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(StartError::Key)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(Arc::clone(
                &self.certified,
            ))));
        config.alpn_protocols = vec![alpn.to_vec()];
        // A resumed handshake would take the key from a ticket: each link proves it anew.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(config)
    }
}

/// A process's keys in one session.
#[derive(Debug, Clone)]
pub(crate) struct SessionKeys {
    pub(crate) own: Key,
    /// Of its lobby, where it has one.
    pub(crate) lobby: Option<LobbyKey>,
}

impl Keys for SessionKeys {
    fn sign(&self, words: &[u8]) -> Signature {
        self.own.sign(words)
    }

    fn is_by(&self, signer: PeerId, words: &[u8], signature: &Signature) -> bool {
        self.own.is_by(signer, words, signature)
    }

    fn are_by(&self, all: &[Signed<'_>]) -> bool {
        self.own.are_by(all)
    }

    /// The host's key of 32 bytes, then the lobby's signature of 64.
    fn is_of_lobby(&self, grant: &Grant, signature: &Signature) -> bool {
        self.lobby.is_some_and(|lobby| crate::lobby::is_of_lobby(&lobby, grant, signature))
    }

    /// The peer's key of 32 bytes, then the lobby's signature of 64.
    fn is_pass(&self, session: SessionId, peer: PeerId, pass: &Pass) -> bool {
        self.lobby.is_some_and(|lobby| crate::lobby::is_pass(&lobby, session, peer, pass))
    }

    /// The lobby's signature of 64 bytes.
    fn is_receipt(&self, session: SessionId, epoch: Epoch, receipt: &Receipt) -> bool {
        self.lobby.is_some_and(|lobby| crate::lobby::is_receipt(&lobby, session, epoch, receipt))
    }
}

impl Keys for Key {
    /// The public key's 32 bytes, then the signature's 64.
    fn sign(&self, words: &[u8]) -> Signature {
        Signature([&self.public()[..], &self.signature(words)[..]].concat())
    }

    fn is_by(&self, signer: PeerId, words: &[u8], signature: &Signature) -> bool {
        let Some((key, signature)) = signature.0.split_first_chunk::<KEY_BYTES>() else { return false };
        peer_of(key) == signer && UnparsedPublicKey::new(&ED25519, key).verify(words, signature).is_ok()
    }

    /// All in one equation, which costs less than each by itself. Where that does not hold, each is asked: a key with a part of small order can be made
    /// to sign what holds alone and not among others, and its vote would spoil the election that it was counted in.
    fn are_by(&self, all: &[Signed<'_>]) -> bool {
        match all {
            [] => true,
            [one] => self.is_by(one.signer, &one.words, one.signature),
            several => {
                are_by(several).unwrap_or(false)
                    || several.iter().all(|it| self.is_by(it.signer, &it.words, it.signature))
            }
        }
    }
}

/// `None` where one is no key, no signature, or not of whom it names.
fn are_by(all: &[Signed<'_>]) -> Option<bool> {
    let (mut keys, mut signatures, mut words) = (Vec::new(), Vec::new(), Vec::new());
    for Signed { signer, words: said, signature } in all {
        let (key, signature) = signature.0.split_first_chunk::<KEY_BYTES>()?;
        if peer_of(key) != *signer {
            return None;
        }
        keys.push(VerifyingKey::from_bytes(key).ok()?);
        signatures.push(Dalek::from_slice(signature).ok()?);
        words.push(said.as_slice());
    }
    Some(verify_batch(&words, &signatures, &keys).is_ok())
}

/// Whose answer is expected at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whom {
    /// Whoever is there: its fingerprint is learnt.
    Anybody,
    /// This peer alone.
    Peer(PeerId),
}

/// How the `SubjectPublicKeyInfo` of an Ed25519 key begins (RFC 8410); the 32 bytes of the key are the rest.
const PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// How long an Ed25519 key is.
const KEY_BYTES: usize = 32;

/// The peer whose key TLS shows. `None` where it is no Ed25519 key, or not in its one form.
pub(crate) fn fingerprint(key: &CertificateDer<'_>) -> Option<PeerId> {
    Some(peer_of(key.strip_prefix(&PREFIX)?.try_into().ok()?))
}

const SCHEMES: [SignatureScheme; 1] = [SignatureScheme::ED25519];

fn proven(
    message: &[u8],
    key: &CertificateDer<'_>,
    signature: &DigitallySignedStruct,
    algorithms: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    let key = SubjectPublicKeyInfoDer::from(key.as_ref());
    verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
}

/// Checks whoever was dialed.
#[derive(Debug)]
struct Expected {
    whom: Whom,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Expected {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match (self.whom, fingerprint(key)) {
            (Whom::Anybody, Some(_)) => Ok(ServerCertVerified::assertion()),
            (Whom::Peer(peer), Some(answers)) if answers == peer => Ok(ServerCertVerified::assertion()),
            (Whom::Anybody | Whom::Peer(_), _) => {
                Err(CertificateError::ApplicationVerificationFailure.into())
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _key: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        proven(message, key, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        SCHEMES.to_vec()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

/// Checks whoever dials: it has to have a key, any.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ClientCertVerifier for Anybody {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        match fingerprint(key) {
            Some(_) => Ok(ClientCertVerified::assertion()),
            None => Err(CertificateError::ApplicationVerificationFailure.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _key: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerIncompatible::Tls12NotOffered.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        proven(message, key, signature, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        SCHEMES.to_vec()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::Scalar;
    use curve25519_dalek::constants::{ED25519_BASEPOINT_TABLE, EIGHT_TORSION};
    use ring::digest::{SHA512, digest};

    use super::*;

    #[test]
    fn what_a_peer_signs_is_its_own_and_of_these_words() {
        let (ann, eve) = (Key::new().unwrap(), Key::new().unwrap());
        let signature = ann.sign(b"words");
        assert!(eve.is_by(ann.peer, b"words", &signature));
        assert!(!eve.is_by(ann.peer, b"other words", &signature));
        assert!(!eve.is_by(eve.peer, b"words", &signature), "signed by another key than the one it names");
        let mixed = Signature([&eve.sign(b"words").0[..32], &signature.0[32..]].concat());
        assert!(!ann.is_by(eve.peer, b"words", &mixed) && !ann.is_by(ann.peer, b"words", &mixed));
        for length in 0..signature.0.len() {
            let cut = Signature(signature.0[..length].to_vec());
            assert!(!ann.is_by(ann.peer, b"words", &cut), "{length} bytes");
        }
    }

    /// What somebody signs whose key has a part of small order: it holds alone, for the hash is a multiple of eight; among others it counts as
    /// something else.
    fn signed_crookedly(words: &[u8]) -> (PeerId, Signature) {
        let secret = Scalar::from(7_u64);
        let key = (ED25519_BASEPOINT_TABLE * &secret + EIGHT_TORSION[1]).compress().to_bytes();
        let signature = (1_u64..).find_map(|nonce| {
            let nonce = Scalar::from(nonce);
            let point = (ED25519_BASEPOINT_TABLE * &nonce).compress().to_bytes();
            let hash = digest(&SHA512, &[&point, &key, words].concat());
            let hash = Scalar::from_bytes_mod_order_wide(hash.as_ref().try_into().unwrap());
            let proof = (nonce + hash * secret).to_bytes();
            hash.as_bytes()[0].is_multiple_of(8).then(|| [key, point, proof].concat())
        });
        (peer_of(&key), Signature(signature.unwrap()))
    }

    #[test]
    fn a_vote_that_holds_alone_holds_among_others() {
        let ann = Key::new().unwrap();
        for words in (0_u8..16).map(|at| [at; 60]) {
            let (eve, crooked) = signed_crookedly(&words);
            assert!(ann.is_by(eve, &words, &crooked));
            let straight = ann.sign(&words);
            let signed = [(ann.peer, &straight), (eve, &crooked)].map(|(signer, signature)| Signed {
                signer,
                words: words.to_vec(),
                signature,
            });
            assert!(ann.are_by(&signed), "a candidate counts it by itself, the others with the rest");
        }
    }

    #[test]
    fn of_many_that_are_checked_together_each_is_its_signers() {
        let peers: Vec<Key> = (0..33).map(|_| Key::new().unwrap()).collect();
        let words = |at: usize| vec![u8::try_from(at).unwrap(); 60];
        let signatures: Vec<Signature> = (0..).zip(&peers).map(|(at, it)| it.sign(&words(at))).collect();
        let all = |signatures: &[Signature]| {
            let signed = |(at, (peer, signature)): (usize, (&Key, _))| (peer.peer, words(at), signature);
            let all: Vec<_> = peers.iter().zip(signatures).enumerate().map(signed).collect();
            let all = all.iter().map(|(signer, words, signature)| Signed {
                signer: *signer,
                words: words.clone(),
                signature,
            });
            peers[0].are_by(&all.collect::<Vec<_>>())
        };
        assert!(all(&signatures) && all(&signatures[..1]) && all(&[]));
        for at in 0..peers.len() {
            let with = |other: Signature| {
                let mut signatures = signatures.clone();
                signatures[at] = other;
                all(&signatures)
            };
            assert!(!with(peers[at].sign(b"other words")), "{at}: of other words");
            assert!(!with(peers[(at + 1) % 33].sign(&words(at))), "{at}: of another peer");
            for byte in [0, 31, 32, 63, 64, 95] {
                let mut spoilt = signatures[at].clone();
                spoilt.0[byte] ^= 1;
                assert!(!with(spoilt), "{at}: byte {byte} spoilt");
            }
            assert!(
                !with(Signature(signatures[at].0[..95].to_vec())) && !with(Signature::default()),
                "{at}: cut"
            );
        }
    }
}
