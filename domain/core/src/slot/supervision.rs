//! The words of seed 001, game server events: what is checked, what is read, and what is told of a process that ended as
//! nobody wished.

use alloc::string::String;
use alloc::sync::Arc;
use core::time::Duration;

use super::{ConfigurationRef, Exit};
use crate::{AllocationId, ServerId, Timestamp};

/// The checks of a running process, and when it counts as misbehaving. The CPU and memory checks compare with
/// [`super::Limits`]; the query check is made only where a query protocol is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Checks {
    /// The time between two checks of one process.
    pub every: Duration,
    /// How many failures of the same check within the window make it misbehave; at most [`crate::STRIKES_MAX`].
    pub failures: u32,
    /// The window.
    pub within: Duration,
    /// How far CPU use may lie above the limit, in percent of the limit.
    pub cpu_tolerance_percent: u32,
    /// How far memory may lie above the limit, in bytes.
    pub memory_tolerance_bytes: u64,
    /// The signal that a misbehaving process gets (SIGSEGV is 11).
    pub signal: i32,
}

impl Default for Checks {
    /// Seed 001: "checks that run every minute", "a 10% tolerance", "a 200 megabyte tolerance", "the same check three
    /// times within a 30-minute period", "sends the process a SIGSEGV signal".
    fn default() -> Self {
        Self {
            every: Duration::from_secs(60),
            failures: 3,
            within: Duration::from_secs(30 * 60),
            cpu_tolerance_percent: 10,
            memory_tolerance_bytes: 200_000_000,
            signal: 11,
        }
    }
}

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// "Within the expected CPU usage limits".
    Cpu,
    /// "Within the expected memory usage limits".
    Memory,
    /// "Responding to queries".
    Query,
}

impl Check {
    /// All of them, in the seed's order.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::Query];

    /// Its word in reports, metrics and stored evidence.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Query => "query",
        }
    }
}

/// What follows when a server that has an allocation no longer answers its query. A process that exits by itself, or that
/// used too much CPU or memory, is restarted with the same allocation id whatever this says (seed 001 states both).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Recovery {
    /// "The game server remains stopped until it receives a new allocation."
    #[default]
    PreRecovery,
    /// It is restarted with the same allocation id, within the crash back-off.
    Restart,
}

/// What was last read of a running process. Soft: never stored, and gone with the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// CPU since the reading before, in thousandths of a core; `None` at the first of a process, or where it could not be
    /// read.
    pub cpu_millis: Option<u32>,
    /// Memory that only this slot needs, in bytes; `None` where it could not be read.
    pub memory_bytes: Option<u64>,
    /// What its query said.
    pub heard: Heard,
}

/// What a process's query said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Heard {
    /// It has no query protocol.
    Unasked,
    /// No answer in time.
    Silence,
    /// It answered.
    Answer {
        /// Players, where the protocol tells.
        players: Option<u32>,
        /// Players at most, where the protocol tells.
        players_max: Option<u32>,
    },
}

/// A process that ended as nobody wished: what is known of it, kept by the agent and told to the plane until heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Incident {
    /// The slot.
    pub server: ServerId,
    /// The start it ended, as its machine counts starts: of two incidents of a slot the one with the higher run is newer.
    pub run: u64,
    /// When it was noticed.
    pub at: Timestamp,
    /// What kind.
    pub fault: Fault,
    /// How, in words.
    pub cause: Arc<str>,
    /// How the process ended; `None` while a misbehaving one is being ended, or where nobody knows.
    pub exit: Option<Exit>,
    /// What it ran.
    pub configuration: ConfigurationRef,
    /// The session it was for.
    pub allocation: Option<AllocationId>,
    /// The last lines it wrote to its standard output and error, or else to the newest of its own logs; at most
    /// [`Scene::LAST_WORDS_BYTES_MAX`] bytes.
    pub last_words: Arc<str>,
    /// The core dump, where the host kept one: its path on the machine.
    pub core: Option<Arc<str>>,
}

impl Incident {
    /// The most incidents of one slot that its agent keeps. Back-off stops a slot after two crashes by default, and each
    /// is told within moments; this is what a plane may miss while it is away.
    pub const KEPT_MAX: usize = 4;
}

/// The kind of an [`Incident`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// "An unintentional termination of a build executable process".
    Crash,
    /// It failed a check too often and was ended for it.
    Misbehaviour(Check),
}

/// What is found where a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scene {
    /// As [`Incident::last_words`].
    pub last_words: Arc<str>,
    /// As [`Incident::core`].
    pub core: Option<Arc<str>>,
}

impl Scene {
    /// The most that is kept of a process's last words: five lines or so, enough to see a panic's message. The whole log
    /// stays on the machine.
    pub const LAST_WORDS_BYTES_MAX: usize = 512;

    /// Where nothing was found.
    #[must_use]
    pub fn empty() -> Self {
        Self { last_words: String::new().into(), core: None }
    }
}
