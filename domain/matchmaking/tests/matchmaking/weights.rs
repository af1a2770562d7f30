//! The published vectors of distances (PlayFab, *Understanding rule weight in matchmaking*), by formula and by whom a queue
//! matches.

use std::time::Duration;

use mainstay_core::TicketId;
use mainstay_matchmaking::Value;
use mainstay_matchmaking::distance::{Equality, difference, quality, region, set, text, total};
use mainstay_matchmaking::spec::{Expansion, Missing, QueueSpec, Rule};

use crate::world::{
    World, equality, fixed, growing, intersection, latencies, number_value, optional, selection, spec,
    text as a_text, texts, total as total_rule, weighted_difference,
};

/// To the two places that are published.
fn rounded(distance: f64) -> f64 {
    (distance * 100.0).round() / 100.0
}

/// "Alice vs Bob: |20 - 24| / 10 = 0.4", "Alice vs Charlie: |20 - 17| / 10 = 0.3".
#[test]
fn a_difference_is_a_share_of_what_is_allowed() {
    assert_eq!((difference(4.0, 10.0), difference(3.0, 10.0)), (0.4, 0.3));
    assert_eq!((difference(0.0, 10.0), difference(10.0, 10.0)), (0.0, 1.0));
    assert_eq!((difference(0.0, 0.0), difference(1.0, 0.0)), (0.0, 1.0));
}

/// "They share \"Dustbowl\" and \"Summit\" (two items) → 1 / (1 + 2) = 0.33", "(one item) → 1 / (1 + 1) = 0.5", "No shared
/// items (1 / (1 + 0) = 1)".
#[test]
fn a_set_is_nearer_the_more_is_shared() {
    assert_eq!([2, 1, 0].map(|shared| rounded(set(shared))), [0.33, 0.5, 1.0]);
}

/// "0 if strings match; 1 if the rule is optional and strings differ".
#[test]
fn texts_are_the_same_or_not() {
    assert_eq!([Equality::Same, Equality::Different].map(text), [0.0, 1.0]);
}

/// "Group is at the target capacity" is 0, "Group is far from the target total" is 1.
#[test]
fn a_total_is_nearer_the_fuller_it_gets() {
    assert_eq!(
        [(4.0, 4.0), (4.0, 0.0), (4.0, 3.0), (0.0, 0.0)].map(|(max, sum)| total(max, sum)),
        [0.0, 1.0, 0.25, 0.0]
    );
}

/// "Many low-latency common regions" is near 0, "Few or poor common regions" near 1.
#[test]
fn regions_are_nearer_the_more_and_the_closer_they_are() {
    let of = |latencies: &[u32]| region(latencies.iter().map(|latency| quality(*latency, 100)).sum());
    assert!(of(&[]) > of(&[90]) && of(&[90]) > of(&[10]) && of(&[10]) > of(&[10, 20]));
    assert_eq!((of(&[]), of(&[100]), of(&[0])), (1.0, 1.0, 0.5));
}

/// Whom Alice is matched with, of those who wait already.
fn chosen(spec: QueueSpec) -> &'static str {
    let mut world = World::new(spec);
    let [bob, charlie] =
        [(24.0, &["Dustbowl", "Summit"][..]), (17.0, &["Lakeside"][..])].map(|(skill, maps)| {
            let name = if skill > 20.0 { "bob" } else { "charlie" };
            world.solo(name, &[number_value(skill), texts(maps)])
        });
    let dave = world.solo("dave", &[number_value(35.0), texts(&["Fortress"])]);
    let waiting = |world: &World, ticket: TicketId| world.status(ticket) == "WaitingForMatch";
    assert!([bob, charlie, dave].iter().all(|ticket| waiting(&world, *ticket)), "they do not fit each other");
    world.solo("alice", &[number_value(20.0), texts(&["Dustbowl", "Summit", "Lakeside"])]);
    assert!(waiting(&world, dave), "\"the rule returns infinite distance (hard rejection)\"");
    assert_ne!(waiting(&world, bob), waiting(&world, charlie));
    if waiting(&world, charlie) { "bob" } else { "charlie" }
}

fn of_weights(skill: f64, maps: f64) -> QueueSpec {
    let skill = weighted_difference("skill", skill, fixed(10.0));
    spec(2, 2, vec![skill, intersection("preferredMaps", maps, Expansion::Fixed(1))])
}

/// "Bob (0.73) is a better match than Charlie (0.80)."
#[test]
fn with_equal_weights_bob_is_nearer() {
    assert_eq!(rounded(difference(4.0, 10.0) + set(2)), 0.73);
    assert_eq!(rounded(difference(3.0, 10.0) + set(1)), 0.80);
    assert_eq!(chosen(of_weights(1.0, 1.0)), "bob");
}

/// "Charlie (3.50) is now the better match."
#[test]
fn with_ten_times_the_weight_on_skill_charlie_is_nearer() {
    assert_eq!(rounded(10.0 * difference(4.0, 10.0) + set(2)), 4.33);
    assert_eq!(rounded(10.0 * difference(3.0, 10.0) + set(1)), 3.50);
    assert_eq!(chosen(of_weights(10.0, 1.0)), "charlie");
}

/// "Bob (3.70) is preferred."; published with 10 × 0.33, 3.73 unrounded.
#[test]
fn with_ten_times_the_weight_on_maps_bob_is_nearer() {
    assert_eq!(rounded(difference(4.0, 10.0) + 10.0 * rounded(set(2))), 3.70);
    assert_eq!(rounded(difference(3.0, 10.0) + 10.0 * set(1)), 5.30);
    assert_eq!(chosen(of_weights(1.0, 10.0)), "bob");
}

/// "When a rule becomes optional […] they push \"violating\" tickets lower in priority rather than excluding them entirely."
#[test]
fn what_breaks_an_optional_rule_comes_last_and_is_not_excluded() {
    let far = optional(5, weighted_difference("skill", 1.0, fixed(1.0)));
    let mut world = World::new(spec(3, 3, vec![far]));
    world.solo("far", &[number_value(50.0)]);
    world.solo("near", &[number_value(10.5)]);
    world.seconds(1);
    world.solo("seed", &[number_value(10.0)]);
    assert!(world.formed().is_empty());
    world.seconds(5);
    assert_eq!(world.matched(), [["far", "near", "seed"]], "nobody is restricted any more");
    let mut world = World::new(spec(2, 2, vec![optional(5, weighted_difference("skill", 1.0, fixed(1.0)))]));
    world.solo("far", &[number_value(50.0)]);
    world.solo("near", &[number_value(13.0)]);
    world.solo("seed", &[number_value(10.0)]);
    world.seconds(5);
    // All three turn optional together; the eldest is the seed, and takes the nearest.
    assert_eq!(world.matched(), [["far", "near"]]);
}

/// A region both are close to is worth more than one at the limit.
#[test]
fn of_two_with_the_same_regions_the_closer_one_is_taken() {
    let mut world = World::new(spec(
        2,
        2,
        vec![selection(Expansion::Fixed(100)), weighted_difference("skill", 1.0, fixed(10.0))],
    ));
    world.solo("distant", &[latencies(&[("EastUs", 99)]), number_value(0.0)]);
    world.solo("close", &[latencies(&[("EastUs", 5)]), number_value(20.0)]);
    world.pass(Duration::from_millis(1));
    world.solo("seed", &[latencies(&[("EastUs", 5)]), number_value(10.0)]);
    assert_eq!(world.matched(), [["close", "seed"]]);
}

/// Whom a seed of skill 10 takes, who came first and was too far from both others until its fifth second: they stand at 0 and 20, and so
/// never fit each other. Whichever of them came before.
fn taken_at_five(
    rules: impl Fn() -> Vec<Rule>,
    seed: Option<Value>,
    others: [Option<Value>; 2],
) -> Vec<String> {
    let [one, other] = [(0.0, others[0].clone()), (20.0, others[1].clone())];
    let both = [[("one", &one), ("other", &other)], [("other", &other), ("one", &one)]];
    let [first, second] = both.map(|candidates| {
        let mut world = World::new(spec(2, 2, rules()));
        world.solo("seed", &[number_value(10.0), seed.clone()]);
        for (name, (skill, value)) in candidates {
            world.solo(name, &[number_value(*skill), value.clone()]);
        }
        world.seconds(4);
        assert!(world.formed().is_empty());
        world.seconds(1);
        world.matched().concat()
    });
    assert_eq!(first, second, "the distance decides, and not who came first");
    first
}

/// Nobody, and from the fifth second on 10 either way.
fn later() -> Rule {
    weighted_difference("skill", 1.0, growing(0.0, 10.0, 10.0, 5))
}

/// "0 if strings match; 1 if the rule is optional and strings differ": of two who fit alike, the one of the same text is taken.
#[test]
fn of_two_as_near_the_one_of_the_same_text_is_taken() {
    let rules = || vec![later(), optional(5, equality("mode", Missing::MatchAny))];
    for (one, other, taken) in [("a", "b", "one"), ("b", "a", "other")] {
        let matched = taken_at_five(rules, a_text("a"), [a_text(one), a_text(other)]);
        assert_eq!(matched, [taken, "seed"]);
    }
}

/// "(maxTotal - (groupTotal + ticketValue)) / maxTotal": of two who fit alike, the one that fills the match more is taken.
#[test]
fn of_two_as_near_the_one_that_fills_the_total_more_is_taken() {
    let rules = || vec![later(), total_rule("load", fixed(0.0), fixed(4.0))];
    for (one, other, taken) in [(1.0, 3.0, "other"), (3.0, 1.0, "one")] {
        let matched = taken_at_five(rules, number_value(1.0), [number_value(one), number_value(other)]);
        assert_eq!(matched, [taken, "seed"]);
    }
}
