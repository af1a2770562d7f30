//! A machine joins, or comes back.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::density::Host;
use mainstay_core::{BootId, MachineId, MachineKey, RegionId, ServerId, Turn};

use super::{lose, ordering, shrink};
use crate::cause::Cause;
use crate::command::{Answer, JoinedSlot, Observation};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::Life;
use crate::machine::{Addresses, Machine, Ports, SLOTS_PER_MACHINE_MAX};
use crate::rejection::Rejection;
use crate::spec::{FleetSpec, IdleServers};

/// What a machine says of itself when it joins.
pub(super) struct Newcomer<'a> {
    pub(super) key: MachineKey,
    pub(super) region: RegionId,
    pub(super) name: &'a Arc<str>,
    pub(super) addresses: Addresses,
    pub(super) boot: Option<BootId>,
    pub(super) host: Option<&'a Host>,
}

pub(super) fn join(
    turn: &mut Turn<'_, Fleet>,
    newcomer: &Newcomer<'_>,
    slots: &[Ports],
) -> Result<Answer, Rejection> {
    let Newcomer { key, region, name, addresses, boot, host } = *newcomer;
    let spec = turn.state().spec().cloned().ok_or(Rejection::NotConfigured)?;
    if spec.region(region).is_none() {
        return Err(Rejection::UnknownRegion(region));
    }
    if slots.len() > SLOTS_PER_MACHINE_MAX {
        return Err(Rejection::TooManySlots { slots: slots.len() });
    }
    let known = turn.state().machines_by_key.get(&(region, key)).copied();
    still_here(turn.state(), &spec, known, key)?;
    let had = known.map_or_else(Vec::new, |machine| ports_of(turn.state(), machine));
    let kept = had.iter().zip(slots).take_while(|(had, has)| had == has).count();
    if let Some(machine) = known
        && kept < had.len()
        && !shrink::may_be_forgotten(turn.state(), machine, kept, boot)
    {
        return Err(Rejection::SlotsChanged(describe_change(kept, &had, slots)));
    }

    let machine = if let Some(machine) = known {
        let changed = |state: &Fleet| {
            state.machine(machine).is_some_and(|known| known.name != *name || known.addresses != addresses)
        };
        if changed(turn.state()) {
            turn.emit(Event::MachineReaddressed { machine, name: name.clone(), addresses });
        }
        machine
    } else {
        let machine = MachineId::of(spec.number, turn.state().machine_counter + 1);
        turn.emit(Event::MachineJoined { machine, key, region, name: name.clone(), addresses });
        machine
    };
    if let Some(host) = host
        && turn.state().machine(machine).is_some_and(|known| known.host.as_ref() != Some(host))
    {
        turn.emit(Event::MachineDescribed { machine, host: host.clone() });
    }
    shrink::forget(turn, machine, region, kept);
    arrive(turn, machine, region, boot);
    if let (Some(new), Some(configuration)) = (slots.get(kept..), spec.idle_configuration())
        && !new.is_empty()
    {
        let first = ServerId::of(spec.number, turn.state().server_counter + 1);
        turn.emit(Event::ServersAdded { machine, first, ports: new.into(), configuration });
        let serves = turn.state().machine(machine).is_some_and(Machine::takes);
        if serves && spec.idle_servers == IdleServers::StartOnProvision {
            let added = turn.state().machine(machine).map(|machine| machine.servers[kept..].to_vec());
            for server in added.unwrap_or_default() {
                ordering::run_idle(turn, server, Cause::Provisioned);
            }
        }
    }
    let slots = turn.state().machine(machine).map(|machine| machine.servers.clone()).unwrap_or_default();
    let slots = slots
        .into_iter()
        .filter_map(|server| Some(JoinedSlot { server, ports: turn.state().server(server)?.ports }));
    Ok(Answer::Joined { machine, slots: slots.collect() })
}

/// Refuses a machine that was given back to its provider: its servers are forgotten, and it is to be deleted.
fn still_here(
    state: &Fleet,
    spec: &FleetSpec,
    known: Option<MachineId>,
    key: MachineKey,
) -> Result<(), Rejection> {
    match known.and_then(|machine| Some((machine, state.machine(machine)?.life))) {
        Some((machine, Life::Removing { .. })) => Err(Rejection::MachineGone(machine)),
        Some((
            _,
            Life::Requested { .. }
            | Life::Serving
            | Life::Draining { .. }
            | Life::Emptied { .. }
            | Life::Lost { .. },
        )) => Ok(()),
        None => {
            key.made_for(spec.id, spec.number).map_or(Ok(()), |machine| Err(Rejection::MachineGone(machine)))
        }
    }
}

/// A requested machine is here, a lost one is back; and from now on its agent's silence counts.
fn arrive(turn: &mut Turn<'_, Fleet>, machine: MachineId, region: RegionId, boot: Option<BootId>) {
    match turn.state().machine(machine).map(|machine| machine.life) {
        Some(Life::Requested { .. }) => {
            turn.emit(Event::MachineCame { machine });
            turn.observe(Observation::ProviderWorks(region));
        }
        Some(Life::Lost { .. }) => lose::come_back(turn, machine, boot),
        Some(Life::Serving | Life::Draining { .. } | Life::Emptied { .. } | Life::Removing { .. }) | None => {
        }
    }
    if let Some(boot) = boot
        && turn.state().machine(machine).is_some_and(|known| known.boot != Some(boot))
    {
        turn.emit(Event::MachineBooted { machine, boot });
    }
    turn.observe(Observation::Expected(machine));
}

fn ports_of(state: &Fleet, machine: MachineId) -> Vec<Ports> {
    let servers = state.machine(machine).into_iter().flat_map(|machine| &machine.servers);
    servers.filter_map(|server| state.server(*server)).map(|server| server.ports).collect()
}

fn describe_change(slot: usize, had: &[Ports], has: &[Ports]) -> alloc::string::String {
    let Some(Ports { game, query }) = had.get(slot) else { return "its slots changed".into() };
    match has.get(slot) {
        Some(now) => format!(
            "slot {slot} had ports {game} and {query}, and comes back with {} and {}",
            now.game, now.query
        ),
        None => format!("it had {} slots, and comes back with {}", had.len(), has.len()),
    }
}
