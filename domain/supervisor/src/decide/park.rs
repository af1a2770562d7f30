//! `mainstay up` stops, and comes back: sessions outlive it, so what was stopped with it starts again with it.

use alloc::vec::Vec;

use mainstay_core::slot::Check;
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
                Reason::Silent => unless_it_stays_down(turn, server, Check::Query),
                Reason::Misbehaved(check) => unless_it_stays_down(turn, server, check),
                // A start was to follow: it follows after the pause.
                Reason::Replaced | Reason::Resumed => {
                    turn.emit(Event::StopTurned { server, reason: Reason::Parked });
                }
            },
        }
    }
    Answer::Done
}

/// A stop for a failed check goes on as ours, unless pre-recovery keeps the server down after it.
fn unless_it_stays_down(turn: &mut Turn<'_, Supervisor>, server: ServerId, check: Check) {
    let state = turn.state();
    let run = state.slot(server).and_then(|slot| slot.run());
    if !run.is_some_and(|run| waits_for_an_allocation(state, server, run, check)) {
        turn.emit(Event::StopTurned { server, reason: Reason::Parked });
    }
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
