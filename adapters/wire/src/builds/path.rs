//! Paths within a build: names from outside that become places on a disk, so nothing of them is believed.

/// The longest path within a build, in bytes; Linux takes 4,096 with the folder before it.
pub const PATH_BYTES_MAX: usize = 1_024;
/// The longest part of a path, in bytes: what file systems take.
pub const SEGMENT_BYTES_MAX: usize = 255;

/// A path that leaves its build, or that no disk takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no path within a build: 1 to {PATH_BYTES_MAX} bytes of names with `/` between, without `..`"
)]
pub struct PathError(pub String);

/// A path of names, relative, that stays within its build.
///
/// # Errors
/// Anything else; the error shows its first 100 characters.
pub fn checked_path(path: &str) -> Result<&str, PathError> {
    if path.len() <= PATH_BYTES_MAX && path.split('/').all(is_name) {
        Ok(path)
    } else {
        Err(PathError(path.chars().take(100).collect()))
    }
}

pub(super) fn is_name(part: &str) -> bool {
    !part.is_empty()
        && part != "."
        && part != ".."
        && part.len() <= SEGMENT_BYTES_MAX
        && !part.chars().any(|c| c.is_control() || c == '\\')
}
