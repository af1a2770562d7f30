//! Events about the fleet itself: what it is, which machines and servers it has.

use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::{ConfigurationRef, Intent};
use mainstay_core::{Generation, MachineId, ServerId};

use crate::cause::Cause;
use crate::claim::Claim;
use crate::fleet::Fleet;
use crate::machine::Ports;
use crate::server::{Readiness, Server};
use crate::spec::FleetSpec;

impl Fleet {
    pub(super) fn configured(&mut self, spec: &Arc<FleetSpec>) {
        let named: BTreeSet<ConfigurationRef> =
            self.servers.values().map(|server| server.configuration).collect();
        self.specs.retain(|reference, _| named.contains(reference));
        self.specs.extend(spec.configurations.iter().map(|spec| (spec.configuration, spec.clone())));
        self.spec = Some(spec.clone());
        self.touched.extend(self.machines.keys());
        let servers: Vec<ServerId> = self.servers.keys().copied().collect();
        for server in servers {
            self.settle_rollout(server);
        }
        let machines: Vec<MachineId> = self.machines.keys().copied().collect();
        for machine in machines {
            self.settle_machine(machine);
        }
    }

    pub(super) fn servers_added(
        &mut self,
        machine: MachineId,
        first: ServerId,
        ports: &[Ports],
        configuration: ConfigurationRef,
    ) {
        for (counter, ports) in (first.counter()..).zip(ports) {
            let id = ServerId::of(first.fleet(), counter);
            self.server_counter = self.server_counter.max(counter);
            let server = Server {
                machine,
                ports: *ports,
                claim: Claim::Free,
                generation: Generation::NONE,
                configuration,
                intent: Intent::Leave,
                cause: Cause::Unrecorded,
                readiness: Readiness::Unready,
                incident: None,
                reading: None,
                seen: None,
                sent: Generation::NONE,
                choice: None,
                stands_since: self.tally.now(),
            };
            let status = server.status();
            self.servers.insert(id, server);
            if let Some(machine) = self.machines.get_mut(&machine) {
                machine.servers.push(id);
                machine.counts.add(status);
                self.counts.entry(machine.region).or_default().add(status);
            }
        }
        self.settle_machine(machine);
    }
}
