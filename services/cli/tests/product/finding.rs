//! Sessions of a lobby that a game finds by what they are like: through `game/peer`, as a game in Rust links it.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_migration::{CanBeHost, End, GamePhase, SessionId};
use mainstay_peer::{
    Attributes, Event, Joining, ListedSession, LobbyError, NewSession, Online, OnlineSearch, Over, Peer,
    Searchable, Seat, Service, SessionOptions, Support, Trust, Wanted,
};
use serde_json::{Value, json};

use crate::product::{Home, Product, until};

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

/// A session as its lobby shows it to the studio, which may look as often as it likes: of searches a caller has sixty a minute.
fn stored(up: &Product<'_>, seat: &Seat) -> Value {
    up.caller().get(&format!("/v1/sessions/{}", uuid::Uuid::from_u128(seat.session().0))).json()
}

fn options() -> SessionOptions {
    SessionOptions::new(SessionId(0))
}

/// Issue 5, section 4: "create, search, join"; section 5: "online through the lobby".
#[test]
fn a_game_finds_the_sessions_that_are_as_it_wants_and_joins_one() {
    let home = Home::new();
    let up = home.up_bare();
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
    until("the lobby knows it", || (stored(&up, &seat)["members"].as_array()?.len() == 2).then_some(()));
    assert_eq!(found(&url, 1, &[("map", odd)])[0].members, 2);

    let wanted = Wanted::default();
    let mut nowhere = OnlineSearch::new(&online("http://127.0.0.1:9", "looks"), &wanted);
    assert!(matches!(nowhere.find(), Err(LobbyError::Unreachable { .. })));
    assert!(matches!(nowhere.find(), Err(LobbyError::Unreachable { .. })), "and is asked again");
    let mut no_lobby = OnlineSearch::new(&online(&format!("{url}/v1"), "looks"), &wanted);
    assert!(no_lobby.find().is_err());
}

/// What a host says of its session while it runs is what its lobby lists, and what whoever comes finds: whether it is found, whether it is
/// open, and how far it is; what others say is not heard.
#[test]
fn what_a_host_says_of_its_session_is_what_the_lobby_lists() {
    let home = Home::new();
    let up = home.up_bare();
    let url = up.caller().api;
    let [host, guest] = [(), ()].map(|()| Peer::start(([127, 0, 0, 1], 0).into()).unwrap());
    let new = NewSession { name: "harbour".to_owned(), size: 4, ..NewSession::default() };
    let mut seat = host.found_online(&online(&url, "host"), &new, options(), Vec::new()).unwrap();
    let comes = |peer: &Peer, name: &str| {
        peer.join_online(&online(&url, name), seat.session(), options(), Vec::new())
    };
    let mut other = comes(&guest, "guest").unwrap();
    until("it is in", || (other.next(Duration::from_millis(200)) == Some(Event::Entered)).then_some(()));
    let listed = || found(&url, 1, &[]).into_iter().map(|one| (one.name, one.joining)).collect::<Vec<_>>();
    let harbour = |joining| vec![("harbour".to_owned(), joining)];
    let is = |name: &'static str, wanted: Value| {
        until(name, || (stored(&up, &seat)[name] == wanted).then_some(()));
    };
    assert_eq!(listed(), harbour(Joining::Open));

    seat.set_searchable(Searchable::No).unwrap();
    is("searchable", false.into());
    assert_eq!(listed(), [], "nobody finds it");
    seat.set_searchable(Searchable::Yes).unwrap();
    is("searchable", true.into());
    assert_eq!(listed(), harbour(Joining::Open));

    seat.set_joining(Joining::Closed).unwrap();
    is("joining", "closed".into());
    assert_eq!(listed(), [], "there is no room for anybody");
    let all = found(&url, 0, &[]);
    assert_eq!((all.len(), all[0].joining), (1, Joining::Closed), "it is seen all the same");
    let late = Peer::start(([127, 0, 0, 1], 0).into()).unwrap();
    let refused = comes(&late, "late").map(|_seat| ()).unwrap_err();
    assert!(refused.to_string().contains("MS-G008"), "{refused}");

    for (phase, told) in [(GamePhase::Gathering, "gathering"), (GamePhase::Started, "started")] {
        seat.set_phase(phase).unwrap();
        is("phase", told.into());
    }
    // Of a member nothing is heard: what its host says after it is what counts.
    other.set_joining(Joining::Open).unwrap();
    other.set_searchable(Searchable::No).unwrap();
    seat.set_phase(GamePhase::Gathering).unwrap();
    is("phase", "gathering".into());
    let now = stored(&up, &seat);
    assert_eq!((&now["joining"], &now["searchable"]), (&json!("closed"), &json!(true)));
    seat.set_joining(Joining::Open).unwrap();
    is("joining", "open".into());
    let mut late = comes(&late, "late").unwrap();
    until("it is in", || (late.next(Duration::from_millis(200)) == Some(Event::Entered)).then_some(()));
    while let Some(event) = seat.next(Duration::ZERO) {
        assert!(!matches!(event, Event::Over(_)), "{event:?}");
    }
}

/// Seed 000: "an individual lobby service can be configured to not support host migration". Off means that no session of that service
/// moves: neither one that is made then, nor one that was made before, and its members are told that it is over.
#[test]
fn no_session_moves_of_a_service_that_does_not_support_it() {
    let home = Home::new();
    let up = home.up_bare();
    let url = up.caller().api;
    let begin = |name: &str, own_flag: Support| {
        let [host, guest] = [(), ()].map(|()| Peer::start(([127, 0, 0, 1], 0).into()).unwrap());
        host.set_support(Service::Online, own_flag);
        let new = NewSession { name: name.to_owned(), ..NewSession::default() };
        let seat = host.found_online(&online(&url, &format!("host of {name}")), &new, options(), Vec::new());
        let seat = seat.unwrap();
        let by = online(&url, &format!("guest of {name}"));
        let mut other = guest.join_online(&by, seat.session(), options(), Vec::new()).unwrap();
        until("it is in", || (other.next(Duration::from_millis(200)) == Some(Event::Entered)).then_some(()));
        other.set_can_be_host(CanBeHost::Yes).unwrap();
        let moves = [own_flag, by.support().unwrap()] == [Support::Supported; 2];
        until("its host knows it, and where the session moves that it could follow", || {
            let shown = seat.shown().unwrap()?;
            let follows = shown.anticipated.is_some() == moves;
            (shown.voters == 2 && follows).then_some(())
        });
        (host, seat, guest, other)
    };
    let of_before = begin("before", Support::Supported);
    let leaves = |(host, seat, guest, mut other): (Peer, Seat, Peer, Seat)| {
        drop((seat, host));
        let over = until("it is over, or goes on", || {
            let event = other.next(Duration::from_millis(200))?;
            let leads = matches!(event, Event::Lead { .. });
            if let Event::Over(over) = event { Some(Some(over)) } else { leads.then_some(None) }
        });
        drop((other, guest));
        over
    };
    let moved = leaves(begin("moving", Support::Supported));
    assert_eq!(moved, None, "while the service supports it, a session goes on");
    let over = leaves(begin("of a host whose process does not", Support::Unsupported));
    assert!(matches!(over, Some(Over::Ended(End::HostLost))), "{over:?}");
    let (host, seat, guest, other) = begin("of a host whose process does not any more", Support::Supported);
    host.set_support(Service::Online, Support::Unsupported);
    until("its member knows", || other.shown().unwrap()?.anticipated.is_none().then_some(()));
    let over = leaves((host, seat, guest, other));
    assert!(matches!(over, Some(Over::Ended(End::HostLost))), "{over:?}");
    assert_eq!(online(&url, "looks").support().unwrap(), Support::Supported);
    up.json(&["lobby", "set", "online", "--supports-host-migration", "off"]);
    assert_eq!(online(&url, "looks").support().unwrap(), Support::Unsupported);
    for session in [of_before, begin("after", Support::Supported)] {
        let over = leaves(session);
        assert!(matches!(over, Some(Over::Ended(End::HostLost))), "{over:?}");
    }
}
