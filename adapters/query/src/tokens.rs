//! The tokens by which a responder makes a source address prove itself before it is told more than it sent: without
//! them a server would multiply traffic towards any address an attacker writes into a packet.
//!
//! As in Unity's Go SDK: one token for each source address, good for a minute, and gone with the first query from that
//! address, right or wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use crate::limits::{TOKEN_LIFETIME, TOKENS_MAX};

/// Where random tokens come from: the hand's choice, for nothing here can draw one.
pub(crate) type Draw = Box<dyn FnMut() -> u32 + Send>;

/// Outstanding tokens, at most [`TOKENS_MAX`].
pub(crate) struct Tokens {
    draw: Draw,
    by_source: BTreeMap<SocketAddr, Token>,
    /// Oldest first; the key counts tokens ever given.
    by_age: BTreeMap<u64, SocketAddr>,
    given: u64,
}

struct Token {
    value: u32,
    number: u64,
    expires: Duration,
}

impl Tokens {
    pub(crate) fn new(draw: Draw) -> Self {
        Self { draw, by_source: BTreeMap::new(), by_age: BTreeMap::new(), given: 0 }
    }

    /// A new token for `source`, in place of any it had. Zero and all ones mean "none" in A2S and are never drawn.
    pub(crate) fn give(&mut self, now: Duration, source: SocketAddr) -> u32 {
        self.forget(source);
        while self.by_source.len() >= TOKENS_MAX {
            let Some((_, oldest)) = self.by_age.pop_first() else { break };
            self.by_source.remove(&oldest);
        }
        let value = (self.draw)().clamp(1, u32::MAX - 1);
        self.given += 1;
        let token = Token { value, number: self.given, expires: now + TOKEN_LIFETIME };
        self.by_age.insert(token.number, source);
        self.by_source.insert(source, token);
        value
    }

    /// Takes the token of `source` away and says whether it was `value` and still good.
    pub(crate) fn spend(&mut self, now: Duration, source: SocketAddr, value: u32) -> Result<(), NotProved> {
        match self.forget(source) {
            Some(token) if token.value == value && now < token.expires => Ok(()),
            Some(_) | None => Err(NotProved),
        }
    }

    fn forget(&mut self, source: SocketAddr) -> Option<Token> {
        let token = self.by_source.remove(&source)?;
        self.by_age.remove(&token.number);
        Some(token)
    }
}

/// The source address has not proved itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotProved;

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens").field("outstanding", &self.by_source.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting() -> Tokens {
        let mut last = 0;
        Tokens::new(Box::new(move || {
            last += 1;
            last
        }))
    }

    fn source(port: u16) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], port))
    }

    #[test]
    fn a_token_is_for_one_source_one_use_and_one_minute() {
        let mut tokens = counting();
        let start = Duration::from_secs(5);
        let token = tokens.give(start, source(1));
        assert_eq!(tokens.spend(start, source(2), token), Err(NotProved), "another source");
        assert_eq!(tokens.spend(start, source(1), token), Ok(()));
        assert_eq!(tokens.spend(start, source(1), token), Err(NotProved), "a second use");

        let token = tokens.give(start, source(1));
        assert_eq!(tokens.spend(start, source(1), token + 1), Err(NotProved), "a wrong token");
        assert_eq!(tokens.spend(start, source(1), token), Err(NotProved), "gone with the wrong one");

        let token = tokens.give(start, source(1));
        let last = start + TOKEN_LIFETIME - Duration::from_nanos(1);
        assert_eq!(tokens.spend(last, source(1), token), Ok(()));
        let token = tokens.give(start, source(1));
        assert_eq!(tokens.spend(start + TOKEN_LIFETIME, source(1), token), Err(NotProved), "too late");
    }

    #[test]
    fn a_new_token_replaces_the_old() {
        let mut tokens = counting();
        let old = tokens.give(Duration::ZERO, source(1));
        let new = tokens.give(Duration::ZERO, source(1));
        assert_ne!(old, new);
        assert_eq!(tokens.by_age.len(), 1);
        assert_eq!(tokens.spend(Duration::ZERO, source(1), new), Ok(()));
    }

    #[test]
    fn a_flood_evicts_the_oldest_and_no_more() {
        let mut tokens = counting();
        let first = tokens.give(Duration::ZERO, source(1));
        let second = tokens.give(Duration::ZERO, source(2));
        for port in 3..=u16::try_from(TOKENS_MAX).unwrap() + 1 {
            tokens.give(Duration::ZERO, source(port));
        }
        assert_eq!(tokens.by_source.len(), TOKENS_MAX);
        assert_eq!(tokens.by_age.len(), TOKENS_MAX);
        assert_eq!(tokens.spend(Duration::ZERO, source(1), first), Err(NotProved));
        assert_eq!(tokens.spend(Duration::ZERO, source(2), second), Ok(()));
    }

    #[test]
    fn tokens_that_mean_none_are_never_given() {
        let mut tokens = Tokens::new(Box::new(|| 0));
        assert_eq!(tokens.give(Duration::ZERO, source(1)), 1);
        let mut tokens = Tokens::new(Box::new(|| u32::MAX));
        assert_eq!(tokens.give(Duration::ZERO, source(1)), u32::MAX - 1);
    }
}
