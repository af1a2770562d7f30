//! An operator stops a queue's matching for a while, and lets it go on.
//!
//! While it is paused the engine takes tickets in, so that what it has no room for is refused as ever, and looks at none. With the
//! word to go on all that wait are looked at as of that moment, as after a change of the rules.

use mainstay_core::Turn;

use super::pace::Pace;
use crate::command::Answer;
use crate::event::Event;
use crate::queue::Queue;
use crate::rejection::Rejection;

/// What came due before is still looked at, but a match is formed by no turn that pauses.
pub(super) fn pause(turn: &mut Turn<'_, Queue>, pace: &mut Pace) -> Result<Answer, Rejection> {
    turn.state().spec().ok_or(Rejection::QueueNotFound)?;
    if turn.state().paused().is_none() {
        pace.catch_up(turn);
        turn.emit(Event::Paused);
    }
    Ok(Answer::Done)
}

pub(super) fn resume(turn: &mut Turn<'_, Queue>) -> Result<Answer, Rejection> {
    turn.state().spec().ok_or(Rejection::QueueNotFound)?;
    if turn.state().paused().is_some() {
        turn.emit(Event::Resumed);
    }
    Ok(Answer::Done)
}
