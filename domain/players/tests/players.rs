//! What `SetObjects` promises, sentence by sentence, and the laws over random stories.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use mainstay_core::{NESTING_MAX, StateMachine as _, Timestamp, Turn};
use mainstay_players::{
    Answer, Becomes, Change, Command, Done, Event, NAME_CHARS_MAX, OBJECT_BYTES_MAX, OBJECTS_MAX, Owner,
    Players, Rejection, laws,
};
use proptest::prelude::*;

fn owner(id: &str) -> Owner {
    Owner(format!("title_player_account!{id}").into())
}

fn json(name: &str, json: &str) -> Change {
    Change { name: name.into(), becomes: Becomes::Json(json.into()) }
}

fn gone(name: &str) -> Change {
    Change { name: name.into(), becomes: Becomes::Gone }
}

fn set(
    players: &mut Players,
    id: &str,
    changes: &[Change],
    expected: Option<u32>,
) -> (Result<Answer, Rejection>, Vec<Event>) {
    let command = Command::SetObjects { owner: owner(id), changes: changes.to_vec(), expected };
    let outcome = Turn::run(Timestamp::EPOCH, players, &command);
    for event in &outcome.events {
        assert_eq!(laws::after(players, event), Vec::<String>::new());
    }
    (outcome.answer, outcome.events)
}

fn done(answer: Result<Answer, Rejection>) -> Vec<Done> {
    answer.unwrap().done.into_iter().map(|(_, done)| done).collect()
}

/// "If empty and DeleteObject is true object will be deleted if it exists, or no operation will occur if it does not exist."
#[test]
fn objects_are_created_updated_deleted_and_missed() {
    let mut players = Players::default();
    let (answer, _) = set(&mut players, "A", &[json("skill", "{}"), gone("none")], None);
    assert_eq!(done(answer), [Done::Created, Done::Nothing]);
    let (answer, _) = set(&mut players, "A", &[json("skill", "{\"mu\":5}")], None);
    assert_eq!(answer.as_ref().unwrap().version, 2);
    assert_eq!(done(answer), [Done::Updated]);
    assert_eq!(&*players.profile(&owner("A")).unwrap().objects["skill"], "{\"mu\":5}");
    let (answer, _) = set(&mut players, "A", &[gone("skill")], None);
    assert_eq!(done(answer), [Done::Deleted]);
    let (answer, events) = set(&mut players, "A", &[gone("skill")], None);
    assert_eq!((answer.unwrap().version, events), (3, vec![]), "nothing happened, and nothing is written");
    assert_eq!(players.profile(&owner("B")), None);
}

/// "If the current version differs from the version in the request the request will be ignored."
#[test]
fn another_version_than_the_expected_one_is_refused() {
    let mut players = Players::default();
    set(&mut players, "A", &[json("a", "1")], Some(0)).0.unwrap();
    let (answer, events) = set(&mut players, "A", &[json("a", "2")], Some(0));
    assert_eq!(answer, Err(Rejection::OtherVersion { expected: 0, found: 1 }));
    assert_eq!(events, []);
    set(&mut players, "A", &[json("a", "2")], Some(1)).0.unwrap();
}

/// "5 objects of 1,000 bytes per player", "Restricted to a-Z, 0-9, '(', ')', '_', '-' and '.'": all of it or nothing.
#[test]
fn names_sizes_and_numbers_are_bounded() {
    let mut players = Players::default();
    let many: Vec<Change> = (0..OBJECTS_MAX).map(|at| json(&format!("o{at}"), "1")).collect();
    set(&mut players, "A", &many, None).0.unwrap();
    assert_eq!(
        set(&mut players, "A", &[json("o0", "2"), json("more", "1")], None).0,
        Err(Rejection::TooMany { objects: OBJECTS_MAX + 1 })
    );
    assert_eq!(&*players.profile(&owner("A")).unwrap().objects["o0"], "1");
    set(&mut players, "A", &[gone("o0"), json("more", "1")], None).0.unwrap();
    let full = "9".repeat(OBJECT_BYTES_MAX);
    set(&mut players, "B", &[json("o", &full)], None).0.unwrap();
    let over = Rejection::TooLarge { name: "o".into(), bytes: OBJECT_BYTES_MAX + 1 };
    assert_eq!(set(&mut players, "B", &[json("o", &format!("{full}9"))], None).0, Err(over));
    let nested = |levels| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    set(&mut players, "B", &[json("o", &nested(NESTING_MAX))], None).0.unwrap();
    let over = Rejection::TooDeep { name: "o".into(), levels: NESTING_MAX + 1 };
    assert_eq!(set(&mut players, "B", &[json("o", &nested(NESTING_MAX + 1))], None).0, Err(over));
    let long = "n".repeat(NAME_CHARS_MAX + 1);
    for name in ["", "a b", "ä", "a/b", long.as_str()] {
        assert_eq!(
            set(&mut players, "C", &[gone(name)], None).0,
            Err(Rejection::Name { name: Arc::from(name) })
        );
    }
    set(&mut players, "C", &[json("aZ09()_-.", "null")], None).0.unwrap();
}

proptest! {
    /// Whatever is set: the laws hold, a snapshot tells the same state, and what is stored is what was set last.
    #[test]
    fn random_stories_keep_the_laws_and_replay(
        story in prop::collection::vec(
            (0..4_u8, prop::collection::vec((0..7_u8, prop::option::of(0..2_000_usize)), 0..4)), 0..60,
        ),
    ) {
        let (mut players, mut replayed) = (Players::default(), Players::default());
        for (who, changes) in story {
            let changes: Vec<Change> = changes
                .iter()
                .map(|(name, size)| {
                    let name = format!("o{name}");
                    size.map_or_else(|| gone(&name), |size| json(&name, &"1".repeat(size)))
                })
                .collect();
            let (_, events) = set(&mut players, &who.to_string(), &changes, None);
            events.iter().for_each(|event| replayed.apply(Timestamp::EPOCH, event));
            prop_assert_eq!(laws::all(&players), Vec::<String>::new());
        }
        let mut told = Players::default();
        players.snapshot().iter().for_each(|(at, event)| told.apply(*at, event));
        for other in [&replayed, &told] {
            prop_assert_eq!(other.snapshot(), players.snapshot());
            prop_assert_eq!(other.bytes(), players.bytes());
        }
    }
}
