//! Centrifuge's JSON protocol, version 1 (centrifugal/protocol v0.8.4, `client.proto`), as far as the SDKs use it.
//!
//! A client sends commands, several of which may share a frame, one JSON object after another: `{"id":2,"method":1,
//! "params":{"channel":"server#7"}}`. The number of the method names it; 0, connect, may be left out. A reply carries the
//! command's id and a `result`, always, for Unreal reads none without; or an `error`. A publication has no id:
//! `{"result":{"channel":"server#7","data":{"data":{…}}}}`.
//!
//! Clients of version 2 send `{"id":1,"connect":{…}}`; they are told that this is version 1.

use std::fmt;

use mainstay_core::ServerId;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::event::Event;

/// The longest message taken from a client: its commands are below 200 bytes each, a connect token some 2 KB.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// The most commands in one message: a client that connects again sends one connect and one subscribe for each of its
/// channels, and a game server has one.
pub const COMMANDS_MAX: usize = 64;
/// The longest name of a channel (Centrifuge's own default).
pub const CHANNEL_BYTES_MAX: usize = 255;

/// A command and the id its reply carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The client's number for it; 0 for a [`Call::Send`], which has no reply.
    pub id: u32,
    /// What is asked.
    pub call: Call,
}

/// What a client can ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Begin. Whatever name, token and earlier subscriptions it carries, nobody is refused for it.
    Connect,
    /// Publish a channel's events to me.
    Subscribe {
        /// The channel's name.
        channel: String,
    },
    /// No longer.
    Unsubscribe {
        /// The channel's name.
        channel: String,
    },
    /// Are you there?
    Ping,
    /// A message without a reply; nobody listens for one.
    Send,
    /// A method of the protocol that this channel has no use for: publish, presence, history, calls, refreshes.
    Other {
        /// Its number.
        method: u8,
    },
}

/// Why a message is none.
#[derive(Debug, thiserror::Error)]
pub enum BadMessage {
    /// No JSON, or other JSON than commands.
    #[error("it is no command of Centrifuge's JSON protocol")]
    Json(#[source] serde_json::Error),
    /// Version 2 of the protocol.
    #[error("it speaks version 2 of Centrifuge's protocol, and this is version 1 (npm centrifuge 2.8.x)")]
    SecondVersion {
        /// The command's id.
        id: u32,
    },
    /// No such method.
    #[error("there is no method {method}")]
    Method {
        /// The number.
        method: u64,
    },
    /// A command without an id, which only a send may be.
    #[error("the command has no id, so it can have no reply")]
    NoId,
    /// A subscription without a channel, or to one with a name that is too long.
    #[error("the channel's name has {bytes} bytes; 1 to {CHANNEL_BYTES_MAX} are allowed")]
    Channel {
        /// How long it is.
        bytes: usize,
    },
    /// Too many commands at once.
    #[error("more than {COMMANDS_MAX} commands in one message")]
    TooMany,
}

#[derive(Deserialize)]
struct RawCommand {
    #[serde(default)]
    id: u32,
    #[serde(default)]
    method: u64,
    #[serde(default)]
    params: Option<RawParams>,
    /// Keys of version 2.
    connect: Option<IgnoredAny>,
    subscribe: Option<IgnoredAny>,
    ping: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct RawParams {
    #[serde(default)]
    channel: String,
}

/// Reads one message of a client: one command or more.
///
/// # Errors
/// See [`BadMessage`]; of a message in which one command is bad, none is taken.
pub fn read(message: &[u8]) -> Result<Vec<Asked>, BadMessage> {
    let mut commands = Vec::new();
    for command in serde_json::Deserializer::from_slice(message).into_iter::<RawCommand>() {
        if commands.len() == COMMANDS_MAX {
            return Err(BadMessage::TooMany);
        }
        commands.push(asked(command.map_err(BadMessage::Json)?)?);
    }
    Ok(commands)
}

fn asked(raw: RawCommand) -> Result<Asked, BadMessage> {
    if raw.connect.is_some() || raw.subscribe.is_some() || raw.ping.is_some() {
        return Err(BadMessage::SecondVersion { id: raw.id });
    }
    let channel = || {
        let channel = raw.params.map(|params| params.channel).unwrap_or_default();
        match channel.len() {
            1..=CHANNEL_BYTES_MAX => Ok(channel),
            bytes => Err(BadMessage::Channel { bytes }),
        }
    };
    let call = match raw.method {
        0 => Call::Connect,
        1 => Call::Subscribe { channel: channel()? },
        2 => Call::Unsubscribe { channel: channel()? },
        7 => Call::Ping,
        8 => Call::Send,
        method => match u8::try_from(method) {
            Ok(method @ 3..=11) => Call::Other { method },
            Ok(_) | Err(_) => return Err(BadMessage::Method { method }),
        },
    };
    if raw.id == 0 && call != Call::Send {
        return Err(BadMessage::NoId);
    }
    Ok(Asked { id: raw.id, call })
}

/// The channel of a server's events, as the Go SDK names it.
#[must_use]
pub fn channel_of(server: ServerId) -> String {
    format!("server#{}", server.number())
}

/// The server whose events a channel carries; `None` where it is no such channel.
#[must_use]
pub fn server_of(channel: &str) -> Option<ServerId> {
    channel.strip_prefix("server#")?.parse().ok()
}

/// Why a command was not done, in Centrifuge's own numbers (centrifuge v0.21.1, `errors.go`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// No server's channel is called that.
    UnknownChannel,
    /// It is another server's channel.
    PermissionDenied,
    /// The method is not served.
    MethodNotFound,
    /// The connection has that channel.
    AlreadySubscribed,
    /// More channels than one connection may have.
    LimitExceeded,
    /// Before its connect, or of another version.
    BadRequest,
}

impl Fault {
    const fn code(self) -> u32 {
        match self {
            Self::UnknownChannel => 102,
            Self::PermissionDenied => 103,
            Self::MethodNotFound => 104,
            Self::AlreadySubscribed => 105,
            Self::LimitExceeded => 106,
            Self::BadRequest => 107,
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::UnknownChannel => "unknown channel",
            Self::PermissionDenied => "permission denied",
            Self::MethodNotFound => "method not found",
            Self::AlreadySubscribed => "already subscribed",
            Self::LimitExceeded => "limit exceeded",
            Self::BadRequest => "bad request",
        }
    }
}

#[derive(Serialize)]
struct Reply<R> {
    id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RawError>,
    result: R,
}

#[derive(Serialize)]
struct RawError {
    code: u32,
    message: &'static str,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
struct Connected<'a> {
    client: &'a str,
    version: &'a str,
}

#[derive(Serialize)]
struct Push<'a> {
    result: Publication<'a>,
}

#[derive(Serialize)]
struct Publication<'a> {
    channel: &'a str,
    data: Data<'a>,
}

#[derive(Serialize)]
struct Data<'a> {
    data: &'a Event,
}

/// The reply to a connect.
#[must_use]
pub fn connected(id: u32, client: impl fmt::Display, version: &str) -> String {
    text(&Reply { id, error: None, result: Connected { client: &client.to_string(), version } })
}

/// The reply to a subscribe, an unsubscribe or a ping.
#[must_use]
pub fn done(id: u32) -> String {
    text(&Reply { id, error: None, result: Nothing {} })
}

/// The reply to a command that was not done.
#[must_use]
pub fn refused(id: u32, fault: Fault) -> String {
    let error = RawError { code: fault.code(), message: fault.message() };
    text(&Reply { id, error: Some(error), result: Nothing {} })
}

/// An event, published on a channel.
#[must_use]
pub fn published(channel: &str, event: &Event) -> String {
    text(&Push { result: Publication { channel, data: Data { data: event } } })
}

fn text(value: &impl Serialize) -> String {
    // Strings and numbers alone: nothing in them can fail to be JSON.
    serde_json::to_string(value).unwrap_or_default()
}

/// Why the daemon closes a socket. A client reads its reason as JSON, and connects again where it says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// The daemon ends; the next one is at the same place.
    Shutdown,
    /// The client's message made no sense.
    BadRequest,
    /// The client did not connect in time.
    Stale,
    /// The client does not read; its channel is replayed when it comes back.
    Slow,
}

impl Close {
    /// The close frame's code (centrifuge v0.21.1, `disconnect.go`).
    #[must_use]
    pub const fn code(self) -> u16 {
        match self {
            Self::Shutdown => 3001,
            Self::BadRequest => 3003,
            Self::Stale => 3007,
            Self::Slow => 3008,
        }
    }

    /// The close frame's reason.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Shutdown => r#"{"reason":"shutdown","reconnect":true}"#,
            Self::BadRequest => r#"{"reason":"bad request","reconnect":false}"#,
            Self::Stale => r#"{"reason":"stale","reconnect":false}"#,
            Self::Slow => r#"{"reason":"slow","reconnect":true}"#,
        }
    }
}
