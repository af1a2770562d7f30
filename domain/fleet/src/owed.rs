//! What the plane owes a machine: derived from state until the machine's reports acknowledge it.

use alloc::vec::Vec;

use mainstay_core::density::Slots;
use mainstay_core::slot::{Order, Session, Spec};
use mainstay_core::{MachineId, ServerId};

use crate::errand::Errand;
use crate::fleet::Fleet;
use crate::machine::{Link, Machine};

/// What a machine's agent must be told, or its provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owed {
    /// The configurations its orders name, with the revision of the fleet they belong to; `None` where its stream has
    /// carried that revision already.
    pub specs: Option<(u64, Vec<Spec>)>,
    /// How many slots the fleet's newest specification has room for on its host: told with `specs`, where its agent said what
    /// that is. One that brings fewer, and is not told otherwise by its operator, brings more.
    pub slots: Option<u32>,
    /// Orders neither obeyed nor sent on the current stream.
    pub orders: Vec<Order>,
    /// What its provider must be asked: of machines that are on their way in or out, which are owed nothing else.
    pub errand: Option<Errand>,
}

impl Owed {
    /// Whether nothing is owed.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.specs.is_none() && self.orders.is_empty() && self.errand.is_none()
    }
}

impl Fleet {
    /// Nothing is owed to a machine that is not heard: what it is owed is derived anew when it connects.
    pub(crate) fn owed_to(&self, id: MachineId) -> Owed {
        let (Some(machine), Some(spec)) = (self.machines.get(&id), &self.spec) else {
            return Owed::default();
        };
        if let Some(errand) = self.errand(id) {
            return Owed { errand: Some(errand), ..Owed::default() };
        }
        let Link::Up { specs_sent, .. } = machine.link else { return Owed::default() };
        let specs =
            (specs_sent < spec.revision).then(|| (spec.revision, self.specs.values().cloned().collect()));
        let slots = specs.as_ref().and_then(|_| Some(self.slots_on(machine)?.count));
        let debts = self.debts.get(&id).into_iter().flatten();
        Owed { specs, slots, orders: debts.filter_map(|server| self.order(*server)).collect(), errand: None }
    }

    /// How many servers a machine holds, and what bounds them; `None` where nobody knows its host, or its region is gone.
    #[must_use]
    pub fn slots_on(&self, machine: &Machine) -> Option<Slots> {
        let spec = self.spec()?;
        Some(spec.slots_on(spec.region(machine.region)?, &machine.host.as_ref()?.size))
    }

    /// The newest order of a server.
    #[must_use]
    pub fn order(&self, id: ServerId) -> Option<Order> {
        let server = self.servers.get(&id)?;
        let allocation = server.allocation().map(|allocation| Session {
            allocation,
            payload: self
                .allocations
                .get(&allocation)
                .and_then(|allocation| allocation.request.payload.clone()),
        });
        Some(Order {
            server: id,
            generation: server.generation,
            configuration: server.configuration,
            allocation,
            intent: server.intent,
        })
    }

    /// Brings the index of debts in line with one server.
    pub(crate) fn settle_debt(&mut self, id: ServerId) {
        let Some(server) = self.servers.get(&id) else { return };
        let machine = server.machine;
        let obeyed = server.seen.as_ref().map(|seen| seen.generation).unwrap_or_default();
        if server.generation > obeyed.max(server.sent) {
            self.debts.entry(machine).or_default().insert(id);
            self.touched.insert(machine);
        } else {
            self.settled(machine, id);
        }
    }

    /// Nothing is owed to a machine for one of its servers.
    pub(crate) fn settled(&mut self, machine: MachineId, id: ServerId) {
        if let Some(debts) = self.debts.get_mut(&machine) {
            debts.remove(&id);
            if debts.is_empty() {
                self.debts.remove(&machine);
            }
        }
    }
}
