//! The catalog: what fleets share. Builds, build configurations, the list of fleets, and who may ask.
//!
//! Identity is the name, as in Unity's deploy files: declaring finds or creates, changes what differs, and never
//! deletes. Each fleet is owed its newest specification until it says it has it.

mod apply;
mod decide;
mod declaration;
mod event;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::Spec;
use mainstay_core::{BuildId, FleetNumber, StateMachine, Timestamp, Turn};

pub use self::declaration::{
    BuildDeclaration, ConfigurationDeclaration, CredentialDeclaration, Declaration, FleetDeclaration, Role,
};
pub use self::event::CatalogEvent;
use crate::spec::FleetSpec;

/// What fleets share.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    pub(crate) builds: BTreeMap<Arc<str>, Build>,
    pub(crate) configurations: BTreeMap<Arc<str>, Spec>,
    pub(crate) fleets: BTreeMap<FleetNumber, Arc<FleetSpec>>,
    pub(crate) credentials: BTreeMap<Arc<str>, CredentialDeclaration>,
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
}

/// What is asked of a catalog.
#[derive(Debug, Clone)]
pub enum CatalogCommand {
    /// Have these builds, build configurations and fleets, as they are here.
    Declare(Arc<Declaration>),
    /// Let this credential ask.
    Admit(CredentialDeclaration),
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

/// Why a declaration was refused. Nothing of it was taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogRejection {
    /// A build configuration names a build that neither the declaration nor the catalog has.
    #[error("build configuration \"{configuration}\" names build \"{build}\", which does not exist")]
    UnknownBuild {
        /// The build configuration.
        configuration: Arc<str>,
        /// The build.
        build: Arc<str>,
    },
    /// A fleet names a build configuration that neither the declaration nor the catalog has.
    #[error("fleet \"{fleet}\" names build configuration \"{configuration}\", which does not exist")]
    UnknownConfiguration {
        /// The fleet.
        fleet: Arc<str>,
        /// The build configuration.
        configuration: Arc<str>,
    },
    /// More than [`Catalog::ENTRIES_MAX`] of a kind.
    #[error("there would be {count} {kind}, {} are allowed", Catalog::ENTRIES_MAX)]
    TooMany {
        /// Of what.
        kind: &'static str,
        /// How many.
        count: usize,
    },
}

impl CatalogRejection {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownBuild { .. } => "MS-P020",
            Self::UnknownConfiguration { .. } => "MS-P021",
            Self::TooMany { .. } => "MS-P022",
        }
    }
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

    /// A credential by its key id.
    #[must_use]
    pub fn credential(&self, key: &str) -> Option<&CredentialDeclaration> {
        self.credentials.get(key)
    }
}

impl StateMachine for Catalog {
    type Command = CatalogCommand;
    type Event = CatalogEvent;
    type Answer = ();
    type Rejection = CatalogRejection;
    type Observation = CatalogObservation;
    type Target = FleetNumber;
    type Effects = Option<Arc<FleetSpec>>;
    type Why = core::convert::Infallible;

    fn decide(turn: &mut Turn<'_, Self>, command: &CatalogCommand) -> Result<(), CatalogRejection> {
        match command {
            CatalogCommand::Declare(declaration) => decide::declare(turn, declaration),
            CatalogCommand::Admit(credential) => decide::admit(turn, credential),
        }
    }

    fn apply(&mut self, _at: Timestamp, event: &CatalogEvent) {
        self.apply_event(event);
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

    fn snapshot(&self) -> Vec<(Timestamp, CatalogEvent)> {
        let builds = self
            .builds
            .values()
            .map(|build| CatalogEvent::BuildDeclared { id: build.id, declared: build.declared.clone() });
        let configurations =
            self.configurations.values().map(|spec| CatalogEvent::ConfigurationDeclared(spec.clone().into()));
        let fleets = self.fleets.values().map(|spec| CatalogEvent::FleetDeclared(spec.clone()));
        let credentials =
            self.credentials.values().map(|known| CatalogEvent::CredentialAdmitted(known.clone()));
        builds
            .chain(configurations)
            .chain(fleets)
            .chain(credentials)
            .map(|event| (Timestamp::EPOCH, event))
            .collect()
    }
}

#[cfg(test)]
mod tests;
