//! Sessions of a lobby that a game finds by what they are like: through `game/peer`, as a game in Rust links it.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_migration::SessionId;
use mainstay_peer::{
    Attributes, Event, Joining, ListedSession, LobbyError, NewSession, Online, OnlineSearch, Peer, Seat,
    SessionOptions, Trust, Wanted,
};

use crate::product::{Home, until};

/// More than a page lists.
const MANY: usize = 53;

fn online(url: &str, player: &str) -> Online {
    Online {
        url: url.to_owned(),
        trust: Trust::System,
        entity_token: None,
        seat_token: None,
        player: Some(player.to_owned()),
        addresses: Vec::new(),
    }
}

fn attributes(told: &[(&str, &str)]) -> Attributes {
    let mut attributes = Attributes::default();
    told.iter().for_each(|(name, value)| attributes.set(name, value).unwrap());
    attributes
}

fn found(url: &str, free: u32, told: &[(&str, &str)]) -> Vec<ListedSession> {
    let mut search = OnlineSearch::new(&online(url, "looks"), &Wanted { free, attributes: attributes(told) });
    std::iter::from_fn(|| search.find().unwrap()).collect()
}

fn options() -> SessionOptions {
    SessionOptions::new(SessionId(0))
}

/// Issue 5, section 4: "create, search, join"; section 5: "online through the lobby".
#[test]
fn a_game_finds_the_sessions_that_are_as_it_wants_and_joins_one() {
    let home = Home::new();
    let file = home.path().with_file_name("mainstay.yaml");
    std::fs::write(&file, "version: 1.0\n").unwrap();
    let up = home.up(&[file.to_str().unwrap()]);
    let url = up.caller().api;
    let host = Peer::start(([127, 0, 0, 1], 0).into()).unwrap();
    let open = |number: usize, size: u32, told: &[(&str, &str)]| -> Seat {
        let new = NewSession {
            name: format!("number {number}"),
            size,
            attributes: attributes(told),
            ..NewSession::default()
        };
        host.found_online(&online(&url, &format!("player {number}")), &new, options(), Vec::new()).unwrap()
    };
    let odd = "a+b & c=d é%2B?";
    let mut seats: Vec<Seat> = (0..MANY).map(|number| open(number, 4, &[("mode", "ctf")])).collect();
    let wanted: BTreeSet<SessionId> = seats.iter().map(Seat::session).collect();
    seats.push(open(MANY, 1, &[("mode", "duel")]));
    seats.push(open(MANY + 1, 4, &[("mode", "ctf-2"), ("map", odd)]));
    let (full, other) = (seats[MANY].session(), seats[MANY + 1].session());
    let ids = |listed: &[ListedSession]| listed.iter().map(|one| one.session).collect::<Vec<_>>();

    // Page after page, each once, and none of another mode.
    let listed = found(&url, 1, &[("mode", "ctf")]);
    assert_eq!((listed.len(), ids(&listed).into_iter().collect::<BTreeSet<_>>()), (MANY, wanted));
    assert!(listed.iter().all(|one| one.name.starts_with("number ") && (one.members, one.free) == (1, 3)));
    assert_eq!(found(&url, 1, &[]).len(), MANY + 1, "a full one is not wanted");
    assert_eq!(found(&url, 4, &[]), [], "nor one with too little room");
    assert_eq!((found(&url, 1, &[("mode", "duel")]), found(&url, 1, &[("mode", "CTF")])), (vec![], vec![]));
    let duel = found(&url, 0, &[("mode", "duel")]);
    assert_eq!((ids(&duel), duel[0].free, duel[0].joining), (vec![full], 0, Joining::Open));
    // Whatever is in a value, it is that value that is looked for.
    let listed = found(&url, 1, &[("map", odd), ("mode", "ctf-2")]);
    assert_eq!((ids(&listed), listed[0].attributes.get("map")), (vec![other], Some(odd)));
    assert_eq!(found(&url, 1, &[("map", odd), ("mode", "ctf")]), [], "both have to be right");

    let guest = Peer::start(([127, 0, 0, 1], 0).into()).unwrap();
    let joined = guest.join_online(&online(&url, "guest"), listed[0].session, options(), Vec::new());
    let mut seat = joined.unwrap();
    until("it is in", || (seat.next(Duration::from_millis(200)) == Some(Event::Entered)).then_some(()));
    until("the lobby lists it", || (found(&url, 1, &[("map", odd)])[0].members == 2).then_some(()));

    let wanted = Wanted::default();
    let mut nowhere = OnlineSearch::new(&online("http://127.0.0.1:9", "looks"), &wanted);
    assert!(matches!(nowhere.find(), Err(LobbyError::Unreachable { .. })));
    assert!(matches!(nowhere.find(), Err(LobbyError::Unreachable { .. })), "and is asked again");
    let mut no_lobby = OnlineSearch::new(&online(&format!("{url}/v1"), "looks"), &wanted);
    assert!(no_lobby.find().is_err());
}
