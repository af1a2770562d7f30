//! A machine is back without slots that it had, or with other ports for them. Whoever runs it made it anew, or gave it
//! another disk: an agent that keeps its disk keeps its slots, so this one knows nothing of them.
//!
//! They are forgotten, from the first that differs on, and what it brings in their place is new. Only where somebody may
//! still play there does the machine have to stay as it was.

use mainstay_core::{BootId, MachineId, RegionId, ServerId, Turn};

use super::{lose, waiting};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::Absence;

/// Whether all slots of a machine but the first `kept` may be forgotten: nobody is on them; or its kernel has been started
/// again since, and whoever was has gone with it.
pub(super) fn may_be_forgotten(state: &Fleet, machine: MachineId, kept: usize, boot: Option<BootId>) -> bool {
    let Some(known) = state.machine(machine) else { return true };
    match lose::absence(known.boot, boot) {
        Absence::Rebooted => true,
        Absence::CutOff | Absence::Unknown => {
            let mut missing = known.servers.iter().skip(kept).filter_map(|server| state.server(*server));
            missing.all(|server| server.claim.is_open() && server.held_until().is_none())
        }
    }
}

/// Forgets all slots of a machine but the first `kept`. What they were for goes elsewhere, or ends as their machine's loss;
/// a hold goes with its server.
pub(super) fn forget(turn: &mut Turn<'_, Fleet>, machine: MachineId, region: RegionId, kept: usize) {
    let Some(known) = turn.state().machine(machine) else { return };
    let servers: alloc::vec::Vec<ServerId> = known.servers.iter().skip(kept).copied().collect();
    if servers.is_empty() {
        return;
    }
    for server in &servers {
        lose::end_claim(turn, *server);
    }
    turn.emit(Event::ServersForgotten { machine, servers });
    waiting::place(turn, region);
}
