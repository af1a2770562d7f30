//! Observations: what is seen, never journalled, and may vanish at any instant.

use alloc::vec::Vec;

use mainstay_core::slot::{Heard, Phase, Reading, Status};
use mainstay_core::{Generation, MachineId, ServerId, Timestamp};

use crate::command::{Observation, StreamId};
use crate::errand::Progress;
use crate::fleet::Fleet;
use crate::growth::{ARRIVES_WITHIN, Setback};
use crate::life::{Fate, Life};
use crate::machine::Link;
use crate::server::Seen;

impl Fleet {
    pub(crate) fn observe_soft(&mut self, now: Timestamp, observation: Observation) {
        self.tally.at(now);
        match observation {
            Observation::Connected { machine, stream } => {
                self.forget_machine(now, machine, Link::Up { stream, specs_sent: 0 });
            }
            Observation::Disconnected { machine, stream } => {
                if self.is_current(machine, stream) {
                    self.forget_machine(now, machine, Link::Silent);
                }
            }
            Observation::Seen(Status { server, generation, configuration, run, phase }) => {
                match phase {
                    Phase::Online { .. } => {}
                    Phase::Stopped(_)
                    | Phase::Starting { .. }
                    | Phase::Stopping { .. }
                    | Phase::BackedOff { .. }
                    | Phase::PreRecovery { .. }
                    | Phase::Lost => self.stop_idle_clock(server),
                }
                self.change(server, |server| {
                    // What was read of a process goes with it.
                    match phase {
                        Phase::Online { .. } | Phase::Stopping { .. } => {}
                        Phase::Stopped(_)
                        | Phase::Starting { .. }
                        | Phase::BackedOff { .. }
                        | Phase::PreRecovery { .. }
                        | Phase::Lost => server.reading = None,
                    }
                    server.seen = Some(Seen { generation, configuration, run, phase });
                });
            }
            Observation::Read { machine, stream, readings } => {
                if self.is_current(machine, stream) {
                    self.read(now, machine, &readings);
                }
            }
            Observation::Sent { machine, stream, specs, orders } => {
                if self.is_current(machine, stream) {
                    self.sent(machine, specs, &orders);
                }
            }
            Observation::Listening => {
                self.listen(now);
                self.touch_errands();
            }
            // To join is to be heard: it was slow, or is on its way.
            Observation::Expected(machine) => {
                if let Some(known) = self.machines.get(&machine) {
                    self.arriving.remove(&known.key);
                }
                self.stop_missing(machine);
                self.settle_silence(machine, now);
            }
            Observation::ErrandTaken(machine) => {
                let failures = self.errand_failures(machine);
                self.note_errand(machine, Some(Progress::Running { failures }));
            }
            Observation::ErrandDone(machine) => self.note_errand(machine, Some(Progress::Done)),
            Observation::ErrandFailed { machine, until } => {
                let failures = self.errand_failures(machine) + 1;
                self.note_errand(machine, Some(Progress::Resting { failures, until }));
            }
            Observation::ErrandAgain(machine) => {
                let failures = self.errand_failures(machine);
                self.note_errand(machine, Some(Progress::Again { failures }));
            }
            Observation::ProviderFailed { region, until } => {
                let failures = self.setbacks.get(&region).map_or(0, |setback| setback.failures) + 1;
                self.setbacks.insert(region, Setback { failures, until });
            }
            Observation::ProviderWorks(region) => {
                self.setbacks.remove(&region);
            }
            Observation::Invited { region, until } => {
                match until {
                    Some(until) => self.invited.insert(region, until),
                    None => self.invited.remove(&region),
                };
            }
            Observation::Arriving { region, machine } => {
                self.arriving.retain(|_, (_, until)| now < *until);
                self.arriving.insert(machine, (region, now + ARRIVES_WITHIN));
            }
            Observation::StillListed(machine) => {
                if let Some(Life::Lost { .. }) = self.machines.get(&machine).map(|machine| machine.life) {
                    self.fates.insert(machine, Fate::CutOff);
                }
            }
            Observation::Forgotten => self.forget_everything(now),
        }
    }

    fn forget_everything(&mut self, now: Timestamp) {
        self.listening = false;
        self.setbacks.clear();
        self.invited.clear();
        self.arriving.clear();
        self.fates.clear();
        let machines: Vec<MachineId> = self.machines.keys().copied().collect();
        for machine in machines {
            self.forget_machine(now, machine, Link::Silent);
            self.note_errand(machine, None);
        }
    }

    fn touch_errands(&mut self) {
        let owed: Vec<MachineId> =
            self.machines.keys().copied().filter(|machine| self.errand(*machine).is_some()).collect();
        self.touched.extend(owed);
    }

    fn read(&mut self, now: Timestamp, machine: MachineId, readings: &[(ServerId, Reading)]) {
        for (id, reading) in readings {
            if let Some(server) = self.servers.get_mut(id).filter(|server| server.machine == machine) {
                server.reading = Some(*reading);
                let players = match reading.heard {
                    Heard::Answer { players, .. } => players,
                    Heard::Unasked | Heard::Silence => None,
                };
                self.saw_players(now, *id, players);
            }
        }
    }

    pub(crate) fn is_current(&self, machine: MachineId, stream: StreamId) -> bool {
        match self.machines.get(&machine).map(|machine| machine.link) {
            Some(Link::Up { stream: current, .. }) => current == stream,
            Some(Link::Silent) | None => false,
        }
    }

    /// Nothing is known of the machine but that its link is this.
    fn forget_machine(&mut self, now: Timestamp, id: MachineId, link: Link) {
        let Some(servers) = self.machines.get(&id).map(|machine| machine.servers.clone()) else { return };
        for server in &servers {
            self.unshelve(*server);
            self.stand(*server, |server| {
                server.seen = None;
                server.reading = None;
                server.sent = Generation::NONE;
            });
        }
        if let Some(machine) = self.machines.get_mut(&id) {
            machine.link = link;
        }
        for server in servers {
            self.stop_idle_clock(server);
            self.settle_debt(server);
            self.settle_rollout(server);
        }
        self.settle_machine(id);
        self.settle_silence(id, now);
        self.touched.insert(id);
    }

    fn sent(&mut self, machine: MachineId, specs: Option<u64>, orders: &[(ServerId, Generation)]) {
        if let (Some(Link::Up { specs_sent, .. }), Some(revision)) =
            (self.machines.get_mut(&machine).map(|machine| &mut machine.link), specs)
        {
            *specs_sent = (*specs_sent).max(revision);
        }
        for (id, generation) in orders {
            if let Some(server) = self.servers.get_mut(id) {
                server.sent = server.sent.max(*generation);
            }
            self.settle_debt(*id);
        }
    }
}
