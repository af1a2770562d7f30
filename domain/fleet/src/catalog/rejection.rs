//! Why a change of the catalog was refused.

use alloc::string::String;
use alloc::sync::Arc;

use super::Catalog;
use super::admission::AdmissionRejection;

/// Why a change was refused. Nothing of it was taken.
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
    /// The change was made for an older revision than there is now.
    #[error("the change was made for revision {seen} of the catalog, which has revision {now} now")]
    Outdated {
        /// What its maker saw.
        seen: u64,
        /// What there is.
        now: u64,
    },
    /// What is to be changed or deleted is not there.
    #[error("there is no such {kind}")]
    Unknown {
        /// What it would be.
        kind: &'static str,
    },
    /// What is to be deleted is named by something else.
    #[error("{what} is used by {user}")]
    InUse {
        /// What is to be deleted.
        what: String,
        /// What names it.
        user: String,
    },
    /// A fleet that takes allocations is not deleted.
    #[error("fleet \"{fleet}\" takes allocations in region \"{region}\"")]
    FleetOnline {
        /// The fleet.
        fleet: Arc<str>,
        /// One of its regions that are online.
        region: Arc<str>,
    },
    /// About machines that join.
    #[error(transparent)]
    Admission(#[from] AdmissionRejection),
}

impl CatalogRejection {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownBuild { .. } => "MS-P020",
            Self::UnknownConfiguration { .. } => "MS-P021",
            Self::TooMany { .. } => "MS-P022",
            Self::Outdated { .. } => "MS-P023",
            Self::Unknown { .. } => "MS-P024",
            Self::InUse { .. } => "MS-P025",
            Self::FleetOnline { .. } => "MS-P026",
            Self::Admission(rejection) => rejection.code(),
        }
    }

    /// How it is mended.
    #[must_use]
    pub const fn mend(&self) -> &'static str {
        match self {
            Self::UnknownBuild { .. } | Self::UnknownConfiguration { .. } => {
                "declare it first, or in the same file"
            }
            Self::TooMany { .. } => "delete what is no longer used",
            Self::Outdated { .. } => "read the newest revision, and change that",
            Self::Unknown { .. } => "list what there is",
            Self::InUse { .. } => "change or delete what uses it first",
            Self::FleetOnline { .. } => "take the fleet's regions offline first",
            Self::Admission(rejection) => rejection.mend(),
        }
    }
}
