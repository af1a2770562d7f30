//! How many regions and list values the tickets of a queue name is bounded, and whoever waits has room for its own: also where it was away
//! and comes back, and where the queue reads more of them than it did. Whoever has none is told so, and nobody waits unseen.

use std::sync::Arc;

use mainstay_core::{StateMachine, TicketId};
use mainstay_matchmaking::spec::{Declared, Expansion, QueueSpec, Rule, ServerAllocation, Venue};
use mainstay_matchmaking::{
    BackfillStage, Caller, Cancellation, Command, Event, Outcome, Rejection, ServerDetails, Stage, Value,
};

use crate::world::{
    World, declared, difference, fixed, intersection, latencies, member, number_value, player, seated,
    selection, spec, texts,
};

/// So many regions of one's own, each 10 ms away.
pub fn own(of: &str, count: u32) -> Option<Value> {
    let names: Vec<String> = (0..count).map(|at| format!("{of}{at}")).collect();
    latencies(&names.iter().map(|name| (name.as_str(), 10)).collect::<Vec<_>>())
}

fn with_home(of: &str, count: u32) -> Option<Value> {
    let Some(Value::Latencies(own)) = own(of, count) else { unreachable!() };
    Some(Value::Latencies(own.iter().cloned().chain([("Home".into(), 10)]).collect()))
}

pub fn near() -> Rule {
    selection(Expansion::Fixed(100))
}

impl World {
    pub fn ended_by(&self, ticket: TicketId) -> Option<Cancellation> {
        match self.queue.ticket(ticket, &Caller::Title, self.now).unwrap().stage {
            Stage::Canceled { reason, .. } => Some(reason),
            Stage::Gathering | Stage::Searching(_) | Stage::Held { .. } | Stage::Matched { .. } => None,
        }
    }
}

/// A queue that no longer names its regions reads all that its tickets named. Those who came first have the room, another is asked to
/// come again, and those who stay find each other.
#[test]
fn a_queue_that_reads_more_regions_keeps_whom_it_has_room_for() {
    let skill = || difference("skill", fixed(0.0));
    let named = Declared { regions: vec!["Home".into()], ..declared(3, 3, vec![near(), skill()]) };
    let mut world = World::new(QueueSpec::new(named).unwrap());
    let of = |skill: f64, regions| [regions, number_value(skill)];
    let first = world.solo("first", &of(1.0, with_home("a", 40)));
    let second = world.solo("second", &of(2.0, with_home("b", 40)));
    let pair = ["one", "other"].map(|name| world.solo(name, &of(3.0, latencies(&[("Home", 5)]))));
    world.run(Command::Configure(Arc::new(spec(2, 3, vec![near(), skill()])))).unwrap();
    assert_eq!(world.ended_by(second), Some(Cancellation::RetryRequired));
    assert_eq!(world.status(first), "WaitingForMatch");
    world.seconds(30);
    assert_eq!(pair.map(|ticket| world.status(ticket)), ["Matched"; 2]);
    world.cancel(first, Caller::Title).unwrap();
    world.solo("as many", &of(4.0, own("c", 64)));
}

/// A group that waits for a server keeps the room of its names: it may get none, and then it searches on.
#[test]
fn a_group_that_is_held_keeps_the_room_of_its_names() {
    let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    let venue = Some(Venue::Server(allocation));
    let rules = vec![near(), intersection("maps", 1.0, Expansion::Fixed(1))];
    let mut world = World::new(QueueSpec::new(Declared { venue, ..declared(2, 2, rules) }).unwrap());
    let held = ["a", "b"].map(|name| world.solo(name, &[own("held", 4), texts(&["map"])]));
    assert_eq!(held.map(|ticket| world.status(ticket)), ["WaitingForServer"; 2]);
    for _ in 0..2 {
        // As it stands, rebuilt, and with the engine lost.
        let many = world.try_ticket("many", &[own("other", 61), texts(&["map"])], &[]);
        assert_eq!(many, Err(Rejection::TooManyValues));
        world.queue = world.rebuilt();
    }
    let fits = world.solo("fits", &[own("other", 60), texts(&["other map"])]);
    world.cancel(held[0], Caller::Title).unwrap();
    let comes = world.solo("comes", &[own("held", 4), texts(&["map"])]);
    assert_eq!([held[1], comes].map(|ticket| world.status(ticket)), ["WaitingForServer"; 2]);
    // Once the match is formed they are free.
    let id = world.queue.holds().next().unwrap().asked();
    world.answer(id, Outcome::Placed(Arc::default()));
    world.cancel(fits, Caller::Title).unwrap();
    world.solo("many", &[own("other", 64), texts(&["map"])]);
}

/// It is nobody's fault who is told so: PlayFab's word for "again later".
#[test]
fn want_of_room_is_told_as_a_limit() {
    assert_eq!(Rejection::TooManyValues.code(), ("MatchmakingRateLimitExceeded", 2054));
}

/// What those who stay in a game share may be more than what all shared.
#[test]
fn a_game_that_somebody_leaves_is_asked_for_room_too() {
    let maps = |of: &str| -> Vec<String> { (0..128).map(|at| format!("{of}-{at}")).collect() };
    let list = |maps: &[String]| texts(&maps.iter().map(String::as_str).collect::<Vec<_>>());
    let mut world = World::new(spec(2, 4, vec![intersection("maps", 1.0, Expansion::Fixed(1))]));
    let (all, one) = (maps("game"), maps("game")[..1].to_vec());
    let players = vec![seated("stays", "", &[list(&all)]), seated("leaves", "", &[list(&one)])];
    let game = world.backfill(players, ServerDetails::default());
    for of in 0..7 {
        world.solo(&format!("p{of}"), &[list(&maps(&of.to_string()))]);
    }
    // Beside these 897 there is room for 127, and who stays in the game brings as many as before and 127.
    world.solo("one more", &[texts(&["one more"])]);
    let elsewhere = ["leaves", "friend"].map(|name| member(name, &[texts(&["elsewhere"])]));
    world.party(elsewhere.to_vec());
    assert_eq!(world.backfill_status(game), "WaitingForMatch");
    world.solo("meets", &[texts(&["elsewhere"])]);
    assert_eq!(world.matched(), [["friend", "leaves", "meets"]]);
    let stage = world.queue.backfill(game, &Caller::Title, world.now).unwrap().stage;
    let ended = BackfillStage::Canceled { reason: Cancellation::RetryRequired, at: world.now };
    assert_eq!(stage, ended);
}

/// What the players of a ticket share may be what the first of them brought, who came when there was room for it.
#[test]
fn who_joins_last_is_asked_for_the_room_of_all() {
    let maps = |of: u32| -> Option<Value> {
        let names: Vec<String> = (0..128).map(|at| format!("{of}-{at}")).collect();
        texts(&names.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let mut world = World::new(spec(3, 3, vec![intersection("maps", 1.0, Expansion::Fixed(1))]));
    let ticket = world.try_ticket("first", &[maps(0)], &["friend"]).unwrap();
    let others: Vec<_> = (1..=8).map(|of| world.solo(&format!("p{of}"), &[maps(of)])).collect();
    assert_eq!(world.join(ticket, "friend", &[None]), Err(Rejection::TooManyValues));
    assert_eq!(world.status(ticket), "WaitingForPlayers");
    world.cancel(others[0], Caller::Title).unwrap();
    world.join(ticket, "friend", &[None]).unwrap();
    world.solo("comes", &[maps(0)]);
    assert_eq!(world.matched(), [["comes", "first", "friend"]]);
}

/// A journal of an earlier version may hold more than there is room for. Whoever came last is asked to come again, and takes no
/// room with it.
#[test]
fn whoever_a_journal_has_no_room_for_is_told_so() {
    let mut world = World::new(spec(2, 2, vec![near()]));
    let kept = world.solo("kept", &[own("a", 60)]);
    let (late, at) = (world.id(), world.now);
    let member = member("late", &[own("b", 60)]);
    let creator = player("late");
    let created = Event::TicketCreated {
        ticket: late,
        creator,
        members: [member].into(),
        invited: [].into(),
        give_up_after: 600,
    };
    world.queue.apply(at, &created);
    world.journal.push((at, created));
    world.seconds(1);
    assert_eq!(
        (world.status(kept), world.ended_by(late)),
        ("WaitingForMatch", Some(Cancellation::RetryRequired))
    );
    world.cancel(kept, Caller::Title).unwrap();
    world.solo("as many", &[own("c", 64)]);
    assert_eq!(world.queue.snapshot(), world.replayed().snapshot());
}
