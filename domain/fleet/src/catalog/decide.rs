//! The rules of declaring: find or create by name, change what differs, never delete.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::{ConfigurationRef, Launch, Spec};
use mainstay_core::{BuildConfigurationId, BuildId, FleetNumber, Turn};

use super::declaration::{
    BuildDeclaration, ConfigurationDeclaration, CredentialDeclaration, Declaration, FleetDeclaration,
};
use super::{Build, Catalog, CatalogEvent, CatalogRejection};
use crate::spec::{FleetSpec, Growth, RegionOpening, RegionSpec};

pub(super) fn declare(
    turn: &mut Turn<'_, Catalog>,
    declaration: &Declaration,
) -> Result<(), CatalogRejection> {
    admissible(turn.state(), declaration)?;
    for build in &declaration.builds {
        declare_build(turn, build);
    }
    let rebuilt: BTreeSet<&str> = declaration.builds.iter().map(|build| &*build.name).collect();
    for configuration in &declaration.configurations {
        declare_configuration(turn, configuration);
    }
    follow_builds(turn, &rebuilt, Follow::Moved);
    for fleet in &declaration.fleets {
        declare_fleet(turn, fleet);
    }
    refresh_fleets(turn);
    Ok(())
}

/// Which configurations of a build are new revisions when the build has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Follow {
    /// Those that would start it elsewhere.
    Moved,
    /// All: what is in its folder is something else.
    All,
}

/// A known build has other files now: everything that starts it is a new revision.
pub(super) fn rebuild(turn: &mut Turn<'_, Catalog>, declared: &BuildDeclaration) {
    declare_build(turn, declared);
    follow_builds(turn, &BTreeSet::from([&*declared.name]), Follow::All);
    refresh_fleets(turn);
}

pub(super) fn admit(
    turn: &mut Turn<'_, Catalog>,
    credential: &CredentialDeclaration,
) -> Result<(), CatalogRejection> {
    let known = turn.state().credential(&credential.key);
    if known == Some(credential) {
        return Ok(());
    }
    limit("credentials", turn.state().credentials.len() + usize::from(known.is_none()))?;
    turn.emit(CatalogEvent::CredentialAdmitted(credential.clone()));
    Ok(())
}

pub(super) fn revoke(turn: &mut Turn<'_, Catalog>, key: &Arc<str>) -> Result<(), CatalogRejection> {
    turn.state().credential(key).ok_or(CatalogRejection::Unknown { kind: "service account" })?;
    turn.emit(CatalogEvent::CredentialRevoked(key.clone()));
    Ok(())
}

fn admissible(state: &Catalog, declaration: &Declaration) -> Result<(), CatalogRejection> {
    let builds = names(state.builds.keys(), declaration.builds.iter().map(|build| &build.name));
    let configurations = names(
        state.configurations.keys(),
        declaration.configurations.iter().map(|configuration| &configuration.name),
    );
    let fleets = names(
        state.fleets.values().map(|fleet| &fleet.name),
        declaration.fleets.iter().map(|fleet| &fleet.name),
    );
    limit("builds", builds.len())?;
    limit("build configurations", configurations.len())?;
    limit("fleets", fleets.len())?;
    for ConfigurationDeclaration { name, build, .. } in &declaration.configurations {
        if !builds.contains(build) {
            return Err(CatalogRejection::UnknownBuild { configuration: name.clone(), build: build.clone() });
        }
    }
    for fleet in &declaration.fleets {
        if let Some(missing) = fleet.configurations.iter().find(|name| !configurations.contains(name)) {
            return Err(CatalogRejection::UnknownConfiguration {
                fleet: fleet.name.clone(),
                configuration: missing.clone(),
            });
        }
    }
    Ok(())
}

fn names<'a>(
    known: impl Iterator<Item = &'a Arc<str>>,
    declared: impl Iterator<Item = &'a Arc<str>>,
) -> BTreeSet<&'a Arc<str>> {
    known.chain(declared).collect()
}

fn limit(kind: &'static str, count: usize) -> Result<(), CatalogRejection> {
    if count > Catalog::ENTRIES_MAX { Err(CatalogRejection::TooMany { kind, count }) } else { Ok(()) }
}

fn declare_build(turn: &mut Turn<'_, Catalog>, declared: &BuildDeclaration) {
    let id = match turn.state().builds.get(&declared.name) {
        Some(known) if known.declared == *declared => return,
        Some(known) => known.id,
        None => BuildId::of(SHARED, next(turn.state().counters.builds)),
    };
    turn.emit(CatalogEvent::BuildDeclared { id, declared: declared.clone() });
}

fn declare_configuration(turn: &mut Turn<'_, Catalog>, declared: &ConfigurationDeclaration) {
    let Some(build) = turn.state().builds.get(&declared.build) else { return };
    let known = turn.state().configurations.get(&declared.name);
    let reference = known.map_or(
        ConfigurationRef {
            id: BuildConfigurationId::of(SHARED, next(turn.state().counters.configurations)),
            revision: 1,
        },
        |known| known.configuration,
    );
    let mut spec = spec(reference, declared, build);
    match known {
        Some(known) if *known == spec => return,
        Some(_) => spec.configuration.revision += 1,
        None => {}
    }
    turn.emit(CatalogEvent::ConfigurationDeclared(spec.into()));
}

/// A configuration whose build moved is a new revision of it, though nobody declared it anew.
fn follow_builds(turn: &mut Turn<'_, Catalog>, rebuilt: &BTreeSet<&str>, follow: Follow) {
    let state = turn.state();
    let moved: Vec<Spec> = state
        .builds
        .values()
        .filter(|build| rebuilt.contains(&*build.declared.name))
        .flat_map(|build| {
            state
                .configurations
                .values()
                .filter(move |spec| spec.build == build.id)
                .map(move |spec| (build, spec))
        })
        .filter(|(build, spec)| follow == Follow::All || spec.launch.folder != build.declared.folder)
        .map(|(build, spec)| {
            let mut spec = spec.clone();
            spec.launch.folder.clone_from(&build.declared.folder);
            spec.configuration.revision += 1;
            spec
        })
        .collect();
    for spec in moved {
        turn.emit(CatalogEvent::ConfigurationDeclared(spec.into()));
    }
}

fn declare_fleet(turn: &mut Turn<'_, Catalog>, declared: &FleetDeclaration) {
    let state = turn.state();
    let known = state.fleets.values().find(|fleet| fleet.name == declared.name);
    let Some(number) =
        known.map_or_else(|| FleetNumber::new(next(state.counters.fleets)), |known| Some(known.number))
    else {
        return;
    };
    let configurations =
        declared.configurations.iter().filter_map(|name| state.configurations.get(name).cloned());
    let mut spec = FleetSpec {
        number,
        id: declared.id,
        name: declared.name.clone(),
        revision: known.map_or(1, |known| known.revision),
        idle_servers: declared.idle_servers,
        regions: regions(declared, known),
        configurations: configurations.collect(),
        placement_timeout: declared.placement_timeout,
        retention: declared.retention,
        hosting: declared.hosting.clone(),
        floors: known.map_or_else(Vec::new, |known| known.floors.clone()),
    };
    match known {
        Some(known) if **known == spec => return,
        Some(_) => spec.revision += 1,
        None => {}
    }
    turn.emit(CatalogEvent::FleetDeclared(Arc::new(spec)));
}

/// A region that is declared no longer may have machines and sessions: it is closed, and what is allocated plays on.
fn regions(declared: &FleetDeclaration, known: Option<&Arc<FleetSpec>>) -> Vec<RegionSpec> {
    let before = known.into_iter().flat_map(|known| &known.regions);
    let left = before.filter(|known| declared.regions.iter().all(|region| region.id != known.id));
    let closed = |region: &RegionSpec| RegionSpec {
        opening: RegionOpening::Offline,
        min_available: 0,
        growth: Growth::Fixed,
        ..region.clone()
    };
    declared.regions.iter().cloned().chain(left.map(closed)).collect()
}

/// A fleet whose configurations have new revisions has a new revision itself, though nobody declared it anew.
fn refresh_fleets(turn: &mut Turn<'_, Catalog>) {
    let state = turn.state();
    let stale: Vec<FleetSpec> = state
        .fleets
        .values()
        .filter_map(|fleet| {
            let fresh: Vec<Spec> = fleet
                .configurations
                .iter()
                .filter_map(|spec| state.configurations.get(&spec.name).cloned())
                .collect();
            (fresh != fleet.configurations).then(|| FleetSpec {
                configurations: fresh,
                revision: fleet.revision + 1,
                ..FleetSpec::clone(fleet)
            })
        })
        .collect();
    for spec in stale {
        turn.emit(CatalogEvent::FleetDeclared(Arc::new(spec)));
    }
}

fn spec(configuration: ConfigurationRef, declared: &ConfigurationDeclaration, build: &Build) -> Spec {
    Spec {
        configuration,
        name: declared.name.clone(),
        build: build.id,
        launch: Launch {
            folder: build.declared.folder.clone(),
            binary: declared.binary.clone(),
            command_line: declared.command_line.clone(),
            variables: declared.variables.clone(),
            environment: declared.environment.clone(),
        },
        query: declared.query.clone(),
        limits: declared.limits,
        caps: declared.caps,
        stop: declared.stop,
        restart: declared.restart,
        checks: declared.checks,
        recovery: declared.recovery,
        ready_signal: declared.ready_signal,
    }
}

/// Builds and build configurations belong to no fleet: the high half of their ids is 0.
const SHARED: FleetNumber = match FleetNumber::new(0) {
    Some(number) => number,
    None => unreachable!(),
};

/// The counter after the last given out. Every one is a command of its own, so that 32 bits last.
const fn next(last: u32) -> u32 {
    last.saturating_add(1)
}
