//! The session ends.

use mainstay_core::{SessionId, Turn};

use super::{may, session};
use crate::command::{Answer, Authority};
use crate::event::Event;
use crate::lobby::Lobby;
use crate::rejection::Rejection;
use crate::session::Ending;

pub(super) fn end(turn: &mut Turn<'_, Lobby>, id: SessionId, by: Authority) -> Result<Answer, Rejection> {
    may(&*session(turn, id)?, by)?;
    turn.emit(Event::Ended { session: id, ending: Ending::Closed });
    Ok(Answer::Done)
}
