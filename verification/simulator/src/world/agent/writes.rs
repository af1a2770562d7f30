//! An agent and its disk: batches, syncs, space, deadlines.

use mainstay_core::StateMachine as _;
use mainstay_journal::{Batch, Space};
use mainstay_supervisor::Command;

use super::{Machine, World};
use crate::laws::{Broken, domain};
use crate::message::{Happening, Host, Life};
use crate::seat::{Synced, Written};
use crate::world::plane::SPACE_EVERY;

impl World {
    /// Hands the writer's next batch to the disk.
    pub(crate) fn agent_writes(&mut self, host: Host) {
        let number = self.machines[host].life_number;
        let Some(life) = &mut self.machines[host].life else { return };
        match life.seat.write() {
            Written::Nothing => {}
            Written::Batch(batch) => {
                let delay = self.delay(self.scenario.disk.sync, self.scenario.disk.slow_sync);
                self.after(delay, Happening::AgentSynced { host, life: number, batch });
            }
            Written::Full => self.after(SPACE_EVERY, Happening::AgentLooksForSpace { host, life: number }),
        }
    }

    pub(crate) fn agent_synced(&mut self, host: Host, number: Life, batch: &Batch) -> Result<(), Broken> {
        if number != self.machines[host].life_number || self.machines[host].life.is_none() {
            return Ok(());
        }
        let (fault, room) = (self.draw_disk_fault(), self.draw_room());
        let (at, boot) = (self.at_of(host), self.boot());
        let Machine { life: Some(life), disk, history, .. } = &mut self.machines[host] else { return Ok(()) };
        if let Some(fault) = fault {
            disk.arm(fault);
        }
        if let Some(room) = room {
            disk.set_room(room);
        }
        let mut broken = Ok(());
        let (synced, space) = life.seat.sync(disk, boot, batch, |decided, event| {
            if broken.is_ok() {
                broken = domain::history(history, decided, event);
            }
        });
        broken?;
        let released = match synced {
            Synced::Durable(released) => released,
            Synced::Away => {
                self.after(SPACE_EVERY, Happening::AgentLooksForSpace { host, life: number });
                return Ok(());
            }
            Synced::Failed => {
                self.say_of(host, || format!("a sync failed: {fault:?}"));
                return self.agent_crashes(host);
            }
        };
        disk.compact(&mut life.seat, self.scenario.disk.compact_after, at)?;
        if space != Space::Ample {
            self.after(SPACE_EVERY, Happening::AgentLooksForSpace { host, life: number });
        }
        for release in released {
            self.agent_releases(host, release)?;
        }
        self.agent_writes(host);
        self.agent_works(host)
    }

    pub(crate) fn agent_looks_for_space(&mut self, host: Host, number: Life) -> Result<(), Broken> {
        if number != self.machines[host].life_number {
            return Ok(());
        }
        let room = self.later_room();
        self.machines[host].disk.set_room(room);
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        if life.seat.look_for_space()? != Space::Ample {
            self.after(SPACE_EVERY, Happening::AgentLooksForSpace { host, life: number });
        }
        self.agent_writes(host);
        self.agent_works(host)
    }

    pub(crate) fn agent_due(&mut self, host: Host, number: Life) -> Result<(), Broken> {
        if number != self.machines[host].life_number {
            return Ok(());
        }
        let at = self.at_of(host);
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        life.due = None;
        if life.seat.state.next_deadline().is_some_and(|(due, _)| due <= at) {
            return self.agent_asked(host, Command::Due);
        }
        self.agent_minds_deadline(host);
        Ok(())
    }

    pub(crate) fn agent_minds_deadline(&mut self, host: Host) {
        let number = self.machines[host].life_number;
        let Some(life) = &self.machines[host].life else { return };
        let Some((due, _)) = life.seat.state.next_deadline() else { return };
        let due = self.machines[host].clock.moment(self.now, due);
        let Some(life) = &mut self.machines[host].life else { return };
        if life.due.is_none_or(|set| due < set) {
            life.due = Some(due);
            self.agenda.put(due, Happening::AgentDue { host, life: number });
        }
    }
}
