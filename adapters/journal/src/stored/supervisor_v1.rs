//! Formats 1 and 2 of a supervisor's events: format 2 appends variants, and what format 1 wrote means what it meant.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Generation, ServerId, Strikes, Timestamp};
use mainstay_supervisor as domain;
use mainstay_supervisor::RunNumber;
use serde::{Deserialize, Serialize};

use super::slot_v1::{ConfigurationRef, Order, Spec};
use super::slot_v2::{self, Check, Incident};

#[derive(Serialize, Deserialize)]
pub(super) enum Event<'a> {
    #[serde(borrow)]
    SpecTaken(Spec<'a>),
    OrderTaken(Order<'a>),
    RunBegan {
        server: ServerId,
        run: u64,
        configuration: ConfigurationRef,
        generation: Generation,
    },
    Answered {
        server: ServerId,
    },
    StopBegan {
        server: ServerId,
        reason: Reason,
        rung: Rung,
    },
    StopTurned {
        server: ServerId,
        reason: Reason,
    },
    KillBegan {
        server: ServerId,
    },
    Crashed {
        server: ServerId,
        cause: &'a str,
        within: Duration,
    },
    StrikesCleared {
        server: ServerId,
    },
    Ended {
        server: ServerId,
        ending: Ending<'a>,
    },
    RestBegan {
        server: ServerId,
        until_ms: u64,
    },
    SlotForgotten {
        server: ServerId,
    },
    SlotKept {
        order: Order<'a>,
        life: Life<'a>,
        strikes_ms: Vec<u64>,
    },
    RunsCounted {
        newest: u64,
    },
    // Since format 2.
    SpecTaken2(slot_v2::Spec<'a>),
    CheckFailed {
        server: ServerId,
        check: Check,
        reading: &'a str,
        within: Duration,
    },
    Misbehaved {
        server: ServerId,
        check: Check,
    },
    IncidentNoted(Incident<'a>),
    SlotKept2 {
        order: Order<'a>,
        life: Life<'a>,
        strikes_ms: Vec<u64>,
        incidents: Vec<Incident<'a>>,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) enum Life<'a> {
    Fresh,
    Down {
        last: Run,
        #[serde(borrow)]
        ending: Ending<'a>,
    },
    Resting {
        last: Run,
        until_ms: u64,
    },
    Up {
        run: Run,
        stage: Stage,
    },
    Stopping {
        run: Run,
        began_ms: u64,
        rung: Rung,
        reason: Reason,
    },
    // Since format 2: `Up` with the failures of each check.
    Watched {
        run: Run,
        stage: Stage,
        cpu_ms: Vec<u64>,
        memory_ms: Vec<u64>,
        query_ms: Vec<u64>,
    },
}

#[derive(Serialize, Deserialize)]
pub(super) struct Run {
    number: u64,
    configuration: ConfigurationRef,
    generation: Generation,
    began_ms: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Stage {
    Started,
    Answered,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Rung {
    Signal,
    Kill,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Reason {
    Ordered,
    Replaced,
    Silent,
    Forgotten,
    Parked,
    Resumed,
    // Since format 2.
    Misbehaved(Check),
}

#[derive(Serialize, Deserialize)]
pub(super) enum Ending<'a> {
    Ordered,
    Completed,
    BackedOff {
        crashes: u32,
        #[serde(borrow)]
        cause: &'a str,
    },
    Lost,
    Parked,
    // Since format 2.
    PreRecovery {
        cause: &'a str,
    },
}

impl<'a> From<&'a domain::Event> for Event<'a> {
    fn from(event: &'a domain::Event) -> Self {
        use domain::Event as Told;
        match event {
            Told::SpecTaken { spec } => Self::SpecTaken2(spec.as_ref().into()),
            Told::OrderTaken { order } => Self::OrderTaken(order.into()),
            Told::RunBegan { server, run, configuration, generation } => Self::RunBegan {
                server: *server,
                run: run.number(),
                configuration: (*configuration).into(),
                generation: *generation,
            },
            Told::Answered { server } => Self::Answered { server: *server },
            Told::StopBegan { server, reason, rung } => {
                Self::StopBegan { server: *server, reason: (*reason).into(), rung: (*rung).into() }
            }
            Told::StopTurned { server, reason } => {
                Self::StopTurned { server: *server, reason: (*reason).into() }
            }
            Told::KillBegan { server } => Self::KillBegan { server: *server },
            Told::Crashed { server, cause, within } => {
                Self::Crashed { server: *server, cause, within: *within }
            }
            Told::StrikesCleared { server } => Self::StrikesCleared { server: *server },
            Told::Ended { server, ending } => Self::Ended { server: *server, ending: ending.into() },
            Told::RestBegan { server, until } => {
                Self::RestBegan { server: *server, until_ms: until.unix_ms() }
            }
            Told::SlotForgotten { server } => Self::SlotForgotten { server: *server },
            Told::SlotKept { slot } => {
                let domain::Slot { order, life, strikes, incidents } = slot.as_ref();
                Self::SlotKept2 {
                    order: order.into(),
                    life: life.into(),
                    strikes_ms: moments(strikes),
                    incidents: incidents.iter().map(Into::into).collect(),
                }
            }
            Told::CheckFailed { server, check, reading, within } => {
                Self::CheckFailed { server: *server, check: (*check).into(), reading, within: *within }
            }
            Told::Misbehaved { server, check } => {
                Self::Misbehaved { server: *server, check: (*check).into() }
            }
            Told::IncidentNoted { incident } => Self::IncidentNoted(incident.as_ref().into()),
            Told::RunsCounted { newest } => Self::RunsCounted { newest: newest.number() },
        }
    }
}

impl From<Event<'_>> for domain::Event {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::SpecTaken(spec) => Self::SpecTaken { spec: Arc::new(spec.into()) },
            Event::SpecTaken2(spec) => Self::SpecTaken { spec: Arc::new(spec.into()) },
            Event::OrderTaken(order) => Self::OrderTaken { order: order.into() },
            Event::RunBegan { server, run, configuration, generation } => Self::RunBegan {
                server,
                run: RunNumber::from_number(run),
                configuration: configuration.into(),
                generation,
            },
            Event::Answered { server } => Self::Answered { server },
            Event::StopBegan { server, reason, rung } => {
                Self::StopBegan { server, reason: reason.into(), rung: rung.into() }
            }
            Event::StopTurned { server, reason } => Self::StopTurned { server, reason: reason.into() },
            Event::KillBegan { server } => Self::KillBegan { server },
            Event::Crashed { server, cause, within } => Self::Crashed { server, cause: cause.into(), within },
            Event::StrikesCleared { server } => Self::StrikesCleared { server },
            Event::Ended { server, ending } => Self::Ended { server, ending: ending.into() },
            Event::RestBegan { server, until_ms } => {
                Self::RestBegan { server, until: Timestamp::from_unix_ms(until_ms) }
            }
            Event::SlotForgotten { server } => Self::SlotForgotten { server },
            Event::SlotKept { order, life, strikes_ms } => kept(order, life, strikes_ms, Vec::new()),
            Event::SlotKept2 { order, life, strikes_ms, incidents } => {
                kept(order, life, strikes_ms, incidents)
            }
            Event::CheckFailed { server, check, reading, within } => {
                Self::CheckFailed { server, check: check.into(), reading: reading.into(), within }
            }
            Event::Misbehaved { server, check } => Self::Misbehaved { server, check: check.into() },
            Event::IncidentNoted(incident) => Self::IncidentNoted { incident: Box::new(incident.into()) },
            Event::RunsCounted { newest } => Self::RunsCounted { newest: RunNumber::from_number(newest) },
        }
    }
}

fn kept(
    order: Order<'_>,
    life: Life<'_>,
    strikes_ms: Vec<u64>,
    incidents: Vec<Incident<'_>>,
) -> domain::Event {
    let incidents = incidents.into_iter().map(Into::into).collect();
    let slot =
        domain::Slot { order: order.into(), life: life.into(), strikes: strikes(strikes_ms), incidents };
    domain::Event::SlotKept { slot: Box::new(slot) }
}

fn moments(strikes: &Strikes) -> Vec<u64> {
    strikes.moments().iter().map(|moment| moment.unix_ms()).collect()
}

fn strikes(moments_ms: Vec<u64>) -> Strikes {
    Strikes::from_moments(moments_ms.into_iter().map(Timestamp::from_unix_ms).collect())
}

impl<'a> From<&'a domain::Life> for Life<'a> {
    fn from(life: &'a domain::Life) -> Self {
        match life {
            domain::Life::Fresh => Self::Fresh,
            domain::Life::Down { last, ending } => Self::Down { last: last.into(), ending: ending.into() },
            domain::Life::Resting { last, until } => {
                Self::Resting { last: last.into(), until_ms: until.unix_ms() }
            }
            domain::Life::Up { run, stage, failures } => Self::Watched {
                run: run.into(),
                stage: match stage {
                    domain::Stage::Started => Stage::Started,
                    domain::Stage::Answered => Stage::Answered,
                },
                cpu_ms: moments(&failures.cpu),
                memory_ms: moments(&failures.memory),
                query_ms: moments(&failures.query),
            },
            domain::Life::Stopping { run, began, rung, reason } => Self::Stopping {
                run: run.into(),
                began_ms: began.unix_ms(),
                rung: (*rung).into(),
                reason: (*reason).into(),
            },
        }
    }
}

impl From<Life<'_>> for domain::Life {
    fn from(life: Life<'_>) -> Self {
        match life {
            Life::Fresh => Self::Fresh,
            Life::Down { last, ending } => Self::Down { last: last.into(), ending: ending.into() },
            Life::Resting { last, until_ms } => {
                Self::Resting { last: last.into(), until: Timestamp::from_unix_ms(until_ms) }
            }
            Life::Up { run, stage } => {
                let failures = domain::Failures::default();
                Self::Up { run: run.into(), stage: stage.into(), failures }
            }
            Life::Watched { run, stage, cpu_ms, memory_ms, query_ms } => {
                let failures = domain::Failures {
                    cpu: strikes(cpu_ms),
                    memory: strikes(memory_ms),
                    query: strikes(query_ms),
                };
                Self::Up { run: run.into(), stage: stage.into(), failures }
            }
            Life::Stopping { run, began_ms, rung, reason } => Self::Stopping {
                run: run.into(),
                began: Timestamp::from_unix_ms(began_ms),
                rung: rung.into(),
                reason: reason.into(),
            },
        }
    }
}

impl From<Stage> for domain::Stage {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Started => Self::Started,
            Stage::Answered => Self::Answered,
        }
    }
}

impl From<&domain::Run> for Run {
    fn from(domain::Run { number, configuration, generation, began }: &domain::Run) -> Self {
        Self {
            number: number.number(),
            configuration: (*configuration).into(),
            generation: *generation,
            began_ms: began.unix_ms(),
        }
    }
}

impl From<Run> for domain::Run {
    fn from(Run { number, configuration, generation, began_ms }: Run) -> Self {
        Self {
            number: RunNumber::from_number(number),
            configuration: configuration.into(),
            generation,
            began: Timestamp::from_unix_ms(began_ms),
        }
    }
}

impl From<domain::Rung> for Rung {
    fn from(rung: domain::Rung) -> Self {
        match rung {
            domain::Rung::Signal => Self::Signal,
            domain::Rung::Kill => Self::Kill,
        }
    }
}

impl From<Rung> for domain::Rung {
    fn from(rung: Rung) -> Self {
        match rung {
            Rung::Signal => Self::Signal,
            Rung::Kill => Self::Kill,
        }
    }
}

impl From<domain::Reason> for Reason {
    fn from(reason: domain::Reason) -> Self {
        match reason {
            domain::Reason::Ordered => Self::Ordered,
            domain::Reason::Replaced => Self::Replaced,
            domain::Reason::Silent => Self::Silent,
            domain::Reason::Misbehaved(check) => Self::Misbehaved(check.into()),
            domain::Reason::Forgotten => Self::Forgotten,
            domain::Reason::Parked => Self::Parked,
            domain::Reason::Resumed => Self::Resumed,
        }
    }
}

impl From<Reason> for domain::Reason {
    fn from(reason: Reason) -> Self {
        match reason {
            Reason::Ordered => Self::Ordered,
            Reason::Replaced => Self::Replaced,
            Reason::Silent => Self::Silent,
            Reason::Misbehaved(check) => Self::Misbehaved(check.into()),
            Reason::Forgotten => Self::Forgotten,
            Reason::Parked => Self::Parked,
            Reason::Resumed => Self::Resumed,
        }
    }
}

impl<'a> From<&'a domain::Ending> for Ending<'a> {
    fn from(ending: &'a domain::Ending) -> Self {
        match ending {
            domain::Ending::Ordered => Self::Ordered,
            domain::Ending::Completed => Self::Completed,
            domain::Ending::BackedOff { crashes, cause } => Self::BackedOff { crashes: *crashes, cause },
            domain::Ending::PreRecovery { cause } => Self::PreRecovery { cause },
            domain::Ending::Lost => Self::Lost,
            domain::Ending::Parked => Self::Parked,
        }
    }
}

impl From<Ending<'_>> for domain::Ending {
    fn from(ending: Ending<'_>) -> Self {
        match ending {
            Ending::Ordered => Self::Ordered,
            Ending::Completed => Self::Completed,
            Ending::BackedOff { crashes, cause } => Self::BackedOff { crashes, cause: cause.into() },
            Ending::PreRecovery { cause } => Self::PreRecovery { cause: cause.into() },
            Ending::Lost => Self::Lost,
            Ending::Parked => Self::Parked,
        }
    }
}
