//! A queue that gathers: who comes within an interval is looked at at its end, and the best of all their matches are formed.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{StateMachine, TicketId, Timestamp, Turn};
use mainstay_matchmaking::bare::{Engine, Facts, Look, Newcomer};
use mainstay_matchmaking::spec::{
    Declared, Expansion, GATHER_MS_MAX, Gather, Missing, QueueSpec, ServerAllocation, Venue,
};
use mainstay_matchmaking::{Amount, Attributes, Caller, Command, Cursor, Event, Kind, Value};

use crate::draw::Dice;
use crate::world::{
    World, declared, difference, equality, fixed, growing, member, number, number_value, player, region,
    seated, spec, text, with_teams,
};

/// One that gathers for so many milliseconds.
fn gathering(ms: u32, spec: &QueueSpec) -> QueueSpec {
    QueueSpec::new(Declared { gather: Gather::for_ms(ms), ..spec.declared().clone() }).unwrap()
}

fn pairs(ms: u32, within: f64) -> QueueSpec {
    gathering(ms, &spec(2, 2, vec![difference("skill", fixed(within))]))
}

fn skilled(world: &mut World, name: &str, skill: f64) -> TicketId {
    world.solo(name, &[number_value(skill)])
}

fn due(world: &World) -> Option<u64> {
    world.queue.next_deadline().map(|(at, _)| at.unix_ms())
}

#[test]
fn nobody_is_looked_at_before_the_end_of_an_interval() {
    let mut world = World::new(pairs(1_000, 9.0));
    skilled(&mut world, "alice", 1.0);
    world.pass(Duration::from_millis(400));
    skilled(&mut world, "bob", 1.0);
    assert_eq!((world.formed().len(), due(&world)), (0, Some(1_001_000)));
    world.pass(Duration::from_millis(599));
    assert_eq!(world.formed().len(), 0);
    world.pass(Duration::from_millis(1));
    assert_eq!(world.formed().len(), 1);
}

/// It would be looked at apart from those of the same millisecond.
#[test]
fn who_comes_at_the_end_of_an_interval_belongs_to_the_next() {
    let mut world = World::new(pairs(1_000, 9.0));
    world.seconds(3);
    skilled(&mut world, "alice", 1.0);
    skilled(&mut world, "bob", 1.0);
    assert_eq!((world.formed().len(), due(&world)), (0, Some(1_004_000)));
    world.seconds(1);
    assert_eq!(world.formed().len(), 1);
}

/// The eldest would take the nearest, and leave others with whoever is left.
#[test]
fn the_closest_matches_of_an_interval_are_formed() {
    let skills = [("a", 40.0), ("b", 0.0), ("c", 30.0), ("d", 71.0), ("e", 70.0), ("f", 100.0)];
    let mut worlds = [Gather::NONE, Gather::for_ms(1_000)].map(|gather| {
        let mut world = World::new(pairs(gather.ms(), 100.0));
        world.run(Command::Pause).unwrap();
        for (name, skill) in skills {
            skilled(&mut world, name, skill);
        }
        world.run(Command::Resume).unwrap();
        world
    });
    worlds.iter_mut().for_each(|world| world.seconds(1));
    assert_eq!(worlds[0].matched(), [["a", "c"], ["b", "e"], ["d", "f"]]);
    // As many, and 30 + 30 + 29 apart instead of 10 + 70 + 29; the eldest first.
    assert_eq!(worlds[1].matched(), [["a", "e"], ["b", "c"], ["d", "f"]]);
}

/// Of matches that are as close, that of those who came first.
#[test]
fn among_equals_the_elder_are_matched() {
    for (order, matched) in [(["a", "b", "c"], ["a", "b"]), (["c", "b", "a"], ["b", "c"])] {
        let mut world = World::new(pairs(500, 100.0));
        for name in order {
            skilled(&mut world, name, f64::from(name.as_bytes()[0]) * 10.0);
        }
        world.seconds(1);
        assert_eq!(world.matched(), [matched]);
    }
    let mut world = World::new(pairs(500, 1.0));
    for name in ["a", "b", "c"] {
        skilled(&mut world, name, 5.0);
    }
    world.seconds(1);
    assert_eq!(world.matched(), [["a", "b"]]);
}

/// How many matches, and how far apart they are in all, in millionths.
type Formed = (usize, i64);

/// The most matches and of those the closest, by trying every way to put some of these together.
fn best(numbers: &[i64], size: usize, within: i64) -> Formed {
    let Some((first, others)) = numbers.split_first() else { return (0, 0) };
    let mut found = best(others, size, within);
    let mut with = vec![vec![]];
    for at in 0..others.len() {
        for before in with.clone() {
            if before.len() + 1 < size {
                with.push(before.into_iter().chain([at]).collect());
            }
        }
    }
    for group in with.into_iter().filter(|group: &Vec<usize>| group.len() + 1 == size) {
        let own = || group.iter().map(|at| others[*at]).chain([*first]);
        let spread = own().max().unwrap() - own().min().unwrap();
        if spread <= within {
            let left: Vec<i64> =
                (0..others.len()).filter(|at| !group.contains(at)).map(|at| others[at]).collect();
            let (matches, sum) = best(&left, size, within);
            let told = (matches + 1, sum + spread);
            if told.0 > found.0 || (told.0 == found.0 && told.1 < found.1) {
                found = told;
            }
        }
    }
    found
}

fn skills(world: &World, matched: Option<usize>) -> Vec<Vec<i64>> {
    let number = |attributes: &Attributes| match &attributes.values[0] {
        Some(Value::Number(number)) => number.millionths(),
        other => panic!("{other:?}"),
    };
    match matched {
        Some(after) => world.formed()[after..]
            .iter()
            .map(|formed| formed.members.iter().map(|seated| number(&seated.member.attributes)).collect())
            .collect(),
        None => vec![
            world
                .queue
                .tickets()
                .filter(|ticket| ticket.stage.as_str() == "WaitingForMatch")
                .map(|ticket| number(&ticket.members[0].attributes))
                .collect(),
        ],
    }
}

/// Nobody for 10 s, some for as long, and then everybody.
fn widening() -> Expansion<Amount> {
    let values = [0.0, 0.5, 100.0].map(|limit| Some(number(limit)));
    Expansion::Custom { base: None, values: values.into(), every: 10 }
}

/// Else they would count as a match that is none, and keep others from theirs.
#[test]
fn each_is_near_enough_to_its_neighbours_by_its_own_limit() {
    let mut world = World::new(gathering(1_000, &spec(2, 2, vec![difference("skill", widening())])));
    world.pass(Duration::from_millis(500));
    skilled(&mut world, "wide", 0.0);
    skilled(&mut world, "wider", 10.85);
    world.seconds(10);
    skilled(&mut world, "narrow", 10.0);
    skilled(&mut world, "as narrow", 10.4);
    world.seconds(11);
    assert_eq!(world.matched(), [["as narrow", "narrow"], ["wide", "wider"]]);
}

/// Also with those who are left of the interval before, and with teams that are made of a match.
#[test]
fn no_other_division_has_more_matches_or_closer_ones() {
    let mut matches = 0;
    for seed in 0..300 {
        let mut dice = Dice(seed);
        let size = 2 + dice.below(2);
        let within = f64::from(1 + dice.below(9));
        let rules = vec![difference("skill", fixed(within))];
        let plain = match size {
            2 if dice.one_in(2) => with_teams(2, 2, (1, 1), rules),
            _ => spec(size, size, rules),
        };
        let mut world = World::new(gathering(1_000, &plain));
        for interval in 0..2 {
            for at in 0..5 {
                skilled(&mut world, &format!("{interval}-{at}"), f64::from(dice.below(30)));
                world.pass(Duration::from_millis(dice.below(150).into()));
            }
            let (waiting, before) = (skills(&world, None).remove(0), world.formed().len());
            world.seconds(1);
            let formed = skills(&world, Some(before));
            let spread = |skills: &Vec<i64>| skills.iter().max().unwrap() - skills.iter().min().unwrap();
            let told = (formed.len(), formed.iter().map(spread).sum());
            let within = (within * 1e6) as i64;
            assert_eq!(told, best(&waiting, size as usize, within), "seed {seed}: {waiting:?}");
            matches += formed.len();
        }
    }
    assert!(matches > 500, "{matches} matches are too few to tell");
}

/// Those who differ in what divides a queue are divided apart.
#[test]
fn each_part_has_the_best_of_its_own() {
    let rules = || vec![difference("skill", fixed(100.0)), equality("mode", Missing::UseDefault("x".into()))];
    let mut world = World::new(gathering(1_000, &spec(2, 2, rules())));
    for (name, skill, mode) in
        [("a", 0.0, "x"), ("b", 1.0, "y"), ("c", 2.0, "x"), ("d", 3.0, "y"), ("e", 4.0, "x"), ("f", 2.5, "y")]
    {
        world.solo(name, &[number_value(skill), text(mode)]);
    }
    world.seconds(1);
    assert_eq!(world.matched(), [["a", "c"], ["d", "f"]]);
}

/// A game has the first word, also where two are closer to each other.
#[test]
fn whoever_a_game_may_want_is_not_taken_from_it() {
    let mut world = World::new(pairs(1_000, 100.0));
    let game = world.backfill(vec![seated("host", "", &[number_value(50.0)])], region("EastUs"));
    world.seconds(1);
    for (name, skill) in [("far", 500.0), ("close", 501.0), ("a", 60.0), ("b", 61.0)] {
        skilled(&mut world, name, skill);
    }
    world.seconds(1);
    assert_eq!(world.backfill_status(game), "Matched");
    assert_eq!(world.matched(), [vec!["close", "far"], vec!["a", "host"]]);
}

/// Games of a moment have their turn before its batch: whom they leave is free.
#[test]
fn whom_a_game_leaves_is_divided_with_the_others() {
    let mut world = World::new(pairs(1_000, 100.0));
    world.backfill(vec![seated("host", "", &[number_value(55.0)])], region("EastUs"));
    let skills = [("a", 40.0), ("b", 0.0), ("c", 30.0), ("d", 71.0), ("e", 70.0), ("f", 100.0), ("g", 55.0)];
    for (name, skill) in skills {
        skilled(&mut world, name, skill);
    }
    world.seconds(1);
    assert_eq!(world.matched(), [["g", "host"], ["a", "e"], ["b", "c"], ["d", "f"]]);
}

/// Parties, and whoever has no number, are looked at as in any queue.
#[test]
fn whoever_is_left_is_looked_at_as_ever() {
    let rules = vec![difference("skill", fixed(10.0))];
    let mut world = World::new(gathering(1_000, &spec(3, 3, rules)));
    world.solo("none", &[None]);
    let party = ["p", "q"].map(|name| member(name, &[number_value(100.0)]));
    world.party(party.to_vec());
    skilled(&mut world, "single", 105.0);
    for name in ["a", "b", "c", "d", "e"] {
        skilled(&mut world, name, 7.0);
    }
    world.seconds(1);
    assert_eq!(world.matched(), [vec!["a", "b", "c"], vec!["d", "e", "none"], vec!["p", "q", "single"]]);
}

/// Several steps may have passed by then, and the last of them counts.
#[test]
fn limits_are_those_of_the_moment() {
    let rules = vec![difference("skill", growing(0.0, 1.0, 9.0, 1))];
    let mut world = World::new(gathering(10_000, &spec(2, 2, rules)));
    world.pass(Duration::from_millis(4_500));
    for (name, skill) in [("alice", 1.0), ("bob", 6.0), ("carol", 30.0), ("dave", 36.0)] {
        skilled(&mut world, name, skill);
    }
    world.pass(Duration::from_millis(5_500));
    assert_eq!(
        (world.matched(), world.now.unix_ms()),
        (vec![vec!["alice".to_owned(), "bob".to_owned()]], 1_010_000)
    );
    assert_eq!(due(&world), Some(1_020_000), "6 apart may be after 6 s; they are looked at after 15.5 s");
    world.seconds(10);
    assert_eq!(world.formed().len(), 2);
}

/// Whoever has come is looked at anew then, with the limits of then.
#[test]
fn a_change_of_limits_counts_at_the_next_gathering() {
    let limits = |most| gathering(2_000, &spec(2, 2, vec![difference("skill", growing(0.0, 1.0, most, 1))]));
    let mut world = World::new(limits(9.0));
    world.pass(Duration::from_millis(500));
    skilled(&mut world, "alice", 1.0);
    skilled(&mut world, "bob", 4.0);
    world.pass(Duration::from_millis(2_500));
    world.run(Command::Configure(Arc::new(limits(8.0)))).unwrap();
    world.seconds(1);
    assert_eq!(world.formed().len(), 1, "3 apart may be after 3 s");
}

/// A change of it alone reads the same, and whoever waits goes on.
#[test]
fn a_queue_that_comes_to_gather_keeps_those_who_wait() {
    let mut world = World::new(pairs(0, 1.0));
    let alice = skilled(&mut world, "alice", 1.0);
    world.run(Command::Configure(Arc::new(pairs(2_000, 1.0)))).unwrap();
    skilled(&mut world, "bob", 1.0);
    world.seconds(1);
    assert_eq!(world.status(alice), "WaitingForMatch");
    world.run(Command::Configure(Arc::new(pairs(0, 1.0)))).unwrap();
    assert_eq!(world.status(alice), "Matched", "as soon as nobody is gathered any more");
}

#[test]
fn a_minute_is_the_longest() {
    let declared = |ms| Declared { gather: Gather::for_ms(ms), ..declared(2, 2, vec![]) };
    assert!(QueueSpec::new(declared(GATHER_MS_MAX)).is_ok());
    let faults = QueueSpec::new(declared(GATHER_MS_MAX + 1)).unwrap_err();
    assert_eq!(faults[0].to_string(), "gather: 60001 ms, at most 60000");
}

/// Lets turns run until one has nothing to tell; the queue is rebuilt between any two, if it is to be.
fn work(world: &mut World, rebuilds: bool) -> usize {
    let mut turns = 0;
    loop {
        let outcome = Turn::run(world.now, &mut world.queue, &Command::Due);
        if outcome.events.is_empty() {
            return turns;
        }
        turns += 1;
        world.journal.extend(outcome.events.into_iter().map(|event| (world.now, event)));
        if rebuilds {
            world.queue = if turns % 2 == 0 { world.rebuilt() } else { world.replayed() };
        }
    }
}

/// A batch is formed in one turn, however many matches it has, and is over for a queue that is rebuilt behind it.
#[test]
fn a_batch_is_one_turn_and_a_rebuilt_queue_goes_on_behind_it() {
    let rules = vec![difference("skill", widening()), equality("mode", Missing::UseDefault("x".into()))];
    let mut world = World::new(gathering(1_000, &spec(2, 2, rules)));
    let come = |world: &mut World, name: &str, skill: f64, mode: &str| {
        world.solo(name, &[number_value(skill), text(mode)]);
    };
    world.pass(Duration::from_millis(500));
    for (name, skill) in [("first", 0.0), ("second", 10.0), ("third", 15.0)] {
        come(&mut world, name, skill, "x");
    }
    world.pass(Duration::from_millis(9_500));
    // So many that of a turn that is late one look is left for the batch of the moment after theirs.
    for at in 0..510 {
        come(&mut world, &format!("far {at}"), f64::from(at) * 10.0, "y");
    }
    world.pass(Duration::from_millis(500));
    // Between the three who come to have a wide limit, so that those are no neighbours until these have gone.
    for (name, skill) in [("a", 1.0), ("b", 1.2), ("c", 11.0), ("d", 11.1)] {
        come(&mut world, name, skill, "x");
    }
    for at in 0..200 {
        let pair = f64::from(at / 2 * 10) + f64::from(at % 2) * 0.5;
        come(&mut world, &format!("near {at}"), 1e6 + pair, "x");
    }
    world.seconds(5);
    world.now = Timestamp::from_unix_ms(1_021_900);
    let (before, mut other) = (world.journal.len(), world.clone());
    assert_eq!((work(&mut world, false), work(&mut other, true)), (2, 2));
    assert_eq!(world.journal, other.journal);
    let told = world.journal[before..].iter().map(|(_, event)| event);
    let (slices, formed): (Vec<&Event>, Vec<&Event>) =
        told.partition(|event| matches!(event, Event::Searched(_)));
    assert_eq!(formed.len(), 103);
    let behind = Cursor { at: Timestamp::from_unix_ms(1_021_000), kind: Kind::Ordinary, arrival: 0 };
    assert_eq!(slices, [&Event::Searched(behind)]);
    assert_eq!(world.matched()[102], ["first", "second"], "the batch is over: the eldest takes the nearest");
}

/// Work follows what has changed, not how many wait.
#[test]
fn few_who_come_to_many_take_the_nearest() {
    for (waiting, matched) in [(18, ["a", "d"]), (19, ["a", "b"])] {
        let mut world = World::new(pairs(1_000, 100.0));
        for at in 0..waiting {
            skilled(&mut world, &format!("far {at}"), 1e6 + f64::from(at) * 1_000.0);
        }
        world.seconds(1);
        for (name, skill) in [("a", 40.0), ("b", 50.0), ("c", 60.0), ("d", 0.0), ("e", 70.0), ("f", 80.0)] {
            skilled(&mut world, name, skill);
        }
        world.seconds(1);
        assert_eq!(world.matched()[0], matched, "6 of {}", waiting + 6);
    }
}

/// All its matches are formed in one turn, and a turn is bounded.
#[test]
fn more_than_a_turn_can_take_are_looked_at_one_by_one() {
    for (tickets, is_batch) in [(16_384, true), (16_385, false)] {
        let mut engine = Engine::new(&pairs(1_000, 100.0), Timestamp::EPOCH, 1);
        let room = engine.max();
        for arrival in 1..=tickets {
            let facts = Facts { players: 1, numbers: vec![Some(number(1.0))], ..Facts::default() };
            let since = Timestamp::EPOCH;
            engine.insert(Newcomer { facts: &facts, room, since, arrival, back: None, game: None }, None);
        }
        let found = [(); 2].map(|()| engine.look(Timestamp::from_unix_ms(1_000)));
        let batch = found.iter().any(|look| matches!(look, Look::Batch(_, found) if found.len() == 8_192));
        assert_eq!(batch, is_batch, "{tickets}");
        assert!(is_batch || matches!(found[1], Look::Match(..)));
    }
}

/// Each of its groups is held apart, and whoever of one is left goes on at the next gathering.
#[test]
fn groups_of_a_batch_wait_for_their_servers_like_any() {
    let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    let venue = Some(Venue::Server(allocation));
    let spec = QueueSpec::new(Declared { venue, ..pairs(1_000, 100.0).declared().clone() }).unwrap();
    let mut world = World::new(spec);
    let tickets = [0.0, 1.0, 50.0, 51.0].map(|skill| skilled(&mut world, &format!("{skill}"), skill));
    world.seconds(1);
    assert_eq!(world.queue.holds().count(), 2);
    world.pass(Duration::from_millis(300));
    world.cancel(tickets[0], Caller::Title).unwrap();
    world.cancel(tickets[2], Caller::Title).unwrap();
    assert_eq!((world.status(tickets[1]), world.queue.holds().count()), ("WaitingForMatch", 0));
    world.pass(Duration::from_millis(699));
    assert_eq!(world.queue.holds().count(), 0);
    world.pass(Duration::from_millis(1));
    assert_eq!(world.status(tickets[1]), "WaitingForServer");
    assert_eq!(world.status(tickets[3]), "WaitingForServer");
}

/// What was found is found anew where a command came before it was formed.
#[test]
fn who_cancels_as_a_batch_is_found_is_in_none() {
    let mut world = World::new(pairs(1_000, 100.0));
    let tickets = [0.0, 10.0, 20.0, 30.0].map(|skill| skilled(&mut world, &format!("{skill}"), skill));
    // The turn of their moment is late, and this one comes before it.
    world.now = world.now + Duration::from_millis(1_500);
    world.cancel(tickets[1], Caller::Title).unwrap();
    assert_eq!(world.matched(), [["20", "30"]]);
    assert_eq!(world.status(tickets[0]), "WaitingForMatch");
}

/// A turn that is late works off the moments since, and whoever comes back in it was away at them: what is found then would be judged by
/// limits of a moment still to come. (World 64 of the simulator.)
#[test]
fn who_comes_back_in_a_late_turn_was_away_at_the_moments_before() {
    let limits = [0.0, 5.0].map(|limit| Some(number(limit)));
    let skill = difference("skill", Expansion::Custom { base: None, values: limits.into(), every: 2 });
    let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    let (venue, gather) = (Some(Venue::Server(allocation)), Gather::for_ms(1_000));
    let mut world =
        World::new(QueueSpec::new(Declared { venue, gather, ..declared(2, 2, vec![skill]) }).unwrap());
    let comes = |after: u64, name: &str, skill: f64, give_up_after: u32, world: &mut World| {
        world.pass(Duration::from_millis(after));
        let (ticket, form) = (world.id(), world.queue.form());
        let creator = member(name, &[number_value(skill)]);
        let caller = Caller::Player(player(name));
        let asked = Command::CreateTicket { ticket, caller, creator, invited: vec![], give_up_after, form };
        world.run(asked).unwrap();
        ticket
    };
    let other = comes(100, "other", 5.0, 600, &mut world);
    let gives_up = comes(800, "gives up", 0.0, 2, &mut world);
    let back = comes(200, "back", 0.0, 600, &mut world);
    world.pass(Duration::from_millis(1_400));
    assert_eq!([gives_up, back].map(|ticket| world.status(ticket)), ["WaitingForServer"; 2]);
    // One gives up 400 ms from now, and the other ticket's limit is wider 100 ms later.
    world.now = world.now + Duration::from_millis(550);
    world.run(Command::Due).unwrap();
    assert_eq!(world.status(gives_up), "Canceled");
    assert_eq!([other, back].map(|ticket| world.status(ticket)), ["WaitingForMatch"; 2]);
    let mut lost = world.clone();
    lost.queue = lost.rebuilt();
    for mut world in [world, lost] {
        world.seconds(1);
        assert_eq!([other, back].map(|ticket| world.status(ticket)), ["WaitingForServer"; 2]);
    }
}
