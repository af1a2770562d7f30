//! Players with what they bring, read by the rules of their queue: one way for all faces.
//!
//! A queue whose rules have changed meanwhile refuses what was read for the old ones; then it is read anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::{NESTING_MAX, nesting};
use mainstay_matchmaking::spec::{QueueSpec, Source};
use mainstay_matchmaking::{Answer, Command, Entity, Member, Rejection, Seated};
use mainstay_wire::playfab::{Stored, attributes};
use serde_json::Value;

use super::{OpenQueue, Queues, Rules};
use crate::objects::values;

/// The largest attributes of a player, in bytes of JSON; PlayFab does not publish its own. Latencies to 64 regions have some 3,000,
/// a list of 128 names as many again.
pub(crate) const ATTRIBUTES_BYTES_MAX: usize = 8 * 1024;
/// How often attributes are read anew because the queue's rules changed meanwhile: each time somebody configured it, so this
/// many would have to do so in a row.
const READINGS_MAX: usize = 8;

/// A player of a new ticket, before the rules have read it.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) entity: Entity,
    /// Its team, in a game that goes on.
    pub(crate) team: Option<Arc<str>>,
    pub(crate) attributes: Option<Value>,
}

/// Why players were not taken in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTaken {
    /// The attributes of one are too large.
    #[error("the attributes of {entity} have {bytes} bytes, at most {ATTRIBUTES_BYTES_MAX}")]
    AttributesTooLarge { entity: Entity, bytes: usize },
    /// The attributes of one have no names.
    #[error("the attributes of {entity} are no object: `{{\"NAME\": VALUE}}`")]
    AttributesUnnamed { entity: Entity },
    /// The attributes of one nest deeper than their readers follow.
    #[error("the attributes of {entity} nest {levels} levels of lists and objects, at most {NESTING_MAX}")]
    AttributesTooDeep { entity: Entity, levels: usize },
    /// The queue refuses.
    #[error(transparent)]
    Refused(#[from] Rejection),
    /// It gave no answer: ask again.
    #[error(transparent)]
    Unanswered(#[from] mainstay_runtime::Error),
}

impl NotTaken {
    /// Whether it is sure that nothing was made.
    pub(crate) const fn is_refused(&self) -> bool {
        match self {
            Self::AttributesTooLarge { .. }
            | Self::AttributesUnnamed { .. }
            | Self::AttributesTooDeep { .. }
            | Self::Refused(_) => true,
            Self::Unanswered(error) => error.nothing_was_done(),
        }
    }
}

impl Queues {
    /// Asks with players whose attributes are read as the queue's rules read them now.
    ///
    /// # Errors
    /// See [`NotTaken`].
    pub(crate) async fn ask_with(
        &self,
        queue: &OpenQueue,
        sent: &[Sent],
        command: impl Fn(Vec<Seated>, u32) -> Command,
    ) -> Result<Answer, NotTaken> {
        let mut readings = 1;
        loop {
            let Rules { spec, form } = queue.rules();
            let players = self.read(&spec, sent).await?;
            let command = command(players, form);
            let command = match self.0.placement.places(&spec) {
                Some(places) => places.settle(&spec, command)?,
                None => command,
            };
            match queue.ask(command).await? {
                Err(Rejection::OtherForm { .. }) if readings < READINGS_MAX => readings += 1,
                answered => return Ok(answered?),
            }
            queue.learn().await??;
        }
    }

    /// What the rules of a queue find in the attributes of these players, which come with them or are stored.
    ///
    /// # Errors
    /// See [`NotTaken`].
    async fn read(&self, spec: &QueueSpec, sent: &[Sent]) -> Result<Vec<Seated>, NotTaken> {
        let stored = self.stored(spec, sent).await?;
        let none = Stored::new();
        let seated = |sent: &Sent| {
            if sent.attributes.as_ref().is_some_and(|it| !it.is_null() && !it.is_object()) {
                return Err(NotTaken::AttributesUnnamed { entity: sent.entity.clone() });
            }
            let stored = stored.get(&sent.entity).unwrap_or(&none);
            let (entity, attributes) =
                (sent.entity.clone(), attributes(spec, sent.attributes.as_ref(), stored));
            let bytes = attributes.raw.as_ref().map_or(0, |raw| raw.len());
            if bytes > ATTRIBUTES_BYTES_MAX {
                return Err(NotTaken::AttributesTooLarge { entity, bytes });
            }
            let levels = attributes.raw.as_deref().map_or(0, nesting);
            if levels > NESTING_MAX {
                return Err(NotTaken::AttributesTooDeep { entity, levels });
            }
            Ok(Seated { member: Member { entity, attributes }, team: sent.team.clone() })
        };
        sent.iter().map(seated).collect()
    }

    /// The stored objects of these players, where a rule reads any and there are any.
    async fn stored(
        &self,
        spec: &QueueSpec,
        sent: &[Sent],
    ) -> Result<BTreeMap<Entity, Stored>, mainstay_runtime::Error> {
        let mut read = spec.rules.iter().filter_map(|rule| rule.kind.attribute());
        if !read.any(|attribute| attribute.source == Source::PlayerEntity) {
            return Ok(BTreeMap::new());
        }
        let entities = sent.iter().map(|sent| sent.entity.clone()).collect();
        let profiles = self.0.objects.of_all(entities).await?.into_iter();
        Ok(profiles.map(|(entity, profile)| (entity, values(&profile))).collect())
    }
}

impl Queues {
    /// What the rules of a queue find, by the names that its fleet's regions have in it.
    ///
    /// # Errors
    /// See [`NotTaken`].
    pub(crate) async fn read_settled(
        &self,
        spec: &QueueSpec,
        sent: &[Sent],
    ) -> Result<Vec<Seated>, NotTaken> {
        let mut players = self.read(spec, sent).await?;
        if let Some(places) = self.0.placement.places(spec) {
            players.iter_mut().for_each(|player| places.name(spec, &mut player.member.attributes));
        }
        Ok(players)
    }
}

/// Players whose teams nobody asks about.
pub(crate) fn members(seated: Vec<Seated>) -> Vec<Member> {
    seated.into_iter().map(|seated| seated.member).collect()
}
