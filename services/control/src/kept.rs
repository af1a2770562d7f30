//! Secrets in files of their own, for their owner's eyes alone.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use mainstay_journal::durable::make_folder;

/// Makes a folder, closed to others.
pub(crate) fn folder(dir: &Path) -> io::Result<()> {
    make_folder(dir, 0o700)
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
