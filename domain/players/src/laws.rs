//! What always holds of stored objects.

use alloc::string::String;
use alloc::vec::Vec;

use crate::decide::{OBJECT_BYTES_MAX, OBJECTS_MAX, STORED_BYTES_MAX};
use crate::event::Event;
use crate::players::{Owner, Players, Profile};

/// Everything that does not hold of what an event touched.
#[must_use]
pub fn after(players: &Players, event: &Event) -> Vec<String> {
    let Event::ObjectsSet { owner, .. } = event;
    let mut broken = Vec::new();
    if let Some(profile) = players.profile(owner) {
        bounded(owner, profile, &mut broken);
    }
    broken
}

/// Everything that does not hold.
#[must_use]
pub fn all(players: &Players) -> Vec<String> {
    let mut broken = Vec::new();
    for (owner, profile) in &players.profiles {
        bounded(owner, profile, &mut broken);
    }
    let counted = players.counted();
    if counted != players.bytes() {
        broken.push(alloc::format!("objects take {counted} bytes, and {} are noted", players.bytes()));
    }
    if counted > STORED_BYTES_MAX {
        broken.push(alloc::format!("objects take {counted} bytes, at most {STORED_BYTES_MAX}"));
    }
    broken
}

fn bounded(owner: &Owner, profile: &Profile, broken: &mut Vec<String>) {
    if profile.objects.len() > OBJECTS_MAX {
        broken.push(alloc::format!("{owner} has {} objects, at most {OBJECTS_MAX}", profile.objects.len()));
    }
    for (name, json) in &profile.objects {
        if json.len() > OBJECT_BYTES_MAX {
            broken
                .push(alloc::format!("{owner}: {name} has {} bytes, at most {OBJECT_BYTES_MAX}", json.len()));
        }
    }
}
