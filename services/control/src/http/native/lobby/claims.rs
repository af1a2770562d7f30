//! `/v1/sessions/{session}/claims`: the next epoch, by compare-and-swap.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use mainstay_core::Timestamp;
use mainstay_lobby::{Command, Epoch};
use mainstay_wire::native::{Addresses, ClaimRequest, SessionView};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::failure::Native;
use super::{acts, ask, lobby, look, member, peer_of, session_of};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(claim))
}

/// A member claims the epoch after the one it knows, or the host hands that to another. Of those who name the same epoch one gets the
/// next; the others are told who, with the certificate, in the same answer.
#[utoipa::path(
    post,
    operation_id = "claimEpoch",
    path = "/v1/sessions/{session}/claims",
    tag = "lobby",
    params(("session" = String, Path, description = "The session's id")),
    request_body = ClaimRequest,
    responses((status = 200, description = "It is the host, durably; the session has its certificate", body = SessionView), (status = 403, description = "It is no member, or not the host", body = Problem), (status = 409, description = "The epoch has passed: `certificate` says to whom (MS-G010); or the host's lease stands: ask again after `Retry-After` (MS-G011); or it was asked too long ago (MS-G022)", body = Problem)),
)]
async fn claim(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<SessionView>, Native> {
    acts(&app, &headers)?;
    let session = session_of(&named)?;
    let by = member(&app, &headers, session)?;
    let asked: ClaimRequest = super::super::body(body)?;
    let lobbies = lobby(&app)?;
    lobbies.limits().call(session, by, app.now())?;
    let expected = Epoch(asked.expected_epoch);
    let as_of = asked.as_of.map(Timestamp::from_unix_ms);
    let command = match &asked.to {
        None => Command::Claim { session, expected, by, as_of },
        Some(to) => Command::HandOver { session, expected, by, to: peer_of(to)?, as_of },
    };
    ask(&app, session, command).await?;
    let seen = look(&app, session).await?;
    Ok(Json(lobbies.view(&seen, Addresses::Told)))
}
