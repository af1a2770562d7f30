//! `/v1/sessions/{session}/members`: coming, going and being thrown out.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mainstay_lobby::Command;
use mainstay_wire::native::{Addresses, JoinRequest, MemberAnswer, MemberUpdate, SessionView};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::failure::{Failure, Native};
use super::sessions::AsHost;
use super::{
    Asker, acts, ask, asker, can, comes, given, joiner, lobby, look, member, peer_of, session_of, welcome,
};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(join)).routes(routes!(introduce, remove)).routes(routes!(renew))
}

/// Comes in, or comes again for a new token. While the session is on its way to another host: 503 with `Retry-After`.
#[utoipa::path(
    post,
    operation_id = "joinSession",
    path = "/v1/sessions/{session}/members",
    tag = "lobby",
    security(("basic" = []), ("token" = []), ()),
    params(("session" = String, Path, description = "The session's id")),
    request_body = JoinRequest,
    responses((status = 201, description = "It is a member, durably; the session says where its host is", body = MemberAnswer), (status = 403, description = "It was kicked", body = Problem), (status = 409, description = "It is full or closed", body = Problem), (status = 410, description = "It has ended", body = Problem), (status = 503, description = "It is on its way to another host: ask again after `Retry-After`", body = Problem)),
)]
async fn join(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Native> {
    comes(&app, &headers)?;
    let session = session_of(&named)?;
    let asked: JoinRequest = super::super::body(body)?;
    let by = joiner(&app, &headers, &asked.member, Some(session))?;
    ask(&app, session, Command::Join { session, by: by.clone() }).await?;
    Ok((StatusCode::CREATED, Json(welcome(&app, session, &by).await?)).into_response())
}

/// A member says of itself whether it may become host, and how others reach it.
#[utoipa::path(
    put,
    operation_id = "putMember",
    path = "/v1/sessions/{session}/members/{peer}",
    tag = "lobby",
    params(("session" = String, Path, description = "The session's id"), ("peer" = String, Path, description = "Its key, in base64url")),
    request_body = MemberUpdate,
    responses((status = 200, description = "It is so, durably", body = SessionView), (status = 403, description = "It is no member, or another", body = Problem)),
)]
async fn introduce(
    State(app): State<Arc<App>>,
    Path((named, peer)): Path<(String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<SessionView>, Native> {
    acts(&app, &headers)?;
    let session = session_of(&named)?;
    let own = member(&app, &headers, session)?;
    let asked: MemberUpdate = super::super::body(body)?;
    let lobbies = lobby(&app)?;
    lobbies.limits().call(session, own, app.now())?;
    if peer_of(&peer)? != own {
        return Err(Failure::not_own(session).into());
    }
    let addresses = asked.addresses.iter().map(|address| address.as_str().into()).collect();
    let command = Command::Introduce { session, peer: own, can_be_host: can(asked.can_be_host), addresses };
    ask(&app, session, command).await?;
    let seen = look(&app, session).await?;
    Ok(Json(lobbies.view(&seen, Addresses::Told)))
}

/// A member has its token and its pass renewed, before they run out. It shows the token that it has: whoever is no member any more, or
/// was thrown out, gets nothing, and nobody becomes one.
#[utoipa::path(
    post,
    operation_id = "renewPass",
    path = "/v1/sessions/{session}/members/{peer}/pass",
    tag = "lobby",
    params(("session" = String, Path, description = "The session's id"), ("peer" = String, Path, description = "Its key, in base64url")),
    responses((status = 200, description = "New ones, that last as long again", body = MemberAnswer), (status = 401, description = "The token has run out: join again", body = Problem), (status = 403, description = "It is no member, another, or was kicked", body = Problem), (status = 410, description = "It has ended", body = Problem)),
)]
async fn renew(
    State(app): State<Arc<App>>,
    Path((named, peer)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<MemberAnswer>, Native> {
    acts(&app, &headers)?;
    let session = session_of(&named)?;
    let own = member(&app, &headers, session)?;
    lobby(&app)?.limits().call(session, own, app.now())?;
    if peer_of(&peer)? != own {
        return Err(Failure::not_own(session).into());
    }
    Ok(Json(given(&app, &look(&app, session).await?, own)?))
}

/// A member leaves; or the host, or a service account, throws it out for ever.
#[utoipa::path(
    delete,
    operation_id = "removeMember",
    path = "/v1/sessions/{session}/members/{peer}",
    tag = "lobby",
    params(("session" = String, Path, description = "The session's id"), ("peer" = String, Path, description = "Its key, in base64url"), AsHost),
    responses((status = 204, description = "It is no member any more"), (status = 403, description = "Only the host may", body = Problem), (status = 409, description = "The epoch has passed", body = Problem)),
)]
async fn remove(
    State(app): State<Arc<App>>,
    Path((named, peer)): Path<(String, String)>,
    query: Result<Query<AsHost>, QueryRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    acts(&app, &headers)?;
    let (session, peer) = (session_of(&named)?, peer_of(&peer)?);
    let command = match asker(&app, &headers, session)? {
        Asker::Member(own) if own == peer => Command::Leave { session, peer },
        other @ (Asker::Member(_) | Asker::Studio) => {
            let by = other.authority(AsHost::read(query)?.epoch)?;
            Command::Kick { session, peer, by }
        }
    };
    ask(&app, session, command).await?;
    Ok(StatusCode::NO_CONTENT)
}
