//! `/v1/servers`: what they are, what they print, and what an operator does to them.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mainstay_core::slot::ConfigurationRef;
use mainstay_core::{BuildConfigurationId, MachineId, ServerId};
use mainstay_fleet::{Answer, Command};
use mainstay_wire::agent::Fill;
use mainstay_wire::native::{Page, ServerAction, ServerActionRequest, ServerActionView, ServerView, Within};
use mainstay_wire::problem::Problem;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native};
use super::paging::{Asked, page};
use crate::far_files::unseen;
use crate::shards::OpenFleet;

/// The most lines of output one call gives; with the limit of the log's own reader on bytes, an answer of about 1 MB.
const LOG_LINES_MAX: usize = 10_000;
/// What a call gives unasked.
const LOG_LINES_DEFAULT: usize = 100;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
        .routes(routes!(act))
        .routes(routes!(logs))
}

#[utoipa::path(
    get,
    operation_id = "listServers",
    path = "/v1/servers",
    tag = "servers",
    params(Asked),
    responses((status = 200, description = "As asked", body = Page<ServerView>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<ServerView>>, Native> {
    app.permit(&headers, Permission::Read)?;
    let asked = Asked::read(query)?;
    let after: Option<ServerId> = asked.after()?;
    let status = asked.status()?;
    let limit = asked.limit();
    let mut views: Vec<ServerView> = Vec::new();
    for fleet in asked_fleets(&app, &asked)? {
        let spec = Arc::clone(&fleet.spec);
        let room = limit + 1 - views.len();
        let more = fleet.read(move |state, _| {
            let within = Within { spec: &spec, fleet: state };
            let right = |found| status.is_none_or(|asked| found == asked);
            let servers = state.servers(after).filter(|(_, server)| right(server.status()));
            servers.filter_map(|(id, server)| within.server(id, server)).take(room).collect::<Vec<_>>()
        });
        views.extend(more.await?.into_iter().map(|view| waiting(&app, view)));
        if views.len() > limit {
            break;
        }
    }
    Ok(Json(page(views, limit, |server| server.id.to_string())))
}

#[utoipa::path(
    get,
    operation_id = "getServer",
    path = "/v1/servers/{server}",
    tag = "servers",
    params(("server" = String, Path, description = "Its id, 4294967297 or srv-1-1")),
    responses((status = 200, description = "As asked", body = ServerView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<Json<ServerView>, Native> {
    let caller = app.caller(&headers)?;
    match named.parse::<ServerId>() {
        Ok(id) => caller.may_look_at(id)?,
        Err(_) => caller.may(Permission::Read)?,
    }
    let (id, fleet) = find(&app, &named)?;
    let spec = Arc::clone(&fleet.spec);
    let view = fleet.read(move |state, _| {
        let server = state.server(id)?;
        Within { spec: &spec, fleet: state }.server(id, server)
    });
    let view = view.await?.map(|view| Json(waiting(&app, view)));
    view.ok_or_else(|| Failure::no_server(&named).into())
}

/// A server that is to start says what it waits for: its build, which is not on its machine yet, or room on a full disk.
fn waiting(app: &App, mut view: ServerView) -> ServerView {
    // Its order is on its machine, and not taken: to its agent it is one that nobody has asked for.
    if view.process == "stopped" && view.status == "ALLOCATED" {
        let disk = MachineId::from_number(view.machine_id).ok().and_then(|it| app.installing.disk(it));
        view.detail = disk.and_then(|disk| full_disk(disk.fill)).or(view.detail);
    }
    if view.process == "starting" && view.detail.is_none() {
        let machine = MachineId::from_number(view.machine_id).ok();
        let configuration = BuildConfigurationId::from_number(view.build_configuration_id).ok();
        view.detail = machine.zip(configuration).and_then(|(machine, id)| {
            let revision = view.build_configuration_revision;
            let install = app.installing.of(machine, ConfigurationRef { id, revision });
            install
                .and_then(|(install, _)| install.waiting())
                .or_else(|| full_disk(app.installing.disk(machine)?.fill))
        });
    }
    view
}

/// What a server waits for that is to start on a full disk, for people.
fn full_disk(fill: Fill) -> Option<String> {
    match fill {
        Fill::Room => None,
        Fill::Full => {
            let why = "waiting for room: MS-S622: its machine's disk is full; make room on it, and it starts";
            Some(why.to_owned())
        }
    }
}

#[utoipa::path(
    post,
    operation_id = "actOnServer",
    path = "/v1/servers/{server}/actions",
    tag = "servers",
    params(("server" = String, Path, description = "Its id, 4294967297 or srv-1-1")),
    request_body = ServerActionRequest,
    responses((status = 202, description = "It is ordered", body = ServerActionView), (status = 404, description = "There is no such thing", body = Problem), (status = 409, description = "The state of things forbids it", body = Problem)),
)]
async fn act(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<ServerActionView>), Native> {
    let caller = app.caller(&headers)?;
    let asked: ServerActionRequest = super::body(body)?;
    caller.may(Permission::Operate)?;
    let (id, fleet) = find(&app, &named)?;
    let command = match asked.action {
        ServerAction::Start => Command::StartServer(id),
        ServerAction::Stop => Command::StopServer(id),
        ServerAction::Restart => Command::RestartServer(id),
        ServerAction::Release => Command::Release(id),
        ServerAction::Configure => {
            let missing = || {
                let detail = "`buildConfiguration` is missing: configure needs to know which".to_owned();
                Failure::bad_request(detail, "name one of the fleet's: mainstay fleet get FLEET")
            };
            let named = asked.build_configuration.as_deref().ok_or_else(missing)?;
            let configuration = super::allocations::configuration_of(&fleet, Some(named))?;
            Command::SetConfiguration { server: id, configuration }
        }
    };
    let answer = fleet.ask(command).await??;
    Ok((StatusCode::ACCEPTED, Json(ServerActionView { deferred: answer == Answer::Deferred })))
}

/// How much of a server's output is wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Lines {
    /// How many lines; 100 unasked, 10000 at most.
    lines: Option<usize>,
}

#[utoipa::path(
    get,
    operation_id = "getServerLogs",
    path = "/v1/servers/{server}/logs",
    tag = "servers",
    params(("server" = String, Path, description = "Its id, 4294967297 or srv-1-1"), Lines),
    responses((status = 200, description = "Its last lines", body = String, content_type = "text/plain"), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn logs(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    query: Result<Query<Lines>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Native> {
    let caller = app.caller(&headers)?;
    let fix = "see docs/reference/http-api.md";
    let Query(Lines { lines }) = query.map_err(|error| Failure::bad_request(error.body_text(), fix))?;
    caller.may(Permission::Operate)?;
    let (id, fleet) = find(&app, &named)?;
    if !fleet.read(move |state, _| state.server(id).is_some()).await? {
        return Err(Failure::no_server(&named).into());
    }
    let lines = lines.unwrap_or(LOG_LINES_DEFAULT).min(LOG_LINES_MAX);
    let source = Arc::clone(&app.logs);
    let read = tokio::task::spawn_blocking(move || source.tail(id, lines)).await;
    match read {
        Ok(Ok(Some(text))) => Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()),
        Ok(Ok(None)) => {
            let detail = format!("server {named} has written nothing yet");
            let fix = "ask again once it has started";
            Err(Failure::new(StatusCode::NOT_FOUND, "MS-S608", detail, fix).into())
        }
        Ok(Err(error)) => {
            if let Some(unseen) = unseen(&error) {
                return Err(Failure::unseen(unseen).into());
            }
            let detail = format!("the output of server {named} could not be read: {error}");
            let fix = "look whether the agent's data directory can be read";
            Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "MS-S608", detail, fix).into())
        }
        Err(panicked) => Err(Failure::internal(panicked.to_string()).into()),
    }
}

fn find(app: &App, named: &str) -> Result<(ServerId, OpenFleet), Native> {
    let id: ServerId = named.parse().map_err(|_| Failure::no_server(named))?;
    let fleet = app.fleets.now().number(id.fleet()).cloned().ok_or_else(|| Failure::no_server(named))?;
    Ok((id, fleet))
}

/// The fleets a list goes through, in the order of their numbers, which is that of all ids.
pub(super) fn asked_fleets(app: &App, asked: &Asked) -> Result<Vec<OpenFleet>, Native> {
    let fleets = app.fleets.now();
    match &asked.fleet {
        None => Ok(fleets.all().cloned().collect()),
        Some(named) => {
            let fleet = fleets.named(named).cloned().ok_or_else(|| Failure::no_fleet(named))?;
            Ok(vec![fleet])
        }
    }
}
