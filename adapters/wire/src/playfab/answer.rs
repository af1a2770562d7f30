//! What the calls come to.

use jiff::Timestamp as Instant;
use mainstay_core::{MatchId, TicketId};
use mainstay_matchmaking::{
    BackfillStage, BackfillTicket, Cancellation, Match, Member, Seated, Stage, Statistics, Ticket,
};
use serde::{Deserialize, Serialize};

use super::dated::dated;
use super::entity::{EntityKey, MatchmakingPlayer, MatchmakingPlayerAttributes, Objects};
use super::lenient;
use super::queue::MatchmakingQueueConfig;
use super::server::ServerDetails;
use crate::multiplay::instant;

/// Nothing more than that it was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Done {}

/// A ticket was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Created {
    /// Its id.
    pub ticket_id: TicketId,
}

/// A player's tickets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Listed {
    /// Their ids.
    pub ticket_ids: Vec<TicketId>,
}

/// `GetMatchmakingTicketResult`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TicketAnswer {
    /// Its id.
    pub ticket_id: TicketId,
    /// Where it waits.
    pub queue_name: String,
    /// When it was made.
    #[serde(serialize_with = "dated")]
    pub created: Instant,
    /// How it stands.
    pub status: String,
    /// How many seconds it waits.
    pub give_up_after_seconds: u32,
    /// Who has joined.
    pub members: Vec<MatchmakingPlayer>,
    /// Who made it.
    pub creator: EntityKey,
    /// Who was asked to join.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members_to_match_with: Vec<EntityKey>,
    /// The match it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_id: Option<MatchId>,
    /// Why it is over without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation_reason_string: Option<String>,
    /// Rises with each change: a reader of late news drops what is older.
    pub change_number: u32,
}

/// `GetServerBackfillTicketResult`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct BackfillAnswer {
    /// Its id.
    pub ticket_id: TicketId,
    /// Where it waits.
    pub queue_name: String,
    /// When it was made.
    #[serde(serialize_with = "dated")]
    pub created: Instant,
    /// How it stands.
    pub status: String,
    /// How many seconds it waits.
    pub give_up_after_seconds: u32,
    /// Who plays already.
    pub members: Vec<MatchmakingPlayer>,
    /// How to reach the game.
    pub server_details: ServerDetails,
    /// The match it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_id: Option<MatchId>,
    /// Why it is over without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancellation_reason_string: Option<String>,
}

/// `GetMatchResult`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MatchAnswer {
    /// Its id.
    pub match_id: MatchId,
    /// Who plays, each with its team.
    pub members: Vec<MatchmakingPlayer>,
    /// Where it could be played, the best first; of queues with a rule of regions alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub region_preferences: Vec<String>,
    /// How to reach the game, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_details: Option<ServerDetails>,
}

/// `GetQueueStatisticsResult`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct StatisticsAnswer {
    /// How many players wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number_of_players_matching: Option<usize>,
    /// How long matching took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_match_statistics_in_seconds: Option<TimeToMatch>,
}

/// Seconds from the search's beginning to the match.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct TimeToMatch {
    /// On average.
    #[serde(serialize_with = "lenient::number")]
    pub average: f64,
    /// At most so long for half of the tickets.
    #[serde(serialize_with = "lenient::number")]
    pub percentile50: f64,
    /// For nine of ten.
    #[serde(serialize_with = "lenient::number")]
    pub percentile90: f64,
    /// For 99 of 100.
    #[serde(serialize_with = "lenient::number")]
    pub percentile99: f64,
}

/// `GetMatchmakingQueueResult`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct QueueAnswer {
    /// The queue.
    pub matchmaking_queue: MatchmakingQueueConfig,
}

/// `ListMatchmakingQueuesResult`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QueuesAnswer {
    /// The queues, under a name that the published API spells with a capital M.
    #[serde(rename = "MatchMakingQueues")]
    pub queues: Vec<MatchmakingQueueConfig>,
}

impl TicketAnswer {
    /// A ticket, as one who may read it is told.
    #[must_use]
    pub fn of(ticket: &Ticket, queue: &str, objects: Objects) -> Self {
        let (match_id, reason) = match ticket.stage {
            Stage::Gathering | Stage::Searching(_) | Stage::Held { .. } => (None, None),
            Stage::Matched { id, .. } => (Some(id), None),
            Stage::Canceled { reason, .. } => (None, Some(reason)),
        };
        Self {
            ticket_id: ticket.id,
            queue_name: queue.to_owned(),
            created: instant(ticket.created),
            status: ticket.stage.as_str().to_owned(),
            give_up_after_seconds: ticket.give_up_after,
            members: ticket.members.iter().map(|member| player(member, Some(objects))).collect(),
            creator: EntityKey::of(ticket.creator()),
            members_to_match_with: ticket.invited().iter().map(EntityKey::of).collect(),
            match_id,
            cancellation_reason_string: reason.map(word),
            change_number: ticket.changes,
        }
    }
}

impl BackfillAnswer {
    /// A backfill ticket.
    #[must_use]
    pub fn of(ticket: &BackfillTicket, queue: &str, objects: Objects) -> Self {
        let (match_id, reason) = match ticket.stage {
            BackfillStage::Searching(_) => (None, None),
            BackfillStage::Matched { id, .. } => (Some(id), None),
            BackfillStage::Canceled { reason, .. } => (None, Some(reason)),
        };
        Self {
            ticket_id: ticket.id,
            queue_name: queue.to_owned(),
            created: instant(ticket.created),
            status: ticket.stage.as_str().to_owned(),
            give_up_after_seconds: ticket.give_up_after,
            members: ticket.members.iter().map(|member| seated(member, Some(objects))).collect(),
            server_details: ServerDetails::of(&ticket.server),
            match_id,
            cancellation_reason_string: reason.map(word),
        }
    }
}

impl MatchAnswer {
    /// A match; without `objects`, without the players' attributes.
    #[must_use]
    pub fn of(formed: &Match, objects: Option<Objects>) -> Self {
        Self {
            match_id: formed.id,
            members: formed.members.iter().map(|member| seated(member, objects)).collect(),
            region_preferences: formed.regions.iter().map(ToString::to_string).collect(),
            server_details: formed.server.as_deref().map(ServerDetails::of),
        }
    }
}

impl StatisticsAnswer {
    /// What a queue tells.
    #[must_use]
    pub fn of(statistics: &Statistics) -> Self {
        Self {
            number_of_players_matching: statistics.players_matching,
            time_to_match_statistics_in_seconds: statistics.time_to_match.map(|times| TimeToMatch {
                average: times.average.as_secs_f64(),
                percentile50: times.percentile50.as_secs_f64(),
                percentile90: times.percentile90.as_secs_f64(),
                percentile99: times.percentile99.as_secs_f64(),
            }),
        }
    }
}

fn player(member: &Member, objects: Option<Objects>) -> MatchmakingPlayer {
    let told = |objects| MatchmakingPlayerAttributes::told(member.attributes.raw.as_deref(), objects);
    MatchmakingPlayer { entity: EntityKey::of(&member.entity), attributes: objects.map(told), team_id: None }
}

/// "TeamId" is told as an empty text where there is no team, as PlayFab does.
fn seated(seated: &Seated, objects: Option<Objects>) -> MatchmakingPlayer {
    let team = seated.team.as_deref().unwrap_or_default().to_owned();
    MatchmakingPlayer { team_id: Some(team), ..player(&seated.member, objects) }
}

fn word(reason: Cancellation) -> String {
    reason.as_str().to_owned()
}
