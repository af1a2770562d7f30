//! More comes due at once than one turn looks at: the rest follows in turns of its own, and a rebuilt queue goes on where the old
//! one was.

use std::time::Duration;

use mainstay_core::{StateMachine, Timestamp, Turn};
use mainstay_matchmaking::spec::{Declared, Expansion, Gather, QueueSpec, RuleKind, TeamSpec};
use mainstay_matchmaking::{Amount, Caller, Command, Event, Value, laws};

use crate::draw::Dice;
use crate::random::{Step, step};
use crate::world::{World, declared, difference, growing, member, number_value, rule, spec, user};

/// Lets everything due be worked off, turn by turn; says in how many.
fn work(world: &mut World, rebuilds: bool) -> usize {
    let mut turns = 0;
    while world.queue.next_deadline().is_some_and(|(at, _)| at <= world.now) {
        let outcome = Turn::run(world.now, &mut world.queue, &Command::Due);
        turns += 1;
        if outcome.events.is_empty() {
            assert!(
                world.queue.next_deadline().is_none_or(|(at, _)| at > world.now),
                "it says how far it came"
            );
            break;
        }
        world.journal.extend(outcome.events.into_iter().map(|event| (world.now, event)));
        if rebuilds {
            world.queue = if turns % 2 == 1 { world.rebuilt() } else { world.replayed() };
        }
    }
    turns
}

/// Twelve hundred tickets pass a boundary at one moment; the queue is rebuilt between any two turns.
#[test]
fn a_herd_is_looked_at_in_slices_and_a_rebuilt_queue_goes_on() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(0.0, 1.0, 1.0, 10))]));
    for at in 0..1_200 {
        // Two by two within reach of each other once the limit is 1.
        world.solo(&format!("p{at}"), &[number_value(f64::from(at / 2 * 10 + at % 2))]);
    }
    assert!(world.formed().is_empty());
    let mut other = world.clone();
    for (world, rebuilds) in [(&mut world, false), (&mut other, true)] {
        world.now = world.now + Duration::from_secs(10);
        let turns = work(world, rebuilds);
        let slices = world.journal.iter().filter(|(_, event)| matches!(event, Event::Searched(_))).count();
        assert!(turns > 1 && slices == turns - 1, "{turns} turns, {slices} slices");
        assert_eq!(world.formed().len(), 600);
    }
    assert_eq!(world.journal, other.journal);
}

/// Eight teams that hardly any seating makes even, so that a search takes as much as a hundred others.
fn eight_even_teams(allowed: Expansion<Amount>) -> World {
    let even = RuleKind::TeamDifference { attribute: user("skill"), default: Amount::ZERO, allowed };
    let team = |n: u32| TeamSpec { name: format!("t{n}").into(), min: 4, max: 4 };
    let teams = (0..8).map(team).collect();
    World::new(QueueSpec::new(Declared { teams, ..declared(32, 32, vec![rule("even", even)]) }).unwrap())
}

/// The skill of one of many, of whom hardly any eight fours are as strong.
fn uneven(at: u32) -> [Option<Value>; 1] {
    [number_value(f64::from(at * at * 7_919 % 1_000))]
}

/// A turn of all of ninety tickets took so long that calls of their queue waited for seconds.
#[test]
fn a_turn_ends_after_a_few_searches_that_take_long() {
    let mut world = eight_even_teams(growing(0.001, 0.001, 0.002, 10));
    for at in 0..90 {
        world.solo(&format!("p{at}"), &uneven(at));
    }
    let mut other = world.clone();
    for (world, rebuilds) in [(&mut world, false), (&mut other, true)] {
        world.now = world.now + Duration::from_secs(10);
        let turns = work(world, rebuilds);
        assert!((10..=90).contains(&turns), "{turns} turns");
        assert!(world.formed().is_empty());
    }
    assert_eq!(world.journal, other.journal);
}

/// A ticket whose time was up after 300 s was told so after 320, since all searches of moments before came first.
#[test]
fn whose_time_is_up_is_told_so_however_far_behind_searches_are() {
    let mut world = eight_even_teams(growing(0.001, 0.001, 0.3, 1));
    let gives_up = world.waiting_for("hasty", &uneven(90), 10);
    for at in 0..40 {
        world.solo(&format!("p{at}"), &uneven(at));
    }
    world.now = world.now + Duration::from_secs(10);
    world.run(Command::Due).unwrap();
    assert!(world.queue.next_deadline().is_some_and(|(at, _)| at <= world.now), "more is due");
    assert_eq!(world.status(gives_up), "Canceled");
}

/// Sixty tickets of ten moments each would be looked at six hundred times, and by then as much is due again.
#[test]
fn a_queue_that_fell_behind_looks_once_at_whoever_had_several_moments() {
    let mut world = eight_even_teams(growing(0.001, 0.001, 0.3, 1));
    for at in 0..60 {
        world.solo(&format!("p{at}"), &uneven(at));
    }
    let mut other = world.clone();
    for (world, rebuilds) in [(&mut world, false), (&mut other, true)] {
        world.now = world.now + Duration::from_secs(10);
        let turns = work(world, rebuilds);
        assert!((10..=40).contains(&turns), "{turns} turns");
        let merged = |(_, event): &&(Timestamp, Event)| matches!(event, Event::Merged(_));
        assert_eq!(world.journal.iter().filter(merged).count(), 1);
    }
    assert_eq!(world.journal, other.journal);
}

/// Far from everybody, and more than a turn looks at.
fn strangers(world: &mut World, count: u32) {
    for at in 0..count {
        let ticket = world.id();
        let creator = member(&format!("far{at}"), &[number_value(f64::from(100_000 + at * 3_000))]);
        let command = Command::CreateTicket {
            ticket,
            caller: Caller::Player(creator.entity.clone()),
            creator,
            invited: Vec::new(),
            give_up_after: 600,
            form: world.queue.form(),
        };
        let outcome = Turn::run(world.now, &mut world.queue, &command);
        world.journal.extend(outcome.events.into_iter().map(|event| (world.now, event)));
    }
}

/// The elder come first each time: were what fell behind told anew before it was looked at to its end, the youngest would wait for ever. A
/// rebuilt queue goes on there, too.
#[test]
fn what_fell_behind_is_looked_at_to_its_end_before_more_is() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(0.0, 1.0, 900.0, 1))]));
    strangers(&mut world, 700);
    let youngest = [0.0, 5.0].map(|skill| world.solo(&format!("young{skill}"), &[number_value(skill)]));
    let rebuilt: [fn(&mut World); 4] = [
        |_| {},
        World::forget,
        |world| world.queue = world.rebuilt(),
        |world| world.queue = world.replayed(),
    ];
    for rebuild in rebuilt {
        let mut world = world.clone();
        for _ in 0..3 {
            world.now = world.now + Duration::from_secs(20);
            world.run(Command::Due).unwrap();
            rebuild(&mut world);
        }
        assert_eq!(youngest.map(|ticket| world.status(ticket)), ["Matched"; 2]);
    }
}

/// A day on which a queue falls behind again and again: whoever comes, goes, plays and steps meanwhile.
fn busy_day(gather: Gather, seed: u64) {
    let rules = vec![difference("skill", growing(0.0, 1.0, 60.0, 1))];
    let spec = QueueSpec::new(Declared { gather, ..declared(2, 3, rules) }).unwrap();
    let mut worlds = [(); 4].map(|()| World::new(spec.clone()));
    worlds.iter_mut().for_each(|world| strangers(world, 600));
    let (mut specs, mut made) = ([(); 4].map(|()| spec.clone()), [const { Vec::new() }; 4]);
    let (mut dice, mut told, mut has_said) = (Dice(seed), 0, false);
    for turn in 0..60 {
        let ms = match dice.below(4) {
            0 => 3_000 + dice.below(3_000),
            1 => 0,
            _ => dice.below(700),
        };
        let steps: Vec<Step> = (0..dice.below(3))
            .map(|_| match dice.below(8) {
                0 => Step::Kept(dice.roll()),
                1 => Step::Game(dice.roll()),
                2 => Step::Cancel(u8::try_from(dice.below(200)).unwrap()),
                _ => Step::Solo(dice.roll()),
            })
            .collect();
        // They come to fit each other as they wait.
        let skills: Vec<f64> = (0..dice.below(5)).map(|_| f64::from(dice.below(300))).collect();
        // Looks of which nothing was said are repeated by whoever is rebuilt, and take part of its turn.
        if has_said {
            worlds[1].forget();
            worlds[2].queue = worlds[2].rebuilt();
            worlds[3].queue = worlds[3].replayed();
        }
        for (at, world) in worlds.iter_mut().enumerate() {
            world.now = world.now + Duration::from_millis(ms.into());
            steps.iter().for_each(|it| step(world, &mut specs[at], &mut made[at], *it));
            let solo =
                |(n, skill): (usize, &f64)| world.solo(&format!("solo{turn}-{n}"), &[number_value(*skill)]);
            made[at].extend(skills.iter().enumerate().map(solo));
            let outcome = Turn::run(world.now, &mut world.queue, &Command::Due);
            has_said = matches!(outcome.events.last(), Some(Event::Searched(_) | Event::Merged(_)));
            world.journal.extend(outcome.events.into_iter().map(|event| (world.now, event)));
        }
        for (at, other) in worlds.iter().enumerate().skip(1) {
            let both = worlds[0].journal.iter().zip(&other.journal);
            let apart = both.skip(told).find(|(one, other)| one != other);
            assert_eq!(apart, None, "{gather:?}, seed {seed}, world {at}");
            assert_eq!(worlds[0].journal.len(), other.journal.len(), "{gather:?}, seed {seed}, world {at}");
        }
        told = worlds[0].journal.len();
        assert_eq!(worlds[0].queue.snapshot(), worlds[0].rebuilt().snapshot());
    }
    let count = |is: fn(&Event) -> bool| worlds[0].journal.iter().filter(|(_, event)| is(event)).count();
    assert!(count(|event| matches!(event, Event::Merged(_))) > 1, "it falls behind");
    assert!(count(|event| matches!(event, Event::MatchFormed { .. })) > 1, "matches are formed");
    assert_eq!(laws::all(&worlds[0].queue), Ok(()));
}

#[test]
fn a_rebuilt_queue_that_fell_behind_forms_the_same_matches() {
    (0..6).for_each(|seed| busy_day(Gather::NONE, seed));
}

#[test]
fn a_rebuilt_queue_that_gathers_and_fell_behind_forms_the_same_matches() {
    (0..6).for_each(|seed| busy_day(Gather::for_ms(500), seed));
}
