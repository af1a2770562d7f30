//! CPU and memory of a slot's whole process tree: from its control group, or from `/proc` where there is none.

use std::time::Duration;

use mainstay_holder::process;
use mainstay_holder::record::ProcessMark;
use procfs::process::Process;

use super::OsError;
use super::cgroup::SlotGroup;

/// Where a slot is measured.
#[derive(Debug, Clone, Copy)]
pub enum Meter<'a> {
    /// Its control group.
    Group(&'a SlotGroup),
    /// Everything below its holder. As a subreaper the holder keeps every descendant, whatever session it moved to.
    Tree(ProcessMark),
}

/// What a slot used: CPU time since some moment in the past (only differences mean something), and memory now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// CPU time of the game and everything it started, ended processes included, in nanoseconds.
    pub cpu_ns: u64,
    /// Private pages and shared memory of the tree, in bytes; cached files are not counted.
    pub memory_bytes: u64,
}

impl Meter<'_> {
    /// Reads now.
    ///
    /// # Errors
    /// The group or `/proc` cannot be read, or the holder is gone.
    pub fn read(self) -> Result<Usage, OsError> {
        match self {
            Self::Group(group) => {
                let reading = group.reading()?;
                Ok(Usage { cpu_ns: reading.cpu_ns, memory_bytes: reading.memory_bytes })
            }
            Self::Tree(holder) => tree(holder),
        }
    }
}

/// CPU share between two readings of one run, in thousandths of a core; none if no time passed or the counter was
/// begun anew in between (another run's group).
#[must_use]
pub fn cpu_millis(before: Usage, after: Usage, between: Duration) -> Option<u32> {
    let used_ns = u128::from(after.cpu_ns.checked_sub(before.cpu_ns)?);
    let millis = (used_ns * 1000).checked_div(between.as_nanos())?;
    Some(u32::try_from(millis).unwrap_or(u32::MAX))
}

fn tree(holder: ProcessMark) -> Result<Usage, OsError> {
    let failed = |what: String| move |source| OsError::Proc { what, source };
    let process = Process::new(holder.pid).map_err(failed(format!("{}", holder.pid)))?;
    let stat = process.stat().map_err(failed(format!("{}/stat", holder.pid)))?;
    if !process::is_alive(holder) {
        let source = procfs::ProcError::NotFound(None);
        return Err(OsError::Proc { what: format!("holder {}, which is gone", holder.pid), source });
    }
    // What ended was reaped by its parent, in the end the holder, whose own CPU time is not the game's.
    let mut ticks = waited_ticks(&stat);
    let mut memory_bytes = 0;
    let pids = process::descendants(holder.pid)
        .map_err(|error| OsError::Proc { what: "processes".to_owned(), source: error.into() })?;
    for pid in pids {
        // A process may end while it is read; its time is then found at its parent by the next reading.
        let Ok(process) = Process::new(pid) else { continue };
        let Ok(stat) = process.stat() else { continue };
        ticks += stat.utime + stat.stime + waited_ticks(&stat);
        memory_bytes += memory(&process).unwrap_or(0);
    }
    let ns_per_tick = 1_000_000_000 / procfs::ticks_per_second().max(1);
    Ok(Usage { cpu_ns: ticks.saturating_mul(ns_per_tick), memory_bytes })
}

fn waited_ticks(stat: &procfs::process::Stat) -> u64 {
    u64::try_from(stat.cutime + stat.cstime).unwrap_or(0)
}

/// Proportional, so that pages shared after a fork count once; by status where the kernel does not let us look.
fn memory(process: &Process) -> Option<u64> {
    const KIB: u64 = 1024;
    let proportional = || {
        let rollup = process.smaps_rollup().ok()?;
        let map = &rollup.memory_map_rollup.0.first()?.extension.map;
        Some(map.get("Pss_Anon")? + map.get("Pss_Shmem")?)
    };
    let resident = || {
        let status = process.status().ok()?;
        Some((status.rssanon? + status.rssshmem?) * KIB)
    };
    proportional().or_else(resident)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_time_used_over_time_passed() {
        let at = |cpu_ns| Usage { cpu_ns, memory_bytes: 0 };
        let second = Duration::from_secs(1);
        for (before, after, between, expected) in [
            (0, 500_000_000, second, Some(500)),
            (7, 7, second, Some(0)),
            (0, 4_000_000_000, second * 2, Some(2000)),
            (0, 1, Duration::ZERO, None),
            (5, 4, second, None),
            (0, u64::MAX, Duration::from_nanos(1), Some(u32::MAX)),
        ] {
            assert_eq!(cpu_millis(at(before), at(after), between), expected, "{before} {after} {between:?}");
        }
    }
}
