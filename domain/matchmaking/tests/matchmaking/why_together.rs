//! Why tickets that fit each other are no match yet: the rules of whole matches, with their numbers.

use mainstay_core::TicketId;
use mainstay_matchmaking::spec::{Expansion, QueueSpec, RuleKind};
use mainstay_matchmaking::why::{Short, Verdict};
use mainstay_matchmaking::{Caller, Command, ServerDetails};

use crate::world::{
    World, fixed, intersection, member, number, number_value, rule, seated, spec, texts, total, user,
    with_teams,
};

/// How many tickets and players the nearest that fit make, and what keeps them from being a match.
fn together(world: &World, ticket: TicketId) -> (usize, u32, Vec<(String, Short)>) {
    let told = world.queue.around(ticket, &Caller::Title).unwrap().why(world.now).together;
    let shorts = told.rules.iter().map(|judged| match &judged.verdict {
        Verdict::Fits => panic!("what fits is not told"),
        Verdict::Fails(short) => (judged.rule.to_string(), short.clone()),
    });
    (told.tickets, told.players, shorts.collect())
}

fn one(rule: &str, short: Short) -> Vec<(String, Short)> {
    vec![(rule.to_owned(), short)]
}

fn party(world: &mut World, names: &[&str]) -> TicketId {
    world.party(names.iter().map(|name| member(name, &[])).collect())
}

#[test]
fn too_few_are_told_with_how_many_it_takes() {
    let mut world = World::new(spec(3, 4, Vec::new()));
    let all = party(&mut world, &["a", "b", "c"]);
    assert_eq!(together(&world, all), (1, 3, one("matchSize", Short::Alone)), "one ticket is no match");
    let mut world = World::new(spec(3, 4, Vec::new()));
    let a = world.solo("a", &[]);
    world.solo("b", &[]);
    assert_eq!(together(&world, a), (2, 2, one("matchSize", Short::TooFew { players: 2, min: 3 })));
}

#[test]
fn a_sum_that_is_too_small_is_told() {
    let mut world = World::new(spec(2, 4, vec![total("hosts", fixed(3.0), fixed(9.0))]));
    let a = world.solo("a", &[number_value(1.0)]);
    world.solo("b", &[number_value(1.0)]);
    let short = Short::TotalBelow { sum: number(2.0), min: number(3.0) };
    assert_eq!(together(&world, a), (2, 2, one("hosts", short)));
    // Two may be together where three are too many.
    let mut world = World::new(spec(3, 3, vec![total("hosts", fixed(0.0), fixed(2.0))]));
    let a = world.solo("a", &[number_value(1.0)]);
    world.solo("b", &[number_value(1.0)]);
    world.solo("c", &[number_value(1.0)]);
    let (tickets, _, shorts) = together(&world, a);
    assert_eq!((tickets, &shorts[1].1), (2, &Short::Total { sum: number(3.0), max: number(2.0) }));
}

/// "all tickets in the match share at least MinIntersectionSize items (common to all, not pairwise)".
#[test]
fn what_only_each_two_share_is_told() {
    let mut world = World::new(spec(3, 3, vec![intersection("maps", 1.0, Expansion::Fixed(1))]));
    let a = world.solo("a", &[texts(&["x", "y"])]);
    world.solo("b", &[texts(&["y", "z"])]);
    world.solo("c", &[texts(&["z", "x"])]);
    let (tickets, players, shorts) = together(&world, a);
    assert_eq!((tickets, players), (2, 2));
    let expected = [
        ("matchSize".to_owned(), Short::TooFew { players: 2, min: 3 }),
        ("maps".to_owned(), Short::Shared { shared: 0, needed: 1 }),
    ];
    assert_eq!(shorts, expected);
}

#[test]
fn teams_of_uneven_size_are_told() {
    let balance = rule("balance", RuleKind::TeamSizeBalance { allowed: Expansion::Fixed(0) });
    let mut world = World::new(with_teams(6, 8, (3, 4), vec![balance]));
    let three = party(&mut world, &["a", "b", "c"]);
    party(&mut world, &["d", "e", "f", "g"]);
    assert_eq!(together(&world, three), (2, 7, one("balance", Short::Uneven { by: 1, allowed: 0 })));
}

#[test]
fn teams_of_uneven_skill_are_told() {
    let (attribute, default) = (user("Skill"), number(0.5));
    let skill = rule("skill", RuleKind::TeamDifference { attribute, default, allowed: fixed(0.2) });
    let mut world = World::new(with_teams(4, 4, (2, 2), vec![skill]));
    let strong = world.party(vec![member("a", &[number_value(0.9)]), member("b", &[number_value(0.7)])]);
    world.solo("c", &[number_value(0.3)]);
    world.solo("d", &[None]);
    let apart = Short::Apart { by: number(0.4), allowed: number(0.2) };
    assert_eq!(together(&world, strong), (3, 4, one("skill", apart)));
}

#[test]
fn a_large_party_without_another_is_told_and_a_game_is_not_asked() {
    let similar = || with_teams(8, 8, (4, 4), vec![rule("similar", RuleKind::TeamTicketSizeSimilarity)]);
    let mut world = World::new(similar());
    let large = party(&mut world, &["a", "b", "c", "d"]);
    for name in ["e", "f", "g", "h"] {
        world.solo(name, &[]);
    }
    assert_eq!(together(&world, large), (5, 8, one("similar", Short::Parties { with: 1, teams: 2 })));
    let mut world = World::new(similar());
    world.run(Command::Pause).unwrap();
    let four = ["a", "b", "c", "d"].map(|name| seated(name, "red", &[])).to_vec();
    let game = world.backfill(four, ServerDetails::default());
    party(&mut world, &["e", "f", "g", "h"]);
    assert_eq!(together(&world, game), (2, 8, Vec::new()), "parties are none of a game's");
}

#[test]
fn tickets_that_no_teams_take_are_told() {
    let even = |min: u32, team: (u32, u32)| -> QueueSpec { with_teams(min, 6, team, Vec::new()) };
    let mut world = World::new(even(6, (3, 3)));
    let two = party(&mut world, &["a", "b"]);
    party(&mut world, &["c", "d"]);
    party(&mut world, &["e", "f"]);
    assert_eq!(together(&world, two), (3, 6, one("teams", Short::Seats { largest: 2, max: 3 })));
    let mut world = World::new(even(4, (2, 3)));
    let three = party(&mut world, &["a", "b", "c"]);
    world.solo("d", &[]);
    let few = Short::TeamTooFew { team: "blue".into(), players: 1, min: 2 };
    assert_eq!(together(&world, three), (2, 4, one("teams", few)));
}

/// Places are those that are free: a team of two with one on it has one.
#[test]
fn a_party_that_no_team_has_places_for_is_told_how_many_there_are() {
    let mut world = World::new(with_teams(4, 4, (2, 2), Vec::new()));
    let plays = [("a", "red"), ("b", "blue")].map(|(name, team)| seated(name, team, &[]));
    let game = world.backfill(plays.to_vec(), ServerDetails::default());
    party(&mut world, &["c", "d"]);
    assert_eq!(together(&world, game), (2, 4, one("teams", Short::Seats { largest: 2, max: 1 })));
}

/// A match is no larger than its teams, whatever its greatest size says.
#[test]
fn more_than_the_teams_hold_are_too_many_players() {
    let mut world = World::new(with_teams(4, 8, (2, 2), Vec::new()));
    world.run(Command::Pause).unwrap();
    for name in ["a", "b", "c"] {
        world.solo(name, &[]);
    }
    let two = party(&mut world, &["d", "e"]);
    assert_eq!(together(&world, two), (3, 4, Vec::new()), "the third is one too many");
}

#[test]
fn of_those_who_would_be_a_match_nothing_is_told() {
    let mut world = World::new(spec(2, 2, Vec::new()));
    world.run(Command::Pause).unwrap();
    let a = world.solo("a", &[]);
    world.solo("b", &[]);
    assert_eq!(together(&world, a), (2, 2, Vec::new()));
}
