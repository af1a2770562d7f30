//! An agent says how its slots stand. Reports are levels: each is judged against the newest order, so a repeat, a late
//! one, or one about an older order changes nothing durable.

use mainstay_core::slot::{Intent, Phase, Status, Stopped};
use mainstay_core::{AllocationId, MachineId, ServerId, Turn};

use super::{ordering, waiting};
use crate::allocation::{End, Stage};
use crate::command::{Answer, Observation, StreamId};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;
use crate::server::Claim;
use crate::spec::IdleServers;

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
            turn.observe(Observation::Seen(status.clone()));
            judge(turn, status);
        }
    }
    if let Some(region) = turn.state().machine(machine).map(|machine| machine.region) {
        waiting::place(turn, region);
    }
    Ok(Answer::Done)
}

fn judge(turn: &mut Turn<'_, Fleet>, status: &Status) {
    let Some(server) = turn.state().server(status.server) else { return };
    if status.generation > server.generation {
        // The agent remembers an order this journal does not: it was restored from an older copy. Orders must rise
        // above what the agent has seen, or it would refuse them for ever.
        let (configuration, intent) = (server.configuration, server.intent);
        let generation = status.generation.next();
        turn.emit(Event::ServerOrdered { server: status.server, generation, configuration, intent });
        return;
    }
    if status.generation < server.generation {
        return;
    }
    match server.claim {
        Claim::Allocated(id) => judge_allocated(turn, status.server, id, &status.phase),
        Claim::Free => judge_free(turn, status.server, &status.phase),
    }
}

fn judge_allocated(turn: &mut Turn<'_, Fleet>, server: ServerId, id: AllocationId, phase: &Phase) {
    match phase {
        Phase::Online { .. } => {
            if let Some(Stage::Placed(_)) =
                turn.state().allocations.get(&id).map(|allocation| &allocation.stage)
            {
                turn.emit(Event::AllocationFulfilled { id });
            }
        }
        Phase::Stopped(Stopped::Completed) => {
            turn.emit(Event::AllocationEnded { id, end: End::Completed });
            ordering::after_the_end(turn, server);
        }
        Phase::Lost => {
            turn.emit(Event::AllocationEnded { id, end: End::Lost });
            ordering::after_the_end(turn, server);
        }
        Phase::BackedOff { crashes, cause } => {
            turn.emit(Event::AllocationEnded {
                id,
                end: End::BackedOff { crashes: *crashes, cause: cause.clone() },
            });
            ordering::rest(turn, server);
        }
        Phase::Stopped(Stopped::Idle | Stopped::Ordered) | Phase::Starting | Phase::Stopping => {}
    }
}

/// A free server that is down through nobody's order and nobody's fault runs again where idle servers run: its game
/// exited by itself, its machine lost it, or its session ended while it was being restarted. One that an operator
/// stopped, or that backed off, stays down.
fn judge_free(turn: &mut Turn<'_, Fleet>, server: ServerId, phase: &Phase) {
    let stays_down = turn.state().server(server).is_none_or(|server| server.intent == Intent::Stop);
    match phase {
        Phase::Stopped(_) | Phase::Lost if !stays_down && starts_on_provision(turn) => {
            ordering::run_idle(turn, server);
        }
        Phase::Stopped(_)
        | Phase::Lost
        | Phase::Starting
        | Phase::Online { .. }
        | Phase::Stopping
        | Phase::BackedOff { .. } => {}
    }
}

fn starts_on_provision(turn: &Turn<'_, Fleet>) -> bool {
    turn.state().spec().is_some_and(|spec| spec.idle_servers == IdleServers::StartOnProvision)
}
