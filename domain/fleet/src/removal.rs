//! When a machine may be taken away. A hold keeps the machine it is on "alive past its pre-configured TTLs", and of
//! several holds "the timeout furthest in the future will be taken into account" (seed 003).

use core::time::Duration;

use mainstay_core::{MachineId, Timestamp};

use crate::fleet::Fleet;

/// Whether a machine may be taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// Somebody plays on it, or may: no time alone frees it.
    InUse {
        /// How many of its servers are allocated or reserved.
        claimed: u32,
    },
    /// Not before then: it has not idled long enough, or a hold keeps it.
    NotBefore(Timestamp),
    /// It may.
    Now,
}

impl Fleet {
    /// Whether a machine may be taken away, where it may once all its servers have been neither allocated nor reserved
    /// for `idle_for`; `None` for a machine that is not known.
    #[must_use]
    pub fn removal(&self, machine: MachineId, idle_for: Duration, now: Timestamp) -> Option<Removal> {
        let machine = self.machines.get(&machine)?;
        let claimed = machine.counts.claimed();
        if claimed > 0 {
            return Some(Removal::InUse { claimed });
        }
        let idle = machine.used + idle_for;
        let free = machine.held_until().map_or(idle, |until| until.max(idle));
        Some(if free > now { Removal::NotBefore(free) } else { Removal::Now })
    }
}
