//! How many tokens were given out, to how many: limits on live accounts and tokens, though none of either is kept.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_matchmaking::Entity;

use super::TOKEN_LIFE;

/// The most players and game servers with live tokens: 24 bytes each and as much again of the table. Ten times the largest
/// population of one title that this is made for.
const HOLDERS_MAX: usize = 1_000_000;
/// The most tokens one of them is given within a token's life: a client that starts anew every three minutes, and its renewals.
const TOKENS_MAX: u32 = 500;

/// Who was given how many.
#[derive(Debug, Default)]
pub(super) struct Minted {
    hasher: RandomState,
    /// By a keyed hash of the holder.
    given: HashMap<u64, Given>,
}

/// What one was given since a moment.
#[derive(Debug, Clone, Copy)]
struct Given {
    tokens: u32,
    since: Timestamp,
}

/// Why no token is given now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TooMany {
    /// It had too many.
    #[error("{TOKENS_MAX} tokens were given to it within a day")]
    Tokens {
        /// After how long it gets more.
        wait: Duration,
    },
    /// Too many have some.
    #[error("{HOLDERS_MAX} players and game servers have live tokens")]
    Holders,
}

impl Minted {
    pub(super) fn count(&mut self, holder: &Entity, now: Timestamp) -> Result<(), TooMany> {
        let key = self.hasher.hash_one(holder.as_str());
        let is_over = |given: &Given| now >= given.since + TOKEN_LIFE;
        if !self.given.contains_key(&key) && self.given.len() >= HOLDERS_MAX {
            self.given.retain(|_, given| !is_over(given));
            if self.given.len() >= HOLDERS_MAX {
                return Err(TooMany::Holders);
            }
        }
        let given = self.given.entry(key).or_insert(Given { tokens: 0, since: now });
        if is_over(given) {
            *given = Given { tokens: 0, since: now };
        }
        if given.tokens >= TOKENS_MAX {
            let left = (given.since + TOKEN_LIFE).unix_ms().saturating_sub(now.unix_ms());
            return Err(TooMany::Tokens { wait: Duration::from_millis(left) });
        }
        given.tokens += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_gets_so_many_tokens_a_day_and_others_theirs() {
        let (mut minted, now) = (Minted::default(), Timestamp::from_unix_ms(1));
        let [one, other] = ["A", "B"].map(|id| Entity::new(Entity::PLAYER, id).expect("an id"));
        for _ in 0..TOKENS_MAX {
            assert_eq!(minted.count(&one, now), Ok(()));
        }
        let wait = TOKEN_LIFE.saturating_sub(Duration::from_secs(5));
        assert_eq!(minted.count(&one, now + Duration::from_secs(5)), Err(TooMany::Tokens { wait }));
        assert_eq!(minted.count(&other, now), Ok(()));
        assert_eq!(minted.count(&one, now + TOKEN_LIFE), Ok(()));
    }

    #[test]
    fn so_many_have_live_tokens_and_those_of_yesterday_make_room() {
        let (mut minted, now) = (Minted::default(), Timestamp::from_unix_ms(1));
        minted.given = (0..HOLDERS_MAX as u64).map(|at| (at, Given { tokens: 1, since: now })).collect();
        let one = Entity::new(Entity::PLAYER, "A").expect("an id");
        assert_eq!(minted.count(&one, now), Err(TooMany::Holders));
        assert_eq!(minted.count(&one, now + TOKEN_LIFE), Ok(()));
        assert_eq!(minted.given.len(), 1);
    }
}
