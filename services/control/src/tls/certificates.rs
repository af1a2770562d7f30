//! The certificates that are shown now, and their renewal.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_runtime::Clock;
use mainstay_wire::join::CaPin;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::{Authority, GivenCertificate, Tls, TlsError};
use crate::http::raised;

/// How often certificates are made anew, and given ones read again: those of the usual authorities are replaced weeks
/// before their end.
const RENEW_EVERY: Duration = Duration::from_hours(12);

/// The certificates that are shown now.
pub(crate) struct Certificates {
    authority: Authority,
    names: Vec<String>,
    given: Option<GivenCertificate>,
    ours: Arc<Shown>,
    faces: Arc<Shown>,
}

/// What one listener shows.
struct Shown(RwLock<Arc<CertifiedKey>>);

impl Certificates {
    /// Reads or makes everything. Blocks: it reads and writes files.
    pub(crate) fn open(tls: &Tls, now: Timestamp) -> Result<Self, TlsError> {
        let authority = Authority::open(&tls.dir)?;
        let ours = authority.issue(&tls.names, now)?;
        let faces = match &tls.given {
            Some(given) => read(given)?,
            None => Arc::clone(&ours),
        };
        let shown = |key| Arc::new(Shown(RwLock::new(key)));
        let (names, given) = (tls.names.clone(), tls.given.clone());
        Ok(Self { authority, names, given, ours: shown(ours), faces: shown(faces) })
    }

    /// What agents pin.
    pub(crate) const fn pin(&self) -> CaPin {
        self.authority.pin()
    }

    /// What greets callers of the HTTP faces.
    pub(crate) fn of_faces(&self) -> Result<TlsAcceptor, TlsError> {
        acceptor(Arc::clone(&self.faces), b"http/1.1")
    }

    /// What greets agents.
    pub(crate) fn of_agents(&self) -> Result<TlsAcceptor, TlsError> {
        acceptor(Arc::clone(&self.ours), b"h2")
    }

    /// Keeps them fresh until told to end. One that cannot be made or read leaves the one before.
    pub(crate) async fn keep(self: Arc<Self>, clock: Arc<dyn Clock>, mut closed: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = raised(&mut closed) => return,
                () = tokio::time::sleep(RENEW_EVERY) => {}
            }
            let (certificates, now) = (Arc::clone(&self), clock.now());
            let renewed = tokio::task::spawn_blocking(move || certificates.renew(now)).await;
            if let Ok(Err(error)) = renewed {
                tracing::error!(%error, "a certificate is not renewed; the one before is shown until the next try");
            }
        }
    }

    fn renew(&self, now: Timestamp) -> Result<(), TlsError> {
        let ours = self.authority.issue(&self.names, now)?;
        let faces = match &self.given {
            Some(given) => read(given),
            None => Ok(Arc::clone(&ours)),
        };
        self.ours.put(ours);
        self.faces.put(faces?);
        Ok(())
    }
}

impl Shown {
    fn put(&self, key: Arc<CertifiedKey>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = key;
    }
}

impl fmt::Debug for Shown {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown")
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn acceptor(shown: Arc<Shown>, protocol: &[u8]) -> Result<TlsAcceptor, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?
        .with_no_client_auth()
        .with_cert_resolver(shown);
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn read(given: &GivenCertificate) -> Result<Arc<CertifiedKey>, TlsError> {
    let path = &given.certificate;
    let pem = |source| TlsError::Pem { what: "certificate", path: path.clone(), source };
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_file_iter(path).map_err(pem)?.collect::<Result<_, _>>().map_err(pem)?;
    if chain.is_empty() {
        return Err(pem(rustls::pki_types::pem::Error::NoItemsFound));
    }
    let path = given.key.clone();
    let key = PrivateKeyDer::from_pem_file(&path).map_err(|source| TlsError::Pem {
        what: "private key",
        path,
        source,
    })?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map(Arc::new).map_err(TlsError::Given)
}
