//! What members' games did, on its way into the host's: each once, in its member's order and without a gap.
//!
//! Each word travels by itself, so a later one may overtake it, and one may be lost: what comes before its turn waits here for
//! what lies between. How far a member's have come goes back to it with every beat, and it says again what is not here. Only
//! what a member keeps no more is a gap, and every word of it tells from where on it keeps.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

use crate::PeerId;
use crate::state::STATE_BYTES_MAX;

/// How many of a member's inputs are on their way to its host at most: with beats ten times a second those of sixty a second
/// and a round trip of 700 ms; and fewer than a link takes at once (`game/peer`, 64), so that a burst after a move is not dropped.
pub(super) const UNDER_WAY_MAX: usize = 48;
/// How many inputs of one member wait for the host's game to read on: two seconds of sixty a second. More are not taken, and
/// its member says them again.
const WAITING_MAX: usize = 128;
/// How many bytes they are at most, and those that came before their turn: as many as a state is long.
const BYTES_MAX: usize = STATE_BYTES_MAX;

/// What a member did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deed {
    pub(super) from: PeerId,
    pub(super) number: u64,
    pub(super) bytes: Vec<u8>,
}

/// What has come, and the host's game has not been given yet.
#[derive(Debug, Clone, Default)]
pub(super) struct Intake {
    members: BTreeMap<PeerId, Queue>,
    /// In the order in which their turn came.
    waiting: VecDeque<Deed>,
}

/// One member's.
#[derive(Debug, Clone, Default)]
struct Queue {
    /// The last that was taken, and with it all before it.
    taken: u64,
    /// What lies before it its member keeps no more.
    oldest: u64,
    /// What came before its turn.
    early: BTreeMap<u64, Vec<u8>>,
    /// How many of them wait for the game, and how many bytes they are.
    waiting: usize,
    bytes: usize,
}

impl Queue {
    /// The first that came, where it is its turn and there is room.
    fn next(&mut self) -> Option<(u64, Vec<u8>)> {
        let (number, bytes) = self.early.first_key_value()?;
        let is_its_turn = *number <= self.oldest.max(self.taken.saturating_add(1));
        let has_room = self.waiting < WAITING_MAX && self.bytes + bytes.len() <= BYTES_MAX;
        if !is_its_turn || !has_room {
            return None;
        }
        let (number, bytes) = self.early.pop_first()?;
        self.taken = number;
        self.waiting += 1;
        self.bytes += bytes.len();
        Some((number, bytes))
    }

    /// Keeps what came, unless it is known, or too far ahead.
    fn keep(&mut self, number: u64, bytes: Vec<u8>) {
        let next = self.oldest.max(self.taken.saturating_add(1));
        let is_near = number.saturating_sub(next) < UNDER_WAY_MAX as u64;
        let early: usize = self.early.values().map(Vec::len).sum();
        let has_room = number == next || early + bytes.len() <= BYTES_MAX;
        if number > self.taken && is_near && has_room {
            self.early.entry(number).or_insert(bytes);
        }
    }
}

impl Intake {
    /// A host goes on from a state that holds so many of each member's.
    pub(super) fn after(inputs: &BTreeMap<PeerId, u64>) -> Self {
        let queue = |taken: &u64| Queue { taken: *taken, ..Queue::default() };
        let members = inputs.iter().map(|(peer, taken)| (*peer, queue(taken))).collect();
        Self { members, waiting: VecDeque::new() }
    }

    /// The last of that peer's that is here, with all before it.
    pub(super) fn taken(&self, peer: PeerId) -> u64 {
        self.members.get(&peer).map_or(0, |queue| queue.taken)
    }

    /// A member's came, which keeps nothing before `oldest`.
    pub(super) fn take(&mut self, oldest: u64, deed: Deed) {
        let Deed { from, number, bytes } = deed;
        let queue = self.members.entry(from).or_default();
        queue.oldest = queue.oldest.max(oldest.min(number));
        queue.keep(number, bytes);
        self.admit(from);
    }

    /// The game is given the next.
    pub(super) fn next(&mut self) -> Option<Deed> {
        let deed = self.waiting.pop_front()?;
        if let Some(queue) = self.members.get_mut(&deed.from) {
            queue.waiting = queue.waiting.saturating_sub(1);
            queue.bytes = queue.bytes.saturating_sub(deed.bytes.len());
        }
        self.admit(deed.from);
        Some(deed)
    }

    /// How many deeds are here, how many bytes they are, and of how many members something is known.
    pub(super) fn kept(&self) -> (usize, usize, usize) {
        let early = self.members.values().map(|queue| queue.early.len()).sum::<usize>();
        let early_bytes = self.members.values().flat_map(|queue| queue.early.values()).map(Vec::len);
        let bytes = early_bytes.chain(self.members.values().map(|queue| queue.bytes)).sum();
        (early + self.waiting.len(), bytes, self.members.len())
    }

    /// Only these are remembered.
    pub(super) fn retain(&mut self, stays: impl Fn(PeerId) -> bool) {
        self.members.retain(|peer, _| stays(*peer));
    }

    fn admit(&mut self, from: PeerId) {
        let Some(queue) = self.members.get_mut(&from) else { return };
        while let Some((number, bytes)) = queue.next() {
            self.waiting.push_back(Deed { from, number, bytes });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANN: PeerId = PeerId(1);

    fn said(intake: &mut Intake, oldest: u64, number: u64) {
        intake.take(oldest, Deed { from: ANN, number, bytes: number.to_be_bytes().to_vec() });
    }

    fn given(intake: &mut Intake) -> Vec<u64> {
        core::iter::from_fn(|| intake.next()).map(|deed| deed.number).collect()
    }

    /// In whichever order they come, and however often.
    #[test]
    fn what_comes_before_its_turn_waits_for_what_lies_between() {
        let mut intake = Intake::default();
        for number in [2, 4, 4, 2, 5] {
            said(&mut intake, 1, number);
            assert!(given(&mut intake).is_empty(), "{number}");
        }
        assert_eq!(intake.taken(ANN), 0);
        said(&mut intake, 1, 1);
        assert_eq!((intake.taken(ANN), given(&mut intake)), (2, [1, 2].to_vec()));
        said(&mut intake, 1, 3);
        said(&mut intake, 1, 1);
        assert_eq!((intake.taken(ANN), given(&mut intake)), (5, [3, 4, 5].to_vec()));
    }

    /// What its member keeps no more is never said again: nobody waits for it.
    #[test]
    fn what_was_forgotten_is_a_gap_that_is_known() {
        let mut intake = Intake::default();
        [1, 3, 6].into_iter().for_each(|number| said(&mut intake, 1, number));
        assert_eq!(given(&mut intake), [1]);
        said(&mut intake, 5, 7);
        assert_eq!(given(&mut intake), [3], "it had come before it was forgotten");
        said(&mut intake, 5, 5);
        assert_eq!(given(&mut intake), [5, 6, 7]);
    }

    /// A game that reads nothing for a while loses nothing, and nobody's flood fills the host.
    #[test]
    fn what_finds_no_room_is_taken_when_it_is_said_again() {
        let mut intake = Intake::default();
        let mut all = Vec::new();
        for _ in 0..2 {
            for number in 1..=400 {
                said(&mut intake, 1, number);
            }
            all.extend(given(&mut intake));
        }
        assert!(all.len() > WAITING_MAX && all.len() < 400, "{}", all.len());
        assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>());
        said(&mut intake, 1, u64::MAX);
        assert_eq!((given(&mut intake), intake.members[&ANN].early.len()), (Vec::new(), 0), "far ahead");
    }

    /// Long ones, too: what is in its turn is never kept out by what is not.
    #[test]
    fn what_came_too_early_takes_no_room_from_what_is_due() {
        let mut intake = Intake::default();
        let long = |number| Deed { from: ANN, number, bytes: alloc::vec![0; BYTES_MAX / 4] };
        for number in [2, 3, 4, 5, 6, 7, 1] {
            intake.take(1, long(number));
        }
        assert_eq!(intake.taken(ANN), 4, "as many as there is room for");
        assert_eq!(given(&mut intake), [1, 2, 3, 4, 5]);
        intake.take(1, long(6));
        assert_eq!(given(&mut intake), [6]);
    }
}
