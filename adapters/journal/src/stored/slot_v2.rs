//! What plane and agent say about a slot since format 2: the settings of its checks, and how its processes ended. What has
//! not changed since format 1 is told in its words.

use std::time::Duration;

use mainstay_core::slot;
use mainstay_core::{AllocationId, ServerId, Timestamp};
use serde::{Deserialize, Serialize};

use super::slot_v1::{self, ConfigurationRef};

/// A build configuration: format 1's, and what came after it.
#[derive(Serialize, Deserialize)]
pub(super) struct Spec<'a> {
    #[serde(borrow)]
    before: slot_v1::Spec<'a>,
    checks: Checks,
    recovery: Recovery,
}

#[derive(Serialize, Deserialize)]
struct Checks {
    every: Duration,
    failures: u32,
    within: Duration,
    cpu_tolerance_percent: u32,
    memory_tolerance_bytes: u64,
    signal: i32,
}

#[derive(Serialize, Deserialize)]
enum Recovery {
    PreRecovery,
    Restart,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Check {
    Cpu,
    Memory,
    Query,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Fault {
    Crash,
    Misbehaviour(Check),
}

#[derive(Serialize, Deserialize)]
pub(super) enum Exit<'a> {
    Code(i32),
    Signal(i32),
    OutOfMemory(i32),
    #[serde(borrow)]
    NotStarted(&'a str),
}

#[derive(Serialize, Deserialize)]
pub(super) struct Incident<'a> {
    server: ServerId,
    run: u64,
    at_ms: u64,
    fault: Fault,
    #[serde(borrow)]
    cause: &'a str,
    exit: Option<Exit<'a>>,
    configuration: ConfigurationRef,
    allocation: Option<AllocationId>,
    last_words: &'a str,
    core: Option<&'a str>,
}

impl<'a> From<&'a slot::Spec> for Spec<'a> {
    fn from(spec: &'a slot::Spec) -> Self {
        Self { before: spec.into(), checks: spec.checks.into(), recovery: spec.recovery.into() }
    }
}

impl From<Spec<'_>> for slot::Spec {
    fn from(Spec { before, checks, recovery }: Spec<'_>) -> Self {
        Self { checks: checks.into(), recovery: recovery.into(), ..before.into() }
    }
}

impl From<slot::Checks> for Checks {
    fn from(checks: slot::Checks) -> Self {
        let slot::Checks { every, failures, within, cpu_tolerance_percent, memory_tolerance_bytes, signal } =
            checks;
        Self { every, failures, within, cpu_tolerance_percent, memory_tolerance_bytes, signal }
    }
}

impl From<Checks> for slot::Checks {
    fn from(checks: Checks) -> Self {
        let Checks { every, failures, within, cpu_tolerance_percent, memory_tolerance_bytes, signal } =
            checks;
        Self { every, failures, within, cpu_tolerance_percent, memory_tolerance_bytes, signal }
    }
}

impl From<slot::Recovery> for Recovery {
    fn from(recovery: slot::Recovery) -> Self {
        match recovery {
            slot::Recovery::PreRecovery => Self::PreRecovery,
            slot::Recovery::Restart => Self::Restart,
        }
    }
}

impl From<Recovery> for slot::Recovery {
    fn from(recovery: Recovery) -> Self {
        match recovery {
            Recovery::PreRecovery => Self::PreRecovery,
            Recovery::Restart => Self::Restart,
        }
    }
}

impl From<slot::Check> for Check {
    fn from(check: slot::Check) -> Self {
        match check {
            slot::Check::Cpu => Self::Cpu,
            slot::Check::Memory => Self::Memory,
            slot::Check::Query => Self::Query,
        }
    }
}

impl From<Check> for slot::Check {
    fn from(check: Check) -> Self {
        match check {
            Check::Cpu => Self::Cpu,
            Check::Memory => Self::Memory,
            Check::Query => Self::Query,
        }
    }
}

impl From<slot::Fault> for Fault {
    fn from(fault: slot::Fault) -> Self {
        match fault {
            slot::Fault::Crash => Self::Crash,
            slot::Fault::Misbehaviour(check) => Self::Misbehaviour(check.into()),
        }
    }
}

impl From<Fault> for slot::Fault {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Crash => Self::Crash,
            Fault::Misbehaviour(check) => Self::Misbehaviour(check.into()),
        }
    }
}

impl<'a> From<&'a slot::Exit> for Exit<'a> {
    fn from(exit: &'a slot::Exit) -> Self {
        match exit {
            slot::Exit::Code(code) => Self::Code(*code),
            slot::Exit::Signal { signal, killed_by: slot::Killer::Unknown } => Self::Signal(*signal),
            slot::Exit::Signal { signal, killed_by: slot::Killer::OutOfMemory } => Self::OutOfMemory(*signal),
            slot::Exit::NotStarted(why) => Self::NotStarted(why),
        }
    }
}

impl From<Exit<'_>> for slot::Exit {
    fn from(exit: Exit<'_>) -> Self {
        match exit {
            Exit::Code(code) => Self::Code(code),
            Exit::Signal(signal) => Self::Signal { signal, killed_by: slot::Killer::Unknown },
            Exit::OutOfMemory(signal) => Self::Signal { signal, killed_by: slot::Killer::OutOfMemory },
            Exit::NotStarted(why) => Self::NotStarted(why.into()),
        }
    }
}

impl<'a> From<&'a slot::Incident> for Incident<'a> {
    fn from(incident: &'a slot::Incident) -> Self {
        Self {
            server: incident.server,
            run: incident.run,
            at_ms: incident.at.unix_ms(),
            fault: incident.fault.into(),
            cause: &incident.cause,
            exit: incident.exit.as_ref().map(Into::into),
            configuration: incident.configuration.into(),
            allocation: incident.allocation,
            last_words: &incident.last_words,
            core: incident.core.as_deref(),
        }
    }
}

impl From<Incident<'_>> for slot::Incident {
    fn from(incident: Incident<'_>) -> Self {
        Self {
            server: incident.server,
            run: incident.run,
            at: Timestamp::from_unix_ms(incident.at_ms),
            fault: incident.fault.into(),
            cause: incident.cause.into(),
            exit: incident.exit.map(Into::into),
            configuration: incident.configuration.into(),
            allocation: incident.allocation,
            last_words: incident.last_words.into(),
            core: incident.core.map(Into::into),
        }
    }
}
