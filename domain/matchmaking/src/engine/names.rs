//! The regions and list values that tickets name: whether there is room for one's beside those of all others, and those of whoever is away
//! and comes back, kept so that there is room for them then too.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::interner::Interner;
use super::{Engine, LIST_VALUES_MAX, REGIONS_MAX};
use crate::attribute::Facts;

/// The numbers that whoever is away keeps.
#[derive(Debug, Clone, Default)]
pub struct Kept {
    regions: Vec<u32>,
    /// List values, by rule.
    values: Vec<(usize, u32)>,
}

impl Engine {
    /// Whether a ticket's list values and regions still fit beside those of all others.
    pub fn has_room(&self, facts: &Facts) -> bool {
        let mut lists = self.values.iter().zip(&facts.sets);
        lists.all(|(known, set)| set.as_ref().is_none_or(|set| fits(known, LIST_VALUES_MAX, set.iter())))
            && fits(&self.regions, REGIONS_MAX, facts.latencies.iter().map(|(region, _)| region))
    }

    /// Keeps the names of a ticket that is away. There is room for them.
    pub fn keep(&mut self, facts: &Facts) -> Kept {
        let regions = facts.latencies.iter().map(|(region, _)| self.regions.hold(region)).collect();
        let mut values = Vec::new();
        for (rule, (set, known)) in facts.sets.iter().zip(&mut self.values).enumerate() {
            values.extend(set.iter().flatten().map(|value| (rule, known.hold(value))));
        }
        Kept { regions, values }
    }

    /// It is away no longer.
    pub fn keep_no_more(&mut self, kept: Kept) {
        kept.regions.into_iter().for_each(|region| self.regions.release(region));
        kept.values.into_iter().for_each(|(rule, value)| self.values[rule].release(value));
    }
}

fn fits<'a>(known: &Interner, most: usize, texts: impl ExactSizeIterator<Item = &'a Arc<str>>) -> bool {
    // Where there is room even if all of them are new, none is looked up.
    known.len() + texts.len() <= most || known.len() + known.new_among(texts) <= most
}
