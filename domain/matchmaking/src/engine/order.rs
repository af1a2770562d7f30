//! Entries put in the order of their keys. A crowd that comes at once is dealt out by the digits of its numbers, which costs a fifth of
//! comparing them; what is dealt is a word for each, so that an entry is moved once.

use alloc::vec::Vec;

use super::block::Entry;

/// Fewer are compared: counting all that a digit can be costs more.
const DEALT_MIN: usize = 512;
/// The bits of a digit: what is counted of one stays in the nearest memory.
const DIGIT: u32 = 9;
const DIGITS: usize = 1 << DIGIT;

/// In which order entries come.
#[derive(Debug)]
pub(super) enum Turns {
    /// As they stand.
    AsTheyStand,
    /// Each word ends with the place of the next.
    Dealt {
        words: Vec<u64>,
        /// Which bits of it that is.
        places: u64,
    },
}

impl Turns {
    /// Where the entry of a turn stands.
    #[inline]
    pub(super) fn place(&self, turn: usize) -> usize {
        match self {
            Self::AsTheyStand => turn,
            Self::Dealt { words, places } => (words[turn] & places) as usize,
        }
    }
}

/// Sorts by key.
pub(super) fn sort(entries: &mut Vec<Entry>) {
    let turns = turns(entries);
    if matches!(turns, Turns::Dealt { .. }) {
        *entries = (0..entries.len()).map(|turn| entries[turns.place(turn)]).collect();
    }
}

/// The order of keys. Few are put into it, many stay where they are.
pub(super) fn turns(entries: &mut [Entry]) -> Turns {
    let Some(first) = entries.first().map(|entry| entry.key) else { return Turns::AsTheyStand };
    // Those of one number stay as they came: so that has to be the order of their arrivals.
    let (mut differing, mut before, mut in_turn) = (0, first.arrival(), true);
    for key in entries.iter().map(|entry| entry.key) {
        differing |= key.rank() ^ first.rank();
        in_turn &= before <= key.arrival();
        before = key.arrival();
    }
    let lowest = differing.trailing_zeros();
    let width = u64::BITS.saturating_sub(differing.leading_zeros() + lowest);
    let place_bits = usize::BITS - entries.len().leading_zeros();
    if entries.len() < DEALT_MIN || width == 0 || width + place_bits > u64::BITS || !in_turn {
        entries.sort_unstable_by_key(|entry| entry.key);
        return Turns::AsTheyStand;
    }
    let number = |entry: &Entry| entry.key.rank() >> lowest & (u64::MAX >> (u64::BITS - width));
    let words = (0_u64..).zip(entries.iter()).map(|(place, entry)| number(entry) << place_bits | place);
    let mut words: Vec<u64> = words.collect();
    let mut dealt = alloc::vec![0; words.len()];
    for round in 0..width.div_ceil(DIGIT) {
        deal(&words, &mut dealt, place_bits + round * DIGIT);
        core::mem::swap(&mut words, &mut dealt);
    }
    Turns::Dealt { words, places: (1 << place_bits) - 1 }
}

/// Orders words by the digit that begins at a bit, and leaves those of one digit as they are.
fn deal(words: &[u64], dealt: &mut [u64], bit: u32) {
    let digit = |word: &u64| (word >> bit) as usize % DIGITS;
    let mut places = [0; DIGITS];
    words.iter().for_each(|word| places[digit(word)] += 1);
    let mut before = 0;
    for place in &mut places {
        before += core::mem::replace(place, before);
    }
    for word in words {
        let place = &mut places[digit(word)];
        dealt[*place] = *word;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::{Marks, Texts};
    use super::super::key::Key;
    use super::*;

    /// Few and many, short numbers and long ones, below nought and not, those of one number in turn and not.
    #[test]
    fn entries_are_in_the_order_of_their_keys() {
        for (count, step, turn, lowest) in [
            (3, 1, 1, -150),
            (2_000, 1, 1, -150),
            (2_000, 1, 1, 0),
            (2_000, 1_000_000, 1, 0),
            (2_000, 1_000_000, 1, -150),
            (2_000, 1_000_000, 7, 0),
            (2_000, 1 << 40, 1, 0),
            (2_000, i64::MAX / 2_000, 1, -150),
            (2_000, 0, 1, 0),
        ] {
            let entry = |at: u64| {
                let number = (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 300;
                let key = Key::new((number.cast_signed() + lowest) * step, at * turn % 2_003);
                Entry { key, handle: 0, marks: Marks::new(1, 0, 0, Texts::ANY) }
            };
            let mut entries: Vec<Entry> = (0..count).map(entry).collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|entry| entry.key);
            sort(&mut entries);
            assert_eq!(entries, expected, "{count} by {step} from {lowest} in turns of {turn}");
        }
    }
}
