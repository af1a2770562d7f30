//! `/v1/queues` itself.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use mainstay_matchmaking::spec::QueueSpec;
use mainstay_matchmaking::{Caller as Asker, Command};
use mainstay_wire::multiplay::instant;
use mainstay_wire::native::{Page, QueueView, TimeToMatchView};
use mainstay_wire::playfab::queue::{MatchmakingQueueConfig, shape};
use mainstay_wire::problem::Problem;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::access::Permission;
use super::super::super::failure::{Failure, Native};
use super::super::paging::{Asked, page};
use super::{Asking, queue_of};
use crate::queues::{OpenQueue, Queues};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read, set, remove))
        .routes(routes!(pause))
        .routes(routes!(resume))
}

#[utoipa::path(
    get,
    operation_id = "listQueues",
    path = "/v1/queues",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(Asked),
    responses((status = 200, description = "As asked", body = Page<QueueView>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<QueueView>>, Native> {
    Asking::by_title(&app, &app.caller(&headers)?, Permission::Read)?;
    let asked = Asked::read(query)?;
    let (after, limit): (Option<String>, _) = (asked.after()?, asked.limit());
    let queues = app.queues.now();
    let listed = queues.iter().filter(|(name, _)| after.as_deref().is_none_or(|after| ***name > *after));
    let Page { items, next_cursor } =
        page(listed.take(limit + 1).collect(), limit, |(name, _)| name.to_string());
    let mut views = Vec::new();
    for (name, queue) in items {
        // One that was removed meanwhile is no longer listed.
        views.extend(view(name, queue).await?);
    }
    Ok(Json(Page { items: views, next_cursor }))
}

#[utoipa::path(
    get,
    operation_id = "getQueue",
    path = "/v1/queues/{queue}",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "Its name")),
    responses((status = 200, description = "As asked", body = QueueView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<QueueView>, Native> {
    Asking::by_title(&app, &app.caller(&headers)?, Permission::Read)?;
    shown(&name, &queue_of(&app, &name)?).await
}

/// Has a queue match by what is sent: PlayFab's JSON, in the shape of its API or of its documentation. Tickets that the new
/// rules read as the old ones did stay.
#[utoipa::path(
    put,
    operation_id = "putQueue",
    path = "/v1/queues/{queue}",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "Its name")),
    request_body = Value,
    responses((status = 200, description = "It matches by this", body = QueueView), (status = 400, description = "Every fault at once, in `problems`", body = Problem)),
)]
async fn set(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<QueueView>, Native> {
    let caller = app.caller(&headers)?;
    let sent: Value = super::super::body(body)?;
    Asking::by_title(&app, &caller, Permission::Configure)?;
    let spec = spec(sent, &name, &app.queues)?;
    app.queues.set(Arc::new(spec)).await?;
    shown(&name, &queue_of(&app, &name)?).await
}

#[utoipa::path(
    delete,
    operation_id = "deleteQueue",
    path = "/v1/queues/{queue}",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "Its name")),
    responses((status = 204, description = "It is removed, and its tickets are cancelled"), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn remove(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    Asking::by_title(&app, &app.caller(&headers)?, Permission::Configure)?;
    queue_of(&app, &name)?;
    app.queues.remove(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Has a queue form no matches until it is resumed. Tickets come, wait and give up as ever; matches that have been found get
/// their servers. A restart leaves it paused.
#[utoipa::path(
    post,
    operation_id = "pauseQueue",
    path = "/v1/queues/{queue}/pause",
    tag = "matchmaking",
    params(("queue" = String, Path, description = "Its name")),
    responses((status = 200, description = "It is paused", body = QueueView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn pause(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<QueueView>, Native> {
    told(&app, &name, &headers, Command::Pause).await
}

/// Has a queue match again: all who wait are looked at anew.
#[utoipa::path(
    post,
    operation_id = "resumeQueue",
    path = "/v1/queues/{queue}/resume",
    tag = "matchmaking",
    params(("queue" = String, Path, description = "Its name")),
    responses((status = 200, description = "It matches", body = QueueView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn resume(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<QueueView>, Native> {
    told(&app, &name, &headers, Command::Resume).await
}

async fn told(
    app: &Arc<App>,
    name: &str,
    headers: &HeaderMap,
    command: Command,
) -> Result<Json<QueueView>, Native> {
    app.permit(headers, Permission::Operate)?;
    let queue = queue_of(app, name)?;
    queue.ask(command).await??;
    shown(name, &queue).await
}

/// How it stands, if nobody removes it meanwhile.
async fn shown(name: &str, queue: &OpenQueue) -> Result<Json<QueueView>, Native> {
    Ok(Json(view(name, queue).await?.ok_or_else(|| Failure::no_queue(name))?))
}

async fn view(name: &str, queue: &OpenQueue) -> Result<Option<QueueView>, Native> {
    let read = queue.read(|queue, now| {
        let spec = queue.spec()?.clone();
        Some((spec, queue.open(), queue.paused(), queue.statistics(&Asker::Title, now).ok()?))
    });
    let Some((spec, open_tickets, paused, statistics)) = read.await? else { return Ok(None) };
    let configuration = serde_json::to_value(MatchmakingQueueConfig::of(spec.declared()));
    Ok(Some(QueueView {
        name: name.to_owned(),
        open_tickets,
        players_matching: statistics.players_matching.unwrap_or_default(),
        time_to_match: TimeToMatchView::of(&statistics),
        paused_since: paused.map(instant),
        configuration: configuration.expect("a queue is plain data"),
    }))
}

/// What is sent, as a queue of that name.
fn spec(sent: Value, name: &str, queues: &Queues) -> Result<QueueSpec, Native> {
    let mut config = config(sent)?;
    if config.name.is_empty() {
        name.clone_into(&mut config.name);
    }
    if config.name != name {
        let detail = format!("the body names the queue {}, the path {name}", config.name);
        return Err(Failure::bad_request(detail, "leave the name out of the body, or write it alike").into());
    }
    queues.checked(&config).map_err(|faults| Failure::queue(&faults).into())
}

/// The rules of what is sent, in a queue of that name, whatever queue they were written for.
pub(super) fn tried(sent: Value, name: &str, queues: &Queues) -> Result<QueueSpec, Native> {
    let config = MatchmakingQueueConfig { name: name.to_owned(), ..config(sent)? };
    queues.checked(&config).map_err(|faults| Failure::queue(&faults).into())
}

/// A queue as it is pasted: in either spelling and shape, as PlayFab's call wraps it, or bare.
fn config(mut sent: Value) -> Result<MatchmakingQueueConfig, Native> {
    if let Some(wrapped) = sent.get_mut("MatchmakingQueue") {
        sent = wrapped.take();
    }
    let sent = shape::named(sent).map_err(|faults| Failure::queue(&faults))?;
    MatchmakingQueueConfig::read(sent).map_err(|faults| Failure::queue(&faults).into())
}
