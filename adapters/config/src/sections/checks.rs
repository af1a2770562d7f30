//! `checks` and `recovery` of a build configuration: seed 001, game server events.

use mainstay_core::{STRIKES_MAX, slot};

use super::configurations::block;
use super::fleets::small;
use super::no_effect;
use crate::codes::Code;
use crate::limits::{CHECKS_EVERY, CHECKS_WITHIN, CPU_TOLERANCE_PERCENT_MAX};
use crate::model::{Checks, MisbehaviourSignal, Query, QueryKind, Recovery};
use crate::place::Sourced;
use crate::problem::Problem;
use crate::read::{Check, Fields, Keys};
use crate::scalar;

pub(super) const CHECKS: Keys =
    Keys { known: &["every", "failures", "within", "cpuTolerance", "memoryTolerance", "signal"], later: &[] };

const RECOVERIES: &[(&str, Recovery)] =
    &[("preRecovery", Recovery::PreRecovery), ("restart", Recovery::Restart)];

pub(crate) fn checks(check: &mut Check<'_>, fields: &Fields<'_>) -> Checks {
    let usual = slot::Checks::default();
    let block = block(check, fields, "checks", CHECKS);
    let failures = block.whole(check, "failures", (1, STRIKES_MAX as u64));
    let checks = Checks {
        every: block.duration(check, "every", usual.every, CHECKS_EVERY),
        failures: failures.map_or(Sourced::default_of(usual.failures), |failures| failures.map(small)),
        within: block.duration(check, "within", usual.within, CHECKS_WITHIN),
        cpu_tolerance_percent: percent(check, &block)
            .unwrap_or(Sourced::default_of(usual.cpu_tolerance_percent)),
        memory_tolerance_bytes: block
            .memory(check, "memoryTolerance")
            .unwrap_or(Sourced::default_of(usual.memory_tolerance_bytes)),
        signal: block
            .one_of(check, "signal", MisbehaviourSignal::NAMES)
            .unwrap_or(Sourced::default_of(MisbehaviourSignal::Segv)),
    };
    window_holds_the_failures(check, fields, &checks);
    checks
}

fn percent(check: &mut Check<'_>, block: &Fields<'_>) -> Option<Sourced<u32>> {
    let parse = |text: &str| {
        let number = scalar::whole(text.trim().strip_suffix('%').unwrap_or(text))?;
        u32::try_from(number).ok().filter(|percent| *percent <= CPU_TOLERANCE_PERCENT_MAX)
    };
    let refuse = |problem: Problem| {
        problem
            .why(format!(
                "cpuTolerance is a whole percentage of the limit, 0% to {CPU_TOLERANCE_PERCENT_MAX}%"
            ))
            .fix("for example cpuTolerance: 10%")
    };
    block.parsed(check, "cpuTolerance", parse, refuse, Code::BadNumber)
}

/// Checks that are further apart than the window allows can never fail often enough within it.
fn window_holds_the_failures(check: &mut Check<'_>, fields: &Fields<'_>, checks: &Checks) {
    let needed = checks.every.value.saturating_mul(checks.failures.value.saturating_sub(1));
    if needed < checks.within.value {
        return;
    }
    let written = [checks.within.place(), checks.failures.place(), checks.every.place()];
    let Some(place) = written.into_iter().flatten().next() else { return };
    let what = format!("{} can never find a server misbehaving", fields.named("checks"));
    let why = format!(
        "{} failures of a check made every {} take {}, which is not less than the window of {}",
        checks.failures.value,
        scalar::show(checks.every.value),
        scalar::show(needed),
        scalar::show(checks.within.value)
    );
    no_effect(check, what, place, &why);
}

pub(crate) fn recovery(check: &mut Check<'_>, fields: &Fields<'_>, query: &Query) -> Sourced<Recovery> {
    let recovery = fields.one_of(check, "recovery", RECOVERIES);
    if let (Some(place), QueryKind::None) = (recovery.as_ref().and_then(Sourced::place), &query.kind.value) {
        let what = format!("{} has no effect without a queryType", fields.named("recovery"));
        no_effect(check, what, place, "only a server that is asked can be found silent");
    }
    recovery.unwrap_or(Sourced::default_of(Recovery::PreRecovery))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_defaults_are_the_seeds() {
        let usual = slot::Checks::default();
        assert_eq!(usual.every, Duration::from_secs(60), "every minute");
        assert_eq!(
            (usual.failures, usual.within),
            (3, Duration::from_secs(1800)),
            "three times in 30 minutes"
        );
        assert_eq!((usual.cpu_tolerance_percent, usual.memory_tolerance_bytes), (10, 200_000_000));
        assert_eq!(usual.signal, MisbehaviourSignal::Segv.number());
    }
}
