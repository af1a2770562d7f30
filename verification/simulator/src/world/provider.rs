//! The studio's machine provider: it makes machines and takes them away, late, or not, or twice; and it lists what it has.

use std::collections::BTreeMap;

use mainstay_core::{MachineId, MachineKey};
use mainstay_fleet::{Command, Errand, Life as MachineLife, Outcome, Verb};

use super::World;
use super::agent::Machine;
use super::people::{REGION, fleet_id};
use super::plane::Ask;
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::laws::{Broken, durable, machines};
use crate::message::{Happening, Host, Life};

/// How long one call may take before the plane's hand kills it.
const CALL_MAX: Micros = 5_000_000;
/// How much later than its end a call that was given up may still have made a machine: clouds finish what they began.
const LATE_MAX: Micros = 90_000_000;
/// How often the plane's hand asks for the list.
const LIST_EVERY: Micros = 7_000_000;
/// How long after healing lists are asked for whatever they say: late calls are over by then.
const LIST_ON: Micros = 120_000_000;
/// The longest time from making a machine to its agent's start.
const BOOT_MAX: Micros = 8_000_000;

/// What the provider has, and what a dead cloud forgot.
#[derive(Debug, Default)]
pub(crate) struct Provider {
    /// Machines it made and has not taken away, with the host each is.
    pub(crate) has: BTreeMap<MachineId, Host>,
    /// The process of the plane that it was last asked to make each for.
    asked_by: BTreeMap<MachineId, Life>,
}

impl World {
    /// A call that is durably owed goes out.
    pub(crate) fn provider_is_asked(&mut self, errand: &Errand) -> Result<(), Broken> {
        durable::errand(errand, &self.plane.disk.twin)?;
        self.counts.errands += 1;
        if errand.verb == Verb::Revoke {
            // No provider takes part: the catalog ends a credential, at once and for good.
            let (life, machine, verb) = (self.plane.life_number, errand.machine, errand.verb);
            self.turned_out(machine)?;
            let took = self.random.between(1_000, 50_000);
            self.after(took, Happening::ProviderAnswers { life, machine, verb, outcome: Outcome::Done });
            return Ok(());
        }
        let life = self.plane.life_number;
        let faults = self.scenario.provider.clone();
        let (machine, verb) = (errand.machine, errand.verb);
        if let Verb::Create { .. } = verb {
            self.provider.asked_by.insert(machine, life);
        }
        let took = self.random.between(10_000, 2_000_000);
        if self.struck(faults.hangs) {
            self.counts.provider_hangs += 1;
            // The hand gives up; the cloud may do it later all the same.
            self.after(
                CALL_MAX,
                Happening::ProviderAnswers { life, machine, verb, outcome: Outcome::Failed },
            );
            if self.struck(500_000) {
                let late = self.random.below(LATE_MAX);
                self.after(CALL_MAX + late, Happening::ProviderActs { machine, verb });
            }
            return Ok(());
        }
        let (acts, outcome) = if self.struck(faults.fails) {
            self.counts.provider_failures += 1;
            (self.struck(500_000), Outcome::Failed)
        } else {
            (true, Outcome::Done)
        };
        if acts {
            self.after(took, Happening::ProviderActs { machine, verb });
            if self.struck(faults.doubles) {
                let late = self.random.below(LATE_MAX);
                self.after(took + late, Happening::ProviderActs { machine, verb });
            }
        }
        self.after(took, Happening::ProviderAnswers { life, machine, verb, outcome });
        Ok(())
    }

    pub(crate) fn provider_acts(&mut self, machine: MachineId, verb: Verb) -> Result<(), Broken> {
        match verb {
            Verb::Create { .. } => {}
            Verb::Revoke | Verb::Delete => machines::nobody_is_on(machine, &self.plane.disk.twin)?,
        }
        match verb {
            Verb::Create { slots, .. } => {
                if self.provider.has.contains_key(&machine) {
                    return Ok(());
                }
                let host = self.machines.len();
                // One that is made anew has as many slots as its provider thinks right by then.
                let is_anew = self.machines.iter().any(|it| it.made == Some(machine));
                let slots = u64::from(slots);
                let slots = if is_anew { self.random.between(1, slots + 1) } else { slots };
                let slots = usize::try_from(slots).unwrap_or(1);
                self.machines.push(Machine::made(host, machine, slots));
                self.provider.has.insert(machine, host);
                self.say("provider", || format!("makes {machine}, host {host}"));
                let boots = self.random.between(100_000, BOOT_MAX);
                self.after(boots, Happening::AgentStarts { host });
                Ok(())
            }
            Verb::Revoke => self.turned_out(machine),
            Verb::Delete => match self.provider.has.remove(&machine) {
                Some(host) => {
                    self.say("provider", || format!("deletes {machine}, host {host}"));
                    self.machine_ends(host)
                }
                None => Ok(()),
            },
        }
    }

    pub(crate) fn provider_answers(
        &mut self,
        life: Life,
        machine: MachineId,
        verb: Verb,
        outcome: Outcome,
    ) -> Result<(), Broken> {
        if life != self.plane.life_number {
            return Ok(());
        }
        self.plane_asked(Ask::Provider(Command::TakeOutcome { machine, verb, outcome }))
    }

    /// The plane's hand asks which machines there are; the answer takes a while, and may leave some out.
    pub(crate) fn provider_lists(&mut self) -> Result<(), Broken> {
        let asked = self.at();
        let forgets = self.scenario.provider.forgets;
        let all: Vec<MachineId> = self.provider.has.keys().copied().collect();
        let machines: Vec<MachineId> = all.into_iter().filter(|_| !self.struck(forgets)).collect();
        if self.has(Bug::ProviderTrustsMemory) {
            let life = self.plane.life_number;
            let strange = |machine: &&MachineId| self.provider.asked_by.get(*machine) != Some(&life);
            self.orphans_are_deleted(machines.iter().filter(strange).copied().collect());
        }
        let listing = Command::TakeListing { region: REGION, asked, machines };
        if self.lists_on() {
            self.after(LIST_EVERY, Happening::ProviderLists);
        }
        if self.plane.life.is_some() { self.plane_asked(Ask::Provider(listing)) } else { Ok(()) }
    }

    /// Whether there is anything left that a list would tell.
    fn lists_on(&self) -> bool {
        let super::Phase::Healing { since } = self.phase else { return true };
        let fleet = &self.plane.disk.twin;
        let unknown = self.provider.has.keys().any(|machine| fleet.machine(*machine).is_none());
        let lost = fleet.machines().any(|(_, machine)| matches!(machine.life, MachineLife::Lost { .. }));
        unknown || lost || self.now - since < LIST_ON
    }

    /// What nobody knows is deleted.
    pub(crate) fn orphans_are_deleted(&mut self, orphans: Vec<MachineId>) {
        for machine in orphans {
            self.counts.orphans += 1;
            let delay = self.random.between(10_000, 2_000_000);
            self.after(delay, Happening::ProviderActs { machine, verb: Verb::Delete });
        }
    }

    /// A machine that joined by itself has no credential any more: whatever its agent says from now on, nobody hears.
    fn turned_out(&mut self, machine: MachineId) -> Result<(), Broken> {
        let key = self.plane.disk.twin.machine(machine).map(|known| known.key);
        let is = |host: &Host| Some(key_of(*host, self.machines[*host].made)) == key;
        match (0..self.machines.len()).find(is) {
            Some(host) if !self.machines[host].gone => {
                self.say_of(host, || "is turned out".to_owned());
                self.machine_ends(host)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// A machine that the provider made is gone without a word: the cloud lost its host. Some clouds make it anew by
    /// themselves, under the name it had.
    pub(crate) fn machine_dies(&mut self, host: Host) -> Result<(), Broken> {
        let Some(machine) = self.machines[host].made.filter(|_| !self.machines[host].gone) else {
            return Ok(());
        };
        self.counts.deaths += 1;
        self.provider.has.remove(&machine);
        self.say("provider", || format!("loses {machine}, host {host}"));
        if self.struck(500_000) {
            let slots = u32::try_from(self.machines[host].slots.len()).unwrap_or(1);
            let verb = Verb::Create { slots, until: self.at() };
            let late = self.random.below(LATE_MAX);
            self.after(late, Happening::ProviderActs { machine, verb });
        }
        self.machine_ends(host)
    }

    fn machine_ends(&mut self, host: Host) -> Result<(), Broken> {
        self.agent_crashes(host)?;
        let now = self.now;
        let machine = &mut self.machines[host];
        machine.gone = true;
        machine.boot += 1;
        for truth in &mut machine.slots {
            let _lost = truth.lose(now);
            truth.launch = None;
        }
        Ok(())
    }

    /// A machine's line is cut: its stream breaks, and until the line is back nobody gets through.
    pub(crate) fn cut_off(&mut self, host: Host) {
        let span = self.random.below(3 * self.scenario.machine.lost_after);
        self.machines[host].cut_until = self.now + span;
        self.counts.cuts += 1;
        self.say_of(host, || format!("is cut off for {} ms", span / 1_000));
        let stream = self.machines[host].life.as_ref().and_then(|life| life.stream.stream());
        if let Some(stream) = stream {
            self.break_stream(stream);
        }
    }

    /// Nobody was told that a machine is lost that the plane has heard within the time.
    pub(crate) fn lost_were_silent(&self, lost: MachineId) -> Result<(), Broken> {
        let heard = self.plane.heard.get(&lost).copied().unwrap_or_default().max(self.plane.listens_since);
        crate::laws::ensure(
            // Rules count whole milliseconds, at both ends, by a clock that is steered by a tenth at most.
            (self.now - heard) * 11 / 10 + 2_000 >= self.scenario.machine.lost_after,
            "a slow machine is never lost",
            || format!("{lost} was heard {} ms ago", (self.now - heard) / 1_000),
        )
    }

    /// What runs on servers whose session was given up with their machine must not play the next one.
    pub(crate) fn condemn(&mut self, server: mainstay_core::ServerId) {
        let pid = self.truth_of(server).and_then(|truth| truth.held.as_ref()).map(|game| game.pid);
        if let Some(pid) = pid {
            self.condemned.insert(server, pid);
        }
    }

    /// A session plays on a process that was not given up with its machine.
    pub(crate) fn plays_afresh(&self, server: mainstay_core::ServerId) -> Result<(), Broken> {
        let Some(condemned) = self.condemned.get(&server) else { return Ok(()) };
        let plays = self.truth_of(server).and_then(|truth| truth.held.as_ref()).map(|game| game.pid);
        crate::laws::ensure(plays != Some(*condemned), "a machine that comes back is fenced", || {
            format!("{server} plays a new session on process {condemned}, whose session was given up")
        })
    }
}

/// What a machine of the world calls itself.
pub(crate) fn key_of(host: Host, made: Option<MachineId>) -> MachineKey {
    match made {
        Some(machine) => MachineKey::made(fleet_id(), machine),
        None => MachineKey(uuid::Uuid::from_u128(0x4D00 + host as u128)),
    }
}
