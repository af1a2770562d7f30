//! What goes when nobody needs it: an agent's own groups as it ends, and at a start those whose data directory is gone.
//!
//! Groups are looked for in every hierarchy that is mounted, not only those of the controllers used here: a container runtime
//! makes its game's group in all of them, with the groups above, and takes none of those away.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use mainstay_core::ServerId;
use rustix::fs::{XattrFlags, getxattr, setxattr};

use super::super::OsError;
use super::{Groups, first_path, load};

/// The attribute of an agent's group that says whose it is: its mount namespace, and the path of its data directory there. It
/// is the group's own, so it goes with it.
const OWNER: &str = "user.mainstay.data_dir";
/// Longest path, in bytes: Linux's `PATH_MAX`.
const PATH_BYTES_MAX: usize = 4096;

/// What a data directory's group is called: no two directories of a machine share it.
pub(super) fn name_of(data_dir: &Path) -> io::Result<String> {
    let found = std::fs::metadata(data_dir)?;
    Ok(format!("{:x}-{:x}", found.dev(), found.ino()))
}

impl Groups {
    /// Says whose the agent's group is, and takes away what others left: what stays behind is said and no more, since it keeps
    /// nobody from starting.
    pub(super) fn claim(&self, data_dir: &Path) {
        let Some(own) = self.main() else { return };
        let claimed = data_dir.canonicalize().and_then(|path| {
            let owner = [mounts()?.as_bytes(), b" ", path.as_os_str().as_bytes()].concat();
            Ok(setxattr(&own, OWNER, &owner, XattrFlags::empty())?)
        });
        if let Err(error) = claimed {
            tracing::debug!(group = %own.display(), %error, "the control group does not say whose it is");
        }
        if let Err(error) = self.sweep_orphans() {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "control groups of others are left behind"
            );
        }
    }

    /// Removes the groups of slots that are not in `keep` and hold no process, and the parent if nothing is left.
    ///
    /// # Errors
    /// A directory of groups cannot be listed or removed.
    pub fn sweep(&self, keep: &[ServerId]) -> Result<(), OsError> {
        let keep: BTreeSet<OsString> = keep.iter().map(|id| id.number().to_string().into()).collect();
        self.in_each_hierarchy(|root| {
            let own = root.join(&self.parent);
            for name in names(&own)?.difference(&keep) {
                remove_if_empty(&own.join(name))?;
            }
            remove_if_empty(&own)?;
            own.parent().map_or(Ok(()), remove_if_empty)
        })
    }

    /// Removes the groups of agents whose data directory is gone, where they hold no process: what was killed with its
    /// directory deleted after has nobody else to take them away.
    fn sweep_orphans(&self) -> Result<(), OsError> {
        let Some(all) = self.main().and_then(|own| Some(own.parent()?.to_owned())) else { return Ok(()) };
        let of_agents = names(&all).map_err(|error| self.failed(error))?;
        let orphans: BTreeSet<&OsString> =
            of_agents.iter().filter(|name| is_orphan(&all.join(name), name)).collect();
        let top = Path::new(&self.parent).parent().unwrap_or_else(|| Path::new(""));
        self.in_each_hierarchy(|root| {
            let here = root.join(top);
            for name in names(&here)? {
                // An agent's own group stands there before it has another anywhere.
                if orphans.contains(&name) || !all.join(&name).exists() {
                    let group = here.join(&name);
                    for slot in names(&group)? {
                        remove_if_empty(&group.join(slot))?;
                    }
                    remove_if_empty(&group)?;
                }
            }
            Ok(())
        })
    }

    /// The agent's group in the hierarchy where it is made first.
    fn main(&self) -> Option<PathBuf> {
        first_path(&load(self.version, &self.parent, &self.controllers))
    }

    fn in_each_hierarchy(&self, act: impl Fn(&Path) -> io::Result<()>) -> Result<(), OsError> {
        hierarchies()
            .and_then(|roots| roots.iter().try_for_each(|root| act(root)))
            .map_err(|error| self.failed(error))
    }

    fn failed(&self, source: io::Error) -> OsError {
        OsError::Group { what: "sweep", group: self.parent.clone(), source: Box::new(source) }
    }
}

/// Where control groups are mounted.
fn hierarchies() -> io::Result<BTreeSet<PathBuf>> {
    let mounts =
        procfs::process::Process::myself().and_then(|me| me.mountinfo()).map_err(io::Error::other)?;
    let of_groups = mounts.into_iter().filter(|mount| matches!(mount.fs_type.as_str(), "cgroup" | "cgroup2"));
    Ok(of_groups.map(|mount| mount.mount_point).collect())
}

/// The groups in a group; none where it is not there.
fn names(group: &Path) -> io::Result<BTreeSet<OsString>> {
    let entries = match std::fs::read_dir(group) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        entries => entries?,
    };
    let mut names = BTreeSet::new();
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.insert(entry.file_name());
        }
    }
    Ok(names)
}

/// Whether the group's data directory is no more. One that does not say whose it is may be anybody's, and so may one of an agent
/// that sees other mounts.
fn is_orphan(group: &Path, name: &OsStr) -> bool {
    let mut owner = vec![0; PATH_BYTES_MAX];
    let (Ok(length), Ok(mounts)) = (getxattr(group, OWNER, &mut owner), mounts()) else { return false };
    owner.truncate(length);
    let path = owner.strip_prefix(mounts.as_bytes()).and_then(|rest| rest.strip_prefix(b" "));
    match path.map(|path| name_of(Path::new(OsStr::from_bytes(path)))) {
        Some(Ok(is)) => *is != *name,
        Some(Err(error)) => error.kind() == io::ErrorKind::NotFound,
        None => false,
    }
}

/// This process's mount namespace, as the kernel names it.
fn mounts() -> io::Result<OsString> {
    Ok(std::fs::read_link("/proc/self/ns/mnt")?.into_os_string())
}

/// The kernel refuses to remove a group with processes or groups in it; that one stays.
fn remove_if_empty(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir(path) {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::NotFound) => Ok(()),
        Err(error) => Err(error),
    }
}
