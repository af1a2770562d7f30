//! Every derived index against a full derivation.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;

use mainstay_core::{RegionId, ServerId};

use super::{Broken, Law, ensure, machines};
use crate::allocation::{Purpose, Stage};
use crate::counts::Counts;
use crate::fleet::Fleet;
use crate::life::Life;
use crate::placement::{Candidates, Shelf};

pub(super) fn check(fleet: &Fleet, broken: &mut Vec<Broken>) {
    let checks = [
        membership,
        counts,
        holds,
        removal,
        machines::pools,
        machines::silence,
        rollouts,
        idle_clocks,
        candidates,
        debts,
        orders,
    ];
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

fn counts(fleet: &Fleet) -> Result<(), Broken> {
    let mut by_region: BTreeMap<RegionId, Counts> = BTreeMap::new();
    for (id, machine) in &fleet.machines {
        let mut counted = Counts::default();
        for server in machine.servers.iter().filter_map(|server| fleet.servers.get(server)) {
            counted.add(server.status());
        }
        ensure(machine.counts == counted, Law::Counts, || {
            format!("{id}: {:?} is not {counted:?}", machine.counts)
        })?;
        *by_region.entry(machine.region).or_default() += counted;
    }
    for region in fleet.counts.keys().chain(by_region.keys()) {
        let (known, counted) = (fleet.counts_in(*region), by_region.get(region).copied().unwrap_or_default());
        ensure(known == counted, Law::Counts, || format!("{region}: {known:?} is not {counted:?}"))?;
    }
    Ok(())
}

fn holds(fleet: &Fleet) -> Result<(), Broken> {
    let holds: BTreeSet<_> =
        fleet.servers.iter().filter_map(|(id, server)| Some((server.held_until()?, *id))).collect();
    ensure(holds == fleet.holds, Law::Holds, || format!("{:?} is not {holds:?}", fleet.holds))
}

fn rollouts(fleet: &Fleet) -> Result<(), Broken> {
    let servers = || fleet.servers.iter();
    let outdated: BTreeSet<_> =
        servers().filter_map(|(id, server)| Some((fleet.outdated_by(*id, server)?, *id))).collect();
    let rolling: BTreeSet<_> =
        servers().filter(|(_, server)| fleet.is_rolling(server)).map(|(id, _)| *id).collect();
    ensure(outdated == fleet.outdated && rolling == fleet.rolling, Law::Rollouts, || {
        format!("{:?} and {:?} are not {outdated:?} and {rolling:?}", fleet.outdated, fleet.rolling)
    })
}

fn idle_clocks(fleet: &Fleet) -> Result<(), Broken> {
    let empty: BTreeSet<_> = fleet.empty_since.iter().map(|(id, since)| (*since, *id)).collect();
    let allocated = |id: &ServerId| fleet.servers.get(id).is_some_and(|server| server.allocation().is_some());
    let holds = empty == fleet.empty && fleet.empty_since.keys().all(allocated);
    ensure(holds, Law::IdleClocks, || format!("{:?} and {:?}", fleet.empty_since, fleet.empty))
}

/// However short the TTL, and whatever an operator wishes: who plays on a machine keeps it, and a hold does until it runs
/// out. Derived from the servers' claims; the moments are what machines are emptied and given back by.
fn removal(fleet: &Fleet) -> Result<(), Broken> {
    for (id, machine) in &fleet.machines {
        let goes = match machine.life {
            Life::Serving | Life::Draining { .. } | Life::Emptied { .. } | Life::Lost { .. } => {
                machine.share.idle.into_iter().chain(machine.share.moment).min()
            }
            Life::Requested { .. } | Life::Removing { .. } => None,
        };
        let Some(goes) = goes else { continue };
        let mut servers = machine.servers.iter().filter_map(|server| fleet.servers.get(server));
        let kept = servers
            .find(|server| !server.claim.is_open() || server.held_until().is_some_and(|until| until > goes));
        ensure(kept.is_none(), Law::Removal, || {
            format!("{id} could be taken away at {goes:?} with {:?} on it", kept.map(|server| server.claim))
        })?;
    }
    Ok(())
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
            let place = (Reverse(machine.counts.claimed()), *id);
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
    let (mut live, mut tests) = (BTreeSet::new(), BTreeSet::new());
    for (requested, id) in &fleet.by_request {
        let Some(allocation) = fleet.allocations.get(id) else {
            return ensure(false, Law::AllocationOrders, || format!("{id} is listed and unknown"));
        };
        if allocation.end().is_none() {
            live.insert((*requested, *id));
            if allocation.request.purpose == Purpose::Test {
                tests.insert((*requested, *id));
            }
        }
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
        && live == fleet.live
        && tests == fleet.tests
        && fleet.by_request.len() == fleet.allocations.len();
    ensure(holds, Law::AllocationOrders, || "an order of allocations by time is not what it should be".into())
}
