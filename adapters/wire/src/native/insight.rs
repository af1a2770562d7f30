//! What an operator asks of a queue: how it does, which rule keeps its players apart, what it would do, where a match's time went.

use jiff::Timestamp as Instant;
use mainstay_core::{TicketId, Timestamp};
use mainstay_matchmaking::rehearsal::Rehearsed;
use mainstay_matchmaking::spec::QueueSpec;
use mainstay_matchmaking::why::{Funnel, Narrowing};
use mainstay_matchmaking::{Cancellation, Gauges, Kind, Statistics, Tally, Waits};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::{PlayerOfTicket, PlayerRequest, TimeToMatchView};

/// How a queue does.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueStatisticsView {
    /// Its name.
    pub name: String,
    /// Open tickets of players.
    pub tickets: usize,
    /// Players who search.
    pub players_matching: usize,
    /// Games that want players.
    pub games: usize,
    /// For how many seconds that ticket has searched that has longest; absent where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_wait_seconds: Option<f64>,
    /// How long the last thousand tickets searched that were matched within an hour; absent where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_match: Option<TimeToMatchView>,
    /// What was counted since this control plane began.
    pub since_start: QueueCountsView,
}

/// What a queue shows its players of how it does (`StatisticsVisibilityToPlayers`): to whoever plays that alone, to servers and the studio all of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlayerStatisticsView {
    /// Its name.
    pub name: String,
    /// Players who search; absent where it is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub players_matching: Option<usize>,
    /// How long the last thousand tickets searched that were matched within an hour; absent where it is not shown, and where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_to_match: Option<TimeToMatchView>,
}

/// What a queue has counted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueCountsView {
    /// Matches, those of games that went on included.
    pub matches: u64,
    /// Players in them.
    pub players: u64,
    /// Players who came into games that went on.
    pub players_filled_in: u64,
    /// Tickets of players that were matched.
    pub tickets_matched: u64,
    /// Tickets of either kind that ended without a match, by reason; reasons that nobody met are left out.
    pub canceled: Vec<CanceledView>,
    /// By fleet: from a ticket's making to its server.
    pub time_to_play: Vec<TimeToPlayView>,
}

/// Tickets that ended without a match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CanceledView {
    /// Why.
    pub reason: String,
    /// How many.
    pub tickets: u64,
}

/// How long it took until players had a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimeToPlayView {
    /// Of which fleet.
    pub fleet: String,
    /// How many tickets.
    pub tickets: u64,
    /// On average, in seconds.
    pub average_seconds: f64,
}

/// What each rule leaves of all pairs of tickets that search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FunnelView {
    /// How many tickets are open.
    pub open: usize,
    /// How many were judged, each with each: at most 200, those that give up first.
    pub tickets: usize,
    /// How many pairs that made.
    pub pairs: usize,
    /// The rules in the queue's order, then `matchSize` and `samePlayer`.
    pub rules: Vec<NarrowingView>,
}

/// What a rule does to the pairs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NarrowingView {
    /// The rule.
    pub rule: String,
    /// How many of all pairs it keeps apart.
    pub apart: usize,
    /// How many it alone keeps apart.
    pub alone: usize,
    /// How many are left by it and every rule before it.
    pub left: usize,
}

/// Tickets to try, without anybody waiting.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RehearsalRequest {
    /// 1 to 100 tickets, which come at once.
    pub tickets: Vec<PartyView>,
    /// How many seconds to look ahead: up to 3600.
    #[serde(default = "within_default")]
    pub within_seconds: u32,
    /// Other rules to try them by, as PlayFab's JSON of a queue; absent: the queue's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Value>,
}

/// PlayFab's guidance for how long a ticket should wait.
const fn within_default() -> u32 {
    120
}

/// A ticket to try.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PartyView {
    /// Who would be in it.
    pub players: Vec<PlayerRequest>,
}

/// What a queue would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RehearsalView {
    /// The matches, in the order in which they would be formed.
    pub matches: Vec<TriedView>,
    /// The players who would be in none.
    pub left: Vec<String>,
}

/// A match that would be formed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TriedView {
    /// How many seconds after the tickets came.
    pub after_seconds: f64,
    /// Who would play, each with its team.
    pub players: Vec<PlayerOfTicket>,
    /// Where, the best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
}

/// Where the time of a match went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaterfallView {
    /// The match.
    pub id: String,
    /// Its queue.
    pub queue: String,
    /// What happened, in order.
    pub steps: Vec<WaterfallStep>,
    /// How many events are durable that the history has not read, so that steps may be missing; absent where it has read all there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untold_events: Option<u64>,
}

/// What happened on the way to a match.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaterfallStep {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Instant,
    /// Seconds since the first step.
    pub after_seconds: f64,
    /// `ticket.created`, `match.held`, `match.refused`, `allocation.requested`, `allocation.placed`, `allocation.readied`,
    /// `match.placed`, `match.formed`, and what happened to the allocation since.
    pub what: String,
    /// The ticket, or the ids that the event names.
    pub of: Vec<String>,
}

impl QueueStatisticsView {
    /// A queue as it stands.
    #[must_use]
    pub fn of(name: &str, gauges: &Gauges, statistics: &Statistics, now: Timestamp) -> Self {
        Self {
            name: name.to_owned(),
            tickets: gauges.tickets,
            players_matching: gauges.players,
            games: gauges.backfills,
            longest_wait_seconds: gauges.eldest.map(|since| now.since(since).as_secs_f64()),
            time_to_match: TimeToMatchView::of(statistics),
            since_start: gauges.tally.as_ref().map(QueueCountsView::of).unwrap_or_default(),
        }
    }
}

impl PlayerStatisticsView {
    /// What was told of a queue.
    #[must_use]
    pub fn of(name: String, told: &Statistics) -> Self {
        Self { name, players_matching: told.players_matching, time_to_match: TimeToMatchView::of(told) }
    }
}

impl QueueCountsView {
    fn of(tally: &Tally) -> Self {
        let kinds = [Kind::Ordinary, Kind::Backfill];
        let canceled = Cancellation::ALL.iter().map(|reason| CanceledView {
            reason: reason.as_str().to_owned(),
            tickets: kinds.iter().map(|kind| tally.canceled_for(*kind, *reason)).sum(),
        });
        Self {
            matches: tally.players().count(),
            players: tally.players().sum(),
            players_filled_in: tally.filled(),
            tickets_matched: tally.waits(Kind::Ordinary).count(),
            canceled: canceled.filter(|told| told.tickets > 0).collect(),
            time_to_play: tally
                .time_to_play()
                .map(|(fleet, waits)| TimeToPlayView::of(fleet, waits))
                .collect(),
        }
    }
}

impl TimeToPlayView {
    #[expect(clippy::cast_precision_loss, reason = "an average of seconds; 2^53 ms are 285,000 years")]
    fn of(fleet: &str, waits: &Waits) -> Self {
        let tickets = waits.count();
        let average_seconds = waits.sum() as f64 / 1_000.0 / tickets.max(1) as f64;
        Self { fleet: fleet.to_owned(), tickets, average_seconds }
    }
}

impl From<&Funnel> for FunnelView {
    fn from(funnel: &Funnel) -> Self {
        let Funnel { open, tickets, pairs, rules } = funnel;
        let told = |it: &Narrowing| NarrowingView {
            rule: it.rule.to_string(),
            apart: it.apart,
            alone: it.alone,
            left: it.left,
        };
        Self { open: *open, tickets: *tickets, pairs: *pairs, rules: rules.iter().map(told).collect() }
    }
}

impl RehearsalView {
    /// What became of the tickets, by the ids that they were given.
    #[must_use]
    pub fn of(rehearsed: &Rehearsed, spec: &QueueSpec, asked: &[(TicketId, PartyView)]) -> Self {
        let players = |ticket: &TicketId, team: Option<u8>| {
            let team =
                team.and_then(|team| spec.teams.get(usize::from(team))).map(|team| team.name.to_string());
            let party = asked.iter().find(|(id, _)| id == ticket);
            party
                .into_iter()
                .flat_map(|(_, party)| &party.players)
                .map(|it| PlayerOfTicket { player: it.player.clone(), team: team.clone(), attributes: None })
                .collect::<Vec<_>>()
        };
        let tried = rehearsed.matches.iter().map(|tried| TriedView {
            after_seconds: tried.after.as_secs_f64(),
            players: tried.tickets.iter().flat_map(|(ticket, team)| players(ticket, *team)).collect(),
            regions: tried.regions.iter().map(ToString::to_string).collect(),
        });
        let left = rehearsed.left.iter().flat_map(|ticket| players(ticket, None)).map(|it| it.player);
        Self { matches: tried.collect(), left: left.collect() }
    }
}

impl WaterfallView {
    /// Steps in the order of their times, of a history that has not read so many events.
    #[must_use]
    pub fn of(
        id: String,
        queue: &str,
        mut steps: Vec<(Timestamp, String, Vec<String>)>,
        untold: u64,
    ) -> Self {
        steps.sort_by_key(|(at, ..)| *at);
        let first = steps.first().map_or(Timestamp::EPOCH, |(at, ..)| *at);
        let steps = steps.into_iter().map(|(at, what, mut of)| {
            // An allocation has the id of its match.
            of.dedup();
            let after_seconds = at.since(first).as_secs_f64();
            WaterfallStep { at: crate::multiplay::instant(at), after_seconds, what, of }
        });
        let untold_events = (untold > 0).then_some(untold);
        Self { id, queue: queue.to_owned(), steps: steps.collect(), untold_events }
    }
}
