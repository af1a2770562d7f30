//! What a rule asks of some tickets at once, of two or of a whole match, where each ticket's own limit holds for it (record 0041, 11).

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::judge::{Short, Side};
use crate::distance;
use crate::engine::Kind;
use crate::spec::{Expansion, Rule};

/// Whether a rule restricts a ticket still.
pub(super) fn restricts(rule: &Rule, side: &Side<'_>) -> bool {
    rule.optional_after.is_none_or(|after| side.waited < after)
}

/// How many values all who have a list share, and how many they have to. One list alone counts too: who asks for more than it has itself
/// fits nobody, not even those who fit anyone.
pub(super) fn shared<'a>(
    (rule, least): (&Rule, &Expansion<u32>),
    index: usize,
    sides: impl Iterator<Item = &'a Side<'a>>,
) -> (u32, u32) {
    let mut common: Option<Vec<&Arc<str>>> = None;
    let mut needed = 0;
    for side in sides {
        let Some(own) = side.facts.sets.get(index).and_then(Option::as_ref) else { continue };
        needed = needed.max(least.after(side.waited).filter(|_| restricts(rule, side)).unwrap_or(0));
        match &mut common {
            None => common = Some(own.iter().collect()),
            Some(common) => common.retain(|text| own.binary_search(text).is_ok()),
        }
    }
    // Who has no list shares as many as it takes.
    (common.map_or(needed, |common| u32::try_from(common.len()).unwrap_or(u32::MAX)), needed)
}

/// The region that is best for all whose rule restricts: the one in which nobody is further beyond its own limit than anybody in another.
pub(super) struct Best {
    /// Which, and the latency of whoever is furthest; `None` where there is none that all of them measured.
    region: Option<(Arc<str>, u32)>,
    /// The limit of whoever is furthest.
    allowed: u32,
}

/// A region, for whoever is furthest from it.
#[derive(Clone, Copy)]
struct Reach<'a> {
    region: &'a Arc<str>,
    latency: u32,
    allowed: u32,
}

impl Reach<'_> {
    /// By how much the limit is passed; negative within it.
    fn beyond(&self) -> i64 {
        i64::from(self.latency) - i64::from(self.allowed)
    }
}

impl Best {
    /// `None` where nobody's rule restricts: any region does.
    pub(super) fn of<'a>(
        (rule, latency): (&Rule, &Expansion<u32>),
        sides: impl Iterator<Item = &'a Side<'a>>,
    ) -> Option<Self> {
        let limit = |side: &Side<'_>| match side.kind {
            // A game is where it is, however long it waits.
            Kind::Backfill => Some(u32::MAX),
            Kind::Ordinary => latency.after(side.waited).filter(|_| restricts(rule, side)),
        };
        let mut least = u32::MAX;
        let mut common: Option<Vec<Reach<'a>>> = None;
        for side in sides {
            let Some(allowed) = limit(side) else { continue };
            least = least.min(allowed);
            let own = side.facts.latencies.iter().map(|(region, ms)| Reach { region, latency: *ms, allowed });
            common = Some(match common {
                None => own.collect(),
                Some(before) => both(&before, own),
            });
        }
        let best = common?.into_iter().min_by_key(Reach::beyond);
        Some(Self {
            region: best.map(|best| (best.region.clone(), best.latency)),
            allowed: best.map_or(least, |best| best.allowed),
        })
    }

    /// How near it is, for whoever is furthest.
    pub(super) fn quality(&self) -> f64 {
        self.region.as_ref().map_or(0.0, |(_, latency)| distance::quality(*latency, self.allowed))
    }

    /// That it is too far; `None` where it is not.
    pub(super) fn short(self) -> Option<Short> {
        let Self { region: best, allowed } = self;
        let is_far = best.as_ref().is_none_or(|(_, latency)| *latency > allowed);
        is_far.then_some(Short::Region { best, allowed })
    }
}

/// Of two lists in the order of regions, those in both.
fn both<'a>(before: &[Reach<'a>], own: impl Iterator<Item = Reach<'a>>) -> Vec<Reach<'a>> {
    let mut before = before.iter().peekable();
    let both = own.filter_map(|own| {
        while before.next_if(|before| before.region < own.region).is_some() {}
        let before = before.next_if(|before| before.region == own.region)?;
        Some(if before.beyond() < own.beyond() { own } else { *before })
    });
    both.collect()
}
