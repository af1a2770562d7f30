//! Whether a game that wants players fits somebody who waits for a server.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Timestamp;

use super::Waiting;
use super::judge::{self, Judged, Side};
use crate::hold::Hold;
use crate::queue::Queue;
use crate::ticket::Stage;

/// Of how many games it is asked, those that have waited longest: at a microsecond each as long as a hundred searches. Where more of them fit
/// nobody, one behind them is found when they are fewer.
const GAMES_MAX: usize = 256;

impl Queue {
    /// Whether one of the games that have waited longest and a ticket of a group fit each other, by every rule between two tickets.
    pub(crate) fn fits_a_game(&self, hold: &Hold, now: Timestamp) -> bool {
        let (Some(spec), Some(live)) = (&self.spec, &self.engine) else { return false };
        let games: Vec<Waiting> = live
            .games()
            .filter_map(|game| self.searching(&game))
            .filter(Waiting::is_game)
            .take(GAMES_MAX)
            .collect();
        let games: Vec<Side<'_>> = games.iter().map(|game| game.side(spec, now)).collect();
        hold.tickets.iter().filter_map(|(ticket, _)| self.tickets.get(ticket)).any(|ticket| {
            let Stage::Held { searching, .. } = ticket.stage else { return false };
            let ticket = Waiting::Ticket(Arc::clone(ticket), searching);
            let own = ticket.side(spec, now);
            let fits = |game| !judge::judge(spec, &own, game).0.iter().any(Judged::fails);
            games.iter().any(fits)
        })
    }
}
