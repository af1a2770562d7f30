//! Which players two teams can have of some tickets: whether they make a match by their sizes alone, told exactly and in one word, so that
//! no grouping is tried where none seats everybody.

use core::ops::RangeInclusive;

use super::plan::Similarity;

/// Numbers of players up to seven: a row of eight bits for each number that the first team can have, a bit in it for each of the second.
pub(super) const MOST: u8 = 7;
const ROW: u32 = 8;
const ROWS: u64 = 0x0101_0101_0101_0101;

/// What two teams can have, by whether there is a large party on the first, and on the second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sides {
    reached: [u64; 4],
}

/// Teams of these sizes, as a set of what both have.
pub(super) fn cells(first: RangeInclusive<u8>, second: RangeInclusive<u8>) -> u64 {
    first.flat_map(|one| second.clone().map(move |other| cell(one, other))).fold(0, |all, cell| all | cell)
}

const fn cell(first: u8, second: u8) -> u64 {
    1 << (first as u32 * ROW + second as u32)
}

impl Sides {
    /// Of nobody.
    pub(super) const EMPTY: Self = Self { reached: [1, 0, 0, 0] };

    /// One more ticket may be there: on the first team, on the second, or on none.
    pub(super) fn offer(&mut self, players: u8, is_large: bool) {
        let before = *self;
        self.seat(players, is_large);
        self.reached.iter_mut().zip(before.reached).for_each(|(now, before)| *now |= before);
    }

    /// One more ticket is there.
    pub(super) fn seat(&mut self, players: u8, is_large: bool) {
        let before = core::mem::take(&mut self.reached);
        if players > MOST {
            return;
        }
        let columns = (0xff << players & 0xff) * ROWS;
        let (on_first, on_second) = if is_large { (1, 2) } else { (0, 0) };
        for (larges, reached) in before.into_iter().enumerate() {
            self.reached[larges | on_first] |= reached << (u32::from(players) * ROW);
            self.reached[larges | on_second] |= reached << players & columns;
        }
    }

    /// Whether the teams can have sizes of these.
    pub(super) const fn reach(&self, cells: u64, similarity: Similarity) -> bool {
        let [none, first, second, both] = self.reached;
        let reached = match similarity {
            Similarity::Alike => none | both,
            Similarity::Any => none | first | second | both,
        };
        reached & cells != 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against every way to seat each ticket on either team or nowhere.
        #[test]
        fn sides_are_what_some_seating_reaches(
            there in proptest::collection::vec(1_u8..10, 0..3),
            may in proptest::collection::vec(1_u8..10, 0..5),
            (least, most, large_from) in (0_u8..6, 0_u8..8, 2_u8..6),
        ) {
            let mut sides = Sides::EMPTY;
            there.iter().for_each(|players| sides.seat(*players, *players >= large_from));
            may.iter().for_each(|players| sides.offer(*players, *players >= large_from));
            let sizes = least..=most;
            let cells = cells(sizes.clone(), sizes);
            let all = || there.iter().chain(&may);
            for similarity in [Similarity::Any, Similarity::Alike] {
                let mut is_reached = false;
                for way in 0..3_usize.pow((there.len() + may.len()) as u32) {
                    let (mut players, mut has_large, mut way, mut all_there) = ([0_u32; 2], [false; 2], way, true);
                    for (at, ticket) in all().enumerate() {
                        match way % 3 {
                            2 => all_there &= at >= there.len(),
                            team => {
                                players[team] += u32::from(*ticket);
                                has_large[team] |= *ticket >= large_from;
                            }
                        }
                        way /= 3;
                    }
                    let fits = players.iter().all(|players| (u32::from(least)..=u32::from(most)).contains(players));
                    let alike = similarity == Similarity::Any || has_large[0] == has_large[1];
                    is_reached |= all_there && fits && alike;
                }
                prop_assert_eq!(sides.reach(cells, similarity), is_reached);
            }
        }
    }
}
