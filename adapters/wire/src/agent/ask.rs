//! What games ask of the plane through their machine's daemon, and what becomes of it.
//!
//! An ask is no level like the rest of the stream: a game waits for its answer. So it has an id, it is said again after a
//! broken stream, and every wish is one that may be granted twice.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{BuildConfigurationId, Generation, MachineId, ReservationId, ServerId, Timestamp};

use super::decode::{id, required, short, uuid};
use super::{Malformed, proto};
use crate::native::KEPT_BYTES_MAX;

/// The version of asks that this program takes, said in the welcome. Version 2 has tokens, version 3 backfill.
pub const ASKS: u32 = 3;
/// The version from which on a plane gives tokens.
pub const ASKS_WITH_TOKENS: u32 = 2;
/// The version from which on a plane keeps up a game's backfill.
pub const ASKS_WITH_BACKFILL: u32 = 3;
/// The longest token, in bytes: ours have some 300.
const TOKEN_BYTES_MAX: usize = 4_096;
/// The longest detail of a refusal, in bytes: two sentences.
pub const DETAIL_BYTES_MAX: usize = 1_024;
/// The length of a code such as `MS-H003`.
const CODE_BYTES_MAX: usize = 16;

/// What a game wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    /// The agent's number for it, from 1.
    pub id: u64,
    /// The machine, one that the stream speaks for.
    pub machine: MachineId,
    /// The asking game's server.
    pub server: ServerId,
    /// The newest order that its agent has obeyed.
    pub process: Generation,
    /// What it wants.
    pub wish: Wish,
}

/// What a game can want of the plane.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    /// Keep my machine for this time from now on, in whole seconds (seed 003).
    Hold {
        /// How long.
        time: Duration,
    },
    /// Am I held?
    ReadHold,
    /// I need no hold any more.
    ReleaseHold,
    /// I take players by myself now.
    Reserve {
        /// The reservation's id.
        reservation: ReservationId,
    },
    /// I am free again.
    Unreserve,
    /// My players may come.
    SetReady,
    /// Not yet, or no longer.
    SetUnready,
    /// Something to show that I am this server.
    Token {
        /// The run of the asking process, as its machine counts starts; 0 from an agent of an older version.
        run: u64,
    },
    /// This is who plays; keep my backfill in step with it.
    Backfill {
        /// The run of the asking process.
        run: u64,
        /// The game as it stands, as JSON of at most [`KEPT_BYTES_MAX`] bytes: the plane reads it.
        game: Arc<str>,
    },
}

/// What became of an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The ask's id.
    pub id: u64,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of an ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It is so.
    Done,
    /// The server is held until then; `None` where it is not held.
    Held {
        /// Until when.
        until: Option<Timestamp>,
    },
    /// The server is reserved.
    Reserved {
        /// By which reservation: an earlier one where it was reserved already.
        reservation: ReservationId,
        /// What it runs.
        configuration: BuildConfigurationId,
        /// Since when.
        at: Timestamp,
    },
    /// What shows that the asking game is its server.
    Token {
        /// A JWT.
        token: String,
        /// How long it is good, from when it was given.
        life: Duration,
    },
    /// How the game's backfill stands.
    Backfill {
        /// As JSON of at most [`KEPT_BYTES_MAX`] bytes.
        stands: String,
    },
    /// No.
    Refused {
        /// What kind of no.
        why: Refusal,
        /// Its code.
        code: String,
        /// A sentence, at most [`DETAIL_BYTES_MAX`] bytes of it.
        detail: String,
    },
}

/// What kind of no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// What was asked cannot be.
    Invalid,
    /// The fleet is of another kind.
    Forbidden,
    /// There is no such server.
    Unknown,
    /// Not in the state that the server is in.
    State,
    /// The server has got another order since: ask again.
    Stale,
    /// The plane cannot do it now: ask again.
    Unavailable,
}

impl From<Ask> for proto::Ask {
    fn from(ask: Ask) -> Self {
        use proto::ask::Wish as Said;
        let nothing = proto::Nothing {};
        let wish = match ask.wish {
            Wish::Hold { time } => Said::Hold(proto::HoldWish { seconds: time.as_secs() }),
            Wish::ReadHold => Said::ReadHold(nothing),
            Wish::ReleaseHold => Said::ReleaseHold(nothing),
            Wish::Reserve { reservation } => {
                Said::Reserve(proto::ReserveWish { reservation: reservation.0.into_bytes().to_vec() })
            }
            Wish::Unreserve => Said::Unreserve(nothing),
            Wish::SetReady => Said::SetReady(nothing),
            Wish::SetUnready => Said::SetUnready(nothing),
            Wish::Token { run } => Said::Token(proto::TokenWish { run }),
            Wish::Backfill { run, game } => {
                Said::Backfill(proto::BackfillWish { run, game: game.as_ref().to_owned() })
            }
        };
        Self {
            id: ask.id,
            machine: ask.machine.number(),
            server: ask.server.number(),
            process: ask.process.number(),
            wish: Some(wish),
        }
    }
}

impl TryFrom<proto::Ask> for Ask {
    type Error = Malformed;

    fn try_from(ask: proto::Ask) -> Result<Self, Malformed> {
        use proto::ask::Wish as Said;
        let wish = match required(ask.wish, "Ask", "wish")? {
            Said::Hold(hold) => Wish::Hold { time: Duration::from_secs(hold.seconds) },
            Said::ReadHold(_) => Wish::ReadHold,
            Said::ReleaseHold(_) => Wish::ReleaseHold,
            Said::Reserve(reserve) => {
                let reservation = uuid(&reserve.reservation, "ReserveWish", "reservation")?;
                Wish::Reserve { reservation: ReservationId(reservation) }
            }
            Said::Unreserve(_) => Wish::Unreserve,
            Said::SetReady(_) => Wish::SetReady,
            Said::SetUnready(_) => Wish::SetUnready,
            Said::Token(wish) => Wish::Token { run: wish.run },
            Said::Backfill(wish) => {
                let game = short(wish.game, KEPT_BYTES_MAX, "BackfillWish", "game")?;
                Wish::Backfill { run: wish.run, game: game.into() }
            }
        };
        Ok(Self {
            id: ask.id,
            machine: id(MachineId::from_number(ask.machine), "Ask", "machine")?,
            server: id(ServerId::from_number(ask.server), "Ask", "server")?,
            process: Generation::from_number(ask.process),
            wish,
        })
    }
}

impl From<Answer> for proto::AskAnswer {
    fn from(answer: Answer) -> Self {
        use proto::ask_answer::Outcome as Said;
        let outcome = match answer.outcome {
            Outcome::Done => Said::Done(proto::Nothing {}),
            Outcome::Held { until } => Said::Held(proto::Held { until_ms: until.map(Timestamp::unix_ms) }),
            Outcome::Reserved { reservation, configuration, at } => Said::Reserved(proto::Reserved {
                reservation: reservation.0.into_bytes().to_vec(),
                configuration: configuration.number(),
                at_ms: at.unix_ms(),
            }),
            Outcome::Token { token, life } => {
                let life_ms = u64::try_from(life.as_millis()).unwrap_or(u64::MAX);
                Said::Token(proto::Token { token, life_ms })
            }
            Outcome::Backfill { stands } => Said::Backfill(proto::BackfillStands { json: stands }),
            Outcome::Refused { why, code, detail } => Said::Refused(proto::Refused {
                why: proto::Refusal::from(why).into(),
                code,
                detail: cut(detail),
            }),
        };
        Self { id: answer.id, outcome: Some(outcome) }
    }
}

impl TryFrom<proto::AskAnswer> for Answer {
    type Error = Malformed;

    fn try_from(answer: proto::AskAnswer) -> Result<Self, Malformed> {
        use proto::ask_answer::Outcome as Said;
        let outcome = match required(answer.outcome, "Answer", "outcome")? {
            Said::Done(_) => Outcome::Done,
            Said::Held(held) => Outcome::Held { until: held.until_ms.map(Timestamp::from_unix_ms) },
            Said::Reserved(reserved) => Outcome::Reserved {
                reservation: ReservationId(uuid(&reserved.reservation, "Reserved", "reservation")?),
                configuration: id(
                    BuildConfigurationId::from_number(reserved.configuration),
                    "Reserved",
                    "configuration",
                )?,
                at: Timestamp::from_unix_ms(reserved.at_ms),
            },
            Said::Token(given) => Outcome::Token {
                token: short(given.token, TOKEN_BYTES_MAX, "Token", "token")?,
                life: Duration::from_millis(given.life_ms),
            },
            Said::Backfill(stands) => {
                Outcome::Backfill { stands: short(stands.json, KEPT_BYTES_MAX, "BackfillStands", "json")? }
            }
            Said::Refused(refused) => Outcome::Refused {
                why: refused.why.try_into()?,
                code: short(refused.code, CODE_BYTES_MAX, "Refused", "code")?,
                detail: short(refused.detail, DETAIL_BYTES_MAX, "Refused", "detail")?,
            },
        };
        Ok(Self { id: answer.id, outcome })
    }
}

impl From<Refusal> for proto::Refusal {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Invalid => Self::Invalid,
            Refusal::Forbidden => Self::Forbidden,
            Refusal::Unknown => Self::Unknown,
            Refusal::State => Self::State,
            Refusal::Stale => Self::Stale,
            Refusal::Unavailable => Self::Unavailable,
        }
    }
}

impl TryFrom<i32> for Refusal {
    type Error = Malformed;

    fn try_from(number: i32) -> Result<Self, Malformed> {
        let meaningless =
            || Malformed::Meaningless { message: "Refused", field: "why", value: number.into() };
        match proto::Refusal::try_from(number).map_err(|_| meaningless())? {
            proto::Refusal::Unspecified => Err(meaningless()),
            proto::Refusal::Invalid => Ok(Self::Invalid),
            proto::Refusal::Forbidden => Ok(Self::Forbidden),
            proto::Refusal::Unknown => Ok(Self::Unknown),
            proto::Refusal::State => Ok(Self::State),
            proto::Refusal::Stale => Ok(Self::Stale),
            proto::Refusal::Unavailable => Ok(Self::Unavailable),
        }
    }
}

/// As much of a detail as the other side reads.
fn cut(mut detail: String) -> String {
    let mut end = DETAIL_BYTES_MAX.min(detail.len());
    while !detail.is_char_boundary(end) {
        end -= 1;
    }
    detail.truncate(end);
    detail
}

#[cfg(test)]
mod tests;
