//! An agent's hands: one a slot, one job at a time. A job takes time, and a crash may fall between any two of its steps.

use mainstay_core::StateMachine as _;
use mainstay_core::slot::{Exit, Heard, Reading, Scene};
use mainstay_supervisor::{Act, Command, Effects, Observation, RunNumber, Rung, Sight};

use super::World;
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::laws::{Broken, durable};
use crate::message::{Due, Happening, Host, Job, JobResult, Launch, Life, SlotIndex};
use crate::os::Found;

/// The least and the greatest time between two queries of a process that has not answered.
const PROBE_EVERY: (Micros, Micros) = (200_000, 1_000_000);
/// Signals by their numbers on every Linux.
const SIGKILL: i32 = 9;
pub(super) const SIGSEGV: i32 = 11;

/// The least and the greatest time of any other job.
const JOB: (Micros, Micros) = (100, 5_000);

impl World {
    /// The newest durable word on what a slot is owed.
    pub(crate) fn hand_owes(&mut self, host: Host, due: Due) -> Result<(), Broken> {
        let slot = due.slot;
        if let Some(hand) = self.machines[host].life.as_mut().and_then(|life| life.hands.get_mut(slot)) {
            hand.owed = (due.effects != Effects::NONE).then_some(due);
        }
        self.hand_works(host, slot)
    }

    fn hand_works(&mut self, host: Host, slot: SlotIndex) -> Result<(), Broken> {
        let number = self.machines[host].life_number;
        let skips_files = self.has(Bug::SessionFileSkipped);
        let healing = matches!(self.phase, super::Phase::Healing { .. });
        let machine = &mut self.machines[host];
        let Some(life) = &mut machine.life else { return Ok(()) };
        let Some(hand) = life.hands.get_mut(slot) else { return Ok(()) };
        if hand.busy {
            return Ok(());
        }
        let Some(Due { effects: Effects { write, act }, .. }) = hand.owed.take() else { return Ok(()) };
        let job = match (write, act) {
            (Some(file), _) => Job::Write(file),
            (None, Act::Nothing) => return Ok(()),
            (None, Act::Look { run }) => Job::Look(run),
            (None, Act::Start { run, configuration, allocation }) => {
                Job::Start(Launch { run, configuration, ordered: allocation })
            }
            (None, Act::Probe { run, .. }) => Job::Probe(run),
            // A healed world is at rest but for its checks: they would go on for ever, and find nothing.
            (None, Act::Check { .. }) if healing => return Ok(()),
            (None, Act::Check { run, .. }) => Job::Check(run),
            (None, Act::Signal { run, signal }) => Job::Signal { run, signal },
            (None, Act::Kill { run }) => Job::Kill(run),
        };
        hand.busy = true;
        let range = match &job {
            Job::Probe(_) => PROBE_EVERY,
            Job::Write(_)
            | Job::Look(_)
            | Job::Start(_)
            | Job::Check(_)
            | Job::Signal { .. }
            | Job::Kill(_) => JOB,
        };
        if skips_files && let Job::Write(file) = job {
            self.after(1, Happening::JobDone { host, life: number, slot, result: JobResult::Wrote(file) });
            return Ok(());
        }
        let delay = self.random.between(range.0, range.1);
        self.after(delay, Happening::JobActs { host, life: number, slot, job });
        Ok(())
    }

    /// The job reaches the kernel or the disk.
    pub(crate) fn job_acts(
        &mut self,
        host: Host,
        number: Life,
        slot: SlotIndex,
        job: Job,
    ) -> Result<(), Broken> {
        if number != self.machines[host].life_number {
            return Ok(());
        }
        let result = match job {
            Job::Write(file) => {
                self.machines[host].slots[slot].file = Some(file);
                JobResult::Wrote(file)
            }
            Job::Look(run) => self.looks(host, slot, run),
            Job::Start(launch) => match self.starts(host, slot, launch) {
                Some(result) => result,
                None => return Ok(()),
            },
            Job::Probe(run) => {
                let now = self.now;
                let game = self.machines[host].slots[slot].held.as_ref().filter(|game| game.run == run);
                match game.and_then(|game| game.answers_from) {
                    Some(from) if from <= now => JobResult::Answered(run),
                    Some(_) | None => JobResult::Silent,
                }
            }
            Job::Check(run) => self.checks(host, slot, run),
            Job::Signal { run, signal } => self.signals(host, slot, run, Rung::Signal, signal)?,
            Job::Kill(run) => self.signals(host, slot, run, Rung::Kill, SIGKILL)?,
        };
        let delay = self.random.between(10, 1_000);
        self.after(delay, Happening::JobDone { host, life: number, slot, result });
        Ok(())
    }

    fn looks(&mut self, host: Host, slot: SlotIndex, run: RunNumber) -> JobResult {
        let blind = self.has(Bug::HolderForgotten);
        let cancels = !self.has(Bug::LateHolderStarts);
        let machine = &mut self.machines[host];
        let truth = &mut machine.slots[slot];
        let found = if blind { Found::Absent } else { truth.look(run) };
        if cancels && truth.held.is_none() {
            // Under the slot's lock: a holder that comes late finds nothing to start.
            truth.launch = None;
        }
        if let Found::Running { pid } = found
            && let Some(hand) = machine.life.as_mut().and_then(|life| life.hands.get_mut(slot))
        {
            hand.watched = Some(pid);
        }
        JobResult::Found { run, found }
    }

    /// A start looks first: what is there of this run is not started again, what is there of another is ended.
    fn starts(&mut self, host: Host, slot: SlotIndex, launch: Launch) -> Option<JobResult> {
        let found = self.looks(host, slot, launch.run);
        if let JobResult::Found { found: Found::Running { .. } | Found::Exited(_) | Found::Lost, .. } = found
        {
            return Some(found);
        }
        let stands = self.machines[host].slots[slot].file;
        let stale = stands.is_none_or(|file| (file.run, file.allocation) != (launch.run, launch.ordered));
        if stale && !self.has(Bug::SessionFileSkipped) {
            return Some(JobResult::Silent);
        }
        if !self.has(Bug::HolderForgotten) && self.machines[host].slots[slot].held.is_some() {
            self.end_game(host, slot, &killed());
        }
        let (number, boot) = (self.machines[host].life_number, self.machines[host].boot);
        let delay = self.delay((200, 20_000), self.scenario.games.slow_holder);
        self.machines[host].slots[slot].launch = Some(launch);
        self.after(delay, Happening::HolderLocks { host, life: number, boot, slot, run: launch.run });
        None
    }

    fn signals(
        &mut self,
        host: Host,
        slot: SlotIndex,
        run: RunNumber,
        rung: Rung,
        number: i32,
    ) -> Result<JobResult, Broken> {
        let JobResult::Found { found, .. } = self.looks(host, slot, run) else {
            unreachable!("a look finds something or nothing")
        };
        let machine = &self.machines[host];
        match found {
            Found::Running { .. } => {
                let server = machine.servers.get(slot).copied();
                durable::stop(server, run, &machine.disk.twin)?;
                if number == SIGSEGV {
                    self.counts.misbehaved += 1;
                    durable::misbehaviour(server, run, &machine.disk.twin)?;
                }
                self.signal_game(host, slot, rung, number);
                Ok(JobResult::Delivered { run, rung })
            }
            Found::Absent => Ok(JobResult::NeverRan(run)),
            Found::Exited(_) | Found::Lost => Ok(JobResult::Found { run, found }),
        }
    }

    /// Reads what a game uses, and asks it once. Nothing is found of a run that has ended: its exit is on its way.
    fn checks(&mut self, host: Host, slot: SlotIndex, run: RunNumber) -> JobResult {
        let (queried, told) = (self.scenario.fleet.queried, self.scenario.fleet.players_told);
        let now = self.now;
        let Some(game) = self.machines[host].slots[slot].held.as_ref().filter(|game| game.run == run) else {
            return JobResult::Silent;
        };
        let answers = game.answers_from.is_some_and(|from| from <= now);
        let mute = game.mute_from.is_some_and(|from| from <= now);
        let heard = match (queried, answers && !mute) {
            (false, _) => Heard::Unasked,
            (true, true) => Heard::Answer { players: told.then(|| game.players(now)), players_max: Some(8) },
            (true, false) => Heard::Silence,
        };
        let busy = game.busy_from.is_some_and(|from| from <= now);
        let cpu_millis = Some(if busy { 4_000 } else { 10 });
        JobResult::Checked { run, reading: Reading { cpu_millis, memory_bytes: Some(1 << 20), heard } }
    }

    /// The hand hears how its job ended, and says so to the rules.
    pub(crate) fn job_done(
        &mut self,
        host: Host,
        number: Life,
        slot: SlotIndex,
        result: JobResult,
    ) -> Result<(), Broken> {
        if number != self.machines[host].life_number {
            return Ok(());
        }
        let (at, told_as_crash) = (self.at_of(host), self.has(Bug::LossToldAsCrash));
        let machine = &mut self.machines[host];
        let Some(server) = machine.servers.get(slot).copied() else { return Ok(()) };
        let Some(life) = &mut machine.life else { return Ok(()) };
        if let Some(hand) = life.hands.get_mut(slot) {
            hand.busy = false;
            hand.owed = None;
        }
        let state = &mut life.seat.state;
        let command = match result {
            JobResult::Wrote(file) => {
                state.observe(at, Observation::Wrote { server, file });
                None
            }
            JobResult::Found { run, found: Found::Running { pid } } => {
                state.observe(at, Observation::Saw { server, run, sight: Sight::Running { pid } });
                None
            }
            JobResult::Found { run, found: Found::Absent } => {
                state.observe(at, Observation::Saw { server, run, sight: Sight::Absent });
                None
            }
            JobResult::Found { run, found: Found::Exited(exit) } => {
                Some(Command::Exited { server, run, exit, scene: Scene::empty() })
            }
            JobResult::Found { run, found: Found::Lost } => Some(if told_as_crash {
                Command::Exited { server, run, exit: killed(), scene: Scene::empty() }
            } else {
                Command::Lost { server, run }
            }),
            JobResult::Answered(run) => Some(Command::Answered { server, run }),
            JobResult::Checked { run, reading } => Some(Command::Checked { server, run, reading }),
            JobResult::NeverRan(run) => Some(Command::NeverRan { server, run }),
            JobResult::Delivered { run, rung } => {
                state.observe(at, Observation::Delivered { server, run, rung });
                None
            }
            JobResult::Silent => None,
        };
        if let Some(command) = command {
            self.agent_asked(host, command)?;
        }
        // Whatever came of it, what is owed now is derived anew.
        self.agent_ends_turn(host, Vec::new(), Some(slot))
    }

    pub(crate) fn agent_hears_exit(
        &mut self,
        host: Host,
        number: Life,
        slot: SlotIndex,
        run: RunNumber,
        exit: Exit,
    ) -> Result<(), Broken> {
        if number != self.machines[host].life_number {
            return Ok(());
        }
        let Some(server) = self.machines[host].servers.get(slot).copied() else { return Ok(()) };
        self.agent_asked(host, Command::Exited { server, run, exit, scene: Scene::empty() })
    }
}

impl World {
    pub(crate) fn agent_hears_loss(
        &mut self,
        host: Host,
        number: Life,
        slot: SlotIndex,
        run: RunNumber,
    ) -> Result<(), Broken> {
        if number != self.machines[host].life_number {
            return Ok(());
        }
        let Some(server) = self.machines[host].servers.get(slot).copied() else { return Ok(()) };
        let command = if self.has(Bug::LossToldAsCrash) {
            Command::Exited { server, run, exit: killed(), scene: Scene::empty() }
        } else {
            Command::Lost { server, run }
        };
        self.agent_asked(host, command)
    }
}

pub(super) const fn killed() -> Exit {
    Exit::Signal { signal: 9, killed_by: mainstay_core::slot::Killer::Unknown }
}
