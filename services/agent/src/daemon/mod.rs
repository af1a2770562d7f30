//! The local daemon that Multiplay's SDKs speak to, at the address that `server.json` names as `localProxyUrl`.
//!
//! ```text
//! game ──▶ event socket (Centrifuge JSON v1) ◀── what server.json says, once it says it
//!      ──▶ payload                           ◀── the agent's own orders
//!      ──▶ ready, hold, reservations ──▶ Ask on the agent's stream ──▶ control plane, durable ──▶ Answer
//! ```
//!
//! There is no password: where every slot has a user of its own, a call about a server is taken from a socket of that
//! user alone (`peer.rs`); elsewhere all games are one user, and nothing could be told apart. Everything a game can send is
//! bounded: connections, sockets, bodies, calls a second, asks under way.

mod calls;
mod failure;
mod listener;
mod peer;
mod rate;
mod socket;
mod tokens;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_core::ServerId;
use mainstay_core::slot::Session;
use mainstay_wire::agent::{Outcome, Refusal, Wish};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::sleep;

use self::failure::Failure;
use self::listener::{Doors, Peer};
use self::rate::{Buckets, Rate};
use self::tokens::Tokens;
use crate::asks::Asks;
use crate::brain::{Brain, Seat};
use crate::slot::{Context, Ending};

/// How often one game may call: more than any SDK does (the most talkative, Multiplay's matchmaker keep-alive, calls once
/// a second), and little enough that a game gone wild costs its machine nothing.
const CALLS: Rate = Rate { at_once: 40, every: Duration::from_millis(50) };
/// How often one game may say who plays: each word that changes something is written down by the control plane and looked for anew.
/// The SDK speaks once a second, and at once when players come or go, several of them in one word.
const BACKFILLS: Rate = Rate { at_once: 10, every: Duration::from_millis(250) };
/// `Retry-After` of every 503 and 429: a stream to the control plane comes back within a second or two.
const CONTROL_BACK_SECONDS: u16 = 1;
/// A game whose server has just got another order hears of it within milliseconds, and then asks under that one: its
/// daemon does so for it, so many times, so far apart.
const STALE_RETRIES_MAX: u32 = 10;
/// See [`STALE_RETRIES_MAX`].
const STALE_PAUSE: Duration = Duration::from_millis(50);

/// What the daemon speaks for. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Daemon(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    context: Arc<Context>,
    brain: Brain,
    asks: Arc<Asks>,
    doors: Doors,
    sockets: AtomicU64,
    calls: Buckets,
    backfills: Buckets,
    tokens: Tokens,
}

/// Answers on a listener until the agent ends; of several listeners of one daemon, each has its own call. Whoever starts an agent binds the listener first: a game that starts
/// before its daemon is served then waits instead of being turned away.
pub async fn serve(listener: TcpListener, daemon: Daemon) {
    listener::serve(listener, daemon).await;
}

/// Whether a peer may speak for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    Yes,
    No,
    /// The server is not known here, or not yet.
    Unknown,
}

impl Daemon {
    pub(crate) fn new(context: Arc<Context>, brain: Brain, asks: Arc<Asks>) -> Self {
        let (doors, sockets, tokens) = (Doors::default(), AtomicU64::new(1), Tokens::default());
        let (calls, backfills) = (Buckets::new(CALLS), Buckets::new(BACKFILLS));
        Self(Arc::new(Inner { context, brain, asks, doors, sockets, calls, backfills, tokens }))
    }

    /// Whether slots have users of their own, so that a call can be told by its socket's.
    fn users_tell(&self) -> bool {
        self.0.context.ground.capabilities().users.is_some()
    }

    fn right(&self, peer: &Peer, server: ServerId) -> Right {
        let Some(facts) = self.0.context.facts(server) else { return Right::Unknown };
        if !self.users_tell() {
            return Right::Yes;
        }
        let owner = self.0.context.ground.capabilities().owner(facts.place);
        match owner.map(|owner| owner.own_uid()) {
            Ok(Some(uid)) if peer.uid == Some(uid) => Right::Yes,
            // A slot whose user cannot be told runs nothing.
            Ok(_) | Err(_) => Right::No,
        }
    }

    /// A peer that may speak for the server, and does not too often.
    fn admit(&self, peer: &Peer, server: ServerId) -> Result<(), Failure> {
        match self.right(peer, server) {
            Right::Yes => {}
            Right::No => return Err(Failure::not_yours(server)),
            Right::Unknown => return Err(Failure::no_server(server)),
        }
        self.0.calls.take(server).map_err(|rate| Failure::too_often("calls", rate))
    }

    async fn seat(&self, server: ServerId) -> Result<Seat, Failure> {
        self.0.brain.seat(server).await?.ok_or_else(|| Failure::no_process(server))
    }

    /// Asks the control plane for something, in the name of the process that runs now.
    async fn wish(
        &self,
        server: ServerId,
        seat: Seat,
        wish: Wish,
        status: fn(Refusal) -> axum::http::StatusCode,
    ) -> Result<Outcome, Failure> {
        let asking = seat.run.ok_or_else(|| Failure::no_process(server))?;
        let mut process = seat.process;
        let mut retries = 0;
        loop {
            match self.0.asks.ask(server, process, wish.clone()).await? {
                Outcome::Refused { why: Refusal::Stale, .. } if retries < STALE_RETRIES_MAX => {
                    retries += 1;
                    sleep(STALE_PAUSE).await;
                    let seat = self.seat(server).await?;
                    if seat.run != Some(asking) {
                        return Err(Failure::no_process(server));
                    }
                    process = seat.process;
                }
                Outcome::Refused { why, code, detail } => {
                    return Err(Failure::of_plane(status(why), &code, detail));
                }
                outcome @ (Outcome::Done
                | Outcome::Held { .. }
                | Outcome::Reserved { .. }
                | Outcome::Token { .. }
                | Outcome::Backfill { .. }) => {
                    return Ok(outcome);
                }
            }
        }
    }

    /// The session of an allocation, if the peer's server has it.
    async fn session(
        &self,
        peer: &Peer,
        allocation: mainstay_core::AllocationId,
    ) -> Result<Session, Failure> {
        let found = self.0.brain.session(allocation).await?;
        match found {
            Some((server, session)) if self.right(peer, server) == Right::Yes => Ok(session),
            // Another server's session is none of the caller's business, not even that it is there.
            Some(_) | None => Err(Failure::no_allocation(allocation)),
        }
    }

    fn doors(&self) -> Doors {
        self.0.doors.clone()
    }

    fn next_socket(&self) -> u64 {
        self.0.sockets.fetch_add(1, Ordering::Relaxed)
    }

    fn ending(&self) -> watch::Receiver<Ending> {
        self.0.context.end.subscribe()
    }
}

/// Waits until the agent lets go of everything.
async fn ended(ending: &mut watch::Receiver<Ending>) {
    let _gone = ending.wait_for(|ending| *ending == Ending::Leave).await.map(drop);
}
