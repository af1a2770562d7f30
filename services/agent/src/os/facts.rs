//! Everything a game server may be told about itself, once, for `server.json` and the launch parameters alike.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use mainstay_core::{AllocationId, FleetId, MachineId, RegionId, ServerId};

/// What a game server is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GameFacts {
    /// The allocation it serves; none for an idle server.
    pub allocation: Option<AllocationId>,
    /// Its fleet.
    pub fleet: FleetId,
    /// Its machine.
    pub machine: MachineId,
    /// Itself.
    pub server: ServerId,
    /// Its region.
    pub region: RegionId,
    /// Its region's name.
    pub region_name: String,
    /// Where players reach it.
    pub ipv4: Option<Ipv4Addr>,
    /// Where players reach it by IPv6.
    pub ipv6: Option<Ipv6Addr>,
    /// Game port.
    pub port: u16,
    /// Query port.
    pub query_port: u16,
    /// Query protocol, `none` for none.
    pub query_type: String,
    /// Where the local daemon answers, as a URL.
    pub local_proxy_url: String,
    /// The slot's home, where `server.json` lies.
    pub config_dir: PathBuf,
    /// Where the game writes its logs.
    pub log_dir: PathBuf,
    /// What the game may fill; its own.
    pub work_dir: PathBuf,
    /// The build's files.
    pub file_dir: PathBuf,
    /// The program.
    pub executable: PathBuf,
    /// Custom configuration variables. A name of the standard wins over one of these.
    pub custom: Vec<(String, String)>,
}
