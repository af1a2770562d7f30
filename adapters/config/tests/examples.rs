//! The examples of the repository load without a word, and say what they are meant to say to the rules.

use std::path::Path;
use std::time::Duration;

use mainstay_config::{
    Accepted, Bound, BuildPath, Config, Found, MachineSize, SourceFile, check_files, load,
};
use mainstay_core::slot;
use mainstay_matchmaking::spec::{Unread, Venue};

fn example(name: &str) -> Config {
    let path = format!("{}/../../examples/{name}/mainstay.yaml", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).expect("the example is part of the repository");
    let loaded = load(&[SourceFile::new(format!("examples/{name}/mainstay.yaml"), bytes)]);
    let Accepted { config, warnings } = loaded.unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(warnings, [], "{name}");
    let installed = |path: &Path| match path.to_str() {
        Some("/usr/games") => Found::Folder,
        Some("/usr/games/teeworlds-server" | "/usr/games/minetestserver") => Found::Executable,
        _ => Found::Missing,
    };
    assert_eq!(check_files(&config, &installed), [], "{name}");
    config
}

const MACHINE: MachineSize = MachineSize { cores: 2, speed_mhz: Some(3_000), memory_mib: 8_000 };

#[test]
fn teeworlds_gets_its_console_commands_as_one_argument() {
    let config = example("teeworlds");
    let configuration = &config.build_configurations["teeworlds dm1"];
    let value_of = |name: &str| match name {
        "port" => Some("8403".to_owned()),
        name => configuration.variables.get(name).map(|value| value.value.clone()),
    };
    assert_eq!(
        configuration.command_line.value.expand(value_of),
        ["sv_name Mainstay example; sv_port 8403; sv_register 0; sv_map dm1"]
    );
    assert_eq!(
        configuration.slot_query(),
        Some(slot::Query {
            protocol: "teeworlds".into(),
            port: slot::QueryPort::Game,
            timeout: Duration::from_secs(1),
            start_grace: Duration::from_secs(10),
        })
    );
    assert_eq!(configuration.slot_limits(&MACHINE), slot::Limits { cpu_millis: 100, memory_mib: 32 });
    assert_eq!(
        configuration.slot_stop(),
        slot::StopPolicy { signal: 15, kill_after: Duration::from_secs(5) }
    );
    assert_eq!(configuration.slot_restart(), slot::RestartPolicy::default());
    assert_eq!(configuration.slot_caps(), slot::Caps::default());
    let folder = config.builds["teeworlds"].path.as_ref().map(|path| &path.value);
    assert_eq!(folder, Some(&BuildPath::Folder("/usr/games".into())));
    let fleet = &config.fleets["teeworlds"];
    assert!(fleet.start_on_provision.value);
    let slots = config.slots_on(fleet, &MACHINE);
    assert_eq!((slots.count, slots.bound), (8, Bound::PerMachine));
}

#[test]
fn minetest_is_asked_by_its_own_greeting() {
    let config = example("minetest");
    let configuration = &config.build_configurations["minetest survival"];
    let query = configuration.slot_query().expect("it has a queryType");
    assert_eq!(query.protocol, "udp:4f45740300000003ffdc0100:4f457403000100");
    assert_eq!(query.port, slot::QueryPort::Game);
    assert!(!config.fleets["minetest"].start_on_provision.value);
}

/// Reference 3.4: "Start on provision: off by default". Shows `start on provision`.
#[test]
fn what_is_not_stated_follows_the_gsh_schema() {
    let text = "version: 1.0
builds: { a: { buildPath: x } }
buildConfigurations:
  plain: { build: a, binaryPath: a }
  older: { build: a, binaryPath: a, cores: 2 }
  capped:
    build: a
    binaryPath: a
    limits: { cpu: 0.25, memoryMiB: 100MB }
    caps: { cpuQuota: 1.5, memoryMiB: 1GiB }
    stop: { signal: sigint, killTimeout: 1m }
    restart: { attempts: 3, within: 1h }
    queryType: sqp
    checks:
      { every: 1s, failures: 2, within: 1m, cpuTolerance: 25%, memoryTolerance: 50MB, signal: SIGABRT }
    recovery: restart
fleets:
  quiet: { buildConfigurations: [plain], regions: { here: { minAvailable: 0, maxServers: 1 } } }
";
    let config = load(&[SourceFile::new("a.yaml", text)]).unwrap().config;
    let of = |name: &str| &config.build_configurations[name];
    assert_eq!(of("plain").slot_limits(&MACHINE), slot::Limits { cpu_millis: 250, memory_mib: 800 });
    assert_eq!(of("older").slot_limits(&MACHINE), slot::Limits { cpu_millis: 500, memory_mib: 800 });
    assert_eq!(of("plain").slot_query(), None);
    assert_eq!(
        of("capped").slot_query(),
        Some(slot::Query {
            protocol: "sqp".into(),
            port: slot::QueryPort::Query,
            timeout: Duration::from_secs(1),
            start_grace: Duration::from_secs(120),
        })
    );
    assert!(!config.fleets["quiet"].start_on_provision.value);
    assert_eq!(of("plain").slot_stop(), slot::StopPolicy::default());
    assert_eq!(of("capped").slot_limits(&MACHINE), slot::Limits { cpu_millis: 250, memory_mib: 96 });
    assert_eq!(of("capped").slot_caps(), slot::Caps { cpu_millis: Some(1_500), memory_mib: Some(1_024) });
    assert_eq!(of("capped").slot_stop(), slot::StopPolicy { signal: 2, kill_after: Duration::from_secs(60) });
    assert_eq!(
        of("capped").slot_restart(),
        slot::RestartPolicy { attempts: 3, within: Duration::from_secs(3_600) }
    );
    assert_eq!(of("plain").slot_checks(), slot::Checks::default());
    assert_eq!(of("plain").slot_recovery(), slot::Recovery::PreRecovery);
    assert_eq!(
        of("capped").slot_checks(),
        slot::Checks {
            every: Duration::from_secs(1),
            failures: 2,
            within: Duration::from_secs(60),
            cpu_tolerance_percent: 25,
            memory_tolerance_bytes: 50_000_000,
            signal: 6,
        }
    );
    assert_eq!(of("capped").slot_recovery(), slot::Recovery::Restart);
}

/// Issue 4, 9: "queues in `mainstay.yaml` in our words, and PlayFab queue JSON of both shapes pasted as is".
#[test]
fn a_queue_means_the_same_in_our_words_and_in_both_of_playfabs() {
    let ours = "
      - name: duel
        minMatchSize: 2
        maxMatchSize: 2
        gather: 1s
        statisticsVisibilityToPlayers: { showTimeToMatch: yes }
        teams: [{ name: red, minTeamSize: 1, maxTeamSize: 1 }, { name: blue, minTeamSize: 1, maxTeamSize: 1 }]
        rules:
          - { name: mode, type: StringEqualityRule, attribute: { path: mode }, attributeNotSpecifiedBehavior: UseDefault, defaultAttributeValue: 40, weight: 1 }
          - name: skill
            type: DifferenceRule
            attribute: { source: PlayerEntity, path: skill }
            difference: 0.2
            attributeNotSpecifiedBehavior: MatchAny
            secondsUntilOptional: 30
            expansion: { type: Linear, delta: 0.1, limit: 0.5, secondsBetweenExpansions: 5 }
          - { name: total, type: MatchTotalRule, attribute: { path: role }, min: 0, max: 2, weight: 1, expansion: { maxOverrides: [2, null, 4], secondsBetweenExpansions: 5 } }";
    let api = r#"
      [{ "MatchmakingQueue": { "Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2, "Gather": "1s",
        "StatisticsVisibilityToPlayers": { "ShowNumberOfPlayersMatching": false, "ShowTimeToMatch": true },
        "Teams": [{ "Name": "red", "MinTeamSize": 1, "MaxTeamSize": 1 }, { "Name": "blue", "MinTeamSize": 1, "MaxTeamSize": 1 }],
        "StringEqualityRules": [{ "Name": "mode", "Attribute": { "Path": "mode", "Source": "User" }, "AttributeNotSpecifiedBehavior": "UseDefault", "DefaultAttributeValue": "40", "Weight": 1 }],
        "DifferenceRules": [{ "Name": "skill", "Attribute": { "Path": "skill", "Source": "PlayerEntity" }, "Difference": 0.2, "MergeFunction": "Average", "AttributeNotSpecifiedBehavior": "MatchAny",
          "LinearExpansion": { "Delta": 0.1, "Limit": 0.5, "SecondsBetweenExpansions": 5 }, "SecondsUntilOptional": 30, "Weight": 1 }],
        "MatchTotalRules": [{ "Name": "total", "Attribute": { "Path": "role" }, "Min": 0, "Max": 2, "Weight": 1,
          "Expansion": { "MaxOverrides": [{ "Value": 2 }, null, { "Value": 4 }], "SecondsBetweenExpansions": 5 } }] } }]"#;
    let documented = r#"
      - { "Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2, "Gather": "1s", "StatisticsVisibilityToPlayers": { "ShowTimeToMatch": true },
        "Teams": [{ "Name": "red", "MinTeamSize": 1, "MaxTeamSize": 1 }, { "Name": "blue", "MinTeamSize": 1, "MaxTeamSize": 1 }],
        "Rules": [
          { "Type": "StringEqualityRule", "Name": "mode", "Attribute": { "Path": "mode" }, "AttributeNotSpecifiedBehavior": "UseDefault", "DefaultAttributeValue": "40" },
          { "Type": "DifferenceRule", "Name": "skill", "Attribute": { "Path": "skill", "Source": "PlayerEntity" }, "MaxDifference": 0.2, "AttributeNotSpecifiedBehavior": "MatchAny",
            "Expansion": { "Type": "Linear", "Delta": 0.1, "Limit": 0.5, "SecondsBetweenExpansions": 5 }, "SecondsUntilOptional": 30 },
          { "Type": "MatchTotalRule", "Name": "total", "Attribute": { "Path": "role" }, "Min": 0, "Max": 2,
            "Expansion": { "Type": "Custom", "MaxOverrides": [2, null, 4], "SecondsBetweenExpansions": 5 } }] }"#;
    let [ours, api, documented] = [ours, api, documented].map(|queues| {
        let text = format!("version: 1.0\nqueues:{queues}\n");
        let loaded = load(&[SourceFile::new("a.yaml", text)]).unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(loaded.warnings, []);
        loaded.config.queues["duel"].spec.clone()
    });
    assert_eq!((ours.rules.len(), ours.gather.ms()), (3, 1_000));
    assert_eq!(ours, api);
    assert_eq!(ours, documented);
}

/// Issue 4, 6: "BuildId and AliasId of pasted queues resolve to a fleet and build configuration through config".
#[test]
fn a_queues_servers_are_of_a_fleet_whether_in_our_words_or_by_a_build_of_playfabs() {
    let text = "version: 1.0
builds: { arena: { buildPath: dist } }
buildConfigurations: { ranked: { build: arena, binaryPath: arena.x86_64 } }
fleets: { europe: { buildConfigurations: [ranked], regions: { Europe: { maxServers: 8 } } } }
playfab: { builds: { 29ba9d61: { fleet: europe, buildConfiguration: ranked } } }
queues:
  - { name: ours, minMatchSize: 2, maxMatchSize: 2, allocate: { fleet: europe, buildConfiguration: ranked } }
  - { Name: byId, MinMatchSize: 2, MaxMatchSize: 2, ServerAllocationEnabled: true, BuildId: 29ba9d61 }
  - { Name: byAlias, MinMatchSize: 2, MaxMatchSize: 2, ServerAllocationEnabled: true, BuildAliasParams: { AliasId: 29ba9d61 } }
  - { Name: asShown, MinMatchSize: 2, MaxMatchSize: 2, ServerAllocationEnabled: true, BuildId: europe/ranked }
  - { name: beside, minMatchSize: 2, maxMatchSize: 2, allocate: { fleet: europe, buildConfiguration: ranked }, buildAliasParams: { aliasId: a } }
  - { name: without, minMatchSize: 2, maxMatchSize: 2 }
  - { Name: off, MinMatchSize: 2, MaxMatchSize: 2, ServerAllocationEnabled: false, BuildId: 29ba9d61 }
";
    let config = load(&[SourceFile::new("a.yaml", text)]).unwrap().config;
    for name in ["ours", "byId", "byAlias", "asShown", "beside"] {
        let Some(Venue::Server(allocation)) = &config.queues[name].spec.venue else { panic!("{name}") };
        assert_eq!((&*allocation.fleet, &*allocation.build_configuration), ("europe", "ranked"), "{name}");
        assert_eq!(allocation.build.is_some(), name.starts_with("by"), "shown again as it came");
    }
    // A build stands for nothing beside servers in our words, where a queue that named both could not be set again; and is kept where
    // there are no servers.
    assert_eq!(config.queues["beside"].spec.unread, Unread::default());
    for (name, build) in [("without", None), ("off", Some("29ba9d61"))] {
        let spec = &config.queues[name].spec;
        assert_eq!((&spec.venue, spec.unread.build_id.as_deref()), (&None, build), "{name}");
    }
}
