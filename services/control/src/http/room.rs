//! How much may be said about matching: whoever shows who it is has the room that PlayFab's face gives, since a game of as many players is as
//! long on either; and whoever says more is told the numbers.

use std::sync::Arc;

use axum::body::HttpBody as _;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;

use super::failure::{Failure, problem};
use super::{App, BODY_BYTES_MAX};
use crate::playfab;

/// Where matching is asked about.
const MATCHING: &str = "/v1/queues/";

/// Around every call, within the limit of all others.
pub(super) async fn measured(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if !path.starts_with(MATCHING) {
        return next.run(request).await;
    }
    // Nothing is said of a body that comes in pieces.
    let (path, length) = (path.to_owned(), request.body().size_hint().upper());
    // Who asks is looked up twice where it matters alone.
    let is_long = length.is_none_or(|length| length > BODY_BYTES_MAX as u64);
    let max = if is_long && app.caller(request.headers()).is_ok() {
        playfab::BODY_BYTES_MAX
    } else {
        BODY_BYTES_MAX
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
    let fix =
        "send fewer players at once, or less of each: only what the queue's rules and the game server read";
    problem(&Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "MS-U102", detail, fix), &path)
}
