//! PlayFab's Matchmaking v2 over HTTP: what its SDKs send and read.
//!
//! Every call is a POST of a JSON object, and every answer an envelope. Nulls and what is left out are one thing, unknown fields
//! are passed over, for the SDKs send both. Source: PlayFab's API specification (`Multiplayer.api.json`) and documentation.

pub mod answer;
mod attributes;
mod dated;
mod entity;
mod envelope;
mod lenient;
pub mod login;
pub mod object;
pub mod queue;
pub mod request;
mod server;
pub mod types;

pub use self::attributes::{Stored, attributes, read_in_a_game};
pub use self::entity::{EntityKey, MatchmakingPlayer, MatchmakingPlayerAttributes, Objects};
pub use self::envelope::{Failure, Success};
pub use self::server::{Listed, Port, ProtocolType, ServerDetails};
