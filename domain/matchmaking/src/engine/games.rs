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
    games: BTreeMap<Handle, Game>,
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
        Self { games: BTreeMap::new(), nobody }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.games.is_empty()
    }

    /// Their handles, in no order that is told.
    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.games.keys().copied()
    }

    pub(super) fn insert(&mut self, handle: Handle, game: Game) {
        self.games.insert(handle, game);
    }

    /// A ticket leaves, as a rule one of players.
    #[inline]
    pub(super) fn remove(&mut self, handle: Handle) {
        if !self.is_empty() {
            self.games.remove(&handle);
        }
    }

    /// The game of a backfill ticket; of none, one in which nobody plays yet.
    pub(super) fn game(&self, handle: Option<Handle>) -> &Game {
        handle.and_then(|handle| self.games.get(&handle)).unwrap_or(&self.nobody)
    }
}
