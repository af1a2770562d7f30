//! Fleets and their regions (reference 3.4).

use mainstay_core::{FleetId, RegionId};
use mainstay_fleet::{AllocationTtl, ClaimedBy, FleetSpec, FleetStatus, RegionOpening, RegionSpec};
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
    /// With an allocation.
    pub allocated: u32,
    /// Not running.
    pub available: u32,
    /// The same, as the C# model spells it.
    pub avalaible: u32,
    /// Running, without an allocation.
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
}

/// What a fleet shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetUpdate {
    /// Its name, which stays.
    pub name: String,
    /// Ids of build configurations.
    pub build_configurations: Vec<u64>,
    /// Seconds after which an allocation ends; 0: never. Left out: as it is.
    #[serde(rename = "allocationTTL", default, skip_serializing_if = "Option::is_none")]
    pub allocation_ttl: Option<u64>,
    /// What they count from; left out: as it is.
    #[serde(rename = "allocationTTLReading", default, skip_serializing_if = "Option::is_none")]
    pub allocation_ttl_reading: Option<TtlReading>,
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
    /// A fleet, with the names of its builds, the ids of its regions' presences, and how these stand.
    #[must_use]
    pub fn of(
        spec: &FleetSpec,
        build_name: impl Fn(u64) -> String,
        presence: impl Fn(&RegionSpec) -> (Uuid, FleetStatus),
    ) -> Self {
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
                .map(|(region, (presence, status))| FleetRegionAnswer::of(region, presence, status))
                .collect(),
            allocation_type: allocation_type(spec).to_owned(),
            allocation_ttl,
            allocation_ttl_reading,
            graceful: true,
        }
    }
}

impl FleetRegionAnswer {
    /// A region of a fleet.
    #[must_use]
    pub fn of(region: &RegionSpec, presence: Uuid, status: FleetStatus) -> Self {
        Self {
            id: presence,
            region_id: region.id,
            region_name: region.name.to_string(),
            scaling_enabled: matches!(region.opening, RegionOpening::Online),
            status: status.word().to_owned(),
            min_available_servers: region.min_available,
            max_servers: region.max_servers,
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
