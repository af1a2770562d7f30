//! One event socket: Centrifuge's commands in, replies and publications out.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{
    CONNECTION, HeaderName, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
    SEC_WEBSOCKET_VERSION, UPGRADE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use mainstay_core::ServerId;
use mainstay_wire::daemon::centrifuge::{self, Asked, BadMessage, Call, Close, Fault, MESSAGE_BYTES_MAX};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::failure::Failure;
use super::listener::{KeptPlaces, Peer};
use super::{Daemon, Right, ended};
use crate::events::{Ear, Heard};

/// The most channels of one socket: a game listens to its own, a person's tool to a few.
const CHANNELS_MAX: usize = 16;
/// How long a socket may be open before it connects.
const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// How long one message may take to be taken by the system: the other end is on this machine, and one that stopped reading
/// has filled its buffers with our events already.
const SEND_WITHIN: Duration = Duration::from_secs(5);
/// What we call ourselves in the connect's reply.
const VERSION: &str = concat!("mainstay ", env!("CARGO_PKG_VERSION"));
/// Subprotocols we are asked for by name; Unreal's socket asks for the first.
const SUBPROTOCOLS: [&str; 2] = ["ws", "centrifuge-json"];

/// `GET /v1/connection/websocket`: RFC 6455, 4.2.
pub(super) async fn connect(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    places: KeptPlaces,
    mut request: Request,
) -> Result<Response, Failure> {
    let headers = request.headers();
    let has = |name: HeaderName, word: &str| {
        let values = headers.get_all(name);
        values
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(word)))
    };
    if !has(UPGRADE, "websocket") || !has(CONNECTION, "upgrade") || !has(SEC_WEBSOCKET_VERSION, "13") {
        let detail = "this is a WebSocket of version 13: ask for an upgrade to it".to_owned();
        return Err(Failure::bad(detail));
    }
    let Some(key) = headers.get(SEC_WEBSOCKET_KEY) else {
        return Err(Failure::bad("the WebSocket's key is missing".to_owned()));
    };
    let accept = derive_accept_key(key.as_bytes());
    let Ok(accept) = HeaderValue::from_str(&accept) else {
        return Err(Failure::bad("the WebSocket's key is none".to_owned()));
    };
    let mut answer = HeaderMap::new();
    answer.insert(UPGRADE, HeaderValue::from_static("websocket"));
    answer.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    answer.insert(SEC_WEBSOCKET_ACCEPT, accept);
    if let Some(name) = SUBPROTOCOLS.into_iter().find(|name| has(SEC_WEBSOCKET_PROTOCOL, name)) {
        answer.insert(SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(name));
    }
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let _kept = places;
        match upgrade.await {
            Ok(upgraded) => serve(upgraded, daemon, peer).await,
            Err(error) => tracing::debug!(%error, "a game's event socket was not made"),
        }
    });
    Ok((StatusCode::SWITCHING_PROTOCOLS, answer).into_response())
}

/// A socket, and what it listens to.
struct Socket {
    stream: WebSocketStream<TokioIo<Upgraded>>,
    daemon: Daemon,
    peer: Arc<Peer>,
    ear: Ear,
    number: u64,
    stage: Stage,
    channels: BTreeMap<ServerId, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opened,
    Connected,
}

/// How a socket ends.
enum End {
    /// By us, with a word.
    Close(Close),
    /// By the other end, or by a fault.
    Gone,
}

async fn serve(upgraded: Upgraded, daemon: Daemon, peer: Arc<Peer>) {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX));
    let stream = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config)).await;
    let number = daemon.next_socket();
    let mut socket = Socket {
        stream,
        daemon,
        peer,
        ear: Ear::new(number),
        number,
        stage: Stage::Opened,
        channels: BTreeMap::new(),
    };
    let end = match socket.run().await {
        Err(end) => end,
        Ok(never) => match never {},
    };
    for server in socket.channels.keys() {
        socket.daemon.0.context.events.leave(*server, &socket.ear);
    }
    if let End::Close(why) = end {
        let frame = CloseFrame { code: why.code().into(), reason: why.reason().into() };
        // A client that is gone needs no farewell.
        let _gone = timeout(SEND_WITHIN, socket.stream.close(Some(frame))).await;
    }
}

impl Socket {
    async fn run(&mut self) -> Result<std::convert::Infallible, End> {
        let mut ending = self.daemon.ending();
        let mut late = std::pin::pin!(sleep(CONNECT_WITHIN));
        loop {
            tokio::select! {
                biased;
                () = ended(&mut ending) => return Err(End::Close(Close::Shutdown)),
                () = &mut late, if self.stage == Stage::Opened => return Err(End::Close(Close::Stale)),
                heard = self.ear.next() => match heard {
                    Heard::Slow => return Err(End::Close(Close::Slow)),
                    Heard::Event(event) => {
                        // A channel that was listened to before its server was known is judged now.
                        let may = self.daemon.right(&self.peer, event.server) == Right::Yes;
                        if let Some(channel) = self.channels.get(&event.server).filter(|_| may) {
                            let text = centrifuge::published(channel, &event);
                            self.send(text).await?;
                        }
                    }
                },
                message = self.stream.next() => self.take(message).await?,
            }
        }
    }

    async fn take(&mut self, message: Option<Result<Message, Error>>) -> Result<(), End> {
        let message = match message {
            Some(Ok(message @ (Message::Text(_) | Message::Binary(_)))) => message.into_data(),
            // Answered by the library.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => return Ok(()),
            Some(Ok(Message::Close(_))) | None => return Err(End::Gone),
            Some(Err(Error::Capacity(_) | Error::Utf8(_))) => return Err(End::Close(Close::BadRequest)),
            Some(Err(error)) => {
                tracing::debug!(%error, "a game's event socket broke");
                return Err(End::Gone);
            }
        };
        let commands = match centrifuge::read(&message) {
            Ok(commands) => commands,
            Err(error) => {
                tracing::info!(%error, "a game's message on its event socket makes no sense; the socket is closed");
                if let BadMessage::SecondVersion { id } = error {
                    self.send(centrifuge::refused(id, Fault::BadRequest)).await?;
                }
                return Err(End::Close(Close::BadRequest));
            }
        };
        for asked in commands {
            // Whoever asks too often waits, and with it whatever it sends next.
            while let Err(later) = self.peer.calls.take() {
                sleep(later).await;
            }
            self.answer(asked).await?;
        }
        Ok(())
    }

    async fn answer(&mut self, Asked { id, call }: Asked) -> Result<(), End> {
        if self.stage == Stage::Opened && call != Call::Connect {
            return Err(End::Close(Close::BadRequest));
        }
        let reply = match call {
            Call::Connect => {
                self.stage = Stage::Connected;
                centrifuge::connected(id, self.number, VERSION)
            }
            Call::Subscribe { channel } => return self.subscribe(id, channel).await,
            Call::Unsubscribe { channel } => {
                if let Some(server) = centrifuge::server_of(&channel)
                    && self.channels.remove(&server).is_some()
                {
                    self.daemon.0.context.events.leave(server, &self.ear);
                }
                centrifuge::done(id)
            }
            Call::Ping => centrifuge::done(id),
            Call::Send => return Ok(()),
            Call::Other { .. } => centrifuge::refused(id, Fault::MethodNotFound),
        };
        self.send(reply).await
    }

    /// "Never reject the first SUBSCRIBE" (the Go SDK hangs in its start): a server that is not known here yet is listened
    /// to all the same, and its events come once it is.
    async fn subscribe(&mut self, id: u32, channel: String) -> Result<(), End> {
        let refused = |fault| centrifuge::refused(id, fault);
        let Some(server) = centrifuge::server_of(&channel) else {
            return self.send(refused(Fault::UnknownChannel)).await;
        };
        if self.channels.contains_key(&server) {
            return self.send(refused(Fault::AlreadySubscribed)).await;
        }
        if self.channels.len() == CHANNELS_MAX {
            return self.send(refused(Fault::LimitExceeded)).await;
        }
        if self.daemon.right(&self.peer, server) == Right::No {
            return self.send(refused(Fault::PermissionDenied)).await;
        }
        // First the reply, then what was missed: clients drop publications of a channel that they do not have yet.
        self.send(centrifuge::done(id)).await?;
        self.channels.insert(server, channel);
        self.daemon.0.context.events.listen(server, &self.ear);
        Ok(())
    }

    async fn send(&mut self, text: String) -> Result<(), End> {
        match timeout(SEND_WITHIN, self.stream.send(Message::text(text))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_broken)) => Err(End::Gone),
            Err(_elapsed) => Err(End::Close(Close::Slow)),
        }
    }
}
