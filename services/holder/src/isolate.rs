//! The game's private view of the file system: named directories are empty, except for the slot's own parts, and what it
//! shares with other slots cannot be written.
//!
//! Runs in the child, as root, before the identity is dropped: afterwards the game can neither mount nor unmount.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use procfs::process::{MountInfo, Process};

use crate::spec::{Isolation, Processes};

/// Options of the covering file system: it holds nothing but a few directories to mount on.
const COVER_OPTIONS: &str = "mode=0755,size=64k,nr_inodes=256";

/// `hidepid=invisible` of proc(5), by the number that every kernel knows.
const OWN_PROCESSES: &str = "hidepid=2";

/// Since Linux 5.8 each mount of proc has options of its own; before, they were the whole machine's.
const PROC_OPTIONS_SINCE: (u32, u32) = (5, 8);

/// What of a private view this machine can give, tried in a thread of its own: a namespace is entered by one thread and
/// never left.
///
/// # Errors
/// In words, why there is no private view at all.
pub fn attempt() -> Result<Processes, String> {
    let entered = std::thread::spawn(|| -> io::Result<Processes> {
        enter()?;
        let has_options = kernel().is_some_and(|version| version >= PROC_OPTIONS_SINCE);
        Ok(if has_options && show_own_processes().is_ok() { Processes::Own } else { Processes::All })
    });
    match entered.join() {
        Ok(Ok(processes)) => Ok(processes),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the attempt panicked".to_owned()),
    }
}

/// Major and minor version of the kernel.
fn kernel() -> Option<(u32, u32)> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// A mount namespace of its own. A slave still receives unmounts of the machine, so a long-running game does not pin a file
/// system in use.
fn enter() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    mount_flags(Path::new("/"), MsFlags::MS_REC | MsFlags::MS_SLAVE)
}

fn show_own_processes() -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let path = Path::new("/proc");
    mount(Some("proc"), path, Some("proc"), flags, Some(OWN_PROCESSES))
        .map_err(|errno| at(path, errno.into()))
}

/// A path that stays visible, held open across the covering.
struct Kept {
    path: PathBuf,
    source: File,
    is_dir: bool,
}

/// What is done at a path of the private view. Of several at one path the last holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The real thing is mounted into a cover.
    Show,
    /// The real thing is mounted, and nobody can write it there, whatever its modes say.
    Lock,
    /// An empty read-only file system is mounted over it.
    Cover,
}

/// Makes the hidden directories empty and read-only for the calling process and its descendants, and what is read-only so.
///
/// A hidden directory that does not exist is an error: it could appear later, and would then be seen.
pub(crate) fn isolate(isolation: &Isolation) -> io::Result<()> {
    let (hide, keep) = (canonical(&isolation.hide)?, canonical(&isolation.keep)?);
    let steps = plan(&hide, &keep, &canonical(&isolation.read_only)?);
    enter()?;
    // Opened in the new namespace: what is held open across the border cannot be mounted. And before the first cover.
    let mut kept = Vec::new();
    for (path, step) in &steps {
        match step {
            Step::Show | Step::Lock => kept.push(hold(path)?),
            Step::Cover => {}
        }
    }
    let cover = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    let mut kept = kept.iter();
    for (path, step) in &steps {
        match step {
            Step::Show | Step::Lock => {
                kept.next().map_or(Ok(()), bind).map_err(|error| at(path, error))?;
                // Before what lies in it is mounted, which may be the slot's own to write.
                if *step == Step::Lock {
                    lock(path)?;
                }
            }
            Step::Cover => mount(Some("tmpfs"), path, Some("tmpfs"), cover, Some(COVER_OPTIONS))
                .map_err(|errno| at(path, errno.into()))?,
        }
    }
    for (path, step) in &steps {
        match step {
            Step::Show | Step::Lock => {}
            Step::Cover => {
                mount_flags(path, cover | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY)?
            }
        }
    }
    match isolation.processes {
        Processes::All => Ok(()),
        Processes::Own => show_own_processes(),
    }
}

/// The mounts in their order: outer before inner, so that a hidden directory inside a kept one inside a hidden one is
/// hidden in the end. What changes nothing is left out, and so is `/`, which nothing can be mounted over; a path that is to
/// be both hidden and kept is hidden.
fn plan(hide: &[PathBuf], keep: &[PathBuf], read_only: &[PathBuf]) -> Vec<(PathBuf, Step)> {
    let each =
        |paths: &[PathBuf], step| paths.iter().map(move |path| (path.clone(), step)).collect::<Vec<_>>();
    let mut wanted = [each(keep, Step::Show), each(read_only, Step::Lock), each(hide, Step::Cover)].concat();
    wanted.retain(|(path, _)| path.parent().is_some());
    wanted.sort();
    let mut steps: Vec<(PathBuf, Step)> = Vec::new();
    for (path, step) in wanted {
        let around = steps.iter().rev().find(|(outer, _)| path.starts_with(outer));
        let before = around.map_or(Step::Show, |(_, step)| *step);
        if before != step {
            steps.push((path, step));
        }
    }
    steps
}

fn canonical(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    paths.iter().map(|path| std::fs::canonicalize(path).map_err(|error| at(path, error))).collect()
}

fn hold(path: &Path) -> io::Result<Kept> {
    let source = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_CLOEXEC)
        .open(path)
        .map_err(|error| at(path, error))?;
    let is_dir = source.metadata()?.is_dir();
    Ok(Kept { path: path.to_owned(), source, is_dir })
}

fn bind(kept: &Kept) -> io::Result<()> {
    if kept.is_dir {
        std::fs::create_dir_all(&kept.path)?;
    } else {
        if let Some(parent) = kept.path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        // One that is there is mounted upon, and not emptied.
        OpenOptions::new().append(true).create(true).open(&kept.path)?;
    }
    let source = PathBuf::from(format!("/proc/self/fd/{}", kept.source.as_raw_fd()));
    Ok(mount(Some(&source), &kept.path, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)?)
}

/// Makes a mount that has just been made, and those that came with it below it, read-only. What else an operator has set
/// for them stays: whoever remounts says all of a mount's flags.
fn lock(path: &Path) -> io::Result<()> {
    let mounts = Process::myself().and_then(|this| this.mountinfo()).map_err(io::Error::other)?;
    let below = |mount: MountInfo| {
        let place = unescaped(&mount.mount_point);
        place.starts_with(path).then_some((place, mount.mount_options))
    };
    let mounts: Vec<_> = mounts.into_iter().filter_map(below).collect();
    if mounts.is_empty() {
        return Err(at(path, io::Error::other("it was mounted, and the kernel does not list it")));
    }
    for (place, options) in mounts {
        let set = |(name, flag): &(&str, MsFlags)| options.contains_key(*name).then_some(*flag);
        let kept: MsFlags = OPTIONS.iter().filter_map(set).collect();
        mount_flags(&place, kept | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY)?;
    }
    Ok(())
}

/// A path as it stands in mountinfo: spaces and their like are a backslash and three octal digits.
fn unescaped(path: &Path) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = path.as_os_str().as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\');
        let number = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(bytes))
}

/// Flags of a mount that a remount forgets if they are not said again; of those about times it keeps what it is not told.
const OPTIONS: [(&str, MsFlags); 3] =
    [("nosuid", MsFlags::MS_NOSUID), ("nodev", MsFlags::MS_NODEV), ("noexec", MsFlags::MS_NOEXEC)];

fn mount_flags(path: &Path, flags: MsFlags) -> io::Result<()> {
    mount(None::<&str>, path, None::<&str>, flags, None::<&str>).map_err(|errno| at(path, errno.into()))
}

/// The same error with the path in its words and the number kept in front for the record.
fn at(path: &Path, error: io::Error) -> io::Error {
    crate::launch::PathError { path: path.to_owned(), source: error }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_mountinfo_are_read() {
        for (written, path) in [
            ("/srv/plain", "/srv/plain"),
            (r"/srv/My\040Game\011\134", "/srv/My Game\t\\"),
            (r"/a\9\04", r"/a\9\04"),
            (r"/a\777", r"/a\777"),
        ] {
            assert_eq!(unescaped(Path::new(written)), Path::new(path));
        }
    }

    #[test]
    fn mounts_go_from_the_outside_in_and_only_where_they_change_something() {
        use Step::{Cover, Lock, Show};
        type Paths = &'static [&'static str];
        type Row = (Paths, Paths, Paths, &'static [(&'static str, Step)]);
        let cases: [Row; 12] = [
            (&[], &["/usr"], &[], &[]),
            (&[], &[], &["/usr/games"], &[("/usr/games", Lock)]),
            (&[], &[], &["/"], &[]),
            (&[], &["/b/own"], &["/b", "/b/x"], &[("/b", Lock), ("/b/own", Show)]),
            (&["/data"], &["/usr", "/database"], &[], &[("/data", Cover)]),
            (&["/data/slots/2", "/data"], &[], &[], &[("/data", Cover)]),
            (&["/data"], &["/data/a", "/data/a/b"], &[], &[("/data", Cover), ("/data/a", Show)]),
            (&["/data"], &["/"], &[], &[("/data", Cover)]),
            (
                &["/home/x", "/home/x/clone/data"],
                &["/home/x/clone", "/home/x/clone/data/slots/1"],
                &[],
                &[
                    ("/home/x", Cover),
                    ("/home/x/clone", Show),
                    ("/home/x/clone/data", Cover),
                    ("/home/x/clone/data/slots/1", Show),
                ],
            ),
            (
                &["/home/x", "/home/x/clone/data"],
                &["/home/x/clone/data/slots/1"],
                &["/home/x/clone"],
                &[
                    ("/home/x", Cover),
                    ("/home/x/clone", Lock),
                    ("/home/x/clone/data", Cover),
                    ("/home/x/clone/data/slots/1", Show),
                ],
            ),
            (&["/data"], &["/data"], &[], &[("/data", Cover)]),
            (
                &["/home", "/home/data"],
                &["/home/data"],
                &[],
                &[("/home", Cover), ("/home/data", Show), ("/home/data", Cover)],
            ),
        ];
        for (hide, keep, read_only, expected) in cases {
            let paths = |list: &[&str]| list.iter().map(PathBuf::from).collect::<Vec<_>>();
            let found = plan(&paths(hide), &paths(keep), &paths(read_only));
            let expected: Vec<_> = expected.iter().map(|(path, step)| (PathBuf::from(path), *step)).collect();
            assert_eq!(found, expected, "hide {hide:?}, keep {keep:?}, read-only {read_only:?}");
        }
    }
}
