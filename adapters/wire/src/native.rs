//! HTTP v1, the native face: JSON in camelCase, RFC 3339 times, cursor paging (ux.md 8.10).

use jiff::Timestamp as Instant;
use mainstay_core::slot::{Phase, Spec, Stopped};
use mainstay_core::{AllocationId, FleetId, MachineId, RegionId, ServerId};
use mainstay_fleet::{
    Allocation, Fleet, FleetSpec, Growth, IdleServers, Link, Machine, RegionOpening, Server, Stage,
};
use serde::{Deserialize, Serialize};

use crate::multiplay::AllocationView;

/// What a page lists unasked.
pub const PAGE_DEFAULT: usize = 100;
/// The most a page lists: one turn's worth of reading.
pub const PAGE_MAX: usize = 1_000;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// What is listed.
    pub items: Vec<T>,
    /// Give this as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetView {
    /// Its id.
    pub id: FleetId,
    /// Its name.
    pub name: String,
    /// The high half of its servers' ids.
    pub number: u32,
    /// Raised by each change of its configuration.
    pub revision: u64,
    /// Whether idle servers run.
    pub start_on_provision: bool,
    /// What it runs.
    pub build_configurations: Vec<BuildConfigurationView>,
    /// Where.
    pub regions: Vec<RegionView>,
    /// How many servers stand how.
    pub servers: ServerCounts,
    /// How many allocations wait for a server.
    pub waiting_allocations: usize,
}

/// A build configuration of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildConfigurationView {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Which revision of it.
    pub revision: u32,
    /// The build it starts.
    pub build_id: u64,
}

/// A fleet's presence in a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegionView {
    /// The `regionId` an allocation names.
    pub id: RegionId,
    /// Its name.
    pub name: String,
    /// Unallocated servers to keep.
    pub min_available_servers: u32,
    /// The most servers that may be allocated at once.
    pub max_servers: u32,
    /// How many are.
    pub allocated_servers: u32,
    /// Whether it takes allocations.
    pub online: bool,
    /// Whether more machines may join.
    pub machines_may_join: bool,
}

/// How many servers stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerCounts {
    /// With an allocation.
    pub allocated: usize,
    /// Running, without one.
    pub online: usize,
    /// Not running.
    pub available: usize,
    /// All of them.
    pub total: usize,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineView {
    /// Its id.
    pub id: u64,
    /// Its id as people read it.
    pub display: String,
    /// Its name.
    pub name: String,
    /// Its fleet.
    pub fleet_id: FleetId,
    /// Its fleet's name.
    pub fleet_name: String,
    /// Its region.
    pub region_id: RegionId,
    /// Its region's name.
    pub region_name: String,
    /// `connected`, or `silent` where its agent is not heard.
    pub status: String,
    /// As players reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// As players reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<String>,
    /// How its servers stand.
    pub servers: ServerCounts,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerView {
    /// Its id.
    pub id: u64,
    /// Its id as people read it.
    pub display: String,
    /// ALLOCATED, ONLINE or AVAILABLE.
    pub status: String,
    /// The life of its process, as its agent last said: unknown, stopped, starting, online, stopping, backedOff or lost.
    pub process: String,
    /// What more there is to say of its process: how it ended, why it is kept down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The game's own process, while it is online.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its machine.
    pub machine_id: u64,
    /// Its machine's id as people read it.
    pub machine_display: String,
    /// Its machine's name.
    pub machine_name: String,
    /// Its fleet.
    pub fleet_id: FleetId,
    /// Its fleet's name.
    pub fleet_name: String,
    /// Its region.
    pub region_id: RegionId,
    /// Its region's name.
    pub region_name: String,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<AllocationId>,
    /// As players reach it; the IPv6 address where there is no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// Where players connect.
    pub port: u16,
    /// Where queries are answered.
    pub query_port: u16,
    /// What it runs when it runs.
    pub build_configuration_id: u64,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_configuration_name: Option<String>,
    /// Which revision of it.
    pub build_configuration_revision: u32,
    /// The newest order it has been given.
    pub ordered_generation: u64,
    /// The newest order its agent has obeyed.
    pub obeyed_generation: u64,
}

/// An allocation, with the names of what it names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NativeAllocation {
    /// As the Multiplay face shows it.
    #[serde(flatten)]
    pub allocation: AllocationView,
    /// How far it is.
    pub state: AllocationState,
    /// Its fleet's name.
    pub fleet_name: String,
    /// Its server's id as people read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_display: Option<String>,
}

/// How far an allocation is, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AllocationState {
    /// No server is free; one may come.
    Waiting,
    /// It has a server, which does not play yet.
    Placed,
    /// Its server plays.
    Fulfilled,
    /// It is over, as somebody wished.
    Ended,
    /// It is over, and nobody wished it.
    Failed,
}

/// The body of a native allocation: names or ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AllocationRequest {
    /// The caller's id: a repeat is answered with what exists.
    pub allocation_id: AllocationId,
    /// The fleet; may be left out where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<String>,
    /// The region; may be left out where the fleet has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The build configuration; may be left out where the fleet has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_configuration: Option<String>,
    /// For the game.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// Whether a running process is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restart: Option<bool>,
}

/// The body of a server action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerActionRequest {
    /// Which.
    pub action: ServerAction,
}

/// What an operator does to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerAction {
    /// Starts it.
    Start,
    /// Stops it.
    Stop,
    /// Restarts it.
    Restart,
}

/// The state of the whole, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The program's version.
    pub version: String,
    /// Its time.
    pub now: Instant,
    /// Each fleet.
    pub fleets: Vec<FleetView>,
    /// Machines, all fleets together.
    pub machines: usize,
    /// Machines whose agent is heard.
    pub connected_machines: usize,
}

impl FleetView {
    /// A configured fleet. Counts its servers: a pass over all of them.
    #[must_use]
    pub fn of(spec: &FleetSpec, fleet: &Fleet) -> Self {
        let mut servers = ServerCounts::default();
        for (_, server) in fleet.servers(None) {
            servers.count(server);
        }
        Self {
            id: spec.id,
            name: spec.name.to_string(),
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
                    min_available_servers: region.min_available,
                    max_servers: region.max_servers,
                    allocated_servers: fleet.allocated_in(region.id),
                    online: matches!(region.opening, RegionOpening::Online),
                    machines_may_join: matches!(region.growth, Growth::MachinesMayJoin),
                })
                .collect(),
            servers,
            waiting_allocations: fleet.waiting(),
        }
    }
}

impl ServerCounts {
    fn count(&mut self, server: &Server) {
        use mainstay_fleet::ServerStatus;
        self.total += 1;
        match server.status() {
            ServerStatus::Allocated => self.allocated += 1,
            ServerStatus::Online => self.online += 1,
            ServerStatus::Available => self.available += 1,
        }
    }
}

impl BuildConfigurationView {
    fn of(spec: &Spec) -> Self {
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
        let mut servers = ServerCounts::default();
        machine
            .servers
            .iter()
            .filter_map(|id| self.fleet.server(*id))
            .for_each(|server| servers.count(server));
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
            ipv4: machine.addresses.ipv4.map(|address| address.to_string()),
            ipv6: machine.addresses.ipv6.map(|address| address.to_string()),
            servers,
        }
    }

    /// A server; `None` where its machine is not known, which no state has.
    #[must_use]
    pub fn server(self, id: ServerId, server: &Server) -> Option<ServerView> {
        let machine = self.fleet.machine(server.machine)?;
        let process = Process::of(server);
        let addresses = machine.addresses;
        let ip = addresses.ipv4.map(|it| it.to_string()).or_else(|| addresses.ipv6.map(|it| it.to_string()));
        Some(ServerView {
            id: id.number(),
            display: id.to_string(),
            status: server.status().word().to_owned(),
            process: process.word.to_owned(),
            detail: process.detail,
            pid: process.pid,
            machine_id: server.machine.number(),
            machine_display: server.machine.to_string(),
            machine_name: machine.name.to_string(),
            fleet_id: self.spec.id,
            fleet_name: self.spec.name.to_string(),
            region_id: machine.region,
            region_name: self.region_name(machine.region),
            allocation_id: server.allocation(),
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
            allocation: AllocationView::of(id, self.spec.id, allocation, server, machine),
            state: match &allocation.stage {
                Stage::Waiting { .. } => AllocationState::Waiting,
                Stage::Placed(_) => AllocationState::Placed,
                Stage::Fulfilled { .. } => AllocationState::Fulfilled,
                Stage::Ended { end, .. } if end.failed() => AllocationState::Failed,
                Stage::Ended { .. } => AllocationState::Ended,
            },
            fleet_name: self.spec.name.to_string(),
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
    fn of(server: &Server) -> Self {
        let Some(seen) = server.seen() else {
            return Self::said("unknown", "its agent has not reported it since this control plane started");
        };
        match &seen.phase {
            Phase::Stopped(Stopped::Idle) => Self::said("stopped", "no order has asked for a process yet"),
            Phase::Stopped(Stopped::Ordered) => Self::said("stopped", "an order asked for it"),
            Phase::Stopped(Stopped::Completed) => Self::said("stopped", "it exited with code 0 by itself"),
            Phase::Starting => Self { word: "starting", pid: None, detail: None },
            Phase::Online { pid } => Self { word: "online", pid: Some(*pid), detail: None },
            Phase::Stopping => Self { word: "stopping", pid: None, detail: None },
            Phase::BackedOff { crashes, cause } => Self {
                word: "backedOff",
                pid: None,
                detail: Some(format!(
                    "crashed {crashes} times within its restart policy's window; the last: {cause}; \
                     a new allocation or a start brings it back"
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
