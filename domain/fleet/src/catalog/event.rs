//! What happens to a catalog.

use alloc::boxed::Box;
use alloc::sync::Arc;

use mainstay_core::slot::Spec;
use mainstay_core::{BuildConfigurationId, BuildId, FleetNumber};

use super::Counters;
use super::admission::AdmissionEvent;
use super::declaration::{BuildDeclaration, CredentialDeclaration};
use super::edit::Release;
use crate::spec::FleetSpec;

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CatalogEvent {
    /// A build is new, or changed.
    BuildDeclared {
        /// Its id: given once, kept by its name.
        id: BuildId,
        /// What it is now.
        declared: BuildDeclaration,
    },
    /// A build configuration is new, or has a new revision.
    ConfigurationDeclared(Box<Spec>),
    /// A fleet is new, or has a new revision.
    FleetDeclared(Arc<FleetSpec>),
    /// A credential may ask.
    CredentialAdmitted(CredentialDeclaration),
    /// A credential may no longer ask.
    CredentialRevoked(Arc<str>),
    /// A build's uploaded files are its newest version.
    BuildReleased {
        /// Which build.
        id: BuildId,
        /// What they are.
        release: Release,
    },
    /// A build is gone.
    BuildDeleted(BuildId),
    /// A build configuration is gone.
    ConfigurationDeleted(BuildConfigurationId),
    /// A fleet is gone from the list; its shard's journal stays as it ended.
    FleetDeleted(FleetNumber),
    /// The counters given out so far. Only snapshots tell it.
    CountersKept(Counters),
    /// What the events before it changed is this revision. The last event of each change.
    Revised {
        /// Which.
        number: u64,
        /// Whose change it was: a credential's key id.
        by: Arc<str>,
    },
    /// About machines that join.
    Admission(AdmissionEvent),
    /// Everything of the configuration given at a start is taken: its hash.
    StartTaken([u8; 32]),
}
