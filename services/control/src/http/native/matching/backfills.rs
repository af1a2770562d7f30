//! `/v1/queues/{queue}/backfills`: making and listing them. What is done with one is done as with any ticket.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mainstay_core::TicketId;
use mainstay_matchmaking::{Command, Kind, TakenOut, Terms};
use mainstay_wire::native::{BackfillRequest, OnPlayerTakenOut, Page, TicketView};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::access::Permission;
use super::super::super::failure::Native;
use super::super::paging::{Asked, page};
use super::{Asking, OfPlayer, PLAYERS, Whose, free, made_before, new_ticket, queue_of, sent, ticket_for};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list, make, cancel_all))
}

/// Asks for more players for a game that goes on. With an `Idempotency-Key`, a repeat answers with the same ticket, and another body under the same key is refused (MS-M024).
#[utoipa::path(
    post,
    operation_id = "createBackfill",
    path = "/v1/queues/{queue}/backfills",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("Idempotency-Key" = Option<String>, Header, description = "Makes the call safe to repeat")),
    request_body = BackfillRequest,
    responses((status = 201, description = "It searches, and is durable", body = TicketView), (status = 400, description = "What was sent does not fit the queue", body = Problem), (status = 409, description = "A player is in another backfill ticket, or the key has made another one", body = Problem)),
)]
async fn make(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Native> {
    let caller = app.caller(&headers)?;
    let body = super::super::bytes(body)?;
    let asked: BackfillRequest = super::super::body(Ok(body.clone()))?;
    let asking = Asking::by_servers(&app, &caller, Permission::Match).await?;
    let queue = queue_of(&app, &name)?;
    let new = new_ticket(&headers, &caller, (&name, Kind::Backfill), &body)?;
    if let Some(before) = made_before(&asking, &queue, &name, new).await? {
        return Ok((StatusCode::CREATED, Json(before)).into_response());
    }
    let (players, server) = (sent(PLAYERS, asked.players)?, asked.server.details());
    let lease = app.queues.lease(server.server_id.as_deref(), asked.lease_seconds).await?;
    let terms = Terms { lease, taken_out: taken_out(asked.on_player_taken_out) };
    let command = |members, form| Command::CreateBackfill {
        ticket: new.id(),
        caller: asking.asker().clone(),
        members,
        server: server.clone(),
        places: asked.places,
        give_up_after: asked.give_up_after_seconds,
        terms,
        form,
    };
    let of = (&queue, name, Kind::Backfill);
    let made = ticket_for(&asking, of, &players, command).await?;
    Ok((StatusCode::CREATED, Json(made)).into_response())
}

const fn taken_out(asked: OnPlayerTakenOut) -> TakenOut {
    match asked {
        OnPlayerTakenOut::Cancel => TakenOut::Ends,
        OnPlayerTakenOut::GoOn => TakenOut::GoesOn,
    }
}

/// For a service account; with `player` also for game servers and the title (`X-EntityToken`), and for a process hosted here, which is told of another game's ticket who asks and how it stands,
/// and nothing of its other players.
#[utoipa::path(
    get,
    operation_id = "listBackfills",
    path = "/v1/queues/{queue}/backfills",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), Asked, Whose),
    responses((status = 200, description = "Those that are open, and those that ended a short while ago; of one player the one that is open", body = Page<TicketView>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    whose: Result<Query<Whose>, QueryRejection>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<TicketView>>, Native> {
    let caller = app.caller(&headers)?;
    if let Some(player) = super::whose(whose)? {
        let asking = Asking::by_servers(&app, &caller, Permission::Read).await?;
        return super::of_one(&asking, name, player, Kind::Backfill).await;
    }
    caller.may(Permission::Read)?;
    let asked = super::asked(query)?;
    let (after, limit): (Option<TicketId>, _) = (asked.after()?, asked.limit());
    let queue = queue_of(&app, &name)?;
    let games = queue.read(move |queue, now| {
        queue.backfills_after(after, now).take(limit + 1).cloned().collect::<Vec<_>>()
    });
    let views = games.await?.iter().map(|game| TicketView::of_game(game, &name)).collect();
    Ok(Json(page(views, limit, |ticket| ticket.id.to_string())))
}

/// Ends what ties a player to a game, also to one that crashed: its backfill ticket in this queue.
#[utoipa::path(
    delete,
    operation_id = "cancelBackfillsOfPlayer",
    path = "/v1/queues/{queue}/backfills",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), OfPlayer),
    responses((status = 204, description = "It is in no open backfill ticket; none, if it was in none"), (status = 400, description = "No player is named", body = Problem)),
)]
async fn cancel_all(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    query: Result<Query<OfPlayer>, QueryRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    let asking = Asking::by_servers(&app, &app.caller(&headers)?, Permission::Match).await?;
    let caller = asking.asker().clone();
    free(&asking, &name, query, |player| Command::CancelAllBackfills { player, caller }).await
}
