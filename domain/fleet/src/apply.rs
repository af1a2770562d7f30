//! The only changes of state: events for what is durable, observations for what is soft. No rules here.

mod allocation;
mod claim;
mod fleet;
mod machine;
mod soft;
mod story;

use mainstay_core::slot::Spec;
use mainstay_core::{ServerId, Timestamp};

use self::machine::Newcomer;
use crate::claim::{Claim, Reservation};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::{Life, Origin};
use crate::server::Server;
use crate::tenure::standing;

impl Fleet {
    pub(crate) fn apply_event(&mut self, at: Timestamp, event: &Event) {
        self.tally.at(at);
        self.forget_ended(at);
        match event {
            Event::Configured(spec) => self.configured(spec),
            Event::SpecKept(spec) => {
                self.specs.insert(spec.configuration, Spec::clone(spec));
            }
            Event::MachineJoined { machine, key, region, name, addresses } => {
                let newcomer = Newcomer {
                    id: *machine,
                    key: *key,
                    region: *region,
                    name: name.clone(),
                    addresses: *addresses,
                    origin: Origin::Joined,
                    life: Life::Serving,
                };
                self.machine_added(at, newcomer);
            }
            Event::MachineRequested { machine, key, region, slots, until } => {
                let life = Life::Requested { at, until: *until, slots: *slots };
                self.machine_added(at, Newcomer::requested(*machine, *key, *region, life));
            }
            Event::MachineCame { machine } | Event::MachineWoken { machine } => {
                self.serves_anew(at, *machine);
            }
            Event::MachineBooted { machine, boot } => {
                if let Some(machine) = self.machines.get_mut(machine) {
                    machine.boot = Some(*boot);
                }
            }
            Event::MachineDescribed { machine, host } => {
                if let Some(machine) = self.machines.get_mut(machine) {
                    machine.host = Some(host.clone());
                }
            }
            Event::MachineDraining { machine } => self.lives(*machine, Life::Draining { since: at }),
            Event::MachineEmptied { machine } => self.lives(*machine, Life::Emptied { since: at }),
            Event::MachineLost { machine } => self.lives(*machine, Life::Lost { at }),
            Event::MachineReturned { machine, absence } => self.returned(at, *machine, *absence),
            Event::MachineParting { machine, why } => {
                self.lives(*machine, Life::Removing { since: at, why: *why });
            }
            Event::MachineDutySet { machine, wish } => self.duty_set(*machine, wish.since(at)),
            Event::MachineRemoved { machine } => self.machine_removed(*machine),
            Event::CountersKept { machines, servers } => {
                self.machine_counter = self.machine_counter.max(*machines);
                self.server_counter = self.server_counter.max(*servers);
            }
            Event::MachineReaddressed { machine, name, addresses } => {
                if let Some(machine) = self.machines.get_mut(machine) {
                    machine.name = name.clone();
                    machine.addresses = *addresses;
                }
            }
            Event::ServersAdded { machine, first, ports, configuration } => {
                self.servers_added(*machine, *first, ports, *configuration);
            }
            Event::ServersForgotten { machine, servers } => self.servers_forgotten(*machine, servers),
            Event::ServerOrdered { server, generation, configuration, intent, cause } => {
                self.ordered(*server, *generation, *configuration, *intent, *cause);
            }
            Event::ServerAssigned { server, configuration } => {
                self.assigned.insert(*server, *configuration);
                self.settle_rollout(*server);
            }
            Event::ServerHeld { server, until } => self.claim(at, *server, Claim::Held { until: *until }),
            Event::ServerReserved { server, reservation } => {
                self.claim(at, *server, Claim::Reserved(Reservation { id: *reservation, at }));
            }
            Event::HoldEnded { server, .. } | Event::ReservationEnded { server, .. } => {
                self.claim(at, *server, Claim::Free);
            }
            Event::ServerReadied { server } => self.readied(*server, Some(at)),
            Event::ServerUnreadied { server } => self.readied(*server, None),
            Event::AllocationRequested { id, request, until } => self.requested(at, *id, request, *until),
            Event::AllocationPlaced { id, server, generation, configuration, intent, cause } => {
                self.placed(at, *id, *server, *configuration);
                self.ordered(*server, *generation, *configuration, *intent, *cause);
            }
            Event::AllocationReadied { id } => {
                if let Some(allocation) = self.allocations.get_mut(id) {
                    allocation.ready = Some(at);
                }
            }
            Event::AllocationDisplaced { id, until } => self.displaced(at, *id, *until),
            Event::AllocationFulfilled { id, .. } => self.fulfilled(at, *id),
            Event::AllocationEnded { id, end, .. } => self.ended(at, *id, end),
            Event::IncidentTold { incident } | Event::IncidentClosed { incident } => {
                if let Some(server) = self.servers.get_mut(&incident.server) {
                    server.incident = Some(incident.clone());
                    self.moves.add(incident.server);
                }
            }
        }
    }

    /// Changes a server and keeps every index that depends on it.
    pub(crate) fn change(&mut self, id: ServerId, change: impl FnOnce(&mut Server)) {
        self.unshelve(id);
        self.stand(id, change);
        self.shelve(id);
        self.settle_debt(id);
        self.settle_rollout(id);
    }

    /// Changes a server, and counts how it stands.
    pub(crate) fn stand(&mut self, id: ServerId, change: impl FnOnce(&mut Server)) {
        let telling = self.telling();
        let Some(server) = self.servers.get_mut(&id) else { return };
        let (before, machine, stood) = (server.status(), server.machine, standing(server));
        change(server);
        if standing(server) != stood {
            self.moves.add(id);
        }
        let after = server.status();
        if before != after {
            self.tally.moved(telling, (before, server.stands_since), after);
            server.stands_since = self.tally.now();
            self.recount(machine, before, after);
        }
    }
}
