//! What a launch says of a game's process: its surroundings, its limits, and its container where it has one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mainstay_core::slot::Spec;
use mainstay_holder::spec::{Identity, LaunchSpec, LimitedResource, Output, ResourceLimit, SPEC_VERSION};
use mainstay_wire::builds::ImageConfig;

use super::trouble::GroundError;
use crate::builds::Installed;
use crate::builds::image::{self, Container};
use crate::os::slot_dirs::{Owner, SlotDirs};
use crate::os::{GameFacts, OsError};

/// A stream's file is rotated at this size, and so many are kept: 50 MiB a stream hold days of an ordinary game's talk,
/// and 200 slots of them stay below 20 GiB.
const OUTPUT_BYTES_MAX: u64 = 10 * 1024 * 1024;
const OUTPUT_FILES_MAX: u32 = 5;

/// What a game of its own user may open and start: far above what one needs, far below what a runaway game would take
/// from its neighbours.
const OPEN_FILES_MAX: u64 = 4_096;
const PROCESSES_MAX: u64 = 1_024;

/// The largest core dump: larger games are rare, a slot keeps one, and 200 slots of them stay below 200 GiB at worst.
const CORE_BYTES_MAX: u64 = 1024 * 1024 * 1024;

/// What every launch says; the rest of it is told where it is known.
pub(super) fn blank(dirs: &SlotDirs) -> LaunchSpec {
    LaunchSpec {
        version: SPEC_VERSION,
        generation: 0,
        run: 0,
        executable: PathBuf::new(),
        arguments: Vec::new(),
        environment: BTreeMap::new(),
        isolation: None,
        working_dir: PathBuf::new(),
        identity: Identity::Inherited,
        limits: Vec::new(),
        control_group: None,
        output: Output { dir: dirs.output.clone(), bytes_max: OUTPUT_BYTES_MAX, files_max: OUTPUT_FILES_MAX },
        container: None,
    }
}

/// A process in a container: runc makes its view and gives it to the slot's user, so it starts as root itself.
pub(super) fn contained(
    spec: &Spec,
    dirs: &SlotDirs,
    (owner, group): (Owner, Option<&str>),
    (installed, image): (&Installed, &ImageConfig),
    (told, arguments): (&GameFacts, Vec<String>),
) -> Result<LaunchSpec, GroundError> {
    let program = told.executable.to_string_lossy().into_owned();
    let container = Container {
        root: &installed.folder,
        image,
        run_dir: &dirs.run,
        home: &dirs.home,
        logs: &dirs.logs,
        work: &dirs.work,
        uid: owner.own_uid().unwrap_or(0),
        group,
        arguments: std::iter::once(program).chain(arguments).collect(),
        environment: &environment(spec, Path::new(image::HOME)),
        core_bytes: core_bytes(),
        open_files: OPEN_FILES_MAX,
        processes: PROCESSES_MAX,
    };
    let failed = |source| OsError::Files { what: "prepare a container in", path: dirs.run.clone(), source };
    let started = container.prepare().map_err(failed)?;
    Ok(LaunchSpec {
        executable: started.executable,
        arguments: started.arguments,
        working_dir: started.bundle,
        container: Some(started.then),
        limits: resource_limits(Owner::Agent),
        ..blank(dirs)
    })
}

/// What is declared, and the home that `server.json` lies in: nothing else.
pub(super) fn environment(spec: &Spec, home: &Path) -> BTreeMap<String, String> {
    let mut environment: BTreeMap<String, String> = spec.launch.environment.iter().cloned().collect();
    environment.insert("HOME".to_owned(), home.to_string_lossy().into_owned());
    environment
}

/// What a core may have: the most we keep, or less where the host allows no more.
fn core_bytes() -> u64 {
    let allowed = rustix::process::getrlimit(rustix::process::Resource::Core).maximum;
    let may_raise = rustix::process::geteuid().is_root();
    if may_raise { CORE_BYTES_MAX } else { allowed.unwrap_or(CORE_BYTES_MAX).min(CORE_BYTES_MAX) }
}

/// Files and processes count for a user, so their limits mean something only where each slot has one.
pub(super) fn resource_limits(owner: Owner) -> Vec<ResourceLimit> {
    let limit = |resource, most| ResourceLimit { resource, soft: most, hard: most };
    let core = limit(LimitedResource::CoreBytes, core_bytes());
    match owner {
        // The agent has taken as many descriptors as it gets, which a game that uses `select` must not inherit.
        Owner::Agent => vec![core, limit(LimitedResource::OpenFiles, OPEN_FILES_MAX)],
        Owner::Slot(_) => vec![
            core,
            limit(LimitedResource::OpenFiles, OPEN_FILES_MAX),
            limit(LimitedResource::Processes, PROCESSES_MAX),
        ],
    }
}
