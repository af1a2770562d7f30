//! `playfab`: what stands here for what pasted configurations name; and `allocate`, the same of a queue in our words.

use crate::model::Allocate;
use crate::place::Sourced;
use crate::problem::quote;
use crate::read::{Check, Fields, Keys};
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys { known: &["builds"], later: &[] };
pub(super) const ALLOCATE: Keys = Keys { known: &["fleet", "buildConfiguration"], later: &[] };

/// The section, if it is written.
pub(crate) fn open<'n>(check: &mut Check<'_>, file: &Fields<'n>) -> Option<Fields<'n>> {
    let (key, node) = file.get("playfab")?;
    Fields::open(check, "playfab".into(), &key.place, node, KEYS)
}

/// What stands for a build or alias of PlayFab's, by its id.
pub(crate) fn build(check: &mut Check<'_>, id: Sourced<String>, key: &Node, node: &Node) -> Option<Allocate> {
    allocate(check, format!("build {} of playfab", quote(&id.value)), key, node)
}

/// A fleet and one of its build configurations.
pub(crate) fn allocate(check: &mut Check<'_>, owner: String, key: &Node, node: &Node) -> Option<Allocate> {
    let fields = Fields::open(check, owner, &key.place, node, ALLOCATE)?;
    let fleet = fields.required(check, "fleet", "add fleet: with a fleet of these files");
    let fix = "add buildConfiguration: with one of the fleet's";
    let build_configuration = fields.required(check, "buildConfiguration", fix);
    Some(Allocate { fleet: fleet?, build_configuration: build_configuration? })
}
