//! `/v1/queues`: queues, tickets, backfill tickets and matches, for the studio's own services: a service account asks as the
//! title, for players and games it vouches for.

mod backfills;
mod events;
mod insight;
mod kept;
mod matches;
mod queues;
mod tickets;

use std::sync::Arc;

use axum::extract::{Query, rejection::QueryRejection};
use axum::http::HeaderMap;
use mainstay_core::TicketId;
use mainstay_matchmaking::spec::QueueSpec;
use mainstay_matchmaking::{Answer, Caller as Asker, Command, Entity, Member, Rejection, Seated};
use mainstay_wire::native::PlayerOfTicket;
use mainstay_wire::playfab::{Stored, attributes};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use uuid::Uuid;

use super::super::App;
use super::super::access::{Caller, Denied, Permission};
use super::super::failure::{Failure, Native};
use super::keyed;
use super::tokens::random;
use crate::declare::named;
use crate::queues::{NotAdmitted, OpenQueue};

pub(crate) use self::kept::keep;

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

/// Who asks about backfill: a service account that may do so, as the title; or a process hosted here, for itself, while it stands.
async fn asker(app: &App, caller: &Caller, permission: Permission) -> Result<Asker, Native> {
    let Some(tenure) = caller.tenure() else {
        caller.may(permission)?;
        return Ok(Asker::Title);
    };
    match app.queues.hosts().admit(tenure).await {
        Ok(()) => Ok(Asker::Hosted(tenure)),
        Err(NotAdmitted::Over) => Err(Denied::ProcessOver.into()),
        Err(NotAdmitted::TooOften(exceeded)) => Err(Failure::too_often(&exceeded).into()),
        Err(NotAdmitted::Unanswered(error)) => Err(error.into()),
    }
}

fn queue_of(app: &App, name: &str) -> Result<OpenQueue, Native> {
    app.queues.named(name).ok_or_else(|| Failure::no_queue(name).into())
}

/// A new ticket's id: of the caller's key, where there is one, so that a repeat finds the ticket it made.
fn new_ticket(headers: &HeaderMap, caller: &Caller, queue: &str) -> Result<TicketId, Native> {
    let asker = named(named(KEYED, caller.key()), queue);
    // The next process of a server is another asker: it starts clean.
    let process =
        |it: mainstay_core::Tenure| format!("{}/{}/{}", it.server, it.session, it.run.unwrap_or_default());
    let asker = caller.tenure().map_or(asker, |tenure| named(asker, &process(tenure)));
    Ok(TicketId(match keyed(headers)? {
        Some(key) => named(asker, key),
        None => uuid::Builder::from_random_bytes(random()?).into_uuid(),
    }))
}

fn ticket_of(text: &str) -> Result<TicketId, Native> {
    let fix = "take the id that the ticket was made with";
    text.parse()
        .map_err(|_| Failure::bad_request(format!("`{text}` is no ticket id: it is a UUID"), fix).into())
}

/// The entities of players that were sent; all who are none at once.
fn entities(players: &[PlayerOfTicket]) -> Result<Vec<Entity>, Native> {
    let mut found = Vec::with_capacity(players.len());
    let mut wrong = Vec::new();
    for (index, player) in players.iter().enumerate() {
        match PlayerOfTicket::entity(&player.player) {
            Some(entity) => found.push(entity),
            None => wrong.push(format!("players[{index}]")),
        }
    }
    if wrong.is_empty() {
        return Ok(found);
    }
    let detail = format!(
        "{} {} no player: an id, or type!id, of 1 to {} bytes each",
        wrong.join(", "),
        if wrong.len() == 1 { "is" } else { "are" },
        mainstay_matchmaking::ENTITY_PART_BYTES_MAX
    );
    Err(Failure::bad_request(detail, "send ids that your players are known by").into())
}

/// Whose tickets are meant.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct OfPlayer {
    /// Its id, as in a ticket.
    player: String,
}

fn player(query: Result<Query<OfPlayer>, QueryRejection>) -> Result<Entity, Native> {
    let Query(OfPlayer { player }) = query.map_err(|error| {
        Failure::bad_request(
            error.body_text(),
            "name the player: ?player=ID; without one nothing is cancelled",
        )
    })?;
    let mut found = entities(&[PlayerOfTicket { player, ..PlayerOfTicket::default() }])?;
    Ok(found.remove(0))
}

/// A player with what the rules of a queue find in its attributes.
fn member(spec: &QueueSpec, entity: &Entity, sent: &PlayerOfTicket) -> Member {
    let stored = Stored::new();
    Member { entity: entity.clone(), attributes: attributes(spec, sent.attributes.as_ref(), &stored) }
}

fn seated(spec: &QueueSpec, entity: &Entity, sent: &PlayerOfTicket) -> Seated {
    Seated { member: member(spec, entity, sent), team: sent.team.as_deref().map(Into::into) }
}

/// Makes a ticket.
async fn create(queue: &OpenQueue, read: impl Fn(&QueueSpec, u32) -> Command) -> Result<TicketId, Native> {
    match queue.ask_reading(read).await?? {
        Answer::Ticket(id) => Ok(id),
        // Only a creation is asked for, and a creation answers with its ticket.
        Answer::Done | Answer::Cancelled(_) => Err(Native::from(Rejection::QueueNotFound)),
    }
}

fn title() -> Entity {
    Entity::new(TITLE, TITLE).expect("`title` is a type and an id")
}

/// A page's worth of ids in order, behind a cursor.
fn asked(query: Result<Query<super::paging::Asked>, QueryRejection>) -> Result<super::paging::Asked, Native> {
    super::paging::Asked::read(query)
}
