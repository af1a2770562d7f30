//! Format 1 of what is stored of players.

use std::sync::Arc;

use mainstay_players::{Becomes, Change as DomainChange, Event as DomainEvent, Owner};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) enum Event<'a> {
    ObjectsSet {
        #[serde(borrow)]
        owner: &'a str,
        version: u32,
        changes: Vec<Change<'a>>,
    },
}

/// An object's name, and its text; none where it goes.
#[derive(Serialize, Deserialize)]
pub(super) struct Change<'a>(&'a str, Option<&'a str>);

impl<'a> From<&'a DomainEvent> for Event<'a> {
    fn from(DomainEvent::ObjectsSet { owner, version, changes }: &'a DomainEvent) -> Self {
        let change = |change: &'a DomainChange| {
            let becomes = match &change.becomes {
                Becomes::Json(json) => Some(&**json),
                Becomes::Gone => None,
            };
            Change(&change.name, becomes)
        };
        Self::ObjectsSet { owner: &owner.0, version: *version, changes: changes.iter().map(change).collect() }
    }
}

impl From<Event<'_>> for DomainEvent {
    fn from(Event::ObjectsSet { owner, version, changes }: Event<'_>) -> Self {
        let change = |Change(name, becomes): Change<'_>| DomainChange {
            name: name.into(),
            becomes: becomes.map_or(Becomes::Gone, |json| Becomes::Json(Arc::from(json))),
        };
        let changes = changes.into_iter().map(change).collect();
        Self::ObjectsSet { owner: Owner(owner.into()), version, changes }
    }
}
