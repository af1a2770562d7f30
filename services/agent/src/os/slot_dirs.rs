//! Where a slot's things are, and whose they are.
//!
//! ```text
//! <data directory>/slots/<server id>/
//!     run/      the holder's: lock, socket, records                    agent alone
//!     output/   standard output and error, rotated by the holder       agent alone
//!     evidence/ what is kept of processes that ended as nobody wished  agent alone
//!     home/     $HOME and $$config_dir$$, holds server.json            the slot's user alone
//!     logs/     $$log_dir$$: what the game writes itself               the slot's user alone
//!     work/     a working directory for games that need to write theirs  the slot's user alone
//! ```

use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, lchown};
use std::path::{Path, PathBuf};

use mainstay_core::ServerId;
use mainstay_holder::spec::{Identity, Isolation, Processes};
use nix::unistd::{Gid, Uid, fchown};

use super::OsError;

/// Mode of every directory of a slot.
const PRIVATE: u32 = 0o700;

/// Mode of the folders above them.
const WAY: u32 = 0o711;

/// Deepest folder looked at when a slot changes its user: games do not nest deeper, and a loop of mounts would.
const DEPTH_MAX: usize = 64;

/// Whose a slot's directories are, and as whom its game runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The agent's own user: without root there is no other choice.
    Agent,
    /// A user that only this slot has.
    Slot(Uid),
}

impl Owner {
    /// For the launch.
    #[must_use]
    pub const fn identity(self) -> Identity {
        match self {
            Self::Agent => Identity::Inherited,
            Self::Slot(uid) => Identity::Dropped { uid: uid.as_raw(), gid: uid.as_raw() },
        }
    }

    /// The user that only this slot has, if it has one.
    #[must_use]
    pub const fn own_uid(self) -> Option<u32> {
        match self {
            Self::Agent => None,
            Self::Slot(uid) => Some(uid.as_raw()),
        }
    }

    pub(super) fn is_of(self, found: &Metadata) -> bool {
        found.uid() == self.uid().as_raw()
    }

    pub(super) fn own(self, file: &File) -> io::Result<()> {
        match self {
            Self::Agent => Ok(()),
            Self::Slot(uid) => Ok(fchown(file.as_fd(), Some(uid), Some(Gid::from_raw(uid.as_raw())))?),
        }
    }

    fn uid(self) -> Uid {
        match self {
            Self::Agent => Uid::effective(),
            Self::Slot(uid) => uid,
        }
    }
}

/// The directories of one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotDirs {
    /// What all of them are in.
    pub dir: PathBuf,
    /// The holder's run directory.
    pub run: PathBuf,
    /// Standard output and error.
    pub output: PathBuf,
    /// What is kept of processes that ended as nobody wished, made when there is some.
    pub evidence: PathBuf,
    /// `$HOME`.
    pub home: PathBuf,
    /// The game's own logs.
    pub logs: PathBuf,
    /// A working directory that the game may write.
    pub work: PathBuf,
}

impl SlotDirs {
    /// The layout for a server, nothing made yet.
    #[must_use]
    pub fn of(data_dir: &Path, server: ServerId) -> Self {
        let slot = data_dir.join("slots").join(server.number().to_string());
        Self {
            run: slot.join("run"),
            output: slot.join("output"),
            evidence: slot.join("evidence"),
            home: slot.join("home"),
            logs: slot.join("logs"),
            work: slot.join("work"),
            dir: slot,
        }
    }

    /// Makes the directories and gives the game's to `owner`, with all their contents if they belonged to somebody else
    /// before. No process of the slot may run meanwhile.
    ///
    /// # Errors
    /// A directory cannot be made or given away.
    pub fn prepare(&self, owner: Owner) -> Result<(), OsError> {
        for folder in self.run.ancestors().skip(1).take(2).collect::<Vec<_>>().into_iter().rev() {
            make_way(folder)?;
        }
        for dir in [&self.run, &self.output] {
            make(dir, Owner::Agent)?;
        }
        for dir in self.of_game() {
            make(dir, owner)?;
        }
        Ok(())
    }

    /// The directories that the game may write.
    #[must_use]
    pub fn of_game(&self) -> [&Path; 3] {
        [&self.home, &self.logs, &self.work]
    }
}

/// A folder on the way to a slot's directories: entered by all, listed by the agent alone.
fn make_way(folder: &Path) -> Result<(), OsError> {
    let failed = |what| move |source| OsError::Files { what, path: folder.to_owned(), source };
    DirBuilder::new().recursive(true).mode(PRIVATE).create(folder).map_err(failed("make"))?;
    std::fs::set_permissions(folder, Permissions::from_mode(WAY)).map_err(failed("open"))
}

fn make(dir: &Path, owner: Owner) -> Result<(), OsError> {
    let failed = |what| move |source| OsError::Files { what, path: dir.to_owned(), source };
    DirBuilder::new().recursive(true).mode(PRIVATE).create(dir).map_err(failed("make"))?;
    let found = std::fs::symlink_metadata(dir).map_err(failed("look at"))?;
    if !found.is_dir() {
        let source = io::Error::from(io::ErrorKind::NotADirectory);
        return Err(failed("use")(source));
    }
    if found.mode() & 0o7777 != PRIVATE {
        std::fs::set_permissions(dir, Permissions::from_mode(PRIVATE)).map_err(failed("close"))?;
    }
    if !owner.is_of(&found) {
        give(dir, owner, DEPTH_MAX).map_err(failed("give away"))?;
    }
    Ok(())
}

/// Changes the owner of everything below, without following links.
fn give(path: &Path, owner: Owner, depth: usize) -> io::Result<()> {
    let uid = owner.uid().as_raw();
    if std::fs::symlink_metadata(path)?.is_dir() {
        if depth == 0 {
            return Err(io::Error::other(format!("folders nest deeper than {DEPTH_MAX}")));
        }
        for entry in std::fs::read_dir(path)? {
            give(&entry?.path(), owner, depth - 1)?;
        }
    }
    lchown(path, Some(uid), Some(uid))
}

/// What a game of this slot must not see: the data directory (credentials, journal, other slots) and whatever folder
/// above a needed path is closed to the slot's user; `own`, the slot's directories, stay visible, and so does the build,
/// which it cannot write: other slots start from it.
///
/// A studio's data directory or build may lie in a home directory that only its owner may enter. Hiding that home and
/// showing the needed paths in it lets the game in and keeps everything else of it out of sight.
///
/// # Errors
/// A path cannot be looked at.
pub fn view(data_dir: &Path, own: &[&Path], build: &Path) -> Result<Isolation, OsError> {
    let real = |path: &Path| {
        let failed = |source| OsError::Files { what: "look at", path: path.to_owned(), source };
        path.canonicalize().map_err(failed)
    };
    let keep = own.iter().map(|path| real(path)).collect::<Result<Vec<_>, _>>()?;
    let read_only = vec![real(build)?];
    let mut hide = vec![real(data_dir)?];
    for path in keep.iter().chain(&read_only) {
        hide.extend(outermost_closed(path)?);
    }
    hide.sort();
    hide.dedup();
    Ok(Isolation { hide, keep, read_only, processes: Processes::All })
}

/// Refuses a build that the slot's user cannot enter or start. A folder above it may be closed: [`view`] leads around it.
///
/// # Errors
/// [`OsError::Closed`]; or it cannot be looked at.
pub fn usable(path: &Path, owner: Owner) -> Result<(), OsError> {
    let Owner::Slot(uid) = owner else { return Ok(()) };
    let failed = |source| OsError::Files { what: "look at", path: path.to_owned(), source };
    let found = std::fs::metadata(path).map_err(failed)?;
    let right = if found.uid() == uid.as_raw() {
        0o100
    } else if found.gid() == uid.as_raw() {
        0o010
    } else {
        0o001
    };
    // What nobody may start is no build at all; the start says so.
    let is_build = found.is_dir() || found.mode() & 0o111 != 0;
    if is_build && found.mode() & right == 0 {
        return Err(OsError::Closed { path: path.to_owned(), mode: found.mode() & 0o7777 });
    }
    Ok(())
}

/// The outermost folder above `path` that strangers may not enter.
pub(super) fn outermost_closed(path: &Path) -> Result<Option<PathBuf>, OsError> {
    let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
    above.reverse();
    for folder in above {
        let failed = |source| OsError::Files { what: "look at", path: folder.to_owned(), source };
        let mode = match std::fs::metadata(folder) {
            Ok(found) => found.mode(),
            // Not made yet: the agent will make it open.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        if mode & 0o001 == 0 {
            return Ok(Some(folder.to_owned()));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use mainstay_core::FleetNumber;

    use super::*;

    fn dirs(data: &Path) -> SlotDirs {
        SlotDirs::of(data, ServerId::of(FleetNumber::new(0).unwrap(), 7))
    }

    #[test]
    fn every_directory_of_a_slot_is_closed_to_others() {
        let data = tempfile::tempdir().unwrap();
        let dirs = dirs(data.path());
        dirs.prepare(Owner::Agent).unwrap();
        std::fs::set_permissions(&dirs.home, Permissions::from_mode(0o777)).unwrap();
        dirs.prepare(Owner::Agent).unwrap();
        for dir in [&dirs.run, &dirs.output, &dirs.home, &dirs.logs, &dirs.work] {
            assert!(dir.starts_with(data.path().join("slots/7")));
            assert_eq!(std::fs::metadata(dir).unwrap().mode() & 0o7777, 0o700, "{}", dir.display());
        }
        for way in ["slots", "slots/7"] {
            assert_eq!(std::fs::metadata(data.path().join(way)).unwrap().mode() & 0o7777, 0o711, "{way}");
        }
    }

    #[test]
    fn a_link_in_place_of_a_directory_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let dirs = dirs(data.path());
        dirs.prepare(Owner::Agent).unwrap();
        std::fs::remove_dir(&dirs.logs).unwrap();
        symlink("/tmp", &dirs.logs).unwrap();
        assert_eq!(dirs.prepare(Owner::Agent).unwrap_err().code(), "MS-S501");
    }

    #[test]
    fn a_slot_that_gets_another_user_takes_its_files_along() {
        if !Uid::effective().is_root() {
            eprintln!("SKIPPED without root: a slot that gets another user");
            return;
        }
        let data = tempfile::tempdir().unwrap();
        let dirs = dirs(data.path());
        dirs.prepare(Owner::Slot(Uid::from_raw(1_900_000_010))).unwrap();
        std::fs::create_dir(dirs.home.join("saves")).unwrap();
        std::fs::write(dirs.home.join("saves/world"), "kept").unwrap();
        let outside = data.path().join("outside");
        std::fs::write(&outside, "not the slot's").unwrap();
        symlink(&outside, dirs.home.join("link")).unwrap();
        let user = Uid::from_raw(1_900_000_011);
        dirs.prepare(Owner::Slot(user)).unwrap();
        for (path, uid) in [
            (dirs.home.clone(), user.as_raw()),
            (dirs.home.join("saves/world"), user.as_raw()),
            (dirs.home.join("link"), user.as_raw()),
            (dirs.run.clone(), 0),
            (outside, 0),
        ] {
            assert_eq!(std::fs::symlink_metadata(&path).unwrap().uid(), uid, "{}", path.display());
        }
    }

    /// An attacker's finding: a build whose own folder is closed (0700) was told as if it were not there.
    #[test]
    fn a_build_that_the_slots_user_cannot_enter_or_start_is_told_as_closed() {
        let top = tempfile::tempdir().unwrap();
        let (folder, game) = (top.path().join("build"), top.path().join("build/game"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&game, "").unwrap();
        let slot = Owner::Slot(Uid::from_raw(1_900_000_012));
        for (path, mode, closed) in
            [(&folder, 0o700, true), (&folder, 0o711, false), (&game, 0o744, true), (&game, 0o755, false)]
        {
            std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
            let found = usable(path, slot);
            assert_eq!(found.is_err(), closed, "{} {mode:o}: {found:?}", path.display());
            if let Err(error) = found {
                assert_eq!(error.code(), "MS-S508");
                assert!(error.to_string().contains("chmod o+"), "{error}");
            }
            usable(path, Owner::Agent).unwrap();
        }
        assert_eq!(usable(&top.path().join("missing"), slot).unwrap_err().code(), "MS-S501");
    }

    #[test]
    fn a_view_hides_the_data_directory_and_every_closed_folder_on_the_way_to_what_is_needed() {
        let top = tempfile::tempdir().unwrap();
        let make = |path: &str, mode| {
            let path = top.path().join(path);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            path.canonicalize().unwrap()
        };
        let top_path = make("", 0o755);
        let closed = make("closed", 0o700);
        let build = make("closed/inner/build", 0o755);
        make("closed/inner", 0o700);
        let open = make("open", 0o755);
        let data = make("data", 0o755);
        let home = make("data/home", 0o700);
        let view = view(&data, &[&open, &home], &build).unwrap();
        assert_eq!(view.hide, [closed, data.clone()]);
        assert_eq!((view.keep, view.read_only), (vec![open, home], vec![build]));
        drop(top_path);
        let error = super::view(&data, &[], &top.path().join("missing")).unwrap_err();
        assert_eq!(error.code(), "MS-S501");
    }
}
