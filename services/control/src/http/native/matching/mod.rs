//! `/v1/queues`: queues, tickets, backfill tickets and matches, for the studio's own services and for whoever has an entity token: who
//! may what is in [`Asking`].

mod asking;
mod backfills;
mod events;
mod insight;
mod kept;
mod matches;
mod queues;
mod tickets;

use std::sync::Arc;

use axum::Json;
use axum::extract::{Query, rejection::QueryRejection};
use axum::http::{HeaderMap, StatusCode};
use mainstay_core::TicketId;
use mainstay_matchmaking::{Answer, Command, ENTITY_PART_BYTES_MAX, Entity, Kind, Rejection, Seated};
use mainstay_wire::native::{Page, PlayerOfTicket, PlayerRequest, TicketView};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use uuid::Uuid;

use super::super::App;
use super::super::access::Caller;
use super::super::failure::{Failure, Native};
use super::{fresh_id, in_order, keyed, keyed_id};
use crate::declare::named;
use crate::queues::{OpenQueue, Running, Sent};

pub(super) use self::asking::Asking;
pub(crate) use self::kept::keep;
use self::tickets::view;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .merge(queues::routes())
        .merge(insight::routes())
        .merge(tickets::routes())
        .merge(backfills::routes())
        .merge(matches::routes())
}

/// The ids of tickets that were asked for with a key are made of it, the asker and the queue.
const KEYED: Uuid = Uuid::from_u128(0x61c7_02f5_97d3_4e52_b1e8_94d0_5f3a_2c07);

/// Who the tickets of a service account belong to: the title.
const TITLE: &str = "title";

fn queue_of(app: &App, name: &str) -> Result<OpenQueue, Native> {
    app.queues.named(name).ok_or_else(|| Failure::no_queue(name).into())
}

/// The same, or one that was removed a short while ago: for calls about one ticket or match.
async fn kept_of(app: &App, name: &str) -> Result<Running, Native> {
    Ok(app.queues.kept(name).await?.ok_or_else(|| Failure::no_queue(name))?)
}

/// The id of a ticket that is asked for.
#[derive(Debug, Clone, Copy)]
enum Made {
    /// Nothing had it before.
    Fresh(TicketId),
    /// It is made of a key: the ticket may be there.
    Keyed(TicketId),
}

impl Made {
    const fn id(self) -> TicketId {
        match self {
            Self::Fresh(id) | Self::Keyed(id) => id,
        }
    }
}

/// A new ticket's id: of the caller's key, where there is one, so that a repeat finds the ticket it made. Of what is asked, too, in its
/// second half: the rules refuse what is asked otherwise under the same key.
fn new_ticket(
    headers: &HeaderMap,
    caller: &Caller,
    (queue, kind): (&str, Kind),
    body: &[u8],
) -> Result<Made, Native> {
    let Some(key) = keyed(headers)? else { return Ok(Made::Fresh(TicketId(fresh_id()?))) };
    let asker = named(named(KEYED, caller.key()), queue);
    // The next process of a server is another asker: it starts clean.
    let process =
        |it: mainstay_core::Tenure| format!("{}/{}/{}", it.server, it.session, it.run.unwrap_or_default());
    let asker = caller.tenure().map_or(asker, |tenure| named(asker, &process(tenure)));
    let kind = match kind {
        Kind::Ordinary => "tickets",
        Kind::Backfill => "backfills",
    };
    let key = named(named(asker, kind), key);
    Ok(Made::Keyed(TicketId(keyed_id(key, &in_order(body)))))
}

fn ticket_of(text: &str) -> Result<TicketId, Native> {
    let fix = "take the id that the ticket was made with";
    text.parse()
        .map_err(|_| Failure::bad_request(format!("`{text}` is no ticket id: it is a UUID"), fix).into())
}

/// Where a ticket's players stand in its body.
const PLAYERS: &str = "players";

/// Players as they were sent, at a place of the body; all who are none are told at once.
fn sent(place: &str, players: Vec<PlayerRequest>) -> Result<Vec<Sent>, Native> {
    let mut found = Vec::with_capacity(players.len());
    let mut wrong = Vec::new();
    for (index, player) in players.into_iter().enumerate() {
        match player.entity().map(|entity| entity.may_play().map(|()| entity)) {
            Some(Ok(entity)) => {
                let PlayerRequest { team, attributes, .. } = player;
                found.push(Sent { entity, team: team.map(Into::into), attributes });
            }
            Some(Err(why)) => wrong.push(format!("{place}[{index}] is {}: {why}", player.player)),
            None => wrong.push(format!(
                "{place}[{index}] is no player: an id, or type!id, of 1 to {ENTITY_PART_BYTES_MAX} bytes each"
            )),
        }
    }
    if wrong.is_empty() {
        return Ok(found);
    }
    Err(Failure::bad_request(wrong.join("; "), "send ids that your players are known by").into())
}

/// Players who look for a match, as they were sent: they have no teams before it is formed.
fn sent_teamless(place: &str, players: Vec<PlayerRequest>) -> Result<Vec<Sent>, Native> {
    let players = sent(place, players)?;
    match players.iter().position(|player| player.team.is_some()) {
        None => Ok(players),
        Some(index) => {
            let detail = format!(
                "`{place}[{index}].team` is sent, and who looks for a match is on no team before it is formed"
            );
            let fix = "leave `team` out: the match says who plays on which; only backfill tickets name teams";
            Err(Failure::bad_request(detail, fix).into())
        }
    }
}

/// Whose tickets are meant.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct OfPlayer {
    /// Its id, as in a ticket.
    player: String,
}

/// Whose tickets alone are listed.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Whose {
    /// A player's id, as in a ticket: its open ticket alone is told.
    player: Option<String>,
}

/// Whose tickets alone are listed; `None` for everybody's.
fn whose(query: Result<Query<Whose>, QueryRejection>) -> Result<Option<Entity>, Native> {
    let Query(Whose { player }) =
        query.map_err(|error| Failure::bad_request(error.body_text(), "name one player: ?player=ID"))?;
    player.map(player_named).transpose()
}

/// The one open ticket that a player is in, as a page: PlayFab's lists of a player's tickets have no more either. Of one that the asker
/// may not look at it is told which it is and how it stands.
async fn of_one(
    asking: &Asking<'_>,
    name: String,
    player: Entity,
    kind: Kind,
) -> Result<Json<Page<TicketView>>, Native> {
    let queue = queue_of(asking.app(), &name)?;
    asking.lists(kind, &name, &player)?;
    let asker = asking.asker().clone();
    let read = queue.read(move |queue, now| {
        let found = match kind {
            Kind::Ordinary => queue.tickets_of(&player, &asker)?,
            Kind::Backfill => queue.backfills_of(&player, &asker)?,
        };
        let Some(ticket) = found else { return Ok(None) };
        let view = tickets::view_for(queue, ticket, &asker, now).or_else(|| {
            let id = PlayerOfTicket::told(&player);
            let mut view = view(queue, ticket, now)?;
            view.players.retain(|it| it.player == id);
            Some(TicketView { server: None, lease: None, ..view })
        });
        Ok(view)
    });
    let found: Result<_, Rejection> = read.await?;
    let items = found?.map(|view| TicketView { queue: name, ..view }).into_iter().collect();
    Ok(Json(Page { items, next_cursor: None }))
}

/// Ends what ties the player to a queue that is named.
async fn free(
    asking: &Asking<'_>,
    name: &str,
    query: Result<Query<OfPlayer>, QueryRejection>,
    command: impl FnOnce(Entity) -> Command,
) -> Result<StatusCode, Native> {
    let Query(OfPlayer { player }) = query.map_err(|error| {
        Failure::bad_request(
            error.body_text(),
            "name the player: ?player=ID; without one nothing is cancelled",
        )
    })?;
    let (player, queue) = (player_named(player)?, queue_of(asking.app(), name)?);
    asking.cancels(name, player.as_str())?;
    queue.ask(command(player)).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// A player by its id.
pub(super) fn player_named(player: String) -> Result<Entity, Native> {
    Ok(sent(PLAYERS, vec![PlayerRequest { player, ..PlayerRequest::default() }])?.swap_remove(0).entity)
}

/// The ticket that this very call made before: who repeats it comes to be in no other by it, but looks at the one it has. Asked before
/// anything is judged: the game it was made for may be over by now, or its region gone.
async fn made_before(
    asking: &Asking<'_>,
    queue: &OpenQueue,
    name: &str,
    made: Made,
) -> Result<Option<TicketView>, Native> {
    let Made::Keyed(id) = made else { return Ok(None) };
    let Some(view) = queue.read(move |queue, now| view(queue, id, now)).await? else { return Ok(None) };
    asking.polls(name, id)?;
    Ok(Some(TicketView { queue: name.to_owned(), ..view }))
}

/// Asks for a ticket, or to join one, and shows it.
async fn ticket_for(
    asking: &Asking<'_>,
    (queue, name, kind): (&OpenQueue, String, Kind),
    players: &[Sent],
    command: impl Fn(Vec<Seated>, u32) -> Command,
) -> Result<TicketView, Native> {
    asking.enters(kind, &name, players)?;
    let answer = asking.app().queues.ask_with(queue, players, command).await;
    let answer = answer.inspect_err(|not| {
        if not.is_refused() {
            asking.does_not_enter(kind, &name, players);
        }
    });
    shown(queue, name, answer?).await
}

/// The ticket that a queue answered with.
async fn shown(queue: &OpenQueue, name: String, answer: Answer) -> Result<TicketView, Native> {
    let ticket = match answer {
        Answer::Ticket(id) => id,
        // Only that is asked for, and both answer with their ticket.
        Answer::Done | Answer::Cancelled(_) => return Err(Native::from(Rejection::QueueNotFound)),
    };
    let view = queue.read(move |queue, now| view(queue, ticket, now)).await?;
    let view = view.ok_or_else(|| Failure::no_ticket(ticket))?;
    Ok(TicketView { queue: name, ..view })
}

fn title() -> Entity {
    Entity::new(TITLE, TITLE).expect("`title` is a type and an id")
}

/// A page's worth of ids in order, behind a cursor.
fn asked(query: Result<Query<super::paging::Asked>, QueryRejection>) -> Result<super::paging::Asked, Native> {
    super::paging::Asked::read(query)
}
