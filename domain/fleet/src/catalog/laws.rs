//! What is always true of the catalog. Run by tests and by `mainstay doctor`; it has no indices of its own beside what it
//! is, so everything is looked at each time.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Catalog;

/// A law of the catalog that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The law.
    pub law: Law,
    /// Where, and how.
    pub detail: String,
}

/// The laws of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// A name is an identity: what is kept under a name has that name, and no two things share an id.
    Identity,
    /// Ids lie at or below the counter they came from, so that none is given twice.
    Counters,
    /// A build configuration starts a build that exists.
    KnownBuild,
    /// A fleet runs build configurations that exist, each in its newest revision.
    NewestConfigurations,
    /// A machine's credential came with a token for its fleet, or with one that is forgotten.
    Credentials,
}

/// Looks at everything.
#[must_use]
pub fn all(catalog: &Catalog) -> Vec<Broken> {
    let mut broken = Vec::new();
    identity(catalog, &mut broken);
    counters(catalog, &mut broken);
    references(catalog, &mut broken);
    broken
}

fn identity(catalog: &Catalog, broken: &mut Vec<Broken>) {
    let mut break_it = |detail| broken.push(Broken { law: Law::Identity, detail });
    for (name, build) in catalog.builds.iter().filter(|(name, build)| **name != build.declared.name) {
        break_it(format!("build \"{}\" is kept as \"{name}\"", build.declared.name));
    }
    for (name, spec) in catalog.configurations.iter().filter(|(name, spec)| **name != spec.name) {
        break_it(format!("build configuration \"{}\" is kept as \"{name}\"", spec.name));
    }
    for (number, spec) in catalog.fleets.iter().filter(|(number, spec)| **number != spec.number) {
        break_it(format!("fleet {} is kept as {}", spec.number.get(), number.get()));
    }
    for (key, known) in catalog.credentials.iter().filter(|(key, known)| **key != known.key) {
        break_it(format!("credential \"{}\" is kept as \"{key}\"", known.key));
    }
    let builds: BTreeSet<_> = catalog.builds.values().map(|build| build.id).collect();
    let configurations: BTreeSet<_> =
        catalog.configurations.values().map(|spec| spec.configuration.id).collect();
    let fleets: BTreeSet<_> = catalog.fleets.values().map(|spec| spec.id).collect();
    let names: BTreeSet<_> = catalog.fleets.values().map(|spec| &spec.name).collect();
    for (kind, distinct, all) in [
        ("builds", builds.len(), catalog.builds.len()),
        ("build configurations", configurations.len(), catalog.configurations.len()),
        ("fleets", fleets.len(), catalog.fleets.len()),
        ("fleets' names", names.len(), catalog.fleets.len()),
    ] {
        if distinct != all {
            break_it(format!("{all} {kind} share {distinct} identities"));
        }
    }
}

fn counters(catalog: &Catalog, broken: &mut Vec<Broken>) {
    let highest = |ids: &mut dyn Iterator<Item = u32>| ids.max().unwrap_or(0);
    let builds = highest(&mut catalog.builds.values().map(|build| build.id.counter()));
    let configurations =
        highest(&mut catalog.configurations.values().map(|spec| spec.configuration.id.counter()));
    let fleets = highest(&mut catalog.fleets.keys().map(|number| number.get()));
    for (kind, given, counter) in [
        ("build", builds, catalog.counters.builds),
        ("build configuration", configurations, catalog.counters.configurations),
        ("fleet", fleets, catalog.counters.fleets),
    ] {
        if given > counter {
            let detail = format!("{kind} {given} was given out, and the counter is at {counter}");
            broken.push(Broken { law: Law::Counters, detail });
        }
    }
}

fn references(catalog: &Catalog, broken: &mut Vec<Broken>) {
    let builds: BTreeSet<_> = catalog.builds.values().map(|build| build.id).collect();
    for spec in catalog.configurations.values().filter(|spec| !builds.contains(&spec.build)) {
        let detail = format!("build configuration \"{}\" starts {}, which is gone", spec.name, spec.build);
        broken.push(Broken { law: Law::KnownBuild, detail });
    }
    let newest: BTreeMap<_, _> =
        catalog.configurations.values().map(|spec| (spec.configuration.id, spec)).collect();
    for fleet in catalog.fleets.values() {
        for spec in &fleet.configurations {
            if newest.get(&spec.configuration.id) != Some(&spec) {
                let detail = format!(
                    "fleet \"{}\" has build configuration \"{}\" in revision {}, which is not its newest",
                    fleet.name, spec.name, spec.configuration.revision
                );
                broken.push(Broken { law: Law::NewestConfigurations, detail });
            }
        }
    }
    for (machine, member) in catalog.admission.members() {
        let Some(token) = catalog.admission.token(member.token) else { continue };
        if !token.made.scope.holds(member.fleet, member.region) {
            let detail = format!("machine {machine} is of a fleet or region that its token is not for");
            broken.push(Broken { law: Law::Credentials, detail });
        }
    }
}
