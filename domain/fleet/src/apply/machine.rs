//! Events in the life of a machine.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{MachineId, MachineKey, RegionId, ServerId, Timestamp};

use crate::counts::Counts;
use crate::fleet::Fleet;
use crate::life::{Absence, Duty, Life, Origin};
use crate::machine::{Addresses, Link, Machine};
use crate::placement::Candidates;
use crate::pool::Share;
use crate::rollout::Outdated;

/// What is known of a machine when it first is.
pub(super) struct Newcomer {
    pub(super) id: MachineId,
    pub(super) key: MachineKey,
    pub(super) region: RegionId,
    pub(super) name: Arc<str>,
    pub(super) addresses: Addresses,
    pub(super) origin: Origin,
    pub(super) life: Life,
}

impl Newcomer {
    /// One that a provider is to make. It has no name of its own before it joins.
    pub(super) fn requested(id: MachineId, key: MachineKey, region: RegionId, life: Life) -> Self {
        let (name, addresses) = (format!("{id}").into(), Addresses::default());
        Self { id, key, region, name, addresses, origin: Origin::Made, life }
    }
}

impl Fleet {
    pub(super) fn machine_added(&mut self, at: Timestamp, newcomer: Newcomer) {
        let Newcomer { id, key, region, name, addresses, origin, life } = newcomer;
        self.machine_counter = self.machine_counter.max(id.counter());
        self.machines_by_key.insert((region, key), id);
        let machine = Machine {
            key,
            region,
            name,
            addresses,
            servers: Vec::new(),
            origin,
            life,
            duty: Duty::InService,
            boot: None,
            host: None,
            returned: None,
            used: at,
            counts: Counts::default(),
            link: Link::Silent,
            candidates: Candidates::new(),
            holds: BTreeSet::new(),
            share: Share::default(),
        };
        self.machines.insert(id, machine);
        self.settle_machine(id);
        self.note_errand(id, None);
    }

    /// A machine stands otherwise, and with it whether its servers can be given.
    pub(super) fn lives(&mut self, id: MachineId, life: Life) {
        if !self.machines.contains_key(&id) {
            return;
        }
        self.reshelve(id, |machine| machine.life = life);
        if !life.is_missed() {
            self.stop_missing(id);
        }
        self.fates.remove(&id);
        self.settle_machine(id);
        self.note_errand(id, None);
        self.touched.insert(id);
    }

    /// Changes what decides whether a machine's servers can be given.
    fn reshelve(&mut self, id: MachineId, change: impl FnOnce(&mut Machine)) {
        let Some(machine) = self.machines.get(&id) else { return };
        let servers = machine.servers.clone();
        for server in &servers {
            self.unshelve(*server);
        }
        if let Some(machine) = self.machines.get_mut(&id) {
            change(machine);
        }
        for server in servers {
            self.shelve(server);
        }
    }

    /// An operator wants something else of it.
    pub(super) fn duty_set(&mut self, id: MachineId, duty: Duty) {
        self.reshelve(id, |machine| machine.duty = duty);
        self.settle_machine(id);
        self.touched.insert(id);
    }

    /// As [`Fleet::lives`], and its idle time begins anew.
    pub(super) fn serves_anew(&mut self, at: Timestamp, id: MachineId) {
        if let Some(machine) = self.machines.get_mut(&id) {
            machine.used = machine.used.max(at);
        }
        self.lives(id, Life::Serving);
    }

    pub(super) fn returned(&mut self, at: Timestamp, id: MachineId, absence: Absence) {
        if let Some(machine) = self.machines.get_mut(&id) {
            machine.returned = Some((at, absence));
        }
        self.lives(id, Life::Serving);
    }

    /// Forgets a machine and everything on it.
    pub(super) fn machine_removed(&mut self, id: MachineId) {
        let Some(machine) = self.machines.get(&id) else { return };
        let (region, key) = (machine.region, machine.key);
        for server in machine.servers.clone() {
            self.forget_server(region, server);
        }
        self.stop_missing(id);
        self.fates.remove(&id);
        if let Some(machine) = self.machines.remove(&id) {
            self.uncount(id, &machine);
        }
        self.note_errand(id, None);
        self.machines_by_key.remove(&(region, key));
        self.touched.insert(id);
    }

    /// Forgets a machine's last servers. Nobody has claimed them.
    pub(super) fn servers_forgotten(&mut self, id: MachineId, servers: &[ServerId]) {
        let Some(region) = self.machines.get(&id).map(|machine| machine.region) else { return };
        for server in servers {
            let Some(known) = self.servers.get(server) else { continue };
            let (status, held) = (known.status(), known.held_until());
            self.forget_server(region, *server);
            if let Some(machine) = self.machines.get_mut(&id) {
                machine.counts.remove(status);
                machine.servers.retain(|known| known != server);
                if let Some(until) = held {
                    machine.holds.remove(&(until, *server));
                }
            }
        }
        self.settle_machine(id);
        self.touched.insert(id);
    }

    fn forget_server(&mut self, region: RegionId, id: ServerId) {
        self.unshelve(id);
        self.stop_idle_clock(id);
        let Some(server) = self.servers.remove(&id) else { return };
        self.moves.add(id);
        self.settled(server.machine, id);
        if let Some(counts) = self.counts.get_mut(&region) {
            counts.remove(server.status());
        }
        if let Some(until) = server.held_until() {
            self.holds.remove(&(until, id));
        }
        self.assigned.remove(&id);
        for by in Outdated::ALL {
            self.outdated.remove(&(by, id));
        }
        self.rolling.remove(&id);
    }
}
