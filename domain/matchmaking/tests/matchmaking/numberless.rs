//! Tickets that fit any number.

use mainstay_matchmaking::spec::RuleKind;

use crate::world::{
    World, difference, fixed, member, number, number_value, rule, spec, total, user, with_teams,
};

/// Whoever has no number fits everybody's, so it needs to borrow none to meet others who have none: those who have waited longest may be just
/// those whom nobody can play against.
#[test]
fn who_has_no_number_is_matched_around_itself() {
    let even =
        RuleKind::TeamDifference { attribute: user("rating"), default: number(0.0), allowed: fixed(50.0) };
    let rules = vec![
        difference("skill", fixed(50.0)),
        rule("even", even),
        rule("similar", RuleKind::TeamTicketSizeSimilarity),
    ];
    let mut world = World::new(with_teams(10, 10, (5, 5), rules));
    let of_rating = |name: String, rating: f64| member(&name, &[None, number_value(rating), None]);
    for party in 1..=8 {
        world.party(
            (0..3).map(|it| of_rating(format!("of {party}, {it}"), 1_000.0 * f64::from(party))).collect(),
        );
    }
    for at in 0..10 {
        assert!(world.formed().is_empty());
        world.party(vec![of_rating(format!("alone {at}"), 1_500.0)]);
    }
    assert_eq!(world.matched()[0].len(), 10);
}

/// Those who have no number are met first, more of them than are kept; whoever has one is reached by its number.
#[test]
fn who_has_no_number_is_matched_around_somebody_who_has_one() {
    let one = |name: &str| total(name, fixed(1.0), fixed(1.0));
    let mut world =
        World::new(spec(3, 3, vec![difference("skill", fixed(50.0)), one("host"), one("leader")]));
    let (no, yes) = (number_value(0.0), number_value(1.0));
    world.solo("leader", &[number_value(1_000.0), no.clone(), yes.clone()]);
    for at in 0..130 {
        world.solo(&format!("p{at}"), &[None, no.clone(), no.clone()]);
    }
    assert!(world.formed().is_empty());
    world.solo("host", &[None, yes, no]);
    assert_eq!(world.matched(), [["host", "leader", "p0"]]);
}
