//! Why a machine is not let in, or a token not made.

use alloc::string::String;
use alloc::string::ToString as _;
use core::time::Duration;

use mainstay_core::Timestamp;

use super::Admission;

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdmissionRejection {
    /// No such token, or another secret: which of the two is not told.
    #[error("the join token is not this control plane's, or ended so long ago that it is forgotten")]
    UnknownToken,
    /// It has ended by itself.
    #[error(
        "the join token ended {} s ago, by the control plane's clock ({} s after 1970)",
        ago.as_secs(), now.unix_ms() / 1000
    )]
    TokenExpired {
        /// How long ago.
        ago: Duration,
        /// The control plane's time.
        now: Timestamp,
    },
    /// It has let in as many as it may.
    #[error("the join token is used up: it has let in {uses}")]
    TokenUsedUp {
        /// How many.
        uses: u32,
    },
    /// An operator ended it, or a machine that came with it.
    #[error("the join token was withdrawn")]
    TokenWithdrawn,
    /// The machine wants what the token is not for.
    #[error("the join token is for another fleet or region")]
    OutOfScope,
    /// The token is for one machine, and this is another.
    #[error("the join token is for one machine, which has another key")]
    ForAnotherMachine,
    /// No such machine, or another secret: which of the two is not told.
    #[error("the machine's credential is not one of this control plane's")]
    UnknownCredential,
    /// It was not renewed in time.
    #[error(
        "the machine's credential ended {} s ago, by the control plane's clock ({} s after 1970)",
        ago.as_secs(), now.unix_ms() / 1000
    )]
    CredentialExpired {
        /// How long ago.
        ago: Duration,
        /// The control plane's time.
        now: Timestamp,
    },
    /// An operator ended it.
    #[error("the machine's credential was revoked {} s ago", ago.as_secs())]
    Revoked {
        /// How long ago.
        ago: Duration,
    },
    /// Beyond a limit.
    #[error("{what} is {found}; {least} to {most} are allowed")]
    OutOfBounds {
        /// Of what.
        what: &'static str,
        /// What was asked for.
        found: String,
        /// The least.
        least: String,
        /// The most.
        most: String,
    },
    /// More than are kept.
    #[error("there would be {count} {kind}, {max} are kept")]
    TooMany {
        /// Of what.
        kind: &'static str,
        /// How many.
        count: usize,
        /// The most.
        max: usize,
    },
    /// There is nothing to revoke.
    #[error("the machine has no credential of its own: it did not come with a join token")]
    NoCredential,
}

impl AdmissionRejection {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::UnknownToken => "MS-A020",
            Self::TokenExpired { .. } => "MS-A021",
            Self::TokenUsedUp { .. } => "MS-A022",
            Self::TokenWithdrawn => "MS-A023",
            Self::OutOfScope | Self::ForAnotherMachine => "MS-A024",
            Self::UnknownCredential => "MS-A025",
            Self::CredentialExpired { .. } => "MS-A026",
            Self::Revoked { .. } => "MS-A027",
            Self::OutOfBounds { .. } => "MS-A028",
            Self::TooMany { .. } => "MS-A029",
            Self::NoCredential => "MS-A030",
        }
    }

    /// The way out.
    #[must_use]
    pub const fn mend(&self) -> &'static str {
        match self {
            Self::UnknownToken => "make one on this control plane: mainstay token create",
            Self::TokenExpired { .. } => {
                "make another: mainstay token create --ttl 1h; if the time shown is wrong, mend the control plane's clock"
            }
            Self::TokenUsedUp { .. } => "make another, for more machines with --uses: mainstay token create",
            Self::TokenWithdrawn => "make another: mainstay token create",
            Self::ForAnotherMachine => {
                "start the agent with the key that the token was made with (--machine-key), or make a token for any machine: mainstay token create"
            }
            Self::OutOfScope => {
                "leave --fleet and --region out, or make a token for them: mainstay token create"
            }
            Self::UnknownCredential => {
                "is this the right control plane? let the machine join again: mainstay agent with a new --token-file"
            }
            Self::CredentialExpired { .. } => {
                "let the machine join again with a new token; if the time shown is wrong, mend the control plane's clock"
            }
            Self::Revoked { .. } => {
                "an operator revoked this machine; to let it in again: mainstay token create"
            }
            Self::OutOfBounds { .. } => "ask for something within the limits",
            Self::TooMany { .. } => "wait until old ones are forgotten, 30 days after their end",
            Self::NoCredential => {
                "end its agent; the secret of loopback agents is joinToken in credentials.json"
            }
        }
    }

    pub(super) fn out_of_bounds(
        what: &'static str,
        found: Duration,
        least: Duration,
        most: Duration,
    ) -> Self {
        let seconds = |span: Duration| alloc::format!("{} s", span.as_secs_f64());
        Self::OutOfBounds { what, found: seconds(found), least: seconds(least), most: seconds(most) }
    }

    pub(super) fn uses(found: u32) -> Self {
        Self::OutOfBounds {
            what: "the number of uses",
            found: found.to_string(),
            least: 1.to_string(),
            most: Admission::USES_MAX.to_string(),
        }
    }
}
