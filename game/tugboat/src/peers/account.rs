//! What a player can say of a migration afterwards: how long the game stood still for it, and what was lost of what it had
//! been told was safe. Measured from what it heard, and from nothing else.

use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use mainstay_peer::migration::{PeerId, Stamp, Tick};

use crate::peers::lineage::Lineage;

/// How many states wait to be told safe: ten seconds of them. Older ones are counted as never told.
const WAITING_MAX: usize = 200;

/// One state of the game, as a player heard or made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Seen {
    tick: Tick,
    /// How many of the player's own deeds it holds.
    deeds: u32,
}

/// What was heard last: of whom, what, and when.
#[derive(Debug, Clone, Copy)]
struct Last {
    of: Writer,
    tick: Tick,
    at: Instant,
}

/// Who makes the game's states: a host, and the stamp that it has. It may be given another, and two sides of one session may have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writer {
    /// The host.
    pub host: PeerId,
    /// What it is host by.
    pub stamp: Stamp,
}

/// Who was host since the last state was heard.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    /// Nobody else.
    #[default]
    Nobody,
    /// Another, of whom nothing was heard.
    Another,
}

/// The account of one player.
#[derive(Debug, Default)]
pub struct Account {
    last: Option<Last>,
    /// Of the state that was heard last.
    lineage: Lineage,
    meanwhile: Meanwhile,
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
    /// The new host.
    pub host: PeerId,
    /// From the last state of the old host to the first of the new one.
    pub gap: Duration,
    /// Ticks and own deeds that it had been told were safe and that the new host's first state does not hold.
    pub acked_lost: u64,
    /// Ticks that this player had heard and that the new host played anew.
    pub ticks_lost: u64,
    /// The tick of that state.
    pub tick: Tick,
}

impl Account {
    /// A state: whose, its tick and who wrote the game so far, how many own deeds are in it, and up to which tick it is safe.
    pub fn hear(
        &mut self,
        now: Instant,
        of: Writer,
        (tick, lineage): (Tick, &Lineage),
        deeds: u32,
        durable: Tick,
    ) -> Heard {
        let heard = match self.last {
            Some(last) if last.of == of && tick <= last.tick => return Heard::Stale,
            // Also a host under another stamp that has gone back.
            Some(last)
                if last.of.host != of.host || tick <= last.tick || self.meanwhile == Meanwhile::Another =>
            {
                // What the old host had and the new one does not is no promise of the new one.
                self.waiting.clear();
                // A side's ticks are numbered alike, and are none of these.
                let shared = lineage.shared_with(&self.lineage);
                let kept = shared.of(tick);
                let ticks = self.safe.tick.0.saturating_sub(kept.0);
                let own = u64::from(self.safe.deeds.saturating_sub(deeds));
                // What is lost is counted once.
                self.safe = self.safe.min(Seen { tick: kept, deeds });
                // What a new host says first is the tick after the one that it goes on from.
                let ticks_lost = last.tick.0.saturating_sub(shared.of(Tick(tick.0.saturating_sub(1))).0);
                let gap = now.saturating_duration_since(last.at);
                Heard::Moved(Cost { host: of.host, gap, acked_lost: ticks + own, ticks_lost, tick })
            }
            Some(_) | None => Heard::Next,
        };
        (self.last, self.meanwhile) = (Some(Last { of, tick, at: now }), Meanwhile::Nobody);
        self.lineage.clone_from(lineage);
        self.waiting.push_back(Seen { tick, deeds });
        if self.waiting.len() > WAITING_MAX {
            self.waiting.pop_front();
        }
        self.promise(durable);
        heard
    }

    /// That one is host. Should the one before be host again before this one says anything, the session has moved all the same.
    pub fn follow(&mut self, host: PeerId) {
        if self.last.is_some_and(|last| last.of.host != host) {
            self.meanwhile = Meanwhile::Another;
        }
    }

    /// The host says that the game is safe so far.
    pub fn promise(&mut self, durable: Tick) {
        while let Some(seen) = self.waiting.pop_front_if(|seen| seen.tick <= durable) {
            self.safe = self.safe.max(seen);
        }
    }
}

/// How many bells may be missing: a quarter of an hour's.
const MISSING_MAX: usize = 1_800;

/// How many bells after one that is missed it is overdue: ten are five seconds, longer than a packet is repeated before its link is given up.
const OVERDUE: u64 = 10;

/// The harbour's bells, which are rung each so many ticks, as one player has heard them.
#[derive(Debug)]
pub struct Bells {
    every: u64,
    /// The first and the newest.
    heard: Option<(Tick, Tick)>,
    missing: BTreeSet<Tick>,
    twice: u32,
}

impl Bells {
    /// Before any.
    #[must_use]
    pub const fn every(ticks: u64) -> Self {
        Self { every: ticks, heard: None, missing: BTreeSet::new(), twice: 0 }
    }

    /// One is heard, or rung. They may come in any order: whoever has just come in may hear one later that was rung before the first it heard.
    pub fn hear(&mut self, bell: Tick) {
        let Some((first, newest)) = self.heard else {
            self.heard = Some((bell, bell));
            return;
        };
        if bell > newest {
            let between =
                (newest.0 + self.every..bell.0).step_by(usize::try_from(self.every).unwrap_or(usize::MAX));
            self.missing.extend(between.take(MISSING_MAX).map(Tick));
            self.heard = Some((first, bell));
        } else if bell >= first && !self.missing.remove(&bell) {
            self.twice = self.twice.saturating_add(1);
        }
        while self.missing.len() > MISSING_MAX {
            self.missing.pop_first();
        }
    }

    /// How many were rung before others that were heard, and were not heard themselves.
    #[must_use]
    pub fn missing(&self) -> usize {
        self.missing.len()
    }

    /// How many of them were rung ten bells or more before the newest that was heard: those are hardly under way any more.
    #[must_use]
    pub fn overdue(&self) -> usize {
        let newest = self.heard.map_or(0, |(_, newest)| newest.0);
        self.missing.range(..=Tick(newest.saturating_sub(OVERDUE * self.every))).count()
    }

    /// How many were heard again.
    #[must_use]
    pub const fn twice(&self) -> u32 {
        self.twice
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_peer::migration::Epoch;

    const ANN: PeerId = PeerId(1);
    const BEN: PeerId = PeerId(2);

    const fn of(host: PeerId, epoch: u32) -> Writer {
        Writer { host, stamp: Stamp::certified(Epoch(epoch)) }
    }

    #[test]
    fn what_was_told_safe_and_is_not_there_is_counted() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut account = Account::default();
        assert_eq!(account.hear(at(0), of(ANN, 1), (Tick(10), &Lineage::default()), 3, Tick(8)), Heard::Next);
        assert_eq!(
            account.hear(at(50), of(ANN, 1), (Tick(12), &Lineage::default()), 5, Tick(10)),
            Heard::Next
        );
        assert_eq!(
            account.hear(at(60), of(ANN, 1), (Tick(11), &Lineage::default()), 4, Tick(10)),
            Heard::Stale
        );
        assert_eq!(
            account.hear(at(100), of(ANN, 1), (Tick(13), &Lineage::default()), 6, Tick(12)),
            Heard::Next
        );
        // Tick 13 and the sixth deed were never told safe; tick 12 and the fifth were.
        let heard = account.hear(at(1_100), of(BEN, 2), (Tick(10), &Lineage::default()), 3, Tick(0));
        let cost = Cost {
            host: BEN,
            gap: Duration::from_millis(1_000),
            acked_lost: 2 + 2,
            ticks_lost: 4,
            tick: Tick(10),
        };
        assert_eq!(heard, Heard::Moved(cost));
        let mut lucky = Account::default();
        lucky.hear(at(0), of(ANN, 1), (Tick(10), &Lineage::default()), 3, Tick(10));
        let heard = lucky.hear(at(700), of(BEN, 2), (Tick(11), &Lineage::default()), 3, Tick(0));
        let gap = Duration::from_millis(700);
        let cost = Cost { host: BEN, gap, acked_lost: 0, ticks_lost: 0, tick: Tick(11) };
        assert_eq!(heard, Heard::Moved(cost));
    }

    /// A host that thaws and is host again before its successor said anything: of three players two told of that move.
    #[test]
    fn a_host_again_after_another_has_moved_though_nothing_was_heard_between() {
        let now = Instant::now();
        let mut account = Account::default();
        account.hear(now, of(ANN, 1), (Tick(10), &Lineage::default()), 0, Tick(0));
        account.follow(ANN);
        assert_eq!(account.hear(now, of(ANN, 1), (Tick(11), &Lineage::default()), 0, Tick(0)), Heard::Next);
        account.follow(BEN);
        let heard = account.hear(now, of(ANN, 3), (Tick(90), &Lineage::default()), 0, Tick(0));
        let Heard::Moved(cost) = heard else { panic!("{heard:?}") };
        assert_eq!((cost.host, cost.ticks_lost), (ANN, 0));
        assert_eq!(
            account.hear(now, of(ANN, 3), (Tick(91), &Lineage::default()), 0, Tick(0)),
            Heard::Next,
            "once"
        );
    }

    /// A side was as far as the host that it took over from: what that one had told safe is not in it.
    #[test]
    fn what_a_side_numbers_alike_is_not_what_was_told_safe() {
        let now = Instant::now();
        let (mut account, mut of_ann) = (Account::default(), Lineage::default());
        of_ann.pass_to(ANN, Stamp::certified(Epoch(1)), Tick(1));
        for tick in 1..=111 {
            let heard = account.hear(now, of(ANN, 1), (Tick(tick), &of_ann), 0, Tick(tick.saturating_sub(2)));
            assert_eq!(heard, Heard::Next);
        }
        let mut of_side = of_ann.clone();
        of_side.pass_to(BEN, Stamp { epoch: Epoch(1), fork: 1 }, Tick(29));
        let heard = account.hear(now, of(BEN, 2), (Tick(190), &of_side), 0, Tick(0));
        let Heard::Moved(cost) = heard else { panic!("{heard:?}") };
        assert_eq!((cost.acked_lost, cost.ticks_lost), (109 - 28, 111 - 28));
    }

    #[test]
    fn a_host_under_another_stamp_is_the_same_and_two_under_one_are_not() {
        let now = Instant::now();
        let mut account = Account::default();
        assert_eq!(account.hear(now, of(ANN, 1), (Tick(10), &Lineage::default()), 0, Tick(0)), Heard::Next);
        assert_eq!(
            account.hear(now, of(ANN, 2), (Tick(11), &Lineage::default()), 0, Tick(0)),
            Heard::Next,
            "certified anew"
        );
        let heard = account.hear(now, of(BEN, 2), (Tick(12), &Lineage::default()), 0, Tick(0));
        assert!(matches!(heard, Heard::Moved(Cost { host: BEN, ticks_lost: 0, .. })), "{heard:?}");
        let heard = account.hear(now, of(BEN, 3), (Tick(11), &Lineage::default()), 0, Tick(0));
        assert!(
            matches!(heard, Heard::Moved(Cost { host: BEN, ticks_lost: 2, .. })),
            "it has gone back: {heard:?}"
        );
    }

    #[test]
    fn bells_are_missed_until_they_come() {
        let mut bells = Bells::every(10);
        [40, 50, 80].into_iter().for_each(|tick| bells.hear(Tick(tick)));
        assert_eq!((bells.missing(), bells.twice()), (2, 0), "60 and 70");
        [70, 70, 90].into_iter().for_each(|tick| bells.hear(Tick(tick)));
        assert_eq!((bells.missing(), bells.twice()), (1, 1), "60; 70 came again");
        bells.hear(Tick(30));
        assert_eq!((bells.missing(), bells.twice()), (1, 1), "it was under way as this one came in");
        assert_eq!(bells.overdue(), 0, "60 may come yet");
        (10..=16).for_each(|bell| bells.hear(Tick(10 * bell)));
        assert_eq!((bells.missing(), bells.overdue()), (1, 1));
    }
}
