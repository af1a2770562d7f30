//! What queues get their servers of: fleets, build configurations and regions that these files have.

use std::collections::{BTreeMap, HashMap};

use super::Merged;
use crate::codes::Code;
use crate::model::{Allocate, Fleet, Region};
use crate::place::Sourced;
use crate::problem::{Problem, quote};
use crate::read::{Check, unknown_name};
use crate::sections::queues;

impl Merged {
    /// Matches get servers of fleets in these files.
    pub(super) fn servers_are_known(&self, check: &mut Check<'_>) {
        for (id, allocate) in &self.playfab_builds.entries {
            self.allocate_is_known(check, &format!("build {} of playfab", quote(id)), allocate);
        }
        for queue in self.queues.entries.values() {
            let owner = format!("queue {}", quote(&queue.name.value));
            self.regions_are_known(check, queue);
            match &queue.servers {
                queues::Servers::None => {}
                queues::Servers::Of(allocate) => self.allocate_is_known(check, &owner, allocate),
                queues::Servers::Build(build) => {
                    let id = &**build.id();
                    if !self.playfab_builds.lacks(id) {
                        continue;
                    }
                    if let Some(own) = queues::found(build.clone(), &BTreeMap::new()) {
                        let said = |value: &str| Sourced {
                            value: value.to_owned(),
                            origin: queue.name.origin.clone(),
                        };
                        let allocate = Allocate {
                            fleet: said(&own.fleet),
                            build_configuration: said(&own.build_configuration),
                        };
                        self.allocate_is_known(check, &owner, &allocate);
                        continue;
                    }
                    check.report(|sources| {
                        let what = format!("{owner} wants servers of a build that stands for nothing here");
                        let known = self.playfab_builds.names.keys().map(String::as_str);
                        let id = Sourced { value: id.to_owned(), origin: queue.name.origin.clone() };
                        let problem = Problem::new(Code::NoServers, what)
                            .why("a pasted queue names PlayFab's build, not ours");
                        unknown_name(sources, problem, &id, "this queue's build is not mapped", known)
                            .fix("map it: playfab: { builds: { ID: { fleet: …, buildConfiguration: … } } }")
                    });
                }
            }
        }
    }

    /// A region of a queue that its servers' fleet does not have is nowhere to play.
    fn regions_are_known(&self, check: &mut Check<'_>, queue: &queues::Declared) {
        let fleet = match &queue.servers {
            queues::Servers::None => return,
            queues::Servers::Of(allocate) => Some(allocate.fleet.value.clone()),
            queues::Servers::Build(build) => queues::found(build.clone(), &self.playfab_builds.entries)
                .map(|allocation| allocation.fleet.to_string()),
        };
        // What is not there, or could not be read, has been told of.
        let Some(fleet) = fleet.and_then(|fleet| self.fleets.entries.get(&fleet)) else { return };
        let names = |region: &Region| -> Vec<String> {
            [&region.name].into_iter().chain(&region.aliases).map(|name| name.value.to_lowercase()).collect()
        };
        let known: Vec<String> = fleet.regions.values().flat_map(names).collect();
        self.regions_are_apart(check, queue, fleet);
        for region in queue.regions.iter().filter(|region| !known.contains(&region.to_lowercase())) {
            check.report(|sources| {
                let (owner, of) = (quote(&queue.name.value), quote(&fleet.name.value));
                let what = format!("queue {owner} names a region that fleet {of} does not have");
                let named = Sourced { value: region.to_string(), origin: queue.name.origin.clone() };
                let problem = Problem::new(Code::NoServers, what);
                unknown_name(
                    sources,
                    problem,
                    &named,
                    "its fleet has no such region",
                    known.iter().map(String::as_str),
                )
            });
        }
    }

    /// Two names of one region would be judged as two.
    fn regions_are_apart(&self, check: &mut Check<'_>, queue: &queues::Declared, fleet: &Fleet) {
        let mut named = HashMap::new();
        for written in queue.regions.iter() {
            let is_it = |region: &&Region| {
                let mut names = [&region.name].into_iter().chain(&region.aliases);
                names.any(|name| name.value.to_lowercase() == written.to_lowercase())
            };
            let Some(region) = fleet.regions.values().find(is_it) else { continue };
            let Some(other) = named.insert(&region.name.value, written) else { continue };
            let owner = format!("queue {} cannot match as it is written", quote(&queue.name.value));
            let what = format!(
                "{owner}: regions: {other} and {written} are one region of fleet {}",
                fleet.name.value
            );
            check.report(|sources| {
                let problem =
                    Problem::new(Code::BadQueue, what).fix(format!("name it once: {}", region.name.value));
                match queue.name.place() {
                    Some(place) => problem.at(sources, place, "names one region twice"),
                    None => problem,
                }
            });
        }
    }

    fn allocate_is_known(&self, check: &mut Check<'_>, owner: &str, allocate: &Allocate) {
        let (fleet, configuration) = (&allocate.fleet, &allocate.build_configuration);
        if self.fleets.lacks(&fleet.value) {
            check.report(|sources| {
                let what = format!("{owner} wants servers of a fleet that does not exist");
                let known = self.fleets.names.keys().map(String::as_str);
                unknown_name(
                    sources,
                    Problem::new(Code::NoServers, what),
                    fleet,
                    "no fleet has this name",
                    known,
                )
            });
            return;
        }
        // A fleet that could not be read has been told of.
        let Some(known) = self.fleets.entries.get(&fleet.value) else { return };
        let names = || known.build_configurations.iter().map(|name| name.value.as_str());
        if names().any(|name| name == configuration.value) {
            return;
        }
        check.report(|sources| {
            let name = quote(&fleet.value);
            let what = format!("{owner} wants a build configuration that fleet {name} does not have");
            let problem = Problem::new(Code::NoServers, what);
            unknown_name(
                sources,
                problem,
                configuration,
                "the fleet does not list it",
                names().collect::<Vec<_>>(),
            )
        });
    }
}
