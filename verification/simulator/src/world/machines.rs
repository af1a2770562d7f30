//! What kernels, holders and games do.

use mainstay_core::slot::{Exit, Killer};
use mainstay_supervisor::{RunNumber, Rung};

use super::World;
use super::hands::{SIGSEGV, killed};
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::laws::{Broken, durable, processes};
use crate::message::{Happening, Host, JobResult, Launch, Life, OwnWill, SlotIndex};
use crate::os::{Found, Game, SlotTruth};

impl World {
    /// A forked holder locks its slot and starts its game; or finds the slot locked, and ends.
    pub(crate) fn holder_locks(
        &mut self,
        host: Host,
        number: Life,
        boot: u64,
        slot: SlotIndex,
        run: RunNumber,
    ) -> Result<(), Broken> {
        if self.machines[host].boot != boot {
            return Ok(());
        }
        let forgotten = self.has(Bug::HolderForgotten);
        let truth = &mut self.machines[host].slots[slot];
        if truth.held.is_some() && !forgotten {
            self.say_of(host, || format!("slot {slot} is locked: {run:?} does not start"));
        } else if let Some(launch) = truth.launch.take() {
            self.holder_starts(host, slot, launch)?;
        } else {
            self.say_of(host, || format!("slot {slot}: the start of {run:?} was withdrawn"));
        }
        if self.machines[host].life_number != number {
            return Ok(());
        }
        let machine = &mut self.machines[host];
        let found = machine.slots[slot].look(run);
        if let Found::Running { pid } = found
            && let Some(hand) = machine.life.as_mut().and_then(|life| life.hands.get_mut(slot))
        {
            hand.watched = Some(pid);
        }
        let result = JobResult::Found { run, found };
        let delay = self.random.between(10, 1_000);
        self.after(delay, Happening::JobDone { host, life: number, slot, result });
        Ok(())
    }

    fn holder_starts(&mut self, host: Host, slot: SlotIndex, launch: Launch) -> Result<(), Broken> {
        let machine = &self.machines[host];
        durable::start(machine.servers.get(slot).copied(), launch.run, &machine.disk.twin)?;
        let order = machine.servers.get(slot).and_then(|server| machine.disk.twin.slot(*server));
        let newest = order.and_then(|slot| slot.order.allocation.as_ref()).map(|session| session.allocation);
        processes::reads_its_own_session(&launch, newest, machine.slots[slot].file)?;
        let fails = self.struck(self.scenario.games.not_started);
        let (boot, now) = (self.machines[host].boot, self.now);
        self.machines[host].slots[slot].holder_record = Some((launch.run, boot));
        if fails {
            let exit = Exit::NotStarted("no such file".into());
            let truth = &mut self.machines[host].slots[slot];
            truth.note_end(now, &exit);
            truth.exit_record = Some((launch.run, exit));
            return Ok(());
        }
        let game = self.new_game(host, slot, launch);
        let pid = game.pid;
        self.counts.starts += 1;
        let truth = &mut self.machines[host].slots[slot];
        match &truth.held {
            None => truth.held = Some(game),
            Some(_) => truth.intruder = Some(game),
        }
        self.say_of(host, || format!("slot {slot}: {:?} runs as {pid}", launch.run));
        processes::one_a_slot(host, slot, &self.machines[host].slots[slot])
    }

    fn new_game(&mut self, host: Host, slot: SlotIndex, launch: Launch) -> Game {
        self.pids += 1;
        let pid = self.pids;
        let games = self.scenario.games.clone();
        let start = self.delay(games.start, 0);
        let hangs = self.struck(games.hangs);
        let ignores_term = self.struck(games.ignores_term);
        let mute_from = self.struck(games.mutes).then(|| self.now + start + self.random.below(games.life));
        /// The longest time that players stay, or stay away.
        const PLAYED_MAX: Micros = 20_000_000;
        let played_every = self.struck(games.played).then(|| self.random.between(100_000, PLAYED_MAX));
        let busy_from = self.struck(games.hogs).then(|| self.now + self.random.below(games.life));
        let end = if self.struck(games.crashes) {
            Some(Exit::Signal { signal: 11, killed_by: Killer::Unknown })
        } else if self.struck(games.completes) {
            Some(Exit::Code(0))
        } else {
            None
        };
        if let Some(exit) = end {
            let delay = self.random.below(games.life);
            self.after(delay, Happening::GameEnds { host, slot, pid, exit, own: OwnWill::Yes });
        }
        Game {
            run: launch.run,
            pid,
            configuration: launch.configuration,
            answers_from: (!hangs).then_some(self.now + start),
            ignores_term,
            mute_from,
            busy_from,
            played_every,
            ending: false,
        }
    }

    pub(crate) fn signal_game(&mut self, host: Host, slot: SlotIndex, rung: Rung, number: i32) {
        let Some(game) = &mut self.machines[host].slots[slot].held else { return };
        let exit = match rung {
            Rung::Signal if game.ignores_term => return,
            Rung::Signal if number == SIGSEGV => Exit::Signal { signal: SIGSEGV, killed_by: Killer::Unknown },
            Rung::Signal => Exit::Code(143),
            Rung::Kill => killed(),
        };
        if game.ending && rung == Rung::Signal {
            return;
        }
        game.ending = true;
        self.counts.kills += u64::from(rung == Rung::Kill);
        let pid = game.pid;
        let delay = match rung {
            Rung::Signal => self.random.between(1_000, 3_000_000),
            Rung::Kill => self.random.between(100, 10_000),
        };
        self.after(delay, Happening::GameEnds { host, slot, pid, exit, own: OwnWill::No });
    }

    pub(crate) fn game_ends(
        &mut self,
        host: Host,
        slot: SlotIndex,
        pid: u32,
        exit: &Exit,
        own: OwnWill,
    ) -> Result<(), Broken> {
        let healed = match self.phase {
            super::Phase::Busy => false,
            super::Phase::Healing { .. } => true,
        };
        let truth = &self.machines[host].slots[slot];
        if truth.held.as_ref().is_none_or(|game| game.pid != pid) || (healed && own == OwnWill::Yes) {
            return Ok(());
        }
        self.end_game(host, slot, exit);
        Ok(())
    }

    /// A game ends; its holder writes `exit.json` and then tells the agent that watches.
    pub(crate) fn end_game(&mut self, host: Host, slot: SlotIndex, exit: &Exit) {
        let now = self.now;
        let Some(game) = self.machines[host].slots[slot].exit(now, exit) else { return };
        self.say_of(host, || format!("slot {slot}: {:?} ends: {exit:?}", game.run));
        if self.watches(host, slot, game.pid) {
            let delay = self.random.between(50, 5_000);
            let life = self.machines[host].life_number;
            let (run, exit) = (game.run, exit.clone());
            self.after(delay, Happening::AgentHearsExit { host, life, slot, run, exit });
        }
    }

    /// A holder is killed, and its game dies with it; an agent that watches finds no record of its end.
    pub(crate) fn kill_holder(&mut self, host: Host, slot: SlotIndex) {
        let now = self.now;
        let Some(game) = self.machines[host].slots[slot].lose(now) else { return };
        self.say_of(host, || format!("slot {slot}: the holder of {:?} is killed", game.run));
        if self.watches(host, slot, game.pid) {
            let delay = self.random.between(50, 5_000);
            let life = self.machines[host].life_number;
            self.after(delay, Happening::AgentHearsLoss { host, life, slot, run: game.run });
        }
    }

    fn watches(&self, host: Host, slot: SlotIndex, pid: u32) -> bool {
        let life = self.machines[host].life.as_ref();
        life.and_then(|life| life.hands.get(slot)).is_some_and(|hand| hand.watched == Some(pid))
    }

    /// Everything on the machine ends; its disks stay.
    pub(crate) fn reboot(&mut self, host: Host) -> Result<(), Broken> {
        self.counts.reboots += 1;
        self.say_of(host, || "reboots".to_owned());
        self.agent_crashes(host)?;
        let now = self.now;
        self.machines[host].boot += 1;
        self.machines[host].clock.reboots(now);
        for truth in &mut self.machines[host].slots {
            let _lost = truth.lose(now);
            truth.launch = None;
        }
        Ok(())
    }

    /// The agent is told to stop with its servers: it parks them, and ends a while later, whether they are down or not.
    pub(crate) fn park(&mut self, host: Host) -> Result<(), Broken> {
        if self.machines[host].life.is_none() {
            return Ok(());
        }
        self.say_of(host, || "parks its servers".to_owned());
        let life = self.machines[host].life_number;
        let leaves = self.random.between(0, self.scenario.fleet.kill_after + 1_000_000);
        self.after(leaves, Happening::AgentLeaves { host, life });
        self.agent_asked(host, mainstay_supervisor::Command::Park)
    }

    pub(crate) fn agent_leaves(&mut self, host: Host, number: Life) -> Result<(), Broken> {
        if number == self.machines[host].life_number { self.agent_crashes(host) } else { Ok(()) }
    }

    /// The machine's agent comes back with one slot more.
    pub(crate) fn grow(&mut self, host: Host) -> Result<(), Broken> {
        self.agent_crashes(host)?;
        self.machines[host].slots.push(SlotTruth::default());
        self.say_of(host, || "has one slot more".to_owned());
        Ok(())
    }
}
