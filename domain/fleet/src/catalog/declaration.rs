//! What an operator declares, by name.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::FleetId;
use mainstay_core::slot::{
    Caps, Checks, Limits, Query, ReadySignal, Recovery, RestartPolicy, Spec, StopPolicy,
};

use super::Build;
use crate::spec::{FleetSpec, Hosting, IdleServers, RegionSpec};

/// Builds, build configurations and fleets to have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Declaration {
    /// Builds.
    pub builds: Vec<BuildDeclaration>,
    /// Build configurations; may name builds declared earlier.
    pub configurations: Vec<ConfigurationDeclaration>,
    /// Fleets; may name build configurations declared earlier.
    pub fleets: Vec<FleetDeclaration>,
}

/// A build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildDeclaration {
    /// Its name: its identity.
    pub name: Arc<str>,
    /// Its folder on the machine.
    pub folder: String,
    /// Patterns, from that folder, of files that machines are not given. Who starts from the folder itself sees them.
    pub excluded: Vec<Arc<str>>,
}

/// A build configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigurationDeclaration {
    /// Its name: its identity.
    pub name: Arc<str>,
    /// The name of the build it starts.
    pub build: Arc<str>,
    /// The executable, relative to the build's folder.
    pub binary: String,
    /// Its arguments, with `$$variables$$`.
    pub command_line: String,
    /// Custom configuration variables.
    pub variables: Vec<(String, String)>,
    /// The declared environment.
    pub environment: Vec<(String, String)>,
    /// How it is asked whether it lives.
    pub query: Option<Query>,
    /// What checks compare with.
    pub limits: Limits,
    /// Hard caps.
    pub caps: Caps,
    /// How it is stopped.
    pub stop: StopPolicy,
    /// What follows a crash.
    pub restart: RestartPolicy,
    /// When it counts as misbehaving.
    pub checks: Checks,
    /// What follows silence under an allocation.
    pub recovery: Recovery,
    /// Whether an allocation waits for its game's ready call.
    pub ready_signal: ReadySignal,
}

/// A fleet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FleetDeclaration {
    /// Its name: its identity.
    pub name: Arc<str>,
    /// What Multiplay's clients call it.
    pub id: FleetId,
    /// When its servers start.
    pub idle_servers: IdleServers,
    /// Where it runs.
    pub regions: Vec<RegionSpec>,
    /// The names of its build configurations; idle servers run the first.
    pub configurations: Vec<Arc<str>>,
    /// How long an allocation may wait for a server.
    pub placement_timeout: Duration,
    /// How long an ended allocation stays readable.
    pub retention: Duration,
    /// What its servers are for, and for how long.
    pub hosting: Hosting,
}

impl FleetDeclaration {
    /// What would have to be declared for a fleet to be as it is.
    #[must_use]
    pub fn of(spec: &FleetSpec) -> Self {
        Self {
            name: spec.name.clone(),
            id: spec.id,
            idle_servers: spec.idle_servers,
            regions: spec.regions.clone(),
            configurations: spec.configurations.iter().map(|it| it.name.clone()).collect(),
            placement_timeout: spec.placement_timeout,
            retention: spec.retention,
            hosting: spec.hosting.clone(),
        }
    }
}

impl ConfigurationDeclaration {
    /// What would have to be declared for a build configuration to be as it is.
    #[must_use]
    pub fn of(spec: &Spec, build: &Build) -> Self {
        Self {
            name: spec.name.clone(),
            build: build.declared.name.clone(),
            binary: spec.launch.binary.clone(),
            command_line: spec.launch.command_line.clone(),
            variables: spec.launch.variables.clone(),
            environment: spec.launch.environment.clone(),
            query: spec.query.clone(),
            limits: spec.limits,
            caps: spec.caps,
            stop: spec.stop,
            restart: spec.restart,
            checks: spec.checks,
            recovery: spec.recovery,
            ready_signal: spec.ready_signal,
        }
    }
}

/// Somebody who may ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialDeclaration {
    /// The public half: `keyId` of a service account.
    pub key: Arc<str>,
    /// SHA-256 of the secret half. The secret has 256 random bits, so a slow hash would add nothing.
    pub secret_sha256: [u8; 32],
    /// What it may do.
    pub role: Role,
}

/// What a credential may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Everything.
    Admin,
    /// Allocate, read and deallocate.
    Allocator,
    /// What an allocator may, and start, stop and restart servers.
    Operator,
    /// Read, and change nothing.
    Viewer,
}
