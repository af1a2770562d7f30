//! How far machines have come with what their servers run: soft, as their agents say it, gone with their streams.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use mainstay_core::slot::ConfigurationRef;
use mainstay_core::{FleetNumber, MachineId};
use mainstay_fleet::StreamId;
use mainstay_wire::agent::{DiskUse, Install, Installs};

/// The installs of every machine that is heard. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Installing(Arc<RwLock<BTreeMap<MachineId, OfMachine>>>);

#[derive(Debug)]
struct OfMachine {
    /// The stream that says so: what an older one said is no longer true.
    stream: StreamId,
    installs: BTreeMap<ConfigurationRef, Install>,
    disk: Option<DiskUse>,
}

impl OfMachine {
    const fn new(stream: StreamId) -> Self {
        Self { stream, installs: BTreeMap::new(), disk: None }
    }
}

impl Installing {
    /// Notes what a stream says of a machine. A revision that is not the newest of its configuration is forgotten once the
    /// newest is whole.
    pub(super) fn note(&self, stream: StreamId, told: Installs) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let of = all
            .entry(told.machine)
            .and_modify(|of| {
                if of.stream != stream {
                    *of = OfMachine::new(stream);
                }
            })
            .or_insert_with(|| OfMachine::new(stream));
        of.disk = told.disk.or(of.disk);
        for install in told.installs {
            let newest = install.configuration;
            of.installs.retain(|known, _| known.id != newest.id || known.revision >= newest.revision);
            of.installs.insert(newest, install);
        }
    }

    /// Forgets what a stream said of a machine.
    pub(super) fn forget(&self, stream: StreamId, machine: MachineId) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if all.get(&machine).is_some_and(|of| of.stream == stream) {
            all.remove(&machine);
        }
    }

    /// What takes room on a machine's disk; `None` where its agent has not said so.
    pub(crate) fn disk(&self, machine: MachineId) -> Option<DiskUse> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&machine)?.disk
    }

    /// The first machines of a fleet that wait for what they run, each with the revision and what is wrong with it.
    pub(crate) fn waiting(
        &self,
        fleet: FleetNumber,
        runs: impl Fn(&Install) -> bool,
        max: usize,
    ) -> Vec<(MachineId, ConfigurationRef, String)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let of_fleet = all.range(MachineId::of(fleet, 0)..=MachineId::of(fleet, u32::MAX));
        let installs =
            of_fleet.flat_map(|(machine, of)| of.installs.values().map(|install| (*machine, install)));
        let waiting = installs
            .filter(|(_, install)| runs(install))
            .filter_map(|(machine, install)| Some((machine, install.configuration, install.waiting()?)));
        waiting.take(max).collect()
    }

    /// How far a machine is with a configuration's revision; `None` where its agent says nothing of it, as one does that has
    /// the control plane's own disk.
    pub(crate) fn of(&self, machine: MachineId, configuration: ConfigurationRef) -> Option<Install> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&machine)?.installs.get(&configuration).cloned()
    }
}
