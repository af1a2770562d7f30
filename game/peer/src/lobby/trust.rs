//! Whose word counts for it that a lobby is the one that was meant, where it is reached over https.

use std::fmt;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// How many authorities are read: more than a system's own list has (about 150).
const AUTHORITIES_MAX: usize = 512;

/// Who vouches for a lobby's certificate.
#[derive(Debug, Clone, Default)]
pub enum Trust {
    /// Whomever this system trusts.
    #[default]
    System,
    /// These alone: a studio's own, or the one that a control plane made for itself (`tls/ca.pem` of its data directory).
    Only(Authorities),
}

/// Certificates of authorities. A certificate that nobody else has signed is its own.
#[derive(Clone)]
pub struct Authorities(Arc<Vec<Certificate<'static>>>);

impl fmt::Debug for Authorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} certificates", self.0.len())
    }
}

/// Why a text holds no authorities.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// It is not in PEM form.
    #[error("the authorities' certificates are not in PEM form")]
    Pem(#[source] pem::Error),
    /// It has no certificate, such as one with a key alone.
    #[error("there is no certificate: -----BEGIN CERTIFICATE----- is looked for")]
    None,
    /// It has too many of them.
    #[error("there are more than {AUTHORITIES_MAX} certificates of authorities")]
    TooMany,
    /// One of them cannot be read.
    #[error("certificate {number} is none")]
    Certificate {
        /// Which, from 1 on.
        number: usize,
        /// Why.
        #[source]
        source: rustls::Error,
    },
}

impl Authorities {
    /// Reads them from PEM text; what is no certificate in it is left out.
    ///
    /// # Errors
    /// Where there is none, there are more than 512, or one cannot be read.
    pub fn from_pem(text: &[u8]) -> Result<Self, TrustError> {
        let mut authorities = Vec::new();
        for (at, certificate) in CertificateDer::pem_slice_iter(text).enumerate() {
            let certificate = certificate.map_err(TrustError::Pem)?;
            if at == AUTHORITIES_MAX {
                return Err(TrustError::TooMany);
            }
            // Whoever dials would leave out in silence what it cannot read.
            RootCertStore::empty()
                .add(certificate.clone())
                .map_err(|source| TrustError::Certificate { number: at + 1, source })?;
            authorities.push(Certificate::from_der(&certificate).to_owned());
        }
        if authorities.is_empty() {
            return Err(TrustError::None);
        }
        Ok(Self(Arc::new(authorities)))
    }
}

impl Trust {
    pub(super) fn config(&self, provider: Arc<CryptoProvider>) -> TlsConfig {
        let roots = match self {
            Self::System => RootCerts::PlatformVerifier,
            Self::Only(Authorities(authorities)) => RootCerts::Specific(Arc::clone(authorities)),
        };
        TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider).build()
    }
}

/// What TLS has against whoever answered.
pub(super) fn refusal(error: &ureq::Error) -> Option<&rustls::Error> {
    if let ureq::Error::Rustls(error) = error {
        return Some(error);
    }
    let ureq::Error::Io(error) = error else { return None };
    error.get_ref()?.downcast_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_no_authority_is_told() {
        let read = |text: &str| Authorities::from_pem(text.as_bytes());
        assert!(matches!(read("nonsense"), Err(TrustError::None)));
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        assert!(matches!(read(key), Err(TrustError::None)));
        let cut = "-----BEGIN CERTIFICATE-----\nAAAA\n";
        assert!(matches!(read(cut), Err(TrustError::Pem(_))));
        let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(matches!(read(garbled), Err(TrustError::Certificate { number: 1, .. })));
    }
}
