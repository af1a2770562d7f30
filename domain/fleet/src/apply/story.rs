//! The shortest story that rebuilds a fleet: what snapshots hold.

use alloc::boxed::Box;
use alloc::vec::Vec;

use mainstay_core::slot::{ConfigurationRef, Intent};
use mainstay_core::{AllocationId, Generation, MachineId, ServerId, Timestamp};

use crate::allocation::{Allocation, Stage};
use crate::cause::Cause;
use crate::claim::{Claim, Reservation};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::{Life, Origin};
use crate::machine::Machine;
use crate::server::{Readiness, Server};

impl Fleet {
    pub(crate) fn whole_story(&self) -> Vec<(Timestamp, Event)> {
        let mut story = Vec::new();
        let Some(spec) = &self.spec else { return story };
        story.push((Timestamp::EPOCH, Event::Configured(spec.clone())));
        for (reference, kept) in &self.specs {
            if spec.configuration(reference.id).is_none_or(|current| current.configuration != *reference) {
                story.push((Timestamp::EPOCH, Event::SpecKept(Box::new(kept.clone()))));
            }
        }
        self.tell_counters(&mut story);
        for (id, machine) in &self.machines {
            self.tell_machine(*id, machine, &mut story);
        }
        // What is over comes first: its server may have been given to one that was requested earlier and waited.
        let told = |over: bool| {
            self.by_request.iter().filter_map(move |(_, id)| {
                let allocation = self.allocations.get(id)?;
                (allocation.end().is_some() == over).then_some((*id, allocation))
            })
        };
        for (id, allocation) in told(true).chain(told(false)) {
            self.tell_allocation(id, allocation, &mut story);
        }
        let assigned = self.assigned.iter().map(|(server, configuration)| Event::ServerAssigned {
            server: *server,
            configuration: *configuration,
        });
        story.extend(assigned.map(|event| (Timestamp::EPOCH, event)));
        for (id, server) in &self.servers {
            tell_server(*id, server, &mut story);
            if let Some(incident) = &server.incident {
                story.push((Timestamp::EPOCH, Event::IncidentTold { incident: incident.clone() }));
            }
        }
        story
    }

    fn tell_machine(&self, id: MachineId, machine: &Machine, story: &mut Vec<(Timestamp, Event)>) {
        let Machine { key, region, name, addresses, .. } = machine;
        let (key, region, name, addresses) = (*key, *region, name.clone(), *addresses);
        match (machine.origin, machine.life) {
            (
                Origin::Joined,
                Life::Requested { .. }
                | Life::Serving
                | Life::Draining { .. }
                | Life::Emptied { .. }
                | Life::Lost { .. }
                | Life::Removing { .. },
            ) => {
                let joined = Event::MachineJoined { machine: id, key, region, name, addresses };
                story.push((machine.used, joined));
            }
            (Origin::Made, Life::Requested { at, until, slots }) => {
                story.push((at, Event::MachineRequested { machine: id, key, region, slots, until }));
            }
            (
                Origin::Made,
                Life::Serving
                | Life::Draining { .. }
                | Life::Emptied { .. }
                | Life::Lost { .. }
                | Life::Removing { .. },
            ) => {
                let until = Timestamp::EPOCH;
                let requested = Event::MachineRequested { machine: id, key, region, slots: 0, until };
                story.push((Timestamp::EPOCH, requested));
                story.push((Timestamp::EPOCH, Event::MachineReaddressed { machine: id, name, addresses }));
                story.push((machine.used, Event::MachineCame { machine: id }));
            }
        }
        if let Some(boot) = machine.boot {
            story.push((Timestamp::EPOCH, Event::MachineBooted { machine: id, boot }));
        }
        if let Some(host) = machine.host.clone() {
            story.push((Timestamp::EPOCH, Event::MachineDescribed { machine: id, host }));
        }
        if let Some((at, absence)) = machine.returned {
            story.push((at, Event::MachineReturned { machine: id, absence }));
        }
        for (first, server) in machine.servers.iter().filter_map(|id| Some((*id, self.servers.get(id)?))) {
            let added = Event::ServersAdded {
                machine: id,
                first,
                ports: [server.ports].into(),
                configuration: server.configuration,
            };
            story.push((Timestamp::EPOCH, added));
        }
        match machine.life {
            Life::Requested { .. } | Life::Serving => {}
            Life::Draining { since } => story.push((since, Event::MachineDraining { machine: id })),
            Life::Emptied { since } => story.push((since, Event::MachineEmptied { machine: id })),
            Life::Lost { at } => story.push((at, Event::MachineLost { machine: id })),
            Life::Removing { since, why } => {
                story.push((since, Event::MachineParting { machine: id, why }));
            }
        }
        if let Some(since) = machine.duty.withdrawn() {
            story.push((since, Event::MachineDutySet { machine: id, wish: machine.duty.wish() }));
        }
    }

    /// The counters, where what is left does not tell them.
    fn tell_counters(&self, story: &mut Vec<(Timestamp, Event)>) {
        let machines = self.machines.last_key_value().map_or(0, |(id, _)| id.counter());
        let servers = self.servers.last_key_value().map_or(0, |(id, _)| id.counter());
        let (machine_counter, server_counter) = (self.machine_counter, self.server_counter);
        if machines < machine_counter || servers < server_counter {
            let kept = Event::CountersKept { machines: machine_counter, servers: server_counter };
            story.push((Timestamp::EPOCH, kept));
        }
    }

    fn tell_allocation(
        &self,
        id: AllocationId,
        allocation: &Allocation,
        story: &mut Vec<(Timestamp, Event)>,
    ) {
        let Allocation { request, requested, ready, stage } = allocation;
        let until = match stage {
            Stage::Waiting { until } => *until,
            Stage::Placed(_) | Stage::Fulfilled { .. } | Stage::Ended { .. } => *requested,
        };
        story.push((*requested, Event::AllocationRequested { id, request: request.clone(), until }));
        if let Some(placed) = allocation.placed() {
            let known = self.servers.get(&placed.server);
            // One that is gone with its machine is named still; of its order nothing is left to tell.
            let configuration = ConfigurationRef { id: request.configuration, revision: 0 };
            let placement = Event::AllocationPlaced {
                id,
                server: placed.server,
                generation: known.map_or(Generation::NONE, |server| server.generation),
                configuration: known.map_or(configuration, |server| server.configuration),
                intent: known.map_or(Intent::Leave, |server| server.intent),
                cause: known.map_or(Cause::Unrecorded, |server| server.cause),
            };
            story.push((placed.at, placement));
        }
        let server = allocation.placed().map(|placed| placed.server);
        if let Some(at) = allocation.fulfilled() {
            story.push((at, Event::AllocationFulfilled { id, server }));
        }
        if let (Some(at), Some(placed)) = (*ready, allocation.placed()) {
            let here = self.servers.contains_key(&placed.server);
            let readied = if here {
                Event::ServerReadied { server: placed.server }
            } else {
                Event::AllocationReadied { id }
            };
            story.push((at, readied));
        }
        if let Some((at, end)) = allocation.end() {
            story.push((at, Event::AllocationEnded { id, server, end: end.clone() }));
        }
    }
}

/// The order of a server without an allocation, and what claims it; the rest is told with its allocation.
fn tell_server(id: ServerId, server: &Server, story: &mut Vec<(Timestamp, Event)>) {
    let Server { claim, generation, configuration, intent, cause, readiness, .. } = *server;
    if claim.allocation().is_some() {
        return;
    }
    if generation != Generation::NONE {
        let ordered = Event::ServerOrdered { server: id, generation, configuration, intent, cause };
        story.push((Timestamp::EPOCH, ordered));
    }
    match readiness {
        Readiness::Ready => story.push((Timestamp::EPOCH, Event::ServerReadied { server: id })),
        Readiness::Unready => {}
    }
    match claim {
        Claim::Free | Claim::Allocated(_) => {}
        Claim::Held { until } => story.push((Timestamp::EPOCH, Event::ServerHeld { server: id, until })),
        Claim::Reserved(Reservation { id: reservation, at }) => {
            story.push((at, Event::ServerReserved { server: id, reservation }));
        }
    }
}
