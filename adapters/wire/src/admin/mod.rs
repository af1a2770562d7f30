//! The shapes of Multiplay's admin API (reference multiplay.md sections 3.3 to 3.11): field names, capitals and all, as its
//! stock clients read and send them. `Option` is what they mark as not required; everything else is always there.

mod builds;
mod fleets;
mod logs;
mod servers;

use serde::{Deserialize, Serialize};

pub use builds::{
    BuildAnswer, BuildConfigurationAnswer, BuildConfigurationItem, BuildConfigurationRequest, BuildCreate,
    BuildFile, BuildFileRequest, BuildFiles, BuildInstall, BuildInstallFailure, BuildInstallRegion,
    BuildItem, BuildUpdate, Ccd, ConfigurationPair, Container, IMAGE_TO_COME, VersionRequest,
};
pub use fleets::{
    FleetAnswer, FleetConfiguration, FleetCreate, FleetItem, FleetItemConfiguration, FleetItemRegion,
    FleetRegionAnswer, FleetUpdate, MachineTimes, MachineTimesAsked, RegionCreate, RegionTemplate,
    RegionUpdate, ServerBreakdown, ServerBreakdowns, ServerStates, TtlReading, UsageItem,
};
pub use logs::{
    DownloadRequest, FileItem, FileLocation, FileOwner, Link, LogFile, LogFilters, LogFleet, LogHit,
    LogMetadata, LogSearch, LogSearchAnswer, LogSource, LogStatus, LogStatusRequest, LogUsage,
};
pub use servers::{
    ActionLog, ActionRequest, ActionSuccess, Location, MachineItem, MachineServers, MachineSpec, ServerItem,
    TimeSeries,
};

/// The one operating system: Multiplay's clients want an id for it.
pub const OS_ID: uuid::Uuid = uuid::Uuid::from_u128(0x6d61_696e_7374_6179_8000_0000_6c69_6e78);
/// Its family.
pub const OS_FAMILY: &str = "LINUX";
/// Its name.
pub const OS_NAME: &str = "Linux";

/// 409: what stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConflictBody {
    /// In a few words.
    pub title: String,
    /// 409.
    pub status: u16,
    /// Each thing that does.
    pub conflicts: Vec<Conflict>,
}

/// One thing that stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// Its id.
    pub resource_id: String,
    /// What it is.
    pub resource_type: String,
    /// How it does.
    pub conflict_type: ConflictType,
    /// In words, with the way out.
    pub reason: String,
}

/// How something stands in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ConflictType {
    /// It needs what would go.
    Dependent,
    /// What would be needs it, and it is not there.
    Dependency,
    /// It is in use.
    Active,
    /// It is not in use, and would have to be.
    Inactive,
}
