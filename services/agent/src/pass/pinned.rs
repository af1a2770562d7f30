//! Trusts one certificate authority, by its public key, and nobody else.
//!
//! The clock of this machine does not decide. A certificate of the pinned authority is made anew twice a day by the control
//! plane, whose key lies beside the authority's own: whoever stole one has both, so its dates protect nothing, and a
//! machine that boots in 1970 must not be locked out. A date that does not fit is told loudly and let pass
//! (docs/decisions/0020).

use std::sync::{Arc, Mutex, PoisonError};

use mainstay_wire::join::CaPin;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};

/// Verifies a control plane by its pin.
#[derive(Debug)]
pub(super) struct Pinned {
    pin: CaPin,
    provider: Arc<CryptoProvider>,
    seen: Mutex<Seen>,
}

/// What was seen in the last handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Nothing worth a word.
    Nothing,
    /// Another authority; its pin, where it showed itself.
    Other(Option<CaPin>),
    /// A certificate whose dates do not fit this machine's clock: this many seconds off.
    Dates {
        /// Seconds by which the clock lies outside.
        seconds: u64,
    },
}

impl Pinned {
    pub(super) fn new(pin: CaPin, provider: Arc<CryptoProvider>) -> Self {
        Self { pin, provider, seen: Mutex::new(Seen::Nothing) }
    }

    pub(super) fn seen(&self) -> Seen {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, seen: Seen) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = intermediates.iter().find(|shown| pin_of(shown) == Some(self.pin)) else {
            self.see(Seen::Other(intermediates.last().or(Some(end_entity)).and_then(pin_of)));
            return Err(Error::InvalidCertificate(CertificateError::UnknownIssuer));
        };
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&self.provider))
                .build()
                .map_err(|error| Error::General(error.to_string()))?;
        let at = |now| verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp, now);
        let (within, verified) = match at(now) {
            Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
                (not_after, at(not_after))
            }
            Err(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => {
                (not_before, at(not_before))
            }
            verified => (now, verified),
        };
        match &verified {
            Ok(_) if within != now => {
                self.see(Seen::Dates { seconds: now.as_secs().abs_diff(within.as_secs()) });
            }
            Ok(_) => {}
            Err(_) => self.see(Seen::Other(None)),
        }
        verified
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The SHA-256 of a certificate's SubjectPublicKeyInfo; `None` where it is no certificate.
fn pin_of(certificate: &CertificateDer<'_>) -> Option<CaPin> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone().into_owned()).ok()?;
    // Parsed without the outer sequence's head, which the hash is over as well (RFC 7469, section 2.4).
    let inside = &roots.roots.first()?.subject_public_key_info;
    let mut hash = Sha256::new();
    hash.update(sequence_head(inside.len())?);
    hash.update(inside.as_ref());
    Some(CaPin(hash.finalize().into()))
}

/// The head of a DER sequence of so many bytes (X.690, section 8.1.3).
fn sequence_head(length: usize) -> Option<Vec<u8>> {
    const SEQUENCE: u8 = 0x30;
    match u16::try_from(length).ok()?.to_be_bytes() {
        [0, low @ 0..=0x7f] => Some(vec![SEQUENCE, low]),
        [0, low] => Some(vec![SEQUENCE, 0x81, low]),
        [high, low] => Some(vec![SEQUENCE, 0x82, high, low]),
    }
}

#[cfg(test)]
mod tests;
