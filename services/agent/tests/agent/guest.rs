//! A game's side of the local daemon, without an SDK: bytes as they were recorded (reference multiplay.md 2), from a
//! socket of the slot's own user.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

use nix::unistd::{Uid, setfsuid};
use serde_json::Value;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

use crate::host::Host;
use crate::plane::PATIENCE;

/// Somebody on the machine.
#[derive(Debug, Clone)]
pub struct Guest {
    address: String,
    uid: u32,
}

/// An HTTP answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// A header's value, if it is there.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head
            .lines()
            .filter_map(|line| line.split_once(": "))
            .find_map(|(found, value)| found.eq_ignore_ascii_case(name).then_some(value))
    }
}

impl Guest {
    /// The game of a slot, as far as the kernel can tell: its user.
    pub fn of(host: &Host, n: u32) -> Self {
        let home = host.dirs(n).home;
        let uid = std::fs::metadata(&home).expect("the slot has a home").uid();
        let url = host.told(n, "localProxyUrl");
        let address = url.strip_prefix("http://").expect("an address").to_owned();
        Self { address, uid }
    }

    /// Another user of the machine.
    pub fn other(&self) -> Self {
        Self { uid: 61_234, ..self.clone() }
    }

    /// The machine's own root.
    pub fn root(guest: &Self) -> Self {
        Self { uid: 0, ..guest.clone() }
    }

    /// A connection made by this user: sockets are their maker's.
    pub fn connect(&self) -> TcpStream {
        let Self { address, uid } = self.clone();
        let made = std::thread::spawn(move || {
            // This thread's alone. Without root it changes nothing, and all are one user.
            setfsuid(Uid::from_raw(uid));
            TcpStream::connect(address).expect("the daemon is there")
        });
        let stream = made.join().expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream
    }

    pub fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        call(&mut self.connect(), method, path, body, "Connection: close\r\n")
    }

    /// The event socket, connected and greeted.
    pub fn events(&self) -> Events {
        let mut events = self.socket();
        assert_eq!(events.ask(r#"{"id":1,"params":{"name":"go"}}"#)["id"], 1);
        events
    }

    /// The event socket, as it is before its connect.
    pub fn socket(&self) -> Events {
        let url = format!("ws://{}/v1/connection/websocket", self.address);
        let (socket, _answer) = tungstenite::client(url, self.connect()).expect("a socket");
        Events(socket)
    }
}

/// Sends a call on a connection that may be used again, and reads what comes.
pub fn call(stream: &mut TcpStream, method: &str, path: &str, body: &str, headers: &str) -> Answer {
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .expect("the daemon reads");
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).expect("the daemon answers");
        text.extend_from_slice(&buffer[..read]);
        let all = String::from_utf8_lossy(&text).into_owned();
        if let Some((head, body)) = all.split_once("\r\n\r\n") {
            let status = head.split(' ').nth(1).expect("a status").parse().expect("a number");
            let answer = Answer { status, head: head.to_owned(), body: body.to_owned() };
            let length =
                answer.header("content-length").map_or(0, |length| length.parse().expect("a length"));
            if answer.body.len() >= length {
                return answer;
            }
        }
        assert!(read > 0, "the daemon broke off: {all}");
    }
}

/// An event socket.
pub struct Events(pub WebSocket<TcpStream>);

impl Events {
    pub fn send(&mut self, text: &str) {
        self.0.send(Message::text(text)).expect("the daemon reads");
    }

    /// The next message.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        loop {
            match self.0.read().expect("the daemon speaks") {
                Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
                Message::Ping(_) | Message::Pong(_) => {}
                other @ (Message::Binary(_) | Message::Close(_) | Message::Frame(_)) => panic!("{other:?}"),
            }
        }
    }

    #[track_caller]
    pub fn ask(&mut self, text: &str) -> Value {
        self.send(text);
        self.next()
    }

    /// Subscribes to a server's channel, as the Go SDK does.
    #[track_caller]
    pub fn subscribe(&mut self, server: u64) -> Value {
        self.ask(&format!(r#"{{"id":2,"method":1,"params":{{"channel":"server#{server}"}}}}"#))
    }

    /// Nothing has come: a ping's reply is next.
    #[track_caller]
    pub fn is_quiet(&mut self) {
        assert_eq!(self.ask(r#"{"id":9,"method":7}"#), serde_json::json!({"id": 9, "result": {}}));
    }

    /// How the daemon closes the socket: code and reason.
    #[track_caller]
    pub fn closed(&mut self) -> (u16, String) {
        loop {
            match self.0.read() {
                Ok(Message::Close(Some(frame))) => return (frame.code.into(), frame.reason.to_string()),
                Ok(Message::Text(_) | Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Whether slots have users of their own here, so that a stranger can be told from a game.
pub fn users_tell() -> bool {
    Uid::effective().is_root()
}

/// Runs what blocks, beside the plane.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::time::timeout(PATIENCE + Duration::from_secs(5), tokio::task::spawn_blocking(work))
        .await
        .expect("in time")
        .expect("without a panic")
}
