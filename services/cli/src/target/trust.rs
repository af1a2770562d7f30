//! Who vouches that an instance elsewhere is the one that was meant.

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::failure::{Exit, Failure};

/// Whose word counts.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Whoever this system trusts.
    System,
    /// These authorities alone.
    Only(Arc<Vec<Certificate<'static>>>),
}

impl Trust {
    /// The authorities of a file, or this system's.
    pub fn read(file: Option<&Path>) -> Result<Self, Failure> {
        let Some(file) = file else { return Ok(Self::System) };
        let text = std::fs::read(file).map_err(|error| {
            Failure::new(Exit::Usage, "MS-U006", format!("cannot read {}", file.display())).why(error)
        })?;
        let authorities = authorities(&text).map_err(|why| {
            Failure::new(
                Exit::Usage,
                "MS-U057",
                format!("{} holds no authority's certificate", file.display()),
            )
            .why(why)
            .fix("name a PEM file, such as a copy of tls/ca.pem of the instance's data directory")
        })?;
        Ok(Self::Only(Arc::new(authorities)))
    }

    /// How TLS is spoken then.
    pub fn config(&self) -> TlsConfig {
        let roots = match self {
            Self::System => RootCerts::PlatformVerifier,
            Self::Only(authorities) => RootCerts::Specific(Arc::clone(authorities)),
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        TlsConfig::builder().root_certs(roots).unversioned_rustls_crypto_provider(provider).build()
    }
}

fn authorities(text: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let read = |certificate: Result<CertificateDer<'static>, _>| {
        let certificate = certificate.map_err(|error: rustls::pki_types::pem::Error| error.to_string())?;
        // Whoever dials would leave out in silence what it cannot read.
        RootCertStore::empty().add(certificate.clone()).map_err(|error| error.to_string())?;
        Ok::<_, String>(Certificate::from_der(&certificate).to_owned())
    };
    let authorities = CertificateDer::pem_slice_iter(text).map(read).collect::<Result<Vec<_>, _>>()?;
    if authorities.is_empty() {
        return Err("-----BEGIN CERTIFICATE----- is looked for".to_owned());
    }
    Ok(authorities)
}

/// What TLS has against whoever answered.
pub fn refusal(error: &ureq::Error) -> Option<&rustls::Error> {
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
        let key = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for text in ["nonsense", key, "-----BEGIN CERTIFICATE-----\nAAAA\n", garbled] {
            assert!(authorities(text.as_bytes()).is_err(), "{text}");
        }
    }
}
