//! How far machines have come with what their servers run: soft, as their agents say it, gone with their streams.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use mainstay_core::slot::ConfigurationRef;
use mainstay_core::{FleetNumber, MachineId, RegionId, Timestamp};
use mainstay_fleet::StreamId;
use mainstay_wire::agent::{DiskUse, Fill, Install, Installs};

/// The installs of every machine that is heard. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Installing(Arc<RwLock<BTreeMap<MachineId, OfMachine>>>);

#[derive(Debug)]
struct OfMachine {
    /// The stream that says so: what an older one said is no longer true.
    stream: StreamId,
    region: RegionId,
    /// What it last said of each, and since when it has said so.
    installs: BTreeMap<ConfigurationRef, (Install, Timestamp)>,
    disk: Option<DiskUse>,
}

/// What takes room on the machines of a region that have said so. Machines of one host share its disk, and each counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Disks {
    /// All of them together.
    pub(crate) told: DiskUse,
    /// How many are full.
    pub(crate) full: u32,
}

impl std::ops::AddAssign<DiskUse> for Disks {
    fn add_assign(&mut self, disk: DiskUse) {
        let DiskUse { builds, cores, evidence, logs, budget, free, deleted, fill } = disk;
        let told = &mut self.told;
        for (sum, more) in [
            (&mut told.builds, builds),
            (&mut told.cores, cores),
            (&mut told.evidence, evidence),
            (&mut told.logs, logs),
            (&mut told.budget, budget),
            (&mut told.free, free),
            (&mut told.deleted, deleted),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.full += u32::from(fill == Fill::Full);
    }
}

impl Installing {
    /// A machine has said hello.
    pub(super) fn arrived(&self, stream: StreamId, machine: MachineId, region: RegionId) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(machine, OfMachine { stream, region, installs: BTreeMap::new(), disk: None });
    }

    /// Notes what a stream says of a machine, unless another has said hello for it since. A revision that is not the newest of its configuration is forgotten once the
    /// newest is whole.
    pub(super) fn note(&self, stream: StreamId, told: Installs, now: Timestamp) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Some(of) = all.get_mut(&told.machine).filter(|of| of.stream == stream) else { return };
        of.disk = told.disk.or(of.disk);
        for install in told.installs {
            let newest = install.configuration;
            of.installs.retain(|known, _| known.id != newest.id || known.revision >= newest.revision);
            let before = of.installs.get(&newest).filter(|(known, _)| known.stage == install.stage);
            let since = before.map_or(now, |(_, since)| *since);
            of.installs.insert(newest, (install, since));
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

    /// What takes room on the machines of a fleet, by region.
    pub(crate) fn disks(&self, fleet: FleetNumber) -> BTreeMap<RegionId, Disks> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut regions: BTreeMap<RegionId, Disks> = BTreeMap::new();
        for (_, of) in all.range(MachineId::of(fleet, 0)..=MachineId::of(fleet, u32::MAX)) {
            if let Some(disk) = of.disk {
                *regions.entry(of.region).or_default() += disk;
            }
        }
        regions
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
            of_fleet.flat_map(|(machine, of)| of.installs.values().map(|(install, _)| (*machine, install)));
        let waiting = installs
            .filter(|(_, install)| runs(install))
            .filter_map(|(machine, install)| Some((machine, install.configuration, install.waiting()?)));
        waiting.take(max).collect()
    }

    /// How far a machine is with a configuration's revision, and since when it has stood there; `None` where its agent says nothing of it, as one does that has
    /// the control plane's own disk.
    pub(crate) fn of(
        &self,
        machine: MachineId,
        configuration: ConfigurationRef,
    ) -> Option<(Install, Timestamp)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&machine)?.installs.get(&configuration).cloned()
    }
}
