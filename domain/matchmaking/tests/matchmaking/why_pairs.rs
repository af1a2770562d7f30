//! What is told of a pair is what the engine finds of it, by every rule and at every moment.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_core::{TicketId, Timestamp};
use mainstay_matchmaking::spec::{Delta, Expansion, Missing, QueueSpec, Rule, RuleKind};
use mainstay_matchmaking::why::{Judged, Short, Text, Verdict, WhyNot};
use mainstay_matchmaking::{Amount, Caller, Command, ServerDetails};
use proptest::prelude::*;

use crate::draw::{Dice, queue};
use crate::oracle::{Waiting, holds, waiting};
use crate::random::{Step, step};
use crate::world::{
    World, equality, intersection, latencies, member, optional, region, seated, selection, spec, text, texts,
};

fn why(world: &World, ticket: TicketId) -> WhyNot {
    world.queue.around(ticket, &Caller::Title).unwrap().why(world.now)
}

/// How many fit, and what each rule of the nearest says.
fn told(world: &World, ticket: TicketId) -> (usize, Vec<Judged>) {
    let mut told = why(world, ticket);
    (told.fitting, told.nearest.remove(0).rules)
}

/// Its own limit has grown to what it measured, and the other measured less than its own.
#[test]
fn a_region_is_judged_by_each_tickets_own_limit() {
    let latency = Expansion::Linear { from: 50, delta: Delta::Up(50), limit: Some(200), every: 1 };
    let mut world = World::new(spec(3, 3, vec![selection(latency)]));
    let waits = world.solo("waits", &[latencies(&[("eu", 150)])]);
    world.pass(Duration::from_millis(2_600));
    let comes = world.solo("comes", &[latencies(&[("eu", 40)])]);
    for one in [waits, comes] {
        let all = why(&world, one);
        assert_eq!((all.fitting, all.kept_away, all.together.tickets), (1, vec![], 2));
    }
    let funnel = world.queue.sample().unwrap().funnel(world.now);
    assert_eq!((funnel.pairs, funnel.rules[0].apart), (1, 0));
    world.solo("third", &[latencies(&[("eu", 40)])]);
    assert_eq!(world.formed().len(), 1, "what is told comes true");
}

/// Whoever is beyond its own limit is told, and when that has grown.
#[test]
fn the_latency_that_is_told_is_of_whoever_is_beyond_its_own_limit() {
    let latency = Expansion::Linear { from: 50, delta: Delta::Up(50), limit: Some(200), every: 5 };
    let mut world = World::new(spec(2, 2, vec![selection(latency)]));
    let waits = world.solo("waits", &[latencies(&[("eu", 120), ("us", 190)])]);
    let began = world.now;
    world.seconds(7);
    world.solo("comes", &[latencies(&[("eu", 40), ("us", 45)])]);
    let (fitting, rules) = told(&world, waits);
    let short = Short::Region { best: Some(("eu".into(), 120)), allowed: 100 };
    assert_eq!((fitting, &rules[0].verdict), (0, &Verdict::Fails(short)));
    assert_eq!(rules[0].fits_at, Some(began + Duration::from_secs(10)), "150 will be allowed");
    world.seconds(3);
    assert_eq!(world.matched(), [["comes", "waits"]]);
}

/// A rule that gives way does so for the ticket that waited: it can play where the other does.
#[test]
fn a_region_that_gave_way_is_none_of_the_tickets() {
    let mut world = World::new(spec(3, 3, vec![optional(5, selection(Expansion::Fixed(50)))]));
    let waits = world.solo("waits", &[latencies(&[("us", 40)])]);
    world.seconds(5);
    let comes = world.solo("comes", &[latencies(&[("eu", 40)])]);
    assert_eq!((why(&world, waits).fitting, why(&world, comes).fitting), (1, 1));
    // A game stays where it is.
    world.backfill(vec![seated("plays", "", &[None])], region("asia"));
    assert_eq!(why(&world, comes).kept_away, [("region".into(), 1)]);
    assert_eq!(why(&world, waits).kept_away, []);
}

/// Of whoever asks for more than it has itself, a rule says so beside those who fit anyone.
#[test]
fn a_list_too_short_by_itself_fits_nobody() {
    let maps = optional(20, intersection("maps", 1.0, Expansion::Fixed(2)));
    let mut world = World::new(spec(2, 2, vec![maps]));
    let short = world.solo("short", &[texts(&["x"])]);
    let any = world.solo("any", &[None]);
    let began = world.now;
    for one in [short, any] {
        let (fitting, rules) = told(&world, one);
        assert_eq!(fitting, 0);
        assert_eq!(rules[0].verdict, Verdict::Fails(Short::Shared { shared: 1, needed: 2 }));
        assert_eq!(rules[0].fits_at, Some(began + Duration::from_secs(20)));
        assert_eq!(why(&world, one).together.tickets, 1);
    }
    world.seconds(20);
    assert_eq!(world.matched(), [["any", "short"]]);
}

#[test]
fn a_party_of_different_texts_fits_nobody() {
    let mut world = World::new(spec(3, 3, vec![optional(20, equality("mode", Missing::MatchAny))]));
    let party = world.party(vec![member("a", &[text("ctf")]), member("b", &[text("dm")])]);
    let any = world.solo("any", &[None]);
    for (one, texts) in [(party, (Text::Mixed, Text::Any)), (any, (Text::Any, Text::Mixed))] {
        let (fitting, rules) = told(&world, one);
        let (own, other) = texts;
        assert_eq!((fitting, &rules[0].verdict), (0, &Verdict::Fails(Short::Texts { own, other })));
        assert_eq!(why(&world, one).together.tickets, 1);
    }
    world.seconds(20);
    assert_eq!(world.matched(), [["a", "any", "b"]]);
}

/// A game of players who differ asks as long as it restricts; who fits anyone never does.
#[test]
fn who_fits_anyone_asks_nothing_of_a_game_whose_rule_gave_way() {
    let mut world = World::new(spec(4, 4, vec![optional(5, equality("mode", Missing::MatchAny))]));
    let members = ["ctf", "dm"].map(|mode| seated(mode, "", &[text(mode)])).to_vec();
    let game = world.backfill(members, ServerDetails::default());
    world.seconds(5);
    world.solo("any", &[None]);
    assert_eq!(told(&world, game).0, 1);
    world.solo("ctf-too", &[text("ctf")]);
    assert_eq!(why(&world, game).kept_away, [("mode".into(), 1)], "its own rule restricts still");
}

/// Whether a rule lets two be in a match together; of a sum, whether it is not too large: others may make a small one good.
fn fits(index: usize, rule: &Rule, pair: [&Waiting; 2], now: Timestamp) -> bool {
    let pair = pair.map(Waiting::clone);
    let RuleKind::MatchTotal { attribute, weight, max, .. } = &rule.kind else {
        return holds(index, rule, &pair, now);
    };
    let (attribute, max) = (attribute.clone(), max.clone());
    let kind = RuleKind::MatchTotal { attribute, weight: *weight, min: Expansion::Fixed(Amount::ZERO), max };
    holds(index, &Rule { kind, ..rule.clone() }, &pair, now)
}

/// Longer than every limit of a drawn queue changes.
const CHANGES_UNTIL_S: u64 = 60;

/// The first moment at which a rule lets two be together who wait on.
fn first(spec: &QueueSpec, index: usize, pair: [&Waiting; 2], now: Timestamp) -> Option<Timestamp> {
    let seconds = |it: &Waiting| {
        let since = it.since();
        (0..=CHANGES_UNTIL_S).map(move |second| since + Duration::from_secs(second))
    };
    let moments: BTreeSet<Timestamp> =
        pair.into_iter().flat_map(seconds).filter(|moment| *moment > now).collect();
    moments.into_iter().find(|moment| fits(index, &spec.rules[index], pair, *moment))
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => any::<u64>().prop_map(Step::Solo),
        4 => any::<u64>().prop_map(Step::Party),
        3 => any::<u64>().prop_map(Step::Game),
        5 => (0_u16..9_000).prop_map(Step::Pass),
        1 => any::<u64>().prop_map(Step::Configure),
    ];
    proptest::collection::vec(step, 2..16)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Nothing is matched, so that every pair may be asked about.
    #[test]
    fn every_rule_is_told_of_a_pair_as_it_holds(seed in any::<u64>(), steps in steps()) {
        let mut spec = queue(&mut Dice(seed));
        let mut world = World::new(spec.clone());
        world.run(Command::Pause).unwrap();
        let mut made = Vec::new();
        for it in steps {
            step(&mut world, &mut spec, &mut made, it);
        }
        let all = waiting(&world.queue);
        for own in &all {
            for neighbour in why(&world, own.id()).nearest {
                let other = all.iter().find(|it| it.id() == neighbour.ticket).unwrap();
                for (index, (rule, told)) in spec.rules.iter().zip(&neighbour.rules).enumerate() {
                    let (fails, pair) = (!fits(index, rule, [own, other], world.now), [own, other]);
                    prop_assert_eq!(told.fails(), fails, "{:?} of {:#?}: {:#?}", told, pair, rule);
                    if fails {
                        let at = first(&spec, index, pair, world.now);
                        prop_assert_eq!(told.fits_at, at, "{:?} of {:#?}: {:#?}", told, pair, rule);
                    }
                }
            }
        }
    }
}
