//! One world: its parts, its agenda, and the step from one happening to the next.
//!
//! Everything here is a hand: it carries messages, asks disks to sync and starts processes. What to say and to do comes
//! from `mainstay_fleet` and `mainstay_supervisor`; what waits for what, from the production writer.

mod agent;
mod clocks;
mod faults;
mod hands;
mod healing;
mod machines;
mod network;
mod people;
mod plane;
mod provider;
mod words;

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_core::ServerId;
use mainstay_fleet::{Cause, End, Event, Wish};

use crate::agenda::{Agenda, Micros};
use crate::bug::Bug;
use crate::laws::Broken;
use crate::laws::early::Begun;
use crate::laws::oracle::{Moves, Oracle};
use crate::message::{Happening, Host};
use crate::random::Random;
use crate::scenario::Scenario;
use crate::trace::{Text, Trace, words as line};

use agent::Machine;
use clocks::HostClock;
use network::Pipe;
use people::{Call, Caller};
use plane::Plane;
use provider::Provider;

/// When worlds begin, in milliseconds since the Unix epoch (2023-11-14T22:13:20Z): any moment far from zero would do.
const BEGIN_MS: u64 = 1_700_000_000_000;

/// Every so many events the whole of every state is checked, not only what an event touched.
const FULL_CHECK_EVERY: u64 = 20_000;

/// A world heals after so many events even where its busy time is not over: many short worlds find more than few long
/// ones.
const BUSY_EVENTS_MAX: u64 = 30_000;

/// Whether faults and callers go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// They do.
    Busy,
    /// They have stopped: from here on the world must come to rest.
    Healing {
        /// Since when.
        since: Micros,
    },
}

/// What happened how often.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Happenings taken from the agenda.
    pub events: u64,
    /// Events the plane and the agents decided.
    pub decided: u64,
    /// Crashes of the plane.
    pub plane_crashes: u64,
    /// Crashes of agents, reboots included.
    pub agent_crashes: u64,
    /// Reboots.
    pub reboots: u64,
    /// Streams that broke.
    pub breaks: u64,
    /// Processes started.
    pub starts: u64,
    /// Allocations that a caller was told to have a server.
    pub allocations: u64,
    /// Times all soft state of the plane or an agent was forgotten.
    pub forgotten: u64,
    /// Times a process got the signal of misbehaviour.
    pub misbehaved: u64,
    /// Calls of the machine provider.
    pub errands: u64,
    /// Machines the provider had and nobody knew.
    pub orphans: u64,
    /// Machines that died at their provider.
    pub deaths: u64,
    /// Times a machine was cut off.
    pub cuts: u64,
    /// Machines that counted as lost.
    pub lost: u64,
    /// Machines that were emptied.
    pub emptied: u64,
    /// Machines that an operator withdrew.
    pub withdrawn: u64,
    /// Times a machine was back without slots that it had.
    pub shrunk: u64,
    /// Machines that were removed.
    pub removed: u64,
    /// Times the plane noticed that its wall clock had been set.
    pub jumps: u64,
    /// Holds that games asked for and got.
    pub holds: u64,
    /// Reservations that games made.
    pub reservations: u64,
    /// Allocations that the idle TTL ended.
    pub idle_ends: u64,
    /// Allocations that ended by their age.
    pub aged_ends: u64,
    /// Servers that were restarted for what an operator changed.
    pub rollouts: u64,
    /// Calls of the machine provider that failed.
    pub provider_failures: u64,
    /// Calls of the machine provider that never answered.
    pub provider_hangs: u64,
    /// Processes that had to be killed: they did not end by their signal.
    pub kills: u64,
}

impl Counts {
    /// Counts what the plane decided.
    fn note(&mut self, event: &Event) {
        if let Event::MachineLost { .. } = event {
            self.lost += 1;
        } else if let Event::MachineEmptied { .. } = event {
            self.emptied += 1;
        } else if let Event::MachineDutySet { wish: Wish::Drain | Wish::Leave, .. } = event {
            self.withdrawn += 1;
        } else if let Event::ServersForgotten { .. } = event {
            self.shrunk += 1;
        } else if let Event::MachineRemoved { .. } = event {
            self.removed += 1;
        } else if let Event::ServerHeld { .. } = event {
            self.holds += 1;
        } else if let Event::ServerReserved { .. } = event {
            self.reservations += 1;
        } else if let Event::AllocationEnded { end: End::Idle { .. }, .. } = event {
            self.idle_ends += 1;
        } else if let Event::AllocationEnded { end: End::Aged { .. }, .. } = event {
            self.aged_ends += 1;
        } else if let Event::ServerOrdered { cause: Cause::RolledOut, .. } = event {
            self.rollouts += 1;
        }
    }
}

/// One world.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) now: Micros,
    pub(crate) agenda: Agenda<Happening>,
    pub(crate) random: Random,
    pub(crate) scenario: Scenario,
    pub(crate) bug: Option<Bug>,
    pub(crate) trace: Trace,
    pub(crate) phase: Phase,
    pub(crate) counts: Counts,
    pub(crate) plane: Plane,
    pub(crate) machines: Vec<Machine>,
    pub(crate) pipes: Vec<Pipe>,
    pub(crate) callers: Vec<Caller>,
    pub(crate) calls: Vec<Call>,
    pub(crate) oracle: Oracle,
    pub(crate) ids: u64,
    pub(crate) pids: u32,
    pub(crate) provider: Provider,
    /// When holds and allocations began.
    pub(crate) begun: Begun,
    /// Processes whose session was given up when their machine was lost, by server.
    pub(crate) condemned: BTreeMap<ServerId, u32>,
}

impl World {
    pub(crate) fn new(seed: u64, scenario: Scenario, random: Random, bug: Option<Bug>, text: Text) -> Self {
        let fleet = people::fleet_spec(&scenario, 1);
        let machines = (0..scenario.machines).map(|host| Machine::new(host, scenario.slots)).collect();
        let callers = (0..scenario.callers).map(|_| Caller::idle()).collect();
        let mut world = Self {
            now: 0,
            agenda: Agenda::empty(),
            random,
            bug,
            trace: Trace::new(text),
            phase: Phase::Busy,
            counts: Counts::default(),
            plane: Plane::new(seed, fleet),
            machines,
            pipes: Vec::new(),
            callers,
            calls: Vec::new(),
            oracle: Oracle::new(),
            ids: 0,
            pids: 0,
            provider: Provider::default(),
            begun: Begun::default(),
            condemned: BTreeMap::new(),
            scenario,
        };
        world.skew_clocks();
        world.agenda.put(0, Happening::PlaneStarts);
        if world.scenario.machine.provided.is_some() {
            world.agenda.put(1, Happening::ProviderLists);
        }
        for host in 0..world.machines.len() {
            let at = world.random.below(2_000_000);
            world.agenda.put(at, Happening::AgentStarts { host });
        }
        for caller in 0..world.callers.len() {
            let at = world.random.below(world.scenario.people.think + 1);
            world.agenda.put(at, Happening::CallerActs { caller });
        }
        world
    }

    /// Lives until the busy time is over, heals, and demands rest.
    pub(crate) fn live(&mut self) -> Result<(), Broken> {
        while self.agenda.next_at().is_some_and(|at| at < self.scenario.busy)
            && self.counts.events < BUSY_EVENTS_MAX
        {
            self.step()?;
            self.strike()?;
        }
        self.check_all()?;
        self.heal()?;
        while self.agenda.next_at().is_some() {
            self.step()?;
            self.is_in_time()?;
        }
        self.check_all()?;
        self.is_at_rest()
    }

    /// Jumps to what happens next.
    fn step(&mut self) -> Result<(), Broken> {
        let Some((at, happening)) = self.agenda.take() else { return Ok(()) };
        self.now = at;
        if self.plane.life.is_some() {
            let (_told, jumped) = self.plane.clock.read(self.now);
            self.counts.jumps += u64::from(jumped);
        }
        self.counts.events += 1;
        self.trace.number(at);
        self.happen(happening)?;
        if self.counts.events.is_multiple_of(FULL_CHECK_EVERY) {
            self.check_all()?;
        }
        Ok(())
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Broken> {
        match happening {
            Happening::PlaneStarts => self.plane_starts(),
            Happening::PlaneSynced { life, batch } => self.plane_synced(life, &batch),
            Happening::PlaneLooksForSpace { life } => self.plane_looks_for_space(life),
            Happening::PlaneDue { life } => self.plane_due(life),
            Happening::FrameUp { stream, up } => self.frame_up(stream, up),
            Happening::FrameDown { stream, down } => self.frame_down(stream, down),
            Happening::FrameAgain { host, life, owed } => self.frame_again(host, life, owed),
            Happening::PlaneNoticesEnd { life, stream } => self.plane_notices_end(life, stream),
            Happening::AgentStarts { host } => self.agent_starts(host),
            Happening::AgentDials { host, life } => self.agent_dials(host, life),
            Happening::AgentNoticesEnd { host, life, stream } => self.agent_notices_end(host, life, stream),
            Happening::AgentSynced { host, life, batch } => self.agent_synced(host, life, &batch),
            Happening::AgentLooksForSpace { host, life } => self.agent_looks_for_space(host, life),
            Happening::AgentDue { host, life } => self.agent_due(host, life),
            Happening::JobActs { host, life, slot, job } => self.job_acts(host, life, slot, job),
            Happening::JobDone { host, life, slot, result } => self.job_done(host, life, slot, result),
            Happening::HolderLocks { host, life, boot, slot, run } => {
                self.holder_locks(host, life, boot, slot, run)
            }
            Happening::GameEnds { host, slot, pid, exit, own } => self.game_ends(host, slot, pid, &exit, own),
            Happening::AgentHearsExit { host, life, slot, run, exit } => {
                self.agent_hears_exit(host, life, slot, run, exit)
            }
            Happening::AgentHearsLoss { host, life, slot, run } => {
                self.agent_hears_loss(host, life, slot, run)
            }
            Happening::AgentLeaves { host, life } => self.agent_leaves(host, life),
            Happening::CallArrives { call } => self.call_arrives(call),
            Happening::AnswerArrives { call, said } => self.answer_arrives(call, &said),
            Happening::CallerActs { caller } => self.caller_acts(caller),
            Happening::CallerGivesUp { caller, call } => self.caller_gives_up(caller, call),
            Happening::ProviderActs { machine, verb } => self.provider_acts(machine, verb),
            Happening::ProviderAnswers { life, machine, verb, outcome } => {
                self.provider_answers(life, machine, verb, outcome)
            }
            Happening::ProviderLists => self.provider_lists(),
        }
    }

    fn skew_clocks(&mut self) {
        let most = self.scenario.machine.skew_ms;
        for host in 0..self.machines.len() {
            let skew = self.either_way(most);
            self.machines[host].clock = HostClock::new(skew);
        }
    }

    /// Whether an allocation may get another server.
    pub(crate) const fn moves(&self) -> Moves {
        if self.scenario.machine.place_anew { Moves::Anew } else { Moves::Never }
    }

    /// The monotonic clock that leases are counted on.
    pub(crate) const fn boot(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    pub(crate) fn after(&mut self, delay: Micros, what: Happening) {
        self.agenda.put(self.now + delay, what);
    }

    /// A delay drawn from a range that is, `slow` times in a million, up to a hundred times its greatest.
    pub(crate) fn delay(&mut self, (low, high): (Micros, Micros), slow: u32) -> Micros {
        let slow = match self.phase {
            Phase::Busy => slow,
            Phase::Healing { .. } => 0,
        };
        if self.random.chance(slow) {
            return self.random.between(low, high.saturating_mul(100));
        }
        self.random.between(low, high)
    }

    /// Whether a fault that strikes so often in a million strikes now. After healing none does.
    pub(crate) fn struck(&mut self, per_million: u32) -> bool {
        match self.phase {
            Phase::Busy => per_million > 0 && self.random.chance(per_million),
            Phase::Healing { .. } => false,
        }
    }

    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    pub(crate) fn say(&mut self, who: &str, what: impl FnOnce() -> String) {
        self.trace.line(self.now, || line(who, what()));
    }

    pub(crate) fn say_of(&mut self, host: Host, what: impl FnOnce() -> String) {
        self.trace.line(self.now, || line(format_args!("agent {host}"), what()));
    }
}
