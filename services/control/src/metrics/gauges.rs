//! What is so at the moment of a scrape. A registry of its own each time, so that a fleet that is gone leaves no last value.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mainstay_core::RegionId;
use mainstay_fleet::{Fleet, FleetSpec, Pool, ServerStatus, Standing, Tally};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::counts::Counts;
use super::queues::{self, QueueGauges};
use super::sessions::{self, SessionGauges};
use super::{FleetLabels, Histograms, PREFIX};
use crate::counted::Counted;
use crate::samples::Load;
use crate::streams::Disks;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VersionLabels {
    version: &'static str,
    commit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabels {
    fleet: Arc<str>,
    region: Arc<str>,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PlaceLabels {
    fleet: Arc<str>,
    region: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SlotLabels {
    region: Arc<str>,
    state: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DiskLabels {
    region: Arc<str>,
    kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RegionLabels {
    region: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct MoveLabels {
    fleet: Arc<str>,
    from: &'static str,
    to: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StatusLabels {
    fleet: Arc<str>,
    state: &'static str,
}

/// Milliseconds, of the seconds that metrics are told in.
const MS: u32 = 1_000;
/// Where machines are told apart by how many of their servers are claimed.
const MACHINE_SERVERS: [f64; 10] = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 512.0];

/// One fleet at a moment: what it has counted as it changed. Inside its shard this takes time that grows with its regions alone.
#[derive(Debug, Clone)]
pub(crate) struct FleetGauges {
    name: Arc<str>,
    waiting: usize,
    regions: Vec<RegionGauges>,
    tally: Box<Tally>,
    load: Load,
}

#[derive(Debug, Clone)]
struct RegionGauges {
    name: Arc<str>,
    min_available: u32,
    max_servers: u32,
    servers: Counted,
    machines: Machines,
    disks: Disks,
}

/// What belongs to no fleet.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    /// The longest silence of a connected machine, by region.
    pub(crate) silences: BTreeMap<Arc<str>, Duration>,
    /// How many events all shards together have made durable.
    pub(crate) events: u64,
}

#[derive(Debug, Clone, Default)]
struct Machines {
    standing: Vec<(&'static str, u32)>,
    empty: u32,
    /// Unclaimed slots on those that are not heard.
    blocked: u32,
    /// How many have so many claimed servers.
    busy: BTreeMap<u32, u32>,
}

impl Machines {
    fn of(pool: Option<&Pool>) -> Self {
        let standing = Standing::ALL.map(|it| (it.word(), pool.map_or(0, |pool| pool.standing(it)))).to_vec();
        let busy = pool.map(|pool| pool.busy.clone()).unwrap_or_default();
        let empty = busy.get(&0).copied().unwrap_or(0);
        Self { standing, empty, blocked: pool.map_or(0, |pool| pool.blocked), busy }
    }
}

impl FleetGauges {
    /// `load` is what a walk over the servers found last, `disks` what machines' agents said of theirs.
    pub(crate) fn of(
        spec: &FleetSpec,
        fleet: &Fleet,
        load: Load,
        mut disks: BTreeMap<RegionId, Disks>,
    ) -> Self {
        let region = |region: &mainstay_fleet::RegionSpec| RegionGauges {
            name: region.name.clone(),
            min_available: region.min_available,
            max_servers: region.max_servers,
            servers: Counted::region(fleet, region.id),
            machines: Machines::of(fleet.pool(region.id)),
            disks: disks.remove(&region.id).unwrap_or_default(),
        };
        Self {
            name: spec.name.clone(),
            waiting: fleet.waiting(),
            regions: spec.regions.iter().map(region).collect(),
            tally: Box::new(fleet.tally().clone()),
            load,
        }
    }
}

/// What the system says of this process.
#[derive(Debug, Clone, Copy)]
struct Process {
    resident_bytes: u64,
    cpu: Duration,
    open_files: u64,
}

impl Process {
    /// `None` where the system does not say.
    fn now() -> Option<Self> {
        let me = procfs::process::Process::myself().ok()?;
        let stat = me.stat().ok()?;
        let ticks = (stat.utime + stat.stime).saturating_mul(1_000) / procfs::ticks_per_second().max(1);
        Some(Self {
            resident_bytes: stat.rss.saturating_mul(procfs::page_size()),
            cpu: Duration::from_millis(ticks),
            open_files: me.fd_count().map_or(0, |count| count as u64),
        })
    }
}

/// All gauges of a moment.
#[derive(Debug)]
pub(crate) struct Gauges {
    fleets: Vec<FleetGauges>,
    queues: Vec<QueueGauges>,
    sessions: Option<SessionGauges>,
    whole: Whole,
    process: Option<Process>,
}

impl Gauges {
    pub(crate) fn new(
        fleets: Vec<FleetGauges>,
        queues: Vec<QueueGauges>,
        sessions: Option<SessionGauges>,
        whole: Whole,
    ) -> Self {
        Self { fleets, queues, sessions, whole, process: Process::now() }
    }

    pub(super) fn encode(&self, text: &mut String) -> Result<(), fmt::Error> {
        let mut registry = Registry::with_prefix(PREFIX);
        let build: Family<VersionLabels, Gauge> = Family::default();
        let commit = option_env!("MAINSTAY_COMMIT").unwrap_or("unknown");
        build.get_or_create(&VersionLabels { version: env!("CARGO_PKG_VERSION"), commit }).set(1);
        registry.register(
            "build_info",
            "1, with the program's version and the commit it was built from",
            build,
        );
        self.servers(&mut registry);
        self.tallies(&mut registry);
        self.slots_and_machines(&mut registry);
        self.disks(&mut registry);
        self.limits(&mut registry);
        self.loads(&mut registry);
        queues::register(&self.queues, &mut registry);
        sessions::register(self.sessions.as_ref(), &mut registry);
        self.whole(&mut registry);
        encode_registry(text, &registry)?;
        self.process(text)
    }

    fn places(&self) -> impl Iterator<Item = (&FleetGauges, &RegionGauges)> {
        self.fleets.iter().flat_map(|fleet| fleet.regions.iter().map(move |region| (fleet, region)))
    }

    fn servers(&self, registry: &mut Registry) {
        let servers: Family<StateLabels, Gauge> = Family::default();
        let holds: Family<FleetLabels, Gauge> = Family::default();
        let reservations: Family<FleetLabels, Gauge> = Family::default();
        let waiting: Family<FleetLabels, Gauge> = Family::default();
        for (fleet, region) in self.places() {
            let label = FleetLabels { fleet: fleet.name.clone() };
            for (state, count) in region.servers.states() {
                let (fleet, region) = (fleet.name.clone(), region.name.clone());
                servers.get_or_create(&StateLabels { fleet, region, state }).set(i64::from(count));
            }
            holds.get_or_create(&label).inc_by(i64::from(region.servers.held));
            reservations.get_or_create(&label).inc_by(i64::from(region.servers.reserved));
        }
        for fleet in &self.fleets {
            let label = FleetLabels { fleet: fleet.name.clone() };
            waiting.get_or_create(&label).set(i64::try_from(fleet.waiting).unwrap_or(i64::MAX));
        }
        registry.register("servers", "Servers, by their status", servers);
        registry.register("holds", "Servers held by their games", holds);
        registry.register("reservations", "Servers reserved by their games", reservations);
        registry.register("allocations_waiting", "Allocations that wait for a server", waiting);
    }

    /// Counters and histograms that fleets keep themselves.
    fn tallies(&self, registry: &mut Registry) {
        let moves: Family<MoveLabels, Counter> = Family::default();
        let lasted: Family<StatusLabels, Counts> = Family::default();
        let name = |of: ServerStatus| Counted::word(of);
        for fleet in &self.fleets {
            for from in ServerStatus::ALL {
                for to in ServerStatus::ALL.into_iter().filter(|to| *to != from) {
                    let labels = MoveLabels { fleet: fleet.name.clone(), from: name(from), to: name(to) };
                    moves.get_or_create(&labels).inc_by(fleet.tally.moves(from, to));
                }
                let labels = StatusLabels { fleet: fleet.name.clone(), state: name(from) };
                lasted.get_or_create(&labels).set(&fleet.tally.lasted(from), MS);
            }
        }
        registry.register("server_state_transitions", "Servers that went from one status to another", moves);
        registry.register(
            "server_state_duration_seconds",
            "How long servers had a status, counted as they leave it",
            lasted,
        );
    }

    fn slots_and_machines(&self, registry: &mut Registry) {
        let slots: Family<SlotLabels, Gauge> = Family::default();
        let machines: Family<SlotLabels, Gauge> = Family::default();
        let busy: Histograms<RegionLabels> = Family::new_with_constructor(|| Histogram::new(MACHINE_SERVERS));
        for (_, region) in self.places() {
            let (total, claimed) = (region.servers.total(), region.servers.claimed());
            let label = |state| SlotLabels { region: region.name.clone(), state };
            slots.get_or_create(&label("used")).inc_by(i64::from(claimed));
            let blocked = region.machines.blocked;
            slots.get_or_create(&label("blocked")).inc_by(i64::from(blocked));
            slots.get_or_create(&label("free")).inc_by(i64::from((total - claimed).saturating_sub(blocked)));
            for (state, count) in &region.machines.standing {
                machines.get_or_create(&label(state)).inc_by(i64::from(*count));
            }
            machines.get_or_create(&label("empty")).inc_by(i64::from(region.machines.empty));
            let of_region = busy.get_or_create(&RegionLabels { region: region.name.clone() });
            for (claimed, machines) in &region.machines.busy {
                (0..*machines).for_each(|_| of_region.observe(f64::from(*claimed)));
            }
        }
        registry.register(
            "slots",
            "Slots: used by an allocation or reservation, blocked since their machine is not heard, or free",
            slots,
        );
        registry.register("machine_servers", "Allocated or reserved servers of each machine, now", busy);
        registry.register(
            "machines",
            "Machines, each in one state; empty ones, without a claimed server, are counted once more",
            machines,
        );
    }

    fn disks(&self, registry: &mut Registry) {
        let used: Family<DiskLabels, Gauge> = Family::default();
        let (budget, free): (Family<RegionLabels, Gauge>, Family<RegionLabels, Gauge>) = Default::default();
        let (deleted, full): (Family<RegionLabels, Gauge>, Family<RegionLabels, Gauge>) = Default::default();
        let bytes = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for (_, region) in self.places() {
            let Disks { told, full: are_full } = region.disks;
            let label = RegionLabels { region: region.name.clone() };
            for (kind, count) in [
                ("builds", told.builds),
                ("cores", told.cores),
                ("evidence", told.evidence),
                ("logs", told.logs),
            ] {
                let label = DiskLabels { region: region.name.clone(), kind };
                used.get_or_create(&label).inc_by(bytes(count));
            }
            budget.get_or_create(&label).inc_by(bytes(told.budget));
            free.get_or_create(&label).inc_by(bytes(told.free));
            deleted.get_or_create(&label).inc_by(bytes(told.deleted));
            full.get_or_create(&label).inc_by(i64::from(are_full));
        }
        registry.register("machine_disk_bytes", "What takes room on machines, within their budgets", used);
        registry.register("machine_disk_budget_bytes", "What that may be", budget);
        registry.register("machine_disk_free_bytes", "What their disks have free", free);
        registry.register(
            "machine_disk_deleted_bytes",
            "What was deleted for the budgets' sake since their agents' start",
            deleted,
        );
        registry.register(
            "machine_disks_full",
            "Machines whose disk is full: what is to start there waits",
            full,
        );
    }

    fn limits(&self, registry: &mut Registry) {
        let (min, max): (Family<PlaceLabels, Gauge>, Family<PlaceLabels, Gauge>) = Default::default();
        let (free, unmet): (Family<PlaceLabels, Gauge>, Family<PlaceLabels, Gauge>) = Default::default();
        for (fleet, region) in self.places() {
            let label = PlaceLabels { fleet: fleet.name.clone(), region: region.name.clone() };
            let away = region.servers.claimed() + region.servers.unreachable;
            let free_now = region.servers.total() - away;
            min.get_or_create(&label).set(region.min_available.into());
            max.get_or_create(&label).set(region.max_servers.into());
            free.get_or_create(&label).set(free_now.into());
            unmet.get_or_create(&label).set(region.min_available.saturating_sub(free_now).into());
        }
        registry.register("fleet_min_available", "Unclaimed servers to keep", min);
        registry.register("fleet_max_servers", "The most servers that may be allocated at once", max);
        registry.register(
            "fleet_free_servers",
            "Servers neither allocated nor reserved, on machines that are heard",
            free,
        );
        registry.register("fleet_unmet_servers", "How many free servers are missing to the minimum", unmet);
    }

    fn loads(&self, registry: &mut Registry) {
        let (players, capacity): (Family<FleetLabels, Gauge>, Family<FleetLabels, Gauge>) =
            Default::default();
        let backoffs: Family<FleetLabels, Gauge> = Family::default();
        for fleet in &self.fleets {
            let label = FleetLabels { fleet: fleet.name.clone() };
            players.get_or_create(&label).set(fleet.load.players.into());
            capacity.get_or_create(&label).set(fleet.load.capacity.into());
            backoffs.get_or_create(&label).set(fleet.load.backed_off.into());
        }
        registry.register("players_connected", "Players, of the servers whose query tells", players);
        registry.register("player_capacity", "The most players these servers take", capacity);
        registry.register("server_backoffs", "Servers that are kept down after crashing too often", backoffs);
    }

    fn whole(&self, registry: &mut Registry) {
        let silences: Family<RegionLabels, Gauge<f64, AtomicU64>> = Family::default();
        for (region, silence) in &self.whole.silences {
            silences.get_or_create(&RegionLabels { region: Arc::clone(region) }).set(silence.as_secs_f64());
        }
        registry.register(
            "machine_heartbeat_age_seconds_max",
            "The longest silence of a machine whose stream is open",
            silences,
        );
        let events: Gauge = Gauge::default();
        events.set(i64::try_from(self.whole.events).unwrap_or(i64::MAX));
        registry.register("event_log_seq", "Events that all shards together have made durable", events);
    }

    fn process(&self, text: &mut String) -> Result<(), fmt::Error> {
        let Some(process) = self.process else { return Ok(()) };
        let mut registry = Registry::with_prefix("process");
        let gauge = |value: u64| {
            let gauge: Gauge = Gauge::default();
            gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
            gauge
        };
        registry.register("resident_memory_bytes", "Memory in use", gauge(process.resident_bytes));
        registry.register("open_fds", "Open files and sockets", gauge(process.open_files));
        let cpu: Gauge<f64, AtomicU64> = Gauge::default();
        cpu.set(process.cpu.as_secs_f64());
        registry.register("cpu_seconds", "Processor time used", cpu);
        encode_registry(text, &registry)
    }
}
