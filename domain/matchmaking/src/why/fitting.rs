//! Whether a game that wants players fits somebody who waits for a server.
//!
//! By every rule between two tickets; rules of whole matches may keep them apart still.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MatchId, TicketId, Timestamp};

use super::Waiting;
use super::judge::{self, Judged, Side};
use crate::hold::Hold;
use crate::queue::Queue;
use crate::spec::QueueSpec;
use crate::ticket::Stage;

/// Of how many games it is asked, those that have waited longest: at a microsecond each as long as a hundred searches. Where more of them fit
/// nobody, one behind them is found when they are fewer.
const GAMES_MAX: usize = 256;

/// Of how many tickets a game that comes is asked about: as many again.
const TICKETS_MAX: usize = 256;

impl Queue {
    /// Whether one of the games that have waited longest and a ticket of a group fit each other.
    pub(crate) fn fits_a_game(&self, hold: &Hold, now: Timestamp) -> bool {
        let (Some(spec), Some(live)) = (&self.spec, &self.engine) else { return false };
        let games: Vec<Waiting> = live
            .games()
            .filter_map(|game| self.searching(&game))
            .filter(Waiting::is_game)
            .take(GAMES_MAX)
            .collect();
        let games: Vec<Side<'_>> = games.iter().map(|game| game.side(spec, now)).collect();
        self.held_of(hold).any(|ticket| {
            let own = ticket.side(spec, now);
            games.iter().any(|game| fit(spec, &own, game))
        })
    }

    /// Of some groups those of whom a ticket fits a game: no more of them than could fill it.
    pub(crate) fn fitting<'a>(
        &self,
        game: TicketId,
        groups: impl Iterator<Item = &'a Arc<Hold>>,
        now: Timestamp,
    ) -> Vec<MatchId> {
        let game = self.searching(&game).filter(Waiting::is_game);
        let (Some(spec), Some(game)) = (&self.spec, game) else { return Vec::new() };
        let game = game.side(spec, now);
        let mut places = (game.room as usize).saturating_sub(game.players.len());
        let mut looks = TICKETS_MAX;
        let mut fitting = Vec::new();
        for group in groups {
            if looks == 0 || places == 0 {
                break;
            }
            let mut joining = 0;
            for ticket in self.held_of(group).take(looks) {
                looks -= 1;
                let own = ticket.side(spec, now);
                if fit(spec, &own, &game) {
                    joining += own.players.len();
                }
            }
            if joining > 0 {
                fitting.push(group.id);
                places = places.saturating_sub(joining);
            }
        }
        fitting
    }

    /// The tickets of a group, as they search once it is let go.
    fn held_of(&self, hold: &Hold) -> impl Iterator<Item = Waiting> {
        hold.tickets.iter().filter_map(|(id, _)| {
            let ticket = self.tickets.get(id)?;
            match ticket.stage {
                Stage::Held { searching, .. } => Some(Waiting::Ticket(Arc::clone(ticket), searching)),
                Stage::Gathering | Stage::Searching(_) | Stage::Matched { .. } | Stage::Canceled { .. } => {
                    None
                }
            }
        })
    }
}

fn fit(spec: &QueueSpec, one: &Side<'_>, other: &Side<'_>) -> bool {
    !judge::judge(spec, one, other).0.iter().any(Judged::fails)
}
