//! The laws the rules themselves state, and the law of replay: what the journal tells is what was decided.

use mainstay_core::{StateMachine as _, Timestamp};
use mainstay_fleet::{Fleet, laws as fleet};
use mainstay_supervisor::{Supervisor, laws as supervisor};

use super::{Broken, ensure};

pub(crate) fn after_fleet(state: &Fleet, event: &mainstay_fleet::Event) -> Result<(), Broken> {
    fleet::after(state, event).map_err(of_fleet)
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

/// One durable event against all before it.
pub(crate) fn history(
    history: &mut supervisor::History,
    at: Timestamp,
    event: &mainstay_supervisor::Event,
) -> Result<(), Broken> {
    history.watch(at, event).map_err(of_supervisor)
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
