//! What a hosted game says of its players so that its backfill is kept up, and what it is told: JSON from the game's SDK through its
//! local daemon and its agent's stream to the plane, and back.

use mainstay_core::TicketId;
use serde::{Deserialize, Serialize};

use super::matching::{MatchView, PlayerOfTicket, TicketView};

/// The longest of either, in bytes: a hundred players with 600 bytes of attributes each. A payload has half of it.
pub const KEPT_BYTES_MAX: usize = 64 * 1024;

/// A game as it stands: who plays, and how many are wanted besides.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GameStands {
    /// The queue its players came from.
    pub queue: String,
    /// Who plays, and who is on the way.
    pub players: Vec<PlayerOfTicket>,
    /// How many are wanted; 0: none.
    pub places: u32,
    /// The newest ticket of it whose match the game knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<TicketId>,
}

/// How its backfill stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackfillStands {
    /// The ticket: open, or matched since the game last heard; absent where nobody is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<TicketView>,
    /// The match it ended in: who plays from now on.
    #[serde(default, rename = "match", skip_serializing_if = "Option::is_none")]
    pub formed: Option<MatchView>,
}
