//! Nothing begins on a machine that drains, is emptied or lost, or that an operator withdrew: what it runs is being
//! stopped, or will be, or nobody knows.

use mainstay_core::ServerId;

use crate::fleet::Fleet;
use crate::rejection::Rejection;

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
