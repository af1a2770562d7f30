//! Format 1 of the catalog's events: read, no longer written; and of fleet specifications, which the catalog and the fleets both store.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{BuildId, FleetId, FleetNumber, RegionId};
use mainstay_fleet::catalog::{BuildDeclaration, CatalogEvent, CredentialDeclaration, Role as DomainRole};
use mainstay_fleet::{FleetSpec as DomainFleetSpec, Growth, Hosting, IdleServers, RegionOpening, RegionSpec};
use serde::{Deserialize, Serialize};

use super::machine_v3::Provided;
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
pub(super) enum Idle {
    StartOnProvision,
    StartOnAllocation,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Region<'a> {
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
    /// Since format 3.
    Provided(Provided),
}

impl From<Event<'_>> for CatalogEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::BuildDeclared { id, name, folder } => Self::BuildDeclared {
                id,
                declared: BuildDeclaration { name: name.into(), folder: folder.into(), excluded: Vec::new() },
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
            hosting: Hosting::default(),
            floors: Vec::new(),
        }
    }
}

impl<'a> From<&'a RegionSpec> for Region<'a> {
    fn from(region: &'a RegionSpec) -> Self {
        // Aliases and times of its own are stored since format 3, beside it.
        let RegionSpec { id, name, aliases: _, min_available, max_servers, opening, growth, ttl: _ } = region;
        let opening = match opening {
            RegionOpening::Online => Opening::Online,
            RegionOpening::Offline => Opening::Offline,
        };
        let growth = match growth {
            Growth::Fixed => Grows::Fixed,
            Growth::MachinesMayJoin => Grows::MachinesMayJoin,
            Growth::Provided(provided) => Grows::Provided((*provided).into()),
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
            Grows::Provided(provided) => Growth::Provided(provided.into()),
        };
        let (name, aliases, ttl) = (name.into(), Vec::new(), None);
        Self { id, name, aliases, min_available, max_servers, opening, growth, ttl }
    }
}
