//! Each rule type by its published examples (PlayFab, *Configuring matchmaking queues* and *Matchmaking scenario and
//! configuration examples*), naming them.

use std::sync::Arc;

use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::{
    Declared, Delta, Expansion, Merge, Missing, QueueSpec, RuleKind, TeamSpec, Weight,
};

use crate::world::{
    World, declared, difference, equality, fixed, growing, intersection, latencies, member, number,
    number_value, optional, rule, selection, spec, text, texts, total, user, with_teams,
};

/// *My first queue*: "This queue matches two players together, and contains one optional rule that requires players to pass in
/// the same build string in order to match. If no build is specified, the player may match with other players in this queue,
/// regardless of build."
#[test]
fn my_first_queue() {
    let queue = || spec(2, 2, vec![equality("Build", Missing::MatchAny)]);
    let mut world = World::new(queue());
    world.solo("a", &[text("1.0")]);
    world.solo("b", &[text("1.1")]);
    assert!(world.formed().is_empty());
    world.solo("c", &[text("1.1")]);
    assert_eq!(world.matched(), [["b", "c"]]);
    world.solo("any", &[None]);
    assert_eq!(world.matched()[1], ["a", "any"]);
}

/// The same, with a default: "It may supply a default value for the attribute."
#[test]
fn a_missing_text_is_the_default() {
    let mut world = World::new(spec(2, 2, vec![equality("Build", Missing::UseDefault("1.0".into()))]));
    world.solo("new", &[text("1.1")]);
    world.solo("silent", &[None]);
    assert!(world.formed().is_empty());
    world.solo("old", &[text("1.0")]);
    assert_eq!(world.matched(), [["old", "silent"]]);
}

/// "Ensures that a string attribute is the same across all tickets in a match": one who fits anyone does not bring together two
/// who do not fit each other.
#[test]
fn one_who_fits_anyone_is_no_bridge() {
    let mut world = World::new(spec(3, 3, vec![equality("Device", Missing::MatchAny)]));
    world.solo("console", &[text("console")]);
    world.solo("any", &[None]);
    world.solo("desktop", &[text("desktop")]);
    assert!(world.formed().is_empty());
    world.solo("other", &[text("console")]);
    assert_eq!(world.matched(), [["any", "console", "other"]]);
}

/// "limited to turning the rule off or on during different intervals" (`EnabledOverrides`).
#[test]
fn equality_is_off_in_some_intervals() {
    let enforced = Expansion::Custom {
        base: None,
        values: [Some(mainstay_matchmaking::spec::Enforced), None].into(),
        every: 10,
    };
    let kind = RuleKind::StringEquality {
        attribute: user("Build"),
        weight: Weight::DEFAULT,
        missing: Missing::MatchAny,
        enforced,
    };
    let mut world = World::new(spec(2, 2, vec![rule("build", kind)]));
    world.solo("a", &[text("1")]);
    world.solo("b", &[text("2")]);
    world.seconds(9);
    assert!(world.formed().is_empty());
    world.seconds(1);
    assert_eq!(world.matched(), [["a", "b"]]);
}

/// *Cross game mode search*: "the rule will restrict matches to ones where all players contain at least one common game mode."
#[test]
fn all_share_a_mode() {
    let mut world = World::new(spec(3, 3, vec![intersection("GameMode", 1.0, Expansion::Fixed(1))]));
    world.solo("ab", &[texts(&["a", "b"])]);
    world.solo("bc", &[texts(&["b", "c"])]);
    world.solo("ca", &[texts(&["c", "a"])]);
    assert!(world.formed().is_empty(), "each two share a mode, the three do not");
    world.solo("b", &[texts(&["b"])]);
    assert_eq!(world.matched(), [["ab", "b", "bc"]]);
}

/// "MinIntersectionSize" above one, shrinking: "Attribute modified during expansion: Minimum required intersection".
#[test]
fn fewer_shared_maps_are_asked_for_over_time() {
    let shared = Expansion::Linear { from: 2, delta: Delta::Down(1), limit: None, every: 5 };
    let mut world = World::new(spec(2, 2, vec![intersection("maps", 1.0, shared)]));
    world.solo("a", &[texts(&["x", "y", "z"])]);
    world.solo("b", &[texts(&["z"])]);
    world.seconds(4);
    assert!(world.formed().is_empty());
    world.seconds(1);
    assert_eq!(world.matched(), [["a", "b"]]);
}

/// Many more different values than a word has bits: the rows grow.
#[test]
fn lists_of_many_values() {
    let mut world = World::new(spec(2, 2, vec![intersection("dlc", 1.0, Expansion::Fixed(1))]));
    for at in 0..200 {
        let own: Vec<String> = (0..3).map(|it| format!("dlc{}", at * 3 + it)).collect();
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        world.solo(&format!("p{at}"), &[texts(&own)]);
    }
    assert!(world.formed().is_empty());
    world.solo("last", &[texts(&["dlc500"])]);
    assert_eq!(world.matched(), [["last", "p166"]]);
}

/// *Skill based free-for-all game, with expansion*: "the queue will require players' skill attributes to be within 0.2, with
/// these attributes increasing over time to 0.5. For tickets waiting for more than 30 seconds, any skill difference is allowed."
#[test]
fn skill_based_free_for_all() {
    let skill = RuleKind::Difference {
        attribute: user("Skill"),
        weight: Weight::DEFAULT,
        missing: Missing::UseDefault(number(0.5)),
        merge: Merge::Average,
        allowed: growing(0.2, 0.1, 0.5, 5),
    };
    let queue = || spec(2, 2, vec![optional(30, rule("SkillRule", skill.clone()))]);
    for (other, after) in [(0.8, 5), (0.0, 15), (1.0, 15), (10.0, 30)] {
        let mut world = World::new(queue());
        world.solo("half", &[None]);
        world.solo("other", &[number_value(other)]);
        world.seconds(after - 1);
        assert!(world.formed().is_empty(), "{other}");
        world.seconds(1);
        assert_eq!(world.matched(), [["half", "other"]], "{other}");
    }
    let mut world = World::new(queue());
    world.solo("a", &[number_value(0.8)]);
    world.solo("b", &[number_value(0.6)]);
    assert_eq!(world.matched().len(), 1, "0.8 and 0.6 are 0.2 apart, which is within 0.2");
}

/// *Customizing expansions*: "Expansions can be customized to use arbitrary values in each time interval", `null` "to indicate the
/// rule is not active during this interval".
#[test]
fn custom_differences() {
    let allowed = Expansion::Custom {
        base: None,
        values: [Some(number(0.1)), None, Some(number(0.2))].into(),
        every: 5,
    };
    let mut world = World::new(spec(2, 2, vec![difference("Skill", allowed.clone())]));
    world.solo("a", &[number_value(0.0)]);
    world.solo("b", &[number_value(0.9)]);
    world.seconds(5);
    assert_eq!(world.matched(), [["a", "b"]]);
    let mut world = World::new(spec(2, 2, vec![difference("Skill", allowed)]));
    world.solo("a", &[number_value(0.0)]);
    world.seconds(7);
    world.solo("b", &[number_value(0.9)]);
    world.seconds(4);
    assert!(world.formed().is_empty(), "they are never both in the open interval");
}

/// Who allows no difference yet meets equals, also those that allow one by now; and everybody near once it allows one, too.
#[test]
fn who_allows_no_difference_meets_its_equals() {
    let allowed =
        Expansion::Custom { base: None, values: [Some(number(0.0)), Some(number(5.0))].into(), every: 10 };
    let mut world = World::new(spec(2, 2, vec![difference("Skill", allowed)]));
    world.solo("a", &[number_value(1.0)]);
    world.solo("b", &[number_value(2.0)]);
    assert!(world.formed().is_empty());
    world.solo("c", &[number_value(2.0)]);
    assert_eq!(world.matched(), [["b", "c"]]);
    world.seconds(10);
    world.solo("near", &[number_value(1.5)]);
    assert_eq!(world.matched().len(), 1, "it has just come, and allows no difference");
    world.solo("equal", &[number_value(1.0)]);
    assert_eq!(world.matched()[1], ["a", "equal"]);
    world.solo("other", &[number_value(4.0)]);
    world.seconds(9);
    assert_eq!(world.matched().len(), 2);
    world.seconds(1);
    assert_eq!(world.matched()[2], ["near", "other"]);
}

/// Equals of one number that a rule keeps apart wait beside each other until it gives way.
#[test]
fn equals_that_do_not_fit_are_tried_again() {
    let build = optional(10, equality("Build", Missing::MatchAny));
    let mut world = World::new(spec(2, 2, vec![difference("Skill", fixed(0.0)), build]));
    world.solo("a", &[number_value(1.0), text("1.0")]);
    world.seconds(3);
    world.solo("b", &[number_value(1.0), text("1.1")]);
    world.seconds(9);
    assert!(world.formed().is_empty());
    world.seconds(1);
    assert_eq!(world.matched(), [["a", "b"]]);
}

/// Both must allow it: "The rule no longer restricts matches among tickets that have waited this time."
#[test]
fn who_has_just_come_keeps_its_own_limits() {
    let mut world = World::new(spec(2, 2, vec![optional(10, difference("Skill", fixed(1.0)))]));
    world.solo("old", &[number_value(0.0)]);
    world.seconds(60);
    world.solo("new", &[number_value(5.0)]);
    world.seconds(9);
    assert!(world.formed().is_empty());
    world.seconds(1);
    assert_eq!(world.matched(), [["new", "old"]]);
}

/// "Choices are min, max, and average. Defaults to average."
#[test]
fn a_partys_number_is_merged() {
    for (merge, fits) in [(Merge::Min, 10.0), (Merge::Average, 15.0), (Merge::Max, 20.0)] {
        let kind = RuleKind::Difference {
            attribute: user("Skill"),
            weight: Weight::DEFAULT,
            missing: Missing::MatchAny,
            merge,
            allowed: fixed(1.0),
        };
        let mut world = World::new(spec(3, 3, vec![rule("skill", kind)]));
        world.party(vec![member("a", &[number_value(10.0)]), member("b", &[number_value(20.0)])]);
        for other in [10.0, 15.0, 20.0] {
            let name = format!("at{other}");
            world.solo(&name, &[number_value(other)]);
        }
        assert_eq!(world.matched(), [["a".to_owned(), format!("at{fits}"), "b".to_owned()]], "{merge:?}");
    }
}

/// *Expansion of number of players over time*: "it is preferred to start with as many as 50 players, but is satisfied with fewer
/// after some time"; here 5, 4, 2. A fresh player joins those whose requirement has fallen (staff, community question 144077).
#[test]
fn fewer_players_suffice_over_time() {
    let min = Expansion::Custom {
        base: None,
        values: [5.0, 4.0, 2.0].map(|it| Some(number(it))).into(),
        every: 10,
    };
    let mut world = World::new(spec(2, 5, vec![total("PlayerCount", min, fixed(5.0))]));
    for name in ["a", "b", "c"] {
        world.solo(name, &[number_value(1.0)]);
    }
    world.seconds(12);
    assert!(world.formed().is_empty());
    world.solo("fresh", &[number_value(1.0)]);
    assert_eq!(world.matched(), [["a", "b", "c", "fresh"]]);
}

/// *Host/Searcher*: "Each match must contain exactly one host."
#[test]
fn exactly_one_host() {
    let mut world = World::new(spec(3, 3, vec![total("IsHost", fixed(1.0), fixed(1.0))]));
    for name in ["h1", "h2"] {
        world.solo(name, &[number_value(1.0)]);
    }
    world.solo("s1", &[number_value(0.0)]);
    assert!(world.formed().is_empty());
    world.solo("s2", &[number_value(0.0)]);
    assert_eq!(world.matched(), [["h1", "s1", "s2"]]);
}

/// *Role based*: "one tank, two DPS, and one support".
#[test]
fn roles() {
    let rules = [("TankSelected", 1.0), ("DPSSelected", 2.0), ("SupportSelected", 1.0)];
    let rules = rules.map(|(name, count)| total(name, fixed(count), fixed(count)));
    let mut world = World::new(spec(4, 4, rules.to_vec()));
    let role = |role: usize| [0, 1, 2].map(|it| number_value(if it == role { 1.0 } else { 0.0 }));
    for at in 0..50 {
        world.solo(&format!("dps{at}"), &role(1));
    }
    world.solo("support", &role(2));
    assert!(world.formed().is_empty());
    world.solo("tank", &role(0));
    assert_eq!(world.matched(), [["dps0", "dps1", "support", "tank"]]);
}

/// "Ensures that the latency to a common data center for all users of the match is less than a configured max value."
#[test]
fn all_reach_a_common_region() {
    let mut world = World::new(spec(3, 3, vec![selection(Expansion::Fixed(200))]));
    world.solo("both", &[latencies(&[("EastUs", 150), ("WestUs", 190)])]);
    world.solo("east", &[latencies(&[("EastUs", 20), ("WestUs", 300)])]);
    world.solo("west", &[latencies(&[("WestUs", 20)])]);
    assert!(world.formed().is_empty());
    world.solo("also", &[latencies(&[("WestUs", 200), ("EastUs", 10)])]);
    // Both are taken by the one who comes: with `east` in EastUs, with `west` in WestUs; nearer is `east`.
    assert_eq!(world.matched(), [["also", "both", "east"]]);
    assert_eq!(*world.formed()[0].regions, ["EastUs".into()]);
}

/// "is less than a configured max value": decision 0041 takes a latency at the limit for one inside.
#[test]
fn a_latency_at_the_limit_is_inside() {
    let mut world = World::new(spec(2, 2, vec![selection(Expansion::Fixed(200))]));
    world.solo("at", &[latencies(&[("EastUs", 200)])]);
    world.solo("above", &[latencies(&[("EastUs", 201), ("WestUs", 20)])]);
    assert!(world.formed().is_empty());
    world.solo("also", &[latencies(&[("EastUs", 200)])]);
    assert_eq!(world.matched(), [["also", "at"]]);
}

/// `RegionPreferences`, "best first": the least worst latency.
#[test]
fn regions_are_told_best_first() {
    let mut world = World::new(spec(2, 2, vec![selection(Expansion::Fixed(100))]));
    world.solo("a", &[latencies(&[("AsiaEast", 90), ("EastUs", 60), ("WestUs", 10), ("NorthEurope", 101)])]);
    world.solo("b", &[latencies(&[("AsiaEast", 80), ("EastUs", 20), ("WestUs", 70), ("NorthEurope", 5)])]);
    let names: Vec<Arc<str>> = ["EastUs", "WestUs", "AsiaEast"].map(Arc::from).into();
    assert_eq!(*world.formed()[0].regions, names[..]);
}

/// The allowed latency grows by Delta up to Limit.
#[test]
fn the_allowed_latency_grows() {
    let latency = Expansion::Linear { from: 60, delta: Delta::Up(20), limit: Some(100), every: 5 };
    let mut world = World::new(spec(2, 2, vec![selection(latency)]));
    world.solo("a", &[latencies(&[("EastUs", 95)])]);
    world.solo("b", &[latencies(&[("EastUs", 10)])]);
    world.seconds(9);
    assert!(world.formed().is_empty());
    world.seconds(1);
    assert_eq!(world.matched(), [["a", "b"]]);
}

/// *Standard 4v4*: "players which are submitted together in the same ticket will all be allocated into one team", and "ensures the
/// skills are balanced across them"; here 2v2.
#[test]
fn teams_are_balanced_in_skill() {
    let skill = |allowed: Expansion<Amount>| {
        let (attribute, default) = (user("Skill"), number(0.5));
        vec![rule("TeamSkillRule", RuleKind::TeamDifference { attribute, default, allowed })]
    };
    let mut world = World::new(with_teams(4, 4, (2, 2), skill(fixed(0.2))));
    for (name, skill) in [("a", 0.9), ("b", 0.8), ("c", 0.1), ("d", 0.2)] {
        world.solo(name, &[number_value(skill)]);
    }
    assert_eq!(world.matched(), [["a/blue", "b/red", "c/blue", "d/red"]]);
    let mut world = World::new(with_teams(4, 4, (2, 2), skill(growing(0.2, 0.1, 0.5, 5))));
    world.party(vec![member("a", &[number_value(0.9)]), member("b", &[number_value(0.7)])]);
    world.solo("c", &[number_value(0.3)]);
    world.solo("d", &[None]);
    world.seconds(9);
    assert!(world.formed().is_empty(), "0.8 and 0.4 on average");
    world.seconds(1);
    assert_eq!(world.matched(), [["a/red", "b/red", "c/blue", "d/blue"]]);
}

/// "this rule could be used to create a queue where 3v3 and 4v4 matches are allowed, but a 3v4 is not."
#[test]
fn team_sizes_are_balanced() {
    let balance = rule("balance", RuleKind::TeamSizeBalance { allowed: Expansion::Fixed(0) });
    let mut world = World::new(with_teams(6, 8, (3, 4), vec![balance]));
    world.party(["a", "b", "c"].map(|name| member(name, &[])).to_vec());
    world.party(["d", "e", "f", "g"].map(|name| member(name, &[])).to_vec());
    assert!(world.formed().is_empty());
    world.solo("h", &[]);
    assert_eq!(world.formed()[0].members.len(), 8);
    let mut world = World::new(with_teams(
        6,
        8,
        (3, 4),
        vec![rule("balance", RuleKind::TeamSizeBalance { allowed: Expansion::Fixed(0) })],
    ));
    for party in [["a", "b", "c"], ["d", "e", "f"]] {
        world.party(party.map(|name| member(name, &[])).to_vec());
    }
    assert_eq!(world.formed()[0].members.len(), 6);
}

/// *Big Team Battle*: "preventing a common situation of a Premade team being matched against a large set of random players", for 20
/// seconds.
#[test]
fn large_parties_meet_large_parties() {
    let similar = || vec![optional(20, rule("similar", RuleKind::TeamTicketSizeSimilarity))];
    let large =
        |world: &mut World, names: [&str; 4]| world.party(names.map(|name| member(name, &[])).to_vec());
    let mut world = World::new(with_teams(8, 8, (4, 4), similar()));
    large(&mut world, ["a", "b", "c", "d"]);
    for name in ["e", "f", "g", "h"] {
        world.solo(name, &[]);
    }
    world.seconds(19);
    assert!(world.formed().is_empty());
    world.seconds(1);
    assert_eq!(world.formed().len(), 1, "then it is better than not to play");
    let mut world = World::new(with_teams(8, 8, (4, 4), similar()));
    large(&mut world, ["a", "b", "c", "d"]);
    large(&mut world, ["e", "f", "g", "h"]);
    assert_eq!(world.formed().len(), 1);
}

/// *Battle Royale*: eight teams of four, parties of one to four.
#[test]
fn eight_teams_of_four() {
    let team = |at: usize| TeamSpec { name: format!("team{at}").into(), min: 4, max: 4 };
    let declared = Declared { teams: (1..=8).map(team).collect(), ..declared(32, 32, Vec::new()) };
    let mut world = World::new(QueueSpec::new(declared).unwrap());
    for (at, size) in [3, 4, 3, 2, 1, 2, 1, 3, 4, 1, 3, 1, 2, 1, 1].into_iter().enumerate() {
        assert!(world.formed().is_empty());
        world.party((0..size).map(|it| member(&format!("p{at}-{it}"), &[])).collect());
    }
    assert_eq!(world.formed()[0].members.len(), 32);
}

/// *Rules with varying importance*: "Skill differences are counted three times as much as experience differences".
#[test]
fn skill_counts_three_times_as_much() {
    let queue = spec(
        2,
        2,
        vec![
            crate::world::weighted_difference("skill", 3.0, fixed(1.0)),
            crate::world::weighted_difference("experience", 1.0, fixed(5.0)),
        ],
    );
    let mut world = World::new(queue);
    // The two do not fit each other. From alice one is 3 × 0.5 + 0.2 away and one 0 + 1; unweighted the first were nearer.
    world.solo("other skill", &[number_value(0.5), number_value(-1.0)]);
    world.solo("other experience", &[number_value(0.0), number_value(5.0)]);
    world.solo("alice", &[number_value(0.0), number_value(0.0)]);
    assert_eq!(world.matched(), [["alice", "other experience"]]);
}

/// A rule a ticket breaks by itself as long as it could wait: told at once, "never silently unmatchable".
#[test]
fn a_ticket_that_could_never_match_is_told_so() {
    let hopeless = |rules: Vec<mainstay_matchmaking::spec::Rule>,
                    members: Vec<mainstay_matchmaking::Member>| {
        let mut world = World::new(spec(3, 4, rules));
        let ticket = world.party(members);
        (
            world.status(ticket),
            world.journal.iter().any(|(_, event)| format!("{event:?}").contains("TicketUnmatchable")),
        )
    };
    let two = |one: Option<mainstay_matchmaking::Value>, other: Option<mainstay_matchmaking::Value>| {
        vec![member("a", &[one]), member("b", &[other])]
    };
    let told = ("Canceled", true);
    assert_eq!(hopeless(vec![equality("Build", Missing::MatchAny)], two(text("1"), text("2"))), told);
    let maps = || vec![intersection("maps", 1.0, Expansion::Fixed(1))];
    assert_eq!(hopeless(maps(), two(texts(&["a"]), texts(&["b"]))), told);
    let near = vec![selection(Expansion::Fixed(50))];
    assert_eq!(hopeless(near, two(latencies(&[("x", 60)]), latencies(&[("x", 10)]))), told);
    let tanks = vec![total("tanks", fixed(0.0), fixed(1.0))];
    assert_eq!(hopeless(tanks, two(number_value(1.0), number_value(1.0))), told);
    let later = vec![optional(30, intersection("maps", 1.0, Expansion::Fixed(1)))];
    assert_eq!(hopeless(later, two(texts(&["a"]), texts(&["b"]))), ("WaitingForMatch", false));
}

/// A sum that all who are in reach do not make together is known without trying groups of them: the least that is asked for is that of whoever has
/// waited longest, and not the least that is ever asked for.
#[test]
fn a_total_out_of_reach_is_known_without_trying() {
    let least = Expansion::Linear {
        from: number(40.0),
        delta: Delta::Down(number(10.0)),
        limit: Some(number(10.0)),
        every: 5,
    };
    let rules = vec![difference("skill", fixed(50.0)), total("players", least, fixed(40.0))];
    let mut world = World::new(spec(10, 40, rules));
    for skill in 0..39 {
        world.solo(&format!("p{skill}"), &[number_value(f64::from(skill)), number_value(1.0)]);
    }
    assert!(world.formed().is_empty());
    assert_eq!(world.queue.engine_gauges().unwrap().exhausted, 0, "searches cut short");
    world.seconds(5);
    assert_eq!(world.matched()[0].len(), 39);
}
