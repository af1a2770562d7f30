//! Carries packets between members of sessions whom their routers keep apart: the hand of [`switch`].
//!
//! What it carries is encrypted from end to end; the relay sees who sends how much to whom. Only members of the lobby's sessions
//! are carried for: a ticket comes with joining, is shown in each hail, and is worth nothing once its member has left. Whoever
//! hails has to prove that it reads what is sent to its address, so that nobody has packets sent to somebody else, and nothing
//! that is answered is longer than what asked for it.

mod switch;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::SessionId;
use mainstay_runtime::Clock;
use mainstay_wire::lobby::PeerKey;
use mainstay_wire::relay::{FRAME_BYTES_MAX, Frame, Hail, Proof, SECRET_BYTES, Seat, Ticket};
use ring::hmac::{HMAC_SHA256, Key, sign};
use tokio::net::UdpSocket;
use tokio::sync::{mpsc, watch};

use self::switch::{Carried, Switch};
use crate::http::raised;
use crate::limiter::Limiter;
use crate::lobby::Lobbies;
use crate::metrics::{Metrics, RELAY_CARRIED};

/// The most hails of an address a minute: three by each of sixty players behind one router, each twice at first, and as many lost.
const HAILS_A_MINUTE: u32 = 600;
/// How often it is counted for how many it carries.
const COUNT_EVERY: Duration = Duration::from_secs(5);
/// How many hails wait until their membership is looked up. More are lost, and come again.
const HAILS_MAX: usize = 1_024;

/// What tickets and proofs are made with: the lobby's secret, so that members' tickets outlive this process.
#[derive(Debug, Clone)]
pub(crate) struct Tickets(Arc<Key>);

impl Tickets {
    /// Of a secret.
    pub(crate) fn new(secret: &[u8]) -> Self {
        Self(Arc::new(Key::new(HMAC_SHA256, secret)))
    }

    /// For a member of a session.
    pub(crate) fn of(&self, session: SessionId, peer: &PeerKey) -> Ticket {
        Ticket(self.sign(&Hail::ticket_of(session, peer)))
    }

    /// That whoever says it reads what is sent there.
    fn proof(&self, address: SocketAddr) -> Proof {
        Proof(self.sign(format!("mainstay relay address 1\0{address}").as_bytes()))
    }

    fn sign(&self, bytes: &[u8]) -> [u8; SECRET_BYTES] {
        let whole = sign(&self.0, bytes);
        std::array::from_fn(|at| whole.as_ref().get(at).copied().unwrap_or_default())
    }
}

/// A relay that listens.
pub(crate) struct Relay {
    socket: UdpSocket,
    lobbies: Lobbies,
    switch: Mutex<Switch>,
    limiter: Limiter,
    clock: Arc<dyn Clock>,
    metrics: Arc<Metrics>,
}

/// A hail that shows a ticket and a proof, and from where.
#[derive(Debug)]
struct Proven {
    session: SessionId,
    peer: PeerKey,
    from: SocketAddr,
}

impl Relay {
    /// Over that socket, for members of these lobbies' sessions.
    pub(crate) fn new(
        socket: UdpSocket,
        lobbies: Lobbies,
        clock: &Arc<dyn Clock>,
        metrics: &Arc<Metrics>,
    ) -> Self {
        Self {
            socket,
            lobbies,
            switch: Mutex::default(),
            limiter: Limiter::new(HAILS_A_MINUTE),
            clock: Arc::clone(clock),
            metrics: Arc::clone(metrics),
        }
    }

    /// Carries until `closed`.
    pub(crate) async fn serve(self, mut closed: watch::Receiver<bool>) {
        let (hails, hailed) = mpsc::channel(HAILS_MAX);
        tokio::select! {
            () = raised(&mut closed) => {}
            () = self.listen(hails) => {}
            () = self.admit(hailed) => {}
            () = self.count() => {}
        }
    }

    async fn count(&self) {
        let mut due = tokio::time::interval(COUNT_EVERY);
        loop {
            due.tick().await;
            let seats = self.switch().len(self.clock.now());
            self.metrics.relay_seats(seats);
        }
    }

    async fn listen(&self, hails: mpsc::Sender<Proven>) {
        // One more than is looked at: a longer datagram is told from one that just fits.
        let mut buffer = [0; FRAME_BYTES_MAX + 1];
        loop {
            match self.socket.recv_from(&mut buffer).await {
                Ok((length, from)) => match Frame::decode(&buffer[..length]) {
                    Some(Frame::Hail(hail)) => self.hailed(&hail, from, &hails),
                    Some(Frame::Carry { seat, packet }) => self.carry(from, seat, packet),
                    // These are the relay's to say.
                    Some(Frame::Prove { .. } | Frame::Heard { .. }) | None => {
                        self.metrics.relay_carried("ignored", 0);
                    }
                },
                // Of one datagram; the socket stays.
                Err(error) => tracing::debug!(%error, "nothing was received"),
            }
        }
    }

    fn carry(&self, from: SocketAddr, to: Seat, packet: &[u8]) {
        let carried = self.switch().carry(self.clock.now(), from, to, packet.len());
        let result = match carried {
            Carried::To { address, from } => self.send(address, &Frame::Carry { seat: from, packet }),
            Carried::Stranger => "stranger",
            Carried::Nobody => "nobody",
            Carried::TooMuch => "limited",
        };
        self.metrics.relay_carried(result, packet.len());
    }

    /// Sends at once, or not at all: what is carried is no better than on any network.
    fn send(&self, to: SocketAddr, frame: &Frame<'_>) -> &'static str {
        match self.socket.try_send_to(&frame.encode(), to) {
            Ok(_) => RELAY_CARRIED,
            Err(error) => {
                tracing::debug!(%error, %to, "a frame was not sent");
                "failed"
            }
        }
    }

    fn hailed(&self, hail: &Hail, from: SocketAddr, hails: &mpsc::Sender<Proven>) {
        let Hail { session, peer, ticket, proof } = *hail;
        let result = if self.limiter.charge([from.ip().to_canonical()], self.clock.now()).is_err() {
            "limited"
        } else if self.lobbies.tickets().of(session, &peer) != ticket {
            "forged"
        } else if self.lobbies.tickets().proof(from) != proof {
            self.send(from, &Frame::Prove { session, proof: self.lobbies.tickets().proof(from) });
            "asked"
        } else if hails.try_send(Proven { session, peer, from }).is_err() {
            "busy"
        } else {
            return;
        };
        self.metrics.relay_hailed(result);
    }

    /// Looks up who hailed: a ticket outlives the membership it was given for.
    async fn admit(&self, mut hailed: mpsc::Receiver<Proven>) {
        while let Some(Proven { session, peer, from }) = hailed.recv().await {
            let seat = Seat::of_key(session, &peer);
            let is_member = match self.lobbies.look(session).await {
                Ok(seen) => seen.is_ok_and(|seen| seen.session.members.contains_key(&peer)),
                // The shard is busy: whoever was known stays so until it is forgotten.
                Err(error) => {
                    tracing::debug!(%error, "a member of a relay was not looked up");
                    self.metrics.relay_hailed("busy");
                    continue;
                }
            };
            let result = if !is_member {
                self.switch().unseat(seat);
                "stranger"
            } else if !self.switch().seat(self.clock.now(), seat, session, from) {
                "full"
            } else {
                self.send(from, &Frame::Heard { session });
                "heard"
            };
            self.metrics.relay_hailed(result);
        }
    }

    /// Nothing under this lock panics.
    fn switch(&self) -> MutexGuard<'_, Switch> {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
