//! What the lobby tells of itself at a scrape: how sessions stand, how often they moved and how long that took.

use mainstay_core::Timestamp;
use mainstay_lobby::{Cause, Lease, Lobby, Tally};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::counts::Counts;

/// Milliseconds, of the seconds that metrics are told in.
const MS: u32 = 1_000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    kind: &'static str,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MoveLabels {
    cause: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CauseLabels {
    cause: &'static str,
}

/// The lobby at a moment.
#[derive(Debug)]
pub(crate) struct SessionGauges {
    /// How many sessions' leases stand how.
    leases: [(&'static str, i64); 4],
    tally: Tally,
}

impl SessionGauges {
    /// Looks at every session once: some milliseconds for as many as there can be.
    pub(crate) fn of(lobby: &Lobby, now: Timestamp) -> Self {
        let mut leases = [("vacant", 0), ("awaited", 0), ("held", 0), ("lost", 0)];
        for session in lobby.sessions_after(None) {
            let place = match lobby.lease(session, now) {
                Lease::Vacant => 0,
                Lease::Awaited { .. } => 1,
                Lease::Held { .. } => 2,
                Lease::Lost => 3,
            };
            leases[place].1 += 1;
        }
        Self { leases, tally: *lobby.tally() }
    }
}

pub(super) fn register(sessions: Option<&SessionGauges>, registry: &mut Registry) {
    let gauges: Family<StateLabels, Gauge> = Family::default();
    let moves: Family<MoveLabels, Counter> = Family::default();
    let gaps: Family<CauseLabels, Counts> = Family::default();
    if let Some(SessionGauges { leases, tally }) = sessions {
        for (state, count) in leases {
            gauges.get_or_create(&StateLabels { kind: "peer", state }).set(*count);
        }
        for cause in Cause::ALL {
            let labels = MoveLabels { cause: cause.name(), result: "granted" };
            moves.get_or_create(&labels).inc_by(tally.granted(cause));
            gaps.get_or_create(&CauseLabels { cause: cause.name() }).set(tally.gaps(cause), MS);
        }
    }
    registry.register("sessions", "Sessions of the lobby, by how their host's lease stands", gauges);
    registry.register("migrations", "Sessions that got another host, by why", moves);
    registry.register(
        "migration_seconds",
        "From the last sign of the old host to the first of the new one, as the lobby heard them",
        gaps,
    );
}
