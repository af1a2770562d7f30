//! Hails the relays of lobbies: a relay carries only to whom it has heard, so every member of a session is heard there, whether
//! it needs the relay or not. Packets through it are the socket's matter.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::SessionId;
use mainstay_migration::PeerId;
use mainstay_wire::lobby::PeerKey;
use mainstay_wire::relay::{Frame, Hail, Proof, SECRET_BYTES, Seat, Ticket};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::socket::{Socket, Spoken};

/// How often a relay is hailed: a third of the time that it knows somebody for, and before routers forget.
const AGAIN: Duration = Duration::from_secs(20);
/// How long after an unanswered hail the next one comes; doubled up to [`AGAIN`].
const UNANSWERED: Duration = Duration::from_millis(500);
/// How many changes wait for the task.
const CHANGES_MAX: usize = 64;

/// What a lobby gives a member of a session to be carried for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Berth {
    /// Where the relay is.
    pub relay: SocketAddr,
    /// Whose it is.
    pub peer: PeerKey,
    /// What it shows.
    pub ticket: Ticket,
}

/// The way to the task that hails.
#[derive(Debug, Clone)]
pub(crate) struct Hailer(mpsc::Sender<Change>);

#[derive(Debug)]
enum Change {
    Enters(SessionId, Berth),
    Leaves(SessionId),
}

impl Hailer {
    /// Hails over that socket; `spoken` is what relays say to it.
    pub(crate) fn start(socket: Arc<Socket>, spoken: mpsc::Receiver<Spoken>) -> Self {
        let (changes, changed) = mpsc::channel(CHANGES_MAX);
        tokio::spawn(Hailing { socket, sessions: BTreeMap::new() }.run(changed, spoken));
        Self(changes)
    }

    /// This peer is a member of a session, until what is returned is dropped.
    pub(crate) fn enter(&self, session: SessionId, berth: Berth) -> Moored {
        self.tell(Change::Enters(session, berth));
        Moored { hailer: self.clone(), session, berth }
    }

    fn tell(&self, change: Change) {
        if let Err(error) = self.0.try_send(change) {
            tracing::warn!(%error, "too many sessions change at once: one of them goes on without its relay");
        }
    }
}

/// A session's way through a relay.
#[derive(Debug)]
pub(crate) struct Moored {
    hailer: Hailer,
    session: SessionId,
    berth: Berth,
}

impl Moored {
    pub(crate) const fn berth(&self) -> Berth {
        self.berth
    }

    /// Where a member of the session is, to the relay.
    pub(crate) fn seat(&self, peer: PeerId) -> Seat {
        Seat::of(self.session, peer)
    }
}

impl Drop for Moored {
    fn drop(&mut self) {
        self.hailer.tell(Change::Leaves(self.session));
    }
}

/// The task.
struct Hailing {
    socket: Arc<Socket>,
    sessions: BTreeMap<SessionId, Hailed>,
}

#[derive(Debug)]
struct Hailed {
    berth: Berth,
    proof: Proof,
    due: Instant,
    pause: Duration,
}

impl Hailing {
    async fn run(mut self, mut changed: mpsc::Receiver<Change>, mut spoken: mpsc::Receiver<Spoken>) {
        loop {
            let due = self.sessions.values().map(|hailed| hailed.due).min();
            let wake = due.unwrap_or_else(Instant::now);
            tokio::select! {
                change = changed.recv() => match change {
                    Some(Change::Enters(session, berth)) => self.enter(session, berth),
                    Some(Change::Leaves(session)) => drop(self.sessions.remove(&session)),
                    None => return,
                },
                Some(Spoken { from, bytes }) = spoken.recv() => self.hear(from, &bytes),
                () = tokio::time::sleep_until(wake), if due.is_some() => {}
            }
            self.hail();
        }
    }

    fn enter(&mut self, session: SessionId, berth: Berth) {
        self.socket.trust(berth.relay);
        let proof = Proof([0; SECRET_BYTES]);
        self.sessions.insert(session, Hailed { berth, proof, due: Instant::now(), pause: UNANSWERED });
    }

    fn hear(&mut self, from: SocketAddr, bytes: &[u8]) {
        let Some(frame) = Frame::decode(bytes) else { return };
        let (session, asked) = match frame {
            Frame::Prove { session, proof } => (session, Some(proof)),
            Frame::Heard { session } => (session, None),
            Frame::Hail(_) | Frame::Carry { .. } => return,
        };
        let Some(hailed) = self.sessions.get_mut(&session).filter(|hailed| hailed.berth.relay == from) else {
            return;
        };
        match asked {
            // Once at once; a relay that is not content with its own proof is answered later.
            Some(proof) if proof != hailed.proof => (hailed.proof, hailed.due) = (proof, Instant::now()),
            Some(_) => {}
            None => (hailed.due, hailed.pause) = (Instant::now() + AGAIN, UNANSWERED),
        }
    }

    fn hail(&mut self) {
        let now = Instant::now();
        for (session, Hailed { berth, proof, due, pause }) in &mut self.sessions {
            if now >= *due {
                let Berth { relay, peer, ticket } = *berth;
                let hail = Hail { session: *session, peer, ticket, proof: *proof };
                self.socket.send(relay, &Frame::Hail(hail).encode());
                *due = now + *pause;
                *pause = (*pause * 2).min(AGAIN);
            }
        }
    }
}
