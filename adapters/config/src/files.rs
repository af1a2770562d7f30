//! Whether the builds exist on this machine. Loading never looks: a file may be checked where its builds are not.

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::codes::Code;
use crate::model::{Build, BuildConfiguration, BuildPath, Config, Image};
use crate::place::{Place, Sources};
use crate::problem::{Problem, quote};

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing.
    Missing,
    /// A folder.
    Folder,
    /// A folder that nobody but its owner may enter, while games run as users of their own (the agent is root).
    ClosedFolder,
    /// A file that may be started.
    Executable,
    /// A file without an executable bit.
    PlainFile,
    /// A device, socket or pipe.
    Other,
    /// A folder that is, or lies in, the control plane's own data directory.
    Private,
    /// It could not be looked at; the system's reason.
    Unreadable(String),
}

impl Found {
    fn label(&self) -> String {
        match self {
            Self::Missing => "does not exist".into(),
            Self::Folder => "is a folder".into(),
            Self::ClosedFolder => "is closed to the users that games run as".into(),
            Self::Executable => "is a file".into(),
            Self::PlainFile => "is not executable".into(),
            Self::Other => "is neither a file nor a folder".into(),
            Self::Private => "lies in the control plane's own data directory".into(),
            Self::Unreadable(reason) => format!("cannot be read: {reason}"),
        }
    }
}

/// Looks at paths. Any `Fn(&Path) -> Found` is one; [`look_on_disk`] is the real one.
pub trait FileCheck {
    /// What is at `path`, symbolic links followed.
    fn look(&self, path: &Path) -> Found;
}

impl<F: Fn(&Path) -> Found> FileCheck for F {
    fn look(&self, path: &Path) -> Found {
        self(path)
    }
}

/// Looks at this machine's file system. A file counts as executable if any of its executable bits is set: whose uid
/// will start it is known only to the agent.
pub fn look_on_disk(path: &Path) -> Found {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() && metadata.permissions().mode() & 0o001 == 0 && is_root() => {
            Found::ClosedFolder
        }
        Ok(metadata) if metadata.is_dir() => Found::Folder,
        Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => Found::Executable,
        Ok(metadata) if metadata.is_file() => Found::PlainFile,
        Ok(_) => Found::Other,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Found::Missing,
        Err(error) => Found::Unreadable(error.to_string()),
    }
}

/// Whether this process is root, and so the agent that it would start: then every game has a user of its own.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// A control plane's own data directory, which nothing may be given to machines from. Told by device and inode, so that it is
/// the same by whatever name, link or mount it is reached.
#[derive(Debug, Clone, Default)]
pub struct Private {
    /// It, and the folders directly in it.
    folders: BTreeSet<(u64, u64)>,
    /// What games lie in that Mainstay itself puts there: the demo's.
    open: BTreeSet<(u64, u64)>,
}

impl Private {
    /// The folder of the demo's game, in a data directory.
    pub const DEMO: &str = "demo";

    /// Of a data directory, as it is now; one that does not exist holds nothing yet.
    #[must_use]
    pub fn of(data_dir: &Path) -> Self {
        let entries = std::fs::read_dir(data_dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let open: BTreeSet<_> = identity(&data_dir.join(Self::DEMO)).into_iter().collect();
        let all = entries.chain([data_dir.to_owned()]).filter(|path| path.is_dir());
        let folders = all.filter_map(|path| identity(&path)).filter(|it| !open.contains(it)).collect();
        Self { folders, open }
    }

    /// Whether this very folder is one of those.
    #[must_use]
    pub fn is(&self, folder: &std::fs::Metadata) -> bool {
        self.folders.contains(&(folder.dev(), folder.ino()))
    }

    /// Whether a path is, or lies in, one of those; of a path that leads nowhere, as much of it as does.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        let there = path.ancestors().find_map(|path| path.canonicalize().ok()).unwrap_or_default();
        let known = there.ancestors().filter_map(identity);
        let mut known = known.filter(|it| self.open.contains(it) || self.folders.contains(it));
        known.next().is_some_and(|nearest| self.folders.contains(&nearest))
    }
}

impl FileCheck for Private {
    /// As [`look_on_disk`], but for what is private.
    fn look(&self, path: &Path) -> Found {
        if self.holds(path) { Found::Private } else { look_on_disk(path) }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()))
}

/// Every build configuration's folder and binary, looked at through `files`; a build that nothing uses is not needed.
/// A build's own problem is reported once, however many configurations use it.
pub fn check_files(config: &Config, files: &dyn FileCheck) -> Vec<Problem> {
    let mut problems = Vec::new();
    for build in config.builds.values() {
        let users =
            || config.build_configurations.values().filter(|user| user.build.value == build.name.value);
        if users().next().is_none() {
            continue;
        }
        match folder(config, build, files) {
            // What is in an image, only its machine sees.
            Ok(None) => {}
            Ok(Some(folder)) => {
                problems.extend(users().filter_map(|user| binary(config, folder, user, files)));
            }
            Err(problem) => problems.push(*problem),
        }
    }
    problems
}

fn folder<'c>(
    config: &'c Config,
    build: &'c Build,
    files: &dyn FileCheck,
) -> Result<Option<&'c Path>, Box<Problem>> {
    let what = format!("build {} has no files on this machine", quote(&build.name.value));
    let problem = |place: Option<&Place>, label: &str, why: String, fix: &str| {
        let problem = Problem::new(Code::BuildPathMissing, what);
        Box::new(marked(&config.sources, problem, place, label).why(why).fix(fix))
    };
    let Some(path) = &build.path else {
        let why = "buildPath is not written".to_owned();
        return Err(problem(
            build.name.place(),
            "has no buildPath",
            why,
            "add buildPath: with the build's folder",
        ));
    };
    match &path.value {
        BuildPath::Windows(_) => {
            let why = "a path with a drive letter exists on Windows alone".to_owned();
            let fix = "write a path of this machine; a relative one counts from the file's own folder";
            Err(problem(path.place(), "is a Windows path", why, fix))
        }
        BuildPath::Image(Image::Registry(_)) => Ok(None),
        BuildPath::Image(Image::Layout(there, _) | Image::Archive(there, _)) => match files.look(there) {
            Found::Private => Err(private(config, build, path.place(), there)),
            Found::Missing | Found::Unreadable(_) => {
                let why = format!("looked for {}", there.display());
                Err(problem(path.place(), "does not exist", why, "make the image, or mend its path"))
            }
            Found::Folder | Found::ClosedFolder | Found::Executable | Found::PlainFile | Found::Other => {
                Ok(None)
            }
        },
        BuildPath::Folder(folder) => match files.look(folder) {
            Found::Private => Err(private(config, build, path.place(), folder)),
            Found::Folder => Ok(Some(folder)),
            Found::ClosedFolder => {
                let why = format!(
                    "as root each game runs as a user of its own, who cannot enter {}",
                    folder.display()
                );
                let fix = "chmod o+rx the folder";
                Err(problem(path.place(), &Found::ClosedFolder.label(), why, fix))
            }
            found @ (Found::Missing
            | Found::Executable
            | Found::PlainFile
            | Found::Other
            | Found::Unreadable(_)) => {
                let why = format!("looked for the folder {}", folder.display());
                Err(problem(path.place(), &found.label(), why, "build the game, or mend buildPath"))
            }
        },
    }
}

fn private(config: &Config, build: &Build, place: Option<&Place>, there: &Path) -> Box<Problem> {
    let what =
        format!("build {} would give machines the control plane's own files", quote(&build.name.value));
    let problem = Problem::new(Code::BuildPathPrivate, what);
    let why = format!("{} is, or lies in, the data directory, where its secrets are", there.display());
    let problem = marked(&config.sources, problem, place, &Found::Private.label());
    Box::new(problem.why(why).fix("name a folder that holds the game alone"))
}

fn binary(
    config: &Config,
    folder: &Path,
    configuration: &BuildConfiguration,
    files: &dyn FileCheck,
) -> Option<Problem> {
    let path = folder.join(&configuration.binary_path.value);
    let owner = quote(&configuration.name.value);
    let (code, what, found, fix) = match files.look(&path) {
        Found::Executable => return None,
        found @ (Found::Missing | Found::Private | Found::Unreadable(_)) => (
            Code::BinaryMissing,
            format!("the binary of build configuration {owner} is missing"),
            found,
            "build the game, or mend binaryPath".to_owned(),
        ),
        found @ Found::PlainFile => (
            Code::BinaryNotExecutable,
            format!("the binary of build configuration {owner} cannot be started"),
            found,
            format!("chmod +x {}", path.display()),
        ),
        found @ (Found::Folder | Found::ClosedFolder | Found::Other) => (
            Code::BinaryNotExecutable,
            format!("the binary of build configuration {owner} cannot be started"),
            found,
            "name the program in binaryPath".to_owned(),
        ),
    };
    let problem = Problem::new(code, what);
    let problem = marked(&config.sources, problem, configuration.binary_path.place(), &found.label());
    Some(problem.why(format!("looked at {}", path.display())).fix(fix))
}

fn marked(sources: &Sources, problem: Problem, place: Option<&Place>, label: &str) -> Problem {
    match place {
        Some(place) => problem.at(sources, place, label),
        None => problem,
    }
}
