//! The loaded configuration as plain values: nothing here knows of YAML. Values that a person may write carry their
//! place; limits and defaults are those of `docs/reference/config.md`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::place::{Sourced, Sources};
use mainstay_core::CommandLine;
use mainstay_matchmaking::spec::QueueSpec;

/// Everything the given files say, merged and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The loaded texts, for quoting.
    pub sources: Sources,
    /// Builds by name.
    pub builds: BTreeMap<String, Build>,
    /// Build configurations by name.
    pub build_configurations: BTreeMap<String, BuildConfiguration>,
    /// Fleets by name.
    pub fleets: BTreeMap<String, Fleet>,
    /// Which machines may join, and what they get.
    pub machines: Machines,
    /// Programs that make machines, by name.
    pub providers: BTreeMap<String, Provider>,
    /// Queues that match players, by name.
    pub queues: BTreeMap<String, Queue>,
    /// Lobby services that something is written of, by name: `lan` and `online`.
    pub lobbies: BTreeMap<String, Lobby>,
    /// The id by which games made for PlayFab know their title, where one is written.
    pub playfab_title: Option<Sourced<String>>,
    /// What stands for PlayFab's builds and aliases in queues that are pasted, by id.
    pub playfab_builds: BTreeMap<String, Allocate>,
}

/// A queue that matches players.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    /// Its name, and where it is written.
    pub name: Sourced<String>,
    /// Its sizes, teams and rules: what any door to a queue takes.
    pub spec: Arc<QueueSpec>,
}

/// A lobby service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lobby {
    /// Its name, and where it is written.
    pub name: Sourced<String>,
    /// Whether its sessions migrate.
    pub supports_host_migration: Sourced<bool>,
    /// How long tokens and passes of its sessions' members last.
    pub pass_life: Sourced<Duration>,
}

/// Where servers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocate {
    /// A fleet of these files.
    pub fleet: Sourced<String>,
    /// One of its build configurations.
    pub build_configuration: Sourced<String>,
}

/// A build: the files of a game server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Build {
    /// Its name, and where it is defined.
    pub name: Sourced<String>,
    /// The executable the build produces (`.gsh`: for Unity's editor; default `Server`).
    pub executable_name: Sourced<String>,
    /// Its folder, or its image; `.gsh` has no default.
    pub path: Option<Sourced<BuildPath>>,
    /// Patterns, from its folder, of files that are left out when machines are given it: see [`crate::leaves_out`].
    pub exclude_paths: Vec<Sourced<String>>,
}

/// Where a build's files are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildPath {
    /// A folder. Relative paths have been joined to the folder of the file they were written in.
    Folder(PathBuf),
    /// A path with a drive letter or `\\server`: accepted when loading, unusable on this machine.
    Windows(String),
    /// A container image.
    Image(Image),
}

/// Where a container image is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    /// In a folder of the OCI image layout, `oci:FOLDER[:NAME]`; by its name there, where it has one.
    Layout(PathBuf, Option<String>),
    /// In such a folder packed by tar, `oci-archive:FILE[:NAME]`.
    Archive(PathBuf, Option<String>),
    /// In a registry, `docker://REFERENCE`.
    Registry(String),
}

impl Image {
    /// As it is written, with the path that `of` makes of its own.
    #[must_use]
    pub fn text(&self, of: impl Fn(&std::path::Path) -> String) -> String {
        let named = |name: &Option<String>| name.as_ref().map(|name| format!(":{name}")).unwrap_or_default();
        match self {
            Self::Layout(path, name) => format!("oci:{}{}", of(path), named(name)),
            Self::Archive(path, name) => format!("oci-archive:{}{}", of(path), named(name)),
            Self::Registry(reference) => format!("docker://{reference}"),
        }
    }
}

/// How a build is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildConfiguration {
    /// Its name, and where it is defined.
    pub name: Sourced<String>,
    /// The build's name; it exists in [`Config::builds`].
    pub build: Sourced<String>,
    /// The binary, relative to the build's folder.
    pub binary_path: Sourced<String>,
    /// Launch parameters, split into arguments, with their `$$variables$$`.
    pub command_line: Sourced<CommandLine>,
    /// Custom variables: into `server.json`, and as `$$name$$` into the command line.
    pub variables: BTreeMap<String, Sourced<String>>,
    /// How the server is asked whether it answers.
    pub query: Query,
    /// Whether the server must call the ready API before it may be used (default false).
    pub readiness: Sourced<bool>,
    /// What one server may use; the checks compare with it.
    pub limits: Limits,
    /// Hard caps, all off unless written.
    pub caps: Caps,
    /// How a server is stopped.
    pub stop: Stop,
    /// How often a crashed server is restarted before it is backed off.
    pub restart: Restart,
    /// When a server counts as misbehaving.
    pub checks: Checks,
    /// What follows when an allocated server no longer answers its query (default pre-recovery).
    pub recovery: Sourced<Recovery>,
    /// How long a started server may take to its first answer (default 2 min: large worlds load slowly).
    pub start_timeout: Sourced<Duration>,
    /// The whole environment of the process beyond what the agent itself sets; nothing is inherited.
    pub env: BTreeMap<String, Sourced<String>>,
}

/// The query of a build configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// The protocol (default none: seed 001 checks answers only where a protocol is specified).
    pub kind: Sourced<QueryKind>,
    /// Which of the server's two ports answers.
    pub port: Sourced<QueryPort>,
    /// How long an answer is waited for (default 1 s).
    pub timeout: Sourced<Duration>,
}

/// The query protocols.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueryKind {
    /// The server is not asked.
    None,
    /// Unity's Server Query Protocol.
    Sqp,
    /// Valve's A2S_INFO.
    A2s,
    /// `getinfo` of Quake 3 and its descendants.
    Quake3,
    /// Teeworlds 0.7.
    Teeworlds,
    /// A TCP connection that is accepted.
    Tcp,
    /// A datagram that is answered.
    Udp {
        /// What is sent.
        request: Vec<u8>,
        /// What the answer begins with; empty: any answer.
        expect: Vec<u8>,
    },
}

/// A port of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueryPort {
    /// The one players connect to.
    Game,
    /// The second one, for queries.
    Query,
}

/// What one server may use. Nothing is throttled at these figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// CPU, where stated.
    pub cpu: Option<Sourced<CpuLimit>>,
    /// Memory in bytes, where stated.
    pub memory_bytes: Option<Sourced<u64>>,
}

/// A share of CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuLimit {
    /// Thousandths of a core.
    Millicores(u32),
    /// MHz over all cores: `.gsh`'s cores × speedMhz.
    Megahertz(u64),
}

/// Hard caps. They lie above the tolerances of the checks, or the checks would never see misbehaviour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// CPU quota.
    pub cpu_quota: Sourced<CpuQuota>,
    /// Memory in bytes at which the kernel kills; more than the limit + 200 MB.
    pub memory_bytes: Option<Sourced<u64>>,
}

/// A CPU quota.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpuQuota {
    /// None: shares only weigh.
    Off,
    /// Thousandths of a core.
    Millicores(u32),
}

/// How a server is stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// The signal sent first (default SIGTERM).
    pub signal: Sourced<Signal>,
    /// How long it then has before SIGKILL (default 20 s).
    pub kill_timeout: Sourced<Duration>,
}

/// The signals that may ask a server to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// SIGHUP.
    Hup,
    /// SIGINT.
    Int,
    /// SIGQUIT.
    Quit,
    /// SIGKILL: no time to end anything.
    Kill,
    /// SIGUSR1.
    Usr1,
    /// SIGUSR2.
    Usr2,
    /// SIGTERM.
    Term,
}

impl Signal {
    /// Every signal with its name.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("SIGTERM", Self::Term),
        ("SIGINT", Self::Int),
        ("SIGQUIT", Self::Quit),
        ("SIGHUP", Self::Hup),
        ("SIGUSR1", Self::Usr1),
        ("SIGUSR2", Self::Usr2),
        ("SIGKILL", Self::Kill),
    ];

    /// Its number on Linux.
    pub const fn number(self) -> i32 {
        match self {
            Self::Hup => 1,
            Self::Int => 2,
            Self::Quit => 3,
            Self::Kill => 9,
            Self::Usr1 => 10,
            Self::Usr2 => 12,
            Self::Term => 15,
        }
    }
}

/// Restarts after crashes (seed 001, crash back-off).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restart {
    /// Restarts within the window before the server is backed off (default 1).
    pub attempts: Sourced<u32>,
    /// The window (default 30 min).
    pub within: Sourced<Duration>,
}

/// The checks of a running server (seed 001, misbehavior).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checks {
    /// The time between two (default 60 s).
    pub every: Sourced<Duration>,
    /// How many failures of the same check within the window make it misbehave (default 3).
    pub failures: Sourced<u32>,
    /// The window (default 30 min).
    pub within: Sourced<Duration>,
    /// How far CPU use may lie above the limit, in percent of it (default 10).
    pub cpu_tolerance_percent: Sourced<u32>,
    /// How far memory may lie above the limit, in bytes (default 200 MB).
    pub memory_tolerance_bytes: Sourced<u64>,
    /// What a misbehaving server is sent (default SIGSEGV, for its core dump).
    pub signal: Sourced<MisbehaviourSignal>,
}

/// The signals that may end a misbehaving server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MisbehaviourSignal {
    /// SIGQUIT: a core dump, or a Go program's stacks.
    Quit,
    /// SIGABRT: a core dump.
    Abrt,
    /// SIGSEGV: a core dump.
    Segv,
    /// SIGTERM: no core dump.
    Term,
    /// SIGKILL: no core dump, and no last words.
    Kill,
}

impl MisbehaviourSignal {
    /// Every signal with its name.
    pub const NAMES: &'static [(&'static str, Self)] = &[
        ("SIGSEGV", Self::Segv),
        ("SIGABRT", Self::Abrt),
        ("SIGQUIT", Self::Quit),
        ("SIGTERM", Self::Term),
        ("SIGKILL", Self::Kill),
    ];

    /// Its number on Linux.
    pub const fn number(self) -> i32 {
        match self {
            Self::Quit => 3,
            Self::Abrt => 6,
            Self::Kill => 9,
            Self::Segv => 11,
            Self::Term => 15,
        }
    }
}

/// What follows when an allocated server no longer answers its query (seed 001 has both).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// It stays stopped until a new allocation, and its allocation ends as failed.
    PreRecovery,
    /// It is restarted with the same allocation id, within its back-off.
    Restart,
}

/// A fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fleet {
    /// Its name, and where it is defined.
    pub name: Sourced<String>,
    /// Build configurations it may run; each exists in [`Config::build_configurations`].
    pub build_configurations: Vec<Sourced<String>>,
    /// Regions by name.
    pub regions: BTreeMap<String, Region>,
    /// Density, as written; see [`Config::slots_on`].
    pub usage_settings: Vec<UsageSetting>,
    /// Processor architecture, where stated.
    pub architecture: Option<Sourced<Architecture>>,
    /// Whether idle servers run before they are allocated (default false).
    pub start_on_provision: Sourced<bool>,
    /// How long an accepted allocation waits for a server (default 60 s).
    pub placement_timeout: Sourced<Duration>,
    /// How long an ended allocation stays readable (default 1 h).
    pub allocation_retention: Sourced<Duration>,
    /// Who takes servers out of the pool (default: allocations).
    pub claimed_by: Sourced<ClaimedBy>,
    /// How long an allocation lives (default 1 h); `None`: for ever.
    pub allocation_ttl: Sourced<Option<Duration>>,
    /// What that time is counted by (default: idle).
    pub allocation_ttl_reading: Sourced<TtlReading>,
    /// The furthest away a hold may run out (default 24 h).
    pub hold_max: Sourced<Duration>,
    /// How long a machine idles before its servers are stopped, where stated.
    pub ttl_shutdown: Option<Sourced<Duration>>,
    /// How long a machine that a provider made idles before it is deleted, where stated; not shorter.
    pub ttl_delete: Option<Sourced<Duration>>,
    /// How long an agent may be silent before its machine is lost (default 60 s).
    pub lost_after: Sourced<Duration>,
    /// What becomes of the allocations of a lost machine (default: they fail).
    pub lost_allocations: Sourced<LostAllocations>,
}

/// What becomes of the allocations of a lost machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostAllocations {
    /// They end as failed.
    Fail,
    /// They get another server, under the same id.
    PlaceAnew,
}

/// A program that makes and deletes machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name, and where it is defined.
    pub name: Sourced<String>,
    /// The program. A relative path has been joined to the folder of its file; a bare name is looked for in `PATH`.
    pub command: Sourced<PathBuf>,
    /// What it is started with before the verb.
    pub arguments: Vec<Sourced<String>>,
    /// Its environment besides what Mainstay gives it.
    pub env: BTreeMap<String, Sourced<String>>,
    /// How many servers one of its machines has.
    pub slots: Sourced<u32>,
    /// The most machines at once (default 16).
    pub max_machines: Sourced<u32>,
    /// How long a machine may take until it joins (default 10 min).
    pub create_timeout: Sourced<Duration>,
    /// The first pause after a failure (default 1 s).
    pub retry: Sourced<Duration>,
    /// How long one call may take (default 1 min).
    pub call_timeout: Sourced<Duration>,
    /// How often its machines are listed (default 1 min).
    pub list_every: Sourced<Duration>,
    /// Where its machines join; else an address that the control plane listens on.
    pub join_url: Option<Sourced<String>>,
}

/// Who takes servers out of the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimedBy {
    /// Callers, by allocations.
    Allocations,
    /// Games, by reservations of themselves.
    Reservations,
}

/// What the time an allocation lives is counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlReading {
    /// Since nobody plays, as its query says.
    Idle,
    /// Since it was asked for.
    Age,
}

/// A fleet's part in one region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its name, and where it is defined.
    pub name: Sourced<String>,
    /// What else it is called, wherever a region is named; compared without case.
    pub aliases: Vec<Sourced<String>>,
    /// Free servers to keep (default 0).
    pub min_available: Sourced<u32>,
    /// Most allocated servers (default 0).
    pub max_servers: Sourced<u32>,
    /// Whether it takes part (default true).
    pub online: Sourced<bool>,
    /// The provider that makes its machines; it exists in [`Config::providers`].
    pub provider: Option<Sourced<String>>,
}

/// One entry of `usageSettings`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSetting {
    /// Cloud or metal.
    pub hardware: Sourced<Hardware>,
    /// The provider's machine type; cloud only.
    pub machine_type: Option<Sourced<String>>,
    /// Servers on one machine.
    pub max_servers_per_machine: Option<Sourced<u32>>,
    /// Servers for each core; metal only.
    pub max_servers_per_core: Option<Sourced<u32>>,
    /// MHz one server needs.
    pub speed_mhz: Option<Sourced<u32>>,
    /// MiB one server needs.
    pub memory_mib: Option<Sourced<u64>>,
}

/// The hardware a usage setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hardware {
    /// Rented by the hour.
    Cloud,
    /// Owned.
    Metal,
}

/// A processor architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64.
    Amd64,
    /// AArch64.
    Arm64,
}

/// Which machines may join, and what they get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machines {
    /// Whether machines other than this one may join (default: none).
    pub join: Sourced<Join>,
    /// The ports of this machine's servers, where stated.
    pub ports: Option<Sourced<PortRange>>,
    /// How many bytes of this machine's disk fetched builds, core dumps, evidence and logs may take together, where stated.
    pub disk: Option<Sourced<u64>>,
}

/// Whether other machines may join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Those with a credential may.
    Allowed,
    /// Only this machine.
    None,
}

/// Ports, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// First port.
    pub first: u16,
    /// Last port.
    pub last: u16,
}
