//! Whether tickets have places on several teams, whole as they are.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::descent::Steps;

/// A search for places, of tickets in their order.
#[derive(Debug)]
pub(super) struct Packing {
    /// How many steps it may take.
    pub(super) left: Steps,
    /// What teams had free, the least first, where those who came after found no places: how many have theirs follows from it.
    failed: BTreeSet<Vec<u8>>,
}

impl Packing {
    pub(super) const fn new(steps: Steps) -> Self {
        Self { left: steps, failed: BTreeSet::new() }
    }

    /// Whether tickets, the largest first, fit into the free places of teams.
    pub(super) fn fits(&mut self, units: &[u8], mut free: Vec<u8>) -> bool {
        let Some((unit, rest)) = units.split_first() else { return true };
        if *unit <= 1 {
            let wanted: u32 = units.iter().map(|players| u32::from(*players)).sum();
            return wanted <= free.iter().map(|free| u32::from(*free)).sum();
        }
        free.sort_unstable();
        if self.failed.contains(&free) {
            return false;
        }
        let mut last = None;
        for team in 0..free.len() {
            if free[team] < *unit || last == Some(free[team]) {
                continue;
            }
            // Out of steps it is called possible: what is wrong shows when the teams are seated.
            if !self.left.take(1) {
                return true;
            }
            last = Some(free[team]);
            let mut with = free.clone();
            with[team] -= unit;
            if self.fits(rest, with) {
                return true;
            }
        }
        self.failed.insert(free);
        false
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn has_places(units: &[u8], free: &[u8]) -> bool {
        let Some((unit, rest)) = units.split_first() else { return true };
        (0..free.len()).any(|team| {
            let mut with = free.to_vec();
            free[team] >= *unit && {
                with[team] -= unit;
                has_places(rest, &with)
            }
        })
    }

    proptest! {
        /// Against every way to give each a place.
        #[test]
        fn tickets_fit_where_each_has_a_place(
            mut units in proptest::collection::vec(1_u8..6, 0..7),
            free in proptest::collection::vec(0_u8..8, 1..5),
        ) {
            units.sort_unstable_by(|one, other| other.cmp(one));
            let mut packing = Packing::new(Steps(u32::MAX));
            prop_assert_eq!(packing.fits(&units, free.clone()), has_places(&units, &free));
        }
    }

    /// Seventeen of three players on five teams of eleven, who have room for fifteen: without what is known of those that failed it takes
    /// 26,695 steps, and with it 105.
    #[test]
    fn what_failed_once_is_not_tried_again() {
        let mut packing = Packing::new(Steps(1_000));
        assert!(!packing.fits(&[3; 17], alloc::vec![11; 5]));
        assert_eq!(packing.left, Steps(1_000 - 105));
    }
}
