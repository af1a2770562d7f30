//! A caller's connection over HTTP/1.1, kept open: one call after another. It shares the machine with the service it measures, so it
//! does as little as it can: one buffer out, one in, and no task of its own.

use std::io::Write as _;
use std::net::SocketAddr;

use hyper::{Method, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::Failure;

/// The most headers of an answer: three times what ours have.
const HEADERS_MAX: usize = 32;

/// A connection.
pub struct Connection {
    stream: TcpStream,
    asked: Vec<u8>,
    answered: Vec<u8>,
}

/// A header: its name and value.
pub type Header<'a> = (&'a str, &'a str);

impl Connection {
    /// Connects.
    pub async fn open(server: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, asked: Vec::new(), answered: Vec::new() })
    }

    /// Calls, and reads the whole answer.
    pub async fn call(
        &mut self,
        method: &Method,
        path: &str,
        (name, value): Header<'_>,
        body: &str,
    ) -> Result<(StatusCode, &[u8]), Failure> {
        self.asked.clear();
        write!(
            self.asked,
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{name}: {value}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
        self.stream.write_all(&self.asked).await?;
        self.answered.clear();
        loop {
            if self.stream.read_buf(&mut self.answered).await? == 0 {
                return Err("the connection ended before the answer".into());
            }
            if let Some(Answer { status, body, end }) = answer(&self.answered)?
                && self.answered.len() >= end
            {
                return Ok((status, &self.answered[body..end]));
            }
        }
    }
}

/// An answer's head: its status, and where its body begins and ends.
struct Answer {
    status: StatusCode,
    body: usize,
    end: usize,
}

/// The head, once all of it has come.
fn answer(bytes: &[u8]) -> Result<Option<Answer>, Failure> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut head = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(body) = head.parse(bytes)? else { return Ok(None) };
    let status = StatusCode::from_u16(head.code.ok_or("an answer without a status")?)?;
    let length = head.headers.iter().find(|header| header.name.eq_ignore_ascii_case("content-length"));
    let length: usize = match length {
        Some(header) => std::str::from_utf8(header.value)?.trim().parse()?,
        None if status == StatusCode::NO_CONTENT => 0,
        None => return Err(format!("an answer {status} does not say how long it is").into()),
    };
    Ok(Some(Answer { status, body, end: body + length }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_once_its_head_is_whole() {
        let bytes = b"HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nhello";
        let head_bytes = bytes.len() - 5;
        for cut in 0..head_bytes {
            assert!(answer(&bytes[..cut]).unwrap().is_none(), "{cut} bytes are no head");
        }
        let whole = answer(bytes).unwrap().expect("a head");
        assert_eq!((whole.status, whole.body, whole.end), (StatusCode::CREATED, head_bytes, bytes.len()));
        let empty = answer(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().expect("a head");
        assert_eq!(empty.body, empty.end);
        assert!(answer(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
    }
}
