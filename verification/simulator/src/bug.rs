//! Mistakes planted in the simulator's hands, to show that the laws find them. The rules themselves have no switches.

use std::fmt;
use std::str::FromStr;

/// A mistake that hands around the rules could make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bug {
    /// A caller is answered before its turn is durable.
    AnswerBeforeSync,
    /// A query is answered from a state that is not durable yet.
    ReadBeforeSync,
    /// An order goes to an agent before it is durable.
    OrderBeforeSync,
    /// A process is started before its run is durable.
    SpawnBeforeSync,
    /// An agent obeys an older order: its generation is rewritten to the newest before the rules see it.
    OlderGenerationObeyed,
    /// The plane journals what it saw, and trusts it after a restart.
    PlaneTrustsStoredSeen,
    /// An agent journals that a process ran, and trusts it after a restart.
    AgentTrustsStoredSight,
    /// An agent that restarted does not see the holders of before, and the lock on the slot is not asked.
    HolderForgotten,
    /// A holder that an agent forked just before it crashed starts its game later, though the next agent found nothing.
    LateHolderStarts,
    /// `server.json` is not written before a start.
    SessionFileSkipped,
    /// The plane is not told that a stream broke, and goes on believing in it.
    DeadStreamBelieved,
    /// A machine provider is called before the errand is durable.
    ErrandBeforeSync,
    /// The order that stops what a lost machine had played is not passed on: the agent hears that nothing need change.
    FenceLifted,
    /// An agent is told that a process crashed which its machine lost: the holder left no record of an exit.
    LossToldAsCrash,
    /// An agent that restarted has forgotten the crashes of before.
    StrikesForgotten,
    /// The plane is not woken when a hold runs out.
    HoldDeadlineMissed,
    /// A game that asks for a hold gets a reservation.
    HoldReserves,
    /// The plane is not woken when a region is to grow.
    GrowthDeadlineMissed,
    /// At a start the wall clock is believed.
    WallBelieved,
    /// A fleet is not told of a machine that a token has let in.
    ArrivalUntold,
    /// The plane does not take in what a query tells of players, only that there are none.
    PlayersUnheard,
    /// The hand at the provider deletes what is listed and was not made by this process of the plane.
    ProviderTrustsMemory,
}

impl Bug {
    /// Every planted mistake.
    pub const ALL: [Self; 22] = [
        Self::AnswerBeforeSync,
        Self::ReadBeforeSync,
        Self::OrderBeforeSync,
        Self::SpawnBeforeSync,
        Self::OlderGenerationObeyed,
        Self::PlaneTrustsStoredSeen,
        Self::AgentTrustsStoredSight,
        Self::HolderForgotten,
        Self::LateHolderStarts,
        Self::SessionFileSkipped,
        Self::DeadStreamBelieved,
        Self::ErrandBeforeSync,
        Self::FenceLifted,
        Self::LossToldAsCrash,
        Self::StrikesForgotten,
        Self::HoldDeadlineMissed,
        Self::HoldReserves,
        Self::GrowthDeadlineMissed,
        Self::WallBelieved,
        Self::ArrivalUntold,
        Self::PlayersUnheard,
        Self::ProviderTrustsMemory,
    ];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AnswerBeforeSync => "answer-before-sync",
            Self::ReadBeforeSync => "read-before-sync",
            Self::OrderBeforeSync => "order-before-sync",
            Self::SpawnBeforeSync => "spawn-before-sync",
            Self::OlderGenerationObeyed => "older-generation-obeyed",
            Self::PlaneTrustsStoredSeen => "plane-trusts-stored-seen",
            Self::AgentTrustsStoredSight => "agent-trusts-stored-sight",
            Self::HolderForgotten => "holder-forgotten",
            Self::LateHolderStarts => "late-holder-starts",
            Self::SessionFileSkipped => "session-file-skipped",
            Self::DeadStreamBelieved => "dead-stream-believed",
            Self::ErrandBeforeSync => "errand-before-sync",
            Self::FenceLifted => "fence-lifted",
            Self::LossToldAsCrash => "loss-told-as-crash",
            Self::StrikesForgotten => "strikes-forgotten",
            Self::HoldDeadlineMissed => "hold-deadline-missed",
            Self::HoldReserves => "hold-reserves",
            Self::GrowthDeadlineMissed => "growth-deadline-missed",
            Self::WallBelieved => "wall-believed",
            Self::ArrivalUntold => "arrival-untold",
            Self::PlayersUnheard => "players-unheard",
            Self::ProviderTrustsMemory => "provider-trusts-memory",
        }
    }
}

impl fmt::Display for Bug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// No such bug.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no planted bug; there are {}", Bug::ALL.map(Bug::name).join(", "))]
pub struct UnknownBug {
    given: String,
}

impl FromStr for Bug {
    type Err = UnknownBug;

    fn from_str(text: &str) -> Result<Self, UnknownBug> {
        Self::ALL
            .into_iter()
            .find(|bug| bug.name() == text)
            .ok_or_else(|| UnknownBug { given: text.to_owned() })
    }
}
