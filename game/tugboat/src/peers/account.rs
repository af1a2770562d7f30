//! What a player can say of a migration afterwards: how long the game stood still for it, and what was lost of what it had
//! been told was safe. Measured from what it heard, and from nothing else.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mainstay_peer::migration::{Stamp, Tick};

/// How many states wait to be told safe: ten seconds of them. Older ones are counted as never told.
const WAITING_MAX: usize = 200;

/// One state of the game, as a player heard or made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    tick: Tick,
    /// How many of the player's own deeds it holds.
    deeds: u32,
}

/// The account of one player.
#[derive(Debug, Default)]
pub struct Account {
    last: Option<(Stamp, Tick, Instant)>,
    waiting: VecDeque<Seen>,
    safe: Seen,
}

impl Default for Seen {
    fn default() -> Self {
        Self { tick: Tick(0), deeds: 0 }
    }
}

/// What a state is to a player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// A later one of the same host came before it.
    Stale,
    /// The next one.
    Next,
    /// The first one of another host.
    Moved(Cost),
}

/// What a move cost one player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// From the last state of the old host to the first of the new one.
    pub gap: Duration,
    /// Ticks and own deeds that it had been told were safe and that the new host's first state does not hold.
    pub acked_lost: u64,
    /// The tick of that state.
    pub tick: Tick,
}

impl Account {
    /// A state, of the host with that stamp: its tick, how many own deeds are in it, and up to which tick it is safe.
    pub fn hear(&mut self, now: Instant, stamp: Stamp, tick: Tick, deeds: u32, durable: Tick) -> Heard {
        let heard = match self.last {
            Some((before, newest, _)) if before == stamp && tick <= newest => return Heard::Stale,
            Some((before, _, last)) if before != stamp => {
                // What the old host had and the new one does not is no promise of the new one.
                self.waiting.clear();
                let ticks = self.safe.tick.0.saturating_sub(tick.0);
                let own = u64::from(self.safe.deeds.saturating_sub(deeds));
                // What is lost is counted once.
                self.safe = self.safe.min(Seen { tick, deeds });
                Heard::Moved(Cost { gap: now.saturating_duration_since(last), acked_lost: ticks + own, tick })
            }
            Some(_) | None => Heard::Next,
        };
        self.last = Some((stamp, tick, now));
        self.waiting.push_back(Seen { tick, deeds });
        if self.waiting.len() > WAITING_MAX {
            self.waiting.pop_front();
        }
        self.promise(durable);
        heard
    }

    /// The host says that the game is safe so far.
    pub fn promise(&mut self, durable: Tick) {
        while let Some(seen) = self.waiting.pop_front_if(|seen| seen.tick <= durable) {
            self.safe = self.safe.max(seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_peer::migration::Epoch;

    const fn stamp(epoch: u32) -> Stamp {
        Stamp::certified(Epoch(epoch))
    }

    #[test]
    fn what_was_told_safe_and_is_not_there_is_counted() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut account = Account::default();
        assert_eq!(account.hear(at(0), stamp(1), Tick(10), 3, Tick(8)), Heard::Next);
        assert_eq!(account.hear(at(50), stamp(1), Tick(12), 5, Tick(10)), Heard::Next);
        assert_eq!(account.hear(at(60), stamp(1), Tick(11), 4, Tick(10)), Heard::Stale);
        assert_eq!(account.hear(at(100), stamp(1), Tick(13), 6, Tick(12)), Heard::Next);
        // Tick 13 and the sixth deed were never told safe; tick 12 and the fifth were.
        let heard = account.hear(at(1_100), stamp(2), Tick(10), 3, Tick(0));
        let cost = Cost { gap: Duration::from_millis(1_000), acked_lost: 2 + 2, tick: Tick(10) };
        assert_eq!(heard, Heard::Moved(cost));
        let mut lucky = Account::default();
        lucky.hear(at(0), stamp(1), Tick(10), 3, Tick(10));
        let heard = lucky.hear(at(700), stamp(2), Tick(11), 3, Tick(0));
        let cost = Cost { gap: Duration::from_millis(700), acked_lost: 0, tick: Tick(11) };
        assert_eq!(heard, Heard::Moved(cost));
    }
}
