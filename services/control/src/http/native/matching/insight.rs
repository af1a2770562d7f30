//! What an operator asks of a queue: how it does, which rule keeps its players apart, what it would do, where a match's time went.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use mainstay_core::{MatchId, TicketId, Timestamp};
use mainstay_journal::history::{About, History, HistoryError, HistoryRow};
use mainstay_matchmaking::rehearsal::{REHEARSED_MAX, REHEARSED_SECONDS_MAX, rehearse};
use mainstay_matchmaking::{Caller as Asker, Queue, Rejection};
use mainstay_wire::native::{
    FunnelView, PartyView, PlayerStatisticsView, QueueStatisticsView, RehearsalRequest, RehearsalView,
    WaterfallView,
};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::super::super::App;
use super::super::super::access::{Denied, Permission};
use super::super::super::failure::{Failure, Native};
use super::{Asking, PLAYERS, kept_of, matches, queue_of, queues, sent_teamless, title};
use crate::queues::members;

/// The most events of a match that are told: those of its tickets, of its group and of its allocation.
const STEPS_MAX: u32 = 200;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(statistics))
        .routes(routes!(player_statistics))
        .routes(routes!(funnel))
        .routes(routes!(attempt))
        .routes(routes!(waterfall))
}

/// How a queue does: who waits, how long it took, and what was counted since this control plane began.
#[utoipa::path(
    get,
    operation_id = "queueStatistics",
    path = "/v1/queues/{queue}/statistics",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "Its name")),
    responses((status = 200, description = "As it is now", body = QueueStatisticsView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn statistics(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<QueueStatisticsView>, Native> {
    let asking = Asking::by_account_or_token(&app, &app.caller(&headers)?, Permission::Read)?;
    let asker = match asking.asker() {
        // It tells more than a queue may show to players: they have a call of their own.
        Asker::Player(_) => return Err(Denied::ForServers.into()),
        asker @ (Asker::Server(_) | Asker::Hosted(_) | Asker::Title) => asker.clone(),
    };
    let queue = queue_of(&app, &name)?;
    asking.looks(&name)?;
    let read =
        queue.read(move |queue, now| queue.statistics(&asker, now).map(|told| (queue.gauges(), told, now)));
    let (gauges, told, now) = read.await??;
    Ok(Json(QueueStatisticsView::of(&name, &gauges, &told, now)))
}

/// What a queue shows its players: how many search, and how long it takes to be matched. PlayFab's `GetQueueStatistics`.
#[utoipa::path(
    get,
    operation_id = "playerStatistics",
    path = "/v1/queues/{queue}/statistics/players",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "Its name")),
    responses((status = 200, description = "As it is now", body = PlayerStatisticsView), (status = 403, description = "The queue shows players nothing", body = Problem), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn player_statistics(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<PlayerStatisticsView>, Native> {
    let asking = Asking::by_account_or_token(&app, &app.caller(&headers)?, Permission::Read)?;
    let queue = queue_of(&app, &name)?;
    asking.looks(&name)?;
    let asker = asking.asker().clone();
    let told = queue.read(move |queue, now| queue.statistics(&asker, now)).await??;
    Ok(Json(PlayerStatisticsView::of(name, &told)))
}

/// How many pairs of waiting tickets each rule leaves, and how many it alone keeps apart.
#[utoipa::path(
    get,
    operation_id = "queueFunnel",
    path = "/v1/queues/{queue}/funnel",
    tag = "matchmaking",
    params(("queue" = String, Path, description = "Its name")),
    responses((status = 200, description = "Of at most 200 tickets", body = FunnelView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn funnel(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Json<FunnelView>, Native> {
    app.permit(&headers, Permission::Read)?;
    let queue = queue_of(&app, &name)?;
    let read = queue.read(|queue, now| queue.sample().map(|sample| (sample, now)));
    let (sample, now) = read.await?.ok_or_else(|| Failure::no_queue(&name))?;
    // Some milliseconds of judging: not where others are answered.
    let judged = tokio::task::spawn_blocking(move || FunnelView::from(&sample.funnel(now)));
    Ok(Json(judged.await.map_err(|panicked| Failure::internal(panicked.to_string()))?))
}

/// What the queue would do with some tickets, by its own rules or by others, without anybody waiting.
#[utoipa::path(
    post,
    operation_id = "tryQueue",
    path = "/v1/queues/{queue}/try",
    tag = "matchmaking",
    params(("queue" = String, Path, description = "Its name")),
    request_body = RehearsalRequest,
    responses((status = 200, description = "Who would play with whom, and when", body = RehearsalView), (status = 400, description = "What was sent does not fit the queue", body = Problem), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn attempt(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<RehearsalView>, Native> {
    let caller = app.caller(&headers)?;
    let asked: RehearsalRequest = super::super::body(body)?;
    caller.may(Permission::Match)?;
    check(&asked)?;
    let own = queue_of(&app, &name)?.read(|queue, _| queue.spec().cloned()).await?;
    let own = own.ok_or_else(|| Failure::no_queue(&name))?;
    let spec = match asked.configuration {
        Some(configuration) => Arc::new(queues::tried(configuration, &name, &app.queues)?),
        None => own,
    };
    let parties: Vec<(TicketId, PartyView)> =
        (1..).map(|n| TicketId(Uuid::from_u128(n))).zip(asked.tickets).collect();
    let mut tickets = Vec::with_capacity(parties.len());
    for (at, (ticket, party)) in parties.iter().enumerate() {
        let sent = sent_teamless(&format!("tickets[{at}].{PLAYERS}"), party.players.clone())?;
        let players = app.queues.read_settled(&spec, &sent).await?;
        tickets.push((*ticket, title(), members(players)));
    }
    let within = asked.within_seconds;
    let place = Arc::clone(&app.rehearsing).acquire_owned().await;
    let place = place.map_err(|closed| Failure::internal(closed.to_string()))?;
    // Whoever asked may be gone before it is over, or be told that it takes too long.
    let waits = Arc::new(());
    let waited_for = Arc::downgrade(&waits);
    let tried = tokio::task::spawn_blocking(move || {
        let _place = place;
        let is_waited_for = || waited_for.strong_count() > 0;
        let rehearsed = rehearse(&spec, tickets, within, is_waited_for);
        rehearsed.map(|rehearsed| RehearsalView::of(&rehearsed, &spec, &parties))
    });
    let tried = tried.await.map_err(|panicked| Failure::internal(panicked.to_string()))?;
    drop(waits);
    Ok(Json(tried.map_err(|refused| Native::from(refused.why))?))
}

fn check(asked: &RehearsalRequest) -> Result<(), Failure> {
    if asked.tickets.is_empty() || asked.tickets.len() > REHEARSED_MAX {
        let detail = format!("`tickets` has {}; 1 to {REHEARSED_MAX} are tried at once", asked.tickets.len());
        return Err(Failure::bad_request(detail, "send fewer, or at least one"));
    }
    if asked.within_seconds > REHEARSED_SECONDS_MAX {
        let detail = format!(
            "`withinSeconds` is {}; at most {REHEARSED_SECONDS_MAX} are looked ahead",
            asked.within_seconds
        );
        return Err(Failure::bad_request(detail, "look less far ahead"));
    }
    Ok(())
}

/// Where the time of a match went: its tickets, its group, its server.
#[utoipa::path(
    get,
    operation_id = "matchWaterfall",
    path = "/v1/queues/{queue}/matches/{match}/waterfall",
    tag = "matchmaking",
    params(("queue" = String, Path, description = "The queue's name"), ("match" = String, Path, description = "Its id")),
    responses((status = 200, description = "What happened, in order", body = WaterfallView), (status = 404, description = "There is no such thing, or it was formed some time ago", body = Problem)),
)]
async fn waterfall(
    State(app): State<Arc<App>>,
    Path((name, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<WaterfallView>, Native> {
    app.permit(&headers, Permission::Read)?;
    let (queue, id) = (kept_of(&app, &name).await?, matches::match_of(&id)?);
    // Of the history, which names few of many, is what was done with them.
    let made = queue.read(move |queue, now| made(queue, id, now)).await??;
    // The history follows the journal each second, and the match may be younger.
    let heads = app.journal.work(|journal| journal.heads()).await;
    let heads = heads.map_err(|error| Failure::internal(error.to_string()))?;
    let heads = heads.map_err(|error| Failure::internal(error.to_string()))?;
    let untold = app.told.wait(heads).await?;
    let rows = app.told.read(move |history| story(history, id)).await?;
    let made =
        made.into_iter().map(|(at, ticket)| (at, "ticket.created".to_owned(), vec![ticket.to_string()]));
    let rows = rows.into_iter().map(|row| (row.at, row.kind, row.subjects));
    Ok(Json(WaterfallView::of(id.to_string(), &name, made.chain(rows).collect(), untold)))
}

/// What is told of a match, and of the group it was before it had a server.
fn story(history: &History, id: MatchId) -> Result<Vec<HistoryRow>, HistoryError> {
    let about = |subject: &str| history.find(About::Subject(subject), i64::MAX, STEPS_MAX);
    let mut rows = about(&id.to_string())?;
    let placed = rows.iter().find(|row| row.kind == "match.placed");
    if let Some(hold) = placed.and_then(|row| row.subjects.first().cloned()) {
        rows.extend(about(&hold)?);
    }
    rows.sort_by_key(|row| row.id);
    rows.dedup_by_key(|row| row.id);
    Ok(rows)
}

/// When the tickets of a match were made.
fn made(queue: &Queue, id: MatchId, now: Timestamp) -> Result<Vec<(Timestamp, TicketId)>, Rejection> {
    queue.formed_match(id, &Asker::Title, now)?;
    let created = |ticket: TicketId| match queue.ticket(ticket, &Asker::Title, now) {
        Ok(ticket) => Some((ticket.created, ticket.id)),
        Err(_) => queue.backfill(ticket, &Asker::Title, now).ok().map(|game| (game.created, game.id)),
    };
    Ok(queue.ended_in(id).filter_map(created).collect())
}
