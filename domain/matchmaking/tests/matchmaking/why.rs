//! Why a ticket is not matched yet: who is nearest, which rule keeps them apart and by how much, and when it gives way.

use std::time::Duration;

use mainstay_core::{TicketId, Timestamp, Turn};
use mainstay_matchmaking::spec::{Declared, Expansion, Gather, Missing, QueueSpec, RuleKind, Venue};
use mainstay_matchmaking::why::{
    Asked, LOOKED_AT_MAX, NEAREST_MAX, Neighbour, Short, Step, Text, Verdict, WhyNot,
};
use mainstay_matchmaking::{Caller, Command, Kind, ServerDetails};

use crate::world::{
    World, declared, difference, equality, fixed, growing, intersection, latencies, member, number,
    number_value, optional, player, rule, seated, selection, server, spec, text, texts, total,
    weighted_difference,
};

fn why(world: &World, ticket: TicketId) -> WhyNot {
    world.queue.around(ticket, &Caller::Title).unwrap().why(world.now)
}

/// The rules between a ticket and another, with how much is missing.
fn shorts(neighbour: &Neighbour) -> Vec<(String, Short)> {
    let failing = neighbour.rules.iter().filter_map(|judged| match &judged.verdict {
        Verdict::Fits => None,
        Verdict::Fails(short) => Some((judged.rule.to_string(), short.clone())),
    });
    failing.collect()
}

fn kept_away(why: &WhyNot) -> Vec<(&str, usize)> {
    why.kept_away.iter().map(|(rule, tickets)| (&**rule, *tickets)).collect()
}

/// Of the nearest, the rules between and when they give way.
fn fits_at(why: &WhyNot) -> Vec<(&str, Option<Timestamp>)> {
    let failing = why.nearest[0].rules.iter().filter(|judged| judged.fails());
    failing.map(|judged| (&*judged.rule, judged.fits_at)).collect()
}

/// Until the next gathering everybody has the limits of the last one, and may pass two steps at once.
#[test]
fn limits_of_a_queue_that_gathers_are_those_of_the_last_time_it_looked() {
    let plain = spec(2, 2, vec![difference("skill", growing(10.0, 5.0, 30.0, 2))]);
    let gather = Gather::for_ms(5_000);
    let mut world = World::new(QueueSpec::new(Declared { gather, ..plain.declared().clone() }).unwrap());
    let began = world.now;
    world.pass(Duration::from_millis(500));
    let waits = world.solo("waits", &[number_value(100.0)]);
    world.solo("other", &[number_value(117.0)]);
    world.pass(Duration::from_millis(2_800));
    let told = why(&world, waits);
    assert_eq!((told.waited, kept_away(&told)), (2, vec![("skill", 1)]), "15 would be allowed");
    let apart = Short::Apart { by: number(17.0), allowed: number(10.0) };
    assert_eq!(shorts(&told.nearest[0]), [("skill".to_owned(), apart)]);
    let next = Step {
        rule: "skill".into(),
        at: began + Duration::from_secs(5),
        from: Asked::Apart(number(10.0)),
        to: Asked::Apart(number(20.0)),
    };
    assert_eq!(told.next, Some(next));
    world.pass(Duration::from_millis(1_700));
    assert_eq!((world.formed().len(), world.now), (1, began + Duration::from_secs(5)));
}

#[test]
fn a_rule_is_named_with_how_much_is_missing_and_when_it_gives_way() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(10.0, 5.0, 30.0, 5))]));
    let waits = world.solo("waits", &[number_value(100.0)]);
    let other = world.solo("other", &[number_value(122.0)]);
    let began = world.now;
    world.seconds(6);
    let told = why(&world, waits);
    assert_eq!((told.waited, told.players_wanted), (6, (2, 2)));
    assert_eq!((told.others, told.looked_at, told.fitting, told.fitting_players), (1, 1, 0, 0));
    assert_eq!(kept_away(&told), [("skill", 1)]);
    assert_eq!(
        (told.nearest[0].ticket, told.nearest[0].kind, told.nearest[0].players),
        (other, Kind::Ordinary, 1)
    );
    let apart = Short::Apart { by: number(22.0), allowed: number(15.0) };
    assert_eq!(shorts(&told.nearest[0]), [("skill".to_owned(), apart)]);
    let next = Step {
        rule: "skill".into(),
        at: began + Duration::from_secs(10),
        from: Asked::Apart(number(15.0)),
        to: Asked::Apart(number(20.0)),
    };
    assert_eq!(told.next, Some(next));
    assert_eq!(fits_at(&told), [("skill", Some(began + Duration::from_secs(15)))], "25 will be allowed");
    // What is told comes true.
    world.seconds(4);
    assert_eq!(why(&world, waits).next.unwrap().at, began + Duration::from_secs(15));
    world.seconds(5);
    assert_eq!(world.matched(), [["other", "waits"]]);
    assert!(world.queue.around(waits, &Caller::Title).is_none(), "it waits no more");
}

#[test]
fn the_stricter_of_two_limits_is_told() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(10.0, 5.0, 30.0, 5))]));
    let waits = world.solo("waits", &[number_value(100.0)]);
    world.seconds(20);
    world.solo("comes", &[number_value(125.0)]);
    let apart = Short::Apart { by: number(25.0), allowed: number(10.0) };
    let told = why(&world, waits);
    assert_eq!(shorts(&told.nearest[0]), [("skill".to_owned(), apart)]);
    // Its own limits have grown as far as they do; the other's have not.
    assert_eq!(told.next, None);
    assert_eq!(fits_at(&told), [("skill", Some(world.now + Duration::from_secs(15)))]);
    world.seconds(14);
    assert!(world.matched().is_empty());
    world.seconds(1);
    assert_eq!(world.matched(), [["comes", "waits"]]);
}

#[test]
fn a_rule_that_never_gives_way_is_told_so() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", growing(10.0, 5.0, 20.0, 5))]));
    let waits = world.solo("waits", &[number_value(100.0)]);
    world.solo("other", &[number_value(122.0)]);
    assert_eq!(fits_at(&why(&world, waits)), [("skill", None)]);
}

#[test]
fn every_kind_of_rule_between_tickets_tells_what_is_missing() {
    let rules = vec![
        equality("build", Missing::MatchAny),
        intersection("modes", 1.0, Expansion::Fixed(2)),
        total("hosts", fixed(1.0), fixed(2.0)),
        selection(Expansion::Fixed(80)),
        difference("skill", fixed(5.0)),
    ];
    let mut world = World::new(spec(2, 3, rules));
    let near = [
        text("b1"),
        texts(&["a", "b"]),
        number_value(1.0),
        latencies(&[("East", 40), ("West", 90)]),
        number_value(1.0),
    ];
    let far =
        [text("b2"), texts(&["b", "c"]), number_value(1.0), latencies(&[("West", 60)]), number_value(9.0)];
    let mut two = |name: &str, values| {
        world.party(["1", "2"].map(|at| member(&format!("{name}{at}"), values)).to_vec())
    };
    let waits = two("waits", &near);
    two("other", &far);
    let told = why(&world, waits);
    let expected = [
        ("build", Short::Texts { own: Text::Same("b1".into()), other: Text::Same("b2".into()) }),
        ("modes", Short::Shared { shared: 1, needed: 2 }),
        ("hosts", Short::Total { sum: number(4.0), max: number(2.0) }),
        ("region", Short::Region { best: Some(("West".into(), 90)), allowed: 80 }),
        ("skill", Short::Apart { by: number(8.0), allowed: number(5.0) }),
        ("matchSize", Short::Players { players: 4, max: 3 }),
    ];
    assert_eq!(shorts(&told.nearest[0]), expected.map(|(rule, short)| (rule.to_owned(), short)));
    assert_eq!(told.next, None, "nothing gives way");
}

#[test]
fn the_nearest_are_those_with_the_fewest_rules_between_and_then_the_least_apart() {
    let rules = vec![weighted_difference("skill", 1.0, fixed(10.0)), equality("build", Missing::MatchAny)];
    let mut world = World::new(spec(8, 8, rules));
    let waits = world.solo("waits", &[number_value(0.0), text("b1")]);
    let mut at = |name: &str, skill: f64, build: &str| world.solo(name, &[number_value(skill), text(build)]);
    let both = at("both", 11.0, "b2");
    let build = at("build", 1.0, "b2");
    let further = at("further", 40.0, "b1");
    let near = at("near", 20.0, "b1");
    let fits = at("fits", 9.0, "b1");
    let told = why(&world, waits);
    let order: Vec<TicketId> = told.nearest.iter().map(|neighbour| neighbour.ticket).collect();
    assert_eq!(order, [fits, build, near, further, both]);
    assert_eq!((told.fitting, told.fitting_players, told.looked_at), (1, 1, 5));
    assert_eq!(kept_away(&told), [("skill", 3), ("build", 2)]);
    world.solo("sixth", &[number_value(90.0), text("b2")]);
    assert_eq!(why(&world, waits).nearest.len(), NEAREST_MAX);
}

#[test]
fn a_rule_that_ends_is_told_as_asking_nothing_from_then_on() {
    let mut world = World::new(spec(2, 2, vec![optional(7, equality("build", Missing::MatchAny))]));
    let waits = world.solo("waits", &[text("b1")]);
    world.solo("other", &[text("b2")]);
    let next = why(&world, waits).next.unwrap();
    assert_eq!(
        (next.at, next.from, next.to),
        (world.now + Duration::from_secs(7), Asked::Sameness, Asked::Nothing)
    );
    world.seconds(7);
    assert_eq!(world.matched().len(), 1);
}

/// A rule of sums that says no bound, or gives one up for a while (`null`), asks for none.
#[test]
fn a_bound_of_a_sum_that_there_is_not_is_not_told() {
    let min = Expansion::Custom { base: None, values: [Some(number(10.0)), None].into(), every: 5 };
    let max = Expansion::Custom { base: None, values: [None, Some(number(20.0))].into(), every: 5 };
    let mut world = World::new(spec(2, 2, vec![total("sum", min, max)]));
    let waits = world.solo("waits", &[number_value(1.0)]);
    let next = why(&world, waits).next.unwrap();
    let told = (Asked::Sum(Some(number(10.0)), None), Asked::Sum(None, Some(number(20.0))));
    assert_eq!((next.at, (next.from, next.to)), (world.now + Duration::from_secs(5), told));
}

#[test]
fn rules_of_whole_teams_keep_no_pair_apart() {
    let even = rule(
        "even",
        RuleKind::TeamDifference {
            attribute: crate::world::user("skill"),
            default: number(0.0),
            allowed: growing(1.0, 1.0, 3.0, 5),
        },
    );
    let mut world = World::new(crate::world::with_teams(2, 2, (1, 1), vec![even]));
    let waits = world.solo("waits", &[number_value(0.0)]);
    world.solo("other", &[number_value(9.0)]);
    let told = why(&world, waits);
    assert_eq!((told.fitting, kept_away(&told)), (1, vec![]));
    let (from, to) = (Asked::Apart(number(1.0)), Asked::Apart(number(2.0)));
    assert_eq!(told.next.map(|next| (next.from, next.to)), Some((from, to)));
}

/// A game and a player who is in it already (record 0041).
#[test]
fn who_plays_already_is_told_so() {
    let mut world = World::new(spec(2, 4, Vec::new()));
    let waits = world.solo("plays", &[]);
    let game = world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    for (one, other) in [(waits, game), (game, waits)] {
        let told = why(&world, one);
        assert_eq!((told.nearest[0].ticket, told.fitting), (other, 0));
        assert_eq!(shorts(&told.nearest[0]), [("samePlayer".to_owned(), Short::SamePlayer)]);
        assert_eq!(kept_away(&told), [("samePlayer", 1)]);
    }
}

/// "Users cannot view or interact with backfill tickets in any way": not even in what keeps them from being matched.
#[test]
fn a_player_is_told_of_no_game() {
    let mut world = World::new(spec(3, 4, Vec::new()));
    let waits = world.solo("plays", &[]);
    world.backfill(vec![seated("plays", "", &[])], ServerDetails::default());
    let told = |world: &World, asker| world.queue.around(waits, &asker).unwrap().why(world.now);
    let by_player = told(&world, Caller::Player(player("plays")));
    assert_eq!((by_player.others, by_player.looked_at, by_player.nearest.len()), (0, 0, 0));
    assert_eq!(kept_away(&by_player), []);
    let by_server = told(&world, server("one"));
    assert_eq!((by_server.others, by_server.looked_at), (1, 1));
}

/// Whoever waits for players, or for a server, looks for nobody.
#[test]
fn others_are_those_who_search() {
    let mut world = World::new(with_a_venue(3));
    world.try_ticket("host", &[], &["friend"]).unwrap();
    for name in ["alice", "bob", "carol"] {
        world.solo(name, &[number_value(1.0)]);
    }
    let waits = world.solo("waits", &[number_value(5.0)]);
    let count = |world: &World| {
        let told = why(world, waits);
        (told.others, told.looked_at)
    };
    assert_eq!(count(&world), (0, 0), "one gathers and three wait for a server");
    world.solo("other", &[number_value(9.0)]);
    assert_eq!(count(&world), (1, 1));
}

fn with_a_venue(size: u32) -> QueueSpec {
    let venue = Some(Venue::Session { lobby: "lan".into() });
    QueueSpec::new(Declared { venue, ..declared(size, size, vec![difference("skill", fixed(1.0))]) }).unwrap()
}

#[test]
fn a_game_is_not_told_of_other_games() {
    let mut world = World::new(spec(2, 4, Vec::new()));
    let games = ["a", "b"].map(|name| world.backfill(vec![seated(name, "", &[])], ServerDetails::default()));
    let told = why(&world, games[0]);
    assert_eq!((told.looked_at, told.nearest.len()), (0, 0));
}

#[test]
fn who_does_not_search_is_told_nothing() {
    let mut world = World::new(spec(2, 3, Vec::new()));
    let gathers = world.try_ticket("host", &[], &["friend"]).unwrap();
    assert!(world.queue.around(gathers, &Caller::Title).is_none());
    assert!(world.queue.around(TicketId::LOWEST, &Caller::Title).is_none());
}

#[test]
fn a_game_has_as_many_places_as_it_says() {
    let mut world = World::new(spec(2, 8, Vec::new()));
    let places = Some(1);
    let game = world
        .try_backfill(&server("one"), vec![seated("a", "", &[])], ServerDetails::default(), places)
        .unwrap();
    world.party(vec![member("b", &[]), member("c", &[])]);
    let told = why(&world, game);
    assert_eq!(shorts(&told.nearest[0]), [("matchSize".to_owned(), Short::Players { players: 3, max: 2 })]);
    assert_eq!(told.players_wanted, (2, 2), "its match is no larger");
}

#[test]
fn a_funnel_tells_what_each_rule_leaves_and_what_it_alone_keeps_apart() {
    let rules = vec![equality("mode", Missing::MatchAny), difference("skill", fixed(1.0))];
    let mut world = World::new(spec(2, 2, rules));
    for (name, mode, skill) in [("alice", "ctf", 1.0), ("bob", "ctf", 5.0), ("carol", "dm", 1.0)] {
        world.solo(name, &[text(mode), number_value(skill)]);
    }
    let funnel = world.queue.sample().unwrap().funnel(world.now);
    assert_eq!((funnel.open, funnel.tickets, funnel.pairs), (3, 3, 3));
    let told: Vec<_> = funnel.rules.iter().map(|it| (&*it.rule, it.apart, it.alone, it.left)).collect();
    // Alice and Bob differ by skill alone, Alice and Carol by mode alone, Bob and Carol by both.
    assert_eq!(
        told,
        [("mode", 2, 1, 1), ("skill", 2, 1, 0), ("matchSize", 0, 0, 0), ("samePlayer", 0, 0, 0)]
    );
}

#[test]
fn games_are_no_pair_in_a_funnel() {
    let mut world = World::new(spec(3, 4, vec![]));
    world.backfill(vec![seated("alice", "", &[])], ServerDetails::default());
    world.backfill(vec![seated("bob", "", &[])], ServerDetails::default());
    assert_eq!(world.queue.sample().unwrap().funnel(world.now).pairs, 0);
    world.solo("carol", &[]);
    assert_eq!(world.queue.sample().unwrap().funnel(world.now).pairs, 2);
}

/// "for a ticket, the nearest tickets": of more than are looked at, too, whoever gives up first.
#[test]
fn of_more_than_are_looked_at_the_nearest_are_told() {
    let mut world = World::new(spec(2, 2, vec![difference("skill", fixed(1.0))]));
    let wait = |world: &mut World, at: u32| {
        let (ticket, form) = (world.id(), world.queue.form());
        let name = format!("p{at}");
        let command = Command::CreateTicket {
            ticket,
            caller: Caller::Player(player(&name)),
            creator: member(&name, &[number_value(f64::from(at) * 10.0)]),
            invited: Vec::new(),
            // The nearer ones give up last.
            give_up_after: 10 + at,
            form,
        };
        // Without the laws, which look at all of them.
        Turn::run(world.now, &mut world.queue, &command).answer.unwrap();
        ticket
    };
    let count = u32::try_from(LOOKED_AT_MAX).unwrap() + 100;
    let tickets: Vec<TicketId> = (0..count).map(|at| wait(&mut world, at)).collect();
    world.pass(Duration::ZERO);
    let (own, near) = (tickets[tickets.len() - 1], tickets[tickets.len() - 2]);
    let told = world.queue.around(own, &Caller::Title).unwrap().why(world.now);
    assert_eq!((told.others, told.looked_at), (tickets.len() - 1, LOOKED_AT_MAX));
    assert_eq!(told.nearest[0].ticket, near);
    let short = Short::Apart { by: number(10.0), allowed: number(1.0) };
    assert_eq!(told.nearest[0].rules[0].verdict, Verdict::Fails(short));
    // Without its engine a queue tells of those who give up first.
    world.forget();
    let told = world.queue.around(own, &Caller::Title).unwrap().why(world.now);
    assert_eq!((told.looked_at, told.nearest.len()), (LOOKED_AT_MAX, NEAREST_MAX));
}
