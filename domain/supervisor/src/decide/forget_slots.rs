//! A slot that is no longer this machine's ends with its process, never before it: no process is left unwatched.

use mainstay_core::{ServerId, Turn};

use crate::decide::stop;
use crate::{Answer, Event, Life, Reason, Supervisor};

pub(super) fn decide(turn: &mut Turn<'_, Supervisor>, servers: &[ServerId]) -> Answer {
    for &server in servers {
        let Some(life) = turn.state().slot(server).map(|slot| slot.life.clone()) else { continue };
        match life {
            Life::Fresh | Life::Down { .. } | Life::Resting { .. } => {
                turn.emit(Event::SlotForgotten { server });
            }
            Life::Up { .. } => stop(turn, server, Reason::Forgotten),
            Life::Stopping { reason: Reason::Forgotten, .. } => {}
            Life::Stopping { .. } => {
                turn.emit(Event::StopTurned { server, reason: Reason::Forgotten });
            }
        }
    }
    Answer::Done
}
