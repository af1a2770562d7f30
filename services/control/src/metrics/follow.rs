//! What the durable tail adds to the counters: an allocation's time from its asking, how it ended, which orders were given.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use mainstay_core::slot::{Exit, Fault, Incident};
use mainstay_core::{AllocationId, FleetNumber, Timestamp};
use mainstay_fleet::{End, Event, Fleet};
use mainstay_journal::stored::Stored;
use mainstay_journal::{Cause, TurnRecord};

use super::{CauseLabels, CheckLabels, Metrics, ReasonLabels, ResultLabels, ScaleLabels};
use crate::shards::FLEET_PREFIX;

/// The most allocations whose asking is remembered until their server plays. Past it new ones are not timed: a gap in a
/// histogram, where a list without end would take the process.
const ASKED_MAX: usize = 65_536;

/// A process ended by itself.
const EXIT: &str = "exit";
/// A signal ended it.
const SIGNAL: &str = "signal";
/// It was ended for failing a check.
const MISBEHAVIOUR: &str = "misbehaviour";
/// It could not be started.
const NOT_STARTED: &str = "notStarted";
/// Nobody saw how it ended.
const UNKNOWN: &str = "unknown";
/// Why processes end that nobody wished to end.
pub(super) const CRASHES: [&str; 5] = [EXIT, SIGNAL, MISBEHAVIOUR, NOT_STARTED, UNKNOWN];
/// Why allocations end that nobody wished to end.
pub(super) const FAILURES: [&str; 6] =
    ["placementTimedOut", "backedOff", "lost", "preRecovery", "rolledOut", "machineLost"];

/// Allocations asked for, whose servers do not play yet.
#[derive(Debug, Default)]
pub(super) struct Follow(HashMap<AllocationId, Timestamp>);

impl Metrics {
    /// Counts what a durable turn of any shard says.
    ///
    /// # Errors
    /// Where its bytes are no events.
    pub fn follow(&self, turn: &TurnRecord) -> Result<(), Cause> {
        self.events.inc_by(u64::from(turn.count));
        let number = turn.shard.as_str().strip_prefix(FLEET_PREFIX).and_then(|number| number.parse().ok());
        if let Some(number) = number.and_then(FleetNumber::new) {
            for event in Fleet::load(&turn.bytes)? {
                self.count(number, turn.at, &event);
            }
        }
        Ok(())
    }

    pub(super) fn count(&self, number: FleetNumber, at: Timestamp, event: &Event) {
        let mut asked = self.follow.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::AllocationRequested { id, .. } => {
                if asked.0.len() < ASKED_MAX {
                    asked.0.insert(*id, at);
                }
            }
            Event::AllocationFulfilled { id, .. } => {
                if let Some(since) = asked.0.remove(id) {
                    self.timed(number, "fulfilled", since, at);
                }
            }
            Event::AllocationEnded { id, end, .. } => {
                let cause = cause(end);
                if let Some(since) = asked.0.remove(id) {
                    self.timed(number, cause, since, at);
                }
                if end.failed() {
                    let labels = CauseLabels { fleet: self.fleet(number), cause };
                    self.allocation_failures.get_or_create(&labels).inc();
                }
            }
            Event::AllocationPlaced { cause, .. } | Event::ServerOrdered { cause, .. } => {
                let labels = CauseLabels { fleet: self.fleet(number), cause: cause.word() };
                self.orders.get_or_create(&labels).inc();
            }
            Event::HoldEnded { end, .. } => {
                let labels = ReasonLabels { fleet: self.fleet(number), reason: end.word() };
                self.hold_expiries.get_or_create(&labels).inc();
            }
            Event::IncidentTold { incident } => self.incident(number, incident),
            Event::IncidentClosed { .. } => {}
            Event::MachineRequested { .. } => self.scaled(number, "up", "requested"),
            Event::MachineWoken { .. } => self.scaled(number, "up", "woken"),
            Event::MachineDraining { .. } => self.scaled(number, "down", "drained"),
            Event::MachineParting { why, .. } => self.scaled(number, "down", why.word()),
            Event::Configured(spec) => self.name(number, &spec.name),
            Event::SpecKept(_)
            | Event::ServerAssigned { .. }
            | Event::MachineJoined { .. }
            | Event::MachineReaddressed { .. }
            | Event::ServersAdded { .. }
            | Event::ServersForgotten { .. }
            | Event::MachineCame { .. }
            | Event::MachineBooted { .. }
            | Event::MachineDescribed { .. }
            | Event::MachineEmptied { .. }
            | Event::MachineLost { .. }
            | Event::MachineReturned { .. }
            | Event::MachineRemoved { .. }
            | Event::MachineDutySet { .. }
            | Event::CountersKept { .. }
            | Event::AllocationDisplaced { .. }
            | Event::AllocationReadied { .. }
            | Event::ServerHeld { .. }
            | Event::ServerReserved { .. }
            | Event::ReservationEnded { .. }
            | Event::ServerReadied { .. }
            | Event::ServerUnreadied { .. } => {}
        }
    }

    /// What is counted of a fleet's failures begins at 0: a counter that comes with its first failure never grew by it, and an alert
    /// on its increase misses just that.
    pub(super) fn begin(&self, fleet: &Arc<str>) {
        let labels = |cause| CauseLabels { fleet: Arc::clone(fleet), cause };
        for cause in CRASHES {
            drop(self.crashes.get_or_create(&labels(cause)));
        }
        for cause in FAILURES {
            drop(self.allocation_failures.get_or_create(&labels(cause)));
        }
    }

    pub(super) fn scaled(&self, number: FleetNumber, direction: &'static str, reason: &'static str) {
        let labels = ScaleLabels { fleet: self.fleet(number), direction, reason };
        self.scale_decisions.get_or_create(&labels).inc();
    }

    fn incident(&self, number: FleetNumber, incident: &Incident) {
        let fleet = self.fleet(number);
        let cause = match (&incident.fault, &incident.exit) {
            (Fault::Misbehaviour(check), _) => {
                let labels = CheckLabels { fleet: Arc::clone(&fleet), check: check.word() };
                self.check_failures.get_or_create(&labels).inc();
                MISBEHAVIOUR
            }
            (Fault::Crash, Some(Exit::Code(_))) => EXIT,
            (Fault::Crash, Some(Exit::Signal { .. })) => SIGNAL,
            (Fault::Crash, Some(Exit::NotStarted(_))) => NOT_STARTED,
            (Fault::Crash, None) => UNKNOWN,
        };
        self.crashes.get_or_create(&CauseLabels { fleet, cause }).inc();
    }

    pub(super) fn timed(&self, number: FleetNumber, result: &'static str, since: Timestamp, at: Timestamp) {
        let labels = ResultLabels { fleet: self.fleet(number), result };
        self.allocation_seconds.get_or_create(&labels).observe(at.since(since).as_secs_f64());
    }
}

pub(super) const fn cause(end: &End) -> &'static str {
    match end {
        End::Deallocated => "deallocated",
        End::Completed => "completed",
        End::PlacementTimedOut(_) => "placementTimedOut",
        End::BackedOff { .. } => "backedOff",
        End::Lost => "lost",
        End::PreRecovery { .. } => "preRecovery",
        End::Idle { .. } => "idle",
        End::Aged { .. } => "aged",
        End::RolledOut => "rolledOut",
        End::MachineLost => "machineLost",
    }
}
