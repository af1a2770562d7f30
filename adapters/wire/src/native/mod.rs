//! HTTP v1, the native face: JSON in camelCase, RFC 3339 times, cursor paging (ux.md 8.10).

use jiff::Timestamp as Instant;
use mainstay_core::{AllocationId, FleetId, RegionId, ReservationId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::agent::DiskUse;
use crate::multiplay::AllocationView;

mod accounts;
mod configuration;
mod doctor;
mod insight;
mod join;
mod kept;
mod lives;
mod lobby;
mod matching;
mod objects;
mod of_state;
mod supervision;

pub use accounts::{AccountRole, ServiceAccountRequest, ServiceAccountView};
pub use configuration::{BuildView, ConfigurationView, FleetName};
pub use doctor::{DoctorView, Finding, Verdict};
pub use insight::{
    CanceledView, FunnelView, NarrowingView, PartyView, PlayerStatisticsView, QueueCountsView,
    QueueStatisticsView, RehearsalRequest, RehearsalView, TimeToPlayView, TriedView, WaterfallStep,
    WaterfallView,
};
pub use join::{CredentialView, JoinTokenRequest, JoinTokenView};
pub use kept::{BackfillStands, GameStands, KEPT_BYTES_MAX};
pub use lobby::refused;
pub use lobby::{
    Addresses, BeatAnswer, BeatRequest, CertificateView, ClaimRequest, JoinRequest, JoiningView,
    LobbyRequest, LobbyView, Look, MemberAnswer, MemberRequest, MemberUpdate, MemberView, PaceView, PassView,
    PhaseView, RelayView, RelayedRenewal, SeatView, SessionHostView, SessionRequest, SessionUpdate,
    SessionView, TakeoverView, Unfit, WithoutMajorityView, attribute_fits, attributes_fit, lease_word,
};
pub use matching::{
    BackfillRequest, JudgedView, KeptAwayView, LeaseView, MatchView, NeighbourView, OnPlayerTakenOut,
    PlayerOfTicket, PlayerRequest, PortProtocol, PortView, QueueView, ReachView, StepView, TicketRequest,
    TicketView, TimeToMatchView, TogetherView, WhyView,
};
pub use objects::{ObjectsRequest, ObjectsView};
pub use of_state::Within;
pub use supervision::{DatedReadingView, IncidentView, ReadingView};

/// What a page lists unasked.
pub const PAGE_DEFAULT: usize = 100;
/// The most a page lists: one turn's worth of reading.
pub const PAGE_MAX: usize = 1_000;

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// What is listed.
    pub items: Vec<T>,
    /// Give this as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetView {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub id: FleetId,
    /// Its name.
    pub name: String,
    /// ONLINE, DRAINING or OFFLINE: the highest of its regions'.
    #[serde(default)]
    pub status: String,
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
    /// Machines that do not have what the fleet runs yet; the first hundred.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub installs: Vec<InstallView>,
}

/// A machine that does not have a build yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstallView {
    /// The machine.
    pub machine_id: u64,
    /// What it needs it for.
    pub build_configuration_id: u64,
    /// Which revision of that.
    pub revision: u32,
    /// How far it is, and why it does not go on, if it does not.
    pub detail: String,
}

/// A build configuration of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegionView {
    /// The `regionId` an allocation names.
    #[schema(value_type = String, format = "uuid")]
    pub id: RegionId,
    /// Its name.
    pub name: String,
    /// What else it is called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Unallocated servers to keep.
    pub min_available_servers: u32,
    /// The most servers that may be allocated at once.
    pub max_servers: u32,
    /// How many are.
    pub allocated_servers: u32,
    /// ONLINE while it takes allocations; DRAINING while it takes none and somebody plays there; else OFFLINE.
    #[serde(default)]
    pub status: String,
    /// Whether it takes allocations.
    pub online: bool,
    /// Whether machines may join now that nobody knows yet: as the configuration says (`machines: { join: allowed }`), or
    /// since a join token for the region is open. While they may, allocations wait for them.
    pub machines_may_join: bool,
}

/// How many servers stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerCounts {
    /// With an allocation.
    pub allocated: usize,
    /// With a reservation of their own.
    #[serde(default)]
    pub reserved: usize,
    /// Kept by their games, for nobody.
    #[serde(default)]
    pub held: usize,
    /// Running for nobody, and their games say they take players.
    #[serde(default)]
    pub ready: usize,
    /// Running for nobody.
    pub online: usize,
    /// Not running.
    pub available: usize,
    /// On machines whose agents are not heard, or have not said yet how these stand.
    #[serde(default)]
    pub unreachable: usize,
    /// All of them.
    pub total: usize,
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineView {
    /// Its id.
    pub id: u64,
    /// Its id as people read it.
    pub display: String,
    /// Its name.
    pub name: String,
    /// Its fleet.
    #[schema(value_type = String, format = "uuid")]
    pub fleet_id: FleetId,
    /// Its fleet's name.
    pub fleet_name: String,
    /// Its region.
    #[schema(value_type = String, format = "uuid")]
    pub region_id: RegionId,
    /// Its region's name.
    pub region_name: String,
    /// `connected`, or `silent` where its agent is not heard.
    pub status: String,
    /// Where it is in its life, in Multiplay's words: AWAITING_SETUP, PROVISIONING, BOOTING, ONLINE, SHUTTING_DOWN,
    /// SHUTDOWN, DELETING, CANCELLATION_REQUESTED or CANCELLED.
    #[serde(default)]
    pub state: String,
    /// The same in Mainstay's: requested, serving, draining, emptied, lost or removing.
    #[serde(default)]
    pub life: String,
    /// What an operator wants of it: `inService`, `drained` or `leaving`.
    #[serde(default)]
    pub duty: String,
    /// What more there is to say of that: since when, until when, why, and what is known of a lost one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// `joined`, or `made` by the region's provider.
    #[serde(default)]
    pub origin: String,
    /// As players reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv4: Option<String>,
    /// As players reach it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipv6: Option<String>,
    /// The credential it came with; absent for machines of the control plane's own host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<CredentialView>,
    /// What takes room on its disk; absent until its agent has said so on the stream that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskUse>,
    /// What its agent said of its host; absent where it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostView>,
    /// How its servers stand.
    pub servers: ServerCounts,
}

/// What a machine runs on, and how many servers that holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostView {
    /// Cores that its operating system shows.
    pub cores: u32,
    /// MHz of a core, where it tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mhz: Option<u32>,
    /// Memory in MiB.
    pub memory_mib: u64,
    /// What its processor is called; absent where it does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<String>,
    /// How many servers its fleet has room for here; absent where its region is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u32>,
    /// What bounds that: maxServersPerMachine, maxServersPerCore, cpu, memory, or the region's maxServers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<String>,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerView {
    /// Its id.
    pub id: u64,
    /// Its id as people read it.
    pub display: String,
    /// ALLOCATED, RESERVED, HELD, READY, ONLINE or AVAILABLE.
    pub status: String,
    /// The life of its process, as its agent last said: unknown, stopped, starting, online, stopping, backedOff,
    /// preRecovery or lost.
    pub process: String,
    /// What more there is to say of its process: how it ended, why it is kept down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The game's own process, while it is online.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What its agent last read of its process, at its last check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<ReadingView>,
    /// The newest process of it that ended as nobody wished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_incident: Option<IncidentView>,
    /// Its machine.
    pub machine_id: u64,
    /// Its machine's id as people read it.
    pub machine_display: String,
    /// Its machine's name.
    pub machine_name: String,
    /// Its fleet.
    #[schema(value_type = String, format = "uuid")]
    pub fleet_id: FleetId,
    /// Its fleet's name.
    pub fleet_name: String,
    /// Its region.
    #[schema(value_type = String, format = "uuid")]
    pub region_id: RegionId,
    /// Its region's name.
    pub region_name: String,
    /// Its session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub allocation_id: Option<AllocationId>,
    /// Until when its game asked that it be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub held_until: Option<Instant>,
    /// The reservation its game made of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub reservation_id: Option<ReservationId>,
    /// Whether its game says it takes players.
    #[serde(default)]
    pub ready: bool,
    /// Why it got its newest order.
    #[serde(default)]
    pub cause: String,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NativeAllocation {
    /// As the Multiplay face shows it.
    #[serde(flatten)]
    pub allocation: AllocationView,
    /// How far it is.
    pub state: AllocationState,
    /// Whether it is an operator's test (the admin API's test allocations), not a session of the game's.
    #[serde(default)]
    pub test: bool,
    /// Its fleet's name.
    pub fleet_name: String,
    /// Its server's id as people read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_display: Option<String>,
    /// Why it got this server, and why the others lost, in words; while it goes on, and this control plane placed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
}

/// How far an allocation is, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AllocationRequest {
    /// The caller's id: a repeat is answered with what exists.
    #[schema(value_type = String, format = "uuid")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServerActionRequest {
    /// Which.
    pub action: ServerAction,
    /// For `configure`: the name or id of one of the fleet's build configurations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_configuration: Option<String>,
}

/// What an operator does to a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MachineActionRequest {
    /// Which.
    pub action: MachineAction,
}

/// What an operator does to a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum MachineAction {
    /// It takes nobody any more; once nobody is on it, its servers are stopped.
    Drain,
    /// It serves again.
    Undrain,
    /// It is the fleet's no more: given back to its provider, or, where it joined by itself, without its credential.
    Remove,
}

/// When a machine action takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MachineActionView {
    /// Whether its servers have to become free, or to stop, before it is done.
    pub deferred: bool,
}

/// When a server action takes place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerActionView {
    /// Whether it waits until nobody plays on the server any more.
    pub deferred: bool,
}

/// What an operator does to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum ServerAction {
    /// Starts it.
    Start,
    /// Stops it.
    Stop,
    /// Restarts it.
    Restart,
    /// Ends its hold or its reservation.
    Release,
    /// Makes another its active build configuration: at once where nobody plays on it, else when it next starts for
    /// nobody.
    Configure,
}

/// The state of the whole, in numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusView {
    /// The program's version.
    pub version: String,
    /// Its time.
    #[schema(value_type = String, format = DateTime)]
    pub now: Instant,
    /// Each fleet.
    pub fleets: Vec<FleetView>,
    /// Machines, all fleets together.
    pub machines: usize,
    /// Machines whose agent is heard.
    pub connected_machines: usize,
}

/// Whether a control plane is well, check by check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthView {
    /// `ok`, or `failing` where a check fails.
    pub status: String,
    /// Each check.
    pub checks: Vec<HealthCheck>,
}

/// One check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct HealthCheck {
    /// What is checked, in words that never change.
    pub name: String,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found.
    pub says: String,
}

impl HealthView {
    /// Of its checks.
    #[must_use]
    pub fn of(checks: Vec<HealthCheck>) -> Self {
        let status = if checks.iter().all(|check| check.ok) { "ok" } else { "failing" };
        Self { status: status.to_owned(), checks }
    }
}
