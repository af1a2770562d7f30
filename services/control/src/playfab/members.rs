//! What every call about tickets sends: its queue, its players, its ids.

use std::sync::Arc;

use mainstay_core::TicketId;
use mainstay_matchmaking::spec::Fault;
use mainstay_matchmaking::{Answer, Entity};
use mainstay_wire::playfab::{EntityKey, MatchmakingPlayer};
use uuid::Uuid;

use super::Face;
use super::refusal::Refusal;
use crate::identity::IdentityError;
use crate::queues::{OpenQueue, Running, Sent};

/// A queue that is open, by its name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) open: OpenQueue,
}

/// A queue whose tickets and matches can be asked about, by its name.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) name: String,
    pub(super) running: Running,
}

impl Face {
    /// A queue by its name, open or removed a short while ago: for calls about one ticket or match.
    pub(super) async fn kept(&self, name: &str) -> Result<Kept, Refusal> {
        let running = self.queues.kept(name).await?.ok_or_else(|| Refusal::no_queue(name))?;
        Ok(Kept { name: name.to_owned(), running })
    }

    /// A queue by its name.
    pub(super) fn queue(&self, name: &str) -> Result<Named, Refusal> {
        let open = self.queues.named(name).ok_or_else(|| Refusal::no_queue(name))?;
        Ok(Named { name: name.to_owned(), open })
    }
}

/// A field that a call may need.
pub(super) trait Field {
    /// What is told of it where it was left out.
    fn lacks(&self) -> Option<&'static str>;
}

impl Field for String {
    fn lacks(&self) -> Option<&'static str> {
        self.is_empty().then_some("it is missing")
    }
}

impl<T> Field for Option<T> {
    fn lacks(&self) -> Option<&'static str> {
        self.is_none().then_some("it is missing")
    }
}

impl<T> Field for Vec<T> {
    fn lacks(&self) -> Option<&'static str> {
        self.is_empty().then_some("it has one at least")
    }
}

/// Of what a call needs all that was left out, at once.
pub(super) fn needs(fields: &[(&str, &dyn Field)]) -> Result<(), Refusal> {
    let fault = |(name, field): &(&str, &dyn Field)| {
        field.lacks().map(|what| Fault { place: (*name).to_owned(), what: what.to_owned() })
    };
    let faults: Vec<Fault> = fields.iter().filter_map(fault).collect();
    if faults.is_empty() { Ok(()) } else { Err(Refusal::fields(&faults)) }
}

/// A player as it was sent.
pub(super) fn sent(player: &MatchmakingPlayer) -> Result<Sent, Refusal> {
    let entity = player_of(&player.entity)?;
    let attributes = match &player.attributes {
        Some(attributes) => {
            attributes.object().map_err(|why| Refusal::attributes(format!("{entity}: {why}")))?
        }
        None => None,
    };
    Ok(Sent { entity, team: player.team_id.as_deref().map(Arc::from), attributes })
}

/// The player of a key.
pub(super) fn player_of(key: &EntityKey) -> Result<Entity, Refusal> {
    let entity = key.entity().ok_or_else(|| {
        Refusal::entity(
            "an Entity has an Id and a Type of at most 128 bytes each, without control characters",
        )
    })?;
    entity.may_play().map_err(|why| Refusal::entity(format!("{entity}: {why}")))?;
    Ok(entity)
}

/// How many seconds a ticket waits.
pub(super) fn give_up_after(asked: Option<i64>) -> Result<u32, Refusal> {
    let seconds = asked.ok_or_else(|| Refusal::field("GiveUpAfterSeconds", "it is missing"))?;
    u32::try_from(seconds)
        .map_err(|_| Refusal::bad_request(format!("GiveUpAfterSeconds {seconds}: it is a number of seconds")))
}

/// A new ticket's id.
pub(super) fn new_ticket() -> Result<TicketId, Refusal> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(IdentityError::Random)?;
    Ok(TicketId(uuid::Builder::from_random_bytes(bytes).into_uuid()))
}

/// An id of a ticket or match.
pub(super) fn id(field: &str, text: &str) -> Result<Uuid, Refusal> {
    Uuid::try_parse(text).map_err(|_| Refusal::field(field, "it is no GUID"))
}

/// The ticket that a command made.
pub(super) fn made(answer: Answer, ticket: TicketId) -> TicketId {
    match answer {
        Answer::Ticket(made) => made,
        Answer::Done | Answer::Cancelled(_) => ticket,
    }
}
