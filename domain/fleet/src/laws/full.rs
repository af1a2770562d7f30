//! Every derived index against a full derivation.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;

use mainstay_core::{MachineId, RegionId};

use super::{Broken, Law, ensure};
use crate::allocation::Stage;
use crate::fleet::Fleet;
use crate::placement::{Candidates, Shelf};

pub(super) fn check(fleet: &Fleet, broken: &mut Vec<Broken>) {
    let checks = [membership, fullness, candidates, debts, orders];
    broken.extend(checks.iter().filter_map(|check| check(fleet).err()));
}

fn membership(fleet: &Fleet) -> Result<(), Broken> {
    let of_machines: BTreeSet<_> = fleet
        .machines
        .iter()
        .flat_map(|(id, machine)| machine.servers.iter().map(|server| (*server, *id)))
        .collect();
    let of_servers: BTreeSet<_> = fleet.servers.iter().map(|(id, server)| (*id, server.machine)).collect();
    ensure(of_machines == of_servers, Law::Membership, || format!("{of_machines:?} is not {of_servers:?}"))?;
    let keys: BTreeMap<_, _> =
        fleet.machines.iter().map(|(id, machine)| ((machine.region, machine.key), *id)).collect();
    ensure(keys == fleet.machines_by_key, Law::Membership, || "machines by key".into())
}

fn fullness(fleet: &Fleet) -> Result<(), Broken> {
    let mut by_machine: BTreeMap<MachineId, u32> = fleet.machines.keys().map(|id| (*id, 0)).collect();
    let mut by_region: BTreeMap<RegionId, u32> = BTreeMap::new();
    for server in fleet.servers.values().filter(|server| server.allocation().is_some()) {
        *by_machine.entry(server.machine).or_default() += 1;
        if let Some(machine) = fleet.machines.get(&server.machine) {
            *by_region.entry(machine.region).or_default() += 1;
        }
    }
    for (id, machine) in &fleet.machines {
        let counted = by_machine.get(id).copied().unwrap_or(0);
        ensure(machine.allocated == counted, Law::Fullness, || {
            format!("{id}: {} is not {counted}", machine.allocated)
        })?;
    }
    let known: BTreeMap<_, _> = fleet
        .allocated_by_region
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(id, count)| (*id, *count))
        .collect();
    ensure(known == by_region, Law::Fullness, || format!("{known:?} is not {by_region:?}"))
}

fn candidates(fleet: &Fleet) -> Result<(), Broken> {
    let mut shelf = Shelf::new();
    for (id, machine) in &fleet.machines {
        let mut candidates = Candidates::new();
        for server in &machine.servers {
            if let Some(candidate) = fleet.servers.get(server).and_then(|server| fleet.candidate(server)) {
                candidates.entry(candidate).or_default().insert(*server);
            }
        }
        ensure(machine.candidates == candidates, Law::Candidates, || {
            format!("{id}: {:?} is not {candidates:?}", machine.candidates)
        })?;
        for candidate in candidates.keys() {
            let place = (Reverse(machine.allocated), *id);
            shelf.entry((machine.region, *candidate)).or_default().insert(place);
        }
    }
    ensure(fleet.shelf == shelf, Law::Candidates, || format!("shelf {:?} is not {shelf:?}", fleet.shelf))
}

fn debts(fleet: &Fleet) -> Result<(), Broken> {
    let mut debts: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (id, server) in &fleet.servers {
        let seen = server.seen.as_ref().map(|seen| seen.generation).unwrap_or_default();
        if server.generation > seen.max(server.sent) {
            debts.entry(server.machine).or_default().insert(*id);
        }
    }
    ensure(fleet.debts == debts, Law::Debts, || format!("{:?} is not {debts:?}", fleet.debts))
}

fn orders(fleet: &Fleet) -> Result<(), Broken> {
    let (mut waiting, mut until_order, mut ended) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for (requested, id) in &fleet.by_request {
        let Some(allocation) = fleet.allocations.get(id) else {
            return ensure(false, Law::AllocationOrders, || format!("{id} is listed and unknown"));
        };
        match &allocation.stage {
            Stage::Waiting { until } => {
                waiting.insert((allocation.request.region, *requested, *id));
                until_order.insert((*until, *id));
            }
            Stage::Placed(_) | Stage::Fulfilled { .. } => {}
            Stage::Ended { at, .. } => {
                ended.insert((*at, *id));
            }
        }
    }
    let holds = waiting == fleet.waiting
        && until_order == fleet.waiting_until
        && ended == fleet.ended
        && fleet.by_request.len() == fleet.allocations.len();
    ensure(holds, Law::AllocationOrders, || "an order of allocations by time is not what it should be".into())
}
