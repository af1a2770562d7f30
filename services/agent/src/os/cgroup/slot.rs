//! The control group of one slot: what it may have, and what it used. Readings are our own, because the library answers a
//! failed reading with 0, and a check must not mistake that for an idle game.

use std::io;
use std::path::PathBuf;

use cgroups_rs::fs::Cgroup;
use cgroups_rs::fs::cpu::CpuController;
use cgroups_rs::fs::memory::MemController;
use mainstay_core::slot::{Caps, Limits};
use mainstay_holder::process::{self, Emptied, Remains};
use mainstay_holder::spec::ControlGroup;

use super::Version;
use crate::os::OsError;

/// Period of a CPU quota in microseconds: the kernel's own default.
const QUOTA_PERIOD_US: u64 = 100_000;
/// Smallest quota the kernel takes, in microseconds.
const QUOTA_US_MIN: u64 = 1_000;
/// Bounds of a weight in version 1 (`cpu.shares`); 1,024 is one core's worth.
const SHARES: (u64, u64) = (2, cgroups_rs::CPU_SHARES_V1_MAX);
/// Bounds of a weight in version 2 (`cpu.weight`); 100 is one core's worth.
const WEIGHT: (u64, u64) = (1, cgroups_rs::CPU_WEIGHT_V2_MAX);
const MIB: u64 = 1 << 20;

/// What the groups measured of one slot since its group was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupReading {
    /// CPU time of all processes, ended ones included, in nanoseconds.
    pub cpu_ns: u64,
    /// Memory that only these processes need, in bytes: private pages and shared memory. Files cached for them are not
    /// theirs: the kernel takes them back at will, and a game that reads much would look like one that leaks.
    pub memory_bytes: u64,
}

/// The control group of one slot.
#[derive(Debug)]
pub struct SlotGroup {
    pub(super) version: Version,
    pub(super) name: String,
    pub(super) group: Cgroup,
}

/// What is read from a group.
#[derive(Debug, Clone, Copy)]
pub(super) enum Reading {
    Cpu,
    Memory,
    OomKills,
}

impl SlotGroup {
    /// Its name, relative to the hierarchies' roots.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For the launch: the game joins the group before it runs.
    #[must_use]
    pub fn launch(&self) -> ControlGroup {
        // A v1 group is joined thread by thread through `tasks`; a game about to be started is one thread.
        let join = |members: PathBuf| {
            let tasks = members.with_file_name("tasks");
            if tasks.exists() { tasks } else { members }
        };
        let join = self.members_files().into_iter().map(join).collect();
        ControlGroup { join, oom_counter: self.file(Reading::OomKills).ok() }
    }

    /// The `cgroup.procs` files, one for each hierarchy.
    #[must_use]
    pub fn members_files(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = self
            .group
            .subsystems()
            .iter()
            .map(|subsystem| subsystem.to_controller().path().join("cgroup.procs"))
            .collect();
        files.sort();
        files.dedup();
        files
    }

    /// Sets the slot's CPU weight from its limit, and its hard caps; what is not asked for is lifted. A memory cap lies
    /// above the limit by more than the memory check tolerates, or it would hide what the check is for.
    ///
    /// # Errors
    /// [`OsError::CapTooLow`], or the kernel refused.
    pub fn allow(&self, limits: Limits, caps: Caps, tolerance_bytes: u64) -> Result<(), OsError> {
        let memory = memory_cap(limits, caps, tolerance_bytes)?;
        let failed = |what| {
            move |error: cgroups_rs::fs::error::Error| OsError::Group {
                what,
                group: self.name.clone(),
                source: Box::new(error),
            }
        };
        let cpu: &CpuController = self.controller("cpu")?;
        cpu.set_shares(weight(self.version, limits.cpu_millis)).map_err(failed("set the cpu weight of"))?;
        let quota = caps.cpu_millis.map_or(NO_LIMIT, quota_us);
        // A group is used again by the slot's next process, and to set the quota that stands already takes the kernel
        // 0.8 ms of each restart.
        let stands =
            matches!((cpu.cfs_quota(), cpu.cfs_period()), (Ok(is), Ok(QUOTA_PERIOD_US)) if is == quota);
        if !stands {
            cpu.set_cfs_quota_and_period(Some(quota), Some(QUOTA_PERIOD_US))
                .map_err(failed("set the cpu quota of"))?;
        }
        let controller: &MemController = self.controller("memory")?;
        controller.set_limit(memory).map_err(failed("set the memory cap of"))
    }

    fn controller<'a, T>(&'a self, name: &'static str) -> Result<&'a T, OsError>
    where
        &'a T: From<&'a cgroups_rs::fs::Subsystem>,
        T: cgroups_rs::fs::Controller + cgroups_rs::fs::ControllIdentifier,
    {
        self.group.controller_of().ok_or_else(|| OsError::Group {
            what: "find the controller of",
            group: self.name.clone(),
            source: format!("no {name} controller").into(),
        })
    }

    /// Reads what the slot used.
    ///
    /// # Errors
    /// A file of the group cannot be read or understood.
    pub fn reading(&self) -> Result<GroupReading, OsError> {
        let cpu_ns = self.read(Reading::Cpu, |text| cpu_ns(self.version, text))?;
        let memory_bytes = self.read(Reading::Memory, |text| memory_bytes(self.version, text))?;
        Ok(GroupReading { cpu_ns, memory_bytes })
    }

    /// How many of the group's processes the kernel killed for lack of memory, since the group was made.
    ///
    /// # Errors
    /// A file of the group cannot be read or understood.
    pub fn oom_kills(&self) -> Result<u64, OsError> {
        self.read(Reading::OomKills, |text| value_of(text, "oom_kill"))
    }

    fn read(&self, reading: Reading, parse: impl Fn(&str) -> Option<u64>) -> Result<u64, OsError> {
        let failed = |source: io::Error| OsError::Group {
            what: "read from",
            group: self.name.clone(),
            source: Box::new(source),
        };
        let file = self.file(reading).map_err(failed)?;
        let text = std::fs::read_to_string(&file).map_err(failed)?;
        let odd =
            || failed(io::Error::new(io::ErrorKind::InvalidData, format!("{}: {text:?}", file.display())));
        parse(&text).ok_or_else(odd)
    }

    pub(super) fn file(&self, reading: Reading) -> io::Result<PathBuf> {
        let (controller, file) = match (self.version, reading) {
            (Version::One, Reading::Cpu) => ("cpuacct", "cpuacct.usage"),
            (Version::Two, Reading::Cpu) => ("cpu", "cpu.stat"),
            (Version::One | Version::Two, Reading::Memory) => ("memory", "memory.stat"),
            (Version::One, Reading::OomKills) => ("memory", "memory.oom_control"),
            (Version::Two, Reading::OomKills) => ("memory", "memory.events"),
        };
        let found =
            self.group.subsystems().iter().find(|subsystem| subsystem.controller_name() == controller);
        let subsystem = found.ok_or_else(|| io::Error::other(format!("no {controller} controller")))?;
        Ok(subsystem.to_controller().path().join(file))
    }

    /// Kills every process in the group, within [`process::KILL_MS_MAX`].
    ///
    /// # Errors
    /// `/proc` or the group cannot be read, or a signal was refused.
    pub fn kill_all(&self) -> Result<Emptied, OsError> {
        let remains = Remains { record: None, groups: self.members_files(), own_uid: None, exit: None };
        process::empty(&remains).map_err(|source| OsError::Group {
            what: "empty",
            group: self.name.clone(),
            source: Box::new(source),
        })
    }

    /// Removes the group, which must be empty.
    ///
    /// # Errors
    /// Processes are left in it.
    pub fn remove(self) -> Result<(), OsError> {
        let Self { name, group, .. } = self;
        group.delete().map_err(|error| OsError::Group {
            what: "remove",
            group: name,
            source: Box::new(error),
        })
    }
}

/// What both quota and memory cap take for "none".
const NO_LIMIT: i64 = -1;

/// The weight of a slot from its share: proportional, so that slots together always get the machine and none is
/// throttled while there is CPU to spare.
fn weight(version: Version, cpu_millis: u32) -> u64 {
    let millis = u64::from(cpu_millis);
    match version {
        Version::One => (millis * 1024 / 1000).clamp(SHARES.0, SHARES.1),
        Version::Two => (millis / 10).clamp(WEIGHT.0, WEIGHT.1),
    }
}

fn quota_us(cpu_millis: u32) -> i64 {
    let us = (u64::from(cpu_millis) * QUOTA_PERIOD_US / 1000).max(QUOTA_US_MIN);
    i64::try_from(us).unwrap_or(i64::MAX)
}

/// The cap in bytes, or [`NO_LIMIT`].
fn memory_cap(limits: Limits, caps: Caps, tolerance_bytes: u64) -> Result<i64, OsError> {
    let Some(cap_mib) = caps.memory_mib else { return Ok(NO_LIMIT) };
    let (cap_bytes, limit_bytes) = (u64::from(cap_mib) * MIB, u64::from(limits.memory_mib) * MIB);
    if cap_bytes <= limit_bytes.saturating_add(tolerance_bytes) {
        return Err(OsError::CapTooLow { cap_bytes, limit_bytes, tolerance_bytes });
    }
    Ok(i64::try_from(cap_bytes).unwrap_or(i64::MAX))
}

fn cpu_ns(version: Version, text: &str) -> Option<u64> {
    match version {
        Version::One => text.trim().parse().ok(),
        Version::Two => value_of(text, "usage_usec")?.checked_mul(1000),
    }
}

fn memory_bytes(version: Version, text: &str) -> Option<u64> {
    match version {
        Version::One => Some(value_of(text, "total_rss")? + value_of(text, "total_shmem").unwrap_or(0)),
        Version::Two => Some(value_of(text, "anon")? + value_of(text, "shmem")?),
    }
}

/// The number after a word at the start of a line.
fn value_of(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_becomes_a_weight_of_either_version() {
        for (millis, shares, weights) in [
            (1000, 1024, 100),
            (500, 512, 50),
            (0, 2, 1),
            (1, 2, 1),
            (4000, 4096, 400),
            (u32::MAX, 262_144, 10_000),
        ] {
            assert_eq!(weight(Version::One, millis), shares, "{millis}");
            assert_eq!(weight(Version::Two, millis), weights, "{millis}");
        }
    }

    #[test]
    fn a_quota_is_time_in_each_period() {
        for (millis, us) in [(1000, 100_000), (250, 25_000), (1, 1_000), (0, 1_000), (2000, 200_000)] {
            assert_eq!(quota_us(millis), us, "{millis}");
        }
    }

    #[test]
    fn a_cap_must_lie_above_what_the_check_tolerates() {
        let limits = Limits { cpu_millis: 1000, memory_mib: 100 };
        let cap = |memory_mib| memory_cap(limits, Caps { cpu_millis: None, memory_mib }, 200_000_000);
        assert_eq!(cap(None).unwrap(), NO_LIMIT);
        // 200 MB are 190.7 MiB.
        assert_eq!(cap(Some(291)).unwrap(), 291 << 20);
        for too_low in [0, 100, 200, 290] {
            assert_eq!(cap(Some(too_low)).unwrap_err().code(), "MS-S503", "{too_low}");
        }
    }

    #[test]
    fn readings_of_both_versions_are_understood() {
        assert_eq!(cpu_ns(Version::One, "123456\n"), Some(123_456));
        assert_eq!(cpu_ns(Version::Two, "usage_usec 12\nuser_usec 10\nsystem_usec 2\n"), Some(12_000));
        let one =
            "cache 4096\nrss 1\nshmem 2\ntotal_cache 4096\ntotal_rss 100\ntotal_rss_huge 7\ntotal_shmem 20\n";
        assert_eq!(memory_bytes(Version::One, one), Some(120));
        let old = "total_rss 100\n";
        assert_eq!(memory_bytes(Version::One, old), Some(100), "old kernels do not tell shared memory");
        let two = "anon 300\nfile 5000\nkernel 9\nshmem 30\nanon_thp 0\n";
        assert_eq!(memory_bytes(Version::Two, two), Some(330));
        assert_eq!(value_of("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "oom_kill"), Some(3));
        assert_eq!(
            value_of("low 0\nhigh 0\nmax 5\noom 2\noom_kill 1\noom_group_kill 0\n", "oom_kill"),
            Some(1)
        );
        for torn in ["", "usage_usec", "usage_usec x", "-1"] {
            assert_eq!(cpu_ns(Version::Two, torn), None, "{torn:?}");
            assert_eq!(cpu_ns(Version::One, torn), None, "{torn:?}");
            assert_eq!(memory_bytes(Version::Two, torn), None, "{torn:?}");
        }
    }
}
