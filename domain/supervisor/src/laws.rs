//! What is always true of a [`Supervisor`] between turns. Unit tests, property tests, the simulator and
//! `mainstay doctor` run these.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use mainstay_core::slot::{Check, ConfigurationRef, Fault, Incident, Intent, RestartPolicy};
use mainstay_core::{Generation, ServerId, Timestamp};

use crate::decide::serves;
use crate::owed::session_file;
use crate::supervisor::{Entry, named};
use crate::{Act, Ending, Event, Life, Reason, Run, RunNumber, Supervisor};

/// A law that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("broken law: {law}: {detail}")]
pub struct Broken {
    /// The law, in one sentence.
    pub law: &'static str,
    /// What was found instead.
    pub detail: String,
}

/// Checks what an event touched; call it at the end of the turn, once for each of its events.
///
/// # Errors
/// The first law that does not hold.
pub fn after(state: &Supervisor, event: &Event) -> Result<(), Broken> {
    match event.server().and_then(|server| state.entries.get(&server)) {
        Some(entry) => slot(state, entry),
        None => Ok(()),
    }
}

/// Checks everything, the derived indices too.
///
/// # Errors
/// The first law that does not hold.
pub fn all(state: &Supervisor) -> Result<(), Broken> {
    for entry in state.entries.values() {
        slot(state, entry)?;
    }
    runs_are_single(state)?;
    uses_are_counted(state)?;
    deadlines_are_indexed(state)
}

/// What has been, for the laws about change: keep one beside the state and show it every event.
#[derive(Debug, Clone, Default)]
pub struct History {
    generations: BTreeMap<ServerId, Generation>,
    newest_run: RunNumber,
    policies: BTreeMap<ConfigurationRef, RestartPolicy>,
    crashes: BTreeMap<ServerId, Crashes>,
}

/// The crashes of one slot since it last began afresh.
#[derive(Debug, Clone, Default)]
struct Crashes {
    at: Vec<Timestamp>,
    ran: Option<ConfigurationRef>,
    /// The slot's newest event is a crash: a start that follows is its answer.
    unanswered: bool,
}

impl Crashes {
    /// How many of them a restart now may follow, and how many there are.
    fn judge(
        &self,
        now: Timestamp,
        policies: &BTreeMap<ConfigurationRef, RestartPolicy>,
    ) -> Option<(usize, usize)> {
        let policy = policies.get(&self.ran?)?;
        let count = self.at.iter().filter(|&&at| now.since(at) < policy.within).count();
        Some((policy.attempts as usize, count))
    }
}

impl History {
    /// Of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks one event, and when it happened, against all before it.
    ///
    /// # Errors
    /// A generation or a run number that does not rise, or a restart too many.
    pub fn watch(&mut self, at: Timestamp, event: &Event) -> Result<(), Broken> {
        self.restarts_are_few(at, event)?;
        match event {
            Event::OrderTaken { order } => {
                let before = self.generations.insert(order.server, order.generation);
                ensure(
                    before.is_none_or(|before| before < order.generation),
                    "generations never fall",
                    || format!("{}: {before:?}, then {:?}", order.server, order.generation),
                )
            }
            Event::RunBegan { server, run, .. } => {
                let before = core::mem::replace(&mut self.newest_run, *run);
                ensure(before < *run, "no two starts share a run number", || {
                    format!("{server}: {before:?}, then {run:?}")
                })
            }
            Event::SlotForgotten { server } => {
                self.generations.remove(server);
                Ok(())
            }
            Event::SpecTaken { .. }
            | Event::Answered { .. }
            | Event::StopBegan { .. }
            | Event::StopTurned { .. }
            | Event::KillBegan { .. }
            | Event::CheckFailed { .. }
            | Event::Misbehaved { .. }
            | Event::IncidentNoted { .. }
            | Event::Crashed { .. }
            | Event::StrikesCleared { .. }
            | Event::Ended { .. }
            | Event::RestBegan { .. }
            | Event::SlotKept { .. }
            | Event::RunsCounted { .. } => Ok(()),
        }
    }
}

impl History {
    /// "Stops trying ... if the build executable process crashes more than a specific number of times within a 30-minute
    /// period" (seed 001), counted apart from what the slots themselves remember.
    fn restarts_are_few(&mut self, at: Timestamp, event: &Event) -> Result<(), Broken> {
        if let Event::SpecTaken { spec } = event {
            self.policies.entry(spec.configuration).or_insert(spec.restart);
        }
        let Some(server) = event.server() else { return Ok(()) };
        let crashes = self.crashes.entry(server).or_default();
        let answered = core::mem::take(&mut crashes.unanswered);
        match event {
            Event::Crashed { .. } => {
                crashes.at.push(at);
                crashes.unanswered = true;
            }
            Event::StrikesCleared { .. } => crashes.at.clear(),
            Event::SlotForgotten { .. } => {
                self.crashes.remove(&server);
            }
            Event::RunBegan { configuration, .. } => {
                let judged = crashes.judge(at, &self.policies);
                crashes.ran = Some(*configuration);
                if let (true, Some((most, count))) = (answered, judged) {
                    return ensure(count <= most, "never more restarts than the window allows", || {
                        format!("{server}: a restart after {count} crashes, {most} allowed")
                    });
                }
            }
            Event::SpecTaken { .. }
            | Event::OrderTaken { .. }
            | Event::Answered { .. }
            | Event::StopBegan { .. }
            | Event::StopTurned { .. }
            | Event::KillBegan { .. }
            | Event::CheckFailed { .. }
            | Event::Misbehaved { .. }
            | Event::IncidentNoted { .. }
            | Event::Ended { .. }
            | Event::RestBegan { .. }
            | Event::SlotKept { .. }
            | Event::RunsCounted { .. } => {}
        }
        Ok(())
    }
}

fn slot(state: &Supervisor, entry: &Entry) -> Result<(), Broken> {
    intent_and_life_agree(entry)?;
    back_off_is_kept(state, entry)?;
    misbehaviour_is_recorded(state, entry)?;
    failures_are_answered(state, entry)?;
    if let Some(run) = entry.slot.run() {
        run_is_fenced(state, entry, run)?;
    }
    for name in named(&entry.slot).into_iter().flatten() {
        ensure(state.spec(name).is_some(), "every configuration a slot names is known", || {
            format!("{}: {name:?}", entry.slot.order.server)
        })?;
    }
    starts_are_safe(state, entry)
}

fn intent_and_life_agree(entry: &Entry) -> Result<(), Broken> {
    let order = &entry.slot.order;
    let agrees = match (&entry.slot.life, order.intent) {
        (Life::Up { run, .. }, _) => order.intent != Intent::Stop && serves_or_left(run, entry),
        (Life::Resting { .. }, intent) => {
            matches!(intent, Intent::Run | Intent::Renew) && order.allocation.is_none()
        }
        (Life::Fresh | Life::Down { ending: Ending::Ordered, .. }, Intent::Run | Intent::Renew) => false,
        (Life::Down { ending, .. }, Intent::Stop) => *ending == Ending::Ordered,
        (Life::Stopping { reason, .. }, Intent::Stop) => {
            matches!(reason, Reason::Ordered | Reason::Forgotten)
        }
        (Life::Stopping { reason, .. }, Intent::Run | Intent::Renew) => *reason != Reason::Ordered,
        (Life::Fresh | Life::Down { .. } | Life::Stopping { .. }, _) => true,
    };
    ensure(agrees, "a slot's life follows its newest order", || {
        format!("{}: {:?} under {:?}", order.server, entry.slot.life, order.intent)
    })
}

fn serves_or_left(run: &Run, entry: &Entry) -> bool {
    match entry.slot.order.intent {
        Intent::Leave => true,
        Intent::Run | Intent::Renew | Intent::Stop => serves(run, &entry.slot.order),
    }
}

fn back_off_is_kept(state: &Supervisor, entry: &Entry) -> Result<(), Broken> {
    let Life::Up { run, .. } = &entry.slot.life else { return Ok(()) };
    let Some(spec) = state.spec(run.configuration) else { return Ok(()) };
    let strikes = entry.slot.strikes.count(run.began, spec.restart.within);
    let restarted = entry.slot.strikes.moments().last() == Some(&run.began);
    ensure(
        !restarted || strikes <= spec.restart.attempts as usize,
        "no restart follows more crashes than the policy allows",
        || format!("{}: {strikes} strikes, {} allowed", entry.slot.order.server, spec.restart.attempts),
    )
}

/// The signal of misbehaviour is owed only to a run whose misbehaviour is part of the durable story.
fn misbehaviour_is_recorded(state: &Supervisor, entry: &Entry) -> Result<(), Broken> {
    let server = entry.slot.order.server;
    let kept = entry.slot.incidents.len();
    ensure(kept <= Incident::KEPT_MAX, "the incidents kept of a slot are few", || {
        format!("{server}: {kept}")
    })?;
    let Life::Stopping { run, reason: Reason::Misbehaved(check), .. } = &entry.slot.life else {
        return Ok(());
    };
    let recorded = entry
        .slot
        .incident(run.number)
        .is_some_and(|it| it.fault == Fault::Misbehaviour(*check) && it.exit.is_none());
    ensure(recorded, "misbehaviour is recorded before the signal", || {
        format!("{server}: {:?} is owed, {:?} is known", state.owed_to(entry).act, entry.slot.incidents)
    })
}

/// No process runs on that has failed a check as often as its settings allow.
fn failures_are_answered(state: &Supervisor, entry: &Entry) -> Result<(), Broken> {
    let Life::Up { run, failures, .. } = &entry.slot.life else { return Ok(()) };
    let Some(spec) = state.spec(run.configuration) else { return Ok(()) };
    for check in Check::ALL {
        let strikes = failures.of(check);
        let Some(&last) = strikes.moments().last() else { continue };
        let count = strikes.count(last, spec.checks.within);
        ensure(count < spec.checks.failures as usize, "a process that misbehaves is ended", || {
            format!("{}: {count} failures of {check:?}", entry.slot.order.server)
        })?;
    }
    Ok(())
}

fn run_is_fenced(state: &Supervisor, entry: &Entry, run: &Run) -> Result<(), Broken> {
    let order = &entry.slot.order;
    ensure(run.generation <= order.generation, "no run is of an order that was not taken", || {
        format!("{}: {run:?} under {:?}", order.server, order.generation)
    })?;
    ensure(run.number <= state.runs, "every run is counted", || {
        format!("{}: {run:?}, newest {:?}", order.server, state.runs)
    })
}

/// At most one process a slot, none without a durable intent, and none that reads an older session.
fn starts_are_safe(state: &Supervisor, entry: &Entry) -> Result<(), Broken> {
    let owed = state.owed_to(entry);
    let order = &entry.slot.order;
    let Act::Start { run, .. } = owed.act else { return Ok(()) };
    let durable = match &entry.slot.life {
        Life::Up { run: live, .. } => live.number == run,
        Life::Fresh | Life::Down { .. } | Life::Resting { .. } | Life::Stopping { .. } => false,
    };
    ensure(durable, "no start is owed without a durable intent", || format!("{}: {owed:?}", order.server))?;
    let given = entry.soft.file.and_then(|file| file.allocation);
    let wanted = order.allocation.as_ref().map(|session| session.allocation);
    ensure(
        given == wanted && entry.soft.file == session_file(entry),
        "a stale allocation id is never given to a new process",
        || format!("{}: {given:?} in server.json, {wanted:?} ordered", order.server),
    )
}

fn runs_are_single(state: &Supervisor) -> Result<(), Broken> {
    let mut seen = BTreeSet::new();
    for (server, slot) in state.slots() {
        if let Some(run) = slot.run() {
            ensure(seen.insert(run.number), "no two slots share a run", || format!("{server}: {run:?}"))?;
        }
    }
    Ok(())
}

fn uses_are_counted(state: &Supervisor) -> Result<(), Broken> {
    let mut uses = BTreeMap::new();
    for (_, slot) in state.slots() {
        for name in named(slot).into_iter().flatten() {
            *uses.entry(name).or_insert(0_u32) += 1;
        }
    }
    for (name, known) in &state.specs {
        let counted = uses.get(name).copied().unwrap_or(0);
        ensure(counted == known.uses, "the uses of a configuration are counted", || {
            format!("{name:?}: {} kept, {counted} found", known.uses)
        })?;
    }
    Ok(())
}

fn deadlines_are_indexed(state: &Supervisor) -> Result<(), Broken> {
    let derived: BTreeSet<_> = state
        .entries
        .iter()
        .filter_map(|(&server, entry)| state.deadline_of(entry).map(|(at, _)| (at, server)))
        .collect();
    ensure(derived == state.deadlines, "the index of deadlines is what a full derivation gives", || {
        format!("{derived:?} derived, {:?} kept", state.deadlines)
    })
}

fn ensure(holds: bool, law: &'static str, detail: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { law, detail: detail() }) }
}
