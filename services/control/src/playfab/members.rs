//! Players with what they bring, read by the rules of their queue.
//!
//! A queue whose rules have changed meanwhile refuses what was read for the old ones; then it is read anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::TicketId;
use mainstay_matchmaking::spec::{QueueSpec, Source};
use mainstay_matchmaking::{Answer, Attributes, Command, Entity, Member, Rejection};
use mainstay_players::Owner;
use mainstay_wire::playfab::{EntityKey, MatchmakingPlayer, Stored, attributes};
use serde_json::Value;
use uuid::Uuid;

use super::Face;
use super::refusal::Refusal;
use crate::identity::IdentityError;
use crate::queues::{OpenQueue, READINGS_MAX, Rules};

/// The largest attributes of a player, in bytes of JSON; PlayFab does not publish its own. Latencies to 64 regions have some 3,000,
/// a list of 128 names as many again.
const ATTRIBUTES_BYTES_MAX: usize = 8 * 1024;
/// Entities that are no players.
const NO_PLAYERS: [&str; 4] = ["title", "namespace", "group", Entity::GAME_SERVER];

/// A queue that is open, by its name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) open: OpenQueue,
}

/// A player of a new ticket, before the rules have read it.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) entity: Entity,
    pub(super) team: Option<Arc<str>>,
    attributes: Option<Value>,
}

impl Face {
    /// A queue by its name.
    pub(super) fn queue(&self, name: &str) -> Result<Named, Refusal> {
        if name.is_empty() {
            return Err(Refusal::field("QueueName", "it is missing"));
        }
        let open = self.queues.named(name).ok_or(Rejection::QueueNotFound)?;
        Ok(Named { name: name.to_owned(), open })
    }

    /// Asks with players whose attributes are read as the queue's rules read them now.
    pub(super) async fn ask_with(
        &self,
        queue: &Named,
        sent: &[Sent],
        command: impl Fn(Vec<Member>, u32) -> Command,
    ) -> Result<Answer, Refusal> {
        let mut readings = 1;
        loop {
            let Rules { spec, form } = queue.open.rules();
            let members = self.members(&spec, sent).await?;
            match queue.open.ask(command(members, form)).await? {
                Ok(answer) => return Ok(answer),
                Err(Rejection::OtherForm { .. }) if readings < READINGS_MAX => readings += 1,
                Err(rejection) => return Err(rejection.into()),
            }
            queue.open.learn().await??;
        }
    }

    async fn members(&self, spec: &QueueSpec, sent: &[Sent]) -> Result<Vec<Member>, Refusal> {
        let stored = self.stored(spec, sent).await?;
        let none = Stored::new();
        let member = |sent: &Sent| {
            let stored = stored.get(&sent.entity).unwrap_or(&none);
            let attributes: Attributes = attributes(spec, sent.attributes.as_ref(), stored);
            let bytes = attributes.raw.as_ref().map_or(0, |raw| raw.len());
            if bytes > ATTRIBUTES_BYTES_MAX {
                return Err(Refusal::attributes_too_large(bytes, ATTRIBUTES_BYTES_MAX));
            }
            Ok(Member { entity: sent.entity.clone(), attributes })
        };
        sent.iter().map(member).collect()
    }

    /// The stored objects of these players, where a rule reads any.
    async fn stored(&self, spec: &QueueSpec, sent: &[Sent]) -> Result<BTreeMap<Entity, Stored>, Refusal> {
        let mut read = spec.rules.iter().filter_map(|rule| rule.kind.attribute());
        if !read.any(|attribute| attribute.source == Source::PlayerEntity) {
            return Ok(BTreeMap::new());
        }
        let entities: Vec<Entity> = sent.iter().map(|sent| sent.entity.clone()).collect();
        let read = self.players.query(move |players, _| {
            let of = |entity: Entity| {
                let owner = Owner(entity.as_str().into());
                players.profile(&owner).map(|profile| (entity, profile.objects.clone()))
            };
            entities.into_iter().filter_map(of).collect::<Vec<_>>()
        });
        let objects = read.await?.into_iter().map(|(entity, objects)| {
            let read = objects.iter().filter_map(|(name, json)| {
                // Nothing else was ever taken in.
                serde_json::from_str(json).ok().map(|value| (name.to_string(), value))
            });
            (entity, read.collect())
        });
        Ok(objects.collect())
    }
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
    if NO_PLAYERS.contains(&entity.kind()) {
        return Err(Refusal::entity(format!("{entity} is no player")));
    }
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
    Uuid::try_parse(text).map_err(|_| {
        let why = if text.is_empty() { "it is missing" } else { "it is no GUID" };
        Refusal::field(field, why)
    })
}

/// The ticket that a command made.
pub(super) fn made(answer: Answer, ticket: TicketId) -> TicketId {
    match answer {
        Answer::Ticket(made) => made,
        Answer::Done | Answer::Cancelled(_) => ticket,
    }
}
