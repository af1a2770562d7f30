//! The stream between an agent and the control plane: see `proto/agent.proto` for its picture.
//!
//! [`proto`] is what travels; [`Hello`], [`Welcome`], [`Frame`] and the domain's own slot types are what both sides work
//! with. `From` writes, `TryFrom` reads and says what is wrong.

mod ask;
mod decode;
mod encode;
mod installs;
mod looks;
mod malformed;
mod supervision;
#[cfg(test)]
mod tests;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use mainstay_core::density::Host;
use mainstay_core::slot::{Incident, Order, Reading, Spec, Status};
use mainstay_core::{FleetId, MachineId, MachineKey, RegionId, ServerId};
use mainstay_fleet::JoinedSlot;
use mainstay_fleet::Ports;

pub use ask::{
    ASKS, ASKS_WITH_BACKFILL, ASKS_WITH_TOKENS, Answer, Ask, DETAIL_BYTES_MAX, Outcome, Refusal, Wish,
};
pub use installs::{DiskUse, Fill, INSTALLS, INSTALLS_PER_MACHINE_MAX, Install, InstallStage, Installs};
pub use looks::{
    LOOK_BYTES_MAX, LOOK_FILES_MAX, LOOK_LINES_MAX, LOOKS, Look, LookFor, Looked, Seen, SeenFile,
    TAIL_BYTES_MAX,
};
pub use malformed::Malformed;

/// What travels, generated from `proto/agent.proto`.
#[expect(missing_docs, reason = "generated; every message is described in agent.proto")]
#[expect(clippy::allow_attributes, reason = "tonic writes this module")]
pub mod proto {
    tonic::include_proto!("mainstay.agent.v1");
}

/// The protocol this program speaks.
pub const PROTOCOL: u32 = 1;
/// The most machines one agent answers for: `up` makes one for each fleet region, and a fleet has a handful.
pub const MACHINES_PER_AGENT_MAX: usize = 256;
/// The longest name of a machine, a fleet or a region, in bytes.
pub const NAME_BYTES_MAX: usize = 256;
/// The largest message either side takes: 4,096 orders with a payload of 30 KB each would be 120 MiB, so frames are split
/// below [`FRAME_ORDERS_BYTES_MAX`]; what is left is a full resynchronisation (4,096 statuses of under 300 bytes) and the
/// specs of a fleet.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Payload bytes after which a message of frames is ended and the next begun.
pub const FRAME_ORDERS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest cause of a back-off, in bytes: a sentence.
pub const CAUSE_BYTES_MAX: usize = 1024;
/// The longest name of a processor, in bytes: CPUID gives 48.
pub const PROCESSOR_BYTES_MAX: usize = 128;
/// The longest path of a core dump, in bytes: the kernel's own limit.
pub const PATH_BYTES_MAX: usize = 4096;

/// How an agent introduces itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Hello {
    /// Its program's version, for people.
    pub agent_version: String,
    /// The host's boot id: another one means that every process is gone.
    pub boot_id: String,
    /// The join token.
    pub token: String,
    /// The machines it answers for.
    pub machines: Vec<JoiningMachine>,
    /// The version of [`Look`] that the agent takes; 0 where it takes none.
    pub looks: u32,
    /// What its machines run on; `None` where it does not know.
    pub host: Option<Host>,
}

impl std::fmt::Debug for Hello {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hello")
            .field("agent_version", &self.agent_version)
            .field("boot_id", &self.boot_id)
            .field("machines", &self.machines)
            .finish_non_exhaustive()
    }
}

/// A machine that wants to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoiningMachine {
    /// What it calls itself, for ever.
    pub key: MachineKey,
    /// Its fleet's name or id.
    pub fleet: String,
    /// Its region's name or id.
    pub region: String,
    /// Its name.
    pub name: Arc<str>,
    /// Its IPv4 address, as players reach it.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address, as players reach it.
    pub ipv6: Option<Ipv6Addr>,
    /// Its slots' ports.
    pub slots: Vec<Ports>,
}

/// The plane's answer to [`Hello`]; machines in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The machines, in the order of the hello.
    pub machines: Vec<WelcomedMachine>,
    /// The version of [`Ask`] that the plane takes; 0 where it takes none.
    pub asks: u32,
    /// The version of [`Installs`] that the plane takes; 0 where it takes none.
    pub installs: u32,
}

/// A machine that has joined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WelcomedMachine {
    /// Its id.
    pub machine: MachineId,
    /// Its fleet's id.
    pub fleet_id: FleetId,
    /// Its fleet's name.
    pub fleet_name: String,
    /// Its region's id.
    pub region_id: RegionId,
    /// Its region's name.
    pub region_name: String,
    /// Its servers, in the order of its slots.
    pub slots: Vec<JoinedSlot>,
}

/// How slots of one machine stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statuses {
    /// Whose.
    pub machine: MachineId,
    /// How they stand.
    pub statuses: Vec<Status>,
}

/// Processes of one machine that ended as nobody wished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incidents {
    /// Whose.
    pub machine: MachineId,
    /// What is known of them.
    pub incidents: Vec<Incident>,
}

/// What was last read of some running processes of one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Readings {
    /// Whose.
    pub machine: MachineId,
    /// Of which slots, what.
    pub readings: Vec<(ServerId, Reading)>,
}

/// What an agent says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Up {
    /// Who it is; first, and once.
    Hello(Hello),
    /// How every slot of a machine stands; makes the stream the machine's current one.
    Resync(Statuses),
    /// How some slots of a machine stand.
    Report(Statuses),
    /// What ended as nobody wished; on every new stream again.
    Incidents(Incidents),
    /// What was read of running processes.
    Readings(Readings),
    /// What a game wants of the plane.
    Ask(Ask),
    /// How far a machine has come with the builds it needs.
    Installs(Installs),
    /// What was found at a server's files.
    Looked(Looked),
}

/// What the plane says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Down {
    /// The answer to a hello; first, and once.
    Welcome(Welcome),
    /// What is wanted, at most one frame a machine.
    Frames(Vec<Frame>),
    /// What became of an ask; durable.
    Answer(Answer),
    /// A question about a server's files.
    Look(Look),
}

/// What is wanted of one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Which.
    pub machine: MachineId,
    /// The revision of the fleet's configuration and every spec that orders may name; `None` where nothing changed.
    pub specs: Option<(u64, Vec<Spec>)>,
    /// How many slots the fleet has room for on the agent's host: said with `specs`, where the hello said what that is.
    pub slots: Option<u32>,
    /// Orders, any of which may be older than what the agent has obeyed.
    pub orders: Vec<Order>,
}
