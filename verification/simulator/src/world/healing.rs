//! The end of every world: faults stop, callers stop, and within a bounded time reality must equal desire.

use super::{Phase, World};
use crate::agenda::Micros;
use crate::laws::{Broken, convergence, domain};

impl World {
    pub(crate) fn heal(&mut self) -> Result<(), Broken> {
        self.phase = Phase::Healing { since: self.now };
        for machine in &mut self.machines {
            machine.cut_until = 0;
        }
        self.say("world", || "heals".to_owned());
        Ok(())
    }

    /// How long a healed world may take: half-open streams are noticed, everything is dialled and reported anew, every
    /// waiting allocation is placed or times out, holds and allocations run out, what an operator changed reaches a
    /// quarter of the pool at a time, and each slot may have to kill a process, start one that hangs, kill it,
    /// and start again.
    fn rest_within(&self) -> Micros {
        const NOTICE: Micros = 30_000_000;
        const DIAL: Micros = 20_000_000;
        /// The longest hold a world's fleet allows.
        const HOLD: Micros = 15_000_000;
        /// A quarter of the pool is restarted at a time for what an operator changed.
        const ROLLOUT_ROUNDS: u64 = 5;
        let fleet = &self.scenario.fleet;
        let restarts = u64::from(fleet.restarts) + 2;
        NOTICE
            + DIAL
            + fleet.placement_timeout
            + self.scenario.crashes.down
            + fleet.allocation_ttl.within()
            + HOLD
            + self.machines_rest_within()
            + (restarts + ROLLOUT_ROUNDS) * (fleet.kill_after + fleet.start_grace + DIAL)
    }

    /// How long machines take to come and to go: what failed is tried again after a pause, an idle one is emptied and
    /// deleted, and one that took its place begins anew.
    fn machines_rest_within(&self) -> Micros {
        /// The longest pause of an errand, and of a region after one: five minutes each.
        const PAUSES: Micros = 2 * 300_000_000;
        /// How long a provider takes at most once nothing fails, for each errand.
        const ERRAND: Micros = 10_000_000;
        /// What a call that was given up may still do, and the list that then finds it.
        const LATE: Micros = 150_000_000;
        let knobs = &self.scenario.machine;
        let idle = knobs.ttl.map_or(0, |(_, delete)| 2 * delete);
        let made =
            knobs.provided.map_or(0, |provided| PAUSES + LATE + 4 * ERRAND + 2 * provided.create_timeout);
        knobs.lost_after + idle + made
    }

    pub(crate) fn is_in_time(&self) -> Result<(), Broken> {
        let Phase::Healing { since } = self.phase else { return Ok(()) };
        // A clock that is steered back tells nine seconds where ten have passed.
        let within = self.rest_within() * 10 / 9;
        if self.now - since <= within {
            return Ok(());
        }
        self.is_at_rest()?;
        Err(Broken::new(
            "a healed world comes to rest",
            format!("{} s after healing something still happens", (self.now - since) / 1_000_000),
        ))
    }

    /// Nothing is on the agenda any more: reality equals desire, now and for ever.
    pub(crate) fn is_at_rest(&self) -> Result<(), Broken> {
        let Some(plane) = &self.plane.life else {
            return Err(Broken::new("a healed world has a plane", "it is down"));
        };
        let fleet = &plane.seat.state;
        domain::nothing_is_overdue(fleet, self.at())?;
        convergence::writer_is_idle("plane", plane.seat.writer.is_idle() && plane.mailbox.is_empty())?;
        convergence::waiting_has_no_server(fleet)?;
        let gone = |id| self.machines.iter().any(|machine| machine.made == Some(id) && machine.gone);
        convergence::machines_rest(fleet, gone)?;
        for (host, machine) in self.machines.iter().enumerate().filter(|(_, machine)| !machine.gone) {
            let Some(agent) = &machine.life else {
                return Err(Broken::new("a healed world has its agents", format!("agent {host} is down")));
            };
            let idle = agent.seat.writer.is_idle() && agent.mailbox.is_empty();
            convergence::writer_is_idle(&format!("agent {host}"), idle)?;
            for (server, truth) in machine.servers.iter().zip(&machine.slots) {
                convergence::slot(fleet, &agent.seat.state, *server, truth, self.at())?;
            }
        }
        Ok(())
    }

    /// The whole of every state.
    pub(crate) fn check_all(&self) -> Result<(), Broken> {
        if let Some(life) = &self.plane.life {
            domain::all_of_fleet(&life.seat.state)?;
        }
        domain::all_of_fleet(&self.plane.disk.twin)?;
        self.oracle.is_remembered(&self.plane.disk.twin)?;
        for machine in &self.machines {
            if let Some(life) = &machine.life {
                domain::all_of_supervisor(&life.seat.state)?;
            }
            domain::all_of_supervisor(&machine.disk.twin)?;
        }
        Ok(())
    }
}
