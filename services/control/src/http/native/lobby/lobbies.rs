//! `/v1/lobbies`: the services, what they support, and their sessions.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mainstay_core::SessionId;
use mainstay_lobby::{ATTRIBUTES_MAX, Command, Filter, Service, Support};
use mainstay_wire::native::{
    Addresses, LobbyRequest, LobbyView, MemberAnswer, Page, SessionRequest, SessionView,
};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::super::App;
use super::super::super::access::Permission;
use super::super::super::failure::{Failure, Native};
use super::super::paging::cursor;
use super::super::{fresh_id, in_order, keyed, keyed_id};
use super::{ask, comes, joiner, lobby, looks, welcome};
use crate::declare::named;
use crate::lobby::Seen;

/// What a page of a search lists unasked.
const FOUND_DEFAULT: usize = 50;
/// The most it lists.
const FOUND_MAX: usize = 200;
/// The ids of sessions that were asked for with a key are made of it and of their maker's.
const KEYED: Uuid = Uuid::from_u128(0x8f21_6c1d_30be_4b1c_9d1b_7a36_05e4_c2d9);

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read, set)).routes(routes!(search, create))
}

fn service_of(named: &str) -> Result<Service, Native> {
    let found = Service::ALL.into_iter().find(|service| service.name() == named);
    found.ok_or_else(|| Failure::no_lobby().into())
}

#[utoipa::path(
    get,
    operation_id = "listLobbies",
    path = "/v1/lobbies",
    tag = "lobby",
    security(("basic" = []), ("token" = []), ()),
    responses((status = 200, description = "The lobby services, and whether their sessions migrate", body = Page<LobbyView>)),
)]
async fn list(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Json<Page<LobbyView>>, Native> {
    looks(&app, &headers)?;
    let lobbies = lobby(&app)?;
    let supports = lobbies.read(|lobby, _| Service::ALL.map(|it| (it, lobby.support(it)))).await?;
    let views = supports.map(|(service, support)| lobbies.service(service, support));
    Ok(Json(Page { items: views.into(), next_cursor: None }))
}

#[utoipa::path(
    get,
    operation_id = "getLobby",
    path = "/v1/lobbies/{service}",
    tag = "lobby",
    security(("basic" = []), ("token" = []), ()),
    params(("service" = String, Path, description = "`lan` or `online`")),
    responses((status = 200, description = "As asked", body = LobbyView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<Json<LobbyView>, Native> {
    looks(&app, &headers)?;
    let (lobbies, service) = (lobby(&app)?, service_of(&named)?);
    let support = lobbies.read(move |lobby, _| lobby.support(service)).await?;
    Ok(Json(lobbies.service(service, support)))
}

/// Whether the service's sessions migrate, from now on. Off: none of them does.
#[utoipa::path(
    put,
    operation_id = "putLobby",
    path = "/v1/lobbies/{service}",
    tag = "lobby",
    params(("service" = String, Path, description = "`lan` or `online`")),
    request_body = LobbyRequest,
    responses((status = 200, description = "It is so, durably", body = LobbyView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn set(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<LobbyView>, Native> {
    let caller = app.caller(&headers)?;
    let asked: LobbyRequest = super::super::body(body)?;
    caller.may(Permission::Configure)?;
    let (lobbies, service) = (lobby(&app)?, service_of(&named)?);
    let migration = if asked.supports_host_migration { Support::Supported } else { Support::Unsupported };
    ask(&app, SessionId::LOWEST, Command::Configure { service, migration }).await?;
    Ok(Json(lobbies.service(service, migration)))
}

/// Sessions that can be found and fit. A page may be empty and have a cursor: go on with that.
#[utoipa::path(
    get,
    operation_id = "searchSessions",
    path = "/v1/lobbies/{service}/sessions",
    tag = "lobby",
    security(("basic" = []), ("token" = []), ()),
    params(
        ("service" = String, Path, description = "`lan` or `online`"),
        ("free" = Option<usize>, Query, description = "At least so many free seats; 1 unasked, and 0 for full and closed ones, too"),
        ("attr.NAME" = Option<String>, Query, description = "With this value of attribute NAME; any number of them"),
        ("limit" = Option<usize>, Query, description = "50 unasked, 200 at most"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
    ),
    responses((status = 200, description = "Without the members' addresses", body = Page<SessionView>), (status = 429, description = "Too often", body = Problem)),
)]
async fn search(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<SessionView>>, Native> {
    let looks = looks(&app, &headers)?;
    let (lobbies, service) = (lobby(&app)?, service_of(&named)?);
    let Query(query) = query.map_err(|error| unreadable(&error.body_text()))?;
    let asked = Asked::read(service, &query)?;
    lobbies.limits().search(&looks.counted(), app.now())?;
    let found = lobbies.read(move |lobby, now| {
        let found = lobby.search(&asked.filter, asked.after, asked.limit);
        let seen = found.sessions.iter().map(|session| Seen::of(lobby, session, now)).collect::<Vec<_>>();
        (seen, found.next)
    });
    let (seen, next) = found.await?;
    let items = seen.iter().map(|seen| lobbies.view(seen, Addresses::Untold)).collect();
    Ok(Json(Page { items, next_cursor: next.map(|id| id.to_string()) }))
}

struct Asked {
    filter: Filter,
    after: Option<SessionId>,
    limit: usize,
}

impl Asked {
    fn read(service: Service, query: &[(String, String)]) -> Result<Self, Native> {
        let mut filter = Filter { service, free: 1, attributes: Vec::new() };
        let (mut after, mut limit) = (None, FOUND_DEFAULT);
        for (name, value) in query {
            let number = || value.parse::<usize>().map_err(|_| unreadable(&format!("`{name}` is no number")));
            match (name.as_str(), name.strip_prefix("attr.")) {
                (_, Some(attribute)) => filter.attributes.push((attribute.into(), value.as_str().into())),
                ("free", None) => filter.free = number()?,
                ("limit", None) => limit = number()?.clamp(1, FOUND_MAX),
                ("cursor", None) => after = Some(cursor(value)?),
                (_, None) => return Err(unreadable(&format!("there is no `{name}` to search by"))),
            }
        }
        if filter.attributes.len() > ATTRIBUTES_MAX {
            return Err(unreadable(&format!("at most {ATTRIBUTES_MAX} attributes are searched by")));
        }
        Ok(Self { filter, after, limit })
    }
}

fn unreadable(detail: &str) -> Native {
    Failure::bad_request(detail.to_owned(), "mend the query; see docs/reference/lobby.md").into()
}

/// Makes a session; its maker is its first member and host. With an `Idempotency-Key`, a repeat of the same process answers with the same session, and another body or lobby under the same key is refused (MS-G023).
#[utoipa::path(
    post,
    operation_id = "createSession",
    path = "/v1/lobbies/{service}/sessions",
    tag = "lobby",
    security(("basic" = []), ("token" = []), ()),
    params(("service" = String, Path, description = "`lan` or `online`"), ("Idempotency-Key" = Option<String>, Header, description = "Makes the call safe to repeat")),
    request_body = SessionRequest,
    responses((status = 201, description = "It goes on, and is durable; with the certificate of epoch 1", body = MemberAnswer), (status = 400, description = "What was sent does not fit", body = Problem), (status = 409, description = "The key has made a session that was asked for otherwise", body = Problem), (status = 429, description = "Too often", body = Problem)),
)]
async fn create(
    State(app): State<Arc<App>>,
    Path(service): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Native> {
    comes(&app, &headers)?;
    let body = super::super::bytes(body)?;
    let asked: SessionRequest = super::super::body(Ok(body.clone()))?;
    let service = service_of(&service)?;
    let by = joiner(&app, &headers, &asked.member, None)?;
    // With a key, a repeat of the same process finds the session that it made.
    let session = SessionId(match keyed(&headers)? {
        Some(key) => {
            let of_process = named(named(KEYED, &asked.member.peer), key);
            keyed_id(of_process, &format!("{service} {}", in_order(&body)))
        }
        None => fresh_id()?,
    });
    let settings = asked.settings();
    ask(&app, session, Command::Create { session, service, settings, by: by.clone() }).await?;
    Ok((StatusCode::CREATED, Json(welcome(&app, session, &by).await?)).into_response())
}
