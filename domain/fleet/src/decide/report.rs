//! An agent says how its slots stand. Reports are levels: each is judged against the newest order, so a repeat, a late
//! one, or one about an older order changes nothing durable.

use mainstay_core::slot::{Intent, Phase, Status, Stopped};
use mainstay_core::{AllocationId, MachineId, ServerId, Turn};

use super::{drain, lose, ordering, ready, reserve, waiting};
use crate::allocation::{End, Stage};
use crate::cause::Cause;
use crate::claim::{Claim, ReservationEnd};
use crate::command::{Answer, Observation, StreamId};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::Life;
use crate::machine::Machine;
use crate::rejection::Rejection;
use crate::spec::IdleServers;

/// An agent has a stream, and says how every slot stands. A machine that was lost while this was on its way was slow.
pub(super) fn connect(
    turn: &mut Turn<'_, Fleet>,
    machine: MachineId,
    stream: StreamId,
    statuses: &[Status],
) -> Result<Answer, Rejection> {
    let known = turn.state().machine(machine).ok_or(Rejection::UnknownMachine(machine))?;
    let (life, boot) = (known.life, known.boot);
    match life {
        Life::Removing { .. } => return Err(Rejection::MachineGone(machine)),
        Life::Lost { .. } => lose::come_back(turn, machine, boot),
        Life::Requested { .. } | Life::Serving | Life::Draining { .. } | Life::Emptied { .. } => {}
    }
    turn.observe(Observation::Connected { machine, stream });
    report(turn, machine, stream, statuses)
}

pub(super) fn report(
    turn: &mut Turn<'_, Fleet>,
    machine: MachineId,
    stream: StreamId,
    statuses: &[Status],
) -> Result<Answer, Rejection> {
    if !turn.state().is_current(machine, stream) {
        return Err(Rejection::StaleStream);
    }
    for status in statuses {
        if turn.state().server(status.server).is_some_and(|server| server.machine == machine) {
            let replaced = runs_another_process(turn, status);
            turn.observe(Observation::Seen(status.clone()));
            if replaced {
                ready::end(turn, status.server);
            }
            judge(turn, status);
        }
    }
    drain::settle(turn, machine);
    if let Some(region) = turn.state().machine(machine).map(|machine| machine.region) {
        waiting::place(turn, region);
    }
    Ok(Answer::Done)
}

/// Whether what a server's game said of itself was said by a process that no longer runs.
fn runs_another_process(turn: &Turn<'_, Fleet>, status: &Status) -> bool {
    let Some(server) = turn.state().server(status.server) else { return false };
    if status.generation < server.generation {
        return false;
    }
    match (&status.phase, server.seen().map(|seen| &seen.phase)) {
        (Phase::Online { pid }, Some(Phase::Online { pid: known })) => pid != known,
        (Phase::Online { .. }, _) => false,
        (
            Phase::Stopped(_)
            | Phase::Starting { .. }
            | Phase::Stopping { .. }
            | Phase::BackedOff { .. }
            | Phase::PreRecovery { .. }
            | Phase::Lost,
            _,
        ) => true,
    }
}

fn judge(turn: &mut Turn<'_, Fleet>, status: &Status) {
    let Some(server) = turn.state().server(status.server) else { return };
    if status.generation > server.generation {
        // The agent remembers an order this journal does not: it was restored from an older copy. Orders must rise
        // above what the agent has seen, or it would refuse them for ever.
        let (configuration, intent) = (server.configuration, server.intent);
        let generation = status.generation.next();
        // A fence outlives it.
        let cause = if server.is_fenced() { Cause::MachineLost } else { Cause::Restored };
        turn.emit(Event::ServerOrdered { server: status.server, generation, configuration, intent, cause });
        return;
    }
    if status.generation < server.generation {
        return;
    }
    match server.claim {
        Claim::Allocated(id) => judge_allocated(turn, status.server, id, &status.phase),
        Claim::Reserved(_) => judge_reserved(turn, status.server, &status.phase),
        Claim::Free | Claim::Held { .. } => judge_free(turn, status.server, &status.phase),
    }
}

fn judge_allocated(turn: &mut Turn<'_, Fleet>, server: ServerId, id: AllocationId, phase: &Phase) {
    match phase {
        Phase::Online { .. } => {
            if let Some(Stage::Placed(_)) =
                turn.state().allocations.get(&id).map(|allocation| &allocation.stage)
            {
                turn.emit(Event::AllocationFulfilled { id, server: Some(server) });
            }
        }
        Phase::Stopped(Stopped::Completed) => {
            turn.emit(Event::AllocationEnded { id, server: Some(server), end: End::Completed });
            ordering::after_the_end(turn, server, Cause::Exited);
        }
        // Its machine rebooted before anybody missed it, or its holder died.
        Phase::Lost => {
            lose::bereave(turn, id, server, End::Lost);
            ordering::after_the_end(turn, server, Cause::Lost);
        }
        Phase::BackedOff { crashes, cause } => {
            turn.emit(Event::AllocationEnded {
                id,
                server: Some(server),
                end: End::BackedOff { crashes: *crashes, cause: cause.clone() },
            });
            ordering::rest(turn, server, Cause::Failed);
        }
        Phase::PreRecovery { cause } => {
            turn.emit(Event::AllocationEnded {
                id,
                server: Some(server),
                end: End::PreRecovery { cause: cause.clone() },
            });
            ordering::rest(turn, server, Cause::Failed);
        }
        Phase::Stopped(Stopped::Idle | Stopped::Ordered)
        | Phase::Starting { .. }
        | Phase::Stopping { .. } => {}
    }
}

/// A reservation goes as its process does: a crash is recovered under it, an intended exit ends it.
fn judge_reserved(turn: &mut Turn<'_, Fleet>, server: ServerId, phase: &Phase) {
    match phase {
        Phase::Stopped(Stopped::Completed) => {
            reserve::end_without_placing(turn, server, ReservationEnd::Completed);
            ordering::after_the_end(turn, server, Cause::Exited);
        }
        Phase::Lost => {
            reserve::end_without_placing(turn, server, ReservationEnd::Lost);
            ordering::after_the_end(turn, server, Cause::Lost);
        }
        Phase::BackedOff { .. } | Phase::PreRecovery { .. } => {
            reserve::end_without_placing(turn, server, ReservationEnd::Failed);
            ordering::rest(turn, server, Cause::Failed);
        }
        Phase::Stopped(Stopped::Idle | Stopped::Ordered)
        | Phase::Starting { .. }
        | Phase::Online { .. }
        | Phase::Stopping { .. } => {}
    }
}

/// A free server that is down through nobody's order and nobody's fault runs again where idle servers run: its game
/// exited by itself, its machine lost it, or its session ended while it was being restarted. One that an operator
/// stopped, that backed off or fell silent under an allocation, stays down.
fn judge_free(turn: &mut Turn<'_, Fleet>, server: ServerId, phase: &Phase) {
    let Some(known) = turn.state().server(server) else { return };
    if !turn.state().machine(known.machine).is_some_and(Machine::takes) {
        return;
    }
    if known.cause == Cause::MachineLost && known.is_down() {
        return ordering::after_the_end(turn, server, Cause::Returned);
    }
    if known.intent == Intent::Stop || !starts_on_provision(turn) {
        return;
    }
    match phase {
        Phase::Stopped(Stopped::Completed) => ordering::run_idle(turn, server, Cause::Exited),
        Phase::Stopped(Stopped::Idle | Stopped::Ordered) => {
            ordering::run_idle(turn, server, Cause::FoundDown);
        }
        Phase::Lost => ordering::run_idle(turn, server, Cause::Lost),
        Phase::Starting { .. }
        | Phase::Online { .. }
        | Phase::Stopping { .. }
        | Phase::BackedOff { .. }
        | Phase::PreRecovery { .. } => {}
    }
}

fn starts_on_provision(turn: &Turn<'_, Fleet>) -> bool {
    turn.state().spec().is_some_and(|spec| spec.idle_servers == IdleServers::StartOnProvision)
}
