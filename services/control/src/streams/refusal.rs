//! Why the desk says no to a machine or to who makes tokens.

use mainstay_fleet::catalog::admission::AdmissionRejection;

/// Why the desk says no.
#[derive(Debug, thiserror::Error)]
pub(crate) enum No {
    #[error(transparent)]
    Rules(#[from] AdmissionRejection),
    #[error("there is no fleet {0}")]
    Fleet(String),
    #[error("the fleet has no region {0}")]
    Region(String),
    #[error("it is not said which {0} the machine is for, and the token does not say it either")]
    Unsaid(&'static str),
    #[error("this control plane has no certificate authority, so nothing can pin it")]
    Unpinnable,
    #[error("the text shown is no token or credential: {0}")]
    Text(#[from] mainstay_wire::join::TextError),
    #[error(transparent)]
    Runtime(#[from] mainstay_runtime::Error),
    #[error("the catalog answered something else")]
    Bug,
}

impl No {
    /// Whether it is the credential itself that opens nothing.
    pub(super) fn is_of_credential(&self) -> bool {
        match self {
            Self::Rules(
                AdmissionRejection::UnknownCredential
                | AdmissionRejection::CredentialExpired { .. }
                | AdmissionRejection::Revoked { .. },
            ) => true,
            Self::Rules(
                AdmissionRejection::UnknownToken
                | AdmissionRejection::TokenExpired { .. }
                | AdmissionRejection::TokenUsedUp { .. }
                | AdmissionRejection::TokenWithdrawn
                | AdmissionRejection::OutOfScope
                | AdmissionRejection::ForAnotherMachine
                | AdmissionRejection::OutOfBounds { .. }
                | AdmissionRejection::TooMany { .. }
                | AdmissionRejection::NoCredential,
            )
            | Self::Fleet(_)
            | Self::Region(_)
            | Self::Unsaid(_)
            | Self::Unpinnable
            | Self::Text(_)
            | Self::Runtime(_)
            | Self::Bug => false,
        }
    }

    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Rules(rejection) => rejection.code(),
            Self::Fleet(_) => "MS-S605",
            Self::Region(_) => "MS-S606",
            Self::Unsaid(_) => "MS-A009",
            Self::Unpinnable => "MS-A007",
            Self::Text(error) => error.code(),
            Self::Runtime(error) => error.code(),
            Self::Bug => "MS-U109",
        }
    }

    pub(crate) fn mend(&self) -> &'static str {
        match self {
            Self::Rules(rejection) => rejection.mend(),
            Self::Fleet(_) => "list them: mainstay fleet list",
            Self::Region(_) => "list them: mainstay fleet get FLEET",
            Self::Unsaid(_) => "give --fleet and --region, to the agent or to mainstay token create",
            Self::Unpinnable => "start it without --tls off",
            Self::Text(_) => "copy the token whole, from `mainstay token create` to the file",
            Self::Runtime(error) => error.mend(),
            Self::Bug => "this is our bug: please report it with the log",
        }
    }
}
