//! What `up` runs: the files it was given, the ones it finds, or the demo.

use std::env;
use std::path::{Path, PathBuf};

use mainstay_config::{Config, SourceFile, load_here, look_on_disk};

use crate::arguments::UpArguments;
use crate::commands::check;
use crate::failure::{Exit, Failure};

/// What `up` runs, and what to call it on the screen.
pub struct Source {
    /// What the files say.
    pub config: Config,
    /// Their names, or that it is the demo, or that there is nothing.
    pub name: String,
}

const DEMO: &str = include_str!("demo.yaml");

/// Reads what `up` shall run; warnings go to standard error, errors end it, all at once.
pub fn read(arguments: &UpArguments) -> Result<Source, Failure> {
    let (files, name) = if arguments.demo {
        (vec![demo()?], "built-in demo".to_owned())
    } else if arguments.files.is_empty() {
        let found = find(Path::new("."));
        let name = found.first().map_or_else(|| "no file here".to_owned(), |file| file.display().to_string());
        (if found.is_empty() { vec![empty()] } else { check::read(&found)? }, name)
    } else {
        let names: Vec<String> = arguments.files.iter().map(|file| file.display().to_string()).collect();
        (check::read(&arguments.files)?, names.join(", "))
    };
    let accepted = load_here(&files, &look_on_disk).map_err(|refused| problem(&refused.to_string()))?;
    for warning in &accepted.warnings {
        eprintln!("{warning}\n");
    }
    Ok(Source { config: accepted.config, name })
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
fn demo() -> Result<SourceFile, Failure> {
    let program = env::current_exe().map_err(|error| {
        Failure::new(Exit::Failed, "MS-U011", "cannot tell where this program is").why(error)
    })?;
    let part = |part: Option<&std::ffi::OsStr>| {
        part.map(|part| part.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let text = DEMO
        .replace("$DEMO_FOLDER", &quoted(&part(program.parent().map(Path::as_os_str))))
        .replace("$DEMO_BINARY", &quoted(&part(program.file_name())));
    Ok(SourceFile::new("demo.yaml", text))
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
        let accepted = load(&[demo().unwrap()]).unwrap();
        assert_eq!(accepted.warnings, vec![]);
        assert!(accepted.config.fleets["tugboat"].start_on_provision.value);
    }
}
