//! What games ask for, on its way through the rules: answered once it is durable, and not before.

use mainstay_core::{BuildConfigurationId, FleetId, Generation, MachineId, ServerId, Timestamp};
use mainstay_fleet::{Answer as Said, Command, Fleet, Rejection, Reservation};
use mainstay_runtime::{Error, Handle};
use mainstay_wire::agent::{Answer, Ask, Outcome, Refusal, Wish};

use super::Watching;
use crate::http::{OfServer, keep};
use crate::shards::growth;

/// The most asks of one stream that are on their way through the rules; further ones are told to come back, so that an
/// agent's reports never wait for its games' wishes.
pub(super) const ASKS_IN_FLIGHT_MAX: usize = 256;

/// What the rules know of an asking server.
struct Known {
    machine: MachineId,
    configuration: BuildConfigurationId,
    generation: Generation,
    held: Option<Timestamp>,
    fleet: Option<FleetId>,
}

/// Puts an ask through the rules of its fleet.
pub(super) async fn answer(fleet: Handle<Fleet>, ask: Ask, watching: Watching) -> Answer {
    let (id, call) = (ask.id, word(&ask.wish));
    let outcome = match decide(&fleet, ask, &watching).await {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Refused {
            why: Refusal::Unavailable,
            code: error.code().to_owned(),
            detail: format!("{error}; {}", error.mend()),
        },
    };
    watching.metrics.asked(call, if matches!(outcome, Outcome::Refused { .. }) { "refused" } else { "done" });
    Answer { id, outcome }
}

/// A wish's word in metrics.
const fn word(wish: &Wish) -> &'static str {
    match wish {
        Wish::Hold { .. } => "hold",
        Wish::ReadHold => "readHold",
        Wish::ReleaseHold => "releaseHold",
        Wish::Reserve { .. } => "reserve",
        Wish::Unreserve => "unreserve",
        Wish::SetReady => "ready",
        Wish::SetUnready => "unready",
        Wish::Token { .. } => "token",
        Wish::Backfill { .. } => "backfill",
    }
}

/// The answer to an ask for which there is no room.
pub(super) fn no_room(id: u64) -> Answer {
    let detail = format!("{ASKS_IN_FLIGHT_MAX} asks of this machine's games are on their way; ask again");
    Answer { id, outcome: Outcome::Refused { why: Refusal::Unavailable, code: "MS-S619".to_owned(), detail } }
}

async fn decide(fleet: &Handle<Fleet>, ask: Ask, watching: &Watching) -> Result<Outcome, Error> {
    let Ask { machine, server, process, wish, .. } = ask;
    let known = fleet.query(move |state, _| know(state, server)).await?;
    // A machine speaks for its own servers alone, which it keeps for life.
    let Some(known) = known.filter(|known| known.machine == machine) else {
        return Ok(refused(&Rejection::UnknownServer(server)));
    };
    let command = match wish {
        Wish::Hold { time } => Command::Hold { server, process, time },
        Wish::ReleaseHold => Command::ReleaseHold { server, process },
        Wish::Reserve { reservation } => Command::Reserve { server, process, reservation },
        Wish::Unreserve => Command::Unreserve { server, process },
        Wish::SetReady => Command::SetReady { server, process },
        Wish::SetUnready => Command::SetUnready { server, process },
        Wish::ReadHold if process == known.generation => return Ok(Outcome::Held { until: known.held }),
        Wish::Token { run } if process == known.generation => {
            let tenure = fleet.query(move |state, _| state.tenure(server, run)).await?;
            return Ok(token(&known, OfServer { server, tenure: tenure.filter(|_| run > 0) }, watching));
        }
        Wish::Backfill { run, game } if process == known.generation => {
            let tenure = fleet.query(move |state, _| state.tenure(server, run)).await?;
            return Ok(keep(&watching.queues, tenure, &game).await);
        }
        Wish::ReadHold | Wish::Token { .. } | Wish::Backfill { .. } => {
            let newest = known.generation;
            return Ok(refused(&Rejection::StaleProcess { server, asked: process, newest }));
        }
    };
    let growth = growth(&command);
    Ok(match fleet.try_command(command, growth).await? {
        Ok(said) => outcome(&said, known.configuration),
        Err(rejection) => refused(&rejection),
    })
}

/// A token of the asking server.
fn token(known: &Known, of: OfServer, watching: &Watching) -> Outcome {
    let Some(fleet) = known.fleet else { return refused(&Rejection::NotConfigured) };
    match watching.tokens.of_server(watching.issuer, fleet, of, watching.clock.now()) {
        Ok((token, life)) => Outcome::Token { token, life },
        Err(error) => Outcome::Refused {
            why: Refusal::Unavailable,
            code: "MS-U109".to_owned(),
            detail: format!("the token could not be signed: {error}"),
        },
    }
}

fn know(state: &Fleet, server: ServerId) -> Option<Known> {
    let known = state.server(server)?;
    Some(Known {
        machine: known.machine,
        configuration: known.configuration.id,
        generation: known.generation,
        held: known.held_until(),
        fleet: state.spec().map(|spec| spec.id),
    })
}

fn outcome(said: &Said, configuration: BuildConfigurationId) -> Outcome {
    match *said {
        Said::Held { until } => Outcome::Held { until: Some(until) },
        Said::Reserved(Reservation { id, at }) => Outcome::Reserved { reservation: id, configuration, at },
        Said::Done
        | Said::Joined { .. }
        | Said::Placed { .. }
        | Said::Waiting { .. }
        | Said::Known
        | Said::Orphans(_)
        | Said::Deferred => Outcome::Done,
    }
}

fn refused(rejection: &Rejection) -> Outcome {
    Outcome::Refused {
        why: kind(rejection),
        code: rejection.code().to_owned(),
        detail: format!("{rejection}; {}", rejection.mend()),
    }
}

/// What kind of no a rejection is to a game.
const fn kind(rejection: &Rejection) -> Refusal {
    match rejection {
        Rejection::HoldTooShort | Rejection::HoldTooLong { .. } => Refusal::Invalid,
        Rejection::NotAReservationFleet | Rejection::NotAnAllocationFleet => Refusal::Forbidden,
        Rejection::UnknownServer(_) | Rejection::UnknownMachine(_) => Refusal::Unknown,
        Rejection::StaleProcess { .. } => Refusal::Stale,
        Rejection::NotConfigured => Refusal::Unavailable,
        Rejection::NotHoldable { .. }
        | Rejection::ServerAllocated { .. }
        | Rejection::ServerReserved { .. }
        | Rejection::MachineAway { .. }
        | Rejection::MachineInUse { .. }
        | Rejection::MachineComesBack(_)
        // None of these is said to a game's wish.
        | Rejection::UnknownRegion(_)
        | Rejection::UnknownConfiguration(_)
        | Rejection::RegionOffline(_)
        | Rejection::AtMaximum { .. }
        | Rejection::NoServer(_)
        | Rejection::TooManyWaiting { .. }
        | Rejection::PayloadTooLarge { .. }
        | Rejection::UnknownAllocation(_)
        | Rejection::OfAnotherPurpose(_)
        | Rejection::StaleStream
        | Rejection::SlotsChanged(_)
        | Rejection::MachineGone(_)
        | Rejection::TooManySlots { .. } => Refusal::State,
    }
}
