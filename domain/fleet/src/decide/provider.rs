//! What machine providers answer: errands that are done or failed, and the list of the machines they have.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use mainstay_core::{MachineId, RegionId, Timestamp, Turn};

use super::drain;
use crate::command::{Answer, Observation};
use crate::errand::{Outcome, Verb};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::life::{Life, Origin, Parting};
use crate::policy::Provided;

/// An errand is done or failed. What is told of one that is no longer wanted changes nothing.
pub(super) fn take_outcome(
    turn: &mut Turn<'_, Fleet>,
    machine: MachineId,
    verb: Verb,
    outcome: Outcome,
) -> Answer {
    let Some(life) = turn.state().machine(machine).map(|machine| machine.life) else { return Answer::Known };
    match (life, verb, outcome) {
        (Life::Requested { .. }, Verb::Create { .. }, Outcome::Done) => {
            turn.observe(Observation::ErrandDone(machine));
        }
        (Life::Requested { .. }, Verb::Create { .. }, Outcome::Failed) => {
            if turn.state().errand_failures(machine) + 1 >= Provided::CREATE_TRIES_MAX {
                drain::part(turn, machine, Parting::NeverCame);
            } else {
                rest(turn, machine);
            }
        }
        (Life::Removing { .. }, Verb::Delete | Verb::Revoke, Outcome::Done) => {
            turn.emit(Event::MachineRemoved { machine })
        }
        (Life::Removing { .. }, Verb::Delete | Verb::Revoke, Outcome::Failed) => rest(turn, machine),
        (Life::Requested { .. }, Verb::Delete | Verb::Revoke, _)
        | (Life::Removing { .. }, Verb::Create { .. }, _) => {}
        (Life::Serving | Life::Draining { .. } | Life::Emptied { .. } | Life::Lost { .. }, _, _) => {}
    }
    Answer::Done
}

/// A provider that failed is asked again, each time after twice as long.
fn rest(turn: &mut Turn<'_, Fleet>, machine: MachineId) {
    let state = turn.state();
    let failures = state.errand_failures(machine) + 1;
    let provided = state.machine(machine).and_then(|machine| state.provided(machine.region));
    let pause = provided.map_or(Provided::RETRY_MAX, |provided| provided.pause(failures));
    let until = turn.now() + pause;
    turn.observe(Observation::ErrandFailed { machine, until });
}

/// Errands that failed are run again.
pub(super) fn retry(turn: &mut Turn<'_, Fleet>) {
    while let Some(&(due, machine)) = turn.state().resting.first() {
        if due > turn.now() {
            return;
        }
        turn.observe(Observation::ErrandAgain(machine));
    }
}

/// Compares what a region's provider has with what this fleet knows: what it does not know is an orphan, and a lost machine
/// that is not there any more has died.
///
/// A machine with a counter that was never given out is none of this journal's: it was restored from an older copy, and
/// what was made after that copy is not to be played on any more.
pub(super) fn take_listing(
    turn: &mut Turn<'_, Fleet>,
    region: RegionId,
    asked: Timestamp,
    listed: &[MachineId],
) -> Answer {
    let listed: BTreeSet<MachineId> = listed.iter().copied().collect();
    let of_region =
        |(id, machine): (&MachineId, &crate::machine::Machine)| match (machine.origin, machine.life) {
            (Origin::Made, Life::Lost { at }) if machine.region == region && at <= asked => Some(*id),
            (
                Origin::Made | Origin::Joined,
                Life::Lost { .. }
                | Life::Requested { .. }
                | Life::Serving
                | Life::Draining { .. }
                | Life::Emptied { .. }
                | Life::Removing { .. },
            ) => None,
        };
    let lost: Vec<MachineId> = turn.state().machines.iter().filter_map(of_region).collect();
    for machine in lost {
        let held = turn.state().machine(machine).and_then(crate::machine::Machine::held_until);
        if listed.contains(&machine) {
            turn.observe(Observation::StillListed(machine));
        } else if held.is_none() {
            drain::part(turn, machine, Parting::Died);
        }
    }
    let unknown = listed.into_iter().filter(|machine| turn.state().machine(*machine).is_none());
    Answer::Orphans(unknown.collect())
}
