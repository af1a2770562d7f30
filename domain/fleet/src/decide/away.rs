//! Nothing begins on a machine that drains, is emptied or lost, or that an operator withdrew: what it runs is being
//! stopped, or will be, or nobody knows.

use mainstay_core::{MachineId, ServerId};

use crate::fleet::Fleet;
use crate::life::{Duty, Life};
use crate::machine::Link;
use crate::rejection::Rejection;

/// A server's machine, where it is heard, and only its idle TTL keeps it from serving.
pub(super) fn asleep(state: &Fleet, server: ServerId) -> Option<MachineId> {
    let known = state.server(server).filter(|known| !known.is_fenced())?;
    let machine = state.machine(known.machine)?;
    match (machine.life, machine.duty, machine.link()) {
        (Life::Draining { .. } | Life::Emptied { .. }, Duty::InService, Link::Up { .. }) => {
            Some(known.machine)
        }
        (
            Life::Requested { .. }
            | Life::Serving
            | Life::Draining { .. }
            | Life::Emptied { .. }
            | Life::Lost { .. }
            | Life::Removing { .. },
            Duty::InService | Duty::Drained { .. } | Duty::Leaving { .. },
            Link::Up { .. } | Link::Silent,
        ) => None,
    }
}

/// Refuses where a server's machine does not serve.
pub(super) fn serving(state: &Fleet, server: ServerId) -> Result<(), Rejection> {
    let known = state.server(server).ok_or(Rejection::UnknownServer(server))?;
    let machine = known.machine;
    if known.is_fenced() {
        let life = "back, and stops what it had played";
        return Err(Rejection::MachineAway { server, machine, life });
    }
    match state.machine(machine) {
        Some(known) if !known.takes() => {
            let life = if known.life.serves() { known.duty.word() } else { known.life.word() };
            Err(Rejection::MachineAway { server, machine, life })
        }
        Some(_) | None => Ok(()),
    }
}
