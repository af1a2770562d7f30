//! Bits moved in many words alike, sixty-four of them at a time.

use super::block::BLOCK;

/// Brings the bits that are kept of a word together at its lower end. How far each has to go is found once for many words, as the sum of
/// ones, twos, fours and so on (Warren, *Hacker's Delight*, section 7-4).
pub(super) struct Closing {
    kept: u64,
    moved: [u64; 6],
}

impl Closing {
    pub(super) fn new(kept: u64) -> Self {
        let (mut left, mut gaps) = (kept, !kept << 1);
        let moved = core::array::from_fn(|by| {
            // Before which bits there is an odd number of gaps.
            let odd = [1, 2, 4, 8, 16, 32].iter().fold(gaps, |odd, step| odd ^ odd << step);
            let moves = odd & left;
            left = left ^ moves | moves >> (1 << by);
            gaps &= !odd;
            moves
        });
        Self { kept, moved }
    }

    pub(super) fn close(&self, word: u64) -> u64 {
        // Most queues have fewer regions and values than there are marks for.
        if word & self.kept == 0 {
            return 0;
        }
        let steps = self.moved.iter().enumerate();
        steps.fold(word & self.kept, |word, (by, moved)| {
            let moves = word & moved;
            word ^ moves | moves >> (1 << by)
        })
    }
}

/// Turns a square of bits around: what was bit `a` of word `b` is bit `b` of word `a` (Warren, section 7-3). It costs a third of setting them
/// one by one.
pub(super) fn turn(words: &mut [u64; BLOCK]) {
    let mut lower = u64::MAX >> 32;
    for half in [32, 16, 8, 4, 2, 1] {
        lower ^= if half == 32 { 0 } else { lower << half };
        for pair in words.chunks_exact_mut(half * 2) {
            let (first, second) = pair.split_at_mut(half);
            for (first, second) in first.iter_mut().zip(second) {
                let crossed = (*first >> half ^ *second) & lower;
                *first ^= crossed << half;
                *second ^= crossed;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_square_of_bits_is_turned_around() {
        let words: [u64; BLOCK] =
            core::array::from_fn(|at| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut turned = words;
        turn(&mut turned);
        for (at, word) in words.iter().enumerate() {
            for (bit, other) in turned.iter().enumerate() {
                assert_eq!(word >> bit & 1, other >> at & 1, "bit {bit} of word {at}");
            }
        }
    }
}
