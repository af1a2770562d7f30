//! The plane and its disk: batches, syncs, space, deadlines.

use mainstay_core::StateMachine as _;
use mainstay_fleet::Why;
use mainstay_journal::{Batch, Space};

use super::{Ask, Plane, SPACE_EVERY, World};
use crate::bug::Bug;
use crate::laws::Broken;
use crate::message::{Happening, Life};
use crate::seat::{Synced, Written};

impl World {
    /// Hands the writer's next batch to the disk.
    pub(crate) fn plane_writes(&mut self) {
        let number = self.plane.life_number;
        let Some(life) = &mut self.plane.life else { return };
        match life.seat.write() {
            Written::Nothing => {}
            Written::Batch(batch) => {
                let delay = self.delay(self.scenario.disk.sync, self.scenario.disk.slow_sync);
                self.after(delay, Happening::PlaneSynced { life: number, batch });
            }
            Written::Full => self.after(SPACE_EVERY, Happening::PlaneLooksForSpace { life: number }),
        }
    }

    pub(crate) fn plane_synced(&mut self, number: Life, batch: &Batch) -> Result<(), Broken> {
        if number != self.plane.life_number || self.plane.life.is_none() {
            return Ok(());
        }
        let (fault, room) = (self.draw_disk_fault(), self.draw_room());
        if let Some(fault) = fault {
            self.plane.disk.arm(fault);
        }
        if let Some(room) = room {
            self.plane.disk.set_room(room);
        }
        let (at, boot) = (self.at(), self.boot());
        let (Plane { life: Some(life), disk, .. }, oracle) = (&mut self.plane, &mut self.oracle) else {
            return Ok(());
        };
        let (synced, space) = life.seat.sync(disk, boot, batch, |_at, event| oracle.learns(event));
        let released = match synced {
            Synced::Durable(released) => released,
            Synced::Away => {
                self.after(SPACE_EVERY, Happening::PlaneLooksForSpace { life: number });
                return Ok(());
            }
            Synced::Failed => {
                self.say("plane", || format!("a sync failed: {fault:?}"));
                return self.plane_crashes();
            }
        };
        disk.compact(&mut life.seat, self.scenario.disk.compact_after, at)?;
        if space != Space::Ample {
            self.after(SPACE_EVERY, Happening::PlaneLooksForSpace { life: number });
        }
        for release in released {
            self.plane_releases(release)?;
        }
        self.plane_writes();
        self.plane_works()
    }

    pub(crate) fn plane_looks_for_space(&mut self, number: Life) -> Result<(), Broken> {
        if number != self.plane.life_number {
            return Ok(());
        }
        let room = self.later_room();
        self.plane.disk.set_room(room);
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        if life.seat.look_for_space()? != Space::Ample {
            self.after(SPACE_EVERY, Happening::PlaneLooksForSpace { life: number });
        }
        self.plane_writes();
        self.plane_works()
    }

    pub(crate) fn plane_due(&mut self, number: Life) -> Result<(), Broken> {
        if number != self.plane.life_number {
            return Ok(());
        }
        let (at, bug) = (self.at(), self.bug);
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        life.due = None;
        let due = life.seat.state.next_deadline().filter(|(_, why)| !missed(bug, why));
        if due.is_some_and(|(due, _)| due <= at) {
            return self.plane_asked(Ask::Due);
        }
        self.plane_minds_deadline();
        Ok(())
    }

    pub(crate) fn plane_minds_deadline(&mut self) {
        let Some(life) = &self.plane.life else { return };
        let next = life.seat.state.next_deadline().filter(|(_, why)| !missed(self.bug, why));
        let Some((due, _)) = next else { return };
        let due = self.plane.clock.moment(self.now, due);
        let number = self.plane.life_number;
        let Some(life) = &mut self.plane.life else { return };
        if life.due.is_none_or(|set| due < set) {
            life.due = Some(due);
            self.agenda.put(due, Happening::PlaneDue { life: number });
        }
    }
}

/// Whether a planted mistake sleeps through a deadline.
const fn missed(bug: Option<Bug>, why: &Why) -> bool {
    matches!(
        (bug, why),
        (Some(Bug::HoldDeadlineMissed), Why::HoldTimeout(_))
            | (Some(Bug::GrowthDeadlineMissed), Why::Growth(_))
    )
}
