//! What an operator says a fleet is.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::density::{MachineSize, Need, Slots, Usage};
use mainstay_core::slot::{ConfigurationRef, Spec};
use mainstay_core::{BuildConfigurationId, FleetId, FleetNumber, RegionId};

use crate::machine::SLOTS_PER_MACHINE_MAX;
use crate::policy::{MachinePolicy, MachineTtl, Provided};

/// A fleet as configured. Replaced whole; a higher revision replaces a lower one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetSpec {
    /// The high half of the ids of its machines and servers.
    pub number: FleetNumber,
    /// What Multiplay's clients call it.
    pub id: FleetId,
    /// Its name.
    pub name: Arc<str>,
    /// Raised by each change.
    pub revision: u64,
    /// When its servers start.
    pub idle_servers: IdleServers,
    /// Where it runs.
    pub regions: Vec<RegionSpec>,
    /// What it runs. The first is what idle servers run.
    pub configurations: Vec<Spec>,
    /// How long an allocation may wait for a server.
    pub placement_timeout: Duration,
    /// How long an ended allocation stays readable.
    pub retention: Duration,
    /// What its servers are for, and for how long.
    pub hosting: Hosting,
    /// The lowest revision of a build configuration that may run under a session: lower ones are replaced at once (a
    /// forced rollout). A configuration without one has none.
    pub floors: Vec<ConfigurationRef>,
}

/// What a fleet's servers are for, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hosting {
    /// Who takes servers out of the pool.
    pub claimed_by: ClaimedBy,
    /// The furthest away a hold may run out.
    pub hold_max: Duration,
    /// When an allocation has lived long enough.
    pub allocation_ttl: AllocationTtl,
    /// When its machines go, and when they are lost.
    pub machines: MachinePolicy,
    /// How many servers machines take, by their kind.
    pub usage: Vec<UsageSetting>,
    /// How long a machine that an operator withdrew may be empty before it is given back to the provider that made it
    /// (`disabledDeleteTTL`); never, where nothing is said.
    pub disabled_delete: Option<Duration>,
}

/// How many servers a machine of a kind takes: one of a fleet's `usageSettings` (reference 3.4 and 3.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageSetting {
    /// Which machines.
    pub hardware: Hardware,
    /// Their type; of rented ones.
    pub machine_type: Option<Arc<str>>,
    /// Servers on one machine.
    pub per_machine: Option<u32>,
    /// Servers for each core.
    pub per_core: Option<u32>,
    /// MHz that one server needs.
    pub speed_mhz: Option<u32>,
    /// MiB that one server needs.
    pub memory_mib: Option<u64>,
}

impl From<&UsageSetting> for Usage {
    fn from(setting: &UsageSetting) -> Self {
        let UsageSetting { hardware: _, machine_type: _, per_machine, per_core, speed_mhz, memory_mib } =
            *setting;
        Self { per_machine, per_core, speed_mhz, memory_mib }
    }
}

/// Whose machines (`hardwareType`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hardware {
    /// Rented by the hour.
    Cloud,
    /// Owned.
    Metal,
}

/// When an allocation has lived long enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationTtl {
    /// Never.
    Off,
    /// When nobody has played for so long (the reading of Unity's allocation-ttl page). Where the query does not tell
    /// players, never.
    Idle(Duration),
    /// So long after it was asked for, whoever plays (the reading of Unity's glossary).
    Age(Duration),
}

impl Hosting {
    /// A game that forgets its hold keeps a machine for a day at most.
    pub const HOLD_MAX_DEFAULT: Duration = Duration::from_secs(24 * 60 * 60);
}

impl Default for Hosting {
    fn default() -> Self {
        Self {
            claimed_by: ClaimedBy::Allocations,
            hold_max: Self::HOLD_MAX_DEFAULT,
            allocation_ttl: AllocationTtl::DEFAULT,
            machines: MachinePolicy::default(),
            usage: Vec::new(),
            disabled_delete: None,
        }
    }
}

/// Who takes servers out of the pool (`allocationType` of a Multiplay fleet).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimedBy {
    /// Callers, by allocations; Mainstay chooses the server.
    Allocations,
    /// Games, by reservations of themselves; players choose the server, from a list.
    Reservations,
}

/// When a fleet's unallocated servers run (seed 002, the start on provision setting).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleServers {
    /// At once, and again after an intended exit.
    StartOnProvision,
    /// Not before an allocation.
    StartOnAllocation,
}

/// A fleet's presence in one region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionSpec {
    /// What an allocation names.
    pub id: RegionId,
    /// Its name.
    pub name: Arc<str>,
    /// What else it is called, wherever a region is named.
    pub aliases: Vec<Arc<str>>,
    /// Unallocated servers to keep.
    pub min_available: u32,
    /// The most servers that may be allocated at once.
    pub max_servers: u32,
    /// Whether it takes allocations.
    pub opening: RegionOpening,
    /// Whether more machines can come.
    pub growth: Growth,
    /// When its idle machines go, where not as the fleet's do.
    pub ttl: Option<MachineTtl>,
}

/// Whether a region takes allocations (`online` in a `.gsh` file).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionOpening {
    /// It does.
    Online,
    /// It does not; what is allocated plays on.
    Offline,
}

/// Whether a region's capacity can grow beyond the machines it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// It has what it has, and who is let in by a join token while one is open.
    Fixed,
    /// Machines may join at any time: somebody makes tokens as they are needed.
    MachinesMayJoin,
    /// A provider makes machines, and deletes those it made.
    Provided(Provided),
}

impl RegionSpec {
    /// Whether this is its name, or one of its aliases, without regard to case.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        self.name.to_lowercase() == name || self.aliases.iter().any(|alias| alias.to_lowercase() == name)
    }
}

impl FleetSpec {
    /// The region of that id.
    #[must_use]
    pub fn region(&self, id: RegionId) -> Option<&RegionSpec> {
        self.regions.iter().find(|region| region.id == id)
    }

    /// The current revision of a build configuration.
    #[must_use]
    pub fn configuration(&self, id: BuildConfigurationId) -> Option<&Spec> {
        self.configurations.iter().find(|spec| spec.configuration.id == id)
    }

    /// The lowest revision of a build configuration that may run under a session; 0 where none is set.
    #[must_use]
    pub fn floor(&self, id: BuildConfigurationId) -> u32 {
        self.floors.iter().find(|floor| floor.id == id).map_or(0, |floor| floor.revision)
    }

    /// How many servers a machine holds in a region: as its usage settings say, one for metal before one for cloud, since
    /// machines are the studio's own; else as many as there is room for of the neediest build configuration.
    #[must_use]
    pub fn slots_on(&self, region: &RegionSpec, machine: &MachineSize) -> Slots {
        let settings = &self.hosting.usage;
        let metal = settings.iter().find(|setting| setting.hardware == Hardware::Metal);
        let usage = metal.or(settings.first()).map(Usage::from).unwrap_or_default();
        let limits = || self.configurations.iter().map(|spec| spec.limits);
        let neediest = Need {
            cpu_millis: limits().map(|limits| limits.cpu_millis.into()).max().unwrap_or(1_000),
            memory_bytes: limits().map(|limits| u64::from(limits.memory_mib) << 20).max().unwrap_or(1 << 30),
        };
        let max = u32::try_from(SLOTS_PER_MACHINE_MAX).unwrap_or(u32::MAX);
        Slots::of(machine, usage, neediest).within(region.max_servers.min(max))
    }

    /// What an idle server runs.
    #[must_use]
    pub fn idle_configuration(&self) -> Option<ConfigurationRef> {
        self.configurations.first().map(|spec| spec.configuration)
    }
}
