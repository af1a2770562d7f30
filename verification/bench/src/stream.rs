//! An answer that is read as it comes: an event stream.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Empty};
use hyper::Request;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::Failure;
use crate::http::Header;

/// A connection that watches, one stream after another.
pub struct Watcher {
    sender: SendRequest<Empty<Bytes>>,
}

/// What is watched.
pub struct Events {
    body: Incoming,
}

impl Watcher {
    /// Connects.
    pub async fn open(server: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(Self { sender })
    }

    /// Asks for a stream.
    pub async fn watch(&mut self, path: &str, (name, value): Header<'_>) -> Result<Events, Failure> {
        self.sender.ready().await?;
        let request = Request::get(path).header("host", "localhost").header(name, value).body(Empty::new())?;
        let response = self.sender.send_request(request).await?;
        let status = response.status();
        if status.is_success() {
            Ok(Events { body: response.into_body() })
        } else {
            Err(format!("{path} was answered {status}").into())
        }
    }
}

impl Events {
    /// What comes next; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let frame = self.body.frame().await.transpose()?;
        Ok(frame.map(|frame| frame.into_data().unwrap_or_default()))
    }
}
