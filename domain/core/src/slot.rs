//! What a control plane and an agent say to each other about one slot.
//!
//! The plane *orders*: "this is what I want of the slot, and it is my n-th wish" ([`Order`]). The agent *reports*: "this
//! is how the slot stands, and your n-th wish is the newest I have obeyed" ([`Status`]). Both are levels, not pulses: a
//! lost, doubled or late one does no harm, and after a reconnect both sides simply say everything again. The fence
//! between an old wish and a new one is the [`Generation`].

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use crate::{AllocationId, BuildConfigurationId, BuildId, Generation, ServerId};

mod supervision;

pub use supervision::{Check, Checks, Fault, Heard, Incident, Reading, Recovery, Scene};

/// What the control plane wants of one slot. Of two orders the one with the higher generation counts; the same again
/// changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The slot.
    pub server: ServerId,
    /// Which wish this is.
    pub generation: Generation,
    /// What the slot runs, when it runs.
    pub configuration: ConfigurationRef,
    /// The session the slot is for; `None` for an idle server.
    pub allocation: Option<Session>,
    /// What is wanted of the process.
    pub intent: Intent,
}

/// A session a slot has been allocated to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The caller's id, written to `server.json` as `allocatedUUID`.
    pub allocation: AllocationId,
    /// The caller's payload, at most 30 KB, handed to the game on request.
    pub payload: Option<Arc<str>>,
}

/// One revision of one build configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigurationRef {
    /// Which build configuration.
    pub id: BuildConfigurationId,
    /// Which revision of it: raised by each change of its values.
    pub revision: u32,
}

/// What is wanted of a slot's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Intent {
    /// No process: a running one is stopped by the stop ladder.
    Stop,
    /// A process of the order's configuration: a stopped slot is started, a process of another configuration replaced.
    Run,
    /// As [`Intent::Run`], but a process started for an earlier order is replaced even if its configuration is right.
    Renew,
    /// The process stays as it is, running or not; only its allocation ends (deallocation does not stop a process).
    Leave,
}

/// How a slot stands, as its agent sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The slot.
    pub server: ServerId,
    /// The newest order the agent has obeyed, durably.
    pub generation: Generation,
    /// The configuration of the running process; of the last one where none runs; `None` before the first.
    pub configuration: Option<ConfigurationRef>,
    /// The newest run of its process, as its machine counts starts (see [`Incident::run`]); 0 before the first, and from an
    /// agent of an older version, which does not say.
    pub run: u64,
    /// The life of the process, judged against that order.
    pub phase: Phase,
}

/// The life of a slot's process, as an agent reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    /// No process, and none is coming for this order.
    Stopped(Stopped),
    /// On its way: being started, replaced, restarted after a crash, or started and not yet answering.
    Starting {
        /// The game's own process, where one runs: the new one, or the old one that it replaces.
        pid: Option<u32>,
    },
    /// Runs the ordered configuration, has the ordered allocation in its `server.json`, and answers its query where it
    /// has one.
    Online {
        /// The game's own process.
        pid: u32,
    },
    /// On its way down: an order said so, or it misbehaves.
    Stopping {
        /// The game's own process, until it is gone.
        pid: Option<u32>,
    },
    /// Crashed more often than the restart policy allows; stays down until a newer order starts it.
    BackedOff {
        /// Crashes within the policy's window.
        crashes: u32,
        /// How the last of them ended, in words.
        cause: Arc<str>,
    },
    /// Fell silent to its query under an allocation, and stays down until a newer order starts it (seed 001, allocation
    /// pre-recovery).
    PreRecovery {
        /// Which checks it failed, in words.
        cause: Arc<str>,
    },
    /// The machine lost it: it rebooted, or the process's holder died. Nobody knows how the process ended.
    Lost,
}

/// Why a slot has no process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stopped {
    /// It never had one, or has not since an order asked for it.
    Idle,
    /// An order asked for it.
    Ordered,
    /// It exited with code 0 by itself: the session is over (seed 002, intentional exits).
    Completed,
}

/// How a process ended, as the kernel told its holder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Whether it was the kernel's answer to the slot's memory cap.
        killed_by: Killer,
    },
    /// It could not be started at all: the reason in words, with the system's error.
    NotStarted(Arc<str>),
}

/// Who sent the signal that ended a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Killer {
    /// The process itself, or a stranger.
    Unknown,
    /// The kernel, for memory above the slot's cap.
    OutOfMemory,
}

/// A build configuration, as an agent needs it to run, watch and stop a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Which configuration and which revision this is.
    pub configuration: ConfigurationRef,
    /// Its name.
    pub name: Arc<str>,
    /// The build it starts.
    pub build: BuildId,
    /// What is started.
    pub launch: Launch,
    /// How it is asked whether it lives; `None`: never.
    pub query: Option<Query>,
    /// What the checks of seed 001 compare with.
    pub limits: Limits,
    /// Hard caps, opt-in.
    pub caps: Caps,
    /// How it is stopped.
    pub stop: StopPolicy,
    /// What follows a crash.
    pub restart: RestartPolicy,
    /// When it counts as misbehaving.
    pub checks: Checks,
    /// What follows silence under an allocation.
    pub recovery: Recovery,
    /// Whether players may come before the game has said so. For callers of allocations: agents are not told, since no process
    /// is run, watched or stopped by it.
    pub ready_signal: ReadySignal,
}

/// Whether an allocation waits for its game's own word (`readiness` of a build configuration, reference 1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ReadySignal {
    /// Players may come once the server plays.
    #[default]
    NotAwaited,
    /// They may come once it has called ready besides.
    Awaited,
}

/// What is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// The build's folder on the machine; or a container image, by where the control plane finds it: see [`Launch::image`].
    pub folder: String,
    /// The executable, relative to the folder.
    pub binary: String,
    /// Its arguments, with `$$variables$$`.
    pub command_line: String,
    /// Custom configuration variables: for `server.json` and `$$name$$`.
    pub variables: Vec<(String, String)>,
    /// The declared environment; nothing else is passed on.
    pub environment: Vec<(String, String)>,
}

impl Launch {
    /// How an image is named: by its transport, in the words of skopeo(1), `oci:FOLDER[:NAME]`, `oci-archive:FILE[:NAME]` and
    /// `docker://REFERENCE`. No folder is: those are absolute.
    pub const IMAGE_TRANSPORTS: [&str; 3] = ["oci:", "oci-archive:", "docker://"];

    /// The container image that is started, where it is one and no folder.
    #[must_use]
    pub fn image(&self) -> Option<&str> {
        Self::is_image(&self.folder).then_some(self.folder.as_str())
    }

    /// Whether a build's place is an image and no folder.
    #[must_use]
    pub fn is_image(place: &str) -> bool {
        Self::IMAGE_TRANSPORTS.iter().any(|transport| place.starts_with(transport))
    }
}

/// How a server is asked whether it lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    /// The protocol in the form that `adapters/query` reads and `$$query_type$$` shows.
    pub protocol: String,
    /// Which of the slot's ports is asked.
    pub port: QueryPort,
    /// How long one answer may take.
    pub timeout: Duration,
    /// How long a started process may take to its first answer before it counts as crashed.
    pub start_grace: Duration,
}

/// Which of a slot's two ports answers queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueryPort {
    /// The game port.
    Game,
    /// The query port.
    Query,
}

/// A slot's share of its machine: what checks compare with, never a throttle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Limits {
    /// CPU in thousandths of a core.
    pub cpu_millis: u32,
    /// Memory in MiB.
    pub memory_mib: u32,
}

/// Hard caps, enforced by the kernel where it can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Caps {
    /// CPU quota in thousandths of a core.
    pub cpu_millis: Option<u32>,
    /// Memory in MiB; above the limit by more than 200 MB, which the checks tolerate.
    pub memory_mib: Option<u32>,
}

/// The stop ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StopPolicy {
    /// The signal that asks (SIGTERM is 15).
    pub signal: i32,
    /// How long after it SIGKILL follows.
    pub kill_after: Duration,
}

impl Default for StopPolicy {
    /// SIGTERM, then SIGKILL after 20 s (Unity's server-signals page).
    fn default() -> Self {
        Self { signal: 15, kill_after: Duration::from_secs(20) }
    }
}

/// Crash back-off (seed 001).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RestartPolicy {
    /// How many crashes within the window are answered by a restart.
    pub attempts: u32,
    /// The window.
    pub within: Duration,
}

impl Default for RestartPolicy {
    /// "By default, Multiplay Hosting only tries to restart the build executable process once", within 30 minutes.
    fn default() -> Self {
        Self { attempts: 1, within: Duration::from_secs(30 * 60) }
    }
}
