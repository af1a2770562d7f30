//! What goes wrong with sessions of a lobby, as the native face tells it.

use std::time::Duration;

use axum::http::StatusCode;
use mainstay_core::SessionId;
use mainstay_lobby::Rejection;
use mainstay_wire::lobby::Unproven;
use mainstay_wire::native::refused;

use super::{Failure, More};
use crate::limiter::Exceeded;
use crate::lobby::Lobbies;

const SEE: &str = "see docs/reference/lobby.md";

impl Failure {
    /// A refusal of the lobby's rules. Whoever claimed an epoch that has passed is given the proof of the host that there is.
    pub(in crate::http) fn lobby(lobbies: &Lobbies, session: SessionId, rejection: &Rejection) -> Self {
        let failure = Self::from(rejection);
        if let Rejection::Passed { grant: Some(grant), .. } = rejection {
            let certificate = Some(lobbies.certified(session, grant));
            Self { more: Some(Box::new(More { certificate, ..More::default() })), ..failure }
        } else {
            failure
        }
    }

    pub(in crate::http) fn no_lobby() -> Self {
        let detail = "this control plane has no such lobby".to_owned();
        Self::not_found("MS-G017", detail, "the services are lan and online: mainstay lobby list")
    }

    pub(in crate::http) fn unproven(why: Unproven) -> Self {
        let detail = format!("what is signed proves nothing: {why}");
        let fix = "sign exactly the bytes that docs/reference/lobby.md names: `proof` by the key of `peer`, a renewal by its host's";
        Self::new(StatusCode::BAD_REQUEST, "MS-G015", detail, fix)
    }

    pub(in crate::http) fn too_many_watch() -> Self {
        let detail = crate::lobby::Watched::limits();
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "MS-G020", detail, "end streams that nobody reads")
    }

    pub(in crate::http) fn not_own(session: SessionId) -> Self {
        let detail = format!("the token is no member's of session {session}");
        let fix = "show the token that joining this session gave: Authorization: Bearer";
        Self::new(StatusCode::FORBIDDEN, refused::NOT_MEMBER, detail, fix)
    }

    pub(super) fn again_in(self, wait: Duration) -> Self {
        let more = More { retry_after: Some(wait), ..More::default() };
        Self { more: Some(Box::new(more)), ..self }
    }
}

impl From<Exceeded> for Failure {
    fn from(exceeded: Exceeded) -> Self {
        let fix = "wait as long as Retry-After says";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "MS-G016", exceeded.to_string(), fix).again_in(exceeded.wait)
    }
}

impl From<&Rejection> for Failure {
    fn from(rejection: &Rejection) -> Self {
        let (status, code, fix) = match rejection {
            Rejection::NotFound(_) => {
                (StatusCode::NOT_FOUND, refused::NOT_FOUND, "list them: mainstay session list")
            }
            Rejection::Over { .. } => (StatusCode::GONE, refused::OVER, "make or join another session"),
            Rejection::Unfit(_) => (StatusCode::BAD_REQUEST, "MS-G003", SEE),
            Rejection::TooMany | Rejection::NoRoom { .. } => {
                (StatusCode::SERVICE_UNAVAILABLE, "MS-G004", "wait until sessions end")
            }
            Rejection::NotMember(_) => (StatusCode::FORBIDDEN, refused::NOT_MEMBER, "join the session first"),
            Rejection::Kicked => (StatusCode::FORBIDDEN, refused::KICKED, "join another session"),
            Rejection::Replaced => {
                (StatusCode::FORBIDDEN, refused::REPLACED, "end this process, or have the other one leave")
            }
            Rejection::Taken(_) | Rejection::KeyTaken => {
                (StatusCode::CONFLICT, "MS-G007", "make a key anew when the process starts, and a new id")
            }
            Rejection::KeyReused(_) => {
                (StatusCode::CONFLICT, "MS-G023", "send a key that is new for each session")
            }
            Rejection::Full { .. } | Rejection::TooManyKicked | Rejection::Closed => {
                (StatusCode::CONFLICT, refused::FULL, "join another session")
            }
            Rejection::Moving { .. } => (
                StatusCode::SERVICE_UNAVAILABLE,
                "MS-G009",
                "join again after Retry-After, or when the session's events name a host",
            ),
            Rejection::Passed { .. } => {
                (StatusCode::CONFLICT, "MS-G010", "follow the host that the certificate names")
            }
            Rejection::LeaseStands { .. } | Rejection::LeaseToEnd { .. } | Rejection::OthersFirst { .. } => (
                StatusCode::CONFLICT,
                refused::LEASE_STANDS,
                "claim again after Retry-After, if the host is still missed",
            ),
            Rejection::Stale { .. } => (
                StatusCode::CONFLICT,
                refused::STALE,
                "ask again with the lobby's time of now as asOf, if it is still wanted",
            ),
            Rejection::Unsuitable(_) => (StatusCode::CONFLICT, refused::UNSUITABLE, "say canBeHost first"),
            Rejection::NotMigratable | Rejection::Unsupported(_) => {
                (StatusCode::CONFLICT, refused::NOT_MIGRATABLE, SEE)
            }
            Rejection::NotHost(_) => (StatusCode::FORBIDDEN, refused::NOT_HOST, "only the host may do this"),
            Rejection::LastEpoch => (StatusCode::CONFLICT, "MS-G019", "make a new session"),
        };
        let failure = Self::new(status, code, rejection.to_string(), fix);
        if let Rejection::Moving { again, .. }
        | Rejection::LeaseStands { again, .. }
        | Rejection::LeaseToEnd { again, .. }
        | Rejection::OthersFirst { again, .. } = rejection
        {
            failure.again_in(*again)
        } else {
            failure
        }
    }
}
