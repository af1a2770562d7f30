//! `mainstay up` stops, and comes back: sessions outlive it, so what was stopped with it starts again with it.

use alloc::vec::Vec;

use mainstay_core::{ServerId, Turn};

use crate::decide::crash::waits_for_an_allocation;
use crate::decide::{begin_again, end, stop};
use crate::{Answer, Ending, Event, Life, Reason, Supervisor};

pub(super) fn park(turn: &mut Turn<'_, Supervisor>) -> Answer {
    for (server, life) in lives(turn) {
        match life {
            Life::Fresh | Life::Down { .. } => {}
            Life::Resting { .. } => end(turn, server, Ending::Parked),
            Life::Up { .. } => stop(turn, server, Reason::Parked),
            Life::Stopping { reason, .. } => match reason {
                Reason::Ordered | Reason::Forgotten | Reason::Parked => {}
                Reason::Misbehaved(check) => {
                    let state = turn.state();
                    let stays_down = state
                        .slot(server)
                        .and_then(|slot| slot.run())
                        .is_some_and(|run| waits_for_an_allocation(state, server, run, check));
                    if !stays_down {
                        turn.emit(Event::StopTurned { server, reason: Reason::Parked });
                    }
                }
                // A start was to follow: it follows after the pause.
                Reason::Replaced | Reason::Silent | Reason::Resumed => {
                    turn.emit(Event::StopTurned { server, reason: Reason::Parked });
                }
            },
        }
    }
    Answer::Done
}

pub(super) fn resume(turn: &mut Turn<'_, Supervisor>) -> Answer {
    for (server, life) in lives(turn) {
        match life {
            Life::Down { ending: Ending::Parked, .. } => begin_again(turn, server),
            Life::Stopping { reason: Reason::Parked, .. } => {
                turn.emit(Event::StopTurned { server, reason: Reason::Resumed });
            }
            Life::Fresh
            | Life::Down { .. }
            | Life::Resting { .. }
            | Life::Up { .. }
            | Life::Stopping { .. } => {}
        }
    }
    Answer::Done
}

fn lives(turn: &Turn<'_, Supervisor>) -> Vec<(ServerId, Life)> {
    turn.state().slots().map(|(server, slot)| (server, slot.life.clone())).collect()
}
