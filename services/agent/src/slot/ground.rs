//! Where slots live: their directories, what lies in them, and the start of their processes. Everything here blocks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::{Incident, Spec};
use mainstay_core::{AllocationId, CommandLine, Generation, ServerId, Timestamp, UnclosedQuote};
use mainstay_holder::client::{self, ClientError, Connection, Found, Spawner, Started};
use mainstay_holder::process::{self, Remains};
use mainstay_holder::protocol::{Request, Target};
use mainstay_holder::record::{self, EXIT_FILE, ExitRecord, HOLDER_FILE, ProcessMark};
use mainstay_holder::spec::{ControlGroup, LaunchSpec};
use mainstay_runtime::Clock;
use mainstay_supervisor::{RunNumber, SessionFile};
use mainstay_wire::native::DatedReadingView;
use nix::errno::Errno;

use crate::builds::Installed;
use crate::builds::image;
use crate::config::{Addresses, Config};
use crate::os::cgroup::SlotGroup;
use crate::os::measure::{Meter, Usage};
use crate::os::slot_dirs::{self, Owner, SlotDirs};
use crate::os::uids::Inhabited;
use crate::os::{self, Capabilities, GameFacts, OsError, server_json};
use crate::roster::SlotFacts;
use crate::slot::evidence::{self, Evidence, Places};

mod launch;

use self::launch::{blank, contained, environment, resource_limits};

/// How long a process that does not belong may take to die of SIGKILL.
const STRANGER_MS_MAX: u64 = 10_000;

/// SIGKILL, by its number on every Linux.
const SIGKILL: i32 = 9;

/// Why something about a slot's place failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GroundError {
    /// The holder, or its files.
    #[error(transparent)]
    Holder(#[from] ClientError),
    /// The system.
    #[error(transparent)]
    System(#[from] OsError),
    /// A command line without end.
    #[error("the command line cannot be split (MS-S405)")]
    CommandLine(#[from] UnclosedQuote),
    /// Processes that not even SIGKILL ends.
    #[error("{alive} processes of an earlier run cannot be ended: they are stuck in the kernel (MS-S406)")]
    NotEmpty {
        /// How many.
        alive: u32,
    },
}

impl GroundError {
    /// Whether it is the machine's own trouble, which passes: a full disk, no descriptors, no memory, a holder that could
    /// not do its work. What the configuration asks for in vain (a folder that is not there) does not pass.
    pub(crate) fn is_the_machines(&self) -> bool {
        match self {
            Self::Holder(_) | Self::NotEmpty { .. } => true,
            Self::CommandLine(_) => false,
            Self::System(error) => is_want(error),
        }
    }
}

/// Whether a chain of errors ends in the system's want of something.
fn is_want(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut chain = std::iter::successors(Some(error), |error| error.source());
    chain.any(|error| {
        let number = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
        number.is_some_and(|number| WANTS.contains(&Errno::from_raw(number)))
    })
}

/// No space, no quota, no descriptors of the process's or the system's, no memory, no process, a disk that fails.
const WANTS: [Errno; 7] =
    [Errno::ENOSPC, Errno::EDQUOT, Errno::EMFILE, Errno::ENFILE, Errno::ENOMEM, Errno::EAGAIN, Errno::EIO];

/// The start of a process.
pub(crate) enum Begun {
    /// It runs.
    Running(Box<Connection>),
    /// It has ended already, or could not be started.
    Ended(ExitRecord),
    /// Another holder has the slot: look again.
    Taken,
}

/// Where slots live.
pub(crate) struct Ground {
    data_dir: PathBuf,
    private_dir: PathBuf,
    spawner: Spawner,
    addresses: Addresses,
    local_proxy_url: String,
    capabilities: Capabilities,
    inhabited: Inhabited,
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for Ground {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ground").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}

impl Ground {
    pub(crate) fn new(
        config: &Config,
        capabilities: Capabilities,
        inhabited: Inhabited,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            data_dir: config.data_dir.clone(),
            private_dir: config.private_dir.clone(),
            spawner: Spawner::new(config.holder.executable.clone(), config.holder.words.clone()),
            addresses: config.addresses,
            local_proxy_url: config.local_proxy_url.clone(),
            capabilities,
            inhabited,
            clock,
        }
    }

    /// What the machine gives, and what it does not.
    pub(crate) const fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// How players reach this host.
    pub(crate) const fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// What is in a slot. A game whose holder was killed is ended here: one in a container does not die with its holder, and
    /// nobody would ever hear of it again.
    pub(crate) fn look(&self, server: ServerId) -> Result<Found, GroundError> {
        let dirs = self.dirs(server);
        let found = client::adopt(&dirs.run)?;
        if matches!(found, Found::HolderDead(_)) {
            clear_container(&dirs)?;
        }
        Ok(found)
    }

    /// Ends a game that no order knows, and waits for it.
    pub(crate) fn end_stranger(
        &self,
        server: ServerId,
        stranger: &mut Connection,
    ) -> Result<(), GroundError> {
        let (run, pid) = (stranger.status.run, stranger.status.game.pid);
        tracing::warn!(%server, run, pid, "a game of another run is in the slot; it is killed");
        stranger.send(|id| Request::Signal { id, number: SIGKILL, to: Target::Tree })?;
        stranger.wait_exit(STRANGER_MS_MAX)?;
        Ok(())
    }

    /// Writes `server.json`, in place.
    pub(crate) fn write_session(
        &self,
        facts: &SlotFacts,
        spec: &Spec,
        installed: &Installed,
        file: SessionFile,
    ) -> Result<(), GroundError> {
        let dirs = self.dirs(facts.server);
        let owner = self.capabilities.owner(facts.place)?;
        if !dirs.home.is_dir() {
            dirs.prepare(owner)?;
        }
        let told = GameFacts { allocation: file.allocation, ..self.told(facts, spec, installed, &dirs) };
        server_json::write(&dirs.home, &told, owner)?;
        Ok(())
    }

    /// The session that the slot's `server.json` names. The game may have put anything there; what is no such file names
    /// none.
    pub(crate) fn session_written(&self, server: ServerId) -> Option<AllocationId> {
        server_json::allocation(&self.dirs(server).home)
    }

    /// Starts a process under a holder of its own. The slot has been looked at: nothing of the run is there.
    pub(crate) fn start(
        &self,
        facts: &SlotFacts,
        spec: &Spec,
        installed: &Installed,
        run: RunNumber,
        generation: Generation,
    ) -> Result<Begun, GroundError> {
        let dirs = self.dirs(facts.server);
        let owner = self.capabilities.owner(facts.place)?;
        // With its control group, which is made anew below.
        clear_container(&dirs)?;
        let group = match &self.capabilities.groups {
            Some(groups) => Some(groups.slot(facts.server)?),
            None => None,
        };
        self.empty(&dirs, group.as_ref().map(|group| group.members_files()).unwrap_or_default(), owner)?;
        dirs.prepare(owner)?;
        if let Some(group) = &group {
            group.allow(spec.limits, spec.caps, spec.checks.memory_tolerance_bytes)?;
        }
        let told = self.told(facts, spec, installed, &dirs);
        let line = CommandLine::parse(&spec.launch.command_line)?;
        let arguments = os::arguments(&line, &told, self.clock.now());
        let control_group = group.as_ref().map(|group| group.launch());
        let launch = match &installed.image {
            None => self.process(spec, &dirs, owner, installed, (&told, arguments))?,
            Some(image) => {
                let group = group.as_ref().map(SlotGroup::name);
                contained(spec, &dirs, (owner, group), (installed, image), (&told, arguments))?
            }
        };
        // A runtime puts the game into its group by itself, and finds the group empty.
        let control_group = control_group.map(|group| match &launch.container {
            None => group,
            Some(_) => ControlGroup { join: Vec::new(), ..group },
        });
        let launch =
            LaunchSpec { generation: generation.number(), run: run.number(), control_group, ..launch };
        match self.spawner.spawn(&dirs.run, &launch) {
            Ok(Started::Running(_)) => self.begun(&dirs.run),
            Ok(Started::SpawnFailed(record)) => Ok(Begun::Ended(record)),
            Err(ClientError::SlotTaken { .. }) => Ok(Begun::Taken),
            Err(error) => Err(error.into()),
        }
    }

    /// A process of the machine, with a view of its own.
    fn process(
        &self,
        spec: &Spec,
        dirs: &SlotDirs,
        owner: Owner,
        installed: &Installed,
        (told, arguments): (&GameFacts, Vec<String>),
    ) -> Result<LaunchSpec, GroundError> {
        let folder = installed.folder.clone();
        slot_dirs::usable(&folder, owner)?;
        slot_dirs::usable(&told.executable, owner)?;
        Ok(LaunchSpec {
            executable: told.executable.clone(),
            arguments,
            environment: environment(spec, &dirs.home),
            isolation: self.capabilities.view(&self.private_dir, &dirs.of_game(), &folder)?,
            working_dir: folder,
            identity: owner.identity(),
            limits: resource_limits(owner),
            ..blank(dirs)
        })
    }

    /// A game that has just started may have ended since.
    fn begun(&self, run_dir: &Path) -> Result<Begun, GroundError> {
        match client::adopt(run_dir)? {
            Found::Running(connection) => Ok(Begun::Running(Box::new(connection))),
            Found::Exited(record) => Ok(Begun::Ended(record)),
            Found::Nothing | Found::OtherBoot(_) | Found::HolderDead(_) => Ok(Begun::Taken),
        }
    }

    /// A slot that is no longer this machine's leaves nothing behind.
    pub(crate) fn clear(&self, server: ServerId) -> Result<(), GroundError> {
        let dirs = self.dirs(server);
        if let Found::Running(mut stranger) = client::adopt(&dirs.run)? {
            self.end_stranger(server, &mut stranger)?;
        }
        clear_container(&dirs)?;
        if let Some(groups) = &self.capabilities.groups {
            groups.slot(server)?.remove()?;
        }
        let Some(slot) = dirs.run.parent() else { return Ok(()) };
        match std::fs::remove_dir_all(slot) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(OsError::Files { what: "remove", path: slot.to_owned(), source }.into())
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Whatever an earlier run left is killed before the next one starts.
    fn empty(&self, dirs: &SlotDirs, groups: Vec<PathBuf>, owner: Owner) -> Result<(), GroundError> {
        let failed = |source| OsError::Files { what: "empty", path: dirs.run.clone(), source };
        let record = record::read(&dirs.run, HOLDER_FILE).map_err(failed)?;
        let exit = record::read(&dirs.run, EXIT_FILE).map_err(failed)?;
        let own_uid = owner.own_uid().filter(|uid| self.inhabited.enter(*uid));
        let remains = Remains { record, groups, own_uid, exit };
        let emptied = process::empty(&remains).map_err(failed)?;
        match emptied.alive {
            0 => Ok(()),
            alive => Err(GroundError::NotEmpty { alive }),
        }
    }

    /// What a game is told, without an allocation.
    fn told(&self, facts: &SlotFacts, spec: &Spec, installed: &Installed, dirs: &SlotDirs) -> GameFacts {
        // In a container a server finds its own folders at the same places on every machine.
        let (folder, home, logs) = match &installed.image {
            None => (installed.folder.clone(), dirs.home.clone(), dirs.logs.clone()),
            Some(_) => (PathBuf::from("/"), PathBuf::from(image::HOME), PathBuf::from(image::LOGS)),
        };
        GameFacts {
            allocation: None,
            fleet: facts.fleet,
            machine: facts.machine,
            server: facts.server,
            region: facts.region,
            region_name: facts.region_name.clone(),
            ipv4: self.addresses.ipv4,
            ipv6: self.addresses.ipv6,
            port: facts.ports.game,
            query_port: facts.ports.query,
            query_type: spec.query.as_ref().map_or_else(|| "none".to_owned(), |query| query.protocol.clone()),
            local_proxy_url: self.local_proxy_url.clone(),
            config_dir: home,
            log_dir: logs,
            work_dir: dirs.work.clone(),
            executable: folder.join(&spec.launch.binary),
            file_dir: folder,
            custom: spec.launch.variables.clone(),
        }
    }

    /// What a process left that has ended.
    pub(crate) fn scene(&self, server: ServerId, folder: Option<&Path>, record: ExitRecord) -> Evidence {
        let dirs = self.dirs(server);
        if let Err(error) = clear_container(&dirs) {
            // Tried again before the next start, which fails where it fails again.
            tracing::warn!(%server, %error, "what is left of a container is not cleared away yet");
        }
        evidence::look(server, &Places { slot: &dirs, working_dir: folder }, record)
    }

    /// Keeps what is known of a process that ended as nobody wished.
    pub(crate) fn keep_evidence(&self, incident: &Incident, readings: &[DatedReadingView], found: &Evidence) {
        evidence::keep(&self.dirs(incident.server), incident, readings, found);
    }

    /// What a slot's process tree uses now.
    ///
    /// # Errors
    /// Its control group or `/proc` cannot be read, or the holder is gone.
    pub(crate) fn usage(&self, server: ServerId, holder: ProcessMark) -> Result<Usage, OsError> {
        match &self.capabilities.groups {
            Some(groups) => Meter::Group(&groups.slot(server)?).read(),
            None => Meter::Tree(holder).read(),
        }
    }

    /// The one clock's time.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Time since the machine came up, which no clock change touches.
    pub(crate) fn since_boot(&self) -> Duration {
        self.clock.since_boot()
    }

    /// Everything of a slot.
    pub(crate) fn slot_dir(&self, server: ServerId) -> PathBuf {
        let run = self.dirs(server).run;
        run.parent().map(Path::to_owned).unwrap_or(run)
    }

    /// Where standard output and error are kept.
    pub(crate) fn output_dir(&self, server: ServerId) -> PathBuf {
        self.dirs(server).output
    }

    fn dirs(&self, server: ServerId) -> SlotDirs {
        SlotDirs::of(&self.data_dir, server)
    }
}

fn clear_container(dirs: &SlotDirs) -> Result<(), GroundError> {
    let failed = |source| OsError::Files { what: "clear a container in", path: dirs.run.clone(), source };
    Ok(image::clear(&dirs.run).map_err(failed)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_passes_and_what_is_configured_wrong_does_not() {
        let files = |errno: Errno| {
            GroundError::from(OsError::Files { what: "make", path: "/x".into(), source: errno.into() })
        };
        let rows = [
            (files(Errno::ENOSPC), true),
            (files(Errno::EMFILE), true),
            (files(Errno::ENOENT), false),
            (files(Errno::EACCES), false),
            (GroundError::NotEmpty { alive: 1 }, true),
            (ClientError::HolderFailed { slot: "/x".into(), why: "fork".into(), source: None }.into(), true),
        ];
        for (error, expected) in rows {
            assert_eq!(error.is_the_machines(), expected, "{error:?}");
        }
    }
}
