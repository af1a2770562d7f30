//! What one agent's stream adds to the counters: how long starts take, which processes the agent started again by itself,
//! which it lost, and when it was last heard.
//!
//! A stream's first word on a server is how it stands, not something that happened; only what changes after it counts.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use mainstay_core::slot::{Phase, Status};
use mainstay_core::{FleetNumber, Generation, MachineId, ServerId};
use mainstay_fleet::SLOTS_PER_MACHINE_MAX;

use super::{CauseLabels, FleetLabels, Metrics, ResultLabels};

/// The most servers of one stream that are watched: as many as an agent keeps on all its machines.
const SERVERS_MAX: usize = 4 * SLOTS_PER_MACHINE_MAX;

/// What a server's agent last said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Said {
    generation: Generation,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Down,
    Lost,
    Starting { since: Duration },
    Up { pid: u32 },
    Stopping,
}

/// When machines were last heard, by the time since boot.
#[derive(Debug, Default)]
pub(super) struct Heard(BTreeMap<MachineId, (Arc<str>, Duration)>);

/// Watches one stream. Bounded by its slots.
#[derive(Debug)]
pub(crate) struct Watch {
    metrics: Arc<Metrics>,
    machines: BTreeMap<MachineId, Arc<str>>,
    servers: BTreeMap<ServerId, Said>,
}

impl Watch {
    pub(crate) const fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, machines: BTreeMap::new(), servers: BTreeMap::new() }
    }

    /// The stream speaks for a machine, in the region of this name.
    pub(crate) fn joined(&mut self, machine: MachineId, region: &str, now: Duration) {
        let region: Arc<str> = region.into();
        self.machines.insert(machine, Arc::clone(&region));
        self.metrics.heard.lock().unwrap_or_else(PoisonError::into_inner).0.insert(machine, (region, now));
    }

    /// Something was said on the stream.
    pub(crate) fn heard(&self, machine: MachineId, now: Duration) {
        let mut heard = self.metrics.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, last)) = heard.0.get_mut(&machine) {
            *last = now;
        }
    }

    /// How some servers of a machine stand. What a stream says of servers that are none of its own is refused elsewhere,
    /// and not remembered here.
    pub(crate) fn told(&mut self, machine: MachineId, statuses: &[Status], now: Duration) {
        if !self.machines.contains_key(&machine) {
            return;
        }
        self.heard(machine, now);
        for status in statuses.iter().take(SLOTS_PER_MACHINE_MAX) {
            if self.servers.len() >= SERVERS_MAX && !self.servers.contains_key(&status.server) {
                continue;
            }
            let before = self.servers.get(&status.server).copied();
            let after = Said { generation: status.generation, life: life(before, status, now) };
            self.servers.insert(status.server, after);
            if let Some(before) = before {
                self.changed(status.server.fleet(), before, after, now);
            }
        }
    }

    fn changed(&self, number: FleetNumber, before: Said, after: Said, now: Duration) {
        let fleet = || self.metrics.fleet(number);
        let begun = match before.life {
            Life::Starting { since } => Some(since),
            Life::Down | Life::Lost | Life::Up { .. } | Life::Stopping => None,
        };
        let over = match after.life {
            Life::Up { .. } => Some("online"),
            Life::Down | Life::Lost => Some("failed"),
            Life::Starting { .. } | Life::Stopping => None,
        };
        if let (Some(since), Some(result)) = (begun, over) {
            let labels = ResultLabels { fleet: fleet(), result };
            let took = now.saturating_sub(since).as_secs_f64();
            self.metrics.start_seconds.get_or_create(&labels).observe(took);
        }
        let again = match (before.life, after.life) {
            // A process that misbehaves is stopped first.
            (Life::Up { .. } | Life::Stopping, Life::Starting { .. }) | (Life::Stopping, Life::Up { .. }) => {
                true
            }
            (Life::Up { pid: before }, Life::Up { pid: after }) => before != after,
            (Life::Down | Life::Lost | Life::Starting { .. } | Life::Up { .. } | Life::Stopping, _) => false,
        };
        if again && before.generation == after.generation {
            self.metrics.restarts.get_or_create(&FleetLabels { fleet: fleet() }).inc();
        }
        if before.life != Life::Lost && after.life == Life::Lost {
            let labels = CauseLabels { fleet: fleet(), cause: "lost" };
            self.metrics.crashes.get_or_create(&labels).inc();
        }
    }
}

impl Drop for Watch {
    /// A machine whose stream has ended is silent, and counted as that.
    fn drop(&mut self) {
        let mut heard = self.metrics.heard.lock().unwrap_or_else(PoisonError::into_inner);
        for machine in self.machines.keys() {
            heard.0.remove(machine);
        }
    }
}

fn life(before: Option<Said>, status: &Status, now: Duration) -> Life {
    match &status.phase {
        Phase::Stopped(_) | Phase::BackedOff { .. } | Phase::PreRecovery { .. } => Life::Down,
        Phase::Lost => Life::Lost,
        Phase::Starting { .. } => match before {
            // The same start, told again.
            Some(Said { generation, life: life @ Life::Starting { .. } })
                if generation == status.generation =>
            {
                life
            }
            Some(_) | None => Life::Starting { since: now },
        },
        Phase::Online { pid } => Life::Up { pid: *pid },
        Phase::Stopping { .. } => Life::Stopping,
    }
}

impl Metrics {
    /// The longest silence of a machine that is connected, by region.
    pub(crate) fn silences(&self, now: Duration) -> BTreeMap<Arc<str>, Duration> {
        let heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let mut longest: BTreeMap<Arc<str>, Duration> = BTreeMap::new();
        for (region, last) in heard.0.values() {
            let silence = longest.entry(Arc::clone(region)).or_default();
            *silence = (*silence).max(now.saturating_sub(*last));
        }
        longest
    }
}

#[cfg(test)]
mod tests {
    use mainstay_core::slot::Stopped;

    use super::*;

    fn said(watch: &mut Watch, at: u64, generation: u64, phase: Phase) {
        let server = ServerId::of(FleetNumber::new(1).unwrap(), 1);
        let generation = Generation::from_number(generation);
        let status = Status { server, generation, configuration: None, run: 0, phase };
        let machine = MachineId::of(FleetNumber::new(1).unwrap(), 1);
        watch.told(machine, &[status], Duration::from_secs(at));
    }

    fn text(metrics: &Metrics) -> String {
        metrics.encode(&super::super::Gauges::new(Vec::new(), Vec::new(), None, Default::default())).unwrap()
    }

    /// A start is timed from the first word of it; a process that is another under the same order was started again by
    /// its agent; one under a newer order was not.
    #[test]
    fn starts_are_timed_and_restarts_counted_by_what_a_stream_says() {
        let metrics = Arc::new(Metrics::default());
        metrics.name(FleetNumber::new(1).unwrap(), &"arena".into());
        let mut watch = Watch::new(Arc::clone(&metrics));
        let machine = MachineId::of(FleetNumber::new(1).unwrap(), 1);
        watch.joined(machine, "local", Duration::ZERO);
        said(&mut watch, 0, 1, Phase::Online { pid: 7 });
        assert!(!text(&metrics).contains("server_restarts_total{"), "the first word is no news");
        said(&mut watch, 1, 1, Phase::Starting { pid: None });
        said(&mut watch, 2, 1, Phase::Starting { pid: None });
        said(&mut watch, 4, 1, Phase::Online { pid: 8 });
        said(&mut watch, 5, 1, Phase::Online { pid: 9 });
        said(&mut watch, 6, 2, Phase::Online { pid: 10 });
        said(&mut watch, 6, 2, Phase::Stopping { pid: Some(10) });
        said(&mut watch, 6, 2, Phase::Starting { pid: None });
        said(&mut watch, 6, 2, Phase::Online { pid: 11 });
        said(&mut watch, 7, 3, Phase::Starting { pid: None });
        said(&mut watch, 8, 3, Phase::Stopped(Stopped::Completed));
        said(&mut watch, 9, 3, Phase::Lost);
        let text = text(&metrics);
        for line in [
            "mainstay_server_restarts_total{fleet=\"arena\"} 3",
            "mainstay_server_start_seconds_sum{fleet=\"arena\",result=\"online\"} 3.0",
            "mainstay_server_start_seconds_count{fleet=\"arena\",result=\"failed\"} 1",
            "mainstay_server_crashes_total{fleet=\"arena\",cause=\"lost\"} 1",
        ] {
            assert!(text.contains(line), "{line} in\n{text}");
        }
    }

    #[test]
    fn silence_is_counted_while_a_stream_lasts() {
        let metrics = Arc::new(Metrics::default());
        let mut watch = Watch::new(Arc::clone(&metrics));
        let machine = MachineId::of(FleetNumber::new(1).unwrap(), 1);
        let silence = |now| metrics.silences(Duration::from_secs(now)).get("local").map(Duration::as_secs);
        watch.joined(machine, "local", Duration::from_secs(1));
        assert_eq!(silence(5), Some(4));
        watch.heard(machine, Duration::from_secs(5));
        assert_eq!(silence(6), Some(1));
        drop(watch);
        assert_eq!(silence(7), None);
    }
}
