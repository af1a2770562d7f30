//! The laws the rules themselves state, and the law of replay: what the journal tells is what was decided.

use core::time::Duration;

use mainstay_core::{StateMachine as _, Timestamp};
use mainstay_fleet::{Fleet, laws as fleet};
use mainstay_supervisor::{Supervisor, laws as supervisor};

use super::{Broken, ensure};

/// A turn of a fleet, by how it stood before.
pub(crate) fn turn_of_fleet(
    before: fleet::Before,
    state: &Fleet,
    events: &[mainstay_fleet::Event],
) -> Result<(), Broken> {
    before.judge(state, events).map_err(of_fleet)
}

/// What a turn of the deadlines must have ended.
pub(crate) fn nothing_is_overdue(state: &Fleet, now: Timestamp) -> Result<(), Broken> {
    fleet::overdue(state, now).map_err(of_fleet)
}

pub(crate) fn all_of_fleet(state: &Fleet) -> Result<(), Broken> {
    fleet::all(state).into_iter().next().map_or(Ok(()), |broken| Err(of_fleet(broken)))
}

pub(crate) fn after_supervisor(state: &Supervisor, event: &mainstay_supervisor::Event) -> Result<(), Broken> {
    supervisor::after(state, event).map_err(of_supervisor)
}

pub(crate) fn all_of_supervisor(state: &Supervisor) -> Result<(), Broken> {
    supervisor::all(state).map_err(of_supervisor)
}

/// One durable event against all before it, by the world's own time and not by what its agent took for the time. An agent's
/// clock may run fast by a tenth and counts whole milliseconds: the world's runs by a fifth faster here, so that no window of
/// an agent's ends later.
pub(crate) fn history(
    history: &mut supervisor::History,
    decided: Duration,
    event: &mainstay_supervisor::Event,
) -> Result<(), Broken> {
    history.watch(Timestamp::EPOCH + decided * 6 / 5, event).map_err(of_supervisor)
}

/// Snapshot and turns tell the state that the turns added up to one by one.
pub(crate) fn replayed_fleet(replayed: &Fleet, twin: &Fleet) -> Result<(), Broken> {
    ensure(replayed.snapshot() == twin.snapshot(), "replay gives the same state", || {
        "the fleet that the journal tells is another".to_owned()
    })
}

/// As [`replayed_fleet`], of an agent.
pub(crate) fn replayed_supervisor(replayed: &Supervisor, twin: &Supervisor) -> Result<(), Broken> {
    ensure(replayed == twin, "replay gives the same state", || {
        format!("{:?} replayed, {:?} before", replayed.snapshot(), twin.snapshot())
    })
}

fn of_fleet(broken: fleet::Broken) -> Broken {
    Broken::new(format_args!("fleet {:?}", broken.law), broken.detail)
}

fn of_supervisor(broken: supervisor::Broken) -> Broken {
    Broken::new(format_args!("supervisor: {}", broken.law), broken.detail)
}
