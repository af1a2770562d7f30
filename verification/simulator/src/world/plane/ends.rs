//! How a life of the plane ends, and what it forgets.

use mainstay_core::slot::Status;
use mainstay_core::{MachineId, StateMachine as _};
use mainstay_fleet::{Observation, Seen, StreamId};

use super::World;
use crate::laws::Broken;
use crate::message::Happening;

impl World {
    pub(crate) fn plane_stores_seen(&mut self, machine: MachineId, stream: StreamId) {
        let Some(life) = &self.plane.life else { return };
        let servers = life.seat.state.machine(machine).map(|machine| machine.servers.clone());
        self.plane.stored.retain(|(of, _, _)| *of != machine);
        for server in servers.into_iter().flatten() {
            if let Some(seen) = life.seat.state.server(server).and_then(|server| server.seen()) {
                let Seen { generation, configuration, run, phase } = seen.clone();
                let status = Status { server, generation, configuration, run, phase };
                self.plane.stored.push((machine, stream, status));
            }
        }
    }

    pub(crate) fn plane_crashes(&mut self) -> Result<(), Broken> {
        let Some(life) = self.plane.life.take() else { return Ok(()) };
        self.counts.plane_crashes += 1;
        self.say("plane", || "crashes".to_owned());
        let crash = self.draw_crash();
        let oracle = &mut self.oracle;
        self.plane.disk.crash(life.seat, crash, |_at, event| oracle.learns(event))?;
        self.plane.life_number += 1;
        for stream in life.streams.keys() {
            self.break_stream(*stream);
        }
        let down = self.random.between(1_000, self.scenario.crashes.down);
        if self.struck(self.scenario.crashes.plane_reboots) {
            let booted = self.now + self.random.below(down);
            self.plane.clock.reboots(booted);
            self.say("plane", || "was on a host that reboots".to_owned());
        }
        self.after(down, Happening::PlaneStarts);
        Ok(())
    }

    pub(crate) fn plane_forgets(&mut self) -> Result<(), Broken> {
        let at = self.at();
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        self.counts.forgotten += 1;
        life.seat.state.observe(at, Observation::Forgotten);
        self.plane.listens_since = self.now;
        self.plane.arriving.clear();
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        let streams: Vec<StreamId> = life.streams.keys().copied().collect();
        life.streams.clear();
        self.say("plane", || "forgets".to_owned());
        for stream in streams {
            self.break_stream(stream);
        }
        self.plane_ends_turn(Vec::new(), None)
    }
}
