//! Servers, machines, actions and series (reference 3.7 to 3.9).

use jiff::Timestamp as Instant;
use mainstay_core::FleetId;
use mainstay_core::density::Host;
use serde::{Deserialize, Serialize};

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerItem {
    /// Its id.
    pub id: u64,
    /// Its machine.
    #[serde(rename = "machineID")]
    pub machine_id: u64,
    /// Its machine's name.
    pub machine_name: String,
    /// What it runs when it runs.
    #[serde(rename = "buildConfigurationID")]
    pub build_configuration_id: u64,
    /// Its name.
    pub build_configuration_name: String,
    /// Its build's name.
    pub build_name: String,
    /// Its fleet.
    #[serde(rename = "fleetID")]
    pub fleet_id: FleetId,
    /// Its fleet's name.
    pub fleet_name: String,
    /// Its region, as a number.
    #[serde(rename = "locationID")]
    pub location_id: u64,
    /// Its region's name.
    pub location_name: String,
    /// As players reach it.
    pub ip: String,
    /// Where players connect.
    pub port: u16,
    /// ALLOCATED, RESERVED, AVAILABLE, ONLINE, READY or HELD.
    pub status: String,
    /// MHz, of its machine's own.
    pub cpu_limit: u64,
    /// MiB.
    pub memory_limit: u64,
    /// METAL: the studio's own.
    pub hardware_type: String,
    /// What of its machine is known.
    pub machine_spec: MachineSpec,
    /// Whether it is gone; what is listed never is.
    pub deleted: bool,
    /// Until when it is held, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_expires_at: Option<u64>,
}

/// What of a machine is known, as its agent says: 0 and empty mean unknown, and the dates of a contract, which stock clients
/// require, are those of the epoch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineSpec {
    /// Cores.
    pub cpu_cores: u64,
    /// The processor, in short.
    pub cpu_shortname: String,
    /// The processor.
    pub cpu_name: String,
    /// Its kind.
    pub cpu_type: String,
    /// MHz.
    pub cpu_speed: u64,
    /// MiB.
    pub memory: u64,
    /// Nobody here rents it.
    pub contract_start_date: Instant,
    /// Nobody here rents it.
    pub contract_end_date: Instant,
}

impl MachineSpec {
    /// What a machine's agent says of its host.
    #[must_use]
    pub fn of(host: Option<&Host>) -> Self {
        let processor = || host.map(|host| host.processor.to_string()).unwrap_or_default();
        let size = host.map(|host| host.size);
        Self {
            cpu_cores: size.map_or(0, |size| size.cores.into()),
            cpu_shortname: processor(),
            cpu_name: processor(),
            cpu_type: String::new(),
            cpu_speed: size.and_then(|size| size.speed_mhz).map_or(0, Into::into),
            memory: size.map_or(0, |size| size.memory_mib),
            contract_start_date: Instant::UNIX_EPOCH,
            contract_end_date: Instant::UNIX_EPOCH,
        }
    }
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineItem {
    /// Its id.
    pub id: u64,
    /// As players reach it.
    pub ip: String,
    /// Its name.
    pub name: String,
    /// Its region, as a number.
    pub location_id: u64,
    /// Its region's name.
    pub location_name: String,
    /// Its fleet.
    pub fleet_id: FleetId,
    /// Its fleet's name.
    pub fleet_name: String,
    /// METAL.
    pub hardware_type: String,
    /// LINUX.
    pub os_family: String,
    /// Linux.
    pub os_name: String,
    /// How its servers stand.
    pub servers_states: MachineServers,
    /// What of it is known.
    pub spec: MachineSpec,
    /// Where it is in its life: AWAITING_SETUP to SHUTTING_DOWN.
    pub status: String,
    /// Whether it is gone.
    pub deleted: bool,
    /// Whether an operator drains or removes it: it takes nothing.
    pub disabled: bool,
}

/// How a machine's servers stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MachineServers {
    /// With an allocation.
    pub allocated: u32,
    /// Not running.
    pub available: u32,
    /// Held.
    pub held: u32,
    /// Running, without an allocation.
    pub online: u32,
    /// Reserved.
    pub reserved: u32,
}

/// A region, as a location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Its number.
    pub id: u64,
    /// Its name.
    pub name: String,
}

/// What shall be done to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionRequest {
    /// START, STOP, RESTART, SHUTDOWN, ADD or DELETE; ours: CONFIGURE.
    pub action: String,
    /// For CONFIGURE: what becomes the server's active build configuration.
    #[serde(rename = "buildConfigurationID", default, skip_serializing_if = "Option::is_none")]
    pub build_configuration_id: Option<u64>,
}

/// It is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionSuccess {
    /// True.
    pub success: bool,
}

/// Something that was done to a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionLog {
    /// Its number in the history.
    pub id: i64,
    /// The server.
    #[serde(rename = "serverID")]
    pub server_id: u64,
    /// Which order, or the number in the history.
    #[serde(rename = "actionID")]
    pub action_id: u64,
    /// Its machine.
    #[serde(rename = "machineID")]
    pub machine_id: u64,
    /// What.
    pub message: String,
    /// What more there is to say, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<String>,
    /// When.
    pub date: Instant,
}

/// Values over time: milliseconds since 1970, and the value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimeSeries {
    /// What.
    pub name: String,
    /// Oldest first.
    pub data: Vec<(u64, f64)>,
}
