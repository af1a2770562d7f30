//! Why an agent does not start, or ends.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use mainstay_core::ServerId;

use crate::config::PortRange;
use crate::os::OsError;

/// Why an agent does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or directory of the agent's.
    #[error("failed to {what} {}", path.display())]
    Files {
        /// The step.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The list of machines is no such list.
    #[error("{} cannot be trusted: {why}", path.display())]
    Roster {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The machine's credential cannot be read.
    #[error("{} cannot be used: {why}", path.display())]
    Credential {
        /// The file.
        path: PathBuf,
        /// What is wrong with it; nothing of what it holds.
        why: String,
    },
    /// Not enough free ports.
    #[error(
        "ports {} to {} give {found} of the {slots} slots asked for (two ports each)",
        range.first, range.last
    )]
    PortsUsedUp {
        /// Where ports come from.
        range: PortRange,
        /// Slots asked for.
        slots: usize,
        /// Slots that have ports.
        found: usize,
    },
    /// The journal does not open.
    #[error("failed to open the journal in {}", dir.display())]
    OpenJournal {
        /// Its directory.
        dir: PathBuf,
        /// Why.
        #[source]
        source: mainstay_journal::OpenError,
    },
    /// The folder of fetched builds cannot be used.
    #[error("failed to open the folder of fetched builds")]
    Builds {
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The system gave no thread.
    #[error("failed to start the journal's thread")]
    Thread {
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The shard's name is none: our bug.
    #[error("failed to name the agent's shard")]
    Shard {
        /// Why.
        #[source]
        source: mainstay_journal::NameError,
    },
    /// What is stored cannot be read.
    #[error("failed to bring back what the agent knew")]
    Rules {
        /// Why.
        #[source]
        source: mainstay_runtime::StartError,
    },
    /// The rules ended while the agent started or stopped.
    #[error("the agent's journal failed")]
    RulesEnded,
    /// The last things that happened are not durable.
    #[error("the last things that happened are not durable")]
    Unfinished {
        /// Why.
        #[source]
        source: mainstay_runtime::Error,
    },
    /// The journal failed.
    #[error("the agent's journal failed: {failure}")]
    Journal {
        /// How.
        failure: Arc<mainstay_runtime::JournalFailure>,
    },
    /// The operating system.
    #[error("failed to look at this machine")]
    System {
        /// What it said.
        #[source]
        source: OsError,
    },
    /// Games that not even SIGKILL ended.
    #[error("{} games cannot be ended: they are stuck in the kernel: {servers:?}", servers.len())]
    StillRunning {
        /// Their slots.
        servers: Vec<ServerId>,
    },
    /// The system gives no random bytes.
    #[error("the system gives no random bytes: {why}")]
    Randomness {
        /// What it said.
        why: String,
    },
}

impl Error {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Files { .. } | Self::Builds { .. } => "MS-S401",
            Self::Roster { .. } => "MS-S402",
            Self::PortsUsedUp { .. } => "MS-S403",
            Self::Credential { .. } => "MS-S417",
            Self::Randomness { .. } => "MS-S404",
            Self::StillRunning { .. } => "MS-S406",
            Self::Thread { .. } | Self::Shard { .. } => "MS-S408",
            Self::OpenJournal { .. } | Self::Rules { .. } | Self::RulesEnded => "MS-S409",
            Self::Unfinished { source } => source.code(),
            Self::Journal { failure } => failure.code(),
            Self::System { source } => source.code(),
        }
    }

    /// The way out.
    #[must_use]
    pub fn mend(&self) -> &'static str {
        match self {
            Self::Files { .. } | Self::Builds { .. } => {
                "see the cause: rights, space, or another agent in the same directory"
            }
            Self::Roster { .. } => {
                "bring the file back from a copy; without one, wait until nobody plays on this host, and remove it: whatever games the old \
                 list had are ended then"
            }
            Self::Credential { .. } => {
                "bring the file back from a copy; or remove it, revoke the machine, and join again with a new token"
            }
            Self::PortsUsedUp { .. } => "give the agent a wider range, or fewer slots",
            Self::StillRunning { .. } => "look for a dead disk or a stopped debugger; a reboot ends them",
            Self::Thread { .. } => "see the cause: is the number of threads or the memory limited?",
            Self::Shard { .. } => "report this: it is our bug",
            Self::OpenJournal { .. } | Self::Rules { .. } => {
                "see the cause; if the journal is damaged, start with a new data directory"
            }
            Self::RulesEnded | Self::Unfinished { .. } | Self::Journal { .. } => {
                "see the log for the journal's failure, mend the disk, start the agent again: games play on meanwhile"
            }
            Self::System { .. } => "see the cause; is /proc mounted?",
            Self::Randomness { .. } => "see why getrandom(2) fails on this machine",
        }
    }
}
