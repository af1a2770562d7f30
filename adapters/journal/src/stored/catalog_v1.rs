//! Format 1 of the catalog's events, and of fleet specifications, which the catalog and the fleets both store.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{BuildConfigurationId, BuildId, FleetId, FleetNumber, RegionId};
use mainstay_fleet::catalog::{
    BuildDeclaration, CatalogEvent, Counters, CredentialDeclaration, Release, Role as DomainRole,
};
use mainstay_fleet::{FleetSpec as DomainFleetSpec, Growth, IdleServers, RegionOpening, RegionSpec};
use serde::{Deserialize, Serialize};

use super::slot_v1::Spec;

#[derive(Serialize, Deserialize)]
pub(super) enum Event<'a> {
    BuildDeclared {
        id: BuildId,
        #[serde(borrow)]
        name: &'a str,
        folder: &'a str,
    },
    ConfigurationDeclared(Spec<'a>),
    FleetDeclared(FleetSpec<'a>),
    CredentialAdmitted {
        key: &'a str,
        secret_sha256: [u8; 32],
        role: Role,
    },
    BuildReleased {
        id: BuildId,
        version: u32,
        manifest: [u8; 32],
        files: u32,
        bytes: u64,
    },
    BuildDeleted(BuildId),
    ConfigurationDeleted(BuildConfigurationId),
    FleetDeleted(FleetNumber),
    CountersKept {
        builds: u32,
        configurations: u32,
        fleets: u32,
    },
    Revised {
        number: u64,
        by: &'a str,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) enum Role {
    Admin,
    Allocator,
}

#[derive(Serialize, Deserialize)]
pub(super) struct FleetSpec<'a> {
    number: FleetNumber,
    id: FleetId,
    #[serde(borrow)]
    name: &'a str,
    revision: u64,
    idle_servers: Idle,
    regions: Vec<Region<'a>>,
    configurations: Vec<Spec<'a>>,
    placement_timeout: Duration,
    retention: Duration,
}

#[derive(Serialize, Deserialize)]
enum Idle {
    StartOnProvision,
    StartOnAllocation,
}

#[derive(Serialize, Deserialize)]
struct Region<'a> {
    id: RegionId,
    #[serde(borrow)]
    name: &'a str,
    min_available: u32,
    max_servers: u32,
    opening: Opening,
    growth: Grows,
}

#[derive(Serialize, Deserialize)]
enum Opening {
    Online,
    Offline,
}

#[derive(Serialize, Deserialize)]
enum Grows {
    Fixed,
    MachinesMayJoin,
}

impl<'a> From<&'a CatalogEvent> for Event<'a> {
    fn from(event: &'a CatalogEvent) -> Self {
        match event {
            CatalogEvent::BuildDeclared { id, declared: BuildDeclaration { name, folder } } => {
                Self::BuildDeclared { id: *id, name, folder }
            }
            CatalogEvent::ConfigurationDeclared(spec) => Self::ConfigurationDeclared(spec.as_ref().into()),
            CatalogEvent::FleetDeclared(spec) => Self::FleetDeclared(spec.as_ref().into()),
            CatalogEvent::CredentialAdmitted(CredentialDeclaration { key, secret_sha256, role }) => {
                let role = match role {
                    DomainRole::Admin => Role::Admin,
                    DomainRole::Allocator => Role::Allocator,
                };
                Self::CredentialAdmitted { key, secret_sha256: *secret_sha256, role }
            }
            CatalogEvent::BuildReleased { id, release } => {
                let Release { version, manifest, files, bytes } = *release;
                Self::BuildReleased { id: *id, version, manifest, files, bytes }
            }
            CatalogEvent::BuildDeleted(id) => Self::BuildDeleted(*id),
            CatalogEvent::ConfigurationDeleted(id) => Self::ConfigurationDeleted(*id),
            CatalogEvent::FleetDeleted(number) => Self::FleetDeleted(*number),
            CatalogEvent::CountersKept(Counters { builds, configurations, fleets }) => {
                Self::CountersKept { builds: *builds, configurations: *configurations, fleets: *fleets }
            }
            CatalogEvent::Revised { number, by } => Self::Revised { number: *number, by },
        }
    }
}

impl From<Event<'_>> for CatalogEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::BuildDeclared { id, name, folder } => Self::BuildDeclared {
                id,
                declared: BuildDeclaration { name: name.into(), folder: folder.into() },
            },
            Event::ConfigurationDeclared(spec) => Self::ConfigurationDeclared(Box::new(spec.into())),
            Event::FleetDeclared(spec) => Self::FleetDeclared(Arc::new(spec.into())),
            Event::CredentialAdmitted { key, secret_sha256, role } => {
                let role = match role {
                    Role::Admin => DomainRole::Admin,
                    Role::Allocator => DomainRole::Allocator,
                };
                Self::CredentialAdmitted(CredentialDeclaration { key: key.into(), secret_sha256, role })
            }
            Event::BuildReleased { id, version, manifest, files, bytes } => {
                Self::BuildReleased { id, release: Release { version, manifest, files, bytes } }
            }
            Event::BuildDeleted(id) => Self::BuildDeleted(id),
            Event::ConfigurationDeleted(id) => Self::ConfigurationDeleted(id),
            Event::FleetDeleted(number) => Self::FleetDeleted(number),
            Event::CountersKept { builds, configurations, fleets } => {
                Self::CountersKept(Counters { builds, configurations, fleets })
            }
            Event::Revised { number, by } => Self::Revised { number, by: by.into() },
        }
    }
}

impl<'a> From<&'a DomainFleetSpec> for FleetSpec<'a> {
    fn from(spec: &'a DomainFleetSpec) -> Self {
        Self {
            number: spec.number,
            id: spec.id,
            name: &spec.name,
            revision: spec.revision,
            idle_servers: match spec.idle_servers {
                IdleServers::StartOnProvision => Idle::StartOnProvision,
                IdleServers::StartOnAllocation => Idle::StartOnAllocation,
            },
            regions: spec.regions.iter().map(Into::into).collect(),
            configurations: spec.configurations.iter().map(Into::into).collect(),
            placement_timeout: spec.placement_timeout,
            retention: spec.retention,
        }
    }
}

impl From<FleetSpec<'_>> for DomainFleetSpec {
    fn from(spec: FleetSpec<'_>) -> Self {
        Self {
            number: spec.number,
            id: spec.id,
            name: spec.name.into(),
            revision: spec.revision,
            idle_servers: match spec.idle_servers {
                Idle::StartOnProvision => IdleServers::StartOnProvision,
                Idle::StartOnAllocation => IdleServers::StartOnAllocation,
            },
            regions: spec.regions.into_iter().map(Into::into).collect(),
            configurations: spec.configurations.into_iter().map(Into::into).collect(),
            placement_timeout: spec.placement_timeout,
            retention: spec.retention,
        }
    }
}

impl<'a> From<&'a RegionSpec> for Region<'a> {
    fn from(region: &'a RegionSpec) -> Self {
        let RegionSpec { id, name, min_available, max_servers, opening, growth } = region;
        let opening = match opening {
            RegionOpening::Online => Opening::Online,
            RegionOpening::Offline => Opening::Offline,
        };
        let growth = match growth {
            Growth::Fixed => Grows::Fixed,
            Growth::MachinesMayJoin => Grows::MachinesMayJoin,
        };
        Self { id: *id, name, min_available: *min_available, max_servers: *max_servers, opening, growth }
    }
}

impl From<Region<'_>> for RegionSpec {
    fn from(region: Region<'_>) -> Self {
        let Region { id, name, min_available, max_servers, opening, growth } = region;
        let opening = match opening {
            Opening::Online => RegionOpening::Online,
            Opening::Offline => RegionOpening::Offline,
        };
        let growth = match growth {
            Grows::Fixed => Growth::Fixed,
            Grows::MachinesMayJoin => Growth::MachinesMayJoin,
        };
        Self { id, name: name.into(), min_available, max_servers, opening, growth }
    }
}
