//! What the calls are asked with. A field that a call cannot do without is an empty text, or `None`, where it was left out: the
//! caller is told of all of them at once.

use serde::Deserialize;
use serde_json::Value;

use super::entity::{EntityKey, MatchmakingPlayer};
use super::lenient;
use super::server::ServerDetails;

/// `CreateMatchmakingTicket`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CreateTicket {
    /// Who looks for a match.
    pub creator: Option<MatchmakingPlayer>,
    /// How many seconds it waits.
    #[serde(deserialize_with = "lenient::integer")]
    pub give_up_after_seconds: Option<i64>,
    /// Where.
    #[serde(deserialize_with = "lenient::or_default")]
    pub queue_name: String,
    /// With whom.
    #[serde(deserialize_with = "lenient::list")]
    pub members_to_match_with: Vec<EntityKey>,
}

/// `CreateServerMatchmakingTicket`, and `CreateServerBackfillTicket` with [`ServerDetails`].
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct CreateServerTicket {
    /// Who plays.
    #[serde(deserialize_with = "lenient::list")]
    pub members: Vec<MatchmakingPlayer>,
    /// How many seconds it waits.
    #[serde(deserialize_with = "lenient::integer")]
    pub give_up_after_seconds: Option<i64>,
    /// Where.
    #[serde(deserialize_with = "lenient::or_default")]
    pub queue_name: String,
    /// Of a backfill ticket: how to reach the game.
    pub server_details: Option<ServerDetails>,
    /// Ours, of a backfill ticket: how many players are wanted at most.
    #[serde(deserialize_with = "lenient::integer")]
    pub places: Option<u32>,
    /// Ours, of a backfill ticket whose server is not hosted here: it is withdrawn when its server has not looked at it for so
    /// many seconds.
    #[serde(deserialize_with = "lenient::integer")]
    pub lease_seconds: Option<u32>,
    /// Ours, of a backfill ticket: what becomes of it when a player is taken out
    /// (`CancelAllServerBackfillTicketsForPlayer`).
    #[serde(deserialize_with = "lenient::or_default")]
    pub on_player_taken_out: OnPlayerTakenOut,
}

/// What becomes of a backfill ticket when a player is taken out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum OnPlayerTakenOut {
    /// It is cancelled, as PlayFab does.
    #[default]
    Cancel,
    /// It goes on without the player, with its age and its place.
    GoOn,
}

/// `JoinMatchmakingTicket`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct JoinTicket {
    /// Which.
    #[serde(deserialize_with = "lenient::or_default")]
    pub ticket_id: String,
    /// Where.
    #[serde(deserialize_with = "lenient::or_default")]
    pub queue_name: String,
    /// Who joins.
    pub member: Option<MatchmakingPlayer>,
}

/// A call about one ticket: `Get…Ticket`, `Cancel…Ticket`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OfTicket {
    /// Which.
    #[serde(deserialize_with = "lenient::or_default")]
    pub ticket_id: String,
    /// Where.
    #[serde(deserialize_with = "lenient::or_default")]
    pub queue_name: String,
    /// Whether objects are told as texts of JSON.
    #[serde(deserialize_with = "lenient::or_default")]
    pub escape_object: bool,
}

/// A call about a player's tickets: `CancelAll…TicketsForPlayer`, `List…TicketsForPlayer`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OfPlayer {
    /// Where.
    #[serde(deserialize_with = "lenient::or_default")]
    pub queue_name: String,
    /// Whose; a player who asks may leave itself out.
    pub entity: Option<EntityKey>,
}

/// `GetMatch`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct GetMatch {
    /// Which.
    #[serde(deserialize_with = "lenient::or_default")]
    pub match_id: String,
    /// Where.
    #[serde(deserialize_with = "lenient::or_default")]
    pub queue_name: String,
    /// Whether objects are told as texts of JSON.
    #[serde(deserialize_with = "lenient::or_default")]
    pub escape_object: bool,
    /// Whether the players' attributes are told.
    #[serde(deserialize_with = "lenient::or_default")]
    pub return_member_attributes: bool,
}

/// A call about a queue: `GetQueueStatistics`, `GetMatchmakingQueue`, `RemoveMatchmakingQueue`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct OfQueue {
    /// Which.
    #[serde(deserialize_with = "lenient::or_default")]
    pub queue_name: String,
}

/// `SetMatchmakingQueue`.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct SetQueue {
    /// The queue, in either dialect: see [`MatchmakingQueueConfig::read`](super::queue::MatchmakingQueueConfig::read).
    pub matchmaking_queue: Option<Value>,
}
