//! The native shapes, filled from a fleet's state.

use mainstay_core::density::{Host, MachineSize, Slots};
use mainstay_core::slot::{Phase, Spec, Stopped};
use mainstay_core::{AllocationId, MachineId, RegionId, ServerId, Timestamp};
use mainstay_fleet::{
    Allocation, Counts, Fleet, FleetSpec, IdleServers, Life, Link, Machine, Purpose, Readiness,
    RegionOpening, Server, ServerStatus, Stage,
};

use super::{
    AllocationState, BuildConfigurationView, FleetView, HostView, IncidentView, MachineView,
    NativeAllocation, ReadingView, RegionView, ServerCounts, ServerView,
};
use crate::multiplay::{AllocationView, instant};

impl FleetView {
    /// A configured fleet.
    #[must_use]
    pub fn of(spec: &FleetSpec, fleet: &Fleet, now: Timestamp) -> Self {
        Self {
            id: spec.id,
            name: spec.name.to_string(),
            status: fleet.status().word().to_owned(),
            number: spec.number.get(),
            revision: spec.revision,
            start_on_provision: matches!(spec.idle_servers, IdleServers::StartOnProvision),
            build_configurations: spec.configurations.iter().map(BuildConfigurationView::of).collect(),
            regions: spec
                .regions
                .iter()
                .map(|region| RegionView {
                    id: region.id,
                    name: region.name.to_string(),
                    aliases: region.aliases.iter().map(ToString::to_string).collect(),
                    min_available_servers: region.min_available,
                    max_servers: region.max_servers,
                    allocated_servers: fleet.allocated_in(region.id),
                    status: fleet.region_status(region.id).word().to_owned(),
                    online: matches!(region.opening, RegionOpening::Online),
                    machines_may_join: fleet.may_join(region, now),
                })
                .collect(),
            servers: ServerCounts::of(fleet.counts()),
            waiting_allocations: fleet.waiting(),
            installs: Vec::new(),
        }
    }
}

impl HostView {
    fn of(host: &Host, slots: Option<Slots>) -> Self {
        let Host { size: MachineSize { cores, speed_mhz, memory_mib }, processor } = host;
        Self {
            cores: *cores,
            speed_mhz: *speed_mhz,
            memory_mib: *memory_mib,
            processor: (!processor.is_empty()).then(|| processor.to_string()),
            room: slots.map(|slots| slots.count),
            bound: slots.map(|slots| slots.bound.word().to_owned()),
        }
    }
}

impl ServerCounts {
    fn of(counts: Counts) -> Self {
        let of = |status| counts.of(status) as usize;
        Self {
            allocated: of(ServerStatus::Allocated),
            reserved: of(ServerStatus::Reserved),
            held: of(ServerStatus::Held),
            ready: of(ServerStatus::Ready),
            online: of(ServerStatus::Online),
            available: of(ServerStatus::Available),
            unreachable: of(ServerStatus::Unreachable),
            total: counts.total() as usize,
        }
    }
}

impl BuildConfigurationView {
    pub(super) fn of(spec: &Spec) -> Self {
        Self {
            id: spec.configuration.id.number(),
            name: spec.name.to_string(),
            revision: spec.configuration.revision,
            build_id: spec.build.number(),
        }
    }
}

/// The fleet that a machine or server is shown with.
#[derive(Debug, Clone, Copy)]
pub struct Within<'a> {
    /// Its specification.
    pub spec: &'a FleetSpec,
    /// Its state.
    pub fleet: &'a Fleet,
}

impl Within<'_> {
    fn region_name(self, region: RegionId) -> String {
        self.spec.region(region).map(|region| region.name.to_string()).unwrap_or_default()
    }

    /// A machine.
    #[must_use]
    pub fn machine(self, id: MachineId, machine: &Machine) -> MachineView {
        MachineView {
            id: id.number(),
            display: id.to_string(),
            name: machine.name.to_string(),
            fleet_id: self.spec.id,
            fleet_name: self.spec.name.to_string(),
            region_id: machine.region,
            region_name: self.region_name(machine.region),
            status: match machine.link() {
                Link::Up { .. } => "connected".to_owned(),
                Link::Silent => "silent".to_owned(),
            },
            state: machine.status().word().to_owned(),
            life: match (machine.life, machine.takes()) {
                // It still serves whom it has.
                (Life::Serving, false) => "draining",
                (life, _) => life.word(),
            }
            .to_owned(),
            duty: machine.duty.word().to_owned(),
            detail: super::lives::detail(self.fleet, id, machine),
            origin: super::lives::origin(machine.origin).to_owned(),
            ipv4: machine.addresses.ipv4.map(|address| address.to_string()),
            ipv6: machine.addresses.ipv6.map(|address| address.to_string()),
            credential: None,
            disk: None,
            host: machine.host.as_ref().map(|host| HostView::of(host, self.fleet.slots_on(machine))),
            servers: ServerCounts::of(machine.counts()),
        }
    }

    /// A server; `None` where its machine is not known, which no state has.
    #[must_use]
    pub fn server(self, id: ServerId, server: &Server) -> Option<ServerView> {
        let machine = self.fleet.machine(server.machine)?;
        let process = Process::of(server, machine.link());
        let addresses = machine.addresses;
        let ip = addresses.ipv4.map(|it| it.to_string()).or_else(|| addresses.ipv6.map(|it| it.to_string()));
        Some(ServerView {
            id: id.number(),
            display: id.to_string(),
            status: server.status().word().to_owned(),
            process: process.word.to_owned(),
            detail: process.detail,
            pid: process.pid,
            reading: server.reading().map(ReadingView::of),
            last_incident: server.incident().map(IncidentView::of),
            machine_id: server.machine.number(),
            machine_display: server.machine.to_string(),
            machine_name: machine.name.to_string(),
            fleet_id: self.spec.id,
            fleet_name: self.spec.name.to_string(),
            region_id: machine.region,
            region_name: self.region_name(machine.region),
            allocation_id: server.allocation(),
            held_until: server.held_until().map(instant),
            reservation_id: server.reservation().map(|reservation| reservation.id),
            ready: matches!(server.readiness, Readiness::Ready),
            cause: server.cause.word().to_owned(),
            ip,
            port: server.ports.game,
            query_port: server.ports.query,
            build_configuration_id: server.configuration.id.number(),
            build_configuration_name: self
                .fleet
                .configuration(server.configuration)
                .map(|spec| spec.name.to_string()),
            build_configuration_revision: server.configuration.revision,
            ordered_generation: server.generation.number(),
            obeyed_generation: server.seen().map_or(0, |seen| seen.generation.number()),
        })
    }

    /// An allocation.
    #[must_use]
    pub fn allocation(self, id: AllocationId, allocation: &Allocation) -> NativeAllocation {
        let server = allocation.placed().and_then(|placed| self.fleet.server(placed.server));
        let machine = server.and_then(|server| self.fleet.machine(server.machine));
        NativeAllocation {
            allocation: AllocationView::of(
                id,
                self.spec.id,
                allocation,
                (server, machine),
                self.fleet.ready_signal(allocation),
            ),
            state: match &allocation.stage {
                Stage::Waiting { .. } => AllocationState::Waiting,
                Stage::Placed(_) => AllocationState::Placed,
                Stage::Fulfilled { .. } => AllocationState::Fulfilled,
                Stage::Ended { end, .. } if end.failed() => AllocationState::Failed,
                Stage::Ended { .. } => AllocationState::Ended,
            },
            test: allocation.request.purpose == Purpose::Test,
            fleet_name: self.spec.name.to_string(),
            placement: self.fleet.choice(id, allocation).map(|choice| choice.to_string()),
            server_display: allocation.placed().map(|placed| placed.server.to_string()),
        }
    }
}

/// The life of a process, in words.
struct Process {
    word: &'static str,
    pid: Option<u32>,
    detail: Option<String>,
}

impl Process {
    fn of(server: &Server, link: Link) -> Self {
        let Some(seen) = server.seen() else {
            let why = match link {
                Link::Up { .. } => "its agent has not reported it yet",
                Link::Silent => "its machine's agent is not heard; a process it left plays on",
            };
            return Self::said("unknown", why);
        };
        match &seen.phase {
            Phase::Stopped(Stopped::Idle) => Self::said("stopped", "no order has asked for a process yet"),
            Phase::Stopped(Stopped::Ordered) => Self::said("stopped", "an order asked for it"),
            Phase::Stopped(Stopped::Completed) => Self::said("stopped", "it exited with code 0 by itself"),
            Phase::Starting { pid } => Self { word: "starting", pid: *pid, detail: None },
            Phase::Online { pid } => Self { word: "online", pid: Some(*pid), detail: None },
            Phase::Stopping { pid } => Self { word: "stopping", pid: *pid, detail: None },
            Phase::BackedOff { crashes, cause } => Self {
                word: "backedOff",
                pid: None,
                detail: Some(format!(
                    "crashed {crashes} times within its restart policy's window; the last: {cause}; \
                     a new allocation or a start brings it back"
                )),
            },
            Phase::PreRecovery { cause } => Self {
                word: "preRecovery",
                pid: None,
                detail: Some(format!(
                    "no longer answered its query under an allocation: {cause}; a new allocation or a start brings it back"
                )),
            },
            Phase::Lost => Self::said(
                "lost",
                "its machine rebooted or the process's holder died; how it ended is unknown",
            ),
        }
    }

    fn said(word: &'static str, detail: &str) -> Self {
        Self { word, pid: None, detail: Some(detail.to_owned()) }
    }
}
