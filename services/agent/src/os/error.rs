//! What can go wrong between the agent and the operating system.

use std::io;
use std::path::PathBuf;

use nix::unistd::Uid;

/// A fault of the machine, or a configuration that it cannot carry out.
#[derive(Debug, thiserror::Error)]
pub enum OsError {
    /// A file or directory of a slot.
    #[error("{what} {}", path.display())]
    Files {
        /// The step.
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A build that a slot's user cannot enter or start.
    #[error("{} is closed to the users of slots (mode {mode:04o}): chmod o+rx it (MS-S508)", path.display())]
    Closed {
        /// The folder or the binary.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A control group.
    #[error("{what} control group {group}")]
    Group {
        /// The step.
        what: &'static str,
        /// The group, relative to the hierarchy's root.
        group: String,
        /// What the library or the system said.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A memory cap within what the check of memory tolerates.
    #[error(
        "memory cap of {cap_bytes} bytes is not above the limit of {limit_bytes} bytes by more than {tolerance_bytes}"
    )]
    CapTooLow {
        /// The cap asked for.
        cap_bytes: u64,
        /// The slot's limit.
        limit_bytes: u64,
        /// What the check tolerates above the limit.
        tolerance_bytes: u64,
    },
    /// More slots than a block of users has.
    #[error("slot {index} has no user: a block has {slots_max}")]
    NoUser {
        /// The slot's index.
        index: u32,
        /// Users in a block.
        slots_max: u32,
    },
    /// Somebody else has the user of a slot.
    #[error("user id {uid} of slot {index} belongs to {name}")]
    UserTaken {
        /// The id.
        uid: Uid,
        /// The slot's index.
        index: u32,
        /// Whose it is.
        name: String,
    },
    /// Every block of users belongs to another data directory.
    #[error("all {blocks} blocks of user ids belong to other data directories")]
    NoBlock {
        /// Blocks looked at.
        blocks: u32,
    },
    /// `/proc` did not answer.
    #[error("read {what} in /proc")]
    Proc {
        /// What was to be read.
        what: String,
        /// What the library said.
        #[source]
        source: procfs::ProcError,
    },
}

impl OsError {
    /// Its code, explained in `docs/reference/error-codes.md`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Files { .. } => "MS-S501",
            Self::Group { .. } => "MS-S502",
            Self::CapTooLow { .. } => "MS-S503",
            Self::NoUser { .. } => "MS-S504",
            Self::UserTaken { .. } => "MS-S505",
            Self::NoBlock { .. } => "MS-S506",
            Self::Proc { .. } => "MS-S507",
            Self::Closed { .. } => "MS-S508",
        }
    }
}
