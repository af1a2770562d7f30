//! The catalog: what fleets share. Builds, build configurations, the list of fleets, and who may ask.
//!
//! Identity is the name, as in Unity's deploy files: declaring finds or creates, changes what differs, and never
//! deletes; deleting is a command of its own. Every change raises the revision and says whose it was. Each fleet is owed
//! its newest specification until it says it has it.

pub mod admission;
mod apply;
mod decide;
mod declaration;
mod edit;
mod event;
pub mod laws;
mod rejection;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::Spec;
use mainstay_core::{BuildConfigurationId, BuildId, FleetNumber, StateMachine, Timestamp, Turn};

use self::admission::{Admission, AdmissionCommand, Admitted};
pub use self::declaration::{
    BuildDeclaration, ConfigurationDeclaration, CredentialDeclaration, Declaration, FleetDeclaration, Role,
};
pub use self::edit::{Edit, Entry, Release, Revision, Written};
pub use self::event::CatalogEvent;
pub use self::rejection::CatalogRejection;
use crate::spec::FleetSpec;

/// What fleets share.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub(crate) builds: BTreeMap<Arc<str>, Build>,
    pub(crate) configurations: BTreeMap<Arc<str>, Spec>,
    pub(crate) fleets: BTreeMap<FleetNumber, Arc<FleetSpec>>,
    pub(crate) credentials: BTreeMap<Arc<str>, CredentialDeclaration>,
    /// The last counters given out: what is deleted never lends its id to another.
    pub(crate) counters: Counters,
    pub(crate) revision: Revision,
    pub(crate) builds_written: BTreeMap<BuildId, Written>,
    pub(crate) configurations_written: BTreeMap<BuildConfigurationId, Written>,
    pub(crate) admission: Admission,
    /// SHA-256 of the configuration that was last taken at a start.
    pub(crate) start_taken: Option<[u8; 32]>,
    /// The revision each fleet has said it has. Soft.
    pub(crate) acknowledged: BTreeMap<FleetNumber, u64>,
    pub(crate) touched: BTreeSet<FleetNumber>,
}

/// A build: the files a server runs from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// Its id.
    pub id: BuildId,
    /// What was declared of it.
    pub declared: BuildDeclaration,
    /// Its newest release, where its files were uploaded.
    pub release: Option<Release>,
}

/// The last counters given out, of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Builds.
    pub builds: u32,
    /// Build configurations.
    pub configurations: u32,
    /// Fleets.
    pub fleets: u32,
}

/// What is asked of a catalog.
#[derive(Debug, Clone)]
pub enum CatalogCommand {
    /// Have these builds, build configurations and fleets, as they are here.
    Declare {
        /// What to have.
        declaration: Arc<Declaration>,
        /// Who says so.
        edit: Edit,
    },
    /// A build's uploaded files are its next version.
    Release {
        /// Which build.
        build: BuildId,
        /// What they are; its version is given here.
        files: Release,
        /// Where machines that share the control plane's disk find them.
        folder: alloc::string::String,
        /// Who says so.
        edit: Edit,
    },
    /// What fleets run of a build comes to all their servers now, those with players too (a forced rollout). Without it
    /// a new version reaches a server when nobody plays on it.
    ForceRollout {
        /// Which build.
        build: BuildId,
        /// Who says so.
        edit: Edit,
    },
    /// Forget this.
    Delete {
        /// What.
        entry: Entry,
        /// Who says so.
        edit: Edit,
    },
    /// Let this credential ask.
    Admit(CredentialDeclaration),
    /// Let it ask no longer, from now on.
    Revoke(Arc<str>),
    /// About machines that join.
    Admission(AdmissionCommand),
    /// Everything of the configuration given at a start is taken: remember it by this SHA-256, so that a start with the same
    /// one undoes nothing that was changed since.
    TakeStart([u8; 32]),
}

/// What is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CatalogAnswer {
    /// It is so now.
    Done,
    /// A machine has a credential.
    Admitted(Admitted),
}

/// What is seen; soft.
#[derive(Debug, Clone, Copy)]
pub enum CatalogObservation {
    /// A fleet has durably taken a revision of its specification.
    Configured {
        /// Which fleet.
        fleet: FleetNumber,
        /// Which revision.
        revision: u64,
    },
    /// Everything soft is gone.
    Forgotten,
}

impl Catalog {
    /// The most builds, build configurations, fleets or credentials. A studio has tens; ten thousand keeps a runaway
    /// script from filling memory, and declaring quadratic-free.
    pub const ENTRIES_MAX: usize = 10_000;

    /// Builds by name.
    pub fn builds(&self) -> impl Iterator<Item = &Build> {
        self.builds.values()
    }

    /// Build configurations by name.
    pub fn configurations(&self) -> impl Iterator<Item = &Spec> {
        self.configurations.values()
    }

    /// Fleets by number.
    pub fn fleets(&self) -> impl Iterator<Item = &Arc<FleetSpec>> {
        self.fleets.values()
    }

    /// Credentials by key id.
    pub fn credentials(&self) -> impl Iterator<Item = &CredentialDeclaration> {
        self.credentials.values()
    }

    /// The build of that id.
    #[must_use]
    pub fn build(&self, id: BuildId) -> Option<&Build> {
        self.builds().find(|build| build.id == id)
    }

    /// The build configuration of that id.
    #[must_use]
    pub fn configuration(&self, id: BuildConfigurationId) -> Option<&Spec> {
        self.configurations().find(|spec| spec.configuration.id == id)
    }

    /// The newest revision: how many changes there were, and whose and when the last was.
    #[must_use]
    pub const fn revision(&self) -> &Revision {
        &self.revision
    }

    /// SHA-256 of the configuration that was last taken at a start.
    #[must_use]
    pub const fn start_taken(&self) -> Option<[u8; 32]> {
        self.start_taken
    }

    /// When a build was first and last written.
    #[must_use]
    pub fn build_written(&self, id: BuildId) -> Option<Written> {
        self.builds_written.get(&id).copied()
    }

    /// When a build configuration was first and last written.
    #[must_use]
    pub fn configuration_written(&self, id: BuildConfigurationId) -> Option<Written> {
        self.configurations_written.get(&id).copied()
    }

    /// Join tokens, and the machines that have credentials.
    #[must_use]
    pub const fn admission(&self) -> &Admission {
        &self.admission
    }

    /// A credential by its key id.
    #[must_use]
    pub fn credential(&self, key: &str) -> Option<&CredentialDeclaration> {
        self.credentials.get(key)
    }
}

impl StateMachine for Catalog {
    type Command = CatalogCommand;
    type Event = CatalogEvent;
    type Answer = CatalogAnswer;
    type Rejection = CatalogRejection;
    type Observation = CatalogObservation;
    type Target = FleetNumber;
    type Effects = Option<Arc<FleetSpec>>;
    type Why = core::convert::Infallible;

    fn decide(
        turn: &mut Turn<'_, Self>,
        command: &CatalogCommand,
    ) -> Result<CatalogAnswer, CatalogRejection> {
        match command {
            CatalogCommand::Declare { declaration, edit } => {
                edit::expected(turn, edit)?;
                decide::declare(turn, declaration)?;
                edit::revise(turn, edit);
                Ok(CatalogAnswer::Done)
            }
            CatalogCommand::Release { build, files, folder, edit } => {
                edit::expected(turn, edit)?;
                edit::release(turn, *build, files, folder)?;
                edit::revise(turn, edit);
                Ok(CatalogAnswer::Done)
            }
            CatalogCommand::ForceRollout { build, edit } => {
                edit::expected(turn, edit)?;
                edit::force_rollout(turn, *build)?;
                edit::revise(turn, edit);
                Ok(CatalogAnswer::Done)
            }
            CatalogCommand::Delete { entry, edit } => {
                edit::expected(turn, edit)?;
                edit::delete(turn, *entry)?;
                edit::revise(turn, edit);
                Ok(CatalogAnswer::Done)
            }
            CatalogCommand::Admit(credential) => {
                decide::admit(turn, credential)?;
                Ok(CatalogAnswer::Done)
            }
            CatalogCommand::Revoke(key) => {
                decide::revoke(turn, key)?;
                Ok(CatalogAnswer::Done)
            }
            CatalogCommand::Admission(command) => Ok(admission::decide(turn, command)?),
            CatalogCommand::TakeStart(sha256) => {
                if turn.state().start_taken != Some(*sha256) {
                    turn.emit(CatalogEvent::StartTaken(*sha256));
                }
                Ok(CatalogAnswer::Done)
            }
        }
    }

    fn apply(&mut self, at: Timestamp, event: &CatalogEvent) {
        self.apply_event(at, event);
    }

    fn observe(&mut self, _now: Timestamp, observation: CatalogObservation) {
        match observation {
            CatalogObservation::Configured { fleet, revision } => {
                let acknowledged = self.acknowledged.entry(fleet).or_insert(0);
                *acknowledged = (*acknowledged).max(revision);
            }
            CatalogObservation::Forgotten => {
                self.acknowledged.clear();
                self.touched.extend(self.fleets.keys());
            }
        }
    }

    /// The specification a fleet has not said it has.
    fn owed(&self, fleet: &FleetNumber) -> Option<Arc<FleetSpec>> {
        let spec = self.fleets.get(fleet)?;
        let acknowledged = self.acknowledged.get(fleet).copied().unwrap_or(0);
        (acknowledged < spec.revision).then(|| spec.clone())
    }

    fn take_touched(&mut self) -> Vec<FleetNumber> {
        core::mem::take(&mut self.touched).into_iter().collect()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Self::Why)> {
        None
    }

    fn story(&self) -> impl Iterator<Item = (Timestamp, CatalogEvent)> {
        self.whole_story().into_iter()
    }
}

#[cfg(test)]
mod tests;
