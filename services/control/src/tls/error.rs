//! Why there is no TLS.

use std::io;
use std::path::PathBuf;

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file of ours, or one that was given.
    #[error("failed to {what} {} (MS-U121)", path.display())]
    Files {
        /// The step.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The certificate authority's key is no key.
    #[error(
        "{} is no key; restore it from a copy, or remove it: then every machine must join again (MS-U122)",
        path.display()
    )]
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rcgen::Error,
    },
    /// A certificate cannot be made.
    #[error("failed to make a certificate; are all names given real ones? (MS-U123)")]
    Make(#[source] rcgen::Error),
    /// A given certificate or key is not one.
    #[error("{} holds no {what} in PEM form (MS-U124)", path.display())]
    Pem {
        /// What it should hold.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// A given key does not belong to the given certificate, or is of a kind that is not used.
    #[error("the given certificate and key are not used together (MS-U124)")]
    Given(#[source] rustls::Error),
    /// TLS refuses what we ask of it: our bug.
    #[error("failed to set up TLS (MS-U125)")]
    Setup(#[source] rustls::Error),
}
