//! Where connections come in: listeners for both versions of IP, and the greeting that tells TLS from the rest.
//!
//! One port speaks both. A connection that begins with a TLS handshake is TLS; anything else is taken from this very host
//! alone, so that nothing readable ever crosses a network. Who comes from beyond without TLS is told so in plain HTTP.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::StatusCode;
use mainstay_wire::problem::Problem;
use socket2::{Domain, Socket, Type};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::error::StartError;

/// How long a TLS handshake may take: two round trips of a bad line, and no place to wait in.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// The first byte of a TLS connection: a record of the handshake (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 22;
/// So much is read of what a caller without TLS says: a line and the headers of a call.
const SAID_BYTES_MAX: usize = 1024;
/// How long whoever was answered before it had said all may go on saying it, unheard.
const PARTS_WITHIN: Duration = Duration::from_secs(10);
/// So much of it, once it is over: more than any face takes, since it is those who say too much that are answered early.
const UNHEARD_BYTES_MAX: usize = 64 << 20;
/// Connections that the system keeps before they are accepted.
const BACKLOG: i32 = 1024;

/// Where connections come in.
#[derive(Debug)]
pub enum Door {
    /// To be listened at. Port 0 takes a free one, and those after it with port 0 the same.
    At(SocketAddr),
    /// Listened at already: by [`listen_on`], by whoever had to know the port before.
    Held {
        /// Its address.
        at: SocketAddr,
        /// It.
        listener: std::net::TcpListener,
    },
}

impl Door {
    pub(crate) const fn address(&self) -> SocketAddr {
        match self {
            Self::At(address) | Self::Held { at: address, .. } => *address,
        }
    }
}

/// Listens at every door.
pub(crate) fn open(doors: Vec<Door>) -> Result<Vec<TcpListener>, StartError> {
    let mut port = 0;
    let mut listeners = Vec::with_capacity(doors.len());
    for door in doors {
        let address = match &door {
            Door::At(address) if address.port() == 0 => SocketAddr::new(address.ip(), port),
            Door::At(address) | Door::Held { at: address, .. } => *address,
        };
        let listen = |cause| StartError::Listen { address, cause };
        let listener = match door {
            Door::At(_) => listen_on(address).map_err(listen)?,
            Door::Held { listener, .. } => listener,
        };
        let listener = TcpListener::from_std(listener).map_err(listen)?;
        port = listener.local_addr().map_err(listen)?.port();
        listeners.push(listener);
    }
    Ok(listeners)
}

/// Listens at an address, for the runtime to accept from.
///
/// # Errors
/// What the system says: the port is taken, or the address is not of this host.
pub fn listen_on(address: SocketAddr) -> io::Result<std::net::TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if let IpAddr::V6(ip) = address.ip() {
        // The wildcard takes both versions of IP, whatever the system's default is.
        socket.set_only_v6(!ip.is_unspecified())?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Whether only this host can reach an address.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// How a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protected {
    /// It never leaves this host.
    Loopback,
    /// By TLS.
    Tls,
}

/// Whom a connection is with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer {
    /// The other end.
    pub(crate) address: SocketAddr,
    /// How it is protected.
    pub(crate) protected: Protected,
}

/// A greeted connection.
pub(crate) struct Wire {
    stream: Stream,
    peer: Peer,
    /// Its place among the connections there may be.
    _place: Option<OwnedSemaphorePermit>,
}

impl Wire {
    /// Whom it is with.
    pub(crate) const fn peer(&self) -> Peer {
        self.peer
    }

    /// How it is protected.
    pub(crate) const fn protected(&self) -> Protected {
        self.peer.protected
    }
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// The code of the refusal of whoever comes from another host without TLS.
pub(crate) const NO_TLS: &str = "MS-A006";
/// What they are told.
pub(crate) const NO_TLS_WHY: &str = "from another host this port speaks TLS alone";
/// What they may do.
pub(crate) const NO_TLS_FIX: &str = "use https:// and trust tls/ca.pem of the data directory";

/// That refusal, in the words of the face that was called.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
}

impl Refused {
    /// In our own words, whatever was said.
    pub(crate) fn natively(_said: &[u8]) -> Self {
        let problem = Problem {
            status: 400,
            code: NO_TLS.to_owned(),
            title: "Bad Request".to_owned(),
            detail: NO_TLS_WHY.to_owned(),
            fix: Some(NO_TLS_FIX.to_owned()),
            docs: Problem::docs_of(NO_TLS),
            instance: String::new(),
            problems: Vec::new(),
            certificate: None,
        };
        // Texts and numbers always become JSON.
        Self {
            status: StatusCode::BAD_REQUEST,
            content_type: Problem::CONTENT_TYPE,
            body: serde_json::to_string(&problem).unwrap_or_default(),
        }
    }
}

/// What protects the connections of a face.
#[derive(Clone)]
pub(crate) struct Guard {
    pub(crate) tls: Option<TlsAcceptor>,
    /// Told what whoever comes has said first.
    pub(crate) refuses: fn(&[u8]) -> Refused,
}

/// Greets a connection whose first byte may take `patience` to come. `None` where it is not to be served; it has been told
/// why where it could be.
pub(crate) async fn greet(
    stream: TcpStream,
    place: Option<OwnedSemaphorePermit>,
    guard: &Guard,
    patience: Duration,
) -> Option<Wire> {
    let address = stream.peer_addr().ok()?;
    // Small answers leave at once; a socket that cannot do that is slower, not wrong.
    let _slower = stream.set_nodelay(true);
    let mut first = [0];
    let begins = tokio::time::timeout(patience, stream.peek(&mut first)).await;
    if !matches!(begins, Ok(Ok(1))) {
        return None;
    }
    let wire = |stream, protected| Wire { stream, peer: Peer { address, protected }, _place: place };
    match &guard.tls {
        Some(tls) if first == [TLS_HANDSHAKE] => {
            match tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await {
                Ok(Ok(stream)) => Some(wire(Stream::Tls(Box::new(stream)), Protected::Tls)),
                Ok(Err(error)) => {
                    tracing::debug!(%error, %address, "a TLS handshake failed");
                    None
                }
                Err(_elapsed) => None,
            }
        }
        Some(_) | None if is_loopback(address.ip()) => Some(wire(Stream::Plain(stream), Protected::Loopback)),
        Some(_) | None => {
            refuse(stream, address, guard.refuses).await;
            None
        }
    }
}

/// Tells a caller without TLS that this is no place for it.
async fn refuse(mut stream: TcpStream, address: SocketAddr, refuses: fn(&[u8]) -> Refused) {
    tracing::warn!(%address, code = NO_TLS, "a connection from another host came without TLS; it was refused");
    // It is refused whether or not it hears why.
    let told = async {
        let mut said = [0; SAID_BYTES_MAX];
        let read = stream.read(&mut said).await?;
        let Refused { status, content_type, body } = refuses(&said[..read]);
        let answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\nmainstay-code: {NO_TLS}\r\ncontent-length: {}\r\nconnection: \
             close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await?;
        part(&mut stream).await;
        io::Result::Ok(())
    };
    let _unheard = tokio::time::timeout(HANDSHAKE_WITHIN, told).await;
}

/// Ends a connection on which nothing more is said by us. Whoever still says something is let finish: to close over unread bytes
/// resets the connection, which takes an answer from a client before it could read it (RFC 9112, section 9.6).
pub(crate) async fn part(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    let finished = async {
        stream.shutdown().await?;
        let mut rest = stream.take(UNHEARD_BYTES_MAX as u64);
        tokio::io::copy(&mut rest, &mut tokio::io::sink()).await
    };
    // It has been told all there is, whether or not it hears it.
    let _unheard = tokio::time::timeout(PARTS_WITHIN, finished).await;
}

impl tonic::transport::server::Connected for Wire {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
