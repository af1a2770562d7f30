//! The operator says what the fleet is.

use alloc::sync::Arc;

use mainstay_core::Turn;

use super::waiting;
use crate::command::Answer;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;
use crate::spec::FleetSpec;

pub(super) fn configure(turn: &mut Turn<'_, Fleet>, spec: &Arc<FleetSpec>) -> Result<Answer, Rejection> {
    let known = turn.state().spec().map(|known| known.revision);
    if known.is_some_and(|known| known >= spec.revision) {
        return Ok(Answer::Done);
    }
    turn.emit(Event::Configured(spec.clone()));
    waiting::place_all(turn);
    Ok(Answer::Done)
}
