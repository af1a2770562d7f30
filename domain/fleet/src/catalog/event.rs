//! What happens to a catalog.

use alloc::boxed::Box;
use alloc::sync::Arc;

use mainstay_core::BuildId;
use mainstay_core::slot::Spec;

use super::declaration::{BuildDeclaration, CredentialDeclaration};
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
}
