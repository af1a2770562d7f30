//! `/v1/join-tokens`, and the end of a machine's credential.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use mainstay_core::{JoinTokenId, MachineId, MachineKey, Timestamp};
use mainstay_fleet::catalog::admission::{JoinToken, Scope, Standing, TokenStage};
use mainstay_wire::join::Secret;
use mainstay_wire::multiplay::instant;
use mainstay_wire::native::{CredentialView, JoinTokenRequest, JoinTokenView, Page};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native};
use super::paging::{Asked, page};

/// How long a token lasts unasked: time to start a machine, and to be forgotten after.
const TTL_DEFAULT: Duration = Duration::from_hours(1);
/// How long a credential lasts unasked: a control plane may be away for half of it and lock nobody out.
const CREDENTIAL_TTL_DEFAULT: Duration = Duration::from_hours(30 * 24);

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(withdraw)).routes(routes!(revoke))
}

#[utoipa::path(
    post,
    operation_id = "createJoinToken",
    path = "/v1/join-tokens",
    tag = "machines",
    request_body = JoinTokenRequest,
    responses((status = 201, description = "The token; its text is told this once", body = JoinTokenView)),
)]
async fn create(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<JoinTokenView>), Native> {
    let caller = app.caller(&headers)?;
    let asked: JoinTokenRequest = super::body(body)?;
    caller.may(Permission::Admit)?;
    let scope = scope(&app, &asked)?;
    let seconds = |asked: Option<u64>, default| asked.map_or(default, Duration::from_secs);
    let lives = (
        seconds(asked.ttl_seconds, TTL_DEFAULT),
        seconds(asked.credential_ttl_seconds, CREDENTIAL_TTL_DEFAULT),
    );
    let id = JoinTokenId(super::fresh_id()?);
    let drawn = (id, Secret::of(random()?));
    let made = app.desk.make_token(drawn, scope, asked.uses.unwrap_or(1), lives).await?;
    let seen = app
        .catalog
        .query(move |catalog, now| catalog.admission().token(id).map(|token| view(id, token, now)))
        .await?;
    let view = seen.ok_or_else(|| Failure::internal("the token that was made is not there".to_owned()))?;
    Ok((StatusCode::CREATED, Json(JoinTokenView { token: Some(made), ..view })))
}

#[utoipa::path(
    get,
    operation_id = "listJoinTokens",
    path = "/v1/join-tokens",
    tag = "machines",
    params(Asked),
    responses((status = 200, description = "As asked, without their texts", body = Page<JoinTokenView>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<JoinTokenView>>, Native> {
    app.permit(&headers, Permission::Admit)?;
    let asked = Asked::read(query)?;
    let after: Option<JoinTokenId> = asked.after()?;
    let limit = asked.limit();
    let views = app.catalog.query(move |catalog, now| {
        let tokens = catalog.admission().tokens().filter(|(id, _)| after.is_none_or(|after| *id > after));
        tokens.take(limit + 1).map(|(id, token)| view(id, token, now)).collect::<Vec<_>>()
    });
    Ok(Json(page(views.await?, limit, |token| token.id.to_string())))
}

#[utoipa::path(
    delete,
    operation_id = "withdrawJoinToken",
    path = "/v1/join-tokens/{token}",
    tag = "machines",
    params(("token" = String, Path, description = "Its id")),
    responses((status = 204, description = "It lets nobody in any more"), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn withdraw(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    app.permit(&headers, Permission::Admit)?;
    let fix = "list them: mainstay token list";
    let token: JoinTokenId =
        named.parse().map_err(|_| Failure::bad_request("a join token's id is a UUID".to_owned(), fix))?;
    app.desk.withdraw(token).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[utoipa::path(
    post,
    operation_id = "revokeMachine",
    path = "/v1/machines/{machine}/revoke",
    tag = "machines",
    params(("machine" = String, Path, description = "Its id")),
    responses((status = 204, description = "Its credential and its stream have ended"), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn revoke(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    app.permit(&headers, Permission::Admit)?;
    let id: MachineId = named.parse().map_err(|_| Failure::no_machine(&named))?;
    let fleet = app.fleets.now().number(id.fleet()).cloned().ok_or_else(|| Failure::no_machine(&named))?;
    let key = fleet.read(move |state, _| state.machine(id).map(|machine| machine.key)).await?;
    let key = key.ok_or_else(|| Failure::no_machine(&named))?;
    let desk = Arc::clone(&app.desk);
    // Of its own: a caller who hangs up between the two halves must not keep the stream open.
    let revoked = tokio::spawn(async move { desk.revoke(key).await }).await;
    revoked.map_err(|panicked| Failure::internal(panicked.to_string()))??;
    Ok(StatusCode::NO_CONTENT)
}

/// How a machine's credential stands; `None` for one without.
pub(super) async fn credential(
    app: &App,
    machine: MachineKey,
) -> Result<Option<CredentialView>, mainstay_runtime::Error> {
    let seen = app.catalog.query(move |catalog, now| {
        let member = catalog.admission().member(machine)?;
        let (state, expires_at) = match member.standing {
            Standing::Revoked { .. } => ("revoked", None),
            Standing::Live { current, .. } if now < current.expires => ("live", Some(current.expires)),
            Standing::Live { current, .. } => ("expired", Some(current.expires)),
        };
        Some(CredentialView {
            machine_key: machine,
            state: state.to_owned(),
            token_id: member.token,
            expires_at: expires_at.map(instant),
        })
    });
    seen.await
}

fn view(id: JoinTokenId, token: &JoinToken, now: Timestamp) -> JoinTokenView {
    let (fleet_id, region_id) = match token.made.scope {
        Scope::Anywhere => (None, None),
        Scope::Fleet(fleet) => (Some(fleet), None),
        Scope::Region(fleet, region) | Scope::Machine(fleet, region, _) => (Some(fleet), Some(region)),
    };
    let (state, uses_left) = match token.stage {
        TokenStage::Open { .. } if now >= token.expires => ("expired", 0),
        TokenStage::Open { left } => ("open", left),
        TokenStage::UsedUp => ("usedUp", 0),
        TokenStage::Withdrawn => ("withdrawn", 0),
    };
    JoinTokenView {
        id,
        token: None,
        state: state.to_owned(),
        expires_at: instant(token.expires),
        uses: token.made.uses,
        uses_left,
        fleet_id,
        region_id,
        credential_ttl_seconds: token.made.credential_life.as_secs(),
    }
}

fn scope(app: &App, asked: &JoinTokenRequest) -> Result<Scope, Native> {
    let fleets = app.fleets.now();
    match (&asked.fleet, &asked.region) {
        (None, None) => Ok(Scope::Anywhere),
        (None, Some(_)) => {
            let detail = "a region belongs to a fleet, and none is named".to_owned();
            Err(Failure::bad_request(detail, "name the fleet as well: --fleet").into())
        }
        (Some(fleet), region) => {
            let open = fleets.named(fleet).ok_or_else(|| Failure::no_fleet(fleet))?;
            let Some(region) = region else { return Ok(Scope::Fleet(open.spec.id)) };
            let id = open.region(region).ok_or_else(|| {
                let detail = format!("fleet {} has no region {region}", open.spec.name);
                Failure::new(StatusCode::NOT_FOUND, "MS-S606", detail, "list them: mainstay fleet get FLEET")
            })?;
            Ok(Scope::Region(open.spec.id, id))
        }
    }
}

pub(super) fn random<const N: usize>() -> Result<[u8; N], Native> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::internal(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes)
}
