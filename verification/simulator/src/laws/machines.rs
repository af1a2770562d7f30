//! A machine is taken away only when nobody is on it.

use mainstay_core::MachineId;
use mainstay_fleet::Fleet;

use super::{Broken, ensure};

/// "A machine with an allocated, reserved or held server is never taken away" (issue 3), by what is durable when it goes.
pub(crate) fn nobody_is_on(machine: MachineId, fleet: &Fleet) -> Result<(), Broken> {
    let servers = fleet.machine(machine).map(|machine| machine.servers.clone()).unwrap_or_default();
    let taken = servers
        .iter()
        .filter_map(|id| fleet.server(*id))
        .find(|server| !server.claim.is_open() || server.held_until().is_some());
    ensure(taken.is_none(), "a machine that somebody is on is never taken away", || {
        format!("{machine} goes with {:?} on it", taken.map(|server| server.claim))
    })
}
