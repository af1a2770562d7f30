//! How many pairs of waiting tickets each rule leaves: which rule of a queue keeps its players apart.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Timestamp;

use super::judge::{self, Judged};
use super::{Queue, QueueSpec, Waiting};

/// Of how many tickets each is judged with each: 19,900 pairs, a few milliseconds of a machine's time.
pub const FUNNEL_TICKETS_MAX: usize = 200;

/// Some of the tickets that search, those that give up first.
#[derive(Debug, Clone)]
pub struct Sample {
    spec: Arc<QueueSpec>,
    tickets: Vec<Waiting>,
    searching: usize,
}

/// What is left of all pairs after each rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Funnel {
    /// How many tickets are open.
    pub open: usize,
    /// How many were judged, each with each: at most [`FUNNEL_TICKETS_MAX`].
    pub tickets: usize,
    /// How many pairs that made; two games are none.
    pub pairs: usize,
    /// The rules in the queue's order, then the size of a match, then that nobody is in a match twice.
    pub rules: Vec<Narrowing>,
}

/// What a rule does to the pairs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Narrowing {
    /// Its name.
    pub rule: Arc<str>,
    /// How many of all pairs it keeps apart.
    pub apart: usize,
    /// How many it alone keeps apart: so many more would fit without it.
    pub alone: usize,
    /// How many are left by it and every rule before it.
    pub left: usize,
}

impl Queue {
    /// Some of those who search; `None` for a queue that is removed.
    #[must_use]
    pub fn sample(&self) -> Option<Sample> {
        let spec = Arc::clone(self.spec()?);
        let tickets = self.give_ups.iter().filter_map(|(_, id)| self.searching(id));
        Some(Sample { spec, tickets: tickets.take(FUNNEL_TICKETS_MAX).collect(), searching: self.open })
    }
}

impl Sample {
    /// Judges each with each.
    #[must_use]
    pub fn funnel(&self, now: Timestamp) -> Funnel {
        // The size of a match and the same player come after the rules.
        let stages = self.spec.rules.len() + 2;
        let nothing = |index| Narrowing { rule: judge::name(&self.spec, index), apart: 0, alone: 0, left: 0 };
        let mut rules: Vec<Narrowing> = (0..stages).map(nothing).collect();
        let sides: Vec<_> = self.tickets.iter().map(|it| (it.is_game(), it.side(&self.spec, now))).collect();
        let mut pairs = 0;
        for (place, (is_game, own)) in sides.iter().enumerate() {
            let others = sides[place + 1..].iter().filter(|(other, _)| !(*is_game && *other));
            for (_, other) in others {
                pairs += 1;
                let (judged, _) = judge::judge(&self.spec, own, other);
                let failed: Vec<usize> =
                    (0..judged.len()).filter(|index| judged.get(*index).is_some_and(Judged::fails)).collect();
                let left_until = failed.first().copied().unwrap_or(stages);
                rules[..left_until].iter_mut().for_each(|rule| rule.left += 1);
                failed.iter().for_each(|index| rules[*index].apart += 1);
                if let [only] = failed[..] {
                    rules[only].alone += 1;
                }
            }
        }
        Funnel { open: self.searching, tickets: self.tickets.len(), pairs, rules }
    }
}
