//! How many players there are to be met, counted sixty-four tickets at a time: most searches find nobody, and end here, before anybody
//! was judged.

use super::block::{Block, Filter, Mark, below};
use super::index::{Index, Place};
use super::key::Key;
use super::lanes::{LANES_MAX, bits};
use super::slab::{Handle, WILD};
use super::walk::Window;

/// The most blocks that are counted, some 700 tickets. Where more are within reach, enough of them fit, as a rule.
const BLOCKS_MAX: usize = 16;
/// Where a lane has so many times the players that are wanted, nobody is asked how near they are to each other: a window is twice as wide
/// as its tickets may be apart, so half of those are near enough, as a rule.
const AMPLE: u32 = 2;

/// By which marks whoever is in a lane is known: of a region and of a value, where there are such rules.
pub(super) type Marked = (Option<Mark>, Option<Mark>);

/// Who is within a window, by blocks, and where they are enough.
#[derive(Debug)]
pub(super) struct Census<'a> {
    blocks: [Option<(&'a Block, u64)>; BLOCKS_MAX],
    /// Lanes with as many players as are wanted, one bit each.
    enough: u64,
}

impl<'a> Census<'a> {
    /// Counts the players of lanes, of whom so many are wanted, within what a filter asks; `None` where there are enough, or too many to count.
    pub(super) fn of(
        index: &'a Index,
        (low, high): Window,
        filter: &Filter,
        lanes: &[Marked],
        wanted: u32,
    ) -> Option<Self> {
        let mut census = Self { blocks: [None; BLOCKS_MAX], enough: 0 };
        let mut players = [0; LANES_MAX];
        // Whoever has no number is in reach of all: they stand first, and are not counted.
        if index.begins_with(WILD) {
            return None;
        }
        let first = index.at(Key::new(low.max(WILD + 1), 0)).into_iter();
        for (at, (slots, block)) in first.flat_map(|first| index.blocks_from(first)).enumerate() {
            if at == BLOCKS_MAX {
                return None;
            }
            if block.number(0) > high {
                break;
            }
            if !block.summary.admits(filter) {
                continue;
            }
            // What else is asked of candidates those of a lane have.
            let here = block.with_room(filter) & slots & up_to(block, high);
            census.blocks[at] = Some((block, here));
            for (lane, players) in lanes.iter().zip(&mut players) {
                *players += block.players(here & block.with(*lane))?;
                if *players >= AMPLE * wanted {
                    return None;
                }
            }
        }
        let counted = (0..).zip(&players[..lanes.len()]);
        census.enough =
            counted.fold(0, |enough, (lane, players)| enough | u64::from(*players >= wanted) << lane);
        Some(census)
    }

    /// The lanes with as many players as are wanted.
    pub(super) fn enough(&self) -> impl Iterator<Item = usize> + use<> {
        bits(self.enough).map(|lane| lane as usize)
    }

    /// Who is in a lane, in the order of their numbers.
    pub(super) fn of_lane(&self, lane: Marked) -> impl Iterator<Item = Handle> + use<'a> {
        let blocks = self.blocks.into_iter().flatten();
        blocks.flat_map(move |(block, here)| {
            bits(here & block.with(lane)).map(|slot| block.handle(slot as usize))
        })
    }
}

fn up_to(block: &Block, high: i64) -> u64 {
    if block.number(block.len() - 1) <= high { u64::MAX } else { below(block.before_number(high + 1)) }
}

impl Index {
    /// Whether the first entry or gap is of this number.
    pub(super) fn begins_with(&self, number: i64) -> bool {
        self.first().is_some_and(|first| self.runs[first.run].blocks[first.block].number(0) == number)
    }

    /// Who is of a key's number, from that key on.
    pub(super) fn equals_from(&self, key: Key) -> impl Iterator<Item = Handle> {
        let place = self.at(key).and_then(|place| self.first_from(place));
        let blocks = place.into_iter().flat_map(|place| self.blocks_from(place));
        let entries = blocks.flat_map(|(slots, block)| {
            block
                .slots()
                .filter(move |slot| slots >> slot & 1 == 1)
                .map(|slot| (block.number(slot), block.handle(slot)))
        });
        entries.take_while(move |(number, _)| *number == key.number()).map(|(_, handle)| handle)
    }

    /// The blocks from a place on, with the slots of each that are not before it.
    fn blocks_from(&self, place: Place) -> impl Iterator<Item = (u64, &Block)> {
        let runs = self.runs.iter().enumerate().skip(place.run);
        runs.flat_map(move |(run, it)| {
            let from = if run == place.run { place.block } else { 0 };
            it.blocks.iter().enumerate().skip(from).map(move |(block, it)| {
                let begins = (run, block) == (place.run, place.block);
                (if begins { !below(place.slot) } else { u64::MAX }, &**it)
            })
        })
    }
}
