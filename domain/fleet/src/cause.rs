//! Why a server got its newest order: every start cause and stop cause of seed 002 that the plane decides. Those that
//! its agent decides (a crash and its restart, misbehaviour) are in what the agent says of the process.

/// Why a server got its newest order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Cause {
    /// It has had none, or got it before causes were kept.
    #[default]
    Unrecorded,
    /// "When a machine completes the provisioning process, and the start on provision setting is enabled."
    Provisioned,
    /// An allocation took it; what the slot had to do for it.
    Allocated(Fit),
    /// Its allocation was ended by its caller; the process runs on ("server becomes idle").
    Deallocated,
    /// Its allocation outlived the fleet's allocation TTL; the process runs on.
    TimedToLive,
    /// Its process exited with code 0 (with start on provision it "automatically restarts the server").
    Exited,
    /// Its session failed for good: backed off, or stopped until a new allocation.
    Failed,
    /// Its machine lost the process.
    Lost,
    /// With start on provision, it was found down through nobody's wish.
    FoundDown,
    /// An operator started it.
    StartedByHand,
    /// An operator stopped it.
    StoppedByHand,
    /// An operator restarted it.
    RestartedByHand,
    /// Its active build configuration was changed to another.
    ConfigurationChanged,
    /// A new version of its build or its build configuration reached it.
    RolledOut,
    /// Its agent remembered an order this plane's journal does not: the journal was restored from an older copy.
    Restored,
    /// Its machine idled past its TTL.
    Drained,
    /// Its machine drained or was emptied, and is needed again.
    Woken,
    /// Its machine was lost while it was claimed: what it played is over, and must stop before anything else begins.
    MachineLost,
    /// Its machine is back, and what it had played is stopped.
    Returned,
}

/// What a slot had to do to take an allocation (seed 002, "other situations in which a server starts").
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Nothing: the right process ran.
    Running,
    /// Nothing: the right process was starting.
    Starting,
    /// Start: it had no process.
    Stopped,
    /// Restart: "a server slot that's using the wrong build configuration" (also an older revision of the right one).
    OtherConfiguration,
    /// Restart: "a server slot that isn't running the correct build executable".
    OtherBuild,
    /// Restart: the caller asked for a fresh process.
    RestartAsked,
    /// Start: it had backed off, or been left down after misbehaving.
    KeptDown,
    /// Start, once its old process is gone.
    Stopping,
}

impl Cause {
    /// The word for it, in the API and the history.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Unrecorded => "unrecorded",
            Self::Provisioned => "provisioned",
            Self::Allocated(Fit::Running) => "allocatedRunning",
            Self::Allocated(Fit::Starting) => "allocatedStarting",
            Self::Allocated(Fit::Stopped) => "allocatedStopped",
            Self::Allocated(Fit::OtherConfiguration) => "allocatedOtherConfiguration",
            Self::Allocated(Fit::OtherBuild) => "allocatedOtherBuild",
            Self::Allocated(Fit::RestartAsked) => "allocatedRestart",
            Self::Allocated(Fit::KeptDown) => "allocatedKeptDown",
            Self::Allocated(Fit::Stopping) => "allocatedStopping",
            Self::Deallocated => "deallocated",
            Self::TimedToLive => "allocationTtl",
            Self::Exited => "exited",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::FoundDown => "foundDown",
            Self::StartedByHand => "startedByHand",
            Self::StoppedByHand => "stoppedByHand",
            Self::RestartedByHand => "restartedByHand",
            Self::ConfigurationChanged => "configurationChanged",
            Self::RolledOut => "rolledOut",
            Self::Restored => "restored",
            Self::Drained => "drained",
            Self::Woken => "woken",
            Self::MachineLost => "machineLost",
            Self::Returned => "returned",
        }
    }
}
