//! The stored form of a queue's events, pinned by its bytes.
//! A test here that fails is a new format, never new bytes in this file.

use std::sync::Arc;

use mainstay_core::{MatchId, Tenure, TicketId, Timestamp};
use mainstay_journal::stored::Stored;
use mainstay_matchmaking::spec::{
    Attribute, Declared, Delta, Enforced, Expansion, Gather, Merge, Missing, PlayFabBuild, QueueSpec, Rule,
    RuleKind, ServerAllocation, Shown, Source, TeamSpec, Unread, Venue, Visibility, Weight,
};
use mainstay_matchmaking::{
    Amount, Asked, Attributes, Back, BackfillStage, BackfillTicket, Cancellation, Cursor, Entity, Event,
    Filled, Hold, Kind, Lease, LetGo, LookedAt, Match, Member, Members, Origin, Port, Protocol, Queue,
    Searching, Seated, ServerDetails, Stage, TakenOut, Terms, Ticket, Value,
};

fn keeps_its_bytes(event: Event, golden: &str) {
    let mut bytes = Vec::new();
    Queue::store(std::slice::from_ref(&event), &mut bytes);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, format!("0a01{golden}"), "{event:?}");
    assert_eq!(Queue::load(&bytes).unwrap(), vec![event.clone()]);
    // The formats before have the same bytes for all that they knew.
    for format in [1, 2, 3, 4, 5, 6, 7, 8, 9] {
        bytes[0] = format;
        assert_eq!(Queue::load(&bytes).unwrap(), vec![event.clone()]);
    }
}

fn id<T: std::str::FromStr>() -> T
where
    T::Err: std::fmt::Debug,
{
    "00112233-4455-6677-8899-aabbccddeeff".parse().unwrap()
}

fn at(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

fn player(id: &str) -> Entity {
    Entity::new("p", id).unwrap()
}

fn of_all_kinds() -> Member {
    let values = [
        None,
        Some(Value::Text("a".into())),
        Some(Value::Number(Amount::from_millionths(-2))),
        Some(Value::Texts([Arc::from("b")].into())),
        Some(Value::Latencies([(Arc::from("eu"), 30)].into())),
        Some(Value::Other("something else")),
    ];
    Member { entity: player("A"), attributes: Attributes { raw: Some("{}".into()), values: values.into() } }
}

fn game() -> Arc<ServerDetails> {
    let port = Port { name: "game".into(), number: 7777, protocol: Protocol::Udp };
    Arc::new(ServerDetails {
        fqdn: Some("f".into()),
        ipv4_address: Some("i".into()),
        ports: [port].into(),
        region: Some("r".into()),
        server_id: Some("s".into()),
    })
}

fn seat(team: Option<&str>) -> Seated {
    let member = Member { entity: player("B"), attributes: Attributes::default() };
    Seated { member, team: team.map(Arc::from) }
}

fn stood(stage: Stage) -> Event {
    Event::TicketStood(Arc::new(Ticket {
        id: id(),
        origin: Origin::new(&player("A"), &[], &[].into()),
        members: Members::from_iter([]),
        created: at(300),
        give_up_after: 120,
        changes: 3,
        stage,
    }))
}

/// A queue whose matches are played somewhere.
fn configured(venue: Venue) -> Event {
    let spec = QueueSpec::kept(Declared {
        name: "q".into(),
        min_match_size: 2,
        max_match_size: 2,
        max_ticket_size: None,
        teams: Vec::new(),
        rules: Vec::new(),
        regions: Vec::new(),
        visibility: Visibility::default(),
        venue: Some(venue),
        gather: Gather::NONE,
        unread: Unread::default(),
    });
    Event::Configured { spec: Arc::new(spec), form: 3 }
}

/// A group that waits to be played there.
fn hold(venue: Venue) -> Hold {
    Hold {
        id: id(),
        tickets: [].into(),
        regions: [].into(),
        venue: Arc::new(venue),
        held: at(1),
        refusals: 2,
        refused: None,
        from: at(2),
    }
}

#[test]
fn tickets_keep_their_bytes() {
    let (ticket, formed): (TicketId, MatchId) = (id(), id());
    let (creator, members, invited) = (player("A"), [of_all_kinds()], [player("B")]);
    let reason = Cancellation::TicketUnmatchable;
    let searching = Searching { since: at(300), arrival: 7, back: None };
    for (event, golden) in [
        (
            Event::TicketCreated {
                ticket,
                creator,
                members: members.into(),
                invited: invited.into(),
                give_up_after: 120,
            },
            "021000112233445566778899aabbccddeeff03702141010370214101027b7d06000100016101010301020101620103010265751e0104010370214278",
        ),
        (
            Event::TicketJoined { ticket, member: of_all_kinds() },
            "031000112233445566778899aabbccddeeff0370214101027b7d06000100016101010301020101620103010265751e0104",
        ),
        (Event::TicketCanceled { ticket, reason }, "041000112233445566778899aabbccddeeff04"),
        (stood(Stage::Gathering), "0a1000112233445566778899aabbccddeeff037021410000ac02780300"),
        (
            stood(Stage::Searching(searching)),
            "0a1000112233445566778899aabbccddeeff037021410000ac02780301ac0207",
        ),
        (
            stood(Stage::Matched { id: formed, at: at(400) }),
            "0a1000112233445566778899aabbccddeeff037021410000ac027803021000112233445566778899aabbccddeeff9003",
        ),
        (
            stood(Stage::Canceled { reason, at: at(400) }),
            "0a1000112233445566778899aabbccddeeff037021410000ac02780303049003",
        ),
    ] {
        keeps_its_bytes(event, golden);
    }
}

#[test]
fn backfill_tickets_and_matches_keep_their_bytes() {
    let (ticket, formed): (TicketId, MatchId) = (id(), id());
    let owner = Entity::new("g", "S");
    let (members, server) = ([seat(Some("red")), seat(None)], game());
    let stood = |stage| {
        Event::BackfillStood(Arc::new(BackfillTicket {
            id: ticket,
            owner: None,
            members: [].into(),
            server: Arc::default(),
            places: None,
            created: at(300),
            give_up_after: 60,
            terms: Terms::default(),
            stage,
        }))
    };
    let searching = Searching { since: at(300), arrival: 7, back: None };
    let filled = Filled { ticket, teams: [1, 0].into() };
    for (event, golden) in [
        (
            Event::BackfillCreated {
                ticket,
                owner,
                members: members.clone().into(),
                server: server.clone(),
                places: Some(4),
                give_up_after: 60,
                terms: Terms::default(),
            },
            "051000112233445566778899aabbccddeeff010367215302037021420000010372656403702142000000010166010169010467616d65e13c0101017201017301043c",
        ),
        (
            Event::BackfillCanceled { ticket, reason: Cancellation::Timeout },
            "061000112233445566778899aabbccddeeff02",
        ),
        (
            stood(BackfillStage::Searching(searching)),
            "0b1000112233445566778899aabbccddeeff0000000000000000ac023c00ac0207",
        ),
        (
            stood(BackfillStage::Matched { id: formed, at: at(400) }),
            "0b1000112233445566778899aabbccddeeff0000000000000000ac023c011000112233445566778899aabbccddeeff9003",
        ),
        (
            stood(BackfillStage::Canceled { reason: Cancellation::User, at: at(400) }),
            "0b1000112233445566778899aabbccddeeff0000000000000000ac023c02009003",
        ),
        (
            Event::MatchFormed {
                id: formed,
                tickets: [(ticket, Some(1)), (ticket, None)].into(),
                backfill: Some(filled),
                regions: [Arc::from("eu")].into(),
            },
            "071000112233445566778899aabbccddeeff021000112233445566778899aabbccddeeff01011000112233445566778899aabbccddeeff00011000112233445566778899aabbccddeeff02010001026575",
        ),
        (
            Event::MatchStood(Arc::new(Match {
                id: formed,
                formed: at(400),
                members: members.to_vec(),
                regions: [Arc::from("eu")].into(),
                server: Some(server),
            })),
            "0c1000112233445566778899aabbccddeeff9003020370214200000103726564037021420000000102657501010166010169010467616d65e13c01010172010173",
        ),
    ] {
        keeps_its_bytes(event, golden);
    }
}

#[test]
fn queues_keep_their_bytes() {
    let attribute = || Attribute { source: Source::User, path: "a".into() };
    let (weight, amount) = (Weight::DEFAULT, Amount::from_millionths);
    let fixed = |number| Expansion::Fixed(amount(number));
    let kinds = [
        RuleKind::StringEquality {
            attribute: Attribute { source: Source::PlayerEntity, path: "$.b".into() },
            weight,
            missing: Missing::UseDefault("c".into()),
            enforced: Expansion::Custom { base: None, values: [Some(Enforced), None].into(), every: 5 },
        },
        RuleKind::Difference {
            attribute: attribute(),
            weight,
            missing: Missing::MatchAny,
            merge: Merge::Average,
            allowed: Expansion::Linear {
                from: amount(1),
                delta: Delta::Up(amount(2)),
                limit: Some(amount(3)),
                every: 4,
            },
        },
        RuleKind::SetIntersection {
            attribute: attribute(),
            weight,
            missing: Missing::UseDefault([Arc::from("d")].into()),
            shared: Expansion::Linear { from: 2, delta: Delta::Down(1), limit: None, every: 5 },
        },
        RuleKind::MatchTotal { attribute: attribute(), weight, min: fixed(1), max: fixed(2) },
        RuleKind::RegionSelection { path: "l".into(), weight, latency: Expansion::Fixed(100) },
        RuleKind::TeamDifference { attribute: attribute(), default: amount(1), allowed: fixed(2) },
        RuleKind::TeamSizeBalance { allowed: Expansion::Fixed(1) },
        RuleKind::TeamTicketSizeSimilarity,
    ];
    let rules = kinds.into_iter().map(|kind| Rule { name: "r".into(), optional_after: Some(9), kind });
    let spec = Arc::new(QueueSpec::kept(Declared {
        name: "q".into(),
        min_match_size: 2,
        max_match_size: 8,
        max_ticket_size: Some(4),
        teams: vec![TeamSpec { name: "t".into(), min: 1, max: 4 }],
        rules: rules.collect(),
        regions: vec!["eu".into()],
        visibility: Visibility { players_matching: Shown::ToPlayers, time_to_match: Shown::Hidden },
        venue: None,
        gather: Gather::NONE,
        unread: Unread::default(),
    }));
    let cursor = Cursor { at: at(300), kind: Kind::Ordinary, arrival: 7 };
    let looked_at = LookedAt { until: Cursor { kind: Kind::Backfill, ..cursor }, anew: at(2), merged: None };
    for (event, golden) in [
        (
            Event::Configured { spec, form: 3 },
            "0001710208010401017401040801720109000103242e6280897a0001630202010005017201090100016180897a010201020004010604017201090200016180897a00010164010201010005017201090300016180897a000200040172010904016c80897a0064017201090500016102000401720109060001017201090701026575010003",
        ),
        (Event::Closed, "01"),
        (Event::Searched(cursor), "08ac020107"),
        // Since format 10.
        (Event::Merged(cursor), "1fac020107"),
        (Event::Stood { form: 3, arrivals: 9, looked_at }, "090309ac02000702"),
    ] {
        keeps_its_bytes(event, golden);
    }
}

#[test]
fn placement_keeps_its_bytes() {
    let (ticket, held): (TicketId, MatchId) = (id(), id());
    let allocation = ServerAllocation {
        fleet: "f".into(),
        build_configuration: "b".into(),
        build: Some(PlayFabBuild::Alias("a".into())),
    };
    let searching = Searching { since: at(300), arrival: 7, back: None };
    let back = |why| Searching { back: Some(Back { at: at(301), why }), ..searching };
    let venue = Venue::Server(allocation);
    let regions: Arc<[Arc<str>]> = [Arc::from("eu")].into();
    let tickets: Arc<[_]> = [(ticket, Some(1)), (ticket, None)].into();
    let hold = Hold {
        tickets: tickets.clone(),
        regions: regions.clone(),
        refused: Some("MS-P006".into()),
        ..hold(venue.clone())
    };
    for (event, golden) in [
        (configured(venue), "0d01710202000000000000030166016201010161"),
        (
            Event::MatchHeld { id: held, tickets, regions },
            "0e1000112233445566778899aabbccddeeff021000112233445566778899aabbccddeeff01011000112233445566778899aabbccddeeff0001026575",
        ),
        (
            Event::MatchPlaced { hold: held, server: game() },
            "0f1000112233445566778899aabbccddeeff010166010169010467616d65e13c01010172010173",
        ),
        (
            Event::PlacementRefused { hold: held, code: "c".into(), again: at(5) },
            "101000112233445566778899aabbccddeeff016305",
        ),
        (Event::HoldReleased { hold: held }, "111000112233445566778899aabbccddeeff"),
        (Event::PlacementUndone { id: held }, "121000112233445566778899aabbccddeeff"),
        (
            Event::HoldStood(Arc::new(hold)),
            "131000112233445566778899aabbccddeeff021000112233445566778899aabbccddeeff01011000112233445566778899aabbccddeeff00010265750166016201010161010201074d532d5030303602",
        ),
        (
            Event::UndoStood { id: held, of: Asked::Fleet("f".into()) },
            "141000112233445566778899aabbccddeeff0166",
        ),
        (
            stood(Stage::Searching(back(LetGo::Changed))),
            "0a1000112233445566778899aabbccddeeff037021410000ac02780304ac0207ad02",
        ),
        (
            stood(Stage::Held { hold: held, searching: back(LetGo::Changed) }),
            "0a1000112233445566778899aabbccddeeff037021410000ac027803051000112233445566778899aabbccddeeffac020701ad02",
        ),
        // Since format 9.
        (
            stood(Stage::Searching(back(LetGo::NoServer))),
            "0a1000112233445566778899aabbccddeeff037021410000ac02780306ac0207ad02",
        ),
        (
            stood(Stage::Held { hold: held, searching: back(LetGo::NoServer) }),
            "0a1000112233445566778899aabbccddeeff037021410000ac027803071000112233445566778899aabbccddeeffac0207ad02",
        ),
    ] {
        keeps_its_bytes(event, golden);
    }
}

/// Since format 6: what was set beside a limit's own values. The formats before have those without it.
#[test]
fn a_base_beside_overrides_keeps_its_bytes() {
    let of = |base| {
        let allowed = Expansion::Custom { base, values: [Some(2), None].into(), every: 5 };
        let rule =
            Rule { name: "r".into(), optional_after: None, kind: RuleKind::TeamSizeBalance { allowed } };
        let spec = QueueSpec::kept(Declared {
            name: "q".into(),
            min_match_size: 2,
            max_match_size: 2,
            max_ticket_size: None,
            teams: vec![],
            rules: vec![rule],
            regions: vec![],
            visibility: Visibility::default(),
            venue: None,
            gather: Gather::NONE,
            unread: Unread::default(),
        });
        Event::Configured { spec: Arc::new(spec), form: 3 }
    };
    keeps_its_bytes(of(Some(3)), "0001710202000001017200060303020102000500000003");
    keeps_its_bytes(of(None), "00017102020000010172000602020102000500000003");
}

/// Since format 8: what a queue was told and nothing reads.
#[test]
fn what_nothing_reads_keeps_its_bytes() {
    let Event::Configured { spec, form } = configured(Venue::Session { lobby: "lan".into() }) else {
        panic!("it is configured")
    };
    let told = |build_id: Option<&str>, build_alias: Option<&str>, defaults| {
        let unread =
            Unread { build_id: build_id.map(Arc::from), build_alias: build_alias.map(Arc::from), defaults };
        let declared = Declared { venue: None, unread, ..spec.declared().clone() };
        Event::Configured { spec: Arc::new(QueueSpec::kept(declared)), form }
    };
    let defaults = vec![("r".into(), "5".into())];
    keeps_its_bytes(told(Some("b"), None, defaults), "1e01710202000000000000030000010162000101720135");
    keeps_its_bytes(told(None, Some("a"), vec![]), "1e017102020000000000000300000001016100");
    let unread = Unread { build_id: Some("b".into()), ..Unread::default() };
    let all = Declared { unread, gather: Gather::for_ms(1_000), ..spec.declared().clone() };
    keeps_its_bytes(
        Event::Configured { spec: Arc::new(QueueSpec::kept(all)), form },
        "1e01710202000000000000030101036c616ee8070101620000",
    );
}

/// Since format 7: how long those who come are gathered, wherever matches are played.
#[test]
fn a_queue_that_gathers_keeps_its_bytes() {
    let server = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    for (venue, golden) in [
        (None, "1d017102020000000000000300e807"),
        (Some(Venue::Server(server)), "1d017102020000000000000301000166016200e807"),
        (Some(Venue::Session { lobby: "lan".into() }), "1d01710202000000000000030101036c616ee807"),
    ] {
        let Event::Configured { spec, form } = configured(Venue::Session { lobby: "lan".into() }) else {
            panic!("it is configured")
        };
        let gather = Gather::for_ms(1_000);
        let spec = QueueSpec::kept(Declared { venue, gather, ..spec.declared().clone() });
        keeps_its_bytes(Event::Configured { spec: Arc::new(spec), form }, golden);
    }
}

/// Since format 5.
#[test]
fn a_pause_keeps_its_bytes() {
    keeps_its_bytes(Event::Paused, "1b");
    keeps_its_bytes(Event::Resumed, "1c");
}

/// Since format 4: matches that are played in sessions of a lobby.
#[test]
fn matches_in_sessions_keep_their_bytes() {
    let held: MatchId = id();
    let venue = Venue::Session { lobby: "online".into() };
    for (event, golden) in [
        (configured(venue.clone()), "18017102020000000000000306".to_owned() + "6f6e6c696e65"),
        (
            Event::HoldStood(Arc::new(hold(venue))),
            "191000112233445566778899aabbccddeeff0000066f6e6c696e6501020002".to_owned(),
        ),
        (Event::UndoStood { id: held, of: Asked::Lobby }, "1a1000112233445566778899aabbccddeeff".to_owned()),
    ] {
        keeps_its_bytes(event, &golden);
    }
}

/// Since format 3: what a game's ticket lives by, and how it changes.
#[test]
fn the_terms_of_backfill_tickets_keep_their_bytes() {
    let ticket: TicketId = id();
    let tenure = Tenure { server: "srv-1-7".parse().unwrap(), session: id(), run: Some(3) };
    let created = |terms| Event::BackfillCreated {
        ticket,
        owner: None,
        members: [].into(),
        server: Arc::default(),
        places: Some(1),
        give_up_after: 60,
        terms,
    };
    let stood = |terms, stage| {
        Event::BackfillStood(Arc::new(BackfillTicket {
            id: ticket,
            owner: None,
            members: [].into(),
            server: Arc::default(),
            places: None,
            created: at(300),
            give_up_after: 60,
            terms,
            stage,
        }))
    };
    let renewed = Terms { lease: Lease::Renewed { within: 30 }, taken_out: TakenOut::Ends };
    let hosted = Terms { lease: Lease::Hosted(tenure), taken_out: TakenOut::GoesOn };
    let free = Terms { lease: Lease::Free, taken_out: TakenOut::GoesOn };
    let back = BackfillStage::Searching(Searching {
        since: at(300),
        arrival: 7,
        back: Some(Back { at: at(301), why: LetGo::Changed }),
    });
    for (event, golden) in [
        (created(renewed), "151000112233445566778899aabbccddeeff0000000000000001013c011e00"),
        (
            created(hosted),
            "151000112233445566778899aabbccddeeff0000000000000001013c0287808080101000112233445566778899aabbccddeeff010301",
        ),
        (created(free), "151000112233445566778899aabbccddeeff0000000000000001013c0001"),
        (
            Event::BackfillChanged { ticket, members: [seat(None)].into(), places: Some(2) },
            "161000112233445566778899aabbccddeeff01037021420000000102",
        ),
        (
            stood(hosted, back),
            "171000112233445566778899aabbccddeeff0000000000000000ac023c03ac0207ad020287808080101000112233445566778899aabbccddeeff010301",
        ),
        (
            stood(Terms::default(), back),
            "0b1000112233445566778899aabbccddeeff0000000000000000ac023c03ac0207ad02",
        ),
    ] {
        keeps_its_bytes(event, golden);
    }
}
