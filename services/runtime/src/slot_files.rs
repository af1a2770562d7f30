//! The files of a slot, read by somebody with more rights than the game that wrote them.
//!
//! A game's user owns its log folder, so what stands there may be a link to a file that only root reads, or a pipe that
//! never ends. So every step below the slot's folder refuses links and leaves nothing but regular files. It stands here
//! because agents and control planes read such files, and neither may know the other.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, openat, openat2, statat, unlinkat,
};

/// What of a slot is shown: its standard output and error, the game's own logs, and the evidence of processes that ended
/// as nobody wished, their cores among it.
pub const SHOWN: [&str; 3] = ["output", LOGS, "evidence"];
/// The games' own logs, `$$log_dir$$`.
const LOGS: &str = "logs";
/// The most files one listing has.
pub const FILES_MAX: usize = 10_000;
/// How deep folders are looked into: games do not nest their logs deeper.
const DEPTH_MAX: usize = 8;

/// A file a server wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotFile {
    /// Its path within the slot, such as `logs/server.log`.
    pub path: String,
    /// Bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: SystemTime,
}

/// Every regular file of a slot that is shown, by path; `None` where there is no such folder.
///
/// # Errors
/// Where a folder cannot be read.
pub fn list(slot: &Path) -> io::Result<Option<Vec<SlotFile>>> {
    list_in(slot, &SHOWN)
}

/// The game's own log that was written last, and not before `since`; `None` where there is none.
///
/// # Errors
/// Where a folder cannot be read.
pub fn newest_log(slot: &Path, since: SystemTime) -> io::Result<Option<SlotFile>> {
    let files = list_in(slot, &[LOGS])?.unwrap_or_default();
    Ok(files.into_iter().filter(|file| file.modified >= since).max_by_key(|file| file.modified))
}

fn list_in(slot: &Path, parts: &[&str]) -> io::Result<Option<Vec<SlotFile>>> {
    let folder = match openat(CWD, slot, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    let mut files = Vec::new();
    for part in parts {
        look(&folder, part, DEPTH_MAX, &mut files)?;
    }
    files.sort_by(|one: &SlotFile, other: &SlotFile| one.path.cmp(&other.path));
    Ok(Some(files))
}

fn look(slot: &OwnedFd, path: &str, deeper: usize, files: &mut Vec<SlotFile>) -> io::Result<()> {
    let folder = match beneath(slot, path, OFlags::DIRECTORY) {
        // Not there, no folder, or a link: nothing to show.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => return Ok(()),
        opened => opened?,
    };
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if name == "." || name == ".." || files.len() >= FILES_MAX {
            continue;
        }
        // What is gone since is not shown.
        let Ok(found) = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        let path = format!("{path}/{name}");
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => {
                let since_epoch = u64::try_from(found.st_mtime)
                    .ok()
                    .zip(u32::try_from(found.st_mtime_nsec).ok())
                    .map_or(Duration::ZERO, |(seconds, nanos)| Duration::new(seconds, nanos));
                let modified = SystemTime::UNIX_EPOCH + since_epoch;
                files.push(SlotFile { path, size: u64::try_from(found.st_size).unwrap_or(0), modified });
            }
            FileType::Directory if deeper > 0 => look(slot, &path, deeper - 1, files)?,
            FileType::Directory
            | FileType::Symlink
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
    }
    Ok(())
}

fn beneath(slot: &OwnedFd, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let flags = flags | OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    openat2(slot, path, flags, Mode::empty(), ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS)
}

/// A regular file of a slot that is shown; `None` where there is none.
///
/// # Errors
/// Where it cannot be read.
pub fn open(slot: &Path, path: &str) -> io::Result<Option<File>> {
    let shown = SHOWN.iter().any(|part| path.strip_prefix(part).is_some_and(|rest| rest.starts_with('/')));
    if !shown || path.split('/').any(|part| part == "..") {
        return Ok(None);
    }
    let folder = match openat(CWD, slot, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    {
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        opened => opened?,
    };
    let file: File = match beneath(&folder, path, OFlags::NOFOLLOW) {
        Err(
            rustix::io::Errno::NOENT
            | rustix::io::Errno::NOTDIR
            | rustix::io::Errno::LOOP
            | rustix::io::Errno::XDEV
            | rustix::io::Errno::NXIO
            | rustix::io::Errno::INVAL,
        ) => return Ok(None),
        opened => opened?.into(),
    };
    Ok(file.metadata()?.is_file().then_some(file))
}

/// Deletes a regular file of a slot that is shown, and says whether there was one. What a game put in its place is left.
///
/// # Errors
/// Where it cannot be deleted.
pub fn remove(slot: &Path, path: &str) -> io::Result<bool> {
    if open(slot, path)?.is_none() {
        return Ok(false);
    }
    let folder = openat(CWD, slot, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let Some((parent, name)) = path.rsplit_once('/') else { return Ok(false) };
    let parent = beneath(&folder, parent, OFlags::DIRECTORY)?;
    match unlinkat(parent, name, AtFlags::empty()) {
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::ISDIR) => Ok(false),
        removed => Ok(removed.map(|()| true)?),
    }
}

/// How many more bytes the disk of a folder takes.
///
/// # Errors
/// Where the system does not say.
pub fn free(folder: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(folder)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn regular_files_are_shown_and_links_pipes_and_the_rest_of_the_slot_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let slot = dir.path().join("slot");
        for part in ["logs/deep", "output", "evidence/1", "home", "run"] {
            std::fs::create_dir_all(slot.join(part)).unwrap();
        }
        std::fs::write(slot.join("logs/deep/server.log"), "hello\n").unwrap();
        std::fs::write(slot.join("evidence/1/core"), "core").unwrap();
        std::fs::write(slot.join("home/server.json"), "{}").unwrap();
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        symlink(dir.path().join("secret"), slot.join("logs/link.log")).unwrap();
        symlink(dir.path(), slot.join("logs/folder")).unwrap();
        rustix::fs::mknodat(CWD, slot.join("logs/pipe.log"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let paths: Vec<String> = list(&slot).unwrap().unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(paths, ["evidence/1/core", "logs/deep/server.log"]);
        let mut text = String::new();
        open(&slot, "logs/deep/server.log").unwrap().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello\n");
        for path in [
            "logs/link.log",
            "logs/folder/secret",
            "logs/pipe.log",
            "logs/../home/server.json",
            "logs/../../secret",
            "home/server.json",
            "/etc/passwd",
            "logs",
            "logs/",
            "",
            "logs/none.log",
            "output/../../secret",
        ] {
            assert!(open(&slot, path).unwrap().is_none(), "{path}");
        }
        assert_eq!(list(&dir.path().join("none")).unwrap(), None);
        for kept in ["logs/link.log", "logs/folder/secret", "home/server.json", "logs/deep"] {
            assert!(!remove(&slot, kept).unwrap(), "{kept}");
        }
        assert!(dir.path().join("secret").exists() && slot.join("home/server.json").exists());
        assert!(remove(&slot, "logs/deep/server.log").unwrap());
        assert!(!slot.join("logs/deep/server.log").exists());
    }
}
