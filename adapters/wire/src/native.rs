//! HTTP v1, the native face: JSON in camelCase, RFC 3339 times, cursor paging (ux.md 8.10).

use jiff::Timestamp as Instant;
use mainstay_core::slot::{Phase, Spec, Stopped};
use mainstay_core::{AllocationId, FleetId, MachineId, RegionId, ServerId};
use mainstay_fleet::{Fleet, FleetSpec, Growth, IdleServers, Link, Machine, RegionOpening, Server};
use serde::{Deserialize, Serialize};

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
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

const fn none() -> Option<String> {
    None
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
    /// Its name.
    pub name: String,
    /// Its fleet.
    pub fleet_id: FleetId,
    /// Its region.
    pub region_id: RegionId,
    /// Whether its agent is heard.
    pub connected: bool,
    /// As players reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// As players reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<String>,
    /// How many slots it has.
    pub slots: usize,
    /// How many of them are allocated.
    pub allocated: u32,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerView {
    /// Its id.
    pub id: u64,
    /// Its id as people read it.
    pub display_id: String,
    /// ALLOCATED, ONLINE or AVAILABLE.
    pub status: String,
    /// The game's own process, while it is online.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The life of its process, as its agent last said.
    pub process: ProcessView,
    /// Its machine.
    pub machine_id: u64,
    /// Its machine's name.
    pub machine_name: String,
    /// Its fleet.
    pub fleet_id: FleetId,
    /// Its region.
    pub region_id: RegionId,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_id: Option<AllocationId>,
    /// As players reach its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// Where players connect.
    pub game_port: u16,
    /// Where queries are answered.
    pub query_port: u16,
    /// What it runs when it runs.
    pub build_configuration_id: u64,
    /// Which revision of it.
    pub build_configuration_revision: u32,
    /// The newest order it has been given.
    pub ordered_generation: u64,
    /// The newest order its agent has obeyed.
    pub obeyed_generation: u64,
}

/// The life of a server's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "phase")]
pub enum ProcessView {
    /// Its agent has not spoken to this control plane yet.
    Unknown,
    /// No process.
    Stopped {
        /// Why.
        reason: StoppedView,
    },
    /// On its way.
    Starting,
    /// Runs and answers.
    Online {
        /// The game's own process.
        pid: u32,
    },
    /// On its way down.
    Stopping,
    /// Crashed too often.
    BackedOff {
        /// Crashes within the window.
        crashes: u32,
        /// How the last of them ended.
        cause: String,
    },
    /// The machine lost it.
    Lost,
}

/// Why a server has no process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StoppedView {
    /// It never had one, or has not since an order asked for it.
    Idle,
    /// An order asked for it.
    Ordered,
    /// It exited with code 0 by itself.
    Completed,
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

impl MachineView {
    /// A machine of a fleet.
    #[must_use]
    pub fn of(id: MachineId, fleet: FleetId, machine: &Machine) -> Self {
        Self {
            id: id.number(),
            name: machine.name.to_string(),
            fleet_id: fleet,
            region_id: machine.region,
            connected: matches!(machine.link(), Link::Up { .. }),
            ipv4: machine.addresses.ipv4.map(|address| address.to_string()),
            ipv6: machine.addresses.ipv6.map(|address| address.to_string()),
            slots: machine.servers.len(),
            allocated: machine.allocated(),
        }
    }
}

impl ServerView {
    /// A server on its machine.
    #[must_use]
    pub fn of(id: ServerId, fleet: FleetId, server: &Server, machine: &Machine) -> Self {
        let process = ProcessView::of(server);
        Self {
            id: id.number(),
            display_id: id.to_string(),
            status: server.status().word().to_owned(),
            pid: match process {
                ProcessView::Online { pid } => Some(pid),
                ProcessView::Unknown
                | ProcessView::Stopped { .. }
                | ProcessView::Starting
                | ProcessView::Stopping
                | ProcessView::BackedOff { .. }
                | ProcessView::Lost => None,
            },
            process,
            machine_id: server.machine.number(),
            machine_name: machine.name.to_string(),
            fleet_id: fleet,
            region_id: machine.region,
            allocation_id: server.allocation(),
            ipv4: machine.addresses.ipv4.map(|address| address.to_string()),
            game_port: server.ports.game,
            query_port: server.ports.query,
            build_configuration_id: server.configuration.id.number(),
            build_configuration_revision: server.configuration.revision,
            ordered_generation: server.generation.number(),
            obeyed_generation: server.seen().map_or(0, |seen| seen.generation.number()),
        }
    }
}

impl ProcessView {
    fn of(server: &Server) -> Self {
        let Some(seen) = server.seen() else { return Self::Unknown };
        match &seen.phase {
            Phase::Stopped(why) => Self::Stopped {
                reason: match why {
                    Stopped::Idle => StoppedView::Idle,
                    Stopped::Ordered => StoppedView::Ordered,
                    Stopped::Completed => StoppedView::Completed,
                },
            },
            Phase::Starting => Self::Starting,
            Phase::Online { pid } => Self::Online { pid: *pid },
            Phase::Stopping => Self::Stopping,
            Phase::BackedOff { crashes, cause } => {
                Self::BackedOff { crashes: *crashes, cause: cause.to_string() }
            }
            Phase::Lost => Self::Lost,
        }
    }
}
