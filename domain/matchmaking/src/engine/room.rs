//! Who makes room for a newcomer where those who wait name as much as there is room for: whoever takes up the most of it, if that is more
//! than the newcomer would.
//!
//! Players choose what they name, so without this a few who name all that a queue can tell apart close it for everybody else. A name that many
//! share costs each of them little: what a ticket takes up is its share of each of its names, divided among all who name it.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::interner::Interner;
use super::lanes::bits;
use super::slab::{Kind, Ref};
use super::{Engine, Handle, LIST_VALUES_MAX, REGIONS_MAX};
use crate::attribute::{Facts, TEXTS_MAX};

/// What a name takes up that nobody shares. Whole numbers: who gives way must not depend on rounding.
const WHOLE: u64 = 1 << 32;

/// What tickets name, of which each kind has room for so many.
#[derive(Debug, Clone, Copy)]
enum Names {
    Regions,
    /// The values of a list, by rule.
    Values(usize),
}

impl Names {
    const fn most(self) -> usize {
        match self {
            Self::Regions => REGIONS_MAX,
            Self::Values(_) => LIST_VALUES_MAX,
        }
    }

    /// Which of them a ticket names, 64 a word.
    fn words(self, row: Ref<'_>) -> impl Iterator<Item = u64> + '_ {
        let (one, many) = match self {
            Self::Regions => (Some(row.measured()), &[][..]),
            Self::Values(rule) => (None, row.set(rule)),
        };
        one.into_iter().chain(many.iter().copied())
    }

    /// By their numbers.
    fn of(self, row: Ref<'_>) -> impl Iterator<Item = u32> + '_ {
        (0..).zip(self.words(row)).flat_map(|(at, word)| bits(word).map(move |bit| at * 64 + bit))
    }
}

/// Somebody who may have to go.
struct Waits {
    handle: Handle,
    arrival: u64,
    names: Vec<u32>,
}

/// How a table of names is taken up.
struct Taken {
    /// By how many each number is named, the newcomer among them.
    by: Vec<u32>,
    /// Names that the newcomer alone has.
    new: usize,
}

impl Taken {
    fn names(&self) -> usize {
        self.by.iter().filter(|by| **by > 0).count() + self.new
    }

    fn share(&self, names: &[u32]) -> u64 {
        names.iter().map(|name| WHOLE / u64::from(self.by[*name as usize].max(1))).sum()
    }

    fn leaves(&mut self, names: impl Iterator<Item = u32>) {
        names.for_each(|name| self.by[name as usize] = self.by[name as usize].saturating_sub(1));
    }
}

impl Engine {
    /// The tickets of players that have to go so that a ticket's names have room beside those of all others: none, where they have. `None`
    /// where nobody takes up more than it would. Games stay, and whoever waits for a server. Looks at all who wait where room is wanted.
    pub fn giving_way(&self, facts: &Facts) -> Option<Vec<Handle>> {
        let mut going = Vec::new();
        if self.has_room(facts) {
            return Some(going);
        }
        for (rule, (known, set)) in self.values.iter().zip(&facts.sets).enumerate() {
            if let Some(set) = set {
                self.make_room(Names::Values(rule), known, set.iter(), &mut going)?;
            }
        }
        let regions = facts.latencies.iter().map(|(region, _)| region);
        self.make_room(Names::Regions, &self.regions, regions, &mut going)?;
        Some(going)
    }

    fn make_room<'a>(
        &self,
        which: Names,
        known: &Interner,
        asked: impl ExactSizeIterator<Item = &'a Arc<str>>,
        going: &mut Vec<Handle>,
    ) -> Option<()> {
        let all = asked.len();
        let own: Vec<u32> = asked.filter_map(|name| known.known(name)).collect();
        let mut taken = Taken { by: known.holders(), new: all - own.len() };
        own.iter().for_each(|name| taken.by[*name as usize] += 1);
        // As it stands beside all of them: whoever takes up more than that takes up no less as others go.
        let newcomer = taken.share(&own) + taken.new as u64 * WHOLE;
        going.iter().for_each(|gone| taken.leaves(which.of(self.slab.get(*gone))));
        if taken.names() <= which.most() {
            return Some(());
        }
        // Of names that as many share as a ticket may have, nobody's shares come to one whole name, and the newcomer brings one at least.
        let is_rare = |by: &u32| *by as usize <= TEXTS_MAX;
        let word = |by: &[u32]| (0..).zip(by).fold(0, |word, (bit, by)| word | u64::from(is_rare(by)) << bit);
        let rare: Vec<u64> = taken.by.chunks(64).map(word).collect();
        let may_go = |row: &Ref<'_>| {
            row.shape().kind == Kind::Ordinary
                && which.words(*row).zip(&rare).any(|(it, rare)| it & rare != 0)
        };
        let waits = |row: Ref<'_>| Waits {
            handle: row.handle(),
            arrival: row.arrival(),
            names: which.of(row).collect(),
        };
        let mut waiting: Vec<Waits> =
            self.slab.all().filter(may_go).map(waits).filter(|it| !going.contains(&it.handle)).collect();
        while taken.names() > which.most() {
            let share = |it: &Waits| (taken.share(&it.names), it.arrival);
            let at = (0..waiting.len()).max_by_key(|at| share(&waiting[*at]))?;
            if taken.share(&waiting[at].names) <= newcomer {
                return None;
            }
            let goes = waiting.swap_remove(at);
            taken.leaves(goes.names.iter().copied());
            going.push(goes.handle);
        }
        Some(())
    }
}
