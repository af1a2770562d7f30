//! What is so at the moment of a scrape. A registry of its own each time, so that a fleet that is gone leaves no last value.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use mainstay_core::RegionId;
use mainstay_fleet::{Fleet, FleetSpec, Link};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::PREFIX;
use crate::counted::Counted;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VersionLabels {
    version: &'static str,
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
struct FleetLabels {
    fleet: Arc<str>,
}

/// One fleet at a moment, counted inside its shard in time that grows with its regions and machines, not its servers.
#[derive(Debug, Clone)]
pub(crate) struct FleetGauges {
    name: Arc<str>,
    waiting: usize,
    regions: Vec<RegionGauges>,
}

#[derive(Debug, Clone)]
struct RegionGauges {
    name: Arc<str>,
    min_available: u32,
    max_servers: u32,
    servers: Counted,
    machines: Machines,
}

#[derive(Debug, Clone, Copy, Default)]
struct Machines {
    ready: u32,
    offline: u32,
    empty: u32,
}

impl FleetGauges {
    pub(crate) fn of(spec: &FleetSpec, fleet: &Fleet) -> Self {
        let region = |region: &mainstay_fleet::RegionSpec| RegionGauges {
            name: region.name.clone(),
            min_available: region.min_available,
            max_servers: region.max_servers,
            servers: Counted::region(fleet, region.id),
            machines: machines(fleet, region.id),
        };
        Self {
            name: spec.name.clone(),
            waiting: fleet.waiting(),
            regions: spec.regions.iter().map(region).collect(),
        }
    }
}

fn machines(fleet: &Fleet, region: RegionId) -> Machines {
    let mut counted = Machines::default();
    for (_, machine) in fleet.machines().filter(|(_, machine)| machine.region == region) {
        match machine.link() {
            Link::Up { .. } => counted.ready += 1,
            Link::Silent => counted.offline += 1,
        }
        if Counted::machine(machine).claimed() == 0 {
            counted.empty += 1;
        }
    }
    counted
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
    process: Option<Process>,
}

impl Gauges {
    pub(crate) fn new(fleets: Vec<FleetGauges>) -> Self {
        Self { fleets, process: Process::now() }
    }

    pub(super) fn encode(&self, text: &mut String) -> Result<(), fmt::Error> {
        let mut registry = Registry::with_prefix(PREFIX);
        let build: Family<VersionLabels, Gauge> = Family::default();
        build.get_or_create(&VersionLabels { version: env!("CARGO_PKG_VERSION") }).set(1);
        registry.register("build_info", "1, with the program's version", build);
        self.servers(&mut registry);
        self.slots_and_machines(&mut registry);
        self.limits(&mut registry);
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
        registry.register("servers", "Servers, by the status that Multiplay's clients see", servers);
        registry.register("holds", "Servers held by their games", holds);
        registry.register("reservations", "Servers reserved by their games", reservations);
        registry.register("allocations_waiting", "Allocations that wait for a server", waiting);
    }

    fn slots_and_machines(&self, registry: &mut Registry) {
        let slots: Family<SlotLabels, Gauge> = Family::default();
        let machines: Family<SlotLabels, Gauge> = Family::default();
        for (_, region) in self.places() {
            let (total, claimed) = (region.servers.total(), region.servers.claimed());
            let label = |state| SlotLabels { region: region.name.clone(), state };
            slots.get_or_create(&label("used")).inc_by(i64::from(claimed));
            slots.get_or_create(&label("free")).inc_by(i64::from(total - claimed));
            machines.get_or_create(&label("ready")).inc_by(i64::from(region.machines.ready));
            machines.get_or_create(&label("offline")).inc_by(i64::from(region.machines.offline));
            machines.get_or_create(&label("empty")).inc_by(i64::from(region.machines.empty));
        }
        registry.register("slots", "Slots: used by an allocation or reservation, or free", slots);
        registry.register(
            "machines",
            "Machines: ready (heard) or offline; empty ones, without a claimed server, count among either",
            machines,
        );
    }

    fn limits(&self, registry: &mut Registry) {
        let (min, max): (Family<PlaceLabels, Gauge>, Family<PlaceLabels, Gauge>) = Default::default();
        let (free, unmet): (Family<PlaceLabels, Gauge>, Family<PlaceLabels, Gauge>) = Default::default();
        for (fleet, region) in self.places() {
            let label = PlaceLabels { fleet: fleet.name.clone(), region: region.name.clone() };
            let unclaimed = region.servers.total() - region.servers.claimed();
            min.get_or_create(&label).set(region.min_available.into());
            max.get_or_create(&label).set(region.max_servers.into());
            free.get_or_create(&label).set(unclaimed.into());
            unmet.get_or_create(&label).set(region.min_available.saturating_sub(unclaimed).into());
        }
        registry.register("fleet_min_available", "Unclaimed servers to keep", min);
        registry.register("fleet_max_servers", "The most servers that may be allocated at once", max);
        registry.register("fleet_free_servers", "Servers neither allocated nor reserved", free);
        registry.register("fleet_unmet_servers", "How many free servers are missing to the minimum", unmet);
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
