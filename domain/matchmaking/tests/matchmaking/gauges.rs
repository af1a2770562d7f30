//! What a queue tells those who watch it: how it stands, and what has come of its tickets since its leader began.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{Buckets, StateMachine as _, Timestamp};
use mainstay_matchmaking::spec::{Declared, Missing, QueueSpec, ServerAllocation, Venue};
use mainstay_matchmaking::{Caller, Cancellation, Command, Kind, Outcome, ServerDetails};

use crate::world::{
    World, declared, difference, equality, fixed, number_value, player, region, seated, spec, text,
};

/// How many values lie in which bucket, empty ones left out.
fn filled<const N: usize>(buckets: &Buckets<N>) -> Vec<(Option<u64>, u64)> {
    buckets.counts().filter(|(_, count)| *count > 0).collect()
}

#[test]
fn whoever_waits_is_counted_by_kind_until_it_ends() {
    let mut world = World::new(spec(3, 3, vec![]));
    let told = |world: &World| {
        let gauges = world.queue.gauges();
        (gauges.tickets, gauges.players, gauges.backfills, gauges.backfill_players)
    };
    assert_eq!((told(&world), world.queue.gauges().eldest), ((0, 0, 0, 0), None));
    let began = world.now;
    let alice = world.solo("alice", &[]);
    world.seconds(5);
    let game = world.backfill(vec![seated("zoe", "", &[])], region("eu"));
    assert_eq!(told(&world), (1, 1, 1, 1));
    assert_eq!(world.queue.gauges().eldest, Some(began));
    assert_eq!(world.rebuilt().gauges().tickets, 1, "also after a restart");
    world.cancel(alice, Caller::Player(player("alice"))).unwrap();
    assert_eq!(told(&world), (0, 0, 1, 1));
    assert_eq!(world.queue.gauges().eldest, Some(began + Duration::from_secs(5)));
    world.seconds(600);
    assert_eq!((told(&world), world.backfill_status(game)), ((0, 0, 0, 0), "Canceled"));
    let tally = world.queue.gauges().tally.unwrap();
    assert_eq!(tally.canceled_for(Kind::Ordinary, Cancellation::User), 1);
    assert_eq!(tally.canceled_for(Kind::Backfill, Cancellation::Timeout), 1);
    assert_eq!(tally.canceled_for(Kind::Ordinary, Cancellation::Timeout), 0);
}

#[test]
fn waits_sizes_spreads_and_filled_places_of_matches_are_counted() {
    let mut world = World::new(spec(2, 3, vec![difference("skill", fixed(30.0))]));
    world.solo("alice", &[number_value(10.0)]);
    world.seconds(2);
    world.solo("bob", &[number_value(31.5)]);
    let game = [seated("zoe", "", &[number_value(40.0)]), seated("yan", "", &[number_value(41.0)])];
    world.backfill(game.to_vec(), region("eu"));
    world.seconds(1);
    world.solo("carol", &[number_value(42.0)]);
    let tally = world.queue.gauges().tally.unwrap();
    assert_eq!(filled(tally.waits(Kind::Ordinary)), [(Some(100), 2), (Some(2_500), 1)]);
    assert_eq!(filled(tally.waits(Kind::Backfill)), [(Some(1_000), 1)]);
    assert_eq!(filled(tally.players()), [(Some(2), 1), (Some(4), 1)]);
    assert_eq!(tally.filled(), 1, "carol");
    let spreads: Vec<_> = tally.spreads().map(|(rule, of)| (&**rule, filled(of), of.sum())).collect();
    let expected = vec![(Some(2_000_000), 1), (Some(50_000_000), 1)];
    assert_eq!(spreads, [("skill", expected, 21_500_000 + 2_000_000)]);
}

#[test]
fn time_to_play_runs_until_the_server_plays_and_names_its_fleet() {
    let allocation = ServerAllocation { fleet: "f".into(), build_configuration: "b".into(), build: None };
    let with_servers = Declared { venue: Some(Venue::Server(allocation)), ..declared(2, 2, vec![]) };
    let mut world = World::new(QueueSpec::new(with_servers).unwrap());
    world.solo("alice", &[]);
    world.seconds(3);
    world.solo("bob", &[]);
    let asked = world.queue.holds().next().unwrap().asked();
    world.answer(asked, Outcome::Placed(Arc::new(ServerDetails::default())));
    let tally = world.queue.gauges().tally.unwrap();
    let played: Vec<_> = tally.time_to_play().map(|(fleet, took)| (&**fleet, filled(took))).collect();
    assert_eq!(played, [("f", vec![(Some(100), 1), (Some(5_000), 1)])]);
}

/// A game may be empty when it is filled: that everybody left it makes nobody who comes less of a filled place.
#[test]
fn the_places_of_an_empty_game_are_filled_places() {
    let mut world = World::new(spec(2, 3, vec![]));
    world.backfill(vec![], region("eu"));
    world.solo("alice", &[]);
    world.solo("bob", &[]);
    let tally = world.queue.gauges().tally.unwrap();
    assert_eq!((tally.players().count(), tally.filled()), (1, 2));
}

/// What a queue no longer has is told no more: the rules it had, the fleet it got its servers of, and all of it once it is removed.
#[test]
fn a_queue_that_is_configured_anew_forgets_what_it_told_of_rules_it_had() {
    let mut world =
        World::new(spec(2, 2, vec![difference("skill", fixed(30.0)), difference("rank", fixed(30.0))]));
    let both = [number_value(10.0), number_value(1.0)];
    world.solo("alice", &both);
    world.solo("bob", &both);
    let told = |world: &World| {
        let tally = world.queue.gauges().tally.unwrap();
        (tally.spreads().map(|(rule, _)| rule.to_string()).collect::<Vec<_>>(), tally.players().count())
    };
    assert_eq!(told(&world), (vec!["rank".to_owned(), "skill".to_owned()], 1));
    world.run(Command::Configure(Arc::new(spec(2, 2, vec![difference("rank", fixed(9.0))])))).unwrap();
    assert_eq!(told(&world), (vec!["rank".to_owned()], 1), "what was counted of others goes on");
    world.run(Command::Close).unwrap();
    world.run(Command::Configure(Arc::new(spec(2, 2, vec![])))).unwrap();
    assert_eq!(told(&world), (vec![], 0));
}

/// "Soft: counted from a leader's first command on."
#[test]
fn what_a_restart_tells_again_is_not_counted() {
    let mut world = World::new(spec(2, 2, vec![]));
    world.solo("alice", &[]);
    world.solo("bob", &[]);
    assert_eq!(world.queue.gauges().tally.unwrap().players().count(), 1);
    let mut again = world.replayed();
    assert!(again.gauges().tally.is_none(), "nobody has asked it anything yet");
    again.observe(Timestamp::EPOCH, mainstay_matchmaking::Observation::Open);
    assert_eq!(again.gauges().tally.unwrap().players().count(), 0);
}

/// Whom the index passes over, as it does for the first rule of equal texts, is judged by none.
#[test]
fn rules_are_counted_as_they_pass_and_as_they_refuse() {
    let rules = vec![
        equality("map", Missing::MatchAny),
        equality("mode", Missing::MatchAny),
        difference("skill", fixed(30.0)),
    ];
    let mut world = World::new(spec(2, 2, rules));
    let told = |world: &World| {
        let judged = world.queue.gauges().judged;
        judged.into_iter().map(|of| (of.rule.to_string(), of.passed > 0, of.refused)).collect::<Vec<_>>()
    };
    let expected = |map: bool, mode: (bool, u64), skill: bool| {
        [("map", map, 0), ("mode", mode.0, mode.1), ("skill", skill, 0)]
            .map(|(rule, passed, refused)| (rule.to_owned(), passed, refused))
    };
    world.solo("alice", &[text("dunes"), text("duel"), number_value(10.0)]);
    assert_eq!(told(&world), expected(false, (false, 0), false), "nobody was there to be judged");
    world.solo("dave", &[text("caves"), text("duel"), number_value(10.0)]);
    assert_eq!(told(&world), expected(false, (false, 0), false), "alice is on another map");
    world.solo("bob", &[text("dunes"), text("race"), number_value(20.0)]);
    assert_eq!(told(&world), expected(false, (false, 1), false), "alice, for bob");
    world.solo("carol", &[text("dunes"), text("race"), number_value(15.0)]);
    assert_eq!(told(&world), expected(true, (true, 2), true), "bob passes, alice does not");
    assert_eq!(world.formed().len(), 1);
}
