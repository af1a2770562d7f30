//! Events about who a server is for, what it is ordered, and whether its game takes players.

use mainstay_core::slot::{ConfigurationRef, Intent};
use mainstay_core::{Generation, ServerId, Timestamp};

use crate::cause::Cause;
use crate::claim::Claim;
use crate::fleet::Fleet;
use crate::server::Readiness;

impl Fleet {
    /// Gives a server to another holder, and keeps what depends on holders. What its game said of itself was said for
    /// the allocation it had, or before the hold that is over (seed 003: then "the server transitions to the ONLINE state").
    pub(super) fn claim(&mut self, at: Timestamp, id: ServerId, claim: Claim) {
        let Some(server) = self.servers.get(&id) else { return };
        let (before, machine) = (server.claim, server.machine);
        if let Some(until) = before.held_until() {
            self.holds.remove(&(until, id));
            self.machines.entry(machine).and_modify(|machine| {
                machine.holds.remove(&(until, id));
            });
        }
        if let Some(until) = claim.held_until() {
            self.holds.insert((until, id));
            self.machines.entry(machine).and_modify(|machine| {
                machine.holds.insert((until, id));
            });
        }
        if before.allocation() != claim.allocation() {
            self.stop_idle_clock(id);
        }
        let hold_is_over = matches!((before, claim), (Claim::Held { .. }, Claim::Free));
        self.change(id, |server| {
            server.claim = claim;
            if before.allocation() != claim.allocation() || hold_is_over {
                server.readiness = Readiness::Unready;
            }
        });
        if !before.is_open()
            && claim.is_open()
            && let Some(machine) = self.machines.get_mut(&machine)
        {
            machine.used = machine.used.max(at);
        }
        self.settle_machine(machine);
    }

    /// Gives a server its newest order. One that ends or replaces its process ends what that process said of itself.
    pub(super) fn ordered(
        &mut self,
        server: ServerId,
        generation: Generation,
        configuration: ConfigurationRef,
        intent: Intent,
        cause: Cause,
    ) {
        self.change(server, |server| {
            let replaced = match intent {
                Intent::Stop | Intent::Renew => true,
                Intent::Run => server.configuration != configuration,
                Intent::Leave => false,
            };
            if replaced {
                server.readiness = Readiness::Unready;
            }
            server.generation = generation;
            server.configuration = configuration;
            server.intent = intent;
            server.cause = cause;
        });
    }

    pub(super) fn readied(&mut self, id: ServerId, since: Option<Timestamp>) {
        self.change(id, |server| {
            server.readiness = if since.is_some() { Readiness::Ready } else { Readiness::Unready };
        });
        if let Some(allocation) = self.servers.get(&id).and_then(|server| server.allocation())
            && let Some(allocation) = self.allocations.get_mut(&allocation)
        {
            allocation.ready = since;
        }
    }
}
