//! How a file gets its name so that a power cut leaves it whole or not at all: what it holds is synced before, and its folder
//! after.
//!
//! Here alone: a sync that was forgotten shows nowhere but in a power cut. `clippy.toml` keeps `std::fs::rename` from everybody
//! else, and a test watches the system calls.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Makes a folder with this mode, and those above it that are missing, and syncs the name of each. One call at a time where
/// somebody promises what lies in it: whoever finds it there syncs nothing.
///
/// # Errors
/// What the system said; folders that were made stay.
pub fn make_folder(folder: &Path, mode: u32) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = above(folder) {
        make_folder(above, mode)?;
    }
    match DirBuilder::new().mode(mode).create(folder) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        made => made?,
    }
    sync_above(folder)
}

/// Gives a file whose bytes are synced, or a folder whose names are, its name, and syncs that. What had the name is replaced.
///
/// # Errors
/// What the system said. Where only the sync failed, the name may or may not be there after a power cut.
#[expect(clippy::disallowed_methods, reason = "this is the one place that may")]
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_above(to)
}

/// How the name of a file ends that is being written, behind a point.
pub const UNFINISHED: &str = "new";

/// Writes a file of this mode, so that after a power cut it holds what it held or what it shall hold, whole. `NAME.new` beside it
/// is used for that ([`UNFINISHED`]): one call at a time for a name.
///
/// # Errors
/// What the system said; the old file is then untouched, but for a failed sync of its new name.
pub fn write(dir: &Path, name: &str, bytes: &[u8], mode: u32) -> io::Result<()> {
    let unfinished = dir.join(format!("{name}.{UNFINISHED}"));
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    rename(&unfinished, &dir.join(name))
}

/// Makes what a folder says durable: which names it has, and which not any more.
///
/// # Errors
/// What the system said.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn sync_above(path: &Path) -> io::Result<()> {
    sync_folder(above(path).unwrap_or(Path::new(".")))
}

fn above(path: &Path) -> Option<&Path> {
    path.parent().filter(|above| !above.as_os_str().is_empty())
}
