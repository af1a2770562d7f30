//! What travels between the parts of a world.

use std::fmt;
use std::time::Duration;

use mainstay_core::slot::{Exit, Incident, Reading, Status};
use mainstay_core::{AllocationId, BuildConfigurationId, Generation, MachineId, ReservationId, ServerId};
use mainstay_fleet::{Allocation, End, Errand, Outcome, Owed, Rejection, Request, Stage, StreamId, Verb};
use mainstay_journal::Batch;
use mainstay_supervisor::{Effects, RunNumber};

use crate::os::Found;

/// Which life of a process: what belongs to an earlier one is ignored.
pub(crate) type Life = u32;
/// Which machine of the world.
pub(crate) type Host = usize;
/// Which slot of it.
pub(crate) type SlotIndex = usize;
/// Which call of the world.
pub(crate) type CallIndex = usize;

/// Everything that can happen.
#[derive(Debug)]
pub(crate) enum Happening {
    PlaneStarts,
    PlaneSynced { life: Life, batch: Batch },
    PlaneLooksForSpace { life: Life },
    PlaneDue { life: Life },
    FrameUp { stream: StreamId, up: Up },
    FrameDown { stream: StreamId, down: Down },
    FrameAgain { host: Host, life: Life, owed: Owed },
    PlaneNoticesEnd { life: Life, stream: StreamId },
    AgentStarts { host: Host },
    AgentDials { host: Host, life: Life },
    AgentNoticesEnd { host: Host, life: Life, stream: StreamId },
    AgentSynced { host: Host, life: Life, batch: Batch },
    AgentLooksForSpace { host: Host, life: Life },
    AgentDue { host: Host, life: Life },
    JobActs { host: Host, life: Life, slot: SlotIndex, job: Job },
    JobDone { host: Host, life: Life, slot: SlotIndex, result: JobResult },
    HolderLocks { host: Host, life: Life, boot: u64, slot: SlotIndex, run: RunNumber },
    GameEnds { host: Host, slot: SlotIndex, pid: u32, exit: Exit, own: OwnWill },
    AgentHearsExit { host: Host, life: Life, slot: SlotIndex, run: RunNumber, exit: Exit },
    AgentHearsLoss { host: Host, life: Life, slot: SlotIndex, run: RunNumber },
    AgentLeaves { host: Host, life: Life },
    CallArrives { call: CallIndex },
    AnswerArrives { call: CallIndex, said: Said },
    CallerActs { caller: usize },
    CallerGivesUp { caller: usize, call: CallIndex },
    ProviderActs { machine: MachineId, verb: Verb },
    ProviderAnswers { life: Life, machine: MachineId, verb: Verb, outcome: Outcome },
    ProviderLists,
}

/// Whether a game ends by itself. After healing none does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnWill {
    Yes,
    No,
}

/// From agent to plane.
#[derive(Debug)]
pub(crate) enum Up {
    Join { slots: usize, boot: u64 },
    Connect { statuses: Vec<Status> },
    Report { statuses: Vec<Status> },
    Incidents { incidents: Vec<Incident> },
    Readings { readings: Vec<(ServerId, Reading)> },
}

/// From plane to agent.
#[derive(Debug)]
pub(crate) enum Down {
    Joined { servers: Vec<ServerId> },
    Owed(Owed),
}

/// One thing an agent's hand does to a slot.
#[derive(Debug, Clone)]
pub(crate) enum Job {
    Write(mainstay_supervisor::SessionFile),
    Look(RunNumber),
    Start(Launch),
    Probe(RunNumber),
    Check(RunNumber),
    Signal { run: RunNumber, signal: i32 },
    Kill(RunNumber),
}

/// What a start carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Launch {
    pub(crate) run: RunNumber,
    pub(crate) configuration: mainstay_core::slot::ConfigurationRef,
    /// The allocation that the newest order had when the start was owed.
    pub(crate) ordered: Option<AllocationId>,
}

/// How a job ended.
#[derive(Debug)]
pub(crate) enum JobResult {
    Wrote(mainstay_supervisor::SessionFile),
    Found { run: RunNumber, found: Found },
    Answered(RunNumber),
    Silent,
    Delivered { run: RunNumber, rung: mainstay_supervisor::Rung },
    NeverRan(RunNumber),
    Checked { run: RunNumber, reading: Reading },
}

/// What a plane's turn releases once it is durable.
#[derive(Debug, Default)]
pub(crate) struct PlaneRelease {
    pub(crate) reply: Option<Reply>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) errands: Vec<Errand>,
}

/// Orders for one machine's stream.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) stream: StreamId,
    pub(crate) machine: MachineId,
    pub(crate) owed: Owed,
}

/// The answer to whoever caused a turn.
#[derive(Debug)]
pub(crate) enum Reply {
    Call {
        call: CallIndex,
        said: Said,
    },
    Joined {
        stream: StreamId,
        machine: MachineId,
        servers: Vec<ServerId>,
    },
    Close {
        stream: StreamId,
    },
    /// What the provider has and nobody knows.
    Orphans(Vec<MachineId>),
}

/// What an agent's turn releases once it is durable.
#[derive(Debug, Default)]
pub(crate) struct AgentRelease {
    pub(crate) effects: Vec<Due>,
    pub(crate) statuses: Vec<Status>,
    /// What was last read of each slot's process; nothing where none runs.
    pub(crate) readings: Vec<(ServerId, Option<Reading>)>,
    /// The stream that a first full report is for.
    pub(crate) connects: Option<StreamId>,
}

/// What one slot is owed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Due {
    pub(crate) slot: SlotIndex,
    pub(crate) effects: Effects,
}

/// What a caller wants.
#[derive(Debug, Clone)]
pub(crate) enum Want {
    Allocate {
        id: AllocationId,
        request: Request,
    },
    Deallocate {
        id: AllocationId,
    },
    Read {
        id: AllocationId,
    },
    Operate(Operation),
    /// A game asks; which order its process runs under goes with it.
    Ask {
        server: ServerId,
        process: Generation,
        what: GameAsk,
    },
}

/// What a game asks of the plane.
#[derive(Debug, Clone, Copy)]
pub(crate) enum GameAsk {
    /// To be held for so long.
    Hold(Duration),
    ReleaseHold,
    Reserve(ReservationId),
    Unreserve,
    Ready,
    Unready,
}

/// What an operator wants.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    Start(ServerId),
    Stop(ServerId),
    Restart(ServerId),
    Release(ServerId),
    Assign(ServerId, BuildConfigurationId),
    Drain(MachineId),
    Undrain(MachineId),
    Remove(MachineId),
    Reconfigure,
}

/// What a caller is told.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    /// How the allocation stands.
    Stands(View),
    /// There is no such allocation.
    NoSuch,
    /// It was refused.
    Refused(Box<Rejection>),
    /// The plane's disk is full.
    DiskFull,
    /// Done.
    Done,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stands(View { rank, server, end }) => {
                write!(f, "{rank:?}")?;
                if let Some(server) = server {
                    write!(f, " on {server}")?;
                }
                end.as_ref().map_or(Ok(()), |end| write!(f, ": {end:?}"))
            }
            Self::NoSuch => f.write_str("no such allocation"),
            Self::Refused(rejection) => write!(f, "refused, {}: {rejection}", rejection.code()),
            Self::DiskFull => f.write_str("the disk is full"),
            Self::Done => f.write_str("done"),
        }
    }
}

/// An allocation as a caller sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) rank: Rank,
    pub(crate) server: Option<ServerId>,
    pub(crate) end: Option<End>,
}

/// How far an allocation is; it never goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Waiting,
    Placed,
    Fulfilled,
    Ended,
}

impl View {
    pub(crate) fn of(allocation: &Allocation) -> Self {
        let rank = match &allocation.stage {
            Stage::Waiting { .. } => Rank::Waiting,
            Stage::Placed(_) => Rank::Placed,
            Stage::Fulfilled { .. } => Rank::Fulfilled,
            Stage::Ended { .. } => Rank::Ended,
        };
        Self {
            rank,
            server: allocation.placed().map(|placed| placed.server),
            end: allocation.end().map(|(_, end)| end.clone()),
        }
    }
}
