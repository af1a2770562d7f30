//! The other end of the game: joins, steers, reads the state. Blocking, on one connected socket; for tests and bots.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::message::{MESSAGE_BYTES_MAX, Reason, Reply, Request, State};
use crate::world::{BoatId, Helm};

/// How long an answer may take before the question is repeated.
const REPEAT: Duration = Duration::from_millis(200);
/// Pause between two commands to a game that is not there yet: most games listen within some tens of milliseconds.
const ABSENT: Duration = Duration::from_millis(20);

/// A player in a game.
#[derive(Debug)]
pub struct Client {
    link: Link,
    boat: BoatId,
    token: u32,
    sequence: u32,
}

/// Why a client got nowhere.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The socket failed. A server that is not there shows as `ConnectionRefused`.
    #[error("failed to talk to the game server")]
    Io(#[from] io::Error),
    /// Nothing came in time.
    #[error("the game server did not answer within {0:?}")]
    Silent(Duration),
    /// The server said no.
    #[error("the game server refused: {0:?}")]
    Refused(Reason),
    /// The server does not know this player, or not any more.
    #[error("the game server knows no player with this boat and token: join again")]
    Gone,
    /// The server's fingerprint is not that of the world it sent.
    #[error("the game server says its world is {said:016x}, but the one it sent is {sent:016x}")]
    Differs {
        /// The fingerprint in the message.
        said: u64,
        /// The fingerprint of the world in the message.
        sent: u64,
    },
}

impl Client {
    /// Joins a game, asking again until `patience` is over. The player counts from its first helm, which is sent too.
    ///
    /// # Errors
    /// Where the server is full, silent or not there.
    pub fn join(server: SocketAddr, name: &str, patience: Duration) -> Result<Self, ClientError> {
        let link = Link::open(server)?;
        let nonce = nonce();
        let join = Request::Join { nonce, name: name.to_owned() };
        let (boat, token) = link.ask(&join, patience, |reply| match reply {
            Reply::Welcome { nonce: theirs, boat, token } if theirs == nonce => Some(Ok((boat, token))),
            Reply::Refused { nonce: theirs, reason } if theirs == nonce => {
                Some(Err(ClientError::Refused(reason)))
            }
            Reply::Welcome { .. }
            | Reply::Refused { .. }
            | Reply::State(_)
            | Reply::Gone { .. }
            | Reply::Obeyed { .. } => None,
        })?;
        let mut client = Self { link, boat, token, sequence: 0 };
        client.steer(Helm::default())?;
        Ok(client)
    }

    /// The player's boat.
    #[must_use]
    pub const fn boat(&self) -> BoatId {
        self.boat
    }

    /// Sends where the levers stand now, and gives the sequence by which a later state shows that it was taken. One may
    /// be lost like any datagram; send at least one a second, or the game ends the player's part after five.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn steer(&mut self, helm: Helm) -> Result<u32, ClientError> {
        self.sequence = self.sequence.wrapping_add(1);
        let (boat, token, sequence) = (self.boat, self.token, self.sequence);
        self.link.send(&Request::Helm { boat, token, sequence, helm })?;
        Ok(sequence)
    }

    /// Waits for the next state, and checks that its world has the fingerprint it names.
    ///
    /// # Errors
    /// Where none comes in time, or the server says that this player is gone.
    pub fn state(&self, patience: Duration) -> Result<State, ClientError> {
        let until = Instant::now() + patience;
        loop {
            match self.link.receive(until)? {
                None => return Err(ClientError::Silent(patience)),
                Some(Reply::State(state)) => return checked(state),
                Some(Reply::Gone { boat }) if boat == self.boat => return Err(ClientError::Gone),
                Some(
                    Reply::Welcome { .. } | Reply::Refused { .. } | Reply::Gone { .. } | Reply::Obeyed { .. },
                ) => {}
            }
        }
    }

    /// Steers, again and again, until a state shows that it was taken, and gives that state.
    ///
    /// # Errors
    /// Where that does not happen in time.
    pub fn steer_until_taken(&mut self, helm: Helm, patience: Duration) -> Result<State, ClientError> {
        let until = Instant::now() + patience;
        let first = self.steer(helm)?;
        while Instant::now() < until {
            match self.state(REPEAT.min(patience)) {
                Ok(state) if state.sequence >= first => return Ok(state),
                Ok(_) => {}
                Err(ClientError::Silent(_)) => {
                    self.steer(helm)?;
                }
                Err(error) => return Err(error),
            }
        }
        Err(ClientError::Silent(patience))
    }

    /// Leaves the game. The message may be lost; the server then notices by silence.
    ///
    /// # Errors
    /// Where the socket fails.
    pub fn leave(self) -> Result<(), ClientError> {
        self.link.send(&Request::Leave { boat: self.boat, token: self.token })
    }
}

/// Reads the state of a game without playing.
///
/// # Errors
/// Where the server is silent or not there.
pub fn look(server: SocketAddr, patience: Duration) -> Result<State, ClientError> {
    let nonce = nonce();
    Link::open(server)?.ask(&Request::Look { nonce }, patience, |reply| match reply {
        Reply::State(state) if state.sequence == nonce => Some(checked(state)),
        Reply::State(_)
        | Reply::Welcome { .. }
        | Reply::Refused { .. }
        | Reply::Gone { .. }
        | Reply::Obeyed { .. } => None,
    })
}

/// Commands a fault (see [`crate::fault::Fault`]), once: faults such as `eat-memory` add up. The server obeys right after
/// it has answered. A game has a process before it has a socket, so one that is not there yet is waited for.
///
/// # Errors
/// Where the server is silent (it is so to a wrong token, and to other machines) or not there for all of `patience`, or
/// knows no such command.
pub fn control(
    server: SocketAddr,
    token: &str,
    command: &str,
    patience: Duration,
) -> Result<(), ClientError> {
    let nonce = nonce();
    let request = Request::Control { nonce, token: token.to_owned(), command: command.to_owned() };
    let link = Link::open(server)?;
    let until = Instant::now() + patience;
    loop {
        match command_once(&link, &request, nonce, until) {
            // Nobody had the socket, so nobody heard it, and asking again adds nothing up.
            Err(ClientError::Io(error)) if error.kind() == io::ErrorKind::ConnectionRefused => sleep(ABSENT),
            Ok(false) => return Err(ClientError::Silent(patience)),
            Ok(true) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Whether the server obeyed before `until`.
fn command_once(link: &Link, request: &Request, nonce: u32, until: Instant) -> Result<bool, ClientError> {
    link.send(request)?;
    while let Some(reply) = link.receive(until)? {
        match reply {
            Reply::Obeyed { nonce: theirs } if theirs == nonce => return Ok(true),
            Reply::Refused { nonce: theirs, reason } if theirs == nonce => {
                return Err(ClientError::Refused(reason));
            }
            Reply::Obeyed { .. }
            | Reply::Refused { .. }
            | Reply::State(_)
            | Reply::Welcome { .. }
            | Reply::Gone { .. } => {}
        }
    }
    Ok(false)
}

fn checked(state: State) -> Result<State, ClientError> {
    let (said, sent) = (state.hash, state.world.hash());
    if said == sent { Ok(state) } else { Err(ClientError::Differs { said, sent }) }
}

/// A number that no other exchange has: the standard library's random hash keys are the one source at hand.
fn nonce() -> u32 {
    let random = RandomState::new().hash_one(0_u8);
    u32::try_from(random >> 32).unwrap_or(u32::MAX)
}

/// A socket connected to a server.
#[derive(Debug)]
struct Link(UdpSocket);

impl Link {
    fn open(server: SocketAddr) -> io::Result<Self> {
        let socket = match server {
            SocketAddr::V4(_) => UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?,
            SocketAddr::V6(_) => UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0))?,
        };
        socket.connect(server)?;
        Ok(Self(socket))
    }

    fn send(&self, request: &Request) -> Result<(), ClientError> {
        self.0.send(&request.encode())?;
        Ok(())
    }

    /// The next reply before `until`; datagrams that are none are passed over.
    fn receive(&self, until: Instant) -> Result<Option<Reply>, ClientError> {
        let mut buffer = [0; MESSAGE_BYTES_MAX + 1];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            self.0.set_read_timeout(Some(left))?;
            match self.0.recv(&mut buffer) {
                Ok(length) => {
                    if let Ok(reply) = Reply::decode(&buffer[..length]) {
                        return Ok(Some(reply));
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Ok(None);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Asks until `answer` finds what it wants in a reply.
    fn ask<T>(
        &self,
        request: &Request,
        patience: Duration,
        mut answer: impl FnMut(Reply) -> Option<Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        let until = Instant::now() + patience;
        while Instant::now() < until {
            self.send(request)?;
            let repeat = until.min(Instant::now() + REPEAT);
            while let Some(reply) = self.receive(repeat)? {
                if let Some(answer) = answer(reply) {
                    return answer;
                }
            }
        }
        Err(ClientError::Silent(patience))
    }
}
