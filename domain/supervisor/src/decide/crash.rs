//! A process ended as nobody wished: crashes, back-off and pre-recovery of seed 001.

use alloc::boxed::Box;
use alloc::sync::Arc;

use mainstay_core::slot::{Check, Exit, Fault, Incident, Recovery, Scene};
use mainstay_core::{AllocationId, ServerId, Turn};

use crate::decide::{begin_again, end};
use crate::{Ending, Event, Run, Supervisor, words};

/// How a run's end was found.
pub(super) struct Found<'a> {
    pub(super) exit: &'a Exit,
    pub(super) scene: &'a Scene,
}

/// The process crashed: it is restarted with the allocation it has, until it has crashed more often than its policy
/// allows within the window ("attempts to recover the game session by restarting it with the same allocation ID"). One that
/// was stopped for what it failed, without misbehaving, is then treated by that check.
pub(super) fn crash(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: &Run,
    failed: Option<Check>,
    cause: Arc<str>,
    found: &Found<'_>,
) {
    note(turn, server, run, Fault::Crash, &cause, Some(found));
    strike(turn, server, run, &cause);
    treat(turn, server, run, failed, cause);
}

/// The process of a misbehaving run has ended. It counts in back-off whatever its exit, and is then treated by the check it
/// failed: CPU or memory as a crash, query silence by the pre-recovery rule.
pub(super) fn misbehaved(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: &Run,
    check: Check,
    found: &Found<'_>,
) {
    let known = turn.state().slot(server).and_then(|slot| slot.incident(run.number));
    let cause = known.map_or_else(|| check.word().into(), |incident| Arc::clone(&incident.cause));
    note(turn, server, run, Fault::Misbehaviour(check), &cause, Some(found));
    let cause = words::misbehaviour(&cause);
    strike(turn, server, run, &cause);
    treat(turn, server, run, Some(check), cause);
}

/// What follows on a crash, by the check that failed before it.
fn treat(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: &Run,
    failed: Option<Check>,
    cause: Arc<str>,
) {
    if failed.is_some_and(|check| waits_for_an_allocation(turn.state(), server, run, check)) {
        end(turn, server, Ending::PreRecovery { cause });
    } else {
        back_off_or_begin_again(turn, server, run, cause);
    }
}

/// "If the game server has an allocation UUID, Multiplay Hosting won't restart the game server process. Instead, the game
/// server remains stopped until it receives a new allocation."
pub(super) fn waits_for_an_allocation(state: &Supervisor, server: ServerId, run: &Run, check: Check) -> bool {
    let recovery = state.spec(run.configuration).map(|spec| spec.recovery).unwrap_or_default();
    match (check, recovery) {
        (Check::Query, Recovery::PreRecovery) => allocation(state, server).is_some(),
        (Check::Query, Recovery::Restart) | (Check::Cpu | Check::Memory, _) => false,
    }
}

/// What is known of it becomes durable: before the signal where it misbehaves, and again once it has ended.
pub(super) fn note(
    turn: &mut Turn<'_, Supervisor>,
    server: ServerId,
    run: &Run,
    fault: Fault,
    cause: &Arc<str>,
    found: Option<&Found<'_>>,
) {
    let known = turn.state().slot(server).and_then(|slot| slot.incident(run.number)).cloned();
    let scene = found.map_or_else(Scene::empty, |found| found.scene.clone());
    let exit = found.map(|found| found.exit.clone());
    let incident = match known {
        Some(known) => Incident { exit, last_words: scene.last_words, core: scene.core, ..known },
        None => Incident {
            server,
            run: run.number.number(),
            at: turn.now(),
            fault,
            cause: words::short(cause),
            exit,
            configuration: run.configuration,
            allocation: allocation(turn.state(), server),
            last_words: scene.last_words,
            core: scene.core,
        },
    };
    turn.emit(Event::IncidentNoted { incident: Box::new(incident) });
}

fn strike(turn: &mut Turn<'_, Supervisor>, server: ServerId, run: &Run, cause: &Arc<str>) {
    let policy = turn.state().spec(run.configuration).map(|spec| spec.restart).unwrap_or_default();
    turn.emit(Event::Crashed { server, cause: Arc::clone(cause), within: policy.within });
}

/// "Backs off and stops trying to recover a game session ... if the build executable process crashes more than a specific
/// number of times within a 30-minute period."
fn back_off_or_begin_again(turn: &mut Turn<'_, Supervisor>, server: ServerId, run: &Run, cause: Arc<str>) {
    let policy = turn.state().spec(run.configuration).map(|spec| spec.restart).unwrap_or_default();
    let now = turn.now();
    let count = turn.state().slot(server).map_or(0, |slot| slot.strikes.count(now, policy.within));
    let crashes = u32::try_from(count).unwrap_or(u32::MAX);
    if crashes <= policy.attempts {
        begin_again(turn, server);
    } else {
        end(turn, server, Ending::BackedOff { crashes, cause });
    }
}

fn allocation(state: &Supervisor, server: ServerId) -> Option<AllocationId> {
    state.slot(server)?.order.allocation.as_ref().map(|session| session.allocation)
}
