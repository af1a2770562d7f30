//! Secrets in files of their own: whole or not at all, and for their owner's eyes alone.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Makes a folder, closed to others.
pub(crate) fn folder(dir: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir)
}

/// Closes a file to others that was open to them.
pub(crate) fn only_its_owners(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), mode = format!("{:o}", mode & 0o777), "a key could be read by others; it is closed to them now");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

/// Writes a file whole or not at all.
pub(crate) fn write(dir: &Path, name: &str, text: &str, mode: u32) -> io::Result<()> {
    let unfinished = dir.join(format!("{name}.new"));
    match fs::remove_file(&unfinished) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, dir.join(name))?;
    File::open(dir)?.sync_all()
}
