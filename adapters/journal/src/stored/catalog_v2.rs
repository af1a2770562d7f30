//! Format 2 of the catalog's events, and of fleet specifications, which the catalog and the fleets both store.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{BuildConfigurationId, BuildId, FleetId, FleetNumber};
use mainstay_fleet::catalog::{
    BuildDeclaration, CatalogEvent, Counters, CredentialDeclaration, Release, Role as DomainRole,
};
use mainstay_fleet::{
    AllocationTtl, ClaimedBy, FleetSpec as DomainFleetSpec, Hosting, IdleServers, MachinePolicy,
};
use serde::{Deserialize, Serialize};

use super::admission_v1::Admission;
use super::catalog_v1::{Idle, Region};
use super::catalog_v3;
use super::machine_v3::Ttl as MachineTimes;
use super::slot_v1::ConfigurationRef;
use super::slot_v2::Spec;
use super::slot_v3;

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
    Admission(Admission),
    /// Since format 3, in the place of `FleetDeclared`.
    #[serde(borrow)]
    FleetDeclaredInV3(catalog_v3::FleetSpec<'a>),
    /// Since format 3.
    CredentialRevoked {
        key: &'a str,
    },
    /// Since format 3, in the place of `ConfigurationDeclared`.
    ConfigurationDeclaredInV3(slot_v3::Spec<'a>),
    /// Since format 3, in the place of `FleetDeclared` where a region's machines go by times of their own: those of each.
    FleetDeclaredWithTimes(catalog_v3::FleetSpec<'a>, Vec<Option<MachineTimes>>),
    /// Since format 3, in the place of `BuildDeclared` where something is left out.
    BuildDeclaredInV3 {
        id: BuildId,
        #[serde(borrow)]
        name: &'a str,
        folder: &'a str,
        excluded: Vec<&'a str>,
    },
    /// Since format 3.
    StartTaken([u8; 32]),
}

/// Format 1 had the first two.
#[derive(Serialize, Deserialize)]
pub(super) enum Role {
    Admin,
    Allocator,
    Operator,
    Viewer,
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
    hosting: Hosts,
    floors: Vec<ConfigurationRef>,
}

/// What a fleet's servers are for, and for how long.
#[derive(Serialize, Deserialize)]
struct Hosts {
    claimed_by: Claimers,
    hold_max: Duration,
    allocation_ttl: Ttl,
}

#[derive(Serialize, Deserialize)]
enum Ttl {
    Off,
    Idle(Duration),
    Age(Duration),
}

#[derive(Serialize, Deserialize)]
enum Claimers {
    Allocations,
    Reservations,
}

impl<'a> From<&'a CatalogEvent> for Event<'a> {
    fn from(event: &'a CatalogEvent) -> Self {
        match event {
            CatalogEvent::BuildDeclared { id, declared: BuildDeclaration { name, folder, excluded } } => {
                let (id, excluded): (_, Vec<&str>) = (*id, excluded.iter().map(AsRef::as_ref).collect());
                if excluded.is_empty() {
                    Self::BuildDeclared { id, name, folder }
                } else {
                    Self::BuildDeclaredInV3 { id, name, folder, excluded }
                }
            }
            CatalogEvent::ConfigurationDeclared(spec) => {
                Self::ConfigurationDeclaredInV3(spec.as_ref().into())
            }
            CatalogEvent::FleetDeclared(spec) => match catalog_v3::times(spec) {
                None => Self::FleetDeclaredInV3(spec.as_ref().into()),
                Some(times) => Self::FleetDeclaredWithTimes(spec.as_ref().into(), times),
            },
            CatalogEvent::CredentialAdmitted(CredentialDeclaration { key, secret_sha256, role }) => {
                let role = match role {
                    DomainRole::Admin => Role::Admin,
                    DomainRole::Allocator => Role::Allocator,
                    DomainRole::Operator => Role::Operator,
                    DomainRole::Viewer => Role::Viewer,
                };
                Self::CredentialAdmitted { key, secret_sha256: *secret_sha256, role }
            }
            CatalogEvent::CredentialRevoked(key) => Self::CredentialRevoked { key },
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
            CatalogEvent::Admission(event) => Self::Admission(event.into()),
            CatalogEvent::StartTaken(sha256) => Self::StartTaken(*sha256),
        }
    }
}

impl From<Event<'_>> for CatalogEvent {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::BuildDeclared { id, name, folder } => Self::BuildDeclared {
                id,
                declared: BuildDeclaration { name: name.into(), folder: folder.into(), excluded: Vec::new() },
            },
            Event::BuildDeclaredInV3 { id, name, folder, excluded } => {
                let excluded = excluded.into_iter().map(Into::into).collect();
                let declared = BuildDeclaration { name: name.into(), folder: folder.into(), excluded };
                Self::BuildDeclared { id, declared }
            }
            Event::ConfigurationDeclared(spec) => Self::ConfigurationDeclared(Box::new(spec.into())),
            Event::ConfigurationDeclaredInV3(spec) => Self::ConfigurationDeclared(Box::new(spec.into())),
            Event::FleetDeclared(spec) => Self::FleetDeclared(Arc::new(spec.into())),
            Event::FleetDeclaredInV3(spec) => Self::FleetDeclared(Arc::new(spec.into())),
            Event::FleetDeclaredWithTimes(spec, times) => {
                Self::FleetDeclared(Arc::new(catalog_v3::with_times(spec, times)))
            }
            Event::CredentialAdmitted { key, secret_sha256, role } => {
                let role = match role {
                    Role::Admin => DomainRole::Admin,
                    Role::Allocator => DomainRole::Allocator,
                    Role::Operator => DomainRole::Operator,
                    Role::Viewer => DomainRole::Viewer,
                };
                Self::CredentialAdmitted(CredentialDeclaration { key: key.into(), secret_sha256, role })
            }
            Event::CredentialRevoked { key } => Self::CredentialRevoked(key.into()),
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
            Event::Admission(event) => Self::Admission(event.into()),
            Event::StartTaken(sha256) => Self::StartTaken(sha256),
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
            hosting: (&spec.hosting).into(),
            floors: spec.floors.iter().map(|floor| (*floor).into()).collect(),
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
            hosting: spec.hosting.into(),
            floors: spec.floors.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<&Hosting> for Hosts {
    /// How machines are treated is stored since format 3, beside it.
    fn from(hosting: &Hosting) -> Self {
        // The rest is stored since format 3, beside it.
        let Hosting { claimed_by, hold_max, allocation_ttl, machines: _, usage: _, disabled_delete: _ } =
            hosting;
        let claimed_by = match claimed_by {
            ClaimedBy::Allocations => Claimers::Allocations,
            ClaimedBy::Reservations => Claimers::Reservations,
        };
        let allocation_ttl = match allocation_ttl {
            AllocationTtl::Off => Ttl::Off,
            AllocationTtl::Idle(ttl) => Ttl::Idle(*ttl),
            AllocationTtl::Age(ttl) => Ttl::Age(*ttl),
        };
        Self { claimed_by, hold_max: *hold_max, allocation_ttl }
    }
}

impl From<Hosts> for Hosting {
    fn from(Hosts { claimed_by, hold_max, allocation_ttl }: Hosts) -> Self {
        let claimed_by = match claimed_by {
            Claimers::Allocations => ClaimedBy::Allocations,
            Claimers::Reservations => ClaimedBy::Reservations,
        };
        let allocation_ttl = match allocation_ttl {
            Ttl::Off => AllocationTtl::Off,
            Ttl::Idle(ttl) => AllocationTtl::Idle(ttl),
            Ttl::Age(ttl) => AllocationTtl::Age(ttl),
        };
        let machines = MachinePolicy::default();
        Self { claimed_by, hold_max, allocation_ttl, machines, usage: Vec::new(), disabled_delete: None }
    }
}
