//! Every rule, one command a file; here are the steps that several commands share.

mod answered;
mod checked;
mod crash;
mod due;
mod ended;
mod forget_slots;
mod obey;
mod park;
mod take_orders;
mod take_specs;

pub(crate) use obey::serves;

use mainstay_core::slot::{ConfigurationRef, Intent};
use mainstay_core::{ServerId, Turn};

use crate::{Answer, Command, Ending, Event, Ignored, Life, Observation, Reason, Rejection, Run, RunNumber};
use crate::{Rung, Sight, Slot, Supervisor};

pub(crate) fn decide(turn: &mut Turn<'_, Supervisor>, command: &Command) -> Result<Answer, Rejection> {
    match command {
        Command::TakeSpecs { specs } => take_specs::decide(turn, specs),
        Command::TakeOrders { orders } => take_orders::decide(turn, orders),
        Command::Exited { server, run, exit, scene } => Ok(ended::exited(turn, *server, *run, exit, scene)),
        Command::Lost { server, run } => Ok(ended::lost(turn, *server, *run)),
        Command::NeverRan { server, run } => Ok(ended::never_ran(turn, *server, *run)),
        Command::Answered { server, run } => Ok(answered::decide(turn, *server, *run)),
        Command::Checked { server, run, reading } => Ok(checked::decide(turn, *server, *run, reading)),
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

/// A newer order that starts a server which stayed down starts afresh.
fn forgive(turn: &mut Turn<'_, Supervisor>, server: ServerId) {
    let stayed_down = turn.state().slot(server).is_some_and(|slot| match &slot.life {
        Life::Down { ending: Ending::BackedOff { .. } | Ending::PreRecovery { .. }, .. } => true,
        Life::Fresh | Life::Down { .. } | Life::Resting { .. } | Life::Up { .. } | Life::Stopping { .. } => {
            false
        }
    });
    if stayed_down {
        turn.emit(Event::StrikesCleared { server });
    }
}
