//! `lobbies`: what the lobby services support, and how long their members' passes last.

use std::time::Duration;

use crate::codes::Code;
use crate::limits;
use crate::model::Lobby;
use crate::place::Sourced;
use crate::problem::{Problem, quote};
use crate::read::{Check, Fields, Keys};
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys { known: &["supportsHostMigration", "passLife"], later: &[] };
/// How long a member's token and its pass last: longer than a game, though they are renewed.
pub const PASS_LIFE: Duration = Duration::from_hours(24);
/// The services that there are.
pub(super) const SERVICES: [&str; 2] = ["lan", "online"];

/// A lobby service.
pub(crate) fn lobby(check: &mut Check<'_>, name: Sourced<String>, key: &Node, node: &Node) -> Option<Lobby> {
    if !SERVICES.contains(&name.value.as_str()) {
        check.report(|sources| {
            Problem::new(Code::NotAllowed, format!("there is no lobby service {}", quote(&name.value)))
                .at(sources, &key.place, "no service has this name")
                .why(format!("known: {}", SERVICES.join(", ")))
                .fix("write lan: or online:")
        });
        return None;
    }
    let fields = Fields::open(check, format!("lobby service {}", name.value), &key.place, node, KEYS)?;
    Some(Lobby {
        supports_host_migration: fields.boolean(check, "supportsHostMigration", true),
        pass_life: fields.duration(check, "passLife", PASS_LIFE, limits::PASS_LIFE),
        name,
    })
}
