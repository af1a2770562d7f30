//! How often something may be asked: so many at once, and so many a minute from then on.
//!
//! For each caller one number is kept, the moment at which everything it has asked is paid for (the *generic cell rate
//! algorithm*). A client that asks evenly at its rate is never refused, and what is paid for is forgotten.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use mainstay_core::Timestamp;

/// The most callers a limiter remembers at once: 16 bytes each and as much again of the table. Beyond it new callers are refused
/// until others are paid for, within the minute.
const CALLERS_MAX: usize = 1_000_000;
/// What rates are told in.
const MINUTE: Duration = Duration::from_secs(60);

/// Somebody asked more often than they may.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("more than {a_minute} {what} a minute; ask again in {} s", self.seconds())]
pub(crate) struct Exceeded {
    what: &'static str,
    a_minute: u32,
    /// How long to wait.
    pub(crate) wait: Duration,
}

impl Exceeded {
    /// How long to wait, in whole seconds.
    pub(crate) fn seconds(&self) -> u64 {
        u64::try_from(self.wait.as_millis().div_ceil(1000)).unwrap_or(u64::MAX)
    }
}

/// How often something may be asked, and who has asked how much of it.
#[derive(Debug)]
pub(crate) struct Limit {
    what: &'static str,
    limiter: Limiter,
}

impl Limit {
    /// So many at once, and a minute; said in these words.
    pub(crate) fn new(what: &'static str, a_minute: u32) -> Self {
        Self { what, limiter: Limiter::new(a_minute) }
    }

    /// Charges each of these one, or none of them where one has no more.
    ///
    /// # Errors
    /// What there is too much of, and how long to wait.
    pub(crate) fn charge<K: Hash>(
        &self,
        who: impl IntoIterator<Item = K>,
        now: Timestamp,
    ) -> Result<(), Exceeded> {
        let exceeded = |wait| Exceeded { what: self.what, a_minute: self.limiter.a_minute, wait };
        self.limiter.charge(who, now).map_err(exceeded)
    }

    /// What each of these was charged last is given back: it came to nothing.
    pub(crate) fn give_back<K: Hash>(&self, who: impl IntoIterator<Item = K>) {
        self.limiter.give_back(who);
    }
}

/// The same, for those who are not told in words.
#[derive(Debug)]
pub(crate) struct Limiter {
    a_minute: u32,
    hasher: RandomState,
    /// Until when each is paid for, in milliseconds; by a keyed hash, so that nobody can choose to collide with another.
    paid_until: Mutex<HashMap<u64, u64>>,
}

impl Limiter {
    /// So many at once, and a minute.
    pub(crate) fn new(a_minute: u32) -> Self {
        Self { a_minute, hasher: RandomState::new(), paid_until: Mutex::default() }
    }

    /// Charges each of these callers one, or none of them where one has no more.
    ///
    /// # Errors
    /// After how long the one who has to wait longest may ask again.
    pub(crate) fn charge<K: Hash>(
        &self,
        callers: impl IntoIterator<Item = K>,
        now: Timestamp,
    ) -> Result<(), Duration> {
        let now = now.unix_ms();
        let minute = u64::try_from(MINUTE.as_millis()).unwrap_or(u64::MAX);
        let cost = self.cost();
        let callers: Vec<u64> = callers.into_iter().map(|caller| self.hasher.hash_one(caller)).collect();
        let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        if paid_until.len() + callers.len() > CALLERS_MAX {
            paid_until.retain(|_, until| *until > now);
            if paid_until.len() + callers.len() > CALLERS_MAX {
                return Err(MINUTE);
            }
        }
        let after = |caller: &u64| paid_until.get(caller).copied().unwrap_or(0).max(now) + cost;
        let wait = callers.iter().map(|caller| after(caller).saturating_sub(now + minute)).max().unwrap_or(0);
        if wait > 0 {
            return Err(Duration::from_millis(wait));
        }
        for caller in callers {
            let until = paid_until.entry(caller).or_insert(0);
            *until = (*until).max(now) + cost;
        }
        Ok(())
    }

    /// What each of these was charged last is given back.
    pub(crate) fn give_back<K: Hash>(&self, callers: impl IntoIterator<Item = K>) {
        let cost = self.cost();
        let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        for caller in callers {
            if let Some(until) = paid_until.get_mut(&self.hasher.hash_one(caller)) {
                *until = until.saturating_sub(cost);
            }
        }
    }

    /// What one costs, in milliseconds.
    fn cost(&self) -> u64 {
        u64::try_from(MINUTE.as_millis()).unwrap_or(u64::MAX) / u64::from(self.a_minute.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_unix_ms(1_000_000 + ms)
    }

    /// Record 0041: clients are told to poll every six seconds, and may, however their first polls came.
    #[test]
    fn who_asks_evenly_is_never_refused_and_who_asks_more_waits() {
        let limiter = Limiter::new(10);
        for poll in 0..100 {
            limiter.charge(["A"], at(poll * 6_000)).unwrap();
        }
        let late = 700_000;
        for _ in 0..10 {
            limiter.charge(["A"], at(late)).unwrap();
        }
        assert_eq!(limiter.charge(["A"], at(late)), Err(Duration::from_secs(6)));
        limiter.charge(["B"], at(late)).unwrap();
        assert_eq!(limiter.charge(["A"], at(late + 5_999)), Err(Duration::from_millis(1)));
        limiter.charge(["A"], at(late + 6_000)).unwrap();
    }

    #[test]
    fn what_came_to_nothing_is_given_back() {
        let limiter = Limiter::new(2);
        for _ in 0..5 {
            limiter.charge(["A"], at(0)).unwrap();
            limiter.give_back(["A"]);
        }
        limiter.give_back(["B"]);
        limiter.charge(["A", "B"], at(0)).unwrap();
        limiter.charge(["A", "B"], at(0)).unwrap();
        limiter.charge(["A"], at(0)).unwrap_err();
        limiter.charge(["B"], at(0)).unwrap_err();
    }

    #[test]
    fn all_are_charged_or_none() {
        let limiter = Limiter::new(1);
        limiter.charge(["A"], at(0)).unwrap();
        assert_eq!(limiter.charge(["B", "A"], at(0)), Err(MINUTE));
        limiter.charge(["B"], at(0)).unwrap();
    }

    #[test]
    fn what_is_paid_for_is_forgotten_where_room_is_short() {
        let limiter = Limiter::new(1);
        limiter.charge(0..CALLERS_MAX, at(0)).unwrap();
        assert_eq!(limiter.charge([CALLERS_MAX], at(0)), Err(MINUTE));
        limiter.charge([CALLERS_MAX], at(60_000)).unwrap();
    }
}
