//! A connection to the control plane: TLS with its pinned authority, or in the clear to this very host.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use mainstay_wire::join::{CaPin, TLS_NAME};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tonic::transport::{Channel, Endpoint, Uri};

use super::pinned::{Pinned, Seen};

/// The port of agents' streams, where an address names none.
pub const PORT: u16 = 7421;

/// How long one address may take to accept a connection, and how long a TLS handshake may take.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How often a quiet stream is tested, and how long the answer may take: a plane that vanished without a word is noticed
/// before its players are.
const PING_INTERVAL: Duration = Duration::from_secs(2);
const PING_WITHIN: Duration = Duration::from_secs(4);

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The address is none.
    #[error("the control plane's address {uri:?} is no URI: write https://HOST:{PORT} (MS-S407)")]
    Address {
        /// What was given.
        uri: String,
    },
    /// In the clear to another host.
    #[error(
        "{uri} is another host, and http:// would carry secrets in the clear: write https://, and join with a token of \
         `mainstay token create` (MS-S410)"
    )]
    Unprotected {
        /// What was given.
        uri: String,
    },
    /// TLS without anything to pin.
    #[error(
        "{uri} needs a machine's credential, or a join token of `mainstay token create`: the host's own secret is for \
         http:// on loopback (MS-S415)"
    )]
    Unpinned {
        /// What was given.
        uri: String,
    },
    /// Nobody answers there.
    #[error("failed to reach the control plane at {uri}")]
    Unreachable {
        /// Where.
        uri: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody else answers there.
    #[error(
        "whoever answers at {uri} is not the control plane this machine trusts: its authority is {}, and {pin} is pinned. \
         Nothing was told to it. Is the address right, and the token of this control plane? (MS-S411)",
        found.map_or_else(|| "another".to_owned(), |found| found.to_string())
    )]
    OtherAuthority {
        /// Where.
        uri: String,
        /// What is pinned.
        pin: CaPin,
        /// What was shown, where it could be read.
        found: Option<CaPin>,
    },
    /// The handshake failed for another reason.
    #[error("failed to speak TLS with {uri}: is this the port of agents' streams? (MS-S412)")]
    Handshake {
        /// Where.
        uri: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// gRPC could not begin.
    #[error("failed to begin a stream with the control plane at {uri}")]
    Stream {
        /// Where.
        uri: String,
        /// Why.
        #[source]
        source: tonic::transport::Error,
    },
}

enum Io {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// Connects, pinned to `ca` where there is one.
pub(crate) async fn connect(uri: &str, ca: Option<CaPin>) -> Result<Channel, ConnectError> {
    let (io, host) = open(uri, ca).await?;
    // The connection is there already: the endpoint gets it as it is, and no second one.
    let endpoint = Endpoint::from_shared(format!("http://{host}"))
        .map_err(|_| ConnectError::Address { uri: uri.to_owned() })?
        .http2_keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_WITHIN)
        .keep_alive_while_idle(true);
    let stream = |source| ConnectError::Stream { uri: uri.to_owned(), source };
    match io {
        Io::Plain(io) => endpoint.connect_with_connector(once(io)).await.map_err(stream),
        Io::Tls(io) => endpoint.connect_with_connector(once(*io)).await.map_err(stream),
    }
}

/// A connector that has one connection to give.
fn once<T: Send + 'static>(
    io: T,
) -> impl tower::Service<
    Uri,
    Response = TokioIo<T>,
    Error = io::Error,
    Future = std::future::Ready<Result<TokioIo<T>, io::Error>>,
> + Send
+ 'static {
    let mut io = Some(io);
    tower::service_fn(move |_uri: Uri| {
        let taken = io.take().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected));
        std::future::ready(taken.map(TokioIo::new))
    })
}

/// The host (an IPv6 address without its brackets) and the port of a control plane's address; `None` where it is none.
#[must_use]
pub fn host_and_port(uri: &str) -> Option<(String, u16)> {
    let uri: Uri = uri.parse().ok()?;
    let host = uri.host()?.trim_start_matches('[').trim_end_matches(']').to_owned();
    Some((host, uri.port_u16().unwrap_or(PORT)))
}

async fn open(text: &str, ca: Option<CaPin>) -> Result<(Io, String), ConnectError> {
    let wrong = || ConnectError::Address { uri: text.to_owned() };
    let uri: Uri = text.parse().map_err(|_| wrong())?;
    let (host, port) = host_and_port(text).ok_or_else(wrong)?;
    let stream = reach(text, &host, port).await?;
    let authority = format!("{}:{port}", uri.host().ok_or_else(wrong)?);
    match (uri.scheme_str(), ca) {
        (Some("https"), Some(ca)) => Ok((Io::Tls(Box::new(secure(text, ca, stream).await?)), authority)),
        (Some("https"), None) => Err(ConnectError::Unpinned { uri: text.to_owned() }),
        (Some("http"), _) => {
            let there = stream.peer_addr().map(|address| address.ip().to_canonical().is_loopback());
            if there.unwrap_or(false) {
                Ok((Io::Plain(stream), authority))
            } else {
                Err(ConnectError::Unprotected { uri: text.to_owned() })
            }
        }
        _ => Err(wrong()),
    }
}

/// Every address of a host in turn, whichever version of IP it is.
async fn reach(uri: &str, host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let unreachable = |source| ConnectError::Unreachable { uri: uri.to_owned(), source };
    let addresses: Vec<SocketAddr> =
        tokio::net::lookup_host((host, port)).await.map_err(unreachable)?.collect();
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in addresses {
        match timeout(CONNECT_WITHIN, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // A socket that cannot do that is slower, not wrong.
                let _slower = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = error,
            Err(_elapsed) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(unreachable(last))
}

async fn secure(uri: &str, pin: CaPin, stream: TcpStream) -> Result<TlsStream<TcpStream>, ConnectError> {
    let handshake = |source| ConnectError::Handshake { uri: uri.to_owned(), source };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pinned = Arc::new(Pinned::new(pin, Arc::clone(&provider)));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| handshake(io::Error::other(error)))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::clone(&pinned) as _)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from(TLS_NAME).map_err(|error| handshake(io::Error::other(error)))?;
    let secured = timeout(CONNECT_WITHIN, TlsConnector::from(Arc::new(config)).connect(name, stream)).await;
    let secured = secured.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
    match (secured, pinned.seen()) {
        (Ok(stream), Seen::Dates { seconds }) => {
            tracing::warn!(
                code = "MS-S413",
                seconds,
                "this machine's clock lies outside the dates of the control plane's certificate: one of the two clocks is wrong; the connection is made all the same"
            );
            Ok(stream)
        }
        (Ok(stream), Seen::Nothing | Seen::Other(_)) => Ok(stream),
        (Err(_refused), Seen::Other(found)) => {
            Err(ConnectError::OtherAuthority { uri: uri.to_owned(), pin, found })
        }
        (Err(source), Seen::Nothing | Seen::Dates { .. }) => Err(handshake(source)),
    }
}
