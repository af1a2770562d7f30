//! The state: what is durable, what is soft, and what is derived from both.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use mainstay_core::slot::{ConfigurationRef, Incident, Intent, Reading, Spec};
use mainstay_core::{ServerId, StateMachine, Timestamp, Turn};

use crate::{
    Answer, Command, Effects, Event, Life, Observation, Rejection, RunNumber, Rung, SessionFile, Slot, Stage,
    decide,
};

/// The most slots one agent keeps: as many as one machine may bring; past this a host has run out of ports and files.
pub const SLOTS_MAX: usize = 4_096;

/// The most configurations one agent keeps: far above what any fleet uses at once, far below what memory holds.
pub const SPECS_MAX: usize = 4_096;

/// The least time between two starts of an idle slot whose game exits with code 0: without it, a game that exits at
/// once would be started as fast as the machine can.
pub const REST_MIN: Duration = Duration::from_secs(1);

/// The rules of one agent's slots. See the crate's page.
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    pub(crate) specs: BTreeMap<ConfigurationRef, Known>,
    pub(crate) entries: BTreeMap<ServerId, Entry>,
    pub(crate) runs: RunNumber,
    pub(crate) deadlines: BTreeSet<(Timestamp, ServerId)>,
    touched: BTreeSet<ServerId>,
}

/// A configuration and how many slots name it; at none, it is dropped when a newer revision of it is taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) spec: Arc<Spec>,
    pub(crate) uses: u32,
}

/// A slot, what is seen of it, and its place in the index of deadlines.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) slot: Slot,
    pub(crate) soft: Soft,
    pub(crate) deadline: Option<Timestamp>,
}

/// What is seen of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Soft {
    /// The run that all but `file` speak of; they count for nothing once it is not the live one.
    pub(crate) run: RunNumber,
    pub(crate) process: Process,
    pub(crate) delivered: Option<Rung>,
    pub(crate) file: Option<SessionFile>,
    pub(crate) clock: Clock,
    pub(crate) reading: Option<Reading>,
}

/// When a running process is checked next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Clock {
    /// At once: CPU use is measured from one check to the next, so the first begins it.
    #[default]
    First,
    /// Then.
    Next(Timestamp),
    /// It has come due, and is owed.
    Due(Timestamp),
}

/// What is seen of the live run's process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Process {
    /// Not looked at.
    #[default]
    Unknown,
    /// Never started.
    Absent,
    /// Running, and watched since then.
    Running { pid: u32, since: Timestamp },
}

/// What a deadline is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// The stop signal was not obeyed: SIGKILL.
    Kill(ServerId),
    /// The process has not answered its first query.
    Silence(ServerId),
    /// An idle slot has rested enough.
    Rest(ServerId),
    /// A running process is to be checked.
    Check(ServerId),
}

impl Supervisor {
    /// Without slots.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A slot's durable state.
    #[must_use]
    pub fn slot(&self, server: ServerId) -> Option<&Slot> {
        self.entries.get(&server).map(|entry| &entry.slot)
    }

    /// Every slot, in the order of their ids.
    pub fn slots(&self) -> impl Iterator<Item = (ServerId, &Slot)> {
        self.entries.iter().map(|(&server, entry)| (server, &entry.slot))
    }

    /// A configuration that some slot names, or that an order to come may name.
    #[must_use]
    pub fn spec(&self, configuration: ConfigurationRef) -> Option<&Arc<Spec>> {
        self.specs.get(&configuration).map(|known| &known.spec)
    }

    /// Every known configuration.
    pub fn specs(&self) -> impl Iterator<Item = &Arc<Spec>> {
        self.specs.values().map(|known| &known.spec)
    }

    /// The newest run that began on this machine.
    #[must_use]
    pub const fn newest_run(&self) -> RunNumber {
        self.runs
    }

    /// What was last read of a slot's running process.
    #[must_use]
    pub fn reading(&self, server: ServerId) -> Option<Reading> {
        let entry = self.entries.get(&server)?;
        let run = entry.slot.live_run().filter(|run| run.number == entry.soft.run)?;
        entry.soft.reading.filter(|_| run.number != RunNumber::NONE)
    }

    /// What is known of a slot's newest processes that ended as nobody wished, oldest first.
    #[must_use]
    pub fn incidents(&self, server: ServerId) -> &[Incident] {
        self.entries.get(&server).map_or(&[], |entry| &entry.slot.incidents)
    }

    /// The process of a slot's live run, where it has been seen running.
    #[must_use]
    pub fn pid(&self, server: ServerId) -> Option<u32> {
        match self.entries.get(&server)?.process() {
            Process::Running { pid, .. } => Some(pid),
            Process::Unknown | Process::Absent => None,
        }
    }

    /// Changes a slot's durable state and keeps every index right.
    pub(crate) fn change(&mut self, server: ServerId, change: impl FnOnce(&mut Slot)) {
        let Some(entry) = self.entries.get_mut(&server) else { return };
        let before = named(&entry.slot);
        change(&mut entry.slot);
        let after = named(&entry.slot);
        self.recount(before, after);
        self.refresh(server);
    }

    /// Adds or replaces a slot.
    pub(crate) fn put(&mut self, slot: Slot) {
        let server = slot.order.server;
        let after = named(&slot);
        let before = match self.entries.get_mut(&server) {
            Some(entry) => named(&core::mem::replace(&mut entry.slot, slot)),
            None => {
                self.entries.insert(server, Entry { slot, soft: Soft::default(), deadline: None });
                [None, None]
            }
        };
        self.recount(before, after);
        self.refresh(server);
    }

    pub(crate) fn remove(&mut self, server: ServerId) {
        if let Some(entry) = self.entries.remove(&server) {
            if let Some(at) = entry.deadline {
                self.deadlines.remove(&(at, server));
            }
            self.recount(named(&entry.slot), [None, None]);
            self.touched.insert(server);
        }
    }

    /// Changes what is seen of a slot's live run.
    pub(crate) fn soften(&mut self, server: ServerId, change: impl FnOnce(&mut Soft)) {
        let Some(entry) = self.entries.get_mut(&server) else { return };
        let run = entry.slot.run().map_or(RunNumber::NONE, |run| run.number);
        if entry.soft.run != run {
            entry.soft = Soft { run, file: entry.soft.file, ..Soft::default() };
        }
        change(&mut entry.soft);
        self.refresh(server);
    }

    pub(crate) fn forget_soft(&mut self) {
        let servers: Vec<ServerId> = self.entries.keys().copied().collect();
        for server in servers {
            if let Some(entry) = self.entries.get_mut(&server) {
                entry.soft = Soft::default();
            }
            self.refresh(server);
        }
    }

    /// The deadline of a slot, derived anew.
    pub(crate) fn deadline_of(&self, entry: &Entry) -> Option<(Timestamp, Why)> {
        let server = entry.slot.order.server;
        match &entry.slot.life {
            Life::Resting { until, .. } => Some((*until, Why::Rest(server))),
            Life::Stopping { run, began, rung: Rung::Signal, .. } => {
                let spec = self.spec(run.configuration)?;
                Some((*began + spec.stop.kill_after, Why::Kill(server)))
            }
            Life::Up { run, stage, .. } => {
                let Process::Running { since, .. } = entry.process() else { return None };
                match (stage, self.spec(run.configuration)?.query.as_ref()) {
                    (Stage::Started, Some(query)) => Some((since + query.start_grace, Why::Silence(server))),
                    (Stage::Started, None) | (Stage::Answered, _) => {
                        let at = match entry.soft.clock {
                            Clock::First => since,
                            Clock::Next(at) => at,
                            Clock::Due(_) => return None,
                        };
                        Some((at, Why::Check(server)))
                    }
                }
            }
            Life::Fresh | Life::Down { .. } | Life::Stopping { rung: Rung::Kill, .. } => None,
        }
    }

    /// Keeps the index of deadlines right and notes that the slot was touched.
    fn refresh(&mut self, server: ServerId) {
        self.touched.insert(server);
        let Some(entry) = self.entries.get(&server) else { return };
        let (old, new) = (entry.deadline, self.deadline_of(entry).map(|(at, _)| at));
        if old == new {
            return;
        }
        if let Some(at) = old {
            self.deadlines.remove(&(at, server));
        }
        if let Some(at) = new {
            self.deadlines.insert((at, server));
        }
        if let Some(entry) = self.entries.get_mut(&server) {
            entry.deadline = new;
        }
    }

    fn recount(&mut self, before: Names, after: Names) {
        if before == after {
            return;
        }
        for name in after.into_iter().flatten() {
            if let Some(known) = self.specs.get_mut(&name) {
                known.uses += 1;
            }
        }
        for name in before.into_iter().flatten() {
            if let Some(known) = self.specs.get_mut(&name) {
                // At none it stays: a stream brings each configuration once, and any later order on it may name it.
                known.uses -= 1;
            }
        }
    }
}

/// The configurations a slot names: its order's, and its newest run's.
type Names = [Option<ConfigurationRef>; 2];

pub(crate) fn named(slot: &Slot) -> Names {
    let ordered = match slot.order.intent {
        Intent::Run | Intent::Renew => Some(slot.order.configuration),
        Intent::Stop | Intent::Leave => None,
    };
    [ordered, slot.run().map(|run| run.configuration)]
}

impl Entry {
    /// What is seen of the live run's process.
    pub(crate) fn process(&self) -> Process {
        match self.slot.live_run() {
            Some(run) if run.number == self.soft.run => self.soft.process,
            Some(_) | None => Process::Unknown,
        }
    }

    /// The hardest signal that is known to have reached the live run's process.
    pub(crate) fn delivered(&self) -> Option<Rung> {
        match self.slot.live_run() {
            Some(run) if run.number == self.soft.run => self.soft.delivered,
            Some(_) | None => None,
        }
    }
}

/// Two supervisors are equal where all that is durable is equal.
impl PartialEq for Supervisor {
    fn eq(&self, other: &Self) -> bool {
        self.runs == other.runs && self.specs == other.specs && self.slots().eq(other.slots())
    }
}

impl StateMachine for Supervisor {
    type Command = Command;
    type Event = Event;
    type Answer = Answer;
    type Rejection = Rejection;
    type Observation = Observation;
    type Target = ServerId;
    type Effects = Effects;
    type Why = Why;

    fn decide(turn: &mut Turn<'_, Self>, command: &Command) -> Result<Answer, Rejection> {
        decide::decide(turn, command)
    }

    fn apply(&mut self, at: Timestamp, event: &Event) {
        self.apply_event(at, event);
    }

    fn observe(&mut self, now: Timestamp, observation: Observation) {
        self.see(now, observation);
    }

    fn owed(&self, target: &ServerId) -> Effects {
        self.entries.get(target).map_or(Effects::NONE, |entry| self.owed_to(entry))
    }

    fn take_touched(&mut self) -> Vec<ServerId> {
        core::mem::take(&mut self.touched).into_iter().collect()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Why)> {
        let (_, server) = self.deadlines.first()?;
        self.entries.get(server).and_then(|entry| self.deadline_of(entry))
    }

    /// Configurations newest first (taking one drops unused older revisions of it), then slots, then the count of runs.
    /// They carry their own times: when the snapshot says them does not matter.
    fn story(&self) -> impl Iterator<Item = (Timestamp, Event)> {
        let specs = self.specs.values().rev().map(|known| Event::SpecTaken { spec: Arc::clone(&known.spec) });
        let slots = self.entries.values().map(|entry| Event::SlotKept { slot: entry.slot.clone().into() });
        let runs = [Event::RunsCounted { newest: self.runs }];
        specs.chain(slots).chain(runs).map(|event| (Timestamp::EPOCH, event))
    }
}
