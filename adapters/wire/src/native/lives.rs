//! What there is to say of a machine's life, in a sentence for people.

use mainstay_core::{MachineId, Timestamp};
use mainstay_fleet::{Absence, Duty, Fate, Fleet, Life, Machine, Origin, Parting, ServerStatus};

use crate::multiplay::instant;

/// How a machine came to be.
pub(super) const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Joined => "joined",
        Origin::Made => "made",
    }
}

/// `None` where there is nothing more to say.
pub(super) fn detail(fleet: &Fleet, id: MachineId, machine: &Machine) -> Option<String> {
    match machine.life {
        Life::Requested { at, until, .. } => {
            let failed = match fleet.errand_failures(id) {
                0 => String::new(),
                failures => format!("; its provider has failed {failures} times"),
            };
            Some(format!("asked of its provider {}, given up {}{failed}", when(at), when(until)))
        }
        Life::Serving => match (fleet.silent_since(id), machine.duty.withdrawn(), machine.returned) {
            (Some(since), _, _) => {
                let lost = since + fleet.machine_policy().lost_after;
                Some(format!("silent since {}, lost {} unless it is heard before", when(since), when(lost)))
            }
            (None, Some(since), _) => {
                let counts = machine.counts();
                let (claimed, held) = (counts.claimed(), counts.of(ServerStatus::Held));
                Some(format!(
                    "withdrawn by an operator {}: it takes nobody, and {claimed} of its servers are still allocated or \
                     reserved, {held} held",
                    when(since)
                ))
            }
            (None, None, Some((at, absence))) => {
                Some(format!("came back {}: {}", when(at), returned(absence)))
            }
            (None, None, None) => None,
        },
        Life::Draining { since } => {
            let why = match machine.duty {
                Duty::InService => "idle past its TTL",
                Duty::Drained { .. } => "drained by an operator",
                Duty::Leaving { .. } => "to be removed by an operator",
            };
            Some(format!("{why}, its servers stop since {}", when(since)))
        }
        Life::Emptied { since } => {
            let until = match machine.duty {
                Duty::InService => "",
                Duty::Drained { .. } => ", and none will before an operator undrains it",
                Duty::Leaving { .. } => ", and it is being removed",
            };
            Some(format!("none of its servers runs since {}{until}", when(since)))
        }
        Life::Lost { at } => Some(format!("lost {}: {}", when(at), fate(fleet.fate(id)))),
        Life::Removing { since, why } => {
            let failed = match fleet.errand_failures(id) {
                0 => String::new(),
                failures => format!("; its provider has failed {failures} times"),
            };
            let what = match machine.origin {
                Origin::Made => "given back to its provider",
                Origin::Joined => "taken out of the fleet",
            };
            Some(format!("{what} {}: {}{failed}", when(since), parting(why)))
        }
    }
}

const fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Unknown => "nobody knows whether it died or is cut off",
        Fate::CutOff => "its provider still has it, so it is cut off and may play on",
    }
}

const fn returned(absence: Absence) -> &'static str {
    match absence {
        Absence::Unknown => "it does not say whether it had died or was cut off",
        Absence::CutOff => "it ran all the time and was cut off",
        Absence::Rebooted => "it had died and was started again",
    }
}

const fn parting(why: Parting) -> &'static str {
    match why {
        Parting::Idle => "it idled past the delete TTL",
        Parting::NeverCame => "it had not joined in time",
        Parting::Lost => "it was lost and did not come back",
        Parting::Died => "it died: its provider no longer has it",
        Parting::ByHand => "an operator removed it",
    }
}

fn when(at: Timestamp) -> String {
    instant(at).to_string()
}
