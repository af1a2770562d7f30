//! What a holder is told to start: one versioned JSON file written by the agent beside the holder's socket.
//!
//! A file rather than arguments, because it names environment values (secrets among them) that must not be seen in
//! `/proc/*/cmdline`, and because it is larger than an argument list should be.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The version of [`LaunchSpec`] this code writes and reads.
pub const SPEC_VERSION: u32 = 1;

/// Longest launch file read, in bytes: 30 kB of allocation payload, 128 kB of arguments and environment (what Linux
/// allows for one string) and room over.
pub const SPEC_BYTES_MAX: u64 = 1024 * 1024;

/// One start of a game server.
///
/// Unknown fields are refused: in a launch a field that this version does not know may be a safety restriction, and a
/// game started without it would be worse than no game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchSpec {
    /// [`SPEC_VERSION`] of the writer.
    pub version: u32,
    /// Generation of the desired state that asked for this start; returned in every status and record.
    pub generation: u64,
    /// Number of this run of the slot, rising with every start; tells a record of this run from an older one.
    pub run: u64,
    /// Absolute path of the program. No search path is used.
    pub executable: PathBuf,
    /// Arguments after the program's name.
    pub arguments: Vec<String>,
    /// The whole environment: nothing else is inherited.
    pub environment: BTreeMap<String, String>,
    /// Absolute path of the directory the game starts in.
    pub working_dir: PathBuf,
    /// As whom the game runs.
    pub identity: Identity,
    /// Resource limits, set before the identity is dropped.
    pub limits: Vec<ResourceLimit>,
    /// Control group the game is put into before it runs; none where groups are not writable.
    pub control_group: Option<ControlGroup>,
    /// Paths the game must not see; none without root.
    pub isolation: Option<Isolation>,
    /// Where standard output and error are kept.
    pub output: Output,
    /// The second step of a start in a container: what `executable` starts is then its runtime, which ends once the game's
    /// process is there. None for a process of the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<ContainerStart>,
}

/// How the process that a container's runtime has made becomes the game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContainerStart {
    /// Where the runtime writes the pid of the process that it made.
    pub pid_file: PathBuf,
    /// The runtime's arguments that let it go.
    pub start: Vec<String>,
}

/// As whom the game runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Identity {
    /// As the agent's own user (the only choice without root).
    Inherited,
    /// As this user and group, with no supplementary groups. Needs root.
    Dropped {
        /// User id of the game.
        uid: u32,
        /// Group id of the game.
        gid: u32,
    },
}

/// One `setrlimit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceLimit {
    /// Which limit.
    pub resource: LimitedResource,
    /// Soft limit in the resource's own unit (files, bytes, processes).
    pub soft: u64,
    /// Hard limit in the resource's own unit.
    pub hard: u64,
}

/// The resources a slot limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedResource {
    /// Open files (`RLIMIT_NOFILE`).
    OpenFiles,
    /// Bytes of a core file (`RLIMIT_CORE`).
    CoreBytes,
    /// Processes and threads of the user (`RLIMIT_NPROC`): meaningful with a user of its own only.
    Processes,
    /// Bytes locked in memory (`RLIMIT_MEMLOCK`).
    LockedBytes,
}

/// The control group of a slot, as files: the holder needs no knowledge of versions or mounts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlGroup {
    /// Files that the game writes `0` to, which is itself: `tasks` of each v1 hierarchy, `cgroup.procs` of v2.
    pub join: Vec<PathBuf>,
    /// A file with a line `oom_kill N` (v1 `memory.oom_control`, v2 `memory.events`), read before and after the run.
    pub oom_counter: Option<PathBuf>,
}

/// A private mount namespace for the game.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Isolation {
    /// Directories covered by an empty read-only file system.
    pub hide: Vec<PathBuf>,
    /// Files and directories below a hidden one that stay visible at their own path.
    pub keep: Vec<PathBuf>,
    /// Directories that stay visible and cannot be written: what several slots start from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_only: Vec<PathBuf>,
    /// Which processes it sees in `/proc`.
    #[serde(default)]
    pub processes: Processes,
}

/// Which processes a game sees: others' command lines hold passwords.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Processes {
    /// All of the machine's. What a launch of before this choice says.
    #[default]
    All,
    /// Those of its own user.
    Own,
}

/// Where standard output and error are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Directory that the game cannot write: the holder opens files there with its own rights.
    pub dir: PathBuf,
    /// A file that reaches this size is rotated.
    pub bytes_max: u64,
    /// Files kept for each stream, the one being written included.
    pub files_max: u32,
}

/// Why a launch file was refused.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// The file could not be read.
    #[error("read launch file {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is longer than [`SPEC_BYTES_MAX`].
    #[error("launch file {} has {bytes} bytes, more than the {SPEC_BYTES_MAX} allowed", path.display())]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Its length.
        bytes: u64,
    },
    /// The file is no launch of this version.
    #[error("parse launch file {}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        #[source]
        source: serde_json::Error,
    },
    /// The file has another version.
    #[error("launch file has version {found}, this holder reads version {SPEC_VERSION}")]
    Version {
        /// The version found.
        found: u32,
    },
    /// A path is relative.
    #[error("{field} {} is not an absolute path", path.display())]
    Relative {
        /// Which field.
        field: &'static str,
        /// Its value.
        path: PathBuf,
    },
    /// A limit of the output is zero.
    #[error("output needs at least one file of at least one byte, asked for {files} of {bytes} bytes")]
    NoOutput {
        /// Files asked for.
        files: u32,
        /// Bytes asked for.
        bytes: u64,
    },
}

impl LaunchSpec {
    /// Reads and checks a launch file.
    ///
    /// # Errors
    /// [`SpecError`] names the file and the field.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let read_error = |source| SpecError::Read { path: path.to_owned(), source };
        let bytes = std::fs::metadata(path).map_err(read_error)?.len();
        if bytes > SPEC_BYTES_MAX {
            return Err(SpecError::TooLong { path: path.to_owned(), bytes });
        }
        let text = std::fs::read(path).map_err(read_error)?;
        let spec = Self::parse(&text).map_err(|source| SpecError::Parse { path: path.to_owned(), source })?;
        spec.check()?;
        Ok(spec)
    }

    fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        /// The one field every version has, read first so that a newer file is named as such, not as a syntax error.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let versioned: Versioned = serde_json::from_slice(text)?;
        if versioned.version == SPEC_VERSION {
            return serde_json::from_slice(text);
        }
        Ok(Self { version: versioned.version, ..Self::empty() })
    }

    /// A spec that stands for "some other version": it never passes [`Self::check`].
    fn empty() -> Self {
        Self {
            version: 0,
            generation: 0,
            run: 0,
            executable: PathBuf::new(),
            arguments: Vec::new(),
            environment: BTreeMap::new(),
            working_dir: PathBuf::new(),
            identity: Identity::Inherited,
            limits: Vec::new(),
            control_group: None,
            isolation: None,
            container: None,
            output: Output { dir: PathBuf::new(), bytes_max: 0, files_max: 0 },
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        if self.version != SPEC_VERSION {
            return Err(SpecError::Version { found: self.version });
        }
        let mut paths = vec![
            ("executable", &self.executable),
            ("working_dir", &self.working_dir),
            ("output.dir", &self.output.dir),
        ];
        if let Some(isolation) = &self.isolation {
            paths.extend(isolation.hide.iter().map(|path| ("isolation.hide", path)));
            paths.extend(isolation.keep.iter().map(|path| ("isolation.keep", path)));
            paths.extend(isolation.read_only.iter().map(|path| ("isolation.read_only", path)));
        }
        for (field, path) in paths {
            if !path.is_absolute() {
                return Err(SpecError::Relative { field, path: path.clone() });
            }
        }
        if self.output.bytes_max == 0 || self.output.files_max == 0 {
            return Err(SpecError::NoOutput { files: self.output.files_max, bytes: self.output.bytes_max });
        }
        Ok(())
    }
}
