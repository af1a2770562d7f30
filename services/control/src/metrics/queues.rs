//! What queues tell of themselves at a scrape: who waits, for how long, and what came of those who did.

use std::sync::Arc;

use mainstay_core::Timestamp;
use mainstay_matchmaking::{Cancellation, Gauges, Kind};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::counts::Counts;
use crate::queues::Passes;

/// Milliseconds, of the seconds that metrics are told in.
const MS: u32 = 1_000;
/// Microseconds, likewise.
const US: u32 = 1_000_000;
/// Millionths of a number that a rule compares.
const MILLIONTHS: u32 = 1_000_000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    queue: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    queue: Arc<str>,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabels {
    queue: Arc<str>,
    kind: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RuleLabels {
    queue: Arc<str>,
    rule: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JudgedLabels {
    queue: Arc<str>,
    rule: Arc<str>,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PlayLabels {
    queue: Arc<str>,
    fleet: Arc<str>,
}

/// One queue at a moment.
#[derive(Debug)]
pub(crate) struct QueueGauges {
    pub(crate) name: Arc<str>,
    pub(crate) now: Timestamp,
    pub(crate) gauges: Gauges,
    pub(crate) passes: Passes,
}

impl QueueGauges {
    const fn kinds(&self) -> [(Kind, usize, usize); 2] {
        let Gauges { tickets, players, backfills, backfill_players, .. } = self.gauges;
        [(Kind::Ordinary, tickets, players), (Kind::Backfill, backfills, backfill_players)]
    }
}

const fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Ordinary => "normal",
        Kind::Backfill => "backfill",
    }
}

pub(super) fn register(queues: &[QueueGauges], registry: &mut Registry) {
    waiting(queues, registry);
    ended(queues, registry);
    matches(queues, registry);
    judged(queues, registry);
}

fn waiting(queues: &[QueueGauges], registry: &mut Registry) {
    let (tickets, players): (Family<KindLabels, Gauge>, Family<KindLabels, Gauge>) = Default::default();
    let eldest: Family<QueueLabels, Gauge<f64, std::sync::atomic::AtomicU64>> = Family::default();
    let passes: Family<QueueLabels, Counts> = Family::default();
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    for queue in queues {
        for (kind, of_kind, playing) in queue.kinds() {
            let label = KindLabels { queue: queue.name.clone(), kind: word(kind) };
            tickets.get_or_create(&label).set(number(of_kind));
            players.get_or_create(&label).set(number(playing));
        }
        let label = QueueLabels { queue: queue.name.clone() };
        let waited = queue.gauges.eldest.map_or(0.0, |since| queue.now.since(since).as_secs_f64());
        eldest.get_or_create(&label).set(waited);
        passes.get_or_create(&label).set(&queue.passes.now(), US);
    }
    registry.register("queue_tickets", "Open tickets", tickets);
    registry.register("queue_players", "Players who search, and who are in games that search", players);
    registry.register(
        "queue_oldest_ticket_seconds",
        "How long the ticket has searched that has longest",
        eldest,
    );
    registry.register(
        "matcher_pass_seconds",
        "How long looks at what was due took, within their shard",
        passes,
    );
}

fn ended(queues: &[QueueGauges], registry: &mut Registry) {
    let waits: Family<KindLabels, Counts> = Family::default();
    let endings: Family<EndLabels, Counter> = Family::default();
    let played: Family<PlayLabels, Counts> = Family::default();
    for queue in queues {
        let Some(tally) = &queue.gauges.tally else { continue };
        let name = || queue.name.clone();
        for (kind, ..) in queue.kinds() {
            let label = KindLabels { queue: name(), kind: word(kind) };
            waits.get_or_create(&label).set(tally.waits(kind), MS);
            let ending = |reason: &'static str, count: u64| {
                let label = EndLabels { queue: name(), kind: word(kind), reason };
                endings.get_or_create(&label).inc_by(count);
            };
            ending("Matched", tally.waits(kind).count());
            for reason in Cancellation::ALL {
                ending(reason.as_str(), tally.canceled_for(kind, reason));
            }
        }
        for (fleet, took) in tally.time_to_play() {
            played.get_or_create(&PlayLabels { queue: name(), fleet: fleet.clone() }).set(took, MS);
        }
    }
    registry.register("time_to_match_seconds", "How long tickets searched before they were matched", waits);
    registry.register("ticket_endings", "Tickets that ended, by why", endings);
    registry.register(
        "time_to_play_seconds",
        "From a ticket's making to the server of the fleet that its match got",
        played,
    );
}

fn matches(queues: &[QueueGauges], registry: &mut Registry) {
    let (formed, filled): (Family<QueueLabels, Counter>, Family<QueueLabels, Counter>) = Default::default();
    let players: Family<QueueLabels, Counts> = Family::default();
    let spreads: Family<RuleLabels, Counts> = Family::default();
    for queue in queues {
        let Some(tally) = &queue.gauges.tally else { continue };
        let label = QueueLabels { queue: queue.name.clone() };
        formed.get_or_create(&label).inc_by(tally.players().count());
        filled.get_or_create(&label).inc_by(tally.filled());
        players.get_or_create(&label).set(tally.players(), 1);
        for (rule, spread) in tally.spreads() {
            let label = RuleLabels { queue: queue.name.clone(), rule: rule.clone() };
            spreads.get_or_create(&label).set(spread, MILLIONTHS);
        }
    }
    registry.register("matches", "Matches formed", formed);
    registry.register("backfill_filled_places", "Players who came into games that went on", filled);
    registry.register("match_players", "Players of matches, those who played already included", players);
    registry.register(
        "match_spread",
        "How far the players of a match are apart by a rule's numbers",
        spreads,
    );
}

fn judged(queues: &[QueueGauges], registry: &mut Registry) {
    let evaluations: Family<JudgedLabels, Counter> = Family::default();
    for queue in queues {
        for of in &queue.gauges.judged {
            for (result, count) in [("passed", of.passed), ("refused", of.refused)] {
                let label = JudgedLabels { queue: queue.name.clone(), rule: of.rule.clone(), result };
                evaluations.get_or_create(&label).inc_by(count);
            }
        }
    }
    registry.register(
        "rule_evaluations",
        "How often rules were judged, since the engine was built",
        evaluations,
    );
}
