//! A server is two facts, process and claim; the statuses others see are one table over the two.

use alloc::boxed::Box;

use mainstay_core::slot::{ConfigurationRef, Incident, Intent, Phase, Reading};
use mainstay_core::{AllocationId, Generation, MachineId, Timestamp};

use crate::cause::Cause;
use crate::choice::Choice;
use crate::claim::{Claim, Reservation};
use crate::machine::Ports;

/// A slot and its game-server process.
#[derive(Debug, Clone)]
pub struct Server {
    /// The machine it is a slot of.
    pub machine: MachineId,
    /// Its ports.
    pub ports: Ports,
    /// Who it is for.
    pub claim: Claim,
    /// The newest order given; [`Generation::NONE`] before the first.
    pub generation: Generation,
    /// What it runs, when it runs.
    pub configuration: ConfigurationRef,
    /// What that order wants of the process.
    pub intent: Intent,
    /// Why it got that order.
    pub cause: Cause,
    /// Whether its game says it takes players.
    pub readiness: Readiness,
    /// The newest process of it that ended as nobody wished.
    pub(crate) incident: Option<Box<Incident>>,
    /// What its agent last read of its process. Soft: `None` until it has said so to this leader, and where none runs.
    pub(crate) reading: Option<Reading>,
    /// What its agent last said. Soft: `None` until the agent has spoken to this leader.
    pub(crate) seen: Option<Seen>,
    /// The newest order sent on the machine's current stream. Soft.
    pub(crate) sent: Generation,
    /// What its newest allocation was placed among. Soft.
    pub(crate) choice: Option<Choice>,
    /// Since when it has stood as it stands. Soft.
    pub(crate) stands_since: Timestamp,
}

/// What a game last said of itself. It lasts as long as the process and the allocation it was said for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readiness {
    /// Nothing yet, or that it takes no players.
    Unready,
    /// That it takes players.
    Ready,
}

/// What an agent last said of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// The newest order it has obeyed.
    pub generation: Generation,
    /// What runs, or last ran.
    pub configuration: Option<ConfigurationRef>,
    /// The newest run of its process; 0 before the first, and where its agent does not say.
    pub run: u64,
    /// The life of the process.
    pub phase: Phase,
}

/// The status of a server as Multiplay's clients see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerStatus {
    /// Has an active allocation.
    Allocated,
    /// Serves players its game let in by itself.
    Reserved,
    /// Does not run; a member of the pool.
    Available,
    /// Runs, for nobody.
    Online,
    /// Runs, for nobody, and its game says it takes players.
    Ready,
    /// Its game asked that it be kept for a time.
    Held,
    /// Nobody knows: its agent has not been heard, or has not said yet how it stands. It may run, and it takes nobody.
    Unreachable,
}

impl ServerStatus {
    /// All of them, in the order of Multiplay's own numbers; last the one that Multiplay has no word for.
    pub const ALL: [Self; 7] = [
        Self::Allocated,
        Self::Reserved,
        Self::Available,
        Self::Online,
        Self::Ready,
        Self::Held,
        Self::Unreachable,
    ];

    /// The word for it on Multiplay's faces, whose clients know six: a server that nobody hears is no member of the pool
    /// that AVAILABLE speaks of, and what was started there plays on, so it is ONLINE.
    #[must_use]
    pub const fn multiplay(self) -> Self {
        match self {
            Self::Unreachable => Self::Online,
            Self::Allocated | Self::Reserved | Self::Available | Self::Online | Self::Ready | Self::Held => {
                self
            }
        }
    }

    /// The word on the wire.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allocated => "ALLOCATED",
            Self::Reserved => "RESERVED",
            Self::Available => "AVAILABLE",
            Self::Online => "ONLINE",
            Self::Ready => "READY",
            Self::Held => "HELD",
            Self::Unreachable => "UNREACHABLE",
        }
    }
}

impl Server {
    /// The projection of process and claim (multiplay.md 3.8).
    ///
    /// | claim | process | status |
    /// |---|---|---|
    /// | allocated | any | ALLOCATED |
    /// | reserved | any | RESERVED |
    /// | held | any: "a server hold does not expire \[when\] the server exits" | HELD |
    /// | free | online, and its game says ready | READY |
    /// | free | starting, online, stopping | ONLINE |
    /// | free | stopped, backed off, in pre-recovery, lost | AVAILABLE |
    /// | free | not heard of | UNREACHABLE: no member of the pool until its agent says how it stands |
    #[must_use]
    pub const fn status(&self) -> ServerStatus {
        match self.claim {
            Claim::Allocated(_) => ServerStatus::Allocated,
            Claim::Reserved(_) => ServerStatus::Reserved,
            Claim::Held { .. } => ServerStatus::Held,
            Claim::Free => match (&self.seen, self.readiness) {
                (Some(Seen { phase: Phase::Online { .. }, .. }), Readiness::Ready) => ServerStatus::Ready,
                (
                    Some(Seen {
                        phase: Phase::Starting { .. } | Phase::Online { .. } | Phase::Stopping { .. },
                        ..
                    }),
                    _,
                ) => ServerStatus::Online,
                (
                    Some(Seen {
                        phase:
                            Phase::Stopped(_) | Phase::BackedOff { .. } | Phase::PreRecovery { .. } | Phase::Lost,
                        ..
                    }),
                    _,
                ) => ServerStatus::Available,
                (None, _) => ServerStatus::Unreachable,
            },
        }
    }

    /// What its agent last said; `None` until it has spoken to this leader.
    #[must_use]
    pub const fn seen(&self) -> Option<&Seen> {
        self.seen.as_ref()
    }

    /// The newest process of it that ended as nobody wished: a crash, or misbehaviour.
    #[must_use]
    pub fn incident(&self) -> Option<&Incident> {
        self.incident.as_deref()
    }

    /// What its agent last read of its process: CPU, memory, players.
    #[must_use]
    pub const fn reading(&self) -> Option<&Reading> {
        self.reading.as_ref()
    }

    /// The allocation that claims it.
    #[must_use]
    pub const fn allocation(&self) -> Option<AllocationId> {
        self.claim.allocation()
    }

    /// The reservation that claims it.
    #[must_use]
    pub const fn reservation(&self) -> Option<Reservation> {
        self.claim.reservation()
    }

    /// Until when it is held.
    #[must_use]
    pub const fn held_until(&self) -> Option<Timestamp> {
        self.claim.held_until()
    }

    /// Whether a session's process may still run on it that was given up when its machine was lost: nothing else begins on
    /// it before its agent has said that this is stopped.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        self.cause == Cause::MachineLost && !self.is_down()
    }

    /// Whether its agent has obeyed the newest order, if there was one, and no process of it is left.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| {
            seen.generation == self.generation
                && match seen.phase {
                    Phase::Stopped(_) | Phase::BackedOff { .. } | Phase::PreRecovery { .. } | Phase::Lost => {
                        true
                    }
                    Phase::Starting { .. } | Phase::Online { .. } | Phase::Stopping { .. } => false,
                }
        })
    }

    /// Whether its agent has obeyed the newest order.
    #[must_use]
    pub fn obeyed(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.generation == self.generation)
    }
}
