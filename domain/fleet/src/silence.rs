//! Whose agents are silent, and since when: soft, and counted from the moment this leader began to listen, never from a
//! stored time.

use alloc::collections::btree_map::Entry;

use mainstay_core::{MachineId, Timestamp};

use crate::fleet::Fleet;
use crate::machine::Link;

impl Fleet {
    /// Since when a machine that should be heard has not been; `None` for one that is heard, or is not expected to be.
    #[must_use]
    pub fn silent_since(&self, machine: MachineId) -> Option<Timestamp> {
        self.silent_since.get(&machine).copied()
    }

    /// The machine that is lost next, and when.
    pub(crate) fn next_lost(&self) -> Option<(Timestamp, MachineId)> {
        let &(since, machine) = self.silent.first()?;
        Some((since + self.machine_policy().lost_after, machine))
    }

    /// This leader listens from now on: whoever is silent has been so since now.
    pub(crate) fn listen(&mut self, now: Timestamp) {
        self.listening = true;
        let machines: alloc::vec::Vec<MachineId> = self.machines.keys().copied().collect();
        for machine in machines {
            self.settle_silence(machine, now);
        }
    }

    /// Counts a machine's silence from now, where it is silent, expected to be heard, and not counted yet; else no more.
    pub(crate) fn settle_silence(&mut self, id: MachineId, now: Timestamp) {
        let missed = self.listening
            && self.machines.get(&id).is_some_and(|machine| {
                machine.life.is_missed()
                    && match machine.link {
                        Link::Silent => true,
                        Link::Up { .. } => false,
                    }
            });
        if !missed {
            self.stop_missing(id);
        } else if let Entry::Vacant(since) = self.silent_since.entry(id) {
            since.insert(now);
            self.silent.insert((now, id));
        }
    }

    pub(crate) fn stop_missing(&mut self, id: MachineId) {
        if let Some(since) = self.silent_since.remove(&id) {
            self.silent.remove(&(since, id));
        }
    }
}
