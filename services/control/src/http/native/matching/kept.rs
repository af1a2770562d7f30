//! A hosted game says through its agent who plays, and its backfill is kept in step: the daemon's call, on the plane's side.

use axum::http::StatusCode;
use mainstay_core::{Tenure, TicketId};
use mainstay_matchmaking::{Answer, BackfillStage, Caller as Asker, Command};
use mainstay_wire::agent::{Outcome, Refusal};
use mainstay_wire::native::{BackfillStands, GameStands, MatchView, TicketView};

use super::super::super::failure::{Failure, Native};
use super::{entities, random, seated};
use crate::queues::Queues;

/// Keeps a game's backfill in step with what it says; `None` for a process that has no session.
pub(crate) async fn keep(queues: &Queues, tenure: Option<Tenure>, game: &str) -> Outcome {
    match kept(queues, tenure, game).await {
        Ok(stands) => {
            let stands = serde_json::to_string(&stands).expect("a ticket and a match are plain data");
            Outcome::Backfill { stands }
        }
        Err(failure) => {
            let why = match failure.status() {
                StatusCode::NOT_FOUND => Refusal::Unknown,
                StatusCode::CONFLICT => Refusal::State,
                StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => Refusal::Unavailable,
                StatusCode::FORBIDDEN => Refusal::Forbidden,
                _bad => Refusal::Invalid,
            };
            Outcome::Refused { why, code: failure.code().to_owned(), detail: failure.told() }
        }
    }
}

async fn kept(queues: &Queues, tenure: Option<Tenure>, game: &str) -> Result<BackfillStands, Failure> {
    let game: GameStands = serde_json::from_str(game).map_err(|error| {
        let detail = format!("the body is not the JSON this call takes: {error}");
        Failure::bad_request(
            detail,
            "say who plays: queue, players, places; see docs/reference/local-daemon.md",
        )
    })?;
    let tenure = tenure.ok_or_else(Failure::no_session)?;
    let queue = queues.named(&game.queue).ok_or_else(|| Failure::no_queue(&game.queue))?;
    let players = entities(&game.players).map_err(Native::failure)?;
    let regions = queue.rules().spec.regions.clone();
    let server = queues.hosts().details(tenure, &regions).await?.ok_or_else(Failure::no_session)?;
    let ticket = TicketId(uuid::Builder::from_random_bytes(random().map_err(Native::failure)?).into_uuid());
    let asked = queue.ask_reading(|spec, form| Command::KeepBackfill {
        ticket,
        tenure,
        members: players.iter().zip(&game.players).map(|(entity, sent)| seated(spec, entity, sent)).collect(),
        server: server.clone(),
        places: game.places,
        known: game.known,
        form,
    });
    let ticket = match asked.await?? {
        Answer::Ticket(ticket) => ticket,
        Answer::Done | Answer::Cancelled(_) => return Ok(BackfillStands::default()),
    };
    let name = game.queue;
    let read = queue.read(move |queue, _| {
        let ticket = queue.backfill(ticket, &Asker::Hosted(tenure)).ok()?;
        let formed = match ticket.stage {
            BackfillStage::Matched { id, .. } => queue.formed_match(id, &Asker::Title).ok(),
            BackfillStage::Searching(_) | BackfillStage::Canceled { .. } => None,
        };
        Some(BackfillStands {
            ticket: Some(TicketView::of_game(ticket, &name)),
            formed: formed.map(|formed| MatchView::of(formed, &name)),
        })
    });
    read.await?.ok_or_else(|| Failure::no_ticket(ticket))
}
