//! The game's private view of the file system: named directories are empty, except for the slot's own parts.
//!
//! Runs in the child, as root, before the identity is dropped: afterwards the game can neither mount nor unmount.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::libc;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::spec::Isolation;

/// Options of the covering file system: it holds nothing but a few directories to mount on.
const COVER_OPTIONS: &str = "mode=0755,size=64k,nr_inodes=256";

/// A path that stays visible, held open across the covering.
struct Kept {
    path: PathBuf,
    source: File,
    is_dir: bool,
}

/// Makes the hidden directories empty and read-only for the calling process and its descendants.
///
/// A hidden directory that does not exist is an error: it could appear later, and would then be seen.
pub(crate) fn isolate(isolation: &Isolation) -> io::Result<()> {
    let hidden = outermost(canonical(&isolation.hide)?);
    let keep = canonical(&isolation.keep)?;
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Opened in the new namespace: what is held open across the border cannot be mounted.
    let kept = keep
        .into_iter()
        .filter(|path| hidden.iter().any(|cover| path.starts_with(cover)))
        .map(hold)
        .collect::<io::Result<Vec<Kept>>>()?;
    // A slave still receives unmounts of the machine, so a long-running game does not pin a file system in use.
    mount_flags(Path::new("/"), MsFlags::MS_REC | MsFlags::MS_SLAVE)?;
    let cover = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    for path in &hidden {
        mount(Some("tmpfs"), path, Some("tmpfs"), cover, Some(COVER_OPTIONS))
            .map_err(|errno| at(path, errno.into()))?;
    }
    for kept in &kept {
        bind(kept).map_err(|error| at(&kept.path, error))?;
    }
    for path in &hidden {
        mount_flags(path, cover | MsFlags::MS_REMOUNT | MsFlags::MS_BIND | MsFlags::MS_RDONLY)?;
    }
    Ok(())
}

fn canonical(paths: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    paths.iter().map(|path| std::fs::canonicalize(path).map_err(|error| at(path, error))).collect()
}

/// Drops paths below another one of the list: covering that one hides them.
fn outermost(paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut sorted = paths;
    sorted.sort();
    for path in sorted {
        if !found.iter().any(|cover| path.starts_with(cover)) {
            found.push(path);
        }
    }
    found
}

fn hold(path: PathBuf) -> io::Result<Kept> {
    let source = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH | libc::O_CLOEXEC)
        .open(&path)
        .map_err(|error| at(&path, error))?;
    let is_dir = source.metadata()?.is_dir();
    Ok(Kept { path, source, is_dir })
}

fn bind(kept: &Kept) -> io::Result<()> {
    if kept.is_dir {
        std::fs::create_dir_all(&kept.path)?;
    } else {
        if let Some(parent) = kept.path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        File::create(&kept.path)?;
    }
    let source = PathBuf::from(format!("/proc/self/fd/{}", kept.source.as_raw_fd()));
    Ok(mount(Some(&source), &kept.path, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)?)
}

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
    fn a_directory_below_a_hidden_one_needs_no_cover_of_its_own() {
        let cases: [(&[&str], &[&str]); 4] = [
            (&["/data"], &["/data"]),
            (&["/data/slots/2", "/data"], &["/data"]),
            (&["/data", "/database"], &["/data", "/database"]),
            (&[], &[]),
        ];
        for (paths, expected) in cases {
            let found = outermost(paths.iter().map(PathBuf::from).collect());
            assert_eq!(
                found,
                expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
                "outermost of {paths:?}"
            );
        }
    }
}
