//! Processes of a slot: finding them, marking them beyond doubt, killing all of them.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use procfs::process::{Process, Stat};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use crate::record::{ExitRecord, HolderRecord, ProcessMark};

/// How long SIGKILL may take to end every process of a slot: a process that survives it is stuck in the kernel
/// (usually on a dead disk), and waiting longer would hide the exit of the game.
pub const KILL_MS_MAX: u64 = 5_000;

/// Pause between two rounds of killing, in milliseconds: long enough for the killed to die, short enough for a fork
/// bomb not to win much.
const KILL_ROUND_MS: u64 = 5;

/// What a clean-up did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Emptied {
    /// Processes that were sent SIGKILL.
    pub killed: u32,
    /// Processes still there when the time was up.
    pub alive: u32,
}

/// The kernel's boot id.
///
/// # Errors
/// `/proc` is not mounted.
pub fn boot_id() -> io::Result<String> {
    procfs::sys::kernel::random::boot_id().map_err(to_io)
}

/// The mark of a living process.
///
/// # Errors
/// There is no such process, or `/proc` is not mounted.
pub fn mark(pid: i32) -> io::Result<ProcessMark> {
    let stat = Process::new(pid).and_then(|process| process.stat()).map_err(to_io)?;
    Ok(ProcessMark { pid, start_ticks: stat.starttime })
}

/// Says whether the very process of this mark still exists and is no zombie.
#[must_use]
pub fn is_alive(mark: ProcessMark) -> bool {
    Process::new(mark.pid)
        .and_then(|process| process.stat())
        .is_ok_and(|stat| stat.starttime == mark.start_ticks && !is_dead(&stat))
}

fn is_dead(stat: &Stat) -> bool {
    matches!(stat.state, 'Z' | 'X' | 'x')
}

/// Looks at every process once, one open at a time: hundreds of starts at once would otherwise use up the descriptors.
/// Those that vanish while being read are left out.
fn each(mut look: impl FnMut(&Process, &Stat)) -> io::Result<()> {
    for process in procfs::process::all_processes().map_err(to_io)? {
        let Ok(process) = process else { continue };
        let Ok(stat) = process.stat() else { continue };
        look(&process, &stat);
    }
    Ok(())
}

/// The users that have a process, by real id.
///
/// # Errors
/// `/proc` is not readable.
pub fn users() -> io::Result<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    each(|process, _| {
        if let Ok(status) = process.status() {
            found.insert(status.ruid);
        }
    })?;
    Ok(found)
}

/// All living descendants of `root`, without it.
///
/// # Errors
/// `/proc` is not readable.
pub fn descendants(root: i32) -> io::Result<Vec<i32>> {
    let mut parents = Vec::new();
    each(|_, stat| {
        if !is_dead(stat) {
            parents.push((stat.pid, stat.ppid));
        }
    })?;
    Ok(below(root, &parents))
}

/// The pids below `root` in a list of (pid, parent).
fn below(root: i32, parents: &[(i32, i32)]) -> Vec<i32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        let children =
            parents.iter().filter(|(pid, ppid)| *ppid == parent && *pid != parent).map(|(pid, _)| *pid);
        let fresh: Vec<i32> = children.filter(|pid| !found.contains(pid)).collect();
        found.extend(fresh);
        next += 1;
    }
    found.remove(0);
    found
}

/// Sends `signal` to a pid; a process that is gone is no error.
///
/// # Errors
/// What the system said, other than "no such process".
pub fn send(pid: i32, signal: Signal) -> io::Result<()> {
    let Some(pid) = Pid::from_raw(pid) else { return Ok(()) };
    match kill_process(pid, signal) {
        Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Kills and reaps every descendant of the calling process, which must be a subreaper: what has no child has no
/// descendant, so this is complete whatever sessions they moved to.
///
/// # Errors
/// `/proc` is not readable or a signal was refused.
pub fn kill_descendants() -> io::Result<Emptied> {
    let own_pid = own_pid();
    let deadline = Instant::now() + Duration::from_millis(KILL_MS_MAX);
    let mut killed: Vec<i32> = Vec::new();
    loop {
        if !reap_all()? {
            return Ok(Emptied { killed: count(killed.len()), alive: 0 });
        }
        let living = descendants(own_pid)?;
        for pid in &living {
            send(*pid, Signal::KILL)?;
            if !killed.contains(pid) {
                killed.push(*pid);
            }
        }
        if Instant::now() >= deadline {
            return Ok(Emptied { killed: count(killed.len()), alive: count(living.len()) });
        }
        std::thread::sleep(Duration::from_millis(KILL_ROUND_MS));
    }
}

/// Reaps every child that ended; false if no child is left.
fn reap_all() -> io::Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(true),
            Err(rustix::io::Errno::CHILD) => return Ok(false),
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// What a slot may still have running after its holder is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remains {
    /// The last holder's record.
    pub record: Option<HolderRecord>,
    /// `cgroup.procs` files of the slot.
    pub groups: Vec<PathBuf>,
    /// User that only this slot has; none where it is known to have no process.
    pub own_uid: Option<u32>,
    /// How the last run ended, where its holder lived to say so.
    pub exit: Option<ExitRecord>,
}

impl Remains {
    /// Whether the last holder saw everything below it die, and nothing has come into the slot's groups since. It was
    /// the reaper of all its descendants, so nothing of its session or user can be left.
    fn are_known_gone(&self) -> io::Result<bool> {
        let (Some(holder), Some(exit)) = (&self.record, &self.exit) else { return Ok(false) };
        let of_the_last =
            (exit.run, exit.generation, &exit.boot_id) == (holder.run, holder.generation, &holder.boot_id);
        Ok(of_the_last && exit.leftovers_alive == 0 && grouped(&self.groups)?.is_empty())
    }
}

/// Empties a slot whose holder is gone: kills everything in its control group, in the game's session and of the
/// slot's own user, until nothing is left. Must be called before each start.
///
/// The session is told from a later one of the same number by its members' start times. Without a control group and
/// without a user of its own, a process that moved to another session and outlived a killed holder is out of reach;
/// [`Remains`] is then as good as the machine allows, and the agent says so when it starts.
///
/// # Errors
/// `/proc` is not readable or a signal was refused.
pub fn empty(remains: &Remains) -> io::Result<Emptied> {
    if remains.are_known_gone()? {
        return Ok(Emptied { killed: 0, alive: 0 });
    }
    let boot_id = boot_id()?;
    let deadline = Instant::now() + Duration::from_millis(KILL_MS_MAX);
    let mut killed: Vec<i32> = Vec::new();
    loop {
        let living = members(remains, &boot_id)?;
        if living.is_empty() {
            return Ok(Emptied { killed: count(killed.len()), alive: 0 });
        }
        if Instant::now() >= deadline {
            return Ok(Emptied { killed: count(killed.len()), alive: count(living.len()) });
        }
        for pid in living {
            send(pid, Signal::KILL)?;
            if !killed.contains(&pid) {
                killed.push(pid);
            }
        }
        std::thread::sleep(Duration::from_millis(KILL_ROUND_MS));
    }
}

/// The living processes of a slot without a holder.
fn members(remains: &Remains, boot_id: &str) -> io::Result<Vec<i32>> {
    let grouped = grouped(&remains.groups)?;
    let game =
        remains.record.as_ref().filter(|record| record.boot_id == boot_id).and_then(|record| record.game);
    if game.is_none() && remains.own_uid.is_none() {
        // Nothing to look for among all processes.
        return Ok(grouped);
    }
    let own_pid = own_pid();
    let mut found = Vec::new();
    each(|process, stat| {
        if is_dead(stat) || stat.pid == own_pid {
            return;
        }
        let in_session = game.is_some_and(|game| is_of_session(stat, game));
        let of_user = remains
            .own_uid
            .is_some_and(|uid| uid != 0 && process.status().is_ok_and(|status| status.ruid == uid));
        if in_session || of_user || grouped.contains(&stat.pid) {
            found.push(stat.pid);
        }
    })?;
    Ok(found)
}

/// The processes of control groups; a group that is gone has none.
fn grouped(groups: &[PathBuf]) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for file in groups {
        match std::fs::read_to_string(file) {
            Ok(text) => found.extend(text.lines().filter_map(|line| line.trim().parse::<i32>().ok())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// A process belongs to the game's session if it has its number, is not older than the game, and is not a later
/// process that got the game's pid and began a session of its own.
fn is_of_session(stat: &Stat, game: ProcessMark) -> bool {
    let is_later_leader = stat.pid == game.pid && stat.starttime != game.start_ticks;
    stat.session == game.pid && stat.starttime >= game.start_ticks && !is_later_leader
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn to_io(error: procfs::ProcError) -> io::Error {
    match error {
        procfs::ProcError::Io(error, _) => error,
        procfs::ProcError::NotFound(path) => io::Error::new(
            io::ErrorKind::NotFound,
            path.map_or_else(String::new, |path| path.display().to_string()),
        ),
        procfs::ProcError::PermissionDenied(path) => io::Error::new(
            io::ErrorKind::PermissionDenied,
            path.map_or_else(String::new, |path| path.display().to_string()),
        ),
        procfs::ProcError::Incomplete(_)
        | procfs::ProcError::Other(_)
        | procfs::ProcError::InternalError(_) => io::Error::other(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_generation_below_a_process_and_nothing_beside_it() {
        let parents = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (7, 4)];
        for (root, expected) in [(2, vec![3, 4, 7]), (5, vec![6]), (7, vec![]), (99, vec![])] {
            assert_eq!(below(root, &parents), expected, "below {root}");
        }
    }

    #[test]
    fn a_cycle_in_a_torn_reading_ends() {
        assert_eq!(below(1, &[(2, 1), (1, 2), (1, 1)]), vec![2]);
    }

    #[test]
    fn own_process_is_alive_and_its_mark_with_another_start_is_not() {
        let mark = mark(own_pid()).unwrap();
        assert!(is_alive(mark));
        assert!(!is_alive(ProcessMark { start_ticks: mark.start_ticks + 1, ..mark }));
    }
}
