//! A control group for each slot, version 1 or 2: CPU by weight, hard caps only where asked for, readings of the whole
//! process tree, oom kills, and a way to kill everything in it.
//!
//! Groups are named `<parent>/<data directory>/<server id>`, so that two data directories on one machine never meet.
//! Making and limiting go through `cgroups-rs`.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::path::{Path, PathBuf};

use cgroups_rs::fs::hierarchies::{self, UNIFIED_MOUNTPOINT, V1};
use cgroups_rs::fs::{Cgroup, Controllers};
use mainstay_core::ServerId;

use self::slot::Reading;
pub use self::slot::{GroupReading, SlotGroup};
use super::{Missing, OsError};

mod slot;
mod sweep;

/// Parent of all of Mainstay's groups, where none is configured.
pub const PARENT: &str = "mainstay";

/// The version of the machine's control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One hierarchy for each controller.
    One,
    /// One hierarchy for all.
    Two,
}

/// The machine's writable control groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    version: Version,
    parent: String,
    controllers: Vec<String>,
}

impl Groups {
    /// Finds out whether CPU and memory can be measured and limited below `parent` (made if need be) for this data
    /// directory. Without one of them there are no groups at all, said by [`Missing::Groups`], and
    /// [`super::measure`] reads `/proc`: half a set would measure one thing in the group and another there.
    ///
    /// # Errors
    /// The data directory cannot be looked at.
    pub fn find(parent: &str, data_dir: &Path) -> Result<Result<Self, Missing>, OsError> {
        let failed = |source| OsError::Files { what: "look at", path: data_dir.to_owned(), source };
        let own = sweep::name_of(data_dir).map_err(failed)?;
        let parent = format!("{parent}/{own}");
        let (version, wanted): (_, &[&str]) = if hierarchies::is_cgroup2_unified_mode() {
            (Version::Two, &["cpu", "memory"])
        } else {
            (Version::One, &["cpu", "cpuacct", "memory"])
        };
        let controllers = wanted.iter().map(|name| (*name).to_owned()).collect();
        let groups = Self { version, parent, controllers };
        let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for controller in wanted {
            if let Err(why) = groups.try_controller(controller) {
                reasons.entry(why).or_default().push(controller);
            }
        }
        if reasons.is_empty() {
            groups.claim(data_dir);
            return Ok(Ok(groups));
        }
        let why = reasons.iter().map(|(why, names)| format!("{}: {why}", names.join(", ")));
        Ok(Err(Missing::Groups { why: why.collect::<Vec<_>>().join("; ") }))
    }

    /// Makes the parent in one controller's hierarchy.
    fn try_controller(&self, controller: &str) -> Result<(), String> {
        match self.version {
            Version::One => {
                let kind = match controller {
                    "cpu" => Controllers::Cpu,
                    "cpuacct" => Controllers::CpuAcct,
                    "memory" => Controllers::Mem,
                    _ => return Err(format!("{controller} is no controller used here")),
                };
                V1::new().get_mount_point(kind).ok_or("not mounted")?;
            }
            Version::Two => {
                let path = Path::new(UNIFIED_MOUNTPOINT).join("cgroup.controllers");
                let list = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
                if !list.split_whitespace().any(|name| name == controller) {
                    return Err("not offered by the machine".to_owned());
                }
            }
        }
        let group = load(self.version, &self.parent, &[controller.to_owned()]);
        group
            .create()
            .map_err(|error| error.source().map_or_else(|| error.to_string(), ToString::to_string))?;
        match first_path(&group) {
            Some(path) if is_writable(&path.join("cgroup.procs")) => Ok(()),
            Some(path) => Err(format!("{} is not writable", path.display())),
            None => Err("not mounted".to_owned()),
        }
    }

    /// The version in use.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.version
    }

    /// Makes the group of a slot, or finds it.
    ///
    /// # Errors
    /// [`OsError::Group`].
    pub fn slot(&self, server: ServerId) -> Result<SlotGroup, OsError> {
        let name = format!("{}/{}", self.parent, server.number());
        let group = load(self.version, &name, &self.controllers);
        let failed = |source| OsError::Group { what: "make", group: name.clone(), source };
        group.create().map_err(|error| failed(Box::new(error)))?;
        let slot = SlotGroup { version: self.version, name, group };
        // In version 2 a controller that a parent does not hand down is missing without an error.
        let probe = slot.file(Reading::Cpu).and_then(|_| slot.file(Reading::Memory));
        match probe.and_then(std::fs::metadata) {
            Ok(_) => Ok(slot),
            Err(error) => {
                Err(OsError::Group { what: "read from", group: slot.name, source: Box::new(error) })
            }
        }
    }
}

fn load(version: Version, name: &str, controllers: &[String]) -> Cgroup {
    let hierarchy: Box<dyn cgroups_rs::fs::Hierarchy> = match version {
        Version::One => Box::new(V1::new()),
        Version::Two => Box::new(hierarchies::V2::new()),
    };
    Cgroup::load_with_specified_controllers(hierarchy, name, controllers.to_vec())
}

fn first_path(group: &Cgroup) -> Option<PathBuf> {
    group.subsystems().first().map(|subsystem| subsystem.to_controller().path().to_owned())
}

/// Opening for writing changes nothing, and is the only answer that counts root, owners and read-only mounts alike.
fn is_writable(file: &Path) -> bool {
    std::fs::OpenOptions::new().write(true).open(file).is_ok()
}
