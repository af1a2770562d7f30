//! What is stored of players: its bytes, and that it survives whatever is in it.

use mainstay_journal::stored::Stored as _;
use mainstay_players::{Becomes, Change, Event, Owner, Players};
use proptest::prelude::*;

use crate::fixture::at;

fn event(owner: &str, version: u32, objects: Vec<(String, Option<String>)>) -> Event {
    let change = |(name, json): (String, Option<String>)| Change {
        name: name.into(),
        becomes: json.map_or(Becomes::Gone, |json| Becomes::Json(json.into())),
    };
    Event::ObjectsSet {
        owner: Owner(owner.into()),
        version,
        changes: objects.into_iter().map(change).collect(),
    }
}

/// A golden test that fails is a new format, never new bytes here.
#[test]
fn format_1_keeps_its_bytes() {
    let stored = event("p!A", 3, vec![("skill".into(), Some("{}".into())), ("old".into(), None)]);
    let mut bytes = Vec::new();
    Players::store(std::slice::from_ref(&stored), &mut bytes);
    let golden = b"\x01\x01\x00\x03p!A\x03\x02\x05skill\x01\x02{}\x03old\x00";
    assert_eq!(bytes, golden);
    assert_eq!(Players::load(golden).unwrap(), [stored]);
}

proptest! {
    #[test]
    fn events_survive_and_damaged_bytes_never_panic(
        owner in ".{0,40}",
        version: u32,
        objects in prop::collection::vec((".{0,10}", prop::option::of(".{0,50}")), 0..5),
        cut: prop::sample::Index,
        flipped: (prop::sample::Index, u8),
    ) {
        let stored = event(&owner, version, objects);
        let mut bytes = Vec::new();
        Players::store(std::slice::from_ref(&stored), &mut bytes);
        prop_assert_eq!(&Players::load(&bytes).unwrap()[..], std::slice::from_ref(&stored));
        let mut story = Vec::new();
        Players::store_story(&[(at(5), stored.clone())], &mut story);
        prop_assert_eq!(Players::load_story(&story).unwrap(), [(at(5), stored)]);
        // Whatever it says of damaged bytes, it says it.
        let _cut = Players::load(&bytes[..cut.index(bytes.len())]);
        let place = flipped.0.index(bytes.len());
        bytes[place] ^= flipped.1;
        let _flipped = Players::load(&bytes);
    }
}
