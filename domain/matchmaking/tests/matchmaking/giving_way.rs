//! Players choose what they name, and a queue tells so many names apart: whoever takes up the most of that gives way to a newcomer that would
//! take up less, so that a few do not close a queue for everybody.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use mainstay_core::{StateMachine as _, TicketId};
use mainstay_matchmaking::spec::{Declared, Expansion, QueueSpec, ServerAllocation, Venue};
use mainstay_matchmaking::{Cancellation, Rejection, Stage, Value};
use proptest::prelude::*;

use crate::draw::Dice;
use crate::names::{near, own};
use crate::world::{World, intersection, latencies, region, seated, server, spec, texts};

/// What a list rule reads: so many values of one's own.
fn list(of: &str, count: u32) -> Option<Value> {
    let names: Vec<String> = (0..count).map(|at| format!("{of}-{at}")).collect();
    texts(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn maps() -> World {
    World::new(spec(2, 2, vec![intersection("maps", 1.0, Expansion::Fixed(1))]))
}

/// The audit's t6: one ticket of 64 regions, and nobody else could come any more.
#[test]
fn one_player_does_not_close_a_queue_by_its_regions() {
    for rebuilt in [false, true] {
        let mut world = World::new(spec(2, 2, vec![near()]));
        let all = world.solo("all", &[own("x", 64)]);
        if rebuilt {
            world.queue = world.rebuilt();
        }
        let us = latencies(&[("EastUs", 20), ("WestUs", 60)]);
        let pair = ["one", "other"].map(|name| world.solo(name, std::slice::from_ref(&us)));
        assert_eq!(world.ended_by(all), Some(Cancellation::RetryRequired));
        assert_eq!(pair.map(|ticket| world.status(ticket)), ["Matched"; 2]);
        // It is welcome where there is room.
        world.solo("all again", &[own("x", 64)]);
        assert_eq!(world.queue.snapshot(), world.replayed().snapshot());
    }
}

/// Eight players of 128 values each, the most that a list may have.
#[test]
fn eight_players_do_not_close_a_queue_by_their_lists() {
    let mut world = maps();
    let all: Vec<_> = (0..8).map(|of| world.solo(&format!("p{of}"), &[list(&of.to_string(), 128)])).collect();
    let pair = ["one", "other"].map(|name| world.solo(name, &[texts(&["arena", "docks"])]));
    assert_eq!(pair.map(|ticket| world.status(ticket)), ["Matched"; 2]);
    let ended: Vec<_> = all.iter().map(|ticket| world.ended_by(*ticket)).collect();
    assert_eq!(ended[..7], [None; 7], "no more of them than have to");
    assert_eq!(
        ended[7],
        Some(Cancellation::RetryRequired),
        "of those who take up as much, the last who came"
    );
}

/// Names that several bring are as much in the way, and each of them has its part of that.
#[test]
fn players_who_name_the_same_do_not_close_it_either() {
    let mut world = World::new(spec(8, 8, vec![near()]));
    let all: Vec<_> = (0..3).map(|of| world.solo(&format!("p{of}"), &[own("x", 64)])).collect();
    let us = world.solo("us", &[latencies(&[("EastUs", 20), ("WestUs", 60)])]);
    assert_eq!(world.status(us), "WaitingForMatch");
    assert!(all.iter().all(|ticket| world.ended_by(*ticket) == Some(Cancellation::RetryRequired)));
}

/// Whoever names what others name takes up little, whoever takes up no more than the newcomer stays, and who is refused changes nothing.
#[test]
fn nobody_gives_way_to_whoever_takes_up_as_much() {
    let mut world = World::new(spec(40, 40, vec![near()]));
    let home = |of: &str, count: u32| -> Option<Value> {
        let Some(Value::Latencies(own)) = own(of, count) else { unreachable!() };
        let home = own.iter().cloned().chain([("Home".into(), 10)]);
        Some(Value::Latencies(home.collect()))
    };
    let many: Vec<_> = (0..20).map(|of| world.solo(&format!("home {of}"), &[home("", 0)])).collect();
    let few: Vec<_> =
        (0..7).map(|of| world.solo(&format!("few {of}"), &[home(&format!("f{of}-"), 9)])).collect();
    let before = world.queue.snapshot();
    let as_much = world.try_ticket("as much", &[home("n", 9)], &[]);
    assert_eq!(as_much, Err(Rejection::TooManyValues));
    assert_eq!(world.queue.snapshot(), before);
    world.solo("less", &[home("n", 8)]);
    assert!(many.iter().chain(&few[..6]).all(|ticket| world.status(*ticket) == "WaitingForMatch"));
    assert_eq!(world.ended_by(few[6]), Some(Cancellation::RetryRequired));
}

/// A game is where it is, and a group that waits for a server may search on: neither gives way. Nor does anybody to whom no match could have.
#[test]
fn a_game_a_held_group_and_a_hopeless_ticket_move_nobody() {
    let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    let venue = Some(Venue::Server(allocation));
    let mut world =
        World::new(QueueSpec::new(Declared { venue, ..crate::world::declared(2, 2, vec![near()]) }).unwrap());
    let held = ["a", "b"].map(|name| world.solo(name, &[own("held", 62)]));
    assert_eq!(held.map(|ticket| world.status(ticket)), ["WaitingForServer"; 2]);
    let games = ["g", "h"].map(|of| world.backfill(vec![seated(of, "", &[None])], region(of)));
    assert_eq!(world.try_ticket("c", &[own("c", 1)], &[]), Err(Rejection::TooManyValues));
    assert_eq!(games.map(|game| world.backfill_status(game)), ["WaitingForMatch"; 2]);

    let mut world = World::new(spec(2, 2, vec![near()]));
    let all = world.solo("all", &[own("x", 64)]);
    let far = world.solo("far", &[latencies(&[("Moon", 2_500)])]);
    assert_eq!(world.ended_by(far), Some(Cancellation::TicketUnmatchable));
    assert_eq!(world.status(all), "WaitingForMatch");
    // To a game that somebody could join, players give way.
    world.try_backfill(&server("s"), vec![seated("g", "", &[None])], region("eu"), None).unwrap();
    assert_eq!(world.ended_by(all), Some(Cancellation::RetryRequired));
}

/// A ticket whose players have not all joined searches for nobody yet, and nobody gives way to it before.
#[test]
fn who_joins_last_is_made_room_for() {
    let mut world = World::new(spec(3, 3, vec![near()]));
    let all = world.solo("all", &[own("x", 64)]);
    let us = || [latencies(&[("us", 10)])];
    let ticket = world.try_ticket("one", &us(), &["friend"]).unwrap();
    assert_eq!((world.status(all), world.status(ticket)), ("WaitingForMatch", "WaitingForPlayers"));
    world.join(ticket, "friend", &us()).unwrap();
    assert_eq!(world.ended_by(all), Some(Cancellation::RetryRequired));
    world.solo("third", &us());
    assert_eq!(world.status(ticket), "Matched");
}

/// A random day of players who name some of more regions and maps than there is room for.
fn day(seed: u64, each: impl Fn(&mut World)) -> (World, Vec<(TicketId, bool)>) {
    let mut dice = Dice(seed);
    let mut world = World::new(spec(3, 3, vec![near(), intersection("maps", 1.0, Expansion::Fixed(1))]));
    let mut told = Vec::new();
    for at in 0..60 {
        each(&mut world);
        let size = [1, 8, 40, 64][dice.below(4) as usize];
        let first = dice.below(200);
        let regions: Vec<String> = (first..first + size).map(|at| format!("r{}", at % 200)).collect();
        let regions: Vec<_> = regions.iter().map(|name| (name.as_str(), 10 + dice.below(20))).collect();
        let (of, count) = (dice.below(30), 1 + dice.below(128));
        let values = [latencies(&regions), list(&of.to_string(), count)];
        let before = waiting(&world);
        match world.try_ticket(&format!("p{at}"), &values, &[]) {
            Ok(ticket) => told.push((ticket, true)),
            Err(refused) => {
                assert_eq!(refused, Rejection::TooManyValues);
                assert_eq!(waiting(&world), before, "who is refused changes nothing");
                assert!(!is_outdone(&before, &names(&values)), "somebody takes up more, and stays");
            }
        }
        world.pass(std::time::Duration::from_millis(dice.below(3_000).into()));
    }
    (world, told)
}

/// What a ticket names, each with whether it is a region.
type Named = BTreeSet<(bool, String)>;

fn names(values: &[Option<Value>]) -> Named {
    let of = |value: &Option<Value>| -> Vec<(bool, String)> {
        match value {
            Some(Value::Latencies(all)) => all.iter().map(|(name, _)| (true, name.to_string())).collect(),
            Some(Value::Texts(all)) => all.iter().map(|name| (false, name.to_string())).collect(),
            Some(Value::Text(_) | Value::Number(_) | Value::Other(_)) | None => Vec::new(),
        }
    };
    values.iter().flat_map(of).collect()
}

fn waiting(world: &World) -> Vec<Named> {
    let searches = world.queue.tickets().filter(|it| matches!(it.stage, Stage::Searching(_)));
    searches
        .map(|it| it.members.iter().flat_map(|member| names(&member.attributes.values)).collect())
        .collect()
}

/// Whether of each kind that there is no room for somebody takes up more than the newcomer would, and would make room alone.
fn is_outdone(waiting: &[Named], newcomer: &Named) -> bool {
    [(true, 64), (false, 1_024)].into_iter().all(|(region, most)| {
        let of = |names: &Named| -> Named { names.iter().filter(|(is, _)| *is == region).cloned().collect() };
        let (waiting, newcomer): (Vec<Named>, Named) = (waiting.iter().map(of).collect(), of(newcomer));
        let mut by: BTreeMap<(bool, String), u32> = BTreeMap::new();
        let all = waiting.iter().chain([&newcomer]).flatten();
        all.for_each(|name| *by.entry(name.clone()).or_default() += 1);
        let share = |names: &Named| names.iter().map(|name| 1.0 / f64::from(by[name])).sum::<f64>();
        let frees = |names: &Named| names.iter().filter(|name| by[*name] == 1).count();
        let outdoes = |it: &Named| share(it) > share(&newcomer) + 0.001 && by.len() - frees(it) <= most;
        by.len() <= most || waiting.iter().any(outdoes)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Who gives way is seen in nothing but who waits: the same of a queue that is rebuilt before each ticket, or loses its engine.
    #[test]
    fn a_rebuilt_queue_makes_room_alike(seed in any::<u64>()) {
        let told = |(world, made): (World, Vec<(TicketId, bool)>)| {
            let mut text = String::new();
            world.journal.iter().for_each(|(at, event)| writeln!(text, "{at:?} {event:?}").unwrap());
            (text, made, world.queue.snapshot() == world.replayed().snapshot())
        };
        let untouched = told(day(seed, |_| {}));
        prop_assert!(untouched.2);
        prop_assert_eq!(&untouched, &told(day(seed, |world| world.queue = world.rebuilt())));
        prop_assert_eq!(&untouched, &told(day(seed, World::forget)));
    }
}

/// Days are such that somebody gives way, and somebody is refused.
#[test]
fn days_want_room() {
    let (mut gave_way, mut refused) = (0, 0);
    for seed in 0..20 {
        let (world, made) = day(seed, |_| {});
        gave_way +=
            made.iter().filter(|(it, _)| world.ended_by(*it) == Some(Cancellation::RetryRequired)).count();
        refused += 60 - made.len();
    }
    assert!(gave_way >= 20 && refused >= 20, "{gave_way} gave way, {refused} were refused");
}
