//! The host changes what its session is like.

use alloc::sync::Arc;

use mainstay_core::{SessionId, Turn};

use super::{may, room_for, session, told};
use crate::command::{Answer, Authority, Update};
use crate::event::Event;
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::settings::Settings;

pub(super) fn update(
    turn: &mut Turn<'_, Lobby>,
    id: SessionId,
    by: Authority,
    update: &Update,
) -> Result<Answer, Rejection> {
    let session = session(turn, id)?;
    may(&session, by)?;
    let before = &session.settings;
    let mut after =
        Settings { name: update.name.clone().unwrap_or_else(|| before.name.clone()), ..before.clone() };
    after.searchable = update.searchable.unwrap_or(before.searchable);
    after.joining = update.joining.unwrap_or(before.joining);
    for (name, value) in &update.attributes {
        match value {
            Some(value) => after.attributes.insert(Arc::clone(name), Arc::clone(value)),
            None => after.attributes.remove(name),
        };
    }
    after.check()?;
    room_for(turn, after.weight().saturating_sub(before.weight()))?;
    if after != *before || update.phase.is_some_and(|phase| phase != session.phase) {
        turn.emit(Event::Updated { session: id, update: update.clone() });
    }
    Ok(told(turn, id))
}
