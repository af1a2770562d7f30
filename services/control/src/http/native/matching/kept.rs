//! A hosted game says through its agent who plays, and its backfill is kept in step: the daemon's call, on the plane's side.

use mainstay_core::{Tenure, TicketId, Timestamp};
use mainstay_matchmaking::{Answer, BackfillStage, Caller as Asker, Command, Queue, Rejection};
use mainstay_runtime::Error;
use mainstay_wire::agent::{Outcome, Refusal};
use mainstay_wire::native::{BackfillStands, GameStands, MatchView, TicketView};

use super::super::super::failure::{Failure, Native};
use super::{PLAYERS, fresh_id, sent};
use crate::queues::{NotTaken, Queues};

/// Why a game's word is not followed: of what kind, and in which words.
struct No(Refusal, Box<Failure>);

impl No {
    fn new(why: Refusal, failure: Failure) -> Self {
        Self(why, Box::new(failure))
    }
}

/// Keeps a game's backfill in step with what it says; `None` for a process that has no session.
pub(crate) async fn keep(queues: &Queues, tenure: Option<Tenure>, game: &str) -> Outcome {
    let told = kept(queues, tenure, game)
        .await
        .and_then(|stands| stands.told().ok_or_else(|| No::new(Refusal::Invalid, Failure::untellable())));
    match told {
        Ok(stands) => Outcome::Backfill { stands },
        Err(No(why, failure)) => {
            Outcome::Refused { why, code: failure.code().to_owned(), detail: failure.told() }
        }
    }
}

async fn kept(queues: &Queues, tenure: Option<Tenure>, game: &str) -> Result<BackfillStands, No> {
    let game: GameStands = serde_json::from_str(game).map_err(|error| {
        let detail = format!("the body is not the JSON this call takes: {error}");
        let fix = "say who plays: queue, players, places; see docs/reference/local-daemon.md";
        No::new(Refusal::Invalid, Failure::bad_request(detail, fix))
    })?;
    let no_session = || No::new(Refusal::State, Failure::no_session());
    let tenure = tenure.ok_or_else(no_session)?;
    let Some(queue) = queues.named(&game.queue) else { return in_removed(queues, tenure, game).await };
    let players =
        sent(PLAYERS, game.players).map_err(|wrong| No::new(Refusal::Invalid, Native::failure(wrong)))?;
    let regions = queue.rules().spec.regions.clone();
    let server = queues.hosts().details(tenure, &regions).await?.ok_or_else(no_session)?;
    let fresh = fresh_id().map_err(|none| No::new(Refusal::Unavailable, Native::failure(none)))?;
    let ticket = TicketId(fresh);
    let asked = queues.ask_with(&queue, &players, |members, form| Command::KeepBackfill {
        ticket,
        tenure,
        members,
        server: server.clone(),
        places: game.places,
        known: game.known,
        form,
    });
    let ticket = match asked.await? {
        Answer::Ticket(ticket) => ticket,
        Answer::Done | Answer::Cancelled(_) => return Ok(BackfillStands::default()),
    };
    let name = game.queue;
    let read = queue.read(move |queue, now| stands(queue, ticket, &name, now));
    read.await?.ok_or_else(|| No::from(Rejection::TicketNotFound(ticket)))
}

/// Nobody is found for a game in a queue that is removed; but who was found before that is on its way to it.
async fn in_removed(queues: &Queues, tenure: Tenure, game: GameStands) -> Result<BackfillStands, No> {
    let no_queue = |name: &str| No::new(Refusal::Unknown, Failure::no_queue(name));
    let queue = queues.kept(&game.queue).await?.ok_or_else(|| no_queue(&game.queue))?;
    let (name, known) = (game.queue.clone(), game.known);
    let read = queue
        .read(move |queue, now| stands(queue, queue.next_filled(tenure.session, known, now)?, &name, now));
    read.await?.ok_or_else(|| no_queue(&game.queue))
}

/// How a game's ticket stands. Where the process was started again it is the ticket of the one before: the rules say which one it is told.
fn stands(queue: &Queue, ticket: TicketId, name: &str, now: Timestamp) -> Option<BackfillStands> {
    let ticket = queue.backfill(ticket, &Asker::Title, now).ok()?;
    let formed = match ticket.stage {
        BackfillStage::Matched { id, .. } => queue.formed_match(id, &Asker::Title, now).ok(),
        BackfillStage::Searching(_) | BackfillStage::Canceled { .. } => None,
    };
    Some(BackfillStands {
        ticket: Some(TicketView::of_game(ticket, name)),
        formed: formed.map(|formed| MatchView::of(formed, name)),
    })
}

impl From<Error> for No {
    fn from(error: Error) -> Self {
        Self::new(Refusal::Unavailable, error.into())
    }
}

impl From<NotTaken> for No {
    fn from(not: NotTaken) -> Self {
        match not {
            NotTaken::AttributesTooLarge { .. }
            | NotTaken::AttributesUnnamed { .. }
            | NotTaken::AttributesTooDeep { .. } => Self::new(Refusal::Invalid, not.into()),
            NotTaken::Refused(rejection) => rejection.into(),
            NotTaken::Unanswered(error) => error.into(),
        }
    }
}

impl From<Rejection> for No {
    fn from(rejection: Rejection) -> Self {
        Self::new(kind(&rejection), rejection.into())
    }
}

/// What kind of no a queue's is to a game.
const fn kind(rejection: &Rejection) -> Refusal {
    match rejection {
        Rejection::QueueNotFound | Rejection::TicketNotFound(_) | Rejection::MatchNotFound(_) => {
            Refusal::Unknown
        }
        Rejection::AttributeInvalid(_)
        | Rejection::EntityInvalid { .. }
        | Rejection::NumberOfPlayersTooLarge { .. }
        | Rejection::NoRoom(_)
        | Rejection::BadRequest(_)
        | Rejection::GiveUpAfterInvalid { .. }
        | Rejection::TeamInvalid { .. } => Refusal::Invalid,
        Rejection::RequestTypeMismatch(_)
        | Rejection::AlreadyJoined(_)
        | Rejection::NotJoined(_)
        | Rejection::AlreadyCompleted(_)
        | Rejection::Unmatchable
        | Rejection::KeyReused { .. }
        | Rejection::MembershipLimitExceeded { .. } => Refusal::State,
        Rejection::TooManyValues | Rejection::TooManyWaiting { .. } | Rejection::OtherForm { .. } => {
            Refusal::Unavailable
        }
        Rejection::Unauthorized { .. } => Refusal::Forbidden,
    }
}
