//! `playfab`: what stands here for what pasted configurations name; and `allocate`, the same of a queue in our words.

use crate::model::Allocate;
use crate::place::Sourced;
use crate::problem::quote;
use crate::read::{Check, Fields, Keys, mapping};
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys { known: &["builds"], later: &[] };
pub(super) const ALLOCATE: Keys = Keys { known: &["fleet", "buildConfiguration"], later: &[] };

/// PlayFab's builds and aliases, by id, with what stands for each.
pub(crate) fn builds(check: &mut Check<'_>, key: &Node, node: &Node) -> Vec<(Sourced<String>, Allocate)> {
    let Some(fields) = Fields::open(check, "playfab".into(), &key.place, node, KEYS) else {
        return Vec::new();
    };
    let Some((key, node)) = fields.get("builds") else { return Vec::new() };
    let entries = mapping(check, "builds of playfab", &key.place, node).unwrap_or_default();
    let read = entries.into_iter().filter_map(|(key, node)| {
        let name = super::name(check, "build of PlayFab's", key)?;
        let allocate = allocate(check, format!("build {} of playfab", quote(&name.value)), key, node)?;
        Some((name, allocate))
    });
    read.collect()
}

/// A fleet and one of its build configurations.
pub(crate) fn allocate(check: &mut Check<'_>, owner: String, key: &Node, node: &Node) -> Option<Allocate> {
    let fields = Fields::open(check, owner, &key.place, node, ALLOCATE)?;
    let fleet = fields.required(check, "fleet", "add fleet: with a fleet of these files");
    let fix = "add buildConfiguration: with one of the fleet's";
    let build_configuration = fields.required(check, "buildConfiguration", fix);
    Some(Allocate { fleet: fleet?, build_configuration: build_configuration? })
}
