//! What an agent is told when it starts.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;

use mainstay_core::MachineKey;
use mainstay_core::density::Host;

use crate::pass::Pass;

/// What an agent is told when it starts.
#[derive(Debug, Clone)]
pub struct Config {
    /// The agent's own directory: journal, roster, slots. One agent at a time.
    pub data_dir: PathBuf,
    /// What games must not see: the whole data directory, in which the agent's own lies.
    pub private_dir: PathBuf,
    /// Where the control plane is.
    pub plane: Plane,
    /// The program that holds game servers.
    pub holder: HolderProgram,
    /// The machines it answers for, each for one fleet region.
    pub machines: Vec<MachineOffer>,
    /// Where slots' ports come from.
    pub ports: PortRange,
    /// How players reach this host.
    pub addresses: Addresses,
    /// What this host has for servers.
    pub host: Host,
    /// Where what servers run comes from.
    pub builds: BuildSource,
    /// What may take room on this machine's disk.
    pub disk: DiskLimits,
    /// `localProxyUrl` of `server.json`: where games reach the local daemon.
    pub local_proxy_url: String,
}

/// Where what servers run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildSource {
    /// The folders of the specifications are on this machine: it shares the control plane's disk.
    InPlace,
    /// The control plane gives them, by their hashes.
    Plane,
}

/// What may take room on a machine's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskLimits {
    /// How many bytes fetched builds, core dumps, evidence and logs may take together; `None` for half of the disk that the
    /// agent's directory is on: the other half is the system's and the games' own.
    pub budget: Option<u64>,
    /// How many bytes of the disk stay free whatever the budget says.
    pub free_min: u64,
}

impl Default for DiskLimits {
    /// Half of the disk, of which 1 GiB stays free: the journal's reserve and a minute of a game's loudest log fit into it.
    fn default() -> Self {
        Self { budget: None, free_min: 1 << 30 }
    }
}

/// Where the control plane is.
#[derive(Debug, Clone)]
pub struct Plane {
    /// The URI of its agents' stream: `https://HOST:7421`, or `http://127.0.0.1:7421` on its own host.
    pub uri: String,
    /// How this agent shows who it is.
    pub pass: Pass,
}

/// The program that holds game servers: the same executable as the agent's, branching on its first words.
#[derive(Debug, Clone)]
pub struct HolderProgram {
    /// Its absolute path.
    pub executable: PathBuf,
    /// Its arguments before the launch file.
    pub words: Vec<String>,
}

/// A machine that this host offers to a fleet region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineOffer {
    /// The fleet's name or id.
    pub fleet: String,
    /// The region's name or id.
    pub region: String,
    /// The machine's name, for people.
    pub name: String,
    /// How many slots it has.
    pub slots: SlotCount,
    /// What it calls itself, where its credential says so; else one is made up and kept.
    pub key: Option<MachineKey>,
}

/// How many slots a machine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotCount {
    /// As its operator says.
    Stated(usize),
    /// As its fleet's usage settings and build configurations leave room for on its host, which the control plane says; so many
    /// to begin with. Slots that are there stay.
    AsFleet(usize),
}

impl SlotCount {
    /// At the start.
    pub(crate) const fn first(self) -> usize {
        match self {
            Self::Stated(slots) | Self::AsFleet(slots) => slots,
        }
    }
}

/// Ports, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortRange {
    /// The lowest.
    pub first: u16,
    /// The highest.
    pub last: u16,
}

/// How players reach this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Addresses {
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
}
