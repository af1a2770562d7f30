//! Entries put in the order of their keys. A crowd that comes at once is dealt out by the digits of its numbers, which costs a fifth of
//! comparing them.

use alloc::vec::Vec;

use super::block::Entry;

/// Fewer are compared: counting all that a digit can be costs more.
const DEALT_MIN: usize = 512;
/// The bits of a digit: what is counted of one stays in the nearest memory.
const DIGIT: u32 = 9;
const DIGITS: usize = 1 << DIGIT;
/// Of longer numbers comparing costs less.
const ROUNDS_MAX: u32 = 6;

/// Sorts by key.
pub(super) fn sort(entries: &mut Vec<Entry>) {
    let Some(first) = entries.first().map(|entry| entry.key.rank()) else { return };
    let differing = entries.iter().fold(0, |bits, entry| bits | (entry.key.rank() ^ first));
    let lowest = differing.trailing_zeros();
    let rounds = u64::BITS.saturating_sub(differing.leading_zeros() + lowest).div_ceil(DIGIT);
    // Those of one number stay as they came: so that has to be the order of their arrivals.
    let in_turn = || entries.is_sorted_by_key(|entry| entry.key.arrival());
    if entries.len() < DEALT_MIN || rounds > ROUNDS_MAX || !in_turn() {
        entries.sort_unstable_by_key(|entry| entry.key);
        return;
    }
    let mut dealt = entries.clone();
    for round in 0..rounds {
        deal(entries, &mut dealt, lowest + round * DIGIT);
        core::mem::swap(entries, &mut dealt);
    }
}

/// Orders entries by the digit that begins at a bit, and leaves those of one digit as they are.
fn deal(entries: &[Entry], dealt: &mut [Entry], bit: u32) {
    let digit = |entry: &Entry| (entry.key.rank() >> bit) as usize % DIGITS;
    let mut places = [0; DIGITS];
    entries.iter().for_each(|entry| places[digit(entry)] += 1);
    let mut before = 0;
    for place in &mut places {
        before += core::mem::replace(place, before);
    }
    for entry in entries {
        let place = &mut places[digit(entry)];
        dealt[*place] = *entry;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::block::Marks;
    use super::super::key::Key;
    use super::*;

    /// Few and many, short numbers and long ones, below nought and above, those of one number in turn and not.
    #[test]
    fn entries_are_in_the_order_of_their_keys() {
        for (count, step, turn) in [
            (3, 1, 1),
            (2_000, 1, 1),
            (2_000, 1_000_000, 1),
            (2_000, 1_000_000, 7),
            (2_000, i64::MAX / 2_000, 1),
            (2_000, 0, 1),
        ] {
            let entry = |at: u64| {
                let number = (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 300;
                let key = Key::new((number.cast_signed() - 150) * step, at * turn % 2_003);
                Entry { key, handle: 0, marks: Marks::new(1, 0, 0) }
            };
            let mut entries: Vec<Entry> = (0..count).map(entry).collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|entry| entry.key);
            sort(&mut entries);
            assert_eq!(entries, expected, "{count} by {step} in turns of {turn}");
        }
    }
}
