//! What protects everything beyond loopback: the control plane's own certificate authority, the certificates that are
//! shown, and how a connection is greeted.
//!
//! Agents pin the authority's public key, which their join token carries. Its key is the only thing kept: certificates are
//! made anew from it at each start and twice a day, so none is ever close to its end.

mod authority;
mod certificates;
mod error;

use std::path::PathBuf;

pub(crate) use authority::Authority;
pub(crate) use certificates::Certificates;
pub use error::TlsError;

/// How a control plane protects what listens beyond loopback.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tls {
    /// Where the certificate authority's key and certificate are kept, for their owner's eyes alone.
    pub dir: PathBuf,
    /// The names and addresses callers of the HTTP faces know this host by, beyond loopback's.
    pub names: Vec<String>,
    /// What the HTTP faces show instead of a certificate of our own authority; agents always see ours.
    pub given: Option<GivenCertificate>,
}

/// A certificate of somebody else's authority, as two PEM files; read again twice a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenCertificate {
    /// The certificate, and those that lead to its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}
