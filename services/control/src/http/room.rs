//! How much a call may say, and that whoever says more is told the numbers. About matching, whoever shows who it is has the room that
//! PlayFab's face gives, since a game of as many players is as long on either.

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use mainstay_config::limits::FILE_BYTES_MAX;

use super::failure::{Failure, problem};
use super::shape::Face;
use super::{App, BODY_BYTES_MAX, pages};
use crate::playfab;

/// Whose room a call has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It is about matching.
    Matching,
    /// A configuration file is sent.
    Configuration,
    /// Any other of ours.
    Other,
    /// It has a limit of its own, and tells it in its own shape: Unity's gateway, and files, of which no part is kept in memory.
    Apart,
}

impl Kind {
    fn of(path: &str) -> Self {
        match Face::of(path) {
            Face::Unity => Self::Apart,
            Face::Native if path.starts_with("/v1/files/") => Self::Apart,
            Face::Native if path.starts_with("/v1/queues/") => Self::Matching,
            Face::Native if path == "/v1/configuration" => Self::Configuration,
            Face::Native => Self::Other,
        }
    }

    const fn fix(self) -> &'static str {
        match self {
            Self::Matching => {
                "send fewer players at once, or less of each: only what the queue's rules and the game server read"
            }
            Self::Configuration => "take out what is not needed: a configuration declares, and holds no data",
            Self::Other | Self::Apart => "send a smaller body",
        }
    }
}

/// Around every call, within the limit of all others.
pub(super) async fn measured(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let kind = Kind::of(path);
    // Nothing is said of a body that comes in pieces.
    let (path, length) = (path.to_owned(), request.body().size_hint().upper());
    let max = match kind {
        Kind::Apart => return next.run(request).await,
        // Who asks is looked up twice where it matters alone.
        Kind::Matching
            if length.is_none_or(|length| length > BODY_BYTES_MAX as u64)
                && app.caller(request.headers()).is_ok() =>
        {
            playfab::BODY_BYTES_MAX
        }
        Kind::Matching | Kind::Other => BODY_BYTES_MAX,
        Kind::Configuration => FILE_BYTES_MAX,
    };
    DefaultBodyLimit::max(max).apply(&mut request);
    let response = next.run(request).await;
    if response.status() != StatusCode::PAYLOAD_TOO_LARGE {
        return response;
    }
    let detail = match length {
        Some(length) => format!("the body has {length} bytes, and at most {max} are read"),
        None => format!("the body has more than {max} bytes"),
    };
    let refused = problem(&Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "MS-U102", detail, kind.fix()), &path);
    pages::instead_of(&response, refused)
}
