//! What players have stored: one way to it for every face, and for the rules of queues that read it.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::StateMachine;
use mainstay_journal::ShardName;
use mainstay_matchmaking::Entity;
use mainstay_players::{Answer, Becomes, Change, Command, Owner, Players, Profile, Rejection};
use mainstay_runtime::{Error, Growth, Handle, JournalHandle, MAILBOX_MAX, NoHands, Shard, StoredCodec};
use mainstay_wire::playfab::Stored;

use crate::error::StartError;
use crate::shards::PLAYERS;

/// Every entity's stored objects.
#[derive(Debug, Clone)]
pub(crate) struct Objects(Handle<Players>);

impl Objects {
    /// Replays them.
    ///
    /// # Errors
    /// Where the journal does not give them.
    pub(crate) async fn open(journal: &JournalHandle) -> Result<Self, StartError> {
        let started = Shard::start(mainstay_runtime::Config {
            name: ShardName::new(PLAYERS).expect("`players/0` is a shard name"),
            journal: journal.clone(),
            initial: Players::default(),
            codec: StoredCodec,
            hands: NoHands,
            due: nothing_due,
            mailbox_max: MAILBOX_MAX,
        });
        Ok(Self(started.await?))
    }

    /// Stores what an entity's objects become, all of it or nothing.
    ///
    /// # Errors
    /// Where the rules refuse it, or the shard gives no answer.
    pub(crate) async fn set(
        &self,
        entity: &Entity,
        changes: Vec<Change>,
        expected: Option<u32>,
    ) -> Result<Result<Answer, Rejection>, Error> {
        let only_less = changes.iter().all(|change| change.becomes == Becomes::Gone);
        let growth = if only_less { Growth::Shrinks } else { Growth::Grows };
        self.0.try_command(Command::SetObjects { owner: owner(entity), changes, expected }, growth).await
    }

    /// What an entity has stored; nothing, at version 0, where it never stored anything.
    ///
    /// # Errors
    /// Where the shard gives no answer.
    pub(crate) async fn of(&self, entity: &Entity) -> Result<Profile, Error> {
        let owner = owner(entity);
        let profile = self.0.query(move |players, _| players.profile(&owner).cloned());
        Ok(profile.await?.unwrap_or_default())
    }

    /// What those of these entities have stored who ever did.
    ///
    /// # Errors
    /// Where the shard gives no answer.
    pub(crate) async fn of_all(&self, entities: Vec<Entity>) -> Result<BTreeMap<Entity, Profile>, Error> {
        let read = self.0.query(move |players, _| {
            let of =
                |entity: Entity| players.profile(&owner(&entity)).map(|profile| (entity, profile.clone()));
            entities.into_iter().filter_map(of).collect()
        });
        read.await
    }

    /// Ends the shard once everything asked before is durable.
    ///
    /// # Errors
    /// Where it does not become so.
    pub(crate) async fn drain(&self) -> Result<(), Error> {
        self.0.drain().await
    }
}

/// An owner's objects by name.
pub(crate) fn values(profile: &Profile) -> Stored {
    let read = |(name, json): (&Arc<str>, &Arc<str>)| {
        // Nothing else was ever taken in.
        serde_json::from_str(json).ok().map(|value| (name.to_string(), value))
    };
    profile.objects.iter().filter_map(read).collect()
}

fn owner(entity: &Entity) -> Owner {
    Owner(entity.as_str().into())
}

/// Stored objects have no deadlines.
const fn nothing_due(why: <Players as StateMachine>::Why) -> <Players as StateMachine>::Command {
    match why {}
}
