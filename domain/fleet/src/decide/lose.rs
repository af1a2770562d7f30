//! A machine whose agent has been silent for too long is lost: its sessions end, each told once, or are placed anew; and
//! what it may still run is stopped before anything else begins there, whenever it comes back.

use mainstay_core::slot::Intent;
use mainstay_core::{AllocationId, BootId, MachineId, ServerId, Turn};

use super::{ordering, reserve, waiting};
use crate::allocation::End;
use crate::cause::Cause;
use crate::claim::{Claim, ReservationEnd};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::{Absence, Life};
use crate::policy::OnLoss;

/// Loses every machine that has been silent for too long.
pub(super) fn lose_silent(turn: &mut Turn<'_, Fleet>) {
    while let Some((due, machine)) = turn.state().next_lost() {
        if due > turn.now() {
            return;
        }
        lose(turn, machine);
    }
}

fn lose(turn: &mut Turn<'_, Fleet>, machine: MachineId) {
    let Some(known) = turn.state().machine(machine) else { return };
    let (region, servers) = (known.region, known.servers.clone());
    match known.life {
        // Nobody was on it; the orders to stop are owed to it still, and nothing is placed on it before it has obeyed.
        Life::Draining { .. } => return turn.emit(Event::MachineEmptied { machine }),
        Life::Serving => turn.emit(Event::MachineLost { machine }),
        // Nobody misses these.
        Life::Requested { .. } | Life::Emptied { .. } | Life::Lost { .. } | Life::Removing { .. } => return,
    }
    for server in servers {
        give_up(turn, server);
    }
    waiting::place(turn, region);
}

/// What a server of a lost machine is for goes elsewhere, or ends; and its next order stops what it may still run. A hold
/// keeps its machine until it runs out, wherever the machine is.
fn give_up(turn: &mut Turn<'_, Fleet>, server: ServerId) {
    let Some(known) = turn.state().server(server) else { return };
    let (configuration, is_claimed) = (known.configuration, !known.claim.is_open());
    if is_claimed {
        end_claim(turn, server);
        ordering::order(turn, server, configuration, Intent::Stop, Cause::MachineLost);
    }
}

/// What a server is for whose machine is lost goes elsewhere, or ends. Whoever calls places what waits then.
pub(super) fn end_claim(turn: &mut Turn<'_, Fleet>, server: ServerId) {
    let Some(known) = turn.state().server(server) else { return };
    match known.claim {
        Claim::Free | Claim::Held { .. } => {}
        Claim::Allocated(id) => bereave(turn, id, server, End::MachineLost),
        Claim::Reserved(_) => reserve::end_without_placing(turn, server, ReservationEnd::MachineLost),
    }
}

/// What becomes of an allocation whose machine is lost, or whose process went with it: by the fleet's policy it ends, or waits
/// for a server again. Whoever calls gives its server another order, and places what waits.
pub(super) fn bereave(turn: &mut Turn<'_, Fleet>, id: AllocationId, server: ServerId, end: End) {
    match turn.state().machine_policy().on_loss {
        OnLoss::Fail => turn.emit(Event::AllocationEnded { id, server: Some(server), end }),
        OnLoss::PlaceAnew => {
            let patience = turn.state().spec().map(|spec| spec.placement_timeout).unwrap_or_default();
            turn.emit(Event::AllocationDisplaced { id, until: turn.now() + patience });
        }
    }
}

/// A lost machine is back.
pub(super) fn come_back(turn: &mut Turn<'_, Fleet>, machine: MachineId, boot: Option<BootId>) {
    let Some(known) = turn.state().machine(machine) else { return };
    match known.life {
        Life::Lost { .. } => {}
        Life::Requested { .. }
        | Life::Serving
        | Life::Draining { .. }
        | Life::Emptied { .. }
        | Life::Removing { .. } => return,
    }
    let absence = absence(known.boot, boot);
    turn.emit(Event::MachineReturned { machine, absence });
}

/// What a machine's silence was, by the run of its kernel before and the one after.
pub(super) fn absence(before: Option<BootId>, now: Option<BootId>) -> Absence {
    match (before, now) {
        (Some(before), Some(now)) if before == now => Absence::CutOff,
        (Some(_), Some(_)) => Absence::Rebooted,
        (None, _) | (_, None) => Absence::Unknown,
    }
}
