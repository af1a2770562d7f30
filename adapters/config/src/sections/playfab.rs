//! `playfab`: what stands here for what pasted configurations name; and `allocate`, the same of a queue in our words.

use crate::codes::Code;
use crate::model::Allocate;
use crate::place::Sourced;
use crate::problem::{Problem, quote};
use crate::read::{Check, Fields, Keys};
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys { known: &["builds", "titleId"], later: &[] };
pub(super) const ALLOCATE: Keys = Keys { known: &["fleet", "buildConfiguration"], later: &[] };

/// Longest id of a title: PlayFab's have 4 to 8 digits, and it stands in paths and in every player's id.
const TITLE_CHARS_MAX: usize = 16;

/// The section, if it is written.
pub(crate) fn open<'n>(check: &mut Check<'_>, file: &Fields<'n>) -> Option<Fields<'n>> {
    let (key, node) = file.get("playfab")?;
    Fields::open(check, "playfab".into(), &key.place, node, KEYS)
}

/// The id that games know their title by.
pub(crate) fn title(check: &mut Check<'_>, fields: &Fields<'_>) -> Option<Sourced<String>> {
    let is_title = |text: &str| {
        (1..=TITLE_CHARS_MAX).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let refuse = |problem: Problem| {
        let fix = "write the title's id as the game has it, such as titleId: A1B2C";
        problem.why(format!("a title's id has 1 to {TITLE_CHARS_MAX} letters and digits")).fix(fix)
    };
    fields.parsed(check, "titleId", |text| is_title(text).then(|| text.to_owned()), refuse, Code::BadName)
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
