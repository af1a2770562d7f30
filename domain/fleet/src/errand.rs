//! What machine providers are asked: derived from the lives of machines until the provider has done it. How far each errand
//! is, is soft: after a restart everything is asked again, and providers take a repeat.

use mainstay_core::{MachineId, MachineKey, RegionId, Timestamp};

use crate::fleet::Fleet;
use crate::life::{Life, Origin};
use crate::policy::Provided;
use crate::spec::Growth;

/// What a region's provider is asked about one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    /// The machine.
    pub machine: MachineId,
    /// What it will call itself.
    pub key: MachineKey,
    /// The region whose provider is asked.
    pub region: RegionId,
    /// What is asked.
    pub verb: Verb,
}

/// What a provider can be asked. Both are idempotent by the machine's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Make the machine: it is to join with so many slots by then.
    Create {
        /// How many.
        slots: u32,
        /// When it is given up.
        until: Timestamp,
    },
    /// Delete it, whether or not it was ever made.
    Delete,
    /// It joined by itself: no provider is asked, and its credential is to end.
    Revoke,
}

/// What a provider answered, or failed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It has done it, or will without being asked again.
    Done,
    /// It failed, or did not answer in time.
    Failed,
}

/// How far an errand is. Soft; one that is not listed has not been run yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It is being run.
    Running {
        /// How often it failed before.
        failures: u32,
    },
    /// It failed, and is run again then.
    Resting {
        /// How often it failed.
        failures: u32,
        /// When.
        until: Timestamp,
    },
    /// It is to be run again.
    Again {
        /// How often it failed.
        failures: u32,
    },
    /// The provider has done what can be done; the machine is to come.
    Done,
}

impl Progress {
    pub(crate) const fn failures(self) -> u32 {
        match self {
            Self::Running { failures } | Self::Resting { failures, .. } | Self::Again { failures } => {
                failures
            }
            Self::Done => 0,
        }
    }
}

impl Fleet {
    /// What a provider is to be asked about a machine now.
    #[must_use]
    pub fn errand(&self, id: MachineId) -> Option<Errand> {
        match self.errands.get(&id) {
            None | Some(Progress::Again { .. }) => {}
            Some(Progress::Running { .. } | Progress::Resting { .. } | Progress::Done) => return None,
        }
        let machine = self.machines.get(&id)?;
        let verb = match (machine.origin, machine.life) {
            (Origin::Made, Life::Requested { slots, until, .. }) => Verb::Create { slots, until },
            (Origin::Made, Life::Removing { .. }) => Verb::Delete,
            (Origin::Joined, Life::Removing { .. }) => Verb::Revoke,
            (
                Origin::Made,
                Life::Serving | Life::Draining { .. } | Life::Emptied { .. } | Life::Lost { .. },
            )
            | (
                Origin::Joined,
                Life::Requested { .. }
                | Life::Serving
                | Life::Draining { .. }
                | Life::Emptied { .. }
                | Life::Lost { .. },
            ) => return None,
        };
        Some(Errand { machine: id, key: machine.key, region: machine.region, verb })
    }

    /// How often a machine's errand has failed in a row.
    #[must_use]
    pub fn errand_failures(&self, id: MachineId) -> u32 {
        self.errands.get(&id).map_or(0, |progress| progress.failures())
    }

    /// Notes how far an errand is.
    pub(crate) fn note_errand(&mut self, id: MachineId, progress: Option<Progress>) {
        if let Some(Progress::Resting { until, .. }) = self.errands.get(&id) {
            self.resting.remove(&(*until, id));
        }
        match progress {
            None => {
                self.errands.remove(&id);
            }
            Some(progress) => {
                self.errands.insert(id, progress);
                if let Progress::Resting { until, .. } = progress {
                    self.resting.insert((until, id));
                }
            }
        }
        if self.errand(id).is_some() {
            self.touched.insert(id);
        }
    }

    /// What the operator says of a region's provider, where it has one now.
    #[must_use]
    pub fn provided(&self, region: RegionId) -> Option<&Provided> {
        match &self.spec.as_ref()?.region(region)?.growth {
            Growth::Provided(provided) => Some(provided),
            Growth::Fixed | Growth::MachinesMayJoin => None,
        }
    }
}
