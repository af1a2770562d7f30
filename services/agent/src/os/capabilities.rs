//! What this machine gives to the agent, and what it does not: found once, at the start, and said loudly.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use mainstay_holder::isolate;
use mainstay_holder::spec::{Isolation, Processes};
use nix::unistd::Uid;

use super::OsError;
use super::cgroup::Groups;
use super::slot_dirs::{self, Owner};
use super::uids::UidBlock;

/// What the agent can do for its slots.
#[derive(Debug)]
pub struct Capabilities {
    /// Control groups, if both CPU and memory can be had.
    pub groups: Option<Groups>,
    /// A user for each slot, if the agent is root.
    pub users: Option<UidBlock>,
    /// Whether games can be given a view of their own.
    pub sight: Sight,
    /// What is missing, for the log and for `doctor`.
    pub missing: Vec<Missing>,
    /// Owners that have been asked for. Asking the name services is a millisecond in which a crashed session waits, and
    /// an id that was free when the agent started stays its own.
    owners: Mutex<BTreeMap<u32, Owner>>,
}

/// What games see of the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Only their own part of the data directory, and these processes.
    Private(Processes),
    /// Everything that their user may read.
    Shared,
}

/// Something that this machine does not give. Servers run all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The agent is not root.
    Root,
    /// No private mount namespaces.
    Isolation {
        /// What the system said.
        why: String,
    },
    /// No sight of their own processes alone.
    Processes,
    /// No users for slots.
    Users {
        /// Why.
        why: String,
    },
    /// Control groups that measure and limit both CPU and memory.
    Groups {
        /// Why, for each reason the controllers that it keeps away.
        why: String,
    },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str(
                "not root: all games run as the agent's own user and can read each other's files and the data \
                 directory; run the agent as root for one user a slot",
            ),
            Self::Isolation { why } => write!(
                f,
                "no private view for games ({why}): they see whatever their user may read; give the agent CAP_SYS_ADMIN"
            ),
            Self::Processes => f.write_str(
                "games see each other's processes and command lines: /proc cannot be mounted with hidepid (Linux 5.8 \
                 or later)",
            ),
            Self::Users { why } => {
                write!(f, "no user for each slot ({why}): all games run as the agent's own user")
            }
            Self::Groups { why } => write!(
                f,
                "no control groups ({why}): CPU weights and hard caps do not work, oom kills read as SIGKILL, and CPU \
                 and memory are read from /proc"
            ),
        }
    }
}

impl Capabilities {
    /// Looks at the machine. `registry` is where blocks of user ids are claimed ([`super::uids::REGISTRY`]), `parent`
    /// the parent of all control groups ([`super::cgroup::PARENT`]).
    ///
    /// # Errors
    /// The data directory cannot be looked at.
    pub fn find(data_dir: &Path, parent: &str, registry: &Path) -> Result<Self, OsError> {
        let mut missing = Vec::new();
        let groups = match Groups::find(parent, data_dir)? {
            Ok(groups) => Some(groups),
            Err(why) => {
                missing.push(why);
                None
            }
        };
        if !Uid::effective().is_root() {
            missing.push(Missing::Root);
            let owners = Mutex::default();
            return Ok(Self { groups, users: None, sight: Sight::Shared, missing, owners });
        }
        let sight = match isolate::attempt() {
            Ok(processes) => {
                match processes {
                    Processes::Own => {}
                    Processes::All => missing.push(Missing::Processes),
                }
                Sight::Private(processes)
            }
            Err(why) => {
                missing.push(Missing::Isolation { why });
                Sight::Shared
            }
        };
        let users = match users(registry, data_dir, sight) {
            Ok(users) => Some(users),
            Err(why) => {
                missing.push(Missing::Users { why });
                None
            }
        };
        Ok(Self { groups, users, sight, missing, owners: Mutex::default() })
    }

    /// Whose slot `index` is.
    ///
    /// # Errors
    /// [`OsError::NoUser`] or [`OsError::UserTaken`].
    pub fn owner(&self, index: u32) -> Result<Owner, OsError> {
        let Some(users) = self.users else { return Ok(Owner::Agent) };
        let owners = || self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(owner) = owners().get(&index).copied() {
            return Ok(owner);
        }
        let owner = Owner::Slot(users.of_slot(index)?);
        owners().insert(index, owner);
        Ok(owner)
    }

    /// The view of a game with directories of its own and a build that it shares; none where the machine cannot give one.
    ///
    /// # Errors
    /// A path cannot be looked at.
    pub fn view(&self, data_dir: &Path, own: &[&Path], build: &Path) -> Result<Option<Isolation>, OsError> {
        match self.sight {
            Sight::Private(processes) => {
                slot_dirs::view(data_dir, own, build).map(|view| Some(Isolation { processes, ..view }))
            }
            Sight::Shared => Ok(None),
        }
    }
}

/// Without a view of its own a slot's user must be able to walk to its directories.
fn users(registry: &Path, data_dir: &Path, sight: Sight) -> Result<UidBlock, String> {
    let closed = slot_dirs::outermost_closed(&data_dir.join("slots")).map_err(|error| error.to_string())?;
    match (sight, closed) {
        (Sight::Shared, Some(folder)) => Err(format!("{} is closed to them", folder.display())),
        (Sight::Private(_), _) | (Sight::Shared, None) => {
            UidBlock::claim(registry, data_dir).map_err(|error| error.to_string())
        }
    }
}
