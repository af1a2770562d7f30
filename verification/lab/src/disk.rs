//! The machine's disk: an ext4 image of the base and of what a test puts there.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{LabError, files, run};
use crate::packages::Base;

/// Its size: an agent keeps 1 GiB of it free. The image is sparse, and what is free stays so.
const SIZE: &str = "4G";

/// What is put into the tree.
#[derive(Debug, Clone)]
pub enum Content {
    /// A program, without its symbols, to be executed.
    Program(PathBuf),
    /// A text.
    Text(String),
    /// A symbolic link.
    Link(String),
}

/// Whether images with root's files can be made here: as root, or where a user may call himself root.
///
/// # Errors
/// Why not.
pub fn can_make() -> Result<(), LabError> {
    as_root(Command::new("true")).and_then(|mut command| run(&mut command)).map(|_| ())
}

/// Makes the image `disk` of the base and of `contents`, by path from the root. `scratch` is a folder on the base's own
/// file system, made and removed.
///
/// # Errors
/// A program failed, or the disk is full.
pub fn make(base: &Base, contents: &[(&str, Content)], scratch: &Path, disk: &Path) -> Result<(), LabError> {
    // Hard links: thousands of files in an instant. What is put there replaces, and never changes, a file of the base.
    run(Command::new("cp").args(["--archive", "--link"]).arg(&base.tree).arg(scratch))?;
    for (name, content) in contents {
        let path = scratch.join(name.trim_start_matches('/'));
        let dir = path.parent().unwrap_or(scratch);
        fs::create_dir_all(dir).map_err(files("make", dir))?;
        if path.symlink_metadata().is_ok() {
            fs::remove_file(&path).map_err(files("replace", &path))?;
        }
        match content {
            Content::Program(program) => {
                run(Command::new("strip").arg("-o").arg(&path).arg(program))?;
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
                    .map_err(files("allow to run", &path))?;
            }
            Content::Text(text) => fs::write(&path, text).map_err(files("write", &path))?,
            Content::Link(target) => symlink(target, &path).map_err(files("link", &path))?,
        }
    }
    let mut format = Command::new("mke2fs");
    format.args(["-q", "-F", "-t", "ext4", "-E", "root_owner=0:0", "-d"]).arg(scratch).arg(disk).arg(SIZE);
    run(&mut as_root(format)?)?;
    fs::remove_dir_all(scratch).map_err(files("remove", scratch))
}

/// The same command where this user is root, or looks like it: the image's files belong to whom they seem to belong.
fn as_root(command: Command) -> Result<Command, LabError> {
    if run(Command::new("id").arg("-u"))?.trim() == "0" {
        return Ok(command);
    }
    let mut wrapped = Command::new("unshare");
    wrapped.arg("--map-root-user").arg(command.get_program()).args(command.get_args());
    Ok(wrapped)
}
