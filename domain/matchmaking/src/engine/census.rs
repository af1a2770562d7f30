//! How many players there are to be met, counted sixty-four tickets at a time: most searches find nobody, and end here, before anybody
//! was judged.

use super::block::{Block, Filter, Mark, below};
use super::index::{Index, Place};
use super::key::Key;
use super::lanes::LANES_MAX;
use super::slab::{Handle, WILD};
use super::walk::Window;

/// The most blocks that are counted, some 700 tickets. Where more are within reach, enough of them fit, as a rule.
const BLOCKS_MAX: usize = 16;

/// By which marks whoever is in a lane is known: of a region and of a value, where there are such rules.
pub(super) type Marked = (Option<Mark>, Option<Mark>);

/// Whether so many players of one lane can be within a window. A yes is no promise.
pub(super) fn could_be(
    index: &Index,
    (low, high): Window,
    filter: &Filter,
    lanes: impl Iterator<Item = Marked> + Clone,
    wanted: u32,
) -> bool {
    let Some(first) = index.at(Key::new(low.max(WILD + 1), 0)) else { return false };
    // Whoever has no number is in reach of all: they stand first, and are not counted.
    if index.begins_with(WILD) {
        return true;
    }
    let mut players = [0; LANES_MAX];
    for (at, (slots, block)) in index.blocks_from(first).enumerate() {
        if at == BLOCKS_MAX {
            return true;
        }
        if block.number(0) > high {
            break;
        }
        if !block.summary.admits(filter) {
            continue;
        }
        let here = block.candidates(filter) & slots & up_to(block, high);
        for (lane, players) in lanes.clone().zip(&mut players) {
            let Some(count) = block.players(here & block.with(lane)) else { return true };
            *players += count;
            if *players >= wanted {
                return true;
            }
        }
    }
    false
}

fn up_to(block: &Block, high: i64) -> u64 {
    if block.number(block.len() - 1) <= high {
        u64::MAX
    } else {
        below(block.before(Key::new(high, u64::MAX)))
    }
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
