//! What `up` runs: the files it was given, the ones it finds, or the demo.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use mainstay_config::{Config, Private, SourceFile, load_here};
use mainstay_journal::durable;
use sha2::{Digest as _, Sha256};

use crate::arguments::UpArguments;
use crate::commands::check;
use crate::failure::{Exit, Failure};
use crate::up::data;

/// What `up` runs, and what to call it on the screen.
pub struct Source {
    /// What the files say.
    pub config: Config,
    /// Their names, or that it is the demo, or that there is nothing.
    pub name: String,
    /// SHA-256 of their names and bytes; `None` where there is nothing.
    pub sha256: Option<[u8; 32]>,
}

/// What is said where there is no file.
const NOTHING: &str = "no file here";
/// What the demo is called on the screen.
pub const DEMO_NAME: &str = "built-in demo";
const DEMO: &str = include_str!("demo.yaml");
/// Its game's name in `demo.yaml`.
const DEMO_BINARY: &str = "mainstay";

/// Reads what `up` shall run; warnings go to standard error, errors end it, all at once.
pub fn read(arguments: &UpArguments, data_dir: &Path) -> Result<Source, Failure> {
    let (files, name) = if arguments.demo {
        (vec![demo(data_dir)?], DEMO_NAME.to_owned())
    } else if arguments.files.is_empty() {
        let found = find(Path::new("."));
        let name = found.first().map_or_else(|| NOTHING.to_owned(), |file| file.display().to_string());
        (if found.is_empty() { vec![empty()] } else { check::read(&found)? }, name)
    } else {
        let names: Vec<String> = arguments.files.iter().map(|file| file.display().to_string()).collect();
        (check::read(&arguments.files)?, names.join(", "))
    };
    let accepted =
        load_here(&files, &Private::of(data_dir)).map_err(|refused| problem(&refused.to_string()))?;
    for warning in &accepted.warnings {
        eprintln!("{warning}\n");
    }
    let sha256 = (name != NOTHING).then(|| hash(&files));
    Ok(Source { config: accepted.config, name, sha256 })
}

/// What tells one configuration from another: names are absolute, since relative build paths count from their folders.
fn hash(files: &[SourceFile]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for file in files {
        let name = std::path::absolute(&file.name).unwrap_or_else(|_| PathBuf::from(&file.name));
        for part in [name.as_os_str().as_encoded_bytes(), &file.bytes] {
            hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(part);
        }
    }
    hash.finalize().into()
}

/// `mainstay.yaml`, else the only `.gsh` of a folder.
fn find(folder: &Path) -> Vec<PathBuf> {
    let own = folder.join("mainstay.yaml");
    if own.is_file() {
        return vec![own];
    }
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let unity: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|suffix| suffix == "gsh")).collect();
    if unity.len() == 1 { unity } else { Vec::new() }
}

fn empty() -> SourceFile {
    SourceFile::new("(nothing)", "version: 1.0\n")
}

/// The demo is this very program, run as a game server.
fn demo(data_dir: &Path) -> Result<SourceFile, Failure> {
    let program = env::current_exe().map_err(|error| {
        Failure::new(Exit::Failed, "MS-U011", "cannot tell where this program is").why(error)
    })?;
    let folder = data::make(data_dir)?.join(Private::DEMO);
    alone(&program, &folder).map_err(|error| {
        let what = format!("cannot put the demo's game into {}", folder.display());
        Failure::new(Exit::Failed, "MS-U012", what).why(error)
    })?;
    let text = DEMO.replace("$DEMO_FOLDER", &quoted(&folder.to_string_lossy()));
    Ok(SourceFile::new("demo.yaml", text))
}

/// Has a program lie alone in a folder, as a build that machines are given: where it was built or installed lie thousands of
/// other files. Servers that run what lies there already go on.
fn alone(program: &Path, folder: &Path) -> io::Result<()> {
    let place = folder.join(DEMO_BINARY);
    fs::create_dir_all(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))?;
    let wanted = fs::metadata(program)?;
    let is_there = fs::metadata(&place).is_ok_and(|there| {
        (there.dev(), there.ino()) == (wanted.dev(), wanted.ino())
            || (there.len(), there.modified().ok()) == (wanted.len(), wanted.modified().ok())
    });
    if is_there {
        return Ok(());
    }
    let unfinished = folder.with_extension("new");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    // A link costs nothing; across file systems, or where the program is another user's, there is none.
    if fs::hard_link(program, &unfinished).is_err() {
        fs::copy(program, &unfinished)?;
        let copy = File::open(&unfinished)?;
        copy.set_modified(wanted.modified()?)?;
        copy.sync_all()?;
    }
    durable::rename(&unfinished, &place)
}

/// A YAML string, whatever is in it: JSON's form is also YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn problem(text: &str) -> Failure {
    Failure::new(Exit::Failed, "", text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_config::load;

    #[test]
    fn the_demo_is_a_valid_configuration_without_warnings() {
        let dir = tempfile::tempdir().unwrap();
        let accepted = load(&[demo(dir.path()).unwrap()]).unwrap();
        assert_eq!(accepted.warnings, vec![]);
        assert!(accepted.config.fleets["tugboat"].start_on_provision.value);
        assert_eq!(accepted.config.build_configurations["tugboat"].binary_path.value, DEMO_BINARY);
    }

    #[test]
    fn a_configuration_is_another_by_a_byte_or_a_name() {
        let file = |name: &str, text: &str| SourceFile::new(name, text);
        let known = hash(&[file("a.yaml", "x"), file("b.yaml", "y")]);
        assert_eq!(known, hash(&[file("a.yaml", "x"), file("b.yaml", "y")]));
        for other in [[file("a.yaml", "x"), file("b.yaml", "z")], [file("a.yaml", "xb.yaml"), file("", "y")]]
        {
            assert_ne!(known, hash(&other));
        }
        let here = std::env::current_dir().unwrap();
        let absolute = here.join("a.yaml").display().to_string();
        assert_eq!(hash(&[file("a.yaml", "x")]), hash(&[file(&absolute, "x")]));
    }

    #[test]
    fn the_demos_game_lies_alone_in_its_build_and_is_replaced_by_another() {
        let dir = tempfile::tempdir().unwrap();
        let (program, folder) = (dir.path().join("target"), dir.path().join("data/demo"));
        fs::write(&program, "one").unwrap();
        alone(&program, &folder).unwrap();
        let place = folder.join(DEMO_BINARY);
        let inode = || fs::metadata(&place).unwrap().ino();
        let first = inode();
        alone(&program, &folder).unwrap();
        assert_eq!(inode(), first);
        // As cargo does: another file under the name.
        fs::remove_file(&program).unwrap();
        fs::write(&program, "another").unwrap();
        alone(&program, &folder).unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"another");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
