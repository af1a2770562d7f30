//! What there is to say of a machine's life, in a sentence for people.

use mainstay_core::{MachineId, Timestamp};
use mainstay_fleet::{Absence, Fate, Fleet, Life, Machine, Origin, Parting};

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
        Life::Serving => match (fleet.silent_since(id), machine.returned) {
            (Some(since), _) => {
                let lost = since + fleet.machine_policy().lost_after;
                Some(format!("silent since {}, lost {} unless it is heard before", when(since), when(lost)))
            }
            (None, Some((at, absence))) => Some(format!("came back {}: {}", when(at), returned(absence))),
            (None, None) => None,
        },
        Life::Draining { since } => {
            Some(format!("idle past its TTL, its servers stop since {}", when(since)))
        }
        Life::Emptied { since } => Some(format!("none of its servers runs since {}", when(since))),
        Life::Lost { at } => Some(format!("lost {}: {}", when(at), fate(fleet.fate(id)))),
        Life::Removing { since, why } => {
            let failed = match fleet.errand_failures(id) {
                0 => String::new(),
                failures => format!("; its provider has failed {failures} times"),
            };
            Some(format!("given back to its provider {}: {}{failed}", when(since), parting(why)))
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
    }
}

fn when(at: Timestamp) -> String {
    instant(at).to_string()
}
