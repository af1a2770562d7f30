//! The indices of machines against a full derivation.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;

use mainstay_core::{MachineId, RegionId, ServerId, Timestamp};

use super::{Broken, Law, ensure};
use crate::allocation::Stage;
use crate::errand::Progress;
use crate::fleet::Fleet;
use crate::machine::{Link, Machine};
use crate::pool::Pool;

pub(super) fn pools(fleet: &Fleet) -> Result<(), Broken> {
    let (mut pools, mut moments): (BTreeMap<RegionId, Pool>, BTreeSet<_>) =
        (BTreeMap::new(), BTreeSet::new());
    for (id, machine) in &fleet.machines {
        let holds: BTreeSet<(Timestamp, ServerId)> = machine
            .servers
            .iter()
            .filter_map(|server| Some((fleet.servers.get(server)?.held_until()?, *server)))
            .collect();
        ensure(holds == machine.holds, Law::Holds, || format!("{id}: {:?} is not {holds:?}", machine.holds))?;
        let pool = pools.entry(machine.region).or_default();
        machine.share.add_to(*id, pool, &mut moments);
    }
    let waiting = fleet.by_request.iter().filter_map(|(_, id)| fleet.allocations.get(id));
    for allocation in waiting {
        match allocation.stage {
            Stage::Waiting { .. } => pools.entry(allocation.request.region).or_default().waiting += 1,
            Stage::Placed(_) | Stage::Fulfilled { .. } | Stage::Ended { .. } => {}
        }
    }
    for region in fleet.pools.keys().chain(pools.keys()) {
        let (known, derived) = (fleet.pools.get(region).cloned(), pools.get(region).cloned());
        let (known, derived) = (known.unwrap_or_default(), derived.unwrap_or_default());
        ensure(known == derived, Law::Pools, || format!("{region}: {known:?} is not {derived:?}"))?;
    }
    for region in fleet.pools.keys() {
        let fits = |machine: &Machine| {
            machine.region == *region
                && fleet.spare(*region).is_some_and(|spare| machine.share.available <= spare)
        };
        let idle = fleet.machines.iter().filter(|(_, machine)| fits(machine));
        let next = idle.filter_map(|(id, machine)| Some((machine.share.idle?, *id))).min();
        let found = fleet.next_idle(*region);
        ensure(found == next, Law::Pools, || format!("{region}: {found:?} idles longest, not {next:?}"))?;
    }
    ensure(fleet.moments == moments, Law::Pools, || format!("{:?} is not {moments:?}", fleet.moments))
}

pub(super) fn silence(fleet: &Fleet) -> Result<(), Broken> {
    let silent: BTreeSet<_> = fleet.silent_since.iter().map(|(id, since)| (*since, *id)).collect();
    let missed: BTreeSet<MachineId> = fleet
        .machines
        .iter()
        .filter(|(_, machine)| machine.life.is_missed() && machine.link == Link::Silent)
        .map(|(id, _)| *id)
        .collect();
    let counted: BTreeSet<MachineId> = fleet.silent_since.keys().copied().collect();
    let holds = silent == fleet.silent && (!fleet.listening || counted == missed);
    ensure(holds, Law::Silence, || format!("silent are {missed:?}, counted {:?}", fleet.silent_since))?;
    let resting: BTreeSet<_> = fleet
        .errands
        .iter()
        .filter_map(|(id, progress)| match progress {
            Progress::Resting { until, .. } => Some((*until, *id)),
            Progress::Running { .. } | Progress::Again { .. } | Progress::Done => None,
        })
        .collect();
    let known = fleet.errands.keys().all(|id| fleet.machines.contains_key(id));
    ensure(resting == fleet.resting && known, Law::Silence, || format!("{:?}", fleet.errands))
}
