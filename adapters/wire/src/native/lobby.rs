//! Lobby services and their sessions on the native face.

mod asked;
pub mod refused;
mod told;

use mainstay_lobby as domain;
pub use mainstay_lobby::{Unfit, attribute_fits, attributes_fit};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use self::asked::{
    BeatRequest, ClaimRequest, JoinRequest, LobbyRequest, MemberRequest, MemberUpdate, RelayedRenewal,
    SessionRequest, SessionUpdate,
};
pub use self::told::{
    Addresses, BeatAnswer, CertificateView, LobbyView, Look, MemberAnswer, MemberView, PassView, RelayView,
    SeatView, SessionHostView, SessionView, lease_word,
};

/// Whether newcomers are let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum JoiningView {
    /// As long as there is room.
    #[default]
    Open,
    /// Only those whose seats a match has filled.
    Closed,
}

/// When another may take over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TakeoverView {
    /// Once more than half of all members miss the host.
    #[default]
    Fast,
    /// Not before its lease has run out.
    Strict,
}

/// What peers do while nobody can certify a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum WithoutMajorityView {
    /// Go on unconfirmed.
    #[default]
    Fork,
    /// End.
    End,
    /// Stand still and wait.
    Hold,
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PhaseView {
    /// Its players gather.
    Gathering,
    /// They play.
    Started,
}

/// How soon a host beats again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum PaceView {
    /// After 2 s: it counts against itself after 4 s of silence.
    #[default]
    Usual,
    /// After 0.5 s: it counts against itself after one second.
    Quick,
}

macro_rules! alike {
    ($($view:ident = $name:ident { $($case:ident),* };)*) => {$(
        impl From<$view> for domain::$name {
            fn from(view: $view) -> Self {
                match view { $($view::$case => Self::$case,)* }
            }
        }
        impl From<domain::$name> for $view {
            fn from(value: domain::$name) -> Self {
                match value { $(domain::$name::$case => Self::$case,)* }
            }
        }
    )*};
}

alike! {
    JoiningView = Joining { Open, Closed };
    TakeoverView = Takeover { Fast, Strict };
    WithoutMajorityView = WithoutMajority { Fork, End, Hold };
    PhaseView = Phase { Gathering, Started };
    PaceView = Pace { Usual, Quick };
}
