//! Fleets and their regions (reference 3.4).

use std::time::Duration;

use mainstay_core::{FleetId, RegionId};
use mainstay_fleet::{
    AllocationTtl, ClaimedBy, FleetSpec, FleetStatus, Hardware, RegionOpening, RegionSpec, UsageSetting,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{OS_FAMILY, OS_ID, OS_NAME};

/// A fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetAnswer {
    /// Its id.
    pub id: FleetId,
    /// Its name.
    pub name: String,
    /// The one operating system.
    #[serde(rename = "osID")]
    pub os_id: Uuid,
    /// Its name.
    pub os_name: String,
    /// Its family.
    pub os_family: String,
    /// ONLINE, DRAINING or OFFLINE: the highest of its regions'.
    pub status: String,
    /// What it runs.
    pub build_configurations: Vec<FleetConfiguration>,
    /// Where.
    pub fleet_regions: Vec<FleetRegionAnswer>,
    /// Who takes servers out of its pool.
    pub allocation_type: String,
    /// After how many seconds an allocation ends; absent where it never does for its age.
    #[serde(rename = "allocationTTL", default, skip_serializing_if = "Option::is_none")]
    pub allocation_ttl: Option<u64>,
    /// Ours: what these seconds count from: `idle` (since somebody last played) or `age` (since it was asked for).
    #[serde(rename = "allocationTTLReading", default, skip_serializing_if = "Option::is_none")]
    pub allocation_ttl_reading: Option<TtlReading>,
    /// Whether SIGTERM comes before SIGKILL: it always does.
    pub graceful: bool,
    /// When its machines go.
    #[serde(flatten)]
    pub machines: MachineTimes,
    /// How many servers its machines take.
    pub usage_settings: Vec<UsageItem>,
}

/// How many servers a machine of a kind takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageItem {
    /// Its id; told, never asked.
    #[serde(rename = "fleetUsageID", default, skip_serializing_if = "Option::is_none")]
    pub fleet_usage_id: Option<Uuid>,
    /// CLOUD or METAL.
    pub hardware_type: String,
    /// The type of rented machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_type: Option<String>,
    /// Servers on one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_servers_per_machine: Option<u64>,
    /// Servers for each core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_servers_per_core: Option<u64>,
    /// MiB that one server needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// MHz that one server needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<u64>,
}

impl UsageItem {
    fn of(setting: &UsageSetting, id: Uuid) -> Self {
        Self {
            fleet_usage_id: Some(id),
            hardware_type: match setting.hardware {
                Hardware::Cloud => "CLOUD",
                Hardware::Metal => "METAL",
            }
            .to_owned(),
            machine_type: setting.machine_type.as_deref().map(str::to_owned),
            max_servers_per_machine: setting.per_machine.map(Into::into),
            max_servers_per_core: setting.per_core.map(Into::into),
            memory: setting.memory_mib,
            speed: setting.speed_mhz.map(Into::into),
        }
    }
}

/// What an allocation's time to live counts from (the two readings of Unity's pages).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TtlReading {
    /// Since somebody last played.
    Idle,
    /// Since it was asked for.
    Age,
}

/// A build configuration of a fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetConfiguration {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its build's id.
    #[serde(rename = "buildID")]
    pub build_id: u64,
    /// Its build's name.
    pub build_name: String,
}

/// A fleet's presence in a region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetRegionAnswer {
    /// The presence's own id.
    pub id: Uuid,
    /// The region's id, which an allocation names.
    #[serde(rename = "regionID")]
    pub region_id: RegionId,
    /// The region's name.
    pub region_name: String,
    /// Whether it takes allocations and grows; see the fleet's page of the reference.
    pub scaling_enabled: bool,
    /// ONLINE, DRAINING or OFFLINE.
    pub status: String,
    /// Unallocated servers to keep.
    pub min_available_servers: u32,
    /// The most servers that may be allocated at once.
    pub max_servers: u32,
    /// When its machines go.
    #[serde(flatten)]
    pub machines: MachineTimes,
}

/// A fleet in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetItem {
    /// Its id.
    pub id: FleetId,
    /// Its name.
    pub name: String,
    /// The one operating system.
    #[serde(rename = "osID")]
    pub os_id: Uuid,
    /// Its name.
    pub os_name: String,
    /// Its family.
    pub os_family: String,
    /// ONLINE, DRAINING or OFFLINE.
    pub status: String,
    /// What it runs.
    pub build_configurations: Vec<FleetItemConfiguration>,
    /// Where.
    pub regions: Vec<FleetItemRegion>,
    /// Who takes servers out of its pool.
    pub allocation_type: String,
    /// Whether SIGTERM comes before SIGKILL.
    pub graceful: bool,
    /// How its servers stand.
    pub servers: ServerBreakdowns,
}

/// A build configuration of a fleet in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetItemConfiguration {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
}

/// A region of a fleet in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetItemRegion {
    /// The presence's own id.
    pub id: Uuid,
    /// The region's id.
    #[serde(rename = "regionID")]
    pub region_id: RegionId,
    /// The region's name.
    pub region_name: String,
}

/// How servers stand, by where they run. All machines here are the studio's own: METAL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerBreakdowns {
    /// All of them.
    pub all: ServerBreakdown,
    /// On cloud machines: none.
    pub cloud: ServerBreakdown,
    /// On the studio's own.
    pub metal: ServerBreakdown,
}

/// How many servers stand how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerBreakdown {
    /// By status.
    pub status: ServerStates,
    /// All of them.
    pub total: u32,
}

/// Counts by status. The shipped C# model reads the count of available servers from the misspelt key (reference 3.4), others
/// from the right one: both are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ServerStates {
    /// With an allocation, or reserved.
    pub allocated: u32,
    /// Not running.
    pub available: u32,
    /// The same, as the C# model spells it.
    pub avalaible: u32,
    /// The rest: running, ready or held for nobody, and those that nobody hears.
    pub online: u32,
}

/// A region to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegionCreate {
    /// A region's id, from the templates.
    #[serde(rename = "regionID", default, skip_serializing_if = "Option::is_none")]
    pub region_id: Option<RegionId>,
    /// Ours: the name of a region, also one that no fleet has yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region_name: Option<String>,
    /// Unallocated servers to keep.
    pub min_available_servers: u32,
    /// The most servers that may be allocated at once.
    pub max_servers: u32,
}

/// A fleet to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetCreate {
    /// Its name.
    pub name: String,
    /// LINUX, or not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_family: Option<String>,
    /// Ids of build configurations; idle servers run the first.
    pub build_configurations: Vec<u64>,
    /// Where.
    pub regions: Vec<RegionCreate>,
    /// Seconds after which an allocation ends; 0: never. Left out: an hour.
    #[serde(rename = "allocationTTL", default, skip_serializing_if = "Option::is_none")]
    pub allocation_ttl: Option<u64>,
    /// What they count from; `idle` where it is left out.
    #[serde(rename = "allocationTTLReading", default, skip_serializing_if = "Option::is_none")]
    pub allocation_ttl_reading: Option<TtlReading>,
    /// ALLOCATION or RESERVATION; the first where it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_type: Option<String>,
    /// Only true: the stop signal comes before SIGKILL, as each build configuration's stop ladder says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graceful: Option<bool>,
    /// When its machines go. Left out: as in a file that does not say.
    #[serde(flatten)]
    pub machines: MachineTimesAsked,
    /// How many servers its machines take. Left out: as its build configurations need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_settings: Option<Vec<UsageItem>>,
}

/// What a fleet shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetUpdate {
    /// Its name, which stays.
    pub name: String,
    /// Ids of build configurations.
    pub build_configurations: Vec<u64>,
    /// Only true: the stop signal comes before SIGKILL, as each build configuration's stop ladder says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graceful: Option<bool>,
    /// Seconds after which an allocation ends; 0: never. Left out: as it is.
    #[serde(rename = "allocationTTL", default, skip_serializing_if = "Option::is_none")]
    pub allocation_ttl: Option<u64>,
    /// What they count from; left out: as it is.
    #[serde(rename = "allocationTTLReading", default, skip_serializing_if = "Option::is_none")]
    pub allocation_ttl_reading: Option<TtlReading>,
    /// When its machines go. Left out: as they do.
    #[serde(flatten)]
    pub machines: MachineTimesAsked,
    /// How many servers its machines take. Left out: as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_settings: Option<Vec<UsageItem>>,
}

/// What a region of a fleet shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegionUpdate {
    /// Whether it takes allocations.
    pub scaling_enabled: bool,
    /// Unallocated servers to keep.
    pub min_available_servers: u32,
    /// The most servers that may be allocated at once.
    pub max_servers: u32,
    /// When its machines go. Left out: as they do. Of a drained one the fleet alone decides.
    #[serde(flatten)]
    pub machines: MachineTimesAsked,
}

/// A region that fleets can be in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegionTemplate {
    /// Its id.
    #[serde(rename = "regionID")]
    pub region_id: RegionId,
    /// Its name.
    pub name: String,
}

impl FleetAnswer {
    /// A fleet, with the names of its builds, the ids of its regions' presences and how these stand, and the ids of its usage
    /// settings.
    #[must_use]
    pub fn of(
        spec: &FleetSpec,
        build_name: impl Fn(u64) -> String,
        presence: impl Fn(&RegionSpec) -> (Uuid, FleetStatus),
        usage_id: impl Fn(usize) -> Uuid,
    ) -> Self {
        let times = MachineTimes::of(spec);
        let regions: Vec<_> = spec.regions.iter().map(|region| (region, presence(region))).collect();
        let status = regions.iter().map(|(_, (_, status))| *status).max().unwrap_or(FleetStatus::Offline);
        let (allocation_ttl, allocation_ttl_reading) = ttl(spec.hosting.allocation_ttl);
        let configuration = |it: &mainstay_core::slot::Spec| FleetConfiguration {
            id: it.configuration.id.number(),
            name: it.name.to_string(),
            build_id: it.build.number(),
            build_name: build_name(it.build.number()),
        };
        Self {
            id: spec.id,
            name: spec.name.to_string(),
            os_id: OS_ID,
            os_name: OS_NAME.to_owned(),
            os_family: OS_FAMILY.to_owned(),
            status: status.word().to_owned(),
            build_configurations: spec.configurations.iter().map(configuration).collect(),
            fleet_regions: regions
                .into_iter()
                .map(|(region, (presence, status))| {
                    FleetRegionAnswer::of(region, presence, status, times.in_region(region))
                })
                .collect(),
            allocation_type: allocation_type(spec).to_owned(),
            allocation_ttl,
            allocation_ttl_reading,
            graceful: true,
            machines: times,
            usage_settings: spec
                .hosting
                .usage
                .iter()
                .enumerate()
                .map(|(at, setting)| UsageItem::of(setting, usage_id(at)))
                .collect(),
        }
    }
}

/// When machines go, in seconds; 0: never.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineTimes {
    /// After how many idle ones are given back.
    #[serde(rename = "deleteTTL")]
    pub delete: u64,
    /// After how many the servers of an idle one are stopped.
    #[serde(rename = "shutdownTTL")]
    pub shutdown: u64,
    /// After how many an empty one that an operator drained is given back, in the place of `deleteTTL`.
    #[serde(rename = "disabledDeleteTTL")]
    pub disabled: u64,
}

/// What a call says of [`MachineTimes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineTimesAsked {
    /// 0, with a `shutdownTTL` of 0: never.
    #[serde(rename = "deleteTTL", default, skip_serializing_if = "Option::is_none")]
    pub delete: Option<u64>,
    /// 0: never.
    #[serde(rename = "shutdownTTL", default, skip_serializing_if = "Option::is_none")]
    pub shutdown: Option<u64>,
    /// 0: a drained machine goes by `deleteTTL` too.
    #[serde(rename = "disabledDeleteTTL", default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<u64>,
}

impl MachineTimes {
    /// A fleet's.
    #[must_use]
    pub fn of(spec: &FleetSpec) -> Self {
        let ttl = spec.hosting.machines.ttl;
        Self {
            delete: seconds(ttl.delete()),
            shutdown: seconds(ttl.shutdown()),
            disabled: seconds(spec.hosting.disabled_delete),
        }
    }
}

impl MachineTimes {
    /// Those of a region: its own, where it has such.
    #[must_use]
    pub fn in_region(self, region: &RegionSpec) -> Self {
        match region.ttl {
            None => self,
            Some(ttl) => Self { delete: seconds(ttl.delete()), shutdown: seconds(ttl.shutdown()), ..self },
        }
    }
}

/// 0 is never.
fn seconds(time: Option<Duration>) -> u64 {
    time.map_or(0, |time| time.as_secs())
}

impl FleetRegionAnswer {
    /// A region of a fleet, with the times that its machines go by.
    #[must_use]
    pub fn of(region: &RegionSpec, presence: Uuid, status: FleetStatus, times: MachineTimes) -> Self {
        Self {
            id: presence,
            region_id: region.id,
            region_name: region.name.to_string(),
            scaling_enabled: matches!(region.opening, RegionOpening::Online),
            status: status.word().to_owned(),
            min_available_servers: region.min_available,
            max_servers: region.max_servers,
            machines: times,
        }
    }
}

impl FleetItem {
    /// A fleet in a list.
    #[must_use]
    pub fn of(
        spec: &FleetSpec,
        status: FleetStatus,
        states: ServerStates,
        total: u32,
        presence: impl Fn(&RegionSpec) -> Uuid,
    ) -> Self {
        let metal = ServerBreakdown { status: states, total };
        Self {
            id: spec.id,
            name: spec.name.to_string(),
            os_id: OS_ID,
            os_name: OS_NAME.to_owned(),
            os_family: OS_FAMILY.to_owned(),
            status: status.word().to_owned(),
            build_configurations: spec
                .configurations
                .iter()
                .map(|it| FleetItemConfiguration {
                    id: it.configuration.id.number(),
                    name: it.name.to_string(),
                })
                .collect(),
            regions: spec
                .regions
                .iter()
                .map(|region| FleetItemRegion {
                    id: presence(region),
                    region_id: region.id,
                    region_name: region.name.to_string(),
                })
                .collect(),
            allocation_type: allocation_type(spec).to_owned(),
            graceful: true,
            servers: ServerBreakdowns { all: metal, cloud: ServerBreakdown::default(), metal },
        }
    }
}

const fn allocation_type(spec: &FleetSpec) -> &'static str {
    match spec.hosting.claimed_by {
        ClaimedBy::Allocations => "ALLOCATION",
        ClaimedBy::Reservations => "RESERVATION",
    }
}

const fn ttl(ttl: AllocationTtl) -> (Option<u64>, Option<TtlReading>) {
    match ttl {
        AllocationTtl::Off => (None, None),
        AllocationTtl::Idle(ttl) => (Some(ttl.as_secs()), Some(TtlReading::Idle)),
        AllocationTtl::Age(ttl) => (Some(ttl.as_secs()), Some(TtlReading::Age)),
    }
}
