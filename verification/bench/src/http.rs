//! A caller's connection over HTTP/1.1, kept open: one call after another.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::Failure;

/// A connection, with what proves who calls.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
}

/// A header: its name and value.
pub type Header<'a> = (&'a str, &'a str);

impl Connection {
    /// Connects.
    pub async fn open(server: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let (sender, driver) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(driver);
        Ok(Self { sender })
    }

    /// Calls, and reads the whole answer.
    pub async fn call(
        &mut self,
        method: Method,
        path: &str,
        header: Header<'_>,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Failure> {
        let response = self.send(method, path, header, body).await?;
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }

    /// Calls, and leaves the answer's body to be read as it comes.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        (name, value): Header<'_>,
        body: Bytes,
    ) -> Result<Response<Incoming>, Failure> {
        self.sender.ready().await?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header(name, value)
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        Ok(self.sender.send_request(request).await?)
    }
}
