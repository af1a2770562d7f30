//! What is stored of a lobby: its bytes, and that it survives whatever is in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::SessionId;
use mainstay_journal::stored::Stored as _;
use mainstay_lobby::{
    CanBeHost, Ending, Epoch, Event, Former, Gone, Grant, Joining, Lobby, Member, Migratable, PeerKey, Phase,
    Player, Searchable, Service, Session, Settings, Support, Takeover, Update, WithoutMajority,
};
use proptest::prelude::*;

use crate::fixture::at;

fn session() -> SessionId {
    "00010203-0405-4607-8809-0a0b0c0d0e0f".parse().unwrap()
}

fn former(key: u8, name: &str) -> Former {
    Former { peer: PeerKey([key; 32]), player: Player(name.into()) }
}

fn settings() -> Settings {
    Settings {
        name: "bay".into(),
        size: 4,
        migratable: Migratable::Yes,
        searchable: Searchable::No,
        joining: Joining::Open,
        takeover: Takeover::Strict,
        without_majority: WithoutMajority::Hold,
        attributes: BTreeMap::from([("mode".into(), "ctf".into())]),
    }
}

/// One of each kind, with what it may hold.
fn story() -> Vec<Event> {
    let (session, peer, player) = (session(), PeerKey([7; 32]), Player("ann".into()));
    let member = Member {
        player: player.clone(),
        can_be_host: CanBeHost::Yes,
        addresses: vec!["[::1]:7".into()],
        joined: at(3),
    };
    let update = Update {
        name: Some("cove".into()),
        searchable: Some(Searchable::Yes),
        joining: Some(Joining::Closed),
        phase: Some(Phase::Started),
        attributes: vec![("mode".into(), None), ("map".into(), Some("x".into()))],
    };
    vec![
        Event::Configured { service: Service::Online, migration: Support::Unsupported },
        Event::Opened {
            session,
            service: Service::Lan,
            settings: settings(),
            seats: vec![player.clone()],
            seats_until: at(9),
        },
        Event::Joined {
            session,
            peer,
            player,
            can_be_host: CanBeHost::NotYet,
            addresses: vec!["a:1".into()],
        },
        Event::Introduced { session, peer, can_be_host: CanBeHost::Yes, addresses: vec![] },
        Event::Granted { session, epoch: Epoch(300), host: peer },
        Event::Updated { session, update },
        Event::SeatsGivenUp { session },
        Event::Went { session, peer, gone: Gone::Kicked },
        Event::Ended { session, ending: Ending::HostLost },
        Event::Stood(Arc::new(Session {
            id: session,
            service: Service::Online,
            settings: settings(),
            phase: Phase::Started,
            created: at(1),
            revision: 200,
            grant: Some(Grant { epoch: Epoch(2), host: peer, at: at(2) }),
            members: BTreeMap::from([(peer, member)]),
            seats: [Player("ben".into())].into(),
            seats_until: at(4),
            former: [(6, "dan"), (5, "cy")].map(|(key, name)| former(key, name)).into(),
            kicked: [Player("eve".into())].into(),
            kicked_peers: [PeerKey([9; 32])].into(),
        })),
    ]
}

fn stored(events: &[Event]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Lobby::store(events, &mut bytes);
    bytes
}

/// A golden test that fails is a new format, never new bytes here.
#[test]
fn format_2_keeps_its_bytes() {
    let bytes = stored(&story());
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, include_str!("lobby_v2.hex").trim());
    assert_eq!(Lobby::load(&bytes).unwrap(), story());
}

/// What was written before sessions remembered who was a member: nobody is remembered, and all else is as it was.
#[test]
fn format_1_is_read_for_ever() {
    let hex = include_str!("lobby_v1.hex").trim().as_bytes();
    let digit = |digit: u8| u8::try_from(char::from(digit).to_digit(16).unwrap()).unwrap();
    let bytes: Vec<u8> = hex.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
    let mut told = story();
    if let Some(Event::Stood(session)) = told.last_mut() {
        Arc::make_mut(session).former.clear();
    }
    assert_eq!(Lobby::load(&bytes).unwrap(), told);
}

proptest! {
    #[test]
    fn events_survive_and_damaged_bytes_never_panic(
        of in prop::sample::subsequence(story(), 1..=10),
        cut: prop::sample::Index,
        flipped: (prop::sample::Index, u8),
    ) {
        let mut bytes = stored(&of);
        prop_assert_eq!(&Lobby::load(&bytes).unwrap()[..], &of[..]);
        let timed: Vec<_> = of.iter().cloned().map(|event| (at(5), event)).collect();
        let mut chunk = Vec::new();
        Lobby::store_story(&timed, &mut chunk);
        prop_assert_eq!(Lobby::load_story(&chunk).unwrap(), timed);
        // Whatever it says of damaged bytes, it says it.
        let _cut = Lobby::load(&bytes[..cut.index(bytes.len())]);
        let place = flipped.0.index(bytes.len());
        bytes[place] ^= flipped.1;
        let _flipped = Lobby::load(&bytes);
    }
}
