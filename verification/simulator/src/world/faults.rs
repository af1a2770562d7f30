//! What goes wrong, at any event: one draw decides whether anything strikes between two happenings, and what.

use mainstay_journal::memory::{Crash, Fault, Room};

use super::{Phase, World};
use crate::laws::Broken;

impl World {
    /// Perhaps something strikes now.
    pub(crate) fn strike(&mut self) -> Result<(), Broken> {
        if self.phase != Phase::Busy {
            return Ok(());
        }
        let crashes = &self.scenario.crashes;
        let people = &self.scenario.people;
        let chances = [
            crashes.plane,
            crashes.agent,
            crashes.reboot,
            crashes.holder,
            crashes.plane_forgets,
            crashes.agent_forgets,
            self.scenario.network.stream_breaks,
            people.operator,
            people.reconfigure,
            people.park,
            people.grow,
            people.game_asks,
            self.scenario.provider.dies,
            self.scenario.provider.cuts,
            crashes.wall_jumps,
        ];
        let draw = self.random.below(1_000_000);
        let mut passed = 0;
        let struck = chances.iter().position(|&chance| {
            passed += u64::from(chance);
            draw < passed
        });
        let Some(struck) = struck else { return Ok(()) };
        let host = self.random.index(self.machines.len());
        match struck {
            0 => self.plane_crashes(),
            1 => self.agent_crashes(host),
            2 => self.reboot(host),
            3 => {
                let slot = self.random.index(self.machines[host].slots.len());
                self.kill_holder(host, slot);
                Ok(())
            }
            4 => self.plane_forgets(),
            5 => self.agent_forgets(host),
            6 => {
                self.break_some_stream(host);
                Ok(())
            }
            7 => {
                self.operator_acts();
                Ok(())
            }
            8 => {
                self.reconfigure();
                Ok(())
            }
            9 => self.park(host),
            10 => self.grow_some(host),
            11 => {
                self.game_asks();
                Ok(())
            }
            12 => self.machine_dies(host),
            13 => {
                self.cut_off(host);
                Ok(())
            }
            _ => {
                self.wall_clock_is_set(host);
                Ok(())
            }
        }
    }

    fn break_some_stream(&mut self, host: usize) {
        let stream = self.machines[host].life.as_ref().and_then(|life| life.stream.stream());
        if let Some(stream) = stream {
            self.counts.breaks += 1;
            self.say("network", || format!("breaks stream {} of agent {host}", stream.0));
            self.break_stream(stream);
        }
    }

    fn grow_some(&mut self, host: usize) -> Result<(), Broken> {
        /// Above this the world would no longer be the standard one in size.
        const SLOTS_MAX: usize = 8;
        if self.machines[host].slots.len() < SLOTS_MAX { self.grow(host) } else { Ok(()) }
    }

    /// What the next sync meets.
    pub(crate) fn draw_disk_fault(&mut self) -> Option<Fault> {
        if !self.struck(self.scenario.disk.failed_sync) {
            return None;
        }
        Some(match self.random.below(4) {
            0 => Fault::SyncFails,
            1 => Fault::AnswerLost,
            2 => Fault::RequestLost,
            _ => Fault::Unavailable,
        })
    }

    /// The room after the next sync, where it changes.
    pub(crate) fn draw_room(&mut self) -> Option<Room> {
        self.struck(self.scenario.disk.full)
            .then(|| Room::Reserve { left_bytes: self.random.below(RESERVE_BYTES) })
    }

    /// The room when it is looked for again: somebody has made some, or not yet.
    pub(crate) fn later_room(&mut self) -> Room {
        if self.struck(500_000) {
            return Room::Reserve { left_bytes: self.random.below(RESERVE_BYTES) };
        }
        Room::Ample
    }

    /// What a crash leaves of what was written and not synced.
    pub(crate) fn draw_crash(&mut self) -> Crash {
        if self.random.chance(self.scenario.disk.written_unheard) {
            return Crash::Keeps;
        }
        match self.random.below(2) {
            0 => Crash::Drops,
            _ => Crash::Tears { turns: self.random.index(3) },
        }
    }
}

/// The reserve of the real store (the floor of `Limits::STANDARD` lies within it).
const RESERVE_BYTES: u64 = 16 * 1024 * 1024;
