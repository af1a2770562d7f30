//! How a life of an agent ends, and what it forgets.

use mainstay_core::{ServerId, StateMachine as _};
use mainstay_supervisor::{Observation, Sight, Supervisor};

use super::{AgentLife, Machine, World};
use crate::bug::Bug;
use crate::laws::{Broken, domain};
use crate::message::{Happening, Host};

impl World {
    pub(crate) fn agent_crashes(&mut self, host: Host) -> Result<(), Broken> {
        let machine = &mut self.machines[host];
        let Some(life) = machine.life.take() else { return Ok(()) };
        self.counts.agent_crashes += 1;
        if self.bug == Some(Bug::AgentTrustsStoredSight) {
            machine.stored = stored_sights(&machine.servers, &life.seat.state);
        }
        machine.life_number += 1;
        self.say_of(host, || "crashes".to_owned());
        let AgentLife { seat, stream, .. } = life;
        let crash = self.draw_crash();
        let Machine { disk, history, .. } = &mut self.machines[host];
        let mut broken = Ok(());
        disk.crash(seat, crash, |decided, event| {
            if broken.is_ok() {
                broken = domain::history(history, decided, event);
            }
        })?;
        broken?;
        if let Some(stream) = stream.stream() {
            self.break_stream(stream);
        }
        let down = self.random.between(1_000, self.scenario.crashes.down);
        self.after(down, Happening::AgentStarts { host });
        Ok(())
    }

    pub(crate) fn agent_forgets(&mut self, host: Host) -> Result<(), Broken> {
        let at = self.at_of(host);
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        life.seat.state.observe(at, Observation::Forgot);
        self.counts.forgotten += 1;
        self.say_of(host, || "forgets".to_owned());
        self.agent_ends_turn(host, Vec::new(), None)
    }
}

fn stored_sights(servers: &[ServerId], state: &Supervisor) -> Vec<Observation> {
    let sight = |server: &ServerId| {
        let pid = state.pid(*server)?;
        let run = state.slot(*server)?.live_run()?.number;
        Some(Observation::Saw { server: *server, run, sight: Sight::Running { pid } })
    };
    servers.iter().filter_map(sight).collect()
}
