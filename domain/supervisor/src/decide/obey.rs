//! What a newer order means for the process there is.

use mainstay_core::slot::{Intent, Order};
use mainstay_core::{ServerId, Turn};

use crate::decide::{begin, end, forgive, stop};
use crate::{Ending, Event, Life, REST_MIN, Reason, Run, Supervisor};

/// Obeys the order just taken.
pub(super) fn obey(turn: &mut Turn<'_, Supervisor>, order: &Order) {
    let Some(life) = turn.state().slot(order.server).map(|slot| slot.life.clone()) else { return };
    match order.intent {
        Intent::Stop => obey_stop(turn, order.server, &life),
        Intent::Leave => obey_leave(turn, order.server, &life),
        Intent::Run | Intent::Renew => obey_run(turn, order, &life),
    }
}

fn obey_stop(turn: &mut Turn<'_, Supervisor>, server: ServerId, life: &Life) {
    match life {
        Life::Fresh | Life::Down { ending: Ending::Ordered, .. } => {}
        Life::Down { .. } | Life::Resting { .. } => {
            forgive(turn, server);
            end(turn, server, Ending::Ordered);
        }
        Life::Up { .. } => stop(turn, server, Reason::Ordered),
        Life::Stopping { reason, .. } => turn_stop(turn, server, *reason, Reason::Ordered),
    }
}

/// "The process stays as it is, running or not": a start that has not begun is withdrawn, a stop goes on.
fn obey_leave(turn: &mut Turn<'_, Supervisor>, server: ServerId, life: &Life) {
    match life {
        Life::Fresh | Life::Down { .. } | Life::Up { .. } => {}
        Life::Resting { .. } => end(turn, server, Ending::Completed),
        Life::Stopping { reason, .. } => match reason {
            // The slot is this machine's after all.
            Reason::Forgotten => turn_stop(turn, server, *reason, Reason::Ordered),
            Reason::Ordered
            | Reason::Replaced
            | Reason::Silent
            | Reason::Misbehaved(_)
            | Reason::Parked
            | Reason::Resumed => {}
        },
    }
}

fn obey_run(turn: &mut Turn<'_, Supervisor>, order: &Order, life: &Life) {
    let server = order.server;
    match life {
        Life::Down { last, ending: Ending::Completed } if order.allocation.is_none() => {
            rest_or_begin(turn, order, last);
        }
        Life::Resting { .. } if order.allocation.is_none() => {}
        Life::Fresh | Life::Down { .. } | Life::Resting { .. } => {
            forgive(turn, server);
            begin(turn, server, order.configuration);
        }
        Life::Up { run, .. } => {
            if !serves(run, order) {
                stop(turn, server, Reason::Replaced);
            }
        }
        Life::Stopping { reason, .. } => turn_stop(turn, server, *reason, Reason::Replaced),
    }
}

/// Whether a process started earlier is what the order asks for.
pub(crate) fn serves(run: &Run, order: &Order) -> bool {
    run.configuration == order.configuration
        && match order.intent {
            Intent::Renew => run.generation == order.generation,
            Intent::Run | Intent::Stop | Intent::Leave => true,
        }
}

fn rest_or_begin(turn: &mut Turn<'_, Supervisor>, order: &Order, last: &Run) {
    let until = last.began + REST_MIN;
    if until > turn.now() {
        turn.emit(Event::RestBegan { server: order.server, until });
    } else {
        begin(turn, order.server, order.configuration);
    }
}

fn turn_stop(turn: &mut Turn<'_, Supervisor>, server: ServerId, from: Reason, to: Reason) {
    if from != to {
        turn.emit(Event::StopTurned { server, reason: to });
    }
}
