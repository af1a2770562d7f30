//! By which codes a game, and who reads its log, tell apart why a session is over, and the words for people: what to do about each is
//! in `docs/reference/error-codes.md`.

use std::fmt;

use mainstay_migration::{Closed, End, Failure};

use crate::Over;

impl Over {
    /// Its code; `None` where the game left, which is no error.
    #[must_use]
    pub const fn code(&self) -> Option<&'static str> {
        Some(match self {
            Self::Ended(End::Left) => return None,
            Self::Ended(End::HostLost) => "MS-S236",
            Self::Ended(End::Failed(why)) => code_of(why),
            Self::Ended(End::Refused(why)) | Self::Refused(why) => refusal(*why),
            Self::Ended(End::Closed) => "MS-S241",
            Self::NoAnswer => "MS-S242",
            Self::Forged(_) => "MS-S243",
            Self::GameHung => "MS-S244",
            Self::Panicked => "MS-S248",
            Self::OtherProtocol => "MS-S249",
        })
    }
}

/// In words, which may change: programs go by the code.
impl fmt::Display for Over {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended(End::Left) => to.write_str("this player left"),
            Self::Ended(End::HostLost) => to.write_str("its host is gone, and it is not to move"),
            Self::Ended(End::Failed(why)) => write!(to, "it could not move: {why}"),
            Self::Ended(End::Refused(why)) | Self::Refused(why) => why.fmt(to),
            Self::Ended(End::Closed) => to.write_str("its lobby ended it, or threw this player out"),
            Self::NoAnswer => to.write_str("nobody who can let this player in has answered"),
            Self::OtherProtocol => to.write_str(
                "whoever answered speaks another version: this game is older or newer than theirs",
            ),
            Self::Forged(why) => write!(to, "whoever welcomed this player is no host: {why}"),
            Self::GameHung => to.write_str("the game did not read what it was told"),
            Self::Panicked => to.write_str("the peer's own thread panicked"),
        }
    }
}

/// The code of a migration that failed ([`mainstay_migration::Outcome::Terminated`]).
#[must_use]
pub const fn code_of(failure: &Failure) -> &'static str {
    match failure {
        Failure::TimeLimit => "MS-S231",
        Failure::Vetoed(_) => "MS-S232",
        Failure::NoMajority => "MS-S233",
        Failure::CutOff => "MS-S234",
        Failure::Left => "MS-S235",
    }
}

const fn refusal(why: Closed) -> &'static str {
    match why {
        Closed::Kicked => "MS-S237",
        Closed::Full => "MS-S238",
        Closed::NoPass => "MS-S239",
        Closed::PassExpired => "MS-S240",
        Closed::ToNewcomers => "MS-S245",
        Closed::OtherOrder => "MS-S246",
        Closed::Replaced => "MS-S250",
    }
}
