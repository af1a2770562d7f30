//! `/v1/sessions`: every session, found or not, for the studio; one of them for its members.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use mainstay_core::SessionId;
use mainstay_lobby::Command;
use mainstay_wire::native::{Addresses, Page, SessionUpdate, SessionView};
use mainstay_wire::problem::Problem;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::access::Permission;
use super::super::super::failure::{Failure, Native};
use super::super::paging::{Asked, page};
use super::{acts, ask, asker, lobby, look, looks, session_of};
use crate::lobby::Seen;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read, update, end))
}

/// The epoch that whoever asks is host of.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct AsHost {
    /// The epoch that whoever asks is host of; left out by a service account.
    pub(super) epoch: Option<u32>,
}

impl AsHost {
    pub(super) fn read(query: Result<Query<Self>, QueryRejection>) -> Result<Self, Native> {
        let fix = "see docs/reference/lobby.md";
        query.map(|Query(asked)| asked).map_err(|error| Failure::bad_request(error.body_text(), fix).into())
    }
}

#[utoipa::path(
    get,
    operation_id = "listSessions",
    path = "/v1/sessions",
    tag = "lobby",
    params(Asked),
    responses((status = 200, description = "Those that go on, of all services", body = Page<SessionView>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<SessionView>>, Native> {
    app.permit(&headers, Permission::Read)?;
    let lobbies = lobby(&app)?;
    let asked = Asked::read(query)?;
    let (after, limit): (Option<SessionId>, _) = (asked.after()?, asked.limit());
    let seen = lobbies.read(move |lobby, now| {
        let sessions = lobby.sessions_after(after).take(limit + 1);
        sessions.map(|session| Seen::of(lobby, session, now)).collect::<Vec<_>>()
    });
    let views = seen.await?.iter().map(|seen| lobbies.view(seen, Addresses::Told)).collect();
    Ok(Json(page(views, limit, |session: &SessionView| session.id.to_string())))
}

#[utoipa::path(
    get,
    operation_id = "getSession",
    path = "/v1/sessions/{session}",
    tag = "lobby",
    security(("basic" = []), ("token" = []), ()),
    params(("session" = String, Path, description = "Its id")),
    responses((status = 200, description = "As asked; addresses for members and service accounts alone", body = SessionView), (status = 404, description = "There is no such thing", body = Problem), (status = 410, description = "It ended, and why", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<Json<SessionView>, Native> {
    let looks = looks(&app, &headers)?;
    let seen = look(&app, session_of(&named)?).await?;
    Ok(Json(lobby(&app)?.view(&seen, looks.addresses(&seen.session))))
}

/// The host changes what its session is like.
#[utoipa::path(
    patch,
    operation_id = "updateSession",
    path = "/v1/sessions/{session}",
    tag = "lobby",
    params(("session" = String, Path, description = "Its id")),
    request_body = SessionUpdate,
    responses((status = 200, description = "It is so, durably", body = SessionView), (status = 403, description = "Only the host may", body = Problem), (status = 409, description = "The epoch has passed", body = Problem)),
)]
async fn update(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<SessionView>, Native> {
    acts(&app, &headers)?;
    let session = session_of(&named)?;
    let asker = asker(&app, &headers, session)?;
    let asked: SessionUpdate = super::super::body(body)?;
    let by = asker.authority(asked.epoch)?;
    ask(&app, session, Command::Update { session, by, update: asked.update() }).await?;
    let seen = look(&app, session).await?;
    Ok(Json(lobby(&app)?.view(&seen, Addresses::Told)))
}

#[utoipa::path(
    delete,
    operation_id = "endSession",
    path = "/v1/sessions/{session}",
    tag = "lobby",
    params(("session" = String, Path, description = "Its id"), AsHost),
    responses((status = 204, description = "It is over"), (status = 403, description = "Only the host may", body = Problem), (status = 409, description = "The epoch has passed", body = Problem)),
)]
async fn end(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    query: Result<Query<AsHost>, QueryRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    acts(&app, &headers)?;
    let session = session_of(&named)?;
    let by = asker(&app, &headers, session)?.authority(AsHost::read(query)?.epoch)?;
    ask(&app, session, Command::End { session, by }).await?;
    Ok(StatusCode::NO_CONTENT)
}
