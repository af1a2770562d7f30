//! The peer's side of host migration: a session outlives every one of its hosts (seed 000).
//!
//! Speed comes from agreement that nobody waits for: every peer has the same [hints](HintList) and the same [`Order`], so
//! they think of the same successor. Safety never rests on that: a host is obeyed for its [`Certificate`] alone, the word of
//! the session's [`Arbiter`] (votes of a majority of the members, or the lobby's signature), of which at most one comes about
//! for an epoch ([`Ballot`]); whatever is older than its [`Stamp`] is refused. Decisions 0050 and 0056 tell the protocol.
//!
//! [`Session`] is one peer in one session: [`Session::handle`] takes what happened, [`Session::take_outputs`] gives what
//! the hands must do, and it sleeps until [`Session::next_deadline`]. It reads no clock, draws no lots and keeps nothing
//! on disk. Sessions know nothing of each other (seed 000: "each session can migrate independently (and concurrently)").
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod ballot;
mod certificate;
mod descent;
mod guard;
mod hint;
mod id;
mod join;
mod lobby;
mod message;
mod order;
mod rhythm;
mod seal;
mod session;
mod settings;
mod speech;
mod stages;
mod state;
mod terms;
mod view;

pub use ballot::{Accepted, Ballot, Claim, LINEAGE_MAX, Refusal, Root};
pub use certificate::{Certificate, Forged, Proof, Vote};
pub use descent::{Ancestor, Descent};
pub use guard::{Guard, Guarded, Guards};
pub use hint::{CanBeHost, Entry, Hint, HintList, HintVersion, NatType};
pub use id::{ActorId, ChannelId, EntityId, Epoch, PeerId, SessionId, Stamp, Tick};
pub use join::{Joined, Joining};
pub use lobby::{
    Admission, Arbiter, Grant, LOBBY_LEASE, PASS_PLAYER_BYTES_MAX, Pace, Pass, Question, Receipt, Renewal,
    Ruling,
};
pub use message::{
    Announcement, Beat, Body, Closed, Handover, Hears, Leads, Message, Side, Standing, Welcome,
};
pub use order::{Compare, Order, OrderName};
pub use rhythm::{BEAT, Rhythm, SUSPECT_MAX, SUSPECT_MIN};
pub use seal::{Keys, SIGNATURE_BYTES_MAX, Signature, Signed};
pub use session::{
    Acting, Cause, Config, ENTITIES_MAX, End, GamePhase, INPUTS_MAX, Identification, Input, Kept, Migratable,
    Moving, Newcomers, Outcome, Output, Progress, Report, Session, Telling, WithoutMajority,
};
pub use settings::{NAMES, SettingError, Settings, Switch};
pub use speech::{Audience, Ear, GROUPS, Given, Hearing, Said, Speech, WORDS_BYTES_MAX, WORDS_MAX};
pub use stages::{
    Answer, Call, Failure, LISTENERS_MAX, ListenerId, PACE, Priority, Role, Stage, Stages, TERMINATE_MAX,
};
pub use state::{
    Excerpt, Kind, Level, PARTS_MAX, PLAYERS_MAX, Part, Piece, STATE_BYTES_MAX, State, StateError, StateHash,
    StateId, Taken,
};
pub use terms::{Support, Terms};
pub use view::{MEMBERS_MAX, Roster, View, ViewId};
