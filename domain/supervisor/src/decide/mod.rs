//! Every rule, one command a file; here are the steps that several commands share.

mod answered;
mod due;
mod ended;
mod forget_slots;
mod obey;
mod park;
mod take_orders;
mod take_specs;

pub(crate) use obey::serves;

use alloc::sync::Arc;

use mainstay_core::slot::{ConfigurationRef, Intent};
use mainstay_core::{ServerId, Turn};

use crate::{Answer, Command, Ending, Event, Ignored, Life, Observation, Reason, Rejection, Run, RunNumber};
use crate::{Rung, Sight, Slot, Supervisor};

pub(crate) fn decide(turn: &mut Turn<'_, Supervisor>, command: &Command) -> Result<Answer, Rejection> {
    match command {
        Command::TakeSpecs { specs } => take_specs::decide(turn, specs),
        Command::TakeOrders { orders } => take_orders::decide(turn, orders),
        Command::Exited { server, run, exit } => Ok(ended::exited(turn, *server, *run, exit)),
        Command::Lost { server, run } => Ok(ended::lost(turn, *server, *run)),
        Command::NeverRan { server, run } => Ok(ended::never_ran(turn, *server, *run)),
        Command::Answered { server, run } => Ok(answered::decide(turn, *server, *run)),
        Command::Due => Ok(due::decide(turn)),
        Command::ForgetSlots { servers } => Ok(forget_slots::decide(turn, servers)),
        Command::Park => Ok(park::park(turn)),
        Command::Resume => Ok(park::resume(turn)),
    }
}

/// The slot, where the run is its live one.
fn live<'a>(
    turn: &'a Turn<'_, Supervisor>,
    server: ServerId,
    run: RunNumber,
) -> Result<(&'a Slot, Run), Ignored> {
    let slot = turn.state().slot(server).ok_or(Ignored::UnknownSlot)?;
    match slot.live_run() {
        Some(live) if live.number == run => Ok((slot, *live)),
        Some(_) | None => {
            let newest = slot.run().map_or(RunNumber::NONE, |run| run.number);
            Err(Ignored::OtherRun { newest })
        }
    }
}

/// Begins a run of the configuration. Nothing of it can exist before this turn is durable, so nobody need look.
fn begin(turn: &mut Turn<'_, Supervisor>, server: ServerId, configuration: ConfigurationRef) {
    let Some(generation) = turn.state().slot(server).map(|slot| slot.order.generation) else { return };
    let run = turn.state().newest_run().next();
    turn.emit(Event::RunBegan { server, run, configuration, generation });
    turn.observe(Observation::Saw { server, run, sight: Sight::Absent });
}

/// Begins again what ran last: what the order says, or where it leaves the process as it is, the same as before.
fn begin_again(turn: &mut Turn<'_, Supervisor>, server: ServerId) {
    let Some(slot) = turn.state().slot(server) else { return };
    let configuration = match slot.order.intent {
        Intent::Run | Intent::Renew => Some(slot.order.configuration),
        Intent::Stop | Intent::Leave => slot.run().map(|run| run.configuration),
    };
    if let Some(configuration) = configuration {
        begin(turn, server, configuration);
    }
}

fn stop(turn: &mut Turn<'_, Supervisor>, server: ServerId, reason: Reason) {
    turn.emit(Event::StopBegan { server, reason, rung: Rung::Signal });
}

fn end(turn: &mut Turn<'_, Supervisor>, server: ServerId, ending: Ending) {
    turn.emit(Event::Ended { server, ending });
}

/// The process crashed: it is restarted with the allocation it has, until it has crashed more often than its policy
/// allows within the window (seed 001, crashes and crash back-off).
fn crash(turn: &mut Turn<'_, Supervisor>, server: ServerId, run: &Run, cause: Arc<str>) {
    let policy = turn.state().spec(run.configuration).map(|spec| spec.restart).unwrap_or_default();
    turn.emit(Event::Crashed { server, cause: Arc::clone(&cause), within: policy.within });
    let now = turn.now();
    let count = turn.state().slot(server).map_or(0, |slot| slot.strikes.count(now, policy.within));
    let crashes = u32::try_from(count).unwrap_or(u32::MAX);
    if crashes <= policy.attempts {
        begin_again(turn, server);
    } else {
        end(turn, server, Ending::BackedOff { crashes, cause });
    }
}

/// Leaving back-off by a newer order starts afresh.
fn forgive(turn: &mut Turn<'_, Supervisor>, server: ServerId) {
    let backed_off = turn.state().slot(server).is_some_and(|slot| match &slot.life {
        Life::Down { ending: Ending::BackedOff { .. }, .. } => true,
        Life::Fresh | Life::Down { .. } | Life::Resting { .. } | Life::Up { .. } | Life::Stopping { .. } => {
            false
        }
    });
    if backed_off {
        turn.emit(Event::StrikesCleared { server });
    }
}
