//! The state: every owner's objects, and how much they take.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use mainstay_core::{StateMachine, Timestamp, Turn};

use crate::command::{Answer, Becomes, Change, Command};
use crate::event::Event;
use crate::rejection::Rejection;

/// Whose objects they are: an entity as `type!id`, which whoever asks has made sure of.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub Arc<str>);

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What an owner has stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Profile {
    /// Rises with every change. It outlives the objects, so that no version comes twice.
    pub version: u32,
    /// The objects by name, each a text of JSON.
    pub objects: BTreeMap<Arc<str>, Arc<str>>,
}

/// Everyone's stored objects.
#[derive(Debug, Clone, Default)]
pub struct Players {
    pub(crate) profiles: BTreeMap<Owner, Profile>,
    /// What names and objects of all take, and [`Players::OWNER_BYTES`] for each owner beside their own.
    pub(crate) bytes: usize,
}

impl Players {
    /// What an owner takes besides name and objects, in bytes: two tables' nodes and the shared texts' counts.
    pub(crate) const OWNER_BYTES: usize = 200;

    /// What an owner has stored; an owner who never stored anything is at version 0 with no objects.
    #[must_use]
    pub fn profile(&self, owner: &Owner) -> Option<&Profile> {
        self.profiles.get(owner)
    }

    /// How much is stored, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What one object takes.
    pub(crate) fn weight(name: &str, json: &str) -> usize {
        name.len() + json.len()
    }

    /// What the owners take, counted anew: what [`Players::bytes`] keeps as it goes.
    pub(crate) fn counted(&self) -> usize {
        let of = |(owner, profile): (&Owner, &Profile)| {
            let objects: usize = profile.objects.iter().map(|(name, json)| Self::weight(name, json)).sum();
            Self::OWNER_BYTES + owner.0.len() + objects
        };
        self.profiles.iter().map(of).sum()
    }
}

impl StateMachine for Players {
    type Command = Command;
    type Event = Event;
    type Answer = Answer;
    type Rejection = Rejection;
    type Observation = core::convert::Infallible;
    type Target = core::convert::Infallible;
    type Effects = ();
    type Why = core::convert::Infallible;

    fn decide(turn: &mut Turn<'_, Self>, command: &Command) -> Result<Answer, Rejection> {
        let Command::SetObjects { owner, changes, expected } = command;
        crate::decide::set_objects(turn, owner, changes, *expected)
    }

    fn apply(&mut self, _at: Timestamp, event: &Event) {
        let Event::ObjectsSet { owner, version, changes } = event;
        if !self.profiles.contains_key(owner) {
            self.bytes += Self::OWNER_BYTES + owner.0.len();
        }
        let profile = self.profiles.entry(owner.clone()).or_default();
        profile.version = *version;
        for Change { name, becomes } in changes {
            let before = match becomes {
                Becomes::Json(json) => {
                    self.bytes += Self::weight(name, json);
                    profile.objects.insert(name.clone(), json.clone())
                }
                Becomes::Gone => profile.objects.remove(name),
            };
            self.bytes -= before.map_or(0, |before| Self::weight(name, &before));
        }
    }

    fn observe(&mut self, _now: Timestamp, observation: Self::Observation) {
        match observation {}
    }

    fn owed(&self, target: &Self::Target) {
        match *target {}
    }

    fn take_touched(&mut self) -> Vec<Self::Target> {
        Vec::new()
    }

    fn next_deadline(&self) -> Option<(Timestamp, Self::Why)> {
        None
    }

    fn story(&self) -> impl Iterator<Item = (Timestamp, Event)> {
        self.profiles.iter().map(|(owner, profile)| {
            let change = |(name, json): (&Arc<str>, &Arc<str>)| Change {
                name: name.clone(),
                becomes: Becomes::Json(json.clone()),
            };
            let changes = profile.objects.iter().map(change).collect();
            let event = Event::ObjectsSet { owner: owner.clone(), version: profile.version, changes };
            (Timestamp::EPOCH, event)
        })
    }
}
