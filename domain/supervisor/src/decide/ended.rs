//! A process is gone. Why, decides what follows.

use mainstay_core::slot::{Check, Exit, Intent, Scene};
use mainstay_core::{ServerId, Turn};

use crate::decide::crash::{self, Found};
use crate::decide::{begin_again, end, live};
use crate::{Answer, Ending, Event, Ignored, Life, Reason, Run, RunNumber, Supervisor, words};

/// It ended and its holder knows how. Code 0 is the game's own wish; an exit after our own stop is that stop's end,
/// whatever its code (stock servers exit non-zero on SIGTERM); everything else is a crash.
pub(super) fn exited(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: RunNumber,
    exit: &Exit,
    scene: &Scene,
) -> Answer {
    let (life, run) = match live(turn, server, run) {
        Ok((slot, run)) => (slot.life.clone(), run),
        Err(ignored) => return Answer::Ignored(ignored),
    };
    let found = Found { exit, scene };
    match (life, exit) {
        (Life::Stopping { reason, .. }, _) => stopped(turn, server, &run, reason, Some(&found)),
        // The session that is over is an earlier one: this one's process has yet to come.
        (_, Exit::Code(0)) if turn.state().is_untold(server) => begin_again(turn, server),
        (_, Exit::Code(0)) => end(turn, server, Ending::Completed),
        (_, exit) => crash::crash(turn, server, &run, None, words::ended(exit), &found),
    }
    Answer::Done
}

/// It is gone and nobody knows how: the machine's loss, which is no crash and no strike.
pub(super) fn lost(turn: &mut Turn<'_, Supervisor>, server: ServerId, run: RunNumber) -> Answer {
    let (life, run) = match live(turn, server, run) {
        Ok((slot, run)) => (slot.life.clone(), run),
        Err(ignored) => return Answer::Ignored(ignored),
    };
    match life {
        Life::Stopping { reason: Reason::Silent | Reason::Misbehaved(_), .. } | Life::Up { .. } => {
            end(turn, server, Ending::Lost);
        }
        Life::Stopping { reason, .. } => stopped(turn, server, &run, reason, None),
        Life::Fresh | Life::Down { .. } | Life::Resting { .. } => {}
    }
    Answer::Done
}

/// It was to be stopped before it was started.
pub(super) fn never_ran(turn: &mut Turn<'_, Supervisor>, server: ServerId, run: RunNumber) -> Answer {
    let (life, run) = match live(turn, server, run) {
        Ok((slot, run)) => (slot.life.clone(), run),
        Err(ignored) => return Answer::Ignored(ignored),
    };
    match life {
        Life::Stopping { reason, .. } => {
            stopped(turn, server, &run, reason, None);
            Answer::Done
        }
        Life::Fresh | Life::Down { .. } | Life::Resting { .. } | Life::Up { .. } => {
            Answer::Ignored(Ignored::NotStopping)
        }
    }
}

/// A stop of ours has reached its end; how the process ended is known unless it is lost or never was.
fn stopped(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: &Run,
    reason: Reason,
    found: Option<&Found<'_>>,
) {
    close_incident(turn, server, run, reason, found);
    match reason {
        Reason::Ordered | Reason::Replaced => match turn.state().slot(server).map(|slot| slot.order.intent) {
            Some(Intent::Run | Intent::Renew) => begin_again(turn, server),
            Some(Intent::Stop | Intent::Leave) | None => end(turn, server, Ending::Ordered),
        },
        Reason::Silent => {
            let grace = turn.state().spec(run.configuration).and_then(|spec| spec.query.as_ref());
            let cause = words::silent(grace.map(|query| query.start_grace).unwrap_or_default());
            match found {
                Some(found) => crash::crash(turn, server, run, Some(Check::Query), cause, found),
                // It never was: nothing has crashed.
                None => begin_again(turn, server),
            }
        }
        Reason::Misbehaved(check) => match found {
            Some(found) => crash::misbehaved(turn, server, run, check, found),
            None => begin_again(turn, server),
        },
        Reason::Forgotten => turn.emit(Event::SlotForgotten { server }),
        Reason::Parked => end(turn, server, Ending::Parked),
        Reason::Resumed => begin_again(turn, server),
    }
}

/// A misbehaving run that is ended for something else meanwhile keeps its evidence, with how it ended.
fn close_incident(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: &Run,
    reason: Reason,
    found: Option<&Found<'_>>,
) {
    let open = turn.state().slot(server).and_then(|slot| slot.incident(run.number)).cloned();
    let by_misbehaviour = matches!(reason, Reason::Misbehaved(_));
    if let (Some(open), Some(found), false) = (open, found, by_misbehaviour) {
        crash::note(turn, server, run, open.fault, &open.cause, Some(found));
    }
}
