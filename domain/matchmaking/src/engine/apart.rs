//! Tickets that share a player. A player may wait in a ticket of its own while the game it is in looks for more; the two may
//! each find others, but not each other, for nobody is in a match twice.

use alloc::collections::BTreeSet;

use super::slab::Handle;

/// Pairs of tickets that may not meet, each pair both ways round. There are few: a player has one ticket of each kind at most.
#[derive(Debug, Clone, Default)]
pub(super) struct Apart {
    pairs: BTreeSet<(Handle, Handle)>,
}

impl Apart {
    pub(super) fn insert(&mut self, one: Handle, other: Handle) {
        self.pairs.extend([(one, other), (other, one)]);
    }

    /// A ticket leaves.
    #[inline]
    pub(super) fn remove(&mut self, ticket: Handle) {
        if !self.is_empty() {
            self.remove_pairs(ticket);
        }
    }

    #[cold]
    #[inline(never)]
    fn remove_pairs(&mut self, ticket: Handle) {
        while let Some((_, other)) =
            self.pairs.range((ticket, 0)..).next().copied().filter(|(one, _)| *one == ticket)
        {
            self.pairs.remove(&(ticket, other));
            self.pairs.remove(&(other, ticket));
        }
    }

    /// Whether anybody may be with anybody.
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether a ticket may be in a group with these.
    #[inline]
    pub(super) fn allows(&self, ticket: Handle, group: &[Handle]) -> bool {
        self.is_empty() || self.is_no_pair(ticket, group)
    }

    #[cold]
    #[inline(never)]
    fn is_no_pair(&self, ticket: Handle, group: &[Handle]) -> bool {
        !group.iter().any(|member| self.pairs.contains(&(ticket, *member)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_forgotten_with_either_of_it() {
        let mut apart = Apart::default();
        apart.insert(1, 7);
        apart.insert(1, 9);
        apart.insert(7, 2);
        assert!(!apart.allows(7, &[3, 1]) && !apart.allows(1, &[9]) && apart.allows(9, &[7]));
        apart.remove(1);
        assert!(apart.allows(7, &[3, 1]) && apart.allows(1, &[9]) && !apart.allows(2, &[7]));
        apart.remove(2);
        assert!(apart.pairs.is_empty());
    }
}
