//! What `up` reads at its start and nobody reads again: said to whoever takes a file later.

use crate::codes::Code;
use crate::model::{Allocate, Config};
use crate::problem::Problem;

/// What of a file waits for the next start, but for the builds of PlayFab's that are mapped so already: one warning each.
pub fn waits_for_the_start(config: &Config, is_mapped: impl Fn(&str, &Allocate) -> bool) -> Vec<Problem> {
    let builds = config.playfab_builds.iter().filter(|(id, allocate)| !is_mapped(id, allocate));
    let warning = |(id, allocate): (&String, &Allocate)| {
        let what = format!(
            "build {id} of playfab stands for this in the queues of this file, and in those that are set by calls from the next start of `up` with it"
        );
        let problem = Problem::new(Code::HasNoEffect, what);
        match allocate.fleet.place() {
            Some(place) => problem.at(&config.sources, place, "not yet for calls"),
            None => problem,
        }
    };
    builds.map(warning).collect()
}
