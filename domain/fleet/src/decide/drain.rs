//! Machines that idle past their TTL are emptied, and those that a provider made are given back.

use mainstay_core::slot::Intent;
use mainstay_core::{Generation, MachineId, RegionId, ServerId, Timestamp, Turn};

use super::ordering;
use crate::cause::Cause;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::{Life, Parting, Wish};

/// The most machines one turn empties; the next turn goes on.
const TURN_MAX: usize = 64;

/// Empties what idles and can be spared: "machines idle beyond their TTLs drain, stop and are deleted, if the minimum
/// available still holds without them".
pub(super) fn empty_idle(turn: &mut Turn<'_, Fleet>) {
    let regions: alloc::vec::Vec<RegionId> = turn.state().pools.keys().copied().collect();
    for region in regions {
        for _ in 0..TURN_MAX {
            match turn.state().next_idle(region) {
                Some((due, machine)) if due <= turn.now() => drain(turn, machine),
                Some(_) | None => break,
            }
        }
    }
}

/// Stops what runs on a machine. None of its servers is claimed or held, and from now on none can be.
fn drain(turn: &mut Turn<'_, Fleet>, machine: MachineId) {
    turn.emit(Event::MachineDraining { machine });
    let servers = turn.state().machine(machine).map(|machine| machine.servers.clone()).unwrap_or_default();
    for server in servers {
        if may_run(turn.state(), server)
            && let Some(configuration) = turn.state().server(server).map(|server| server.configuration)
        {
            ordering::order(turn, server, configuration, Intent::Stop, Cause::Drained);
        }
    }
    settle(turn, machine);
}

/// Whether a process of a server may run, or come.
fn may_run(state: &Fleet, server: ServerId) -> bool {
    let Some(server) = state.server(server) else { return false };
    let wanted = match server.intent {
        Intent::Stop => false,
        Intent::Run | Intent::Renew => true,
        Intent::Leave => server.generation > Generation::NONE,
    };
    wanted || server.seen().is_some() && !server.is_down()
}

/// A draining machine is emptied once none of its processes is left.
pub(super) fn settle(turn: &mut Turn<'_, Fleet>, machine: MachineId) {
    let Some(known) = turn.state().machine(machine) else { return };
    match known.life {
        Life::Draining { .. } => {}
        Life::Requested { .. }
        | Life::Serving
        | Life::Emptied { .. }
        | Life::Lost { .. }
        | Life::Removing { .. } => return,
    }
    let down = |server: &ServerId| turn.state().server(*server).is_none_or(|server| server.is_down());
    if known.servers.iter().all(down) {
        turn.emit(Event::MachineEmptied { machine });
    }
}

/// Gives up machines whose time is over: requested ones that never came, those of providers that stayed empty or lost, and
/// those that an operator removes. One that an operator withdrew is emptied first.
pub(super) fn give_up(turn: &mut Turn<'_, Fleet>) {
    while let Some(&(due, machine)) = turn.state().moments.first() {
        if due > turn.now() {
            return;
        }
        let Some(known) = turn.state().machine(machine) else { return };
        let why = match (known.life, known.duty.wish()) {
            (Life::Serving, _) => {
                drain(turn, machine);
                continue;
            }
            (Life::Requested { .. } | Life::Emptied { .. } | Life::Lost { .. }, Wish::Leave) => {
                Parting::ByHand
            }
            (Life::Requested { .. }, Wish::Serve | Wish::Drain) => Parting::NeverCame,
            (Life::Emptied { .. }, Wish::Serve | Wish::Drain) => Parting::Idle,
            (Life::Lost { .. }, Wish::Serve | Wish::Drain) => Parting::Lost,
            // Neither has a moment.
            (Life::Draining { .. } | Life::Removing { .. }, _) => return,
        };
        part(turn, machine, why);
    }
}

/// Gives a machine back to its provider. One that never came sets its provider back.
pub(super) fn part(turn: &mut Turn<'_, Fleet>, machine: MachineId, why: Parting) {
    let Some(region) = turn.state().machine(machine).map(|machine| machine.region) else { return };
    turn.emit(Event::MachineParting { machine, why });
    match why {
        Parting::NeverCame => set_back(turn, region),
        Parting::Idle | Parting::Lost | Parting::Died | Parting::ByHand => {}
    }
}

fn set_back(turn: &mut Turn<'_, Fleet>, region: RegionId) {
    let failures = turn.state().setbacks.get(&region).map_or(0, |setback| setback.failures) + 1;
    let pause = turn.state().provided(region).map(|provided| provided.pause(failures));
    let until: Timestamp = turn.now() + pause.unwrap_or_default();
    turn.observe(crate::command::Observation::ProviderFailed { region, until });
}
