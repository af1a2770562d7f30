//! The life of tickets of players: making, joining, cancelling, giving up, and what callers may see.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use mainstay_matchmaking::spec::{Declared, Expansion, Missing, QueueSpec, Shown, TeamSpec, Visibility};
use mainstay_matchmaking::{
    Answer, AttributeFault, Caller, Cancellation, Command, Event, KEPT, Queue, Rejection, ServerDetails,
    Stage, Value, WAITS_FOR,
};

use crate::world::{
    World, declared, difference, equality, fixed, growing, intersection, latencies, member, number_value,
    player, seated, selection, server, spec, text, texts, total,
};

fn by(name: &str) -> Caller {
    Caller::Player(player(name))
}

/// "a create with MembersToMatchWith waits until every listed player joins; matching then starts by itself; joining is impossible
/// once matching started".
#[test]
fn a_group_searches_once_all_have_joined() {
    let mut world = World::new(spec(3, 3, Vec::new()));
    let group = world.try_ticket("a", &[], &["b"]).unwrap();
    world.solo("c", &[]);
    assert_eq!(world.status(group), "WaitingForPlayers");
    assert!(matches!(world.join(group, "x", &[]), Err(Rejection::Unauthorized { .. })));
    assert_eq!(world.join(group, "a", &[]), Err(Rejection::AlreadyJoined(player("a"))));
    world.join(group, "b", &[]).unwrap();
    assert_eq!(world.matched(), [["a", "b", "c"]]);
    assert_eq!(world.join(group, "b", &[]), Err(Rejection::AlreadyCompleted(group)));
}

/// "A ticket whose invitees never join stays WaitingForPlayers until GiveUp".
#[test]
fn a_group_that_is_never_whole_gives_up() {
    let mut world = World::new(spec(3, 3, Vec::new()));
    let group = world.try_ticket("a", &[], &["b"]).unwrap();
    world.seconds(599);
    assert_eq!(world.status(group), "WaitingForPlayers");
    world.seconds(1);
    assert_eq!(world.status(group), "Canceled");
    let reason = world.queue.ticket(group, &Caller::Title, world.now).map(|ticket| ticket.stage);
    assert!(matches!(reason, Ok(Stage::Canceled { reason: Cancellation::Timeout, .. })));
    assert_eq!(
        world.queue.tickets_of(&player("a"), &Caller::Title),
        Ok(None),
        "it no longer counts for the limit"
    );
}

/// Who waits only for its friends does not age: rules expand from when the search began.
#[test]
fn rules_expand_from_when_the_search_began() {
    let mut world = World::new(spec(3, 3, vec![difference("skill", growing(1.0, 10.0, 11.0, 5))]));
    let group = world.try_ticket("a", &[number_value(0.0)], &["b"]).unwrap();
    world.solo("c", &[number_value(10.0)]);
    world.seconds(5);
    world.join(group, "b", &[number_value(0.0)]).unwrap();
    world.seconds(4);
    assert!(world.formed().is_empty());
    world.seconds(1);
    assert_eq!(world.matched().len(), 1);
}

/// "if they have not joined, an invited player cannot cancel"; members, servers and the title can.
#[test]
fn who_may_cancel() {
    let mut world = World::new(spec(4, 4, Vec::new()));
    let group = world.try_ticket("a", &[], &["b", "c"]).unwrap();
    world.join(group, "b", &[]).unwrap();
    let refused = world.cancel(group, by("c")).unwrap_err();
    assert_eq!((refused.clone(), refused.code().1), (Rejection::NotJoined(player("c")), 2053));
    assert!(matches!(world.cancel(group, by("x")), Err(Rejection::Unauthorized { .. })));
    assert_eq!(world.cancel(group, by("b")), Ok(Answer::Cancelled(1)));
    assert_eq!(
        world.cancel(group, by("b")),
        Ok(Answer::Cancelled(0)),
        "\"If the ticket is already cancelled, nothing happens.\""
    );
    for (caller, reason) in [
        (by("a"), Cancellation::User),
        (server("s"), Cancellation::Server),
        (Caller::Title, Cancellation::Server),
    ] {
        let ticket = world.solo("a", &[]);
        world.cancel(ticket, caller).unwrap();
        let told = world.journal.last().map(|(_, event)| event.clone());
        assert_eq!(told, Some(Event::TicketCanceled { ticket, reason }));
    }
}

/// "Matched cannot be cancelled."
#[test]
fn a_matched_ticket_is_not_cancelled() {
    let mut world = World::new(spec(2, 2, Vec::new()));
    let ticket = world.solo("a", &[]);
    world.solo("b", &[]);
    assert_eq!(world.cancel(ticket, by("a")), Err(Rejection::AlreadyCompleted(ticket)));
}

/// `CancelAllMatchmakingTicketsForPlayer` and `ListMatchmakingTicketsForPlayer`: for the player itself, and servers.
#[test]
fn a_players_tickets_are_listed_and_cancelled() {
    let mut world = World::new(spec(2, 2, Vec::new()));
    let ticket = world.solo("a", &[]);
    assert_eq!(world.queue.tickets_of(&player("a"), &by("a")), Ok(Some(ticket)));
    assert!(world.queue.tickets_of(&player("a"), &by("b")).is_err());
    let all = |caller| Command::CancelAllTickets { player: player("a"), caller };
    assert!(matches!(world.run(all(by("b"))), Err(Rejection::Unauthorized { .. })));
    assert_eq!(world.run(all(by("a"))), Ok(Answer::Cancelled(1)));
    assert_eq!(world.run(all(server("s"))), Ok(Answer::Cancelled(0)));
    assert_eq!(world.status(ticket), "Canceled");
}

/// "it won't return a match found until it matches at least one other ticket. If a ticket already meets the maximum requirement
/// for a match, however, it will be rejected."
#[test]
fn a_ticket_alone_is_no_match() {
    let mut world = World::new(spec(2, 4, Vec::new()));
    let party = world.party(["a", "b", "c"].map(|name| member(name, &[])).to_vec());
    assert_eq!(world.status(party), "WaitingForMatch");
    let full = world.try_party(["d", "e", "f", "g"].map(|name| member(name, &[])).to_vec());
    assert_eq!(full, Err(Rejection::NumberOfPlayersTooLarge { players: 4, max: 3 }));
    world.solo("h", &[]);
    assert_eq!(world.matched(), [["a", "b", "c", "h"]]);
}

/// `MaxTicketSize`, and a party that no team has room for.
#[test]
fn a_ticket_has_its_own_size() {
    let small = Declared { max_ticket_size: Some(2), ..declared(2, 8, Vec::new()) };
    let mut world = World::new(QueueSpec::new(small).unwrap());
    let three = world.try_ticket("a", &[], &["b", "c"]);
    assert_eq!(three, Err(Rejection::NumberOfPlayersTooLarge { players: 3, max: 2 }));
    let unset = Declared { max_ticket_size: Some(0), ..declared(2, 8, Vec::new()) };
    assert_eq!(QueueSpec::new(unset).unwrap().ticket_size_max(), 7, "0 is how exports write no limit");
    assert_eq!(crate::world::with_teams(4, 8, (2, 4), Vec::new()).ticket_size_max(), 4);
}

/// A repeat of an id is the ticket of that id; nobody is in a ticket twice, and time has bounds.
#[test]
fn what_is_asked_twice_is_done_once() {
    let mut world = World::new(spec(4, 4, Vec::new()));
    let ticket = world.id();
    let create = |ticket, give_up_after| Command::CreateTicket {
        ticket,
        caller: by("a"),
        creator: member("a", &[]),
        invited: Vec::new(),
        give_up_after,
        form: 1,
    };
    assert_eq!(world.run(create(ticket, 60)), Ok(Answer::Ticket(ticket)));
    let before = world.journal.len();
    assert_eq!(world.run(create(ticket, 60)), Ok(Answer::Ticket(ticket)));
    assert_eq!(world.journal.len(), before);
    let twice = world.try_party(["x", "x"].map(|name| member(name, &[])).to_vec());
    assert!(matches!(twice, Err(Rejection::EntityInvalid { .. })));
    for seconds in [0, 86_401] {
        let other = world.id();
        assert_eq!(world.run(create(other, seconds)), Err(Rejection::GiveUpAfterInvalid { seconds }));
    }
}

/// "a type mismatch (40 against \"40\") silently unmatchable" is what users complain about elsewhere: here it is refused, by the
/// rule's name.
#[test]
fn a_value_of_another_type_is_refused() {
    let refused = |rules, value: Option<Value>| {
        World::new(spec(2, 2, rules)).try_ticket("a", &[value], &[]).unwrap_err()
    };
    let skill = || vec![difference("skill", fixed(1.0))];
    let wrong = refused(skill(), text("40"));
    assert_eq!(wrong.to_string(), "rule skill needs a number at `skill` and found a text");
    assert_eq!(wrong.code(), ("MatchmakingAttributeInvalid", 2046));
    assert_eq!(
        refused(vec![equality("build", Missing::MatchAny)], number_value(40.0)).to_string(),
        "rule build needs a text at `build` and found a number"
    );
    assert!(
        refused(vec![intersection("maps", 1.0, Expansion::Fixed(1))], text("a"))
            .to_string()
            .contains("a list of texts")
    );
    let missing = refused(vec![total("tanks", fixed(0.0), fixed(1.0))], None);
    assert!(matches!(missing, Rejection::AttributeInvalid(AttributeFault::Missing { .. })));
    let negative = refused(vec![total("tanks", fixed(0.0), fixed(1.0))], number_value(-1.0));
    assert!(matches!(negative, Rejection::AttributeInvalid(AttributeFault::Negative { .. })));
    assert!(refused(vec![selection(Expansion::Fixed(100))], None).to_string().contains("latency"));
    let none = refused(vec![selection(Expansion::Fixed(100))], latencies(&[])).to_string();
    assert!(none.contains("`latency` is empty: send each with its latency"), "{none}");
    let many: Vec<String> = (0..129).map(|at| at.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let large = refused(vec![intersection("maps", 1.0, Expansion::Fixed(1))], texts(&many));
    assert!(matches!(
        large,
        Rejection::AttributeInvalid(AttributeFault::TooLarge { found: 129, max: 128, .. })
    ));
}

/// "unknown regions" are refused where the queue knows its own.
#[test]
fn a_region_that_the_queue_does_not_have_is_refused() {
    let regions = vec!["EastUs".into(), "WestUs".into()];
    let declared = Declared { regions, ..declared(2, 2, vec![selection(Expansion::Fixed(100))]) };
    let mut world = World::new(QueueSpec::new(declared).unwrap());
    let nowhere = world.try_ticket("a", &[latencies(&[("Atlantis", 10)])], &[]);
    assert!(matches!(nowhere, Err(Rejection::AttributeInvalid(AttributeFault::UnknownRegions { .. }))));
    let sunk = world.try_backfill(&server("s"), vec![], crate::world::region("Atlantis"), None);
    assert!(matches!(sunk, Err(Rejection::AttributeInvalid(AttributeFault::ServerRegion { .. }))));
    world.solo("a", &[latencies(&[("Atlantis", 1), ("eastus", 10)])]);
    world.solo("b", &[latencies(&[("EASTUS", 10)])]);
    assert_eq!(*world.formed()[0].regions, ["EastUs".into()], "as the queue writes it");
}

/// A change of limits keeps those who wait; a change of what is read ends them with `RetryRequired`; a removed queue cancels all
/// (`Match/RemoveMatchmakingQueue`).
#[test]
fn a_queue_changes_under_those_who_wait() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", fixed(1.0))]));
    let a = world.solo("a", &[number_value(0.0)]);
    world.solo("b", &[number_value(5.0)]);
    world.run(Command::Configure(Arc::new(spec(2, 2, vec![difference("skill", fixed(5.0))])))).unwrap();
    assert_eq!(world.matched(), [["a", "b"]]);
    assert_eq!(world.queue.form(), 1);
    let c = world.solo("c", &[number_value(0.0)]);
    world.run(Command::Configure(Arc::new(spec(2, 2, vec![difference("rank", fixed(5.0))])))).unwrap();
    let told = Event::TicketCanceled { ticket: c, reason: Cancellation::RetryRequired };
    assert!(world.journal.iter().any(|(_, event)| *event == told));
    let stale = Command::CreateTicket {
        ticket: a,
        caller: by("d"),
        creator: member("d", &[None]),
        invited: Vec::new(),
        give_up_after: 60,
        form: 1,
    };
    assert_eq!(world.run(stale), Err(Rejection::OtherForm { form: 2 }));
    let open = world.solo("e", &[number_value(0.0)]);
    world.run(Command::Close).unwrap();
    assert_eq!(world.status(open), "Canceled");
    let told = Event::TicketCanceled { ticket: open, reason: Cancellation::Server };
    assert!(world.journal.iter().any(|(_, event)| *event == told));
    assert_eq!(world.try_ticket("f", &[], &[]), Err(Rejection::QueueNotFound));
    assert_eq!(world.run(Command::Close), Err(Rejection::QueueNotFound));
}

/// "servers see all; players see per config, forbidden if both flags are off"; "backfill tickets are excluded".
#[test]
fn statistics_are_live_and_shown_to_whom_they_may() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(0.0, 5.0, 10.0, 10))]));
    world.backfill(
        vec![crate::world::seated("x", "", &[number_value(-50.0)])],
        mainstay_matchmaking::ServerDetails::default(),
    );
    world.solo("a", &[number_value(0.0)]);
    let told = world.queue.statistics(&server("s"), world.now).unwrap();
    assert_eq!((told.players_matching, told.time_to_match), (Some(1), None));
    assert!(matches!(world.queue.statistics(&by("a"), world.now), Err(Rejection::Unauthorized { .. })));
    world.solo("b", &[number_value(5.0)]);
    world.seconds(10);
    let told = world.queue.statistics(&Caller::Title, world.now).unwrap();
    let times = told.time_to_match.unwrap();
    assert_eq!(told.players_matching, Some(0));
    assert_eq!([times.average, times.percentile50, times.percentile99].map(|it| it.as_secs()), [10, 10, 10]);
    // What was an hour ago says nothing of now.
    world.pass(WAITS_FOR - Duration::from_secs(1));
    assert_eq!(world.queue.statistics(&Caller::Title, world.now).unwrap().time_to_match, Some(times));
    world.pass(Duration::from_secs(1));
    assert_eq!(world.queue.statistics(&Caller::Title, world.now).unwrap().time_to_match, None);
    let visibility = Visibility { players_matching: Shown::ToPlayers, time_to_match: Shown::Hidden };
    let shown = Declared { visibility, venue: None, ..declared(2, 2, Vec::new()) };
    let world = World::new(QueueSpec::new(shown).unwrap());
    let told = world.queue.statistics(&by("a"), world.now).unwrap();
    assert_eq!((told.players_matching, told.time_to_match), (Some(0), None));
}

/// A removed queue owes nobody anything, and tells what ended in it for as long as any other, also by its snapshot.
#[test]
fn what_ended_in_a_removed_queue_can_be_asked_about_as_in_any() {
    let mut world = World::new(spec(2, 2, Vec::new()));
    let matched = world.solo("a", &[]);
    world.solo("b", &[]);
    let formed = world.formed()[0].id;
    let waits = world.solo("c", &[]);
    world.run(Command::Close).unwrap();
    for queue in [world.queue.clone(), world.rebuilt(), world.replayed()] {
        assert!(queue.is_spent() && queue.is_asked_about(world.now));
        assert_eq!(queue.ticket(matched, &by("a"), world.now).unwrap().stage.ended(), Some(world.now));
        assert!(queue.ticket(waits, &by("c"), world.now).is_ok());
        assert!(queue.formed_match(formed, &by("b"), world.now).is_ok());
    }
    world.pass(KEPT - Duration::from_millis(1));
    assert!(world.queue.is_asked_about(world.now));
    world.pass(Duration::from_millis(1));
    assert!(!world.queue.is_asked_about(world.now));
}

/// What ended can be asked about for a while, and is then forgotten.
#[test]
fn what_ended_is_forgotten() {
    let mut world = World::new(spec(2, 2, Vec::new()));
    let ticket = world.solo("a", &[]);
    world.solo("b", &[]);
    let formed = world.formed()[0].id;
    world.pass(KEPT - Duration::from_millis(1));
    assert!(world.queue.formed_match(formed, &by("a"), world.now).is_ok());
    world.pass(Duration::from_millis(1));
    // Nothing has happened since: time alone decides.
    assert_eq!(
        world.queue.formed_match(formed, &by("a"), world.now).cloned(),
        Err(Rejection::MatchNotFound(formed))
    );
    assert_eq!(
        world.queue.ticket(ticket, &by("a"), world.now).cloned(),
        Err(Rejection::TicketNotFound(ticket))
    );
    let cancelled = world.cancel(ticket, by("a"));
    assert_eq!(cancelled, Err(Rejection::TicketNotFound(ticket)));
    assert_eq!(world.queue.tickets_after(None, world.now).count(), 0);
    assert_eq!(world.queue.matches_after(None, world.now).count(), 0);
}

/// Every fault of a declaration is told at once, with its place.
#[test]
fn a_queue_that_cannot_be_is_refused_with_every_fault() {
    let broken = Declared {
        name: "-x".into(),
        regions: vec!["a".into(), "A".into()],
        ..declared(
            1,
            101,
            vec![
                difference("twice", fixed(-1.0)),
                difference("twice", fixed(1.0)),
                total("t", fixed(5.0), fixed(4.0)),
            ],
        )
    };
    let faults: Vec<String> = QueueSpec::new(broken).unwrap_err().iter().map(ToString::to_string).collect();
    for place in [
        "name",
        "minMatchSize",
        "maxMatchSize",
        "regions",
        "rule twice: a negative difference",
        "rule twice: named twice",
        "rule t",
    ] {
        assert!(faults.iter().any(|fault| fault.starts_with(place)), "{place}: {faults:?}");
    }
    let of_regions: Vec<_> = faults.iter().filter(|fault| fault.starts_with("regions")).collect();
    assert_eq!((faults.len(), of_regions.len()), (8, 2), "{faults:?}");
}

/// A team's number is a byte in the engine, and more teams than players are empty in every match; and "TeamId" is compared without
/// regard to case.
#[test]
fn teams_are_no_more_than_players_and_told_apart_without_case() {
    let faults = |names: &[String]| -> Vec<String> {
        let team = |name: &String| TeamSpec { name: name.as_str().into(), min: 0, max: 2 };
        let teams = names.iter().map(team).collect();
        let declared = Declared { teams, ..declared(2, 32, Vec::new()) };
        QueueSpec::new(declared).err().iter().flatten().map(ToString::to_string).collect()
    };
    let of = |count: u32| -> Vec<String> { (0..count).map(|at| format!("t{at}")).collect() };
    assert_eq!(faults(&of(32)), [""; 0]);
    assert_eq!(faults(&of(33)), ["teams: 33 teams, at most 32"]);
    assert_eq!(
        faults(&["red", "blue", "Red"].map(String::from)),
        ["team Red: named twice: teams are not told apart by case"]
    );
}

/// Which tickets a match was made of is known for as long as it is, and whose matches were formed at the same moment.
#[test]
fn the_tickets_of_a_match_are_told_with_its_game() {
    let mut world = World::new(spec(4, 4, Vec::new()));
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    let joins = ["a", "b", "c"].map(|name| world.solo(name, &[]));
    let others = ["d", "e", "f", "g"].map(|name| world.solo(name, &[]));
    let of = |queue: &Queue, id| queue.ended_in(id).collect::<BTreeSet<_>>();
    let [filled, formed] = &world.formed()[..] else { panic!("two matches") };
    for queue in [&world.queue, &world.rebuilt()] {
        assert_eq!(of(queue, filled.id), joins.into_iter().chain([game]).collect());
        assert_eq!(of(queue, formed.id), others.into());
    }
}
