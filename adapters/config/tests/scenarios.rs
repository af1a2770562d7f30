//! The scenarios of PlayFab's documentation, pasted into `mainstay.yaml` and sent by a call: both doors lead to the same queue.
//!
//! `scenarios.txt` has each in the documentation's shape and with its figures. `services/control/tests/plane/scenarios.rs` sends the same
//! texts to `SetMatchmakingQueue`.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_config::{SourceFile, load};
use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::{QueueSpec, Rule, RuleKind, ServerAllocation, Shown, Venue};
use mainstay_wire::playfab::queue::MatchmakingQueueConfig;
use serde_json::Value;

const SCENARIOS: &str = include_str!("scenarios.txt");
/// What stands for the build of those with servers.
const FILE: &str = "version: 1.0
builds: { arena: { buildPath: dist } }
buildConfigurations: { ranked: { build: arena, binaryPath: arena.x86_64 } }
fleets: { europe: { buildConfigurations: [ranked], regions: { Europe: { maxServers: 8 } } } }
playfab: { builds: { 29ba9d61-6bd0-4f2e-8c1e-0d1a2b3c4d5e: { fleet: europe, buildConfiguration: ranked } } }
queues:
";

/// Each as it is pasted, by its heading.
fn scenarios() -> Vec<(&'static str, &'static str)> {
    SCENARIOS.split("\n## ").skip(1).map(|scenario| scenario.split_once('\n').unwrap()).collect()
}

/// Pasted as the elements of `queues:`, and nothing changed but how far they are indented.
fn pasted() -> BTreeMap<String, Arc<QueueSpec>> {
    let mut file = FILE.to_owned();
    for (_, scenario) in scenarios() {
        file.push_str("  -\n");
        for line in scenario.trim_end().lines() {
            file.extend(["    ", line, "\n"]);
        }
    }
    let loaded =
        load(&[SourceFile::new("mainstay.yaml", file)]).unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(loaded.warnings, []);
    loaded.config.queues.into_iter().map(|(name, queue)| (name, queue.spec)).collect()
}

/// As a program sends it: within braces, and without the comma too many that JSON does not have.
fn sent(scenario: &str) -> Value {
    let text = scenario.trim().replace("],\n}", "]\n}");
    let text = if text.starts_with('{') { text } else { format!("{{{text}}}") };
    serde_json::from_str::<Value>(&text).unwrap()["MatchmakingQueue"].clone()
}

fn rule<'a>(queue: &'a QueueSpec, name: &str) -> &'a Rule {
    queue.rules.iter().find(|rule| &*rule.name == name).unwrap()
}

/// Issue 4, point 9: "PlayFab queue JSON of both shapes pasted as is". Shows `the published scenarios`, the first of two doors.
#[test]
fn every_scenario_of_the_documentation_is_the_same_queue_through_both_doors() {
    let pasted = pasted();
    assert_eq!((scenarios().len(), pasted.len()), (17, 17));
    for (heading, scenario) in scenarios() {
        let config = MatchmakingQueueConfig::read(sent(scenario)).unwrap();
        let allocation = config.build().unwrap().map(|build| ServerAllocation {
            fleet: "europe".into(),
            build_configuration: "ranked".into(),
            build: Some(build),
        });
        let called = QueueSpec::new(config.declared(allocation).unwrap()).unwrap();
        assert_eq!(*pasted[&config.name], called, "{heading}");
    }
}

/// What they mean: sizes, limits and intervals as that page has them.
#[test]
fn the_scenarios_mean_what_the_documentation_says() {
    let queues = pasted();
    let sizes =
        |name: &str| (queues[name].min_match_size, queues[name].max_match_size, queues[name].teams.len());
    let number = |value: f64| Amount::from_f64(value).unwrap();
    assert_eq!(sizes("Island"), (8, 50, 0));
    assert_eq!(sizes("FourOnFour"), (8, 8, 2));
    assert_eq!(sizes("Squads"), (32, 32, 8));
    // "within 0.2, increasing over time to 0.5", and none after 30 s.
    let RuleKind::Difference { allowed, .. } = &rule(&queues["Even"], "even-skill").kind else { panic!() };
    let seen: Vec<_> = [0, 5, 10, 15, 29].map(|at| allowed.after(at).unwrap()).into();
    assert_eq!(seen, [0.2, 0.3, 0.4, 0.5, 0.5].map(number));
    assert_eq!(rule(&queues["Even"], "even-skill").optional_after, Some(30));
    // Its own values, one each interval; the base beside them counts nothing.
    let by_and_by = rule(&queues["EvenByAndBy"], "even-skill");
    let RuleKind::Difference { allowed, .. } = &by_and_by.kind else { panic!() };
    let seen: Vec<_> = [0, 5, 10, 15, 20, 25, 90].map(|at| allowed.after(at).unwrap()).into();
    assert_eq!(seen, [0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.5].map(number));
    // As many as 50 to begin with, and fewer by and by.
    let RuleKind::MatchTotal { min, max, .. } = &rule(&queues["Island"], "enough").kind else { panic!() };
    let seen: Vec<_> = [0, 10, 20, 30, 40, 50, 60].map(|at| min.after(at).unwrap()).into();
    assert_eq!(seen, [50, 45, 40, 35, 25, 16, 8].map(Amount::whole));
    assert_eq!([0, 60].map(|at| max.after(at).unwrap()), [50, 50].map(Amount::whole));
    // One drummer, two guitarists, one vocalist; or one tank, two DPS, one support.
    for (name, players) in [("guard", 1), ("striker", 2), ("healer", 1)] {
        let RuleKind::MatchTotal { min, max, .. } = &rule(&queues["Roles"], name).kind else { panic!() };
        assert_eq!([min, max].map(|limit| limit.after(0).unwrap()), [Amount::whole(players); 2], "{name}");
    }
    // Skill counts three times as much as experience.
    for (name, counts) in [("rating", 3), ("level", 1)] {
        let RuleKind::Difference { weight, .. } = &rule(&queues["Weighed"], name).kind else { panic!() };
        assert_eq!(weight.get(), Amount::whole(counts), "{name}");
    }
    assert_eq!(rule(&queues["Battle"], "parties-alike").optional_after, Some(20));
    for name in ["Hosted", "Battle", "Squads"] {
        assert!(matches!(queues[name].venue, Some(Venue::Server(_))), "{name}");
    }
    // A build that is named beside a flag that is off asks for no server.
    for name in ["OneDevice", "OneHosts", "Roles", "Weighed", "Packs"] {
        assert_eq!(queues[name].venue, None, "{name}");
    }
    let shown = queues["Shown"].visibility;
    assert_eq!((shown.players_matching, shown.time_to_match), (Shown::ToPlayers, Shown::ToPlayers));
}
