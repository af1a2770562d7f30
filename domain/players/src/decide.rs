//! Whether objects may be stored.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::{NESTING_MAX, Turn, nesting};

use crate::command::{Answer, Becomes, Change, Done};
use crate::event::Event;
use crate::players::{Owner, Players};
use crate::rejection::Rejection;

/// The most objects of one owner: PlayFab's limit ("5 objects of 1,000 bytes per player").
pub const OBJECTS_MAX: usize = 5;
/// The largest object, in bytes of its JSON: PlayFab's limit.
pub const OBJECT_BYTES_MAX: usize = 1_000;
/// Longest name of an object; PlayFab does not publish its own. A name is a step of a rule's path.
pub const NAME_CHARS_MAX: usize = 64;
/// All that is stored, in bytes: it lies in memory. A million players of some 300 bytes each, and room for as many again.
pub const STORED_BYTES_MAX: usize = 1 << 30;

pub(crate) fn set_objects(
    turn: &mut Turn<'_, Players>,
    owner: &Owner,
    changes: &[Change],
    expected: Option<u32>,
) -> Result<Answer, Rejection> {
    let state = turn.state();
    let known = state.profile(owner);
    let version = known.map_or(0, |profile| profile.version);
    if let Some(expected) = expected.filter(|expected| *expected != version) {
        return Err(Rejection::OtherVersion { expected, found: version });
    }
    changes.iter().try_for_each(fits)?;
    let mut objects: BTreeMap<&Arc<str>, &Arc<str>> =
        known.map(|profile| profile.objects.iter().collect()).unwrap_or_default();
    let weigh = |objects: &BTreeMap<&Arc<str>, &Arc<str>>| -> usize {
        objects.iter().map(|(name, json)| Players::weight(name, json)).sum()
    };
    let before = weigh(&objects);
    let done: Vec<(Arc<str>, Done)> = changes
        .iter()
        .map(|change| {
            let done = match &change.becomes {
                Becomes::Json(json) => match objects.insert(&change.name, json) {
                    Some(_) => Done::Updated,
                    None => Done::Created,
                },
                Becomes::Gone => match objects.remove(&change.name) {
                    Some(_) => Done::Deleted,
                    None => Done::Nothing,
                },
            };
            (change.name.clone(), done)
        })
        .collect();
    if done.iter().all(|(_, done)| *done == Done::Nothing) {
        return Ok(Answer { version, done });
    }
    if objects.len() > OBJECTS_MAX {
        return Err(Rejection::TooMany { objects: objects.len() });
    }
    let newcomer = if known.is_some() { 0 } else { Players::OWNER_BYTES + owner.0.len() };
    let (after, bytes) = (weigh(&objects), state.bytes());
    if after + newcomer > before && bytes + newcomer + after - before > STORED_BYTES_MAX {
        return Err(Rejection::Full { bytes: bytes + newcomer + after - before });
    }
    // A version that has come round is still another one than the last.
    let version = version.wrapping_add(1);
    turn.emit(Event::ObjectsSet { owner: owner.clone(), version, changes: changes.to_vec() });
    Ok(Answer { version, done })
}

fn fits(change: &Change) -> Result<(), Rejection> {
    let name = &change.name;
    let letter = |letter: char| letter.is_ascii_alphanumeric() || "()_-.".contains(letter);
    if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(letter) {
        return Err(Rejection::Name { name: name.clone() });
    }
    match &change.becomes {
        Becomes::Json(json) if json.len() > OBJECT_BYTES_MAX => {
            Err(Rejection::TooLarge { name: name.clone(), bytes: json.len() })
        }
        Becomes::Json(json) if nesting(json) > NESTING_MAX => {
            Err(Rejection::TooDeep { name: name.clone(), levels: nesting(json) })
        }
        Becomes::Json(_) | Becomes::Gone => Ok(()),
    }
}
