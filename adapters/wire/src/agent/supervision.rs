//! Incidents, readings and the settings behind them, to and from what travels.

use std::time::Duration;

use mainstay_core::slot::{Check, Checks, Exit, Fault, Heard, Incident, Killer, Reading, Recovery, Scene};
use mainstay_core::{AllocationId, MachineId, ServerId, Timestamp};
use mainstay_fleet::SLOTS_PER_MACHINE_MAX;

use super::decode::{all, at_most, id, required, short, uuid};
use super::encode::millis;
use super::{CAUSE_BYTES_MAX, Incidents, Malformed, PATH_BYTES_MAX, Readings, proto};

/// The most incidents in one message: every slot of the largest machine, with all that its agent keeps.
const INCIDENTS_MAX: usize = SLOTS_PER_MACHINE_MAX * Incident::KEPT_MAX;

impl From<Incidents> for proto::Incidents {
    fn from(Incidents { machine, incidents }: Incidents) -> Self {
        Self { machine: machine.number(), incidents: incidents.into_iter().map(Into::into).collect() }
    }
}

impl TryFrom<proto::Incidents> for Incidents {
    type Error = Malformed;

    fn try_from(told: proto::Incidents) -> Result<Self, Malformed> {
        const IN: &str = "Incidents";
        Ok(Self {
            machine: id(MachineId::from_number(told.machine), IN, "machine")?,
            incidents: all(at_most(told.incidents, INCIDENTS_MAX, IN, "incidents")?)?,
        })
    }
}

impl From<Incident> for proto::Incident {
    fn from(incident: Incident) -> Self {
        let fault = match incident.fault {
            Fault::Crash => proto::Fault::Crash,
            Fault::Misbehaviour(Check::Cpu) => proto::Fault::Cpu,
            Fault::Misbehaviour(Check::Memory) => proto::Fault::Memory,
            Fault::Misbehaviour(Check::Query) => proto::Fault::Query,
        };
        Self {
            server: incident.server.number(),
            run: incident.run,
            at_ms: incident.at.unix_ms(),
            fault: fault.into(),
            cause: incident.cause.to_string(),
            exit: incident.exit.map(Into::into),
            configuration: Some(incident.configuration.into()),
            allocation: incident.allocation.map(|id| id.0.into_bytes().to_vec()),
            last_words: incident.last_words.to_string(),
            core: incident.core.map(|core| core.to_string()),
        }
    }
}

impl TryFrom<proto::Incident> for Incident {
    type Error = Malformed;

    fn try_from(told: proto::Incident) -> Result<Self, Malformed> {
        const IN: &str = "Incident";
        let meaningless = || Malformed::Meaningless { message: IN, field: "fault", value: told.fault.into() };
        let fault = match proto::Fault::try_from(told.fault).map_err(|_| meaningless())? {
            proto::Fault::Unspecified => return Err(meaningless()),
            proto::Fault::Crash => Fault::Crash,
            proto::Fault::Cpu => Fault::Misbehaviour(Check::Cpu),
            proto::Fault::Memory => Fault::Misbehaviour(Check::Memory),
            proto::Fault::Query => Fault::Misbehaviour(Check::Query),
        };
        let allocation = told.allocation.map(|id| uuid(&id, IN, "allocation").map(AllocationId));
        let core = told.core.map(|core| short(core, PATH_BYTES_MAX, IN, "core"));
        Ok(Self {
            server: id(ServerId::from_number(told.server), IN, "server")?,
            run: told.run,
            at: Timestamp::from_unix_ms(told.at_ms),
            fault,
            cause: short(told.cause, CAUSE_BYTES_MAX, IN, "cause")?.into(),
            exit: told.exit.map(TryInto::try_into).transpose()?,
            configuration: required(told.configuration, IN, "configuration")?.try_into()?,
            allocation: allocation.transpose()?,
            last_words: short(told.last_words, Scene::LAST_WORDS_BYTES_MAX, IN, "last_words")?.into(),
            core: core.transpose()?.map(Into::into),
        })
    }
}

impl From<Exit> for proto::Exit {
    fn from(exit: Exit) -> Self {
        use proto::exit::How;
        let how = match exit {
            Exit::Code(code) => How::Code(code),
            Exit::Signal { signal, killed_by: Killer::Unknown } => How::Signal(signal),
            Exit::Signal { signal, killed_by: Killer::OutOfMemory } => How::OutOfMemory(signal),
            Exit::NotStarted(why) => How::NotStarted(why.to_string()),
        };
        Self { how: Some(how) }
    }
}

impl TryFrom<proto::Exit> for Exit {
    type Error = Malformed;

    fn try_from(exit: proto::Exit) -> Result<Self, Malformed> {
        use proto::exit::How;
        Ok(match required(exit.how, "Exit", "how")? {
            How::Code(code) => Self::Code(code),
            How::Signal(signal) => Self::Signal { signal, killed_by: Killer::Unknown },
            How::OutOfMemory(signal) => Self::Signal { signal, killed_by: Killer::OutOfMemory },
            How::NotStarted(why) => {
                Self::NotStarted(short(why, CAUSE_BYTES_MAX, "Exit", "not_started")?.into())
            }
        })
    }
}

impl From<Readings> for proto::Readings {
    fn from(Readings { machine, readings }: Readings) -> Self {
        Self { machine: machine.number(), readings: readings.into_iter().map(reading).collect() }
    }
}

fn reading((server, reading): (ServerId, Reading)) -> proto::Reading {
    use proto::reading::Heard as Said;
    let Reading { cpu_millis, memory_bytes, heard } = reading;
    let heard = match heard {
        Heard::Unasked => Said::Unasked(proto::Unasked {}),
        Heard::Silence => Said::Silence(proto::Silence {}),
        Heard::Answer { players, players_max } => Said::Answer(proto::Answer { players, players_max }),
    };
    proto::Reading { server: server.number(), cpu_millis, memory_bytes, heard: Some(heard) }
}

impl TryFrom<proto::Readings> for Readings {
    type Error = Malformed;

    fn try_from(told: proto::Readings) -> Result<Self, Malformed> {
        const IN: &str = "Readings";
        let readings = at_most(told.readings, SLOTS_PER_MACHINE_MAX, IN, "readings")?;
        Ok(Self {
            machine: id(MachineId::from_number(told.machine), IN, "machine")?,
            readings: readings.into_iter().map(read).collect::<Result<_, _>>()?,
        })
    }
}

fn read(told: proto::Reading) -> Result<(ServerId, Reading), Malformed> {
    use proto::reading::Heard as Said;
    const IN: &str = "Reading";
    let heard = match required(told.heard, IN, "heard")? {
        Said::Unasked(proto::Unasked {}) => Heard::Unasked,
        Said::Silence(proto::Silence {}) => Heard::Silence,
        Said::Answer(proto::Answer { players, players_max }) => Heard::Answer { players, players_max },
    };
    let reading = Reading { cpu_millis: told.cpu_millis, memory_bytes: told.memory_bytes, heard };
    Ok((id(ServerId::from_number(told.server), IN, "server")?, reading))
}

impl From<Checks> for proto::Checks {
    fn from(checks: Checks) -> Self {
        Self {
            every_ms: millis(checks.every),
            failures: checks.failures,
            within_ms: millis(checks.within),
            cpu_tolerance_percent: checks.cpu_tolerance_percent,
            memory_tolerance_bytes: checks.memory_tolerance_bytes,
            signal: checks.signal,
        }
    }
}

impl From<proto::Checks> for Checks {
    fn from(checks: proto::Checks) -> Self {
        Self {
            every: Duration::from_millis(checks.every_ms),
            failures: checks.failures,
            within: Duration::from_millis(checks.within_ms),
            cpu_tolerance_percent: checks.cpu_tolerance_percent,
            memory_tolerance_bytes: checks.memory_tolerance_bytes,
            signal: checks.signal,
        }
    }
}

impl From<Recovery> for proto::Recovery {
    fn from(recovery: Recovery) -> Self {
        match recovery {
            Recovery::PreRecovery => Self::PreRecovery,
            Recovery::Restart => Self::Restart,
        }
    }
}

pub(super) fn recovery(told: i32) -> Result<Recovery, Malformed> {
    match proto::Recovery::try_from(told) {
        Ok(proto::Recovery::PreRecovery) => Ok(Recovery::PreRecovery),
        Ok(proto::Recovery::Restart) => Ok(Recovery::Restart),
        Err(_) => Err(Malformed::Meaningless { message: "Spec", field: "recovery", value: told.into() }),
    }
}
