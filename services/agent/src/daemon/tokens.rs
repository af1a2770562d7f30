//! Tokens of game servers: what a game shows to others to prove that it is its server. The control plane makes them; here
//! they are kept while they last, because a matchmaker's keep-alive asks once a second.
//!
//! The calls name no server. Where slots have users of their own the socket's user tells which it is; elsewhere it can only
//! be told where one server runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{Generation, ServerId};
use mainstay_supervisor::RunNumber;
use mainstay_wire::agent::{Outcome, Wish};

use super::calls::{odd, status};
use super::failure::Failure;
use super::listener::Peer;
use super::{Daemon, Right};

/// A token is handed out for so much of its life, in hundredths: whoever gets it last has the rest to use it.
const HANDED_OUT_PERCENT: u32 = 50;

/// The tokens that are good: one a server at most, of the process and the order it was given to. Another process is another
/// asker, and another order another session.
#[derive(Debug, Default)]
pub(super) struct Tokens(Mutex<BTreeMap<ServerId, Kept>>);

#[derive(Debug)]
struct Kept {
    token: String,
    of: Of,
    /// By the time since the machine came up.
    until: Duration,
}

/// Which process asked, under which order.
type Of = (RunNumber, Generation);

impl Tokens {
    fn get(&self, server: ServerId, of: Of, now: Duration) -> Option<String> {
        self.lock()
            .get(&server)
            .filter(|kept| kept.of == of && now < kept.until)
            .map(|kept| kept.token.clone())
    }

    fn keep(&self, server: ServerId, of: Of, (token, life): (&str, Duration), now: Duration) {
        let until = now.saturating_add(life.saturating_mul(HANDED_OUT_PERCENT) / 100);
        let mut tokens = self.lock();
        tokens.retain(|_, kept| now < kept.until);
        tokens.insert(server, Kept { token: token.to_owned(), of, until });
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ServerId, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Daemon {
    /// A token of the server that asks.
    pub(super) async fn token(&self, peer: &Peer) -> Result<String, Failure> {
        let server = self.asking(peer).await?;
        self.admit(peer, server)?;
        let seat = self.seat(server).await?;
        let run = seat.run.ok_or_else(|| Failure::no_process(server))?;
        let of = (run, seat.process);
        if let Some(token) = self.0.tokens.get(server, of, self.0.context.ground.since_boot()) {
            return Ok(token);
        }
        match self.wish(server, seat, Wish::Token { run: run.number() }, status).await? {
            Outcome::Token { token, life } => {
                self.0.tokens.keep(server, of, (&token, life), self.0.context.ground.since_boot());
                Ok(token)
            }
            other @ (Outcome::Done
            | Outcome::Held { .. }
            | Outcome::Reserved { .. }
            | Outcome::Backfill { .. }
            | Outcome::Refused { .. }) => Err(odd(&other)),
        }
    }

    /// Which server a connection is of.
    async fn asking(&self, peer: &Peer) -> Result<ServerId, Failure> {
        let live = self.0.brain.live().await?;
        let mut its = live.iter().copied().filter(|server| self.right(peer, *server) == Right::Yes);
        match (its.next(), its.next()) {
            (Some(server), None) => Ok(server),
            (None, _) | (Some(_), Some(_)) => Err(Failure::whose_token(live.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::FleetNumber;

    use super::*;

    #[test]
    fn a_token_is_handed_out_for_half_its_life() {
        let tokens = Tokens::default();
        let server = |n| ServerId::of(FleetNumber::new(1).unwrap(), n);
        let at = Duration::from_secs;
        let of = |order| (RunNumber::NONE, Generation::from_number(order));
        tokens.keep(server(1), of(1), ("a", at(100)), at(10));
        assert_eq!(tokens.get(server(1), of(1), at(59)).as_deref(), Some("a"));
        assert_eq!(tokens.get(server(1), of(2), at(59)), None, "of another session");
        assert_eq!(tokens.get(server(1), of(1), at(60)), None);
        assert_eq!(tokens.get(server(2), of(1), at(10)), None);
        tokens.keep(server(2), of(1), ("b", at(100)), at(60));
        assert_eq!(tokens.lock().len(), 1, "what is over is forgotten");
    }
}
