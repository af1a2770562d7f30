//! `/v1/queues/{queue}/tickets`.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mainstay_core::{TicketId, Timestamp};
use mainstay_matchmaking::{Caller as Asker, Command, Hold, Kind, Queue, Rejection, Seated, Stage};
use mainstay_wire::multiplay::instant;
use mainstay_wire::native::{Page, PlayerRequest, TicketRequest, TicketView, WhyView};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::access::Permission;
use super::super::super::failure::{Failure, Native};
use super::super::paging::{Asked, page};
use super::{
    Asking, OfPlayer, PLAYERS, Whose, events, free, kept_of, made_before, new_ticket, player_named, queue_of,
    sent_teamless, ticket_for, ticket_of,
};
use crate::queues::{Running, members};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(list, make, cancel_all))
        .routes(routes!(read, cancel))
        .routes(routes!(join))
        .routes(routes!(why))
        .routes(routes!(watch))
        .routes(routes!(renew))
}

/// Makes a ticket for players that the caller vouches for, or for one who invites others: it searches once they have joined. A player (`X-EntityToken`) makes its own: it alone is in `players`. With an `Idempotency-Key`, a repeat answers with the same ticket, and another body under the same key is refused (MS-M024).
#[utoipa::path(
    post,
    operation_id = "createTicket",
    path = "/v1/queues/{queue}/tickets",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("Idempotency-Key" = Option<String>, Header, description = "Makes the call safe to repeat")),
    request_body = TicketRequest,
    responses((status = 201, description = "It searches, and is durable", body = TicketView), (status = 400, description = "What was sent does not fit the queue", body = Problem), (status = 403, description = "It is for another player", body = Problem), (status = 409, description = "A player is in another ticket, or the key has made another one", body = Problem)),
)]
async fn make(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Native> {
    let caller = app.caller(&headers)?;
    let body = super::super::bytes(body)?;
    let asked: TicketRequest = super::super::body(Ok(body.clone()))?;
    let asking = Asking::by_account_or_token(&app, &caller, Permission::Match)?;
    let queue = queue_of(&app, &name)?;
    let new = new_ticket(&headers, &caller, (&name, Kind::Ordinary), &body)?;
    if let Some(before) = made_before(&asking, &queue, &name, new).await? {
        return Ok((StatusCode::CREATED, Json(before)).into_response());
    }
    let give_up_after = asked.give_up_after_seconds;
    let players = sent_teamless(PLAYERS, asked.players)?;
    let invited = asked.invited.into_iter().map(player_named).collect::<Result<Vec<_>, _>>()?;
    let of = (&queue, name, Kind::Ordinary);
    let made = match (asking.asker(), &players[..], &invited[..]) {
        (Asker::Server(_) | Asker::Hosted(_) | Asker::Title, _, []) => {
            let creator = asking.creator()?;
            let command = |players, form| Command::CreateServerTicket {
                ticket: new.id(),
                caller: asking.asker().clone(),
                creator: creator.clone(),
                members: members(players),
                give_up_after,
                form,
            };
            ticket_for(&asking, of, &players, command).await?
        }
        (_, [one], _) => {
            let command = |mut players: Vec<Seated>, form| Command::CreateTicket {
                ticket: new.id(),
                caller: asking.as_player(&one.entity),
                creator: players.swap_remove(0).member,
                invited: invited.clone(),
                give_up_after,
                form,
            };
            ticket_for(&asking, of, &players, command).await?
        }
        (Asker::Player(_), several, []) => {
            let detail = format!("`players` has {}: a player makes a ticket for itself", several.len());
            let fix = "name yourself alone in `players`, and the others in `invited`";
            return Err(Failure::bad_request(detail, fix).into());
        }
        (_, several, _) => {
            let detail =
                format!("`players` has {} and `invited` some: one player invites others", several.len());
            return Err(Failure::bad_request(detail, "name one in `players`, or nobody in `invited`").into());
        }
    };
    Ok((StatusCode::CREATED, Json(made)).into_response())
}

/// A player who was invited joins, with what it brings; once all have, the search begins. Who shows a player's token joins by itself.
#[utoipa::path(
    post,
    operation_id = "joinTicket",
    path = "/v1/queues/{queue}/tickets/{ticket}/players",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("ticket" = String, Path, description = "Its id")),
    request_body = PlayerRequest,
    responses((status = 200, description = "It has joined, which is durable", body = TicketView), (status = 400, description = "What was sent does not fit the queue", body = Problem), (status = 403, description = "It was not invited", body = Problem), (status = 404, description = "There is no such thing", body = Problem), (status = 409, description = "It has joined before, is in another ticket, or this one is over", body = Problem)),
)]
async fn join(
    State(app): State<Arc<App>>,
    Path((name, ticket)): Path<(String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<TicketView>, Native> {
    let caller = app.caller(&headers)?;
    let asking = Asking::by_account_or_token(&app, &caller, Permission::Match)?;
    let player: PlayerRequest = super::super::body(body)?;
    let (queue, ticket) = (queue_of(&app, &name)?, ticket_of(&ticket)?);
    let player = sent_teamless(PLAYERS, vec![player])?;
    let command = |mut players: Vec<Seated>, form| Command::JoinTicket {
        ticket,
        caller: asking.as_player(&player[0].entity),
        member: players.swap_remove(0).member,
        form,
    };
    Ok(Json(ticket_for(&asking, (&queue, name, Kind::Ordinary), &player, command).await?))
}

#[utoipa::path(
    get,
    operation_id = "listTickets",
    path = "/v1/queues/{queue}/tickets",
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
    let asking = Asking::by_account_or_token(&app, &caller, Permission::Read)?;
    if let Some(player) = super::whose(whose)? {
        return super::of_one(&asking, name, player, Kind::Ordinary).await;
    }
    caller.may(Permission::Read)?;
    let asked = super::asked(query)?;
    let (after, limit): (Option<TicketId>, _) = (asked.after()?, asked.limit());
    let queue = queue_of(&app, &name)?;
    let tickets = queue
        .read(move |queue, now| queue.tickets_after(after, now).take(limit + 1).cloned().collect::<Vec<_>>());
    let views = tickets.await?.iter().map(|ticket| TicketView::of(ticket, &name)).collect();
    Ok(Json(page(views, limit, |ticket| ticket.id.to_string())))
}

/// For a service account, a process hosted here of its own backfill tickets, and by `X-EntityToken` a player of its own tickets, a game server and the title.
#[utoipa::path(
    get,
    operation_id = "getTicket",
    path = "/v1/queues/{queue}/tickets/{ticket}",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("ticket" = String, Path, description = "Its id; a backfill ticket's too")),
    responses((status = 200, description = "As asked", body = TicketView), (status = 404, description = "There is no such thing, or it ended some time ago", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path((name, ticket)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<TicketView>, Native> {
    let (asking, queue, ticket) = looks_at(&app, &headers, (&name, &ticket)).await?;
    let asker = asking.asker().clone();
    let view = queue.read(move |queue, now| view_for(queue, ticket, &asker, now)).await?;
    let view = view.ok_or_else(|| Failure::no_ticket(ticket))?;
    Ok(Json(TicketView { queue: name, ..view }))
}

/// For whoever may look at it; of players, those who have joined.
#[utoipa::path(
    delete,
    operation_id = "cancelTicket",
    path = "/v1/queues/{queue}/tickets/{ticket}",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("ticket" = String, Path, description = "Its id; a backfill ticket's too")),
    responses((status = 204, description = "It is over"), (status = 404, description = "There is no such thing", body = Problem), (status = 409, description = "It is matched", body = Problem)),
)]
async fn cancel(
    State(app): State<Arc<App>>,
    Path((name, ticket)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    let asking = Asking::by_anybody(&app, &app.caller(&headers)?, Permission::Match).await?;
    let (queue, ticket) = (kept_of(&app, &name).await?, ticket_of(&ticket)?);
    asking.cancels(&name, &ticket.to_string())?;
    let caller = asking.asker().clone();
    // For a player there are no backfill tickets (seed 004).
    let is_game = match caller {
        Asker::Player(_) => false,
        Asker::Server(_) | Asker::Hosted(_) | Asker::Title => {
            queue.read(move |queue, now| queue.backfill(ticket, &Asker::Title, now).is_ok()).await?
        }
    };
    let is_player = matches!(caller, Asker::Player(_));
    let command = if is_game {
        Command::CancelBackfill { ticket, caller }
    } else {
        Command::CancelTicket { ticket, caller }
    };
    match queue.ask(command).await? {
        // A look at it does not tell others' players that there is one, either.
        Err(Rejection::Unauthorized { .. }) if is_player => Err(Failure::no_ticket(ticket).into()),
        answer => {
            answer?;
            Ok(StatusCode::NO_CONTENT)
        }
    }
}

/// Ends what ties a player to this queue, for one whose ticket's id is lost.
#[utoipa::path(
    delete,
    operation_id = "cancelTicketsOfPlayer",
    path = "/v1/queues/{queue}/tickets",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), OfPlayer),
    responses((status = 204, description = "It is in no open ticket of players; none, if it was in none"), (status = 400, description = "No player is named", body = Problem)),
)]
async fn cancel_all(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    query: Result<Query<OfPlayer>, QueryRejection>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    let asking = Asking::by_account_or_token(&app, &app.caller(&headers)?, Permission::Match)?;
    let caller = asking.asker().clone();
    free(&asking, &name, query, |player| Command::CancelAllTickets { player, caller }).await
}

/// The nearest other tickets, the rule that keeps each away and by how much, and when a rule gives way next. For whoever may look at it; a
/// player is not told which tickets the others are.
#[utoipa::path(
    get,
    operation_id = "whyTicket",
    path = "/v1/queues/{queue}/tickets/{ticket}/why",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("ticket" = String, Path, description = "Its id; a backfill ticket's too")),
    responses((status = 200, description = "Why it is not matched yet", body = WhyView), (status = 404, description = "There is no such thing", body = Problem), (status = 409, description = "It is over", body = Problem)),
)]
async fn why(
    State(app): State<Arc<App>>,
    Path((name, ticket)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<WhyView>, Native> {
    let (asking, queue, ticket) = looks_at(&app, &headers, (&name, &ticket)).await?;
    let asker = asking.asker().clone();
    let read = queue.read(move |queue, now| {
        let status = view_for(queue, ticket, &asker, now).map(|view| view.status);
        (status, waits(queue, ticket, now), queue.around(ticket, &asker), queue.paused(), now)
    });
    let (status, waits, around, paused, now) = read.await?;
    let status = status.ok_or_else(|| Failure::no_ticket(ticket))?;
    if let Some((mut waits, hold)) = waits {
        if let (Some(server), Some(hold)) = (&mut waits.server, hold) {
            server.not_ready = asking.app().queues.not_ready(&hold).await?;
        }
        return Ok(Json(waits));
    }
    let around = around.ok_or_else(|| Failure::not_searching(ticket, &status))?;
    let mut why = WhyView { paused_since: paused.map(instant), ..WhyView::from(&around.why(now)) };
    if matches!(asking.asker(), Asker::Player(_)) {
        why.nearest.iter_mut().for_each(|other| other.id = None);
    }
    Ok(Json(why))
}

/// What a ticket waits for that looks for nobody: for players whom it invites, or in a group for its match's server.
fn waits(queue: &Queue, ticket: TicketId, now: Timestamp) -> Option<(WhyView, Option<Arc<Hold>>)> {
    let ticket = queue.ticket(ticket, &Asker::Title, now).ok()?;
    match ticket.stage {
        Stage::Held { hold, searching } => {
            let hold = queue.hold(hold)?;
            Some((WhyView::of_hold(hold, searching.since, queue.spec()?, now), Some(Arc::clone(hold))))
        }
        Stage::Gathering => Some((WhyView::of_group(ticket, queue.spec()?), None)),
        Stage::Searching(_) | Stage::Matched { .. } | Stage::Canceled { .. } => None,
    }
}

/// What becomes of a ticket, as it happens: an event with each change, the first at once, the last when it is over. For whoever may look
/// at it, players included.
#[utoipa::path(
    get,
    operation_id = "watchTicket",
    path = "/v1/queues/{queue}/tickets/{ticket}/events",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("ticket" = String, Path, description = "Its id; a backfill ticket's too")),
    responses((status = 200, description = "Server-sent events of type `ticket`", body = TicketView, content_type = "text/event-stream"), (status = 404, description = "There is no such thing", body = Problem), (status = 503, description = "Too many tickets are watched", body = Problem)),
)]
async fn watch(
    State(app): State<Arc<App>>,
    Path((name, ticket)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Response, Native> {
    let (asking, queue, ticket) = looks_at(&app, &headers, (&name, &ticket)).await?;
    let asker = asking.asker().clone();
    // Whoever is revoked, or whose token has run out, hears nothing more.
    let may_look = move || app.caller(&headers).is_ok();
    Ok(events::stream(&queue, name, ticket, asker, may_look).await?.into_response())
}

/// Says that the server of a game goes on which is not hosted here: its backfill ticket's lease is renewed.
#[utoipa::path(
    put,
    operation_id = "renewBackfill",
    path = "/v1/queues/{queue}/tickets/{ticket}/lease",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("ticket" = String, Path, description = "Its id")),
    responses((status = 204, description = "It is renewed, if it has one"), (status = 404, description = "There is no such thing", body = Problem), (status = 409, description = "It is over, or no backfill ticket", body = Problem)),
)]
async fn renew(
    State(app): State<Arc<App>>,
    Path((name, ticket)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    let asking = Asking::by_servers(&app, &app.caller(&headers)?, Permission::Match).await?;
    let (queue, ticket) = (kept_of(&app, &name).await?, ticket_of(&ticket)?);
    asking.renews(&name, ticket)?;
    queue.ask(Command::RenewBackfill { ticket, caller: asking.asker().clone() }).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Who looks at a ticket, and at which.
async fn looks_at<'a>(
    app: &'a App,
    headers: &HeaderMap,
    (name, ticket): (&str, &str),
) -> Result<(Asking<'a>, Running, TicketId), Native> {
    let asking = Asking::by_anybody(app, &app.caller(headers)?, Permission::Read).await?;
    let (queue, ticket) = (kept_of(app, name).await?, ticket_of(ticket)?);
    asking.polls(name, ticket)?;
    Ok((asking, queue, ticket))
}

/// A ticket of either kind, without its queue's name.
pub(super) fn view(queue: &Queue, ticket: TicketId, now: Timestamp) -> Option<TicketView> {
    view_for(queue, ticket, &Asker::Title, now)
}

/// The same, for whoever may look at it.
pub(super) fn view_for(queue: &Queue, ticket: TicketId, asker: &Asker, now: Timestamp) -> Option<TicketView> {
    let of_players = queue.ticket(ticket, asker, now).map(|ticket| TicketView::of(ticket, ""));
    let any =
        of_players.or_else(|_| queue.backfill(ticket, asker, now).map(|it| TicketView::of_game(it, "")));
    any.ok()
}
