//! Whether any match of a queue has room for a ticket: by the sizes of matches and teams alone, whoever else comes.
//!
//! Of whoever comes nothing is known, so they may come one by one, and any number may be on any team. What is left is arithmetic: there
//! is a match when every team has a size that it may have, that holds those who are on it, and these sizes add up to a match's.

use alloc::vec::Vec;
use core::ops::RangeInclusive;

use super::{Declared, QueueSpec, RuleKind};

/// Why no match has room for a game, however long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoRoom {
    /// It is full: a match is of one player more at least.
    #[error("{players} players are in it, and to be joined it may have {max}")]
    Full {
        /// Who plays.
        players: u32,
        /// How many may, so that somebody can join.
        max: u32,
    },
    /// It wants fewer players than it takes.
    #[error(
        "with everybody it wants it has {most} players, and a match of this queue at least {least}: ask for more places, or have a smaller minMatchSize"
    )]
    TooFew {
        /// Who plays, and whoever is wanted.
        most: u32,
        /// How many a match has at least.
        least: u32,
    },
    /// Its teams never come to sizes that the queue allows.
    #[error(
        "with up to {most} players no team sizes of this queue hold those who are on its teams: ask for more places, or see the sizes of teams and the TeamSizeBalanceRule"
    )]
    Teams {
        /// Who plays, and whoever is wanted, where the match and its teams hold so many.
        most: u32,
    },
}

impl QueueSpec {
    /// The most players a ticket may have: so many that they fit on one team, with others in the match, which is of two tickets at least.
    #[must_use]
    pub fn ticket_size_max(&self) -> u32 {
        let own = self.max_ticket_size.filter(|size| *size > 0).unwrap_or(u32::MAX);
        let most = (self.max_match_size - 1).min(own);
        if self.teams.is_empty() {
            return most;
        }
        let largest = self.teams.iter().map(|team| team.max).max().unwrap_or(0);
        let fits = |players: &u32| (0..self.teams.len()).any(|team| self.has_room_on(team, *players));
        // One player alone always fits: a queue without any match is refused.
        (1..=most.min(largest)).rev().find(fits).unwrap_or(1)
    }

    /// The most players of a match: no more than its teams hold.
    pub(crate) fn holds(&self) -> u32 {
        if self.teams.is_empty() {
            return self.max_match_size;
        }
        self.teams.iter().fold(0_u32, |sum, team| sum.saturating_add(team.max)).min(self.max_match_size)
    }

    /// Whether so many may be on one team together, and others join them.
    fn has_room_on(&self, team: usize, players: u32) -> bool {
        let mut seated = alloc::vec![0; self.teams.len()];
        seated[team] = players;
        self.seats(&seated, self.min_match_size.max(players + 1)..=self.max_match_size)
    }

    /// Whether any match has room for a game of which so many play, those of `seated` on their teams; that wants no more than these
    /// places, where it says.
    ///
    /// # Errors
    /// Why none has.
    pub fn has_room(&self, players: u32, seated: &[u32], places: Option<u32>) -> Result<(), NoRoom> {
        let holds = self.holds();
        if players >= holds {
            return Err(NoRoom::Full { players, max: holds - 1 });
        }
        let most = places.map_or(holds, |places| players.saturating_add(places).min(holds));
        if most < self.min_match_size {
            return Err(NoRoom::TooFew { most, least: self.min_match_size });
        }
        let sizes = self.min_match_size.max(players + 1)..=most;
        if self.teams.is_empty() || self.seats(seated, sizes) { Ok(()) } else { Err(NoRoom::Teams { most }) }
    }

    /// Whether teams that hold these make a match of such a size, now or once it has waited.
    fn seats(&self, seated: &[u32], sizes: RangeInclusive<u32>) -> bool {
        let mut balances = self.rules.iter().filter_map(|rule| match &rule.kind {
            RuleKind::TeamSizeBalance { allowed } => Some((rule, allowed)),
            RuleKind::StringEquality { .. }
            | RuleKind::Difference { .. }
            | RuleKind::SetIntersection { .. }
            | RuleKind::MatchTotal { .. }
            | RuleKind::RegionSelection { .. }
            | RuleKind::TeamDifference { .. }
            | RuleKind::TeamTicketSizeSimilarity => None,
        });
        let can = |allowed: u32| can_be_even(self, seated, &sizes, allowed);
        balances.next().map_or_else(|| can(u32::MAX), |(rule, allowed)| rule.lets(allowed, can))
    }
}

/// Whether teams whose sizes differ by no more than that, and hold those seated, make a match of such a size.
pub(super) fn can_be_even(
    queue: &Declared,
    seated: &[u32],
    sizes: &RangeInclusive<u32>,
    allowed: u32,
) -> bool {
    (0..=queue.max_match_size).any(|smallest| {
        let teams = queue.teams.iter().zip(seated.iter().copied().chain(core::iter::repeat(0)));
        let bounds = teams.map(|(team, seated)| {
            (team.min.max(smallest).max(seated), team.max.min(smallest.saturating_add(allowed)))
        });
        let bounds: Vec<(u32, u32)> = bounds.collect();
        let sum = |of: fn(&(u32, u32)) -> u32| {
            bounds.iter().map(of).fold(0_u32, |sum, size| sum.saturating_add(size))
        };
        bounds.iter().all(|(least, most)| least <= most)
            && sum(|(least, _)| *least) <= *sizes.end()
            && sum(|(_, most)| *most) >= *sizes.start()
    })
}
