//! An operator takes a machine out of service, puts it back, or removes it.
//!
//! Draining ends nobody's session and has no deadline: who plays decides when a machine is empty, and an operator who cannot
//! wait ends sessions by name (`mainstay allocation delete`). docs/decisions/0021 has the reasons.

use mainstay_core::slot::{Intent, Phase};
use mainstay_core::{MachineId, ServerId, Turn};

use super::{drain, grow, ordering, waiting};
use crate::cause::Cause;
use crate::command::{Answer, KeptOut};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::{Life, Origin, Wish};
use crate::machine::{Link, Machine};
use crate::rejection::Rejection;
use crate::server::ServerStatus;
use crate::spec::IdleServers;

/// Allocated, reserved and held servers keep a machine; when the last is free, its servers are stopped.
pub(super) fn withdraw(turn: &mut Turn<'_, Fleet>, machine: MachineId) -> Result<Answer, Rejection> {
    known(turn.state(), machine)?;
    set(turn, machine, Wish::Drain);
    drain::give_up(turn);
    Ok(emptied(turn.state(), machine))
}

/// A machine serves again: one that was emptied is woken, where it is heard; else whenever capacity is short.
pub(super) fn put_back(turn: &mut Turn<'_, Fleet>, machine: MachineId) -> Result<Answer, Rejection> {
    let (life, link, region) = {
        let known = known(turn.state(), machine)?;
        (known.life, known.link, known.region)
    };
    set(turn, machine, Wish::Serve);
    match (life, link) {
        (Life::Draining { .. } | Life::Emptied { .. }, Link::Up { .. }) => grow::wake(turn, machine),
        (Life::Serving, _) => {
            start_idle(turn, machine);
            waiting::place(turn, region);
        }
        (Life::Draining { .. } | Life::Emptied { .. }, Link::Silent)
        | (Life::Requested { .. } | Life::Lost { .. } | Life::Removing { .. }, _) => {}
    }
    Ok(Answer::Done)
}

/// "A machine with an allocated, reserved or held server is never taken away": refused then. What it runs for nobody is
/// stopped first.
pub(super) fn remove(
    turn: &mut Turn<'_, Fleet>,
    machine: MachineId,
    kept_out: KeptOut,
) -> Result<Answer, Rejection> {
    let state = turn.state();
    let known = state.machine(machine).ok_or(Rejection::UnknownMachine(machine))?;
    if let Life::Removing { .. } = known.life {
        return Ok(Answer::Known);
    }
    let of = |status| known.counts.of(status);
    let (allocated, reserved) = (of(ServerStatus::Allocated), of(ServerStatus::Reserved));
    let held = of(ServerStatus::Held);
    if allocated + reserved + held > 0 {
        return Err(Rejection::MachineInUse { machine, allocated, reserved, held });
    }
    match (known.origin, kept_out, known.link) {
        (Origin::Joined, KeptOut::ByNothing, Link::Up { .. }) => {
            return Err(Rejection::MachineComesBack(machine));
        }
        (Origin::Joined, KeptOut::ByNothing, Link::Silent)
        | (Origin::Joined, KeptOut::ByItsCredential, _)
        | (Origin::Made, _, _) => {}
    }
    set(turn, machine, Wish::Leave);
    drain::give_up(turn);
    // What was emptied just now goes in the same turn.
    drain::settle(turn, machine);
    drain::give_up(turn);
    Ok(match turn.state().machine(machine).map(|machine| machine.life) {
        None | Some(Life::Removing { .. }) => Answer::Done,
        Some(
            Life::Requested { .. }
            | Life::Serving
            | Life::Draining { .. }
            | Life::Emptied { .. }
            | Life::Lost { .. },
        ) => Answer::Deferred,
    })
}

fn known(state: &Fleet, machine: MachineId) -> Result<&Machine, Rejection> {
    let known = state.machine(machine).ok_or(Rejection::UnknownMachine(machine))?;
    match known.life {
        Life::Removing { .. } => Err(Rejection::MachineGone(machine)),
        Life::Requested { .. }
        | Life::Serving
        | Life::Draining { .. }
        | Life::Emptied { .. }
        | Life::Lost { .. } => Ok(known),
    }
}

fn set(turn: &mut Turn<'_, Fleet>, machine: MachineId, wish: Wish) {
    if turn.state().machine(machine).is_some_and(|known| known.duty.wish() != wish) {
        turn.emit(Event::MachineDutySet { machine, wish });
    }
}

/// Whether a machine that was withdrawn is empty already.
fn emptied(state: &Fleet, machine: MachineId) -> Answer {
    match state.machine(machine).map(|machine| machine.life) {
        Some(Life::Serving | Life::Draining { .. }) => Answer::Deferred,
        Some(Life::Requested { .. } | Life::Emptied { .. } | Life::Lost { .. } | Life::Removing { .. })
        | None => Answer::Done,
    }
}

/// With start on provision, what ended by itself while the machine was out of service runs again.
fn start_idle(turn: &mut Turn<'_, Fleet>, machine: MachineId) {
    let on_provision =
        turn.state().spec().is_some_and(|spec| spec.idle_servers == IdleServers::StartOnProvision);
    if !on_provision {
        return;
    }
    let rests = |server: &ServerId| {
        turn.state().server(*server).is_some_and(|server| {
            let by_itself = match server.seen().map(|seen| &seen.phase) {
                Some(Phase::Stopped(_) | Phase::Lost) => true,
                Some(
                    Phase::Starting { .. }
                    | Phase::Online { .. }
                    | Phase::Stopping { .. }
                    | Phase::BackedOff { .. }
                    | Phase::PreRecovery { .. },
                )
                | None => false,
            };
            server.claim.is_open() && server.obeyed() && by_itself && server.intent != Intent::Stop
        })
    };
    let servers = turn.state().machine(machine).map(|machine| machine.servers.clone()).unwrap_or_default();
    let rest: alloc::vec::Vec<ServerId> = servers.into_iter().filter(rests).collect();
    for server in rest {
        ordering::run_idle(turn, server, Cause::Woken);
    }
}
