//! Who plays already in the games that wait for more: their teams, and what they weigh on them.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::plan::Plan;
use super::slab::Handle;

/// A waiting game.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Game {
    /// Players with a team, by team.
    pub seated: Vec<u8>,
    /// Their sums, by team and then by rule of averages.
    pub seated_sums: Vec<i64>,
    /// The numbers of each player without a team, by rule of averages.
    pub loose: Vec<Vec<i64>>,
}

/// The waiting games.
#[derive(Debug, Clone)]
pub(super) struct Games {
    games: BTreeMap<Handle, (u64, Game)>,
    /// The same by arrival: whoever asks for a few asks for the eldest, however many there are.
    by_arrival: BTreeMap<u64, Handle>,
    /// A match without a game before it: nobody is seated.
    nobody: Game,
}

impl Games {
    pub(super) fn new(plan: &Plan) -> Self {
        let teams = plan.teams.len();
        let nobody = Game {
            seated: alloc::vec![0; teams],
            seated_sums: alloc::vec![0; teams * plan.team_numbers],
            loose: Vec::new(),
        };
        Self { games: BTreeMap::new(), by_arrival: BTreeMap::new(), nobody }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.games.is_empty()
    }

    /// Their handles, the eldest first.
    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.by_arrival.values().copied()
    }

    pub(super) fn insert(&mut self, handle: Handle, arrival: u64, game: Game) {
        self.games.insert(handle, (arrival, game));
        self.by_arrival.insert(arrival, handle);
    }

    /// A ticket leaves, as a rule one of players.
    #[inline]
    pub(super) fn remove(&mut self, handle: Handle) {
        if !self.is_empty() {
            self.remove_one(handle);
        }
    }

    #[inline(never)]
    fn remove_one(&mut self, handle: Handle) {
        if let Some((arrival, _)) = self.games.remove(&handle) {
            self.by_arrival.remove(&arrival);
        }
    }

    /// The game of a backfill ticket; of none, one in which nobody plays yet.
    pub(super) fn game(&self, handle: Option<Handle>) -> &Game {
        handle.and_then(|handle| self.games.get(&handle)).map_or(&self.nobody, |(_, game)| game)
    }
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use mainstay_core::Timestamp;

    use super::super::tests::spec_of;
    use super::super::{Engine, Newcomer};
    use super::*;
    use crate::attribute::Facts;

    #[test]
    fn games_are_told_from_the_eldest_on() {
        let mut engine = Engine::new(&spec_of(2..=4, Vec::new(), Vec::new()), Timestamp::EPOCH, 0);
        let facts = &Facts { players: 1, ..Facts::default() };
        let mut insert = |arrival: u64| {
            let (since, game) = (Timestamp::EPOCH, Some(Game::default()));
            engine.insert(Newcomer { facts, room: 4, since, arrival, back: None, game }, None)
        };
        let [third, first, second] = [7, 2, 5].map(&mut insert);
        assert_eq!(engine.games().collect::<Vec<_>>(), [first, second, third]);
        engine.remove(second);
        assert_eq!(engine.games().collect::<Vec<_>>(), [first, third]);
    }
}
