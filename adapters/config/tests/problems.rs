//! One row a rule: the smallest file that breaks it, and what is said. Every code has a row and an explanation.

use std::collections::BTreeSet;

use mainstay_config::{
    Accepted, Code, Found, Private, Problem, Refused, SourceFile, check_files, explain, limits, load,
    load_here, look_on_disk,
};

/// A whole file; `{…}` parts are replaced by the rows.
const BASE: &str = "\
version: 1.0
builds:
  arena:
    buildPath: dist
buildConfigurations:
  ranked:
    build: arena
    binaryPath: arena.x86_64
    commandLine: -port $$port$$
fleets:
  europe:
    buildConfigurations: [ranked]
    regions:
      Europe: { minAvailable: 1, maxServers: 4 }
";

fn check(text: &str) -> Vec<Problem> {
    match load(&[SourceFile::new("mainstay.yaml", text)]) {
        Ok(Accepted { warnings, .. }) => warnings,
        Err(Refused { problems, .. }) => problems,
    }
}

fn with(from: &str, to: &str) -> String {
    assert!(BASE.contains(from), "{from}");
    BASE.replacen(from, to, 1)
}

/// Lines added to the build configuration.
fn configured(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    with("    commandLine: -port $$port$$\n", &lines)
}

/// Lines added to the fleet.
fn fleet(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("{BASE}{lines}")
}

/// Text, the code, line and column of the first mark, and a part of the fix.
type Row = (String, Code, (u32, u32), &'static str);

fn rows() -> Vec<Row> {
    let mut rows = file_rows();
    rows.extend(configuration_rows());
    rows.extend(fleet_rows());
    rows.extend(queue_rows());
    rows
}

/// A queue of two players with further lines.
fn queue(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("version: 1.0\nqueues:\n  - name: duel\n    minMatchSize: 2\n    maxMatchSize: 2\n{lines}")
}

fn queue_rows() -> Vec<Row> {
    let rule = |text: &str| queue(&format!("rules:\n  - {{ name: skill, {text} }}"));
    vec![
        ("version: 1.0\nqueues: { duel: {} }\n".into(), Code::WrongShape, (2, 1), "a list"),
        ("version: 1.0\nqueues:\n  - minMatchSize: 2\n".into(), Code::MissingKey, (3, 5), "name:"),
        (format!("{}  - Name: duel\n", queue("")), Code::DuplicateName, (6, 11), "rename"),
        (queue("maxTicketsize: 1"), Code::UnknownKey, (6, 5), "maxTicketSize"),
        (queue("maxTicketSize: one"), Code::BadNumber, (6, 20), "a number"),
        (queue("maxTicketSize: -1"), Code::BadQueue, (3, 5), "queues.md"),
        (queue("maxMatchSize: 2"), Code::DuplicateKey, (6, 5), "keep one"),
        (queue("MaxMatchSize: 3"), Code::DuplicateKey, (6, 5), "keep one"),
        (
            "version: 1.0\nqueues:\n  - MatchmakingQueue: { Name: duel, MinMatchSize: 2, MaxMatchSize: 2 }\n    rules: []\n".into(),
            Code::UnknownKey,
            (4, 5),
            "move it into",
        ),
        (
            format!(
                "{BASE}queues: [{{ name: q, minMatchSize: 2, maxMatchSize: 2, session: online, allocate: {{ fleet: europe, buildConfiguration: ranked }} }}]\n"
            ),
            Code::BadQueue,
            (15, 55),
            "keep one",
        ),
        (
            format!(
                "{BASE}queues: [{{ name: q, minMatchSize: 2, maxMatchSize: 2, serverAllocationEnabled: false, allocate: {{ fleet: europe, buildConfiguration: ranked }} }}]\n"
            ),
            Code::BadQueue,
            (15, 55),
            "keep one",
        ),
        (queue("regions: [Europe]"), Code::BadQueue, (6, 5), "queues.md"),
        (queue("gather: 2m"), Code::BadQueue, (6, 5), "queues.md"),
        (queue("gather: 1000"), Code::BadQueue, (6, 5), "queues.md"),
        (
            format!(
                "{BASE}queues: [{{ name: q, minMatchSize: 2, maxMatchSize: 2, regions: [europe, Atlantis], regionSelectionRule: {{ name: r, path: latency, maxLatency: 80, weight: 1 }}, allocate: {{ fleet: europe, buildConfiguration: ranked }} }}]\n"
            ),
            Code::NoServers,
            (15, 18),
            "mend the name",
        ),
        (
            format!(
                "{}queues: [{{ name: q, minMatchSize: 2, maxMatchSize: 2, regions: [Europe, eu], regionSelectionRule: {{ name: r, path: latency, maxLatency: 80, weight: 1 }}, allocate: {{ fleet: europe, buildConfiguration: ranked }} }}]\n",
                with("Europe: { min", "Europe: { aliases: [EU], min")
            ),
            Code::BadQueue,
            (15, 18),
            "name it once: Europe",
        ),
        (queue("serverAllocationEnabled: true"), Code::BadQueue, (3, 5), "queues.md"),
        (
            queue(
                "serverAllocationEnabled: true
buildId: a-b",
            ),
            Code::NoServers,
            (3, 11),
            "map it",
        ),
        (
            queue("serverAllocationEnabled: true\nbuildId: europe/ranked"),
            Code::NoServers,
            (3, 11),
            "mend the name",
        ),
        (queue("allocate: { fleet: europe }"), Code::MissingKey, (6, 5), "buildConfiguration"),
        (
            queue("allocate: { fleet: europe, buildConfiguration: ranked }"),
            Code::NoServers,
            (6, 24),
            "mend the name",
        ),
        (
            format!(
                "{BASE}queues: [{{ name: q, minMatchSize: 2, maxMatchSize: 2, allocate: {{ fleet: europe, buildConfiguration: rankd }} }}]\n"
            ),
            Code::NoServers,
            (15, 102),
            "ranked",
        ),
        (
            format!("{BASE}playfab: {{ builds: {{ a: {{ fleet: europ, buildConfiguration: ranked }} }} }}\n"),
            Code::NoServers,
            (15, 34),
            "europe",
        ),
        (format!("{BASE}playfab: {{ titleId: A1-B2 }}\n"), Code::BadName, (15, 21), "such as titleId"),
        (
            format!("{BASE}playfab: {{ titleId: 12345678901234567 }}\n"),
            Code::BadName,
            (15, 21),
            "such as titleId",
        ),
        (queue("serverAllocationEnabled: maybe"), Code::NotAllowed, (6, 30), "true or false"),
        (
            queue("teams: [{ name: red, minTeamSize: 1, maxTeamSize: 2 }]"),
            Code::BadQueue,
            (6, 5),
            "queues.md",
        ),
        (
            queue(
                "teams:\n  - { name: red, minTeamSize: 2, maxTeamSize: 1 }\n  - { name: blue, maxTeamSize: 1 }",
            ),
            Code::BadQueue,
            (7, 9),
            "queues.md",
        ),
        (rule("difference: 1"), Code::MissingKey, (7, 9), "DifferenceRule"),
        (rule("type: Differencerule"), Code::NotAllowed, (7, 30), "DifferenceRule"),
        (rule("type: DifferenceRule, maxLatency: 1"), Code::UnknownKey, (7, 46), "remove it"),
        (
            rule(
                "type: DifferenceRule, attribute: { path: skill }, difference: far, attributeNotSpecifiedBehavior: MatchAny",
            ),
            Code::BadNumber,
            (7, 86),
            "a number",
        ),
        (
            rule("type: DifferenceRule, attribute: { path: skill }, difference: 1"),
            Code::BadQueue,
            (7, 9),
            "queues.md",
        ),
        (rule("type: DifferenceRule, attribute: skill"), Code::WrongShape, (7, 57), "a mapping"),
        (
            rule(&format!("{SHARED}, defaultAttributeValue: [a, b]")),
            Code::DefaultFitsNobody,
            (7, 9),
            "lengthen the default",
        ),
    ]
}

/// A rule that wants three values shared, but for its default.
const SHARED: &str = "type: SetIntersectionRule, attribute: { path: maps }, minIntersectionSize: 3, attributeNotSpecifiedBehavior: UseDefault";

/// The specification allows a default that is too short: a warning, and none where it fits anybody by and by.
#[test]
fn a_default_is_too_short_where_its_rule_never_lets_it() {
    let warned = |rest: &str| {
        let text = queue(&format!("rules:\n  - {{ name: maps, {SHARED}, {rest} }}\n"));
        let problems = check(&text);
        assert!(problems.iter().all(|problem| problem.code == Code::DefaultFitsNobody), "{problems:?}");
        !problems.is_empty()
    };
    assert!(warned("defaultAttributeValue: []"));
    assert!(!warned("defaultAttributeValue: [a, b, c]"));
    let shrinks = "linearExpansion: { delta: 1, secondsBetweenExpansions: 5 }";
    assert!(!warned(&format!("defaultAttributeValue: [a, b], {shrinks}")));
    assert!(!warned("defaultAttributeValue: [a], secondsUntilOptional: 30"));
}

fn file_rows() -> Vec<Row> {
    vec![
        ("version: 1.0\nbuilds: [a\n".into(), Code::Syntax, (2, 9), "mend the YAML"),
        ("version: 1.0\nbuilds:\n\ta: b\n".into(), Code::Syntax, (3, 2), "mend the YAML"),
        ("version: 1.0\n---\nversion: 1.0\n".into(), Code::Syntax, (2, 1), "mend the YAML"),
        ("version: 1.0\nx-a: &a [*a]\n".into(), Code::Syntax, (2, 10), "mend the YAML"),
        ("version: 1.0\nx-a: *b\n".into(), Code::Syntax, (2, 6), "mend the YAML"),
        (format!("x: {}{}", "[".repeat(33), "]".repeat(33)), Code::TooBig, (1, 35), "flatten"),
        ("- a\n".into(), Code::WrongShape, (1, 1), "a mapping"),
        ("just words\n".into(), Code::WrongShape, (1, 1), "a mapping"),
        (
            with("builds:\n  arena:\n    buildPath: dist", "builds: arena"),
            Code::WrongShape,
            (2, 9),
            "a mapping",
        ),
        (with("build: arena", "build: [arena]"), Code::WrongShape, (7, 5), "a single value"),
        (with("[ranked]", "ranked"), Code::WrongShape, (12, 26), "a list"),
        (with("[ranked]", "[[ranked]]"), Code::WrongShape, (12, 27), "a single value"),
        (with("fleets:", "flets:"), Code::UnknownKey, (10, 1), "did you mean fleets?"),
        (with("buildPath:", "path_of_build:"), Code::UnknownKey, (4, 5), "x-"),
        (
            with("minAvailable: 1", "minavailable: 1"),
            Code::UnknownKey,
            (14, 17),
            "did you mean minAvailable?",
        ),
        (format!("{BASE}<<: {{}}\n"), Code::UnknownKey, (15, 1), "x-"),
        (format!("{BASE}version: 1.0\n"), Code::DuplicateKey, (15, 1), "keep one"),
        (with("build: arena", "build: arena\n    build: arena"), Code::DuplicateKey, (8, 5), "keep one"),
        (with("version: 1.0\n", ""), Code::Version, (1, 1), "version: 1.0"),
        (with("version: 1.0", "version: 1"), Code::Version, (1, 10), "version: 1.0"),
        (with("version: 1.0", "version: 2.0"), Code::Version, (1, 10), "version: 1.0"),
        (format!("{BASE}sessions: {{}}\n"), Code::NotYet, (15, 1), "x-sessions"),
        (format!("{BASE}webhooks:\n"), Code::NotYet, (15, 1), "x-webhooks"),
        (format!("{BASE}import: []\n"), Code::NotYet, (15, 1), "x-import"),
        (with("buildPath: dist", "image: a:1"), Code::ImageUnusable, (4, 12), "docker://"),
        (
            with("  arena:", "  ' ':").replace("build: arena", "build: ' '"),
            Code::BadName,
            (3, 3),
            "another name",
        ),
        (
            with("  arena:", "  \"a\\eb\":").replace("build: arena", "build: \"a\\eb\""),
            Code::BadName,
            (3, 3),
            "another name",
        ),
        (with("  europe:", &format!("  {}:", "e".repeat(129))), Code::BadName, (11, 3), "another name"),
        (with("Europe: {", "? [Europe]\n      : {"), Code::WrongShape, (14, 9), "a name"),
        (format!("{BASE}machines: {{ ports: 20000 }}\n"), Code::BadPorts, (15, 20), "20000-20999"),
        (format!("{BASE}machines: {{ ports: 80-90 }}\n"), Code::BadPorts, (15, 20), "20000-20999"),
        (format!("{BASE}machines: {{ ports: 2000-2000 }}\n"), Code::BadPorts, (15, 20), "20000-20999"),
        (format!("{BASE}machines: {{ disk: much }}\n"), Code::BadDisk, (15, 19), "20GiB"),
        (format!("{BASE}machines: {{ disk: 0 }}\n"), Code::BadDisk, (15, 19), "20GiB"),
        (format!("{BASE}machines: {{ join: maybe }}\n"), Code::NotAllowed, (15, 19), "known words"),
        (format!("{BASE}machines: [{{ join: allowed }}]\n"), Code::WrongShape, (15, 1), "mapping"),
        (format!("{BASE}machines: {{ region: Europe }}\n"), Code::NotYet, (15, 13), "x-"),
        (
            format!("{BASE}lobbies: {{ lan: {{ passLife: 9s }} }}\n"),
            Code::BadDuration,
            (15, 29),
            "passLife: 1d",
        ),
        (
            format!("{BASE}lobbies: {{ lan: {{ passLife: 31d }} }}\n"),
            Code::BadDuration,
            (15, 29),
            "passLife: 1d",
        ),
    ]
}

fn configuration_rows() -> Vec<Row> {
    let cap = "limits: { memoryMiB: 512 }\ncaps: { memoryMiB: 702 }";
    let default_cap = "cores: 1\ncaps: { memoryMiB: 900MB }";
    let quota = "limits: { cpu: 0.5 }\ncaps: { cpuQuota: 0.55 }";
    let unstated_cap = "caps: { memoryMiB: 100 }";
    let unstated_quota = "caps: { cpuQuota: 0.01 }";
    let long = format!("commandLine: {}", "a".repeat(limits::COMMAND_LINE_BYTES_MAX + 1));
    vec![
        (with("    build: arena\n", ""), Code::MissingKey, (6, 3), "add build:"),
        (with("    binaryPath: arena.x86_64\n", ""), Code::MissingKey, (6, 3), "add binaryPath:"),
        (with("build: arena", "build: arenna"), Code::UnknownBuild, (7, 12), "did you mean \"arena\"?"),
        (
            with("binaryPath: arena.x86_64", "binaryPath: /usr/games/teeworlds-server"),
            Code::BadBinaryPath,
            (8, 17),
            "binaryPath: teeworlds-server with the build's buildPath: /usr/games/",
        ),
        (with("arena.x86_64", "a/../../b"), Code::BadBinaryPath, (8, 17), "folder above"),
        (with("arena.x86_64", "''"), Code::BadBinaryPath, (8, 17), "write"),
        (with("-port $$port$$", "-a 'b"), Code::BadCommandLine, (9, 18), "close it"),
        (configured(&long), Code::BadCommandLine, (9, 18), "into a file"),
        (with("$$port$$", "$$prot$$"), Code::UnknownVariable, (9, 24), "did you mean $$port$$?"),
        (with("$$port$$", "$$map$$"), Code::UnknownVariable, (9, 24), "define map under variables"),
        (configured("queryType: spq"), Code::NotAllowed, (9, 16), "did you mean queryType: sqp?"),
        (configured("readiness: perhaps"), Code::NotAllowed, (9, 16), "readiness: true"),
        (configured("cores: 0"), Code::BadNumber, (9, 12), "cores: 1"),
        (configured("cores: many"), Code::BadNumber, (9, 12), "cores: 1"),
        (configured("speedMhz: 1.5"), Code::BadNumber, (9, 15), "speedMhz: 1"),
        (configured("memoryMiB: lots"), Code::BadSize, (9, 16), "memoryMiB: 512"),
        (configured("memoryMiB: 0"), Code::BadSize, (9, 16), "memoryMiB: 512"),
        (configured("limits: { cpu: 0 }"), Code::BadNumber, (9, 20), "cpu: 0.5"),
        (configured("limits: { cpu: half }"), Code::BadNumber, (9, 20), "cpu: 0.5"),
        (configured("limits: { memoryMiB: 1XB }"), Code::BadSize, (9, 26), "memoryMiB: 512"),
        (configured("limits: { cpu: 1 }\ncores: 1"), Code::LimitsTwice, (9, 5), "keep limits"),
        (configured(cap), Code::CapTooLow, (10, 24), "at least memoryMiB: 703"),
        (configured(default_cap), Code::CapTooLow, (10, 24), "at least memoryMiB: 991"),
        (configured(unstated_cap), Code::CapTooLow, (9, 24), "at least memoryMiB: 991"),
        (configured(quota), Code::QuotaHidesCheck, (10, 23), "cpuQuota: off"),
        (configured(unstated_quota), Code::QuotaHidesCheck, (9, 23), "cpuQuota: off"),
        (configured("caps: { cpuQuota: none }"), Code::BadNumber, (9, 23), "cpuQuota: 0.5"),
        (configured("stop: { killTimeout: 20 }"), Code::BadDuration, (9, 26), "killTimeout: 20s"),
        (configured("stop: { killTimeout: 2h }"), Code::BadDuration, (9, 26), "killTimeout: 20s"),
        (configured("stop: { signal: TERM }"), Code::NotAllowed, (9, 21), "known words"),
        (configured("restart: { attempts: -1 }"), Code::BadNumber, (9, 26), "attempts: 1"),
        (configured("restart: { attempts: 64 }"), Code::BadNumber, (9, 26), "attempts: 1"),
        (configured("restart: { within: 0s }"), Code::BadDuration, (9, 24), "within: 30m"),
        (configured("startTimeout: soon"), Code::BadDuration, (9, 19), "startTimeout: 2m"),
        (configured("queryType: udp"), Code::QueryMismatch, (9, 5), "request"),
        (configured("queryType: udp\nquery: { expect: 00 }"), Code::QueryMismatch, (10, 5), "request"),
        (
            configured("queryType: sqp\nquery: { request: 00 }"),
            Code::QueryMismatch,
            (10, 14),
            "queryType: udp",
        ),
        (configured("queryType: udp\nquery: { request: 0 }"), Code::BadHex, (10, 23), "request"),
        (configured("queryType: udp\nquery: { request: '' }"), Code::BadHex, (10, 23), "request"),
        (configured("query: { timeout: 2s }"), Code::HasNoEffect, (9, 5), "remove it"),
        (configured("queryType: sqp\nquery: { every: 10s }"), Code::NotYet, (10, 14), "x-every"),
        (configured("queryType: sqp\nquery: { timeout: 2m }"), Code::BadDuration, (10, 23), "timeout: 1s"),
        (configured("queryType: sqp\nquery: { port: game2 }"), Code::NotAllowed, (10, 20), "port: game?"),
        (configured("env: { 1A: x }"), Code::BadVariableName, (9, 12), "rename"),
        (configured("env: { A B: x }"), Code::BadVariableName, (9, 12), "rename"),
        (configured("env: { A: \"\\0\" }"), Code::BadVariableName, (9, 12), "rename"),
        (configured("env: { A: [x] }"), Code::WrongShape, (9, 12), "a single value"),
        (configured("variables: { $$a: x }"), Code::BadVariableName, (9, 18), "rename"),
        (configured("variables: { queryPort: x }"), Code::ShadowedVariable, (9, 29), "gameQueryPort"),
        (configured("protocol: agones"), Code::NotYet, (9, 5), "x-protocol"),
        (configured("checks: { every: 10ms }"), Code::BadDuration, (9, 22), "every: 1m"),
        (configured("checks: { failures: 0 }"), Code::BadNumber, (9, 25), "failures"),
        (configured("checks: { cpuTolerance: -1% }"), Code::BadNumber, (9, 29), "cpuTolerance"),
        (configured("checks: { signal: SIGSTOP }"), Code::NotAllowed, (9, 23), "one of the known words"),
        (configured("recovery: never"), Code::NotAllowed, (9, 15), "one of the known words"),
    ]
}

fn fleet_rows() -> Vec<Row> {
    let usage = |text: &str| fleet(&format!("usageSettings: [{{ {text} }}]"));
    vec![
        (with("[ranked]", "[rankd]"), Code::UnknownBuildConfiguration, (12, 27), "did you mean \"ranked\"?"),
        (with("[ranked]", "[casual]"), Code::UnknownBuildConfiguration, (12, 27), "file that defines it"),
        (with("maxServers: 4", "maxServers: -4"), Code::BadNumber, (14, 46), "maxServers: 1"),
        (with("maxServers: 4", "maxServers: 1000001"), Code::BadNumber, (14, 46), "maxServers: 1"),
        (with("maxServers: 4", "maxServers: 0"), Code::RegionHoldsNothing, (14, 46), "online: false"),
        (with(", maxServers: 4", ""), Code::RegionHoldsNothing, (14, 7), "online: false"),
        (with("maxServers: 4", "maxServers: 4, online: off-ish"), Code::NotAllowed, (14, 57), "online: true"),
        (
            with("    buildConfigurations: [ranked]\n", ""),
            Code::NothingToRun,
            (11, 3),
            "build configurations",
        ),
        (
            with("Europe: {", "europe: { maxServers: 1 }\n      Europe: {"),
            Code::DuplicateName,
            (15, 7),
            "rename",
        ),
        (with("[ranked]", "[ranked, ranked]"), Code::HasNoEffect, (12, 35), "remove it"),
        (fleet("startOnProvision: 2"), Code::NotAllowed, (15, 23), "startOnProvision: true"),
        (fleet("placementTimeout: 60"), Code::BadDuration, (15, 23), "placementTimeout: 60s"),
        (fleet("allocationRetention: 1s"), Code::BadDuration, (15, 26), "allocationRetention: 1h"),
        (fleet("allocationType: RENTAL"), Code::NotAllowed, (15, 21), "known words"),
        (fleet("allocationTTL: 60"), Code::BadDuration, (15, 20), "allocationTTL: 60s"),
        (fleet("allocationTTLReading: old"), Code::NotAllowed, (15, 27), "known words"),
        (fleet("holdMax: 100d"), Code::BadDuration, (15, 14), "holdMax: 1d"),
        (fleet("allocationTTL: 2h"), Code::HasNoEffect, (15, 20), "remove it"),
        (fleet("architecture: mips"), Code::NotAllowed, (15, 19), "known words"),
        (fleet("placement: packed"), Code::NotYet, (15, 5), "x-placement"),
        (fleet("ttl: { shutdown: 10m, delete: 1m }"), Code::TtlOrder, (15, 35), "raise delete"),
        (fleet("lost: { after: 1s }"), Code::BadDuration, (15, 20), "after: 1m"),
        (fleet("lost: { allocations: forget }"), Code::NotAllowed, (15, 26), "known words"),
        (
            with("minAvailable: 1", "provider: cloud, minAvailable: 1"),
            Code::UnknownProvider,
            (14, 27),
            "mend the name",
        ),
        (
            format!("{BASE}providers: {{ cloud: {{ command: x }} }}\n"),
            Code::MissingKey,
            (15, 14),
            "add slots",
        ),
        (
            format!("{BASE}providers: {{ cloud: {{ slots: 4 }} }}\n"),
            Code::MissingKey,
            (15, 14),
            "add command",
        ),
        (
            format!("{BASE}providers: {{ cloud: {{ command: x, slots: 0 }} }}\n"),
            Code::BadNumber,
            (15, 42),
            "slots: 1",
        ),
        (fleet("crashLimit: {}"), Code::NotYet, (15, 5), "x-crashLimit"),
        (usage("maxServersPerMachine: 2"), Code::BadUsage, (15, 21), "hardwareType"),
        (usage("hardwareType: CLOUD"), Code::BadUsage, (15, 37), "maxServersPerMachine"),
        (usage("hardwareType: WOOD"), Code::NotAllowed, (15, 37), "known words"),
        (usage("hardwareType: METAL, machineType: x"), Code::BadUsage, (15, 44), "remove machineType"),
        (
            usage("hardwareType: CLOUD, maxServersPerMachine: 1, maxServersPerCore: 1"),
            Code::BadUsage,
            (15, 69),
            "METAL",
        ),
        (
            usage("hardwareType: METAL, maxServersPerMachine: 0"),
            Code::BadNumber,
            (15, 66),
            "maxServersPerMachine: 1",
        ),
    ]
}

#[test]
fn the_base_is_without_problems() {
    assert_eq!(check(BASE), []);
}

#[test]
fn every_rule_is_told_at_its_place_with_its_fix() {
    let mut wrong = Vec::new();
    for (text, code, place, fix) in rows() {
        let problems = check(&text);
        let told: Vec<_> = problems
            .iter()
            .map(|problem| (problem.code, (problem.marks[0].place.line, problem.marks[0].place.column)))
            .collect();
        let fixes = problems.iter().any(|problem| problem.fix.as_deref().unwrap_or("").contains(fix));
        if told != [(code, place)] || !fixes {
            let shown = problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            wrong.push(format!("wanted only {code} at {place:?}, fix {fix:?}; got\n{shown}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_a_table_of_single_files_cannot_show_is_told_too() {
    let files = |names: &[&str]| -> Vec<SourceFile> {
        names.iter().map(|name| SourceFile::new(*name, BASE)).collect()
    };
    let refused = load(&files(&["a.yaml", "b.yaml"])).unwrap_err();
    let told: Vec<_> = refused
        .problems
        .iter()
        .map(|problem| {
            (problem.code, problem.marks.iter().map(|mark| mark.place.to_string()).collect::<Vec<_>>())
        })
        .collect();
    let twice =
        |line: u32| (Code::DuplicateName, vec![format!("b.yaml:{line}:3"), format!("a.yaml:{line}:3")]);
    assert_eq!(told, [twice(3), twice(6), twice(11)]);

    let machines = "version: 1.0\nmachines: { join: none }\n";
    let refused = load(&[SourceFile::new("a", machines), SourceFile::new("b", machines)]).unwrap_err();
    assert_eq!(refused.problems[0].code, Code::DuplicateName);
    assert_eq!(refused.problems[0].marks[0].place.to_string(), "b:2:1");
}

#[test]
fn files_complete_each_other() {
    let (builds, rest) = BASE.split_at(BASE.find("buildConfigurations:").unwrap());
    let rest = format!("version: 1.0\n{rest}");
    let files = [SourceFile::new("rest.yaml", rest), SourceFile::new("sub/builds.gsh", builds)];
    let config = load(&files).unwrap().config;
    let path = &config.builds["arena"].path.as_ref().unwrap().value;
    assert_eq!(*path, mainstay_config::BuildPath::Folder("sub/dist".into()), "relative to its own file");
}

#[test]
fn files_over_a_limit_are_refused_with_the_limit() {
    let only = |files: &[SourceFile]| {
        let refused = load(files).unwrap_err();
        assert_eq!(refused.problems.len(), 1, "{refused}");
        refused.problems[0].clone()
    };
    let long = " ".repeat(limits::FILE_BYTES_MAX + 1);
    assert_eq!(only(&[SourceFile::new("long.yaml", long)]).code, Code::TooBig);
    let many = vec![SourceFile::new("a.yaml", "version: 1.0\n"); limits::FILES_MAX + 1];
    assert_eq!(only(&many).code, Code::TooBig);

    let bomb = (1..=30).fold("version: 1.0\nx-0: &a0 [x, x]\n".to_owned(), |text, n| {
        format!("{text}x-{n}: &a{n} [*a{m}, *a{m}]\n", m = n - 1)
    });
    let problem = only(&[SourceFile::new("bomb.yaml", bomb)]);
    assert_eq!(problem.code, Code::TooBig);
    assert!(problem.marks[0].place.line > 2);

    let nested = (1..20).fold("x".to_owned(), |inner, n| format!("&n{n} [{inner}, {}]", "y,".repeat(2_000)));
    assert_eq!(only(&[SourceFile::new("anchors.yaml", format!("x-a: {nested}\n"))]).code, Code::TooBig);

    let variables: String = (0..=limits::VARIABLES_MAX).map(|n| format!("  V{n}: x\n")).collect();
    assert_eq!(check(&configured(&format!("env:\n{variables}")))[0].code, Code::TooBig);

    let latin = only(&[SourceFile::new("latin.yaml", b"version: 1.0\nx-a: caf\xe9\n".to_vec())]);
    assert_eq!((latin.code, latin.marks[0].place.to_string()), (Code::Syntax, "latin.yaml:2:9".into()));
}

#[test]
fn problems_past_the_limit_are_counted() {
    let keys: String = (0..limits::PROBLEMS_MAX + 7).map(|n| format!("unknown{n}: 1\n")).collect();
    let refused = load(&[SourceFile::new("a.yaml", format!("version: 1.0\n{keys}"))]).unwrap_err();
    assert_eq!((refused.problems.len(), refused.left_out), (limits::PROBLEMS_MAX, 7));
    assert!(refused.to_string().ends_with("and 7 more problems"));
}

#[test]
fn a_broken_file_does_not_hide_the_problems_of_another() {
    let broken = SourceFile::new("broken.yaml", "a: [");
    let wrong = SourceFile::new("wrong.yaml", with("minAvailable: 1", "minAvailable: one, extra: 1"));
    let codes: Vec<_> =
        load(&[broken, wrong]).unwrap_err().problems.iter().map(|problem| problem.code).collect();
    assert_eq!(codes, [Code::Syntax, Code::BadNumber, Code::UnknownKey]);
}

fn config(text: &str) -> mainstay_config::Config {
    load(&[SourceFile::new("mainstay.yaml", text)]).unwrap_or_else(|refused| panic!("{refused}")).config
}

fn looked(text: &str, found: &[(&str, Found)]) -> Vec<(Code, String)> {
    let look = |path: &std::path::Path| {
        let row = found.iter().find(|(known, _)| path == std::path::Path::new(known));
        row.map_or(Found::Missing, |(_, found)| found.clone())
    };
    check_files(&config(text), &look)
        .iter()
        .map(|problem| (problem.code, problem.marks[0].label.clone()))
        .collect()
}

/// What its servers are was told once the rest of a queue was right.
#[test]
fn a_queue_that_cannot_match_is_told_what_its_servers_lack_too() {
    let codes = |text: &str| -> BTreeSet<Code> { check(text).iter().map(|problem| problem.code).collect() };
    let both = BTreeSet::from([Code::BadQueue, Code::NoServers]);
    let servers = "serverAllocationEnabled: true\nbuildId: a-b";
    for lines in ["allocate: { fleet: asia, buildConfiguration: ranked }", servers] {
        assert_eq!(codes(&queue(&format!("gather: 2m\n{lines}"))), both, "{lines}");
    }
    // A key that was refused is no second problem, and what its servers are is one.
    let refused = codes(&queue(&format!("maxTicketSize: one\n{servers}")));
    assert_eq!(refused, BTreeSet::from([Code::BadNumber, Code::NoServers]));
    let region = "regionSelectionRule: { name: r, path: latency, maxLatency: 80, weight: 1 }";
    let allocate = "allocate: { fleet: europe, buildConfiguration: ranked }";
    let of_nowhere = format!(
        "{BASE}queues: [{{ name: q, minMatchSize: 2, maxMatchSize: 1, regions: [Atlantis], {region}, {allocate} }}]\n"
    );
    assert_eq!(codes(&of_nowhere), both);
}

#[test]
fn files_are_looked_at_only_when_they_must_exist() {
    let folder = ("dist", Found::Folder);
    let binary = |found: Found| ("dist/arena.x86_64", found);
    assert_eq!(looked(BASE, &[folder.clone(), binary(Found::Executable)]), []);
    let one = |code: Code, label: &str| vec![(code, label.to_owned())];
    assert_eq!(looked(BASE, &[]), one(Code::BuildPathMissing, "does not exist"));
    assert_eq!(looked(BASE, &[("dist", Found::Executable)]), one(Code::BuildPathMissing, "is a file"),);
    let no_path = with("    buildPath: dist\n", "    executableName: a\n");
    assert_eq!(looked(&no_path, &[]), one(Code::BuildPathMissing, "has no buildPath"));
    let windows = with("buildPath: dist", r"buildPath: C:\dist");
    assert_eq!(looked(&windows, &[]), one(Code::BuildPathMissing, "is a Windows path"));
    assert_eq!(looked(BASE, std::slice::from_ref(&folder)), one(Code::BinaryMissing, "does not exist"));
    let plain = [folder.clone(), binary(Found::PlainFile)];
    assert_eq!(looked(BASE, &plain), one(Code::BinaryNotExecutable, "is not executable"));
    let unused = with("  arena:", "  unused:\n    buildPath: nowhere\n  arena:");
    assert_eq!(looked(&unused, &[folder, binary(Found::Executable)]), []);
}

/// Whoever may write a configuration is not thereby given the control plane's keys.
#[test]
fn a_build_in_the_control_planes_own_folder_is_refused_by_whatever_name() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    std::fs::create_dir_all(data.join("tls")).unwrap();
    std::fs::create_dir_all(data.join("demo")).unwrap();
    std::os::unix::fs::symlink(&data, dir.path().join("alias")).unwrap();
    let private = Private::of(&data);
    for (place, refused) in [
        ("data", true),
        ("data/tls", true),
        ("data/not/there/yet", true),
        ("alias/tls/../tls", true),
        ("data/demo/../tls", true),
        ("", false),
        ("data/demo", false),
        ("elsewhere", false),
    ] {
        assert_eq!(private.holds(&dir.path().join(place)), refused, "{place}");
    }
    let named = with("buildPath: dist", &format!("buildPath: {}", data.join("tls").display()));
    let problems = check_files(&config(&named), &private);
    assert_eq!(problems.iter().map(|it| it.code).collect::<Vec<_>>(), [Code::BuildPathPrivate]);
}

/// Issue 2, section 11: "all errors at once", those of the file system too.
#[test]
fn what_is_missing_is_told_together_with_what_is_wrong() {
    let nothing = |_: &std::path::Path| Found::Missing;
    let codes = |text: &str| -> Vec<Code> {
        let refused = load_here(&[SourceFile::new("mainstay.yaml", text)], &nothing).unwrap_err();
        refused.problems.iter().map(|problem| problem.code).collect()
    };
    assert_eq!(codes(BASE), [Code::BuildPathMissing]);
    let wrong = with("minAvailable: 1", "minAvailable: one");
    assert_eq!(codes(&wrong), [Code::BuildPathMissing, Code::BadNumber]);
}

/// An attacker's finding: one build that cannot be called what it is called hid every other name that does not exist.
#[test]
fn a_name_that_cannot_be_used_hides_no_other_that_does_not_exist() {
    let text = "version: 1.0\n\
        builds:\n  \"\": { buildPath: /srv }\n  good: { buildPath: /srv }\n\
        buildConfigurations:\n\
        \x20 one: { build: gone, binaryPath: x, queryType: none, commandLine: \"\" }\n\
        \x20 two: { build: \"\", binaryPath: x, queryType: none, commandLine: \"\" }\n\
        \x20 three: { build: good, binaryPath: x, queryType: none, commandLine: \"\" }\n";
    let refused = load(&[SourceFile::new("a.yaml", text)]).unwrap_err();
    let codes: Vec<Code> = refused.problems.iter().map(|problem| problem.code).collect();
    let unknown = codes.iter().filter(|code| **code == Code::UnknownBuild).count();
    assert!(codes.contains(&Code::BadName), "{refused}");
    assert_eq!(unknown, 1, "{refused}");
}

/// Issue 3, point 10: "Regions have a name and aliases, compared without case." What leads to two regions is refused, and both
/// places are shown; the same alias of the same region in two fleets is none.
#[test]
fn an_alias_leads_to_one_region() {
    let file = |regions: [&str; 2]| {
        let fleet = |name: &str, regions: &str| {
            format!("  {name}:\n    buildConfigurations: [c]\n    regions:\n      {regions}\n")
        };
        let text = format!(
            "version: 1.0\nbuilds: {{ b: {{ buildPath: /srv }} }}\n\
             buildConfigurations: {{ c: {{ build: b, binaryPath: x, queryType: none, commandLine: \"\" }} }}\n\
             fleets:\n{}{}",
            fleet("one", regions[0]),
            fleet("two", regions[1])
        );
        load(&[SourceFile::new("a.yaml", text)])
    };
    let same = ["Europe: { maxServers: 1, aliases: [EU] }", "europe: { maxServers: 1, aliases: [eu, emea] }"];
    let accepted = file(same).unwrap().config;
    assert_eq!(accepted.fleets["one"].regions["Europe"].aliases[0].value, "EU");
    for clash in [
        ["Europe: { maxServers: 1, aliases: [EU] }", "Asia: { maxServers: 1, aliases: [eu] }"],
        ["Europe: { maxServers: 1 }", "Asia: { maxServers: 1, aliases: [EUROPE] }"],
    ] {
        let refused = file(clash).unwrap_err();
        let [problem] = refused.problems.as_slice() else { panic!("{refused}") };
        let lines: Vec<u32> = problem.marks.iter().map(|mark| mark.place.line).collect();
        assert_eq!((problem.code, lines), (Code::DuplicateName, vec![12, 8]), "{refused}");
    }
}

#[test]
fn the_real_file_system_is_looked_at() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("server");
    assert_eq!(look_on_disk(&file), Found::Missing);
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    assert_eq!(look_on_disk(&file), Found::PlainFile);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(look_on_disk(&file), Found::Executable);
    let mode = |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o755);
    assert_eq!(look_on_disk(folder.path()), Found::Folder);
    mode(0o700);
    let closed = look_on_disk(folder.path());
    assert!(
        [Found::Folder, Found::ClosedFolder].contains(&closed),
        "{closed:?}: only root's games are other users"
    );
    assert_eq!(look_on_disk(std::path::Path::new("/dev/null")), Found::Other);
    assert!(matches!(look_on_disk(&file.join("below")), Found::Unreadable(_)));
}

#[test]
fn every_code_is_provoked_and_explained() {
    let mut provoked: BTreeSet<Code> = rows().into_iter().map(|(_, code, ..)| code).collect();
    // Shown by the tests above that need several files or a file system.
    provoked.extend([
        Code::DuplicateName,
        Code::BuildPathMissing,
        Code::BinaryMissing,
        Code::BinaryNotExecutable,
        Code::BuildPathPrivate,
    ]);
    assert_eq!(provoked, Code::ALL.iter().copied().collect());
    let texts: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(texts.len(), Code::ALL.len(), "codes are unique");
    for code in Code::ALL {
        let text = explain(&code.as_str().to_lowercase()).unwrap();
        assert!(text.len() > 40 && text.ends_with('.'), "{code}: {text}");
    }
    assert_eq!(explain("MS-P001"), None);
}

#[test]
fn nothing_unprintable_is_printed_whoever_said_it() {
    let texts = [
        "version: 1.0\nx-a: \u{7f}\n",
        "a: \u{1b}[31m",
        "!\u{85}<\u{0}> x",
        "&\u{9b} a",
        "%\u{7} 1",
        "\u{1}: 1",
    ];
    for text in texts {
        let files = [SourceFile::new("a\u{1b}[31m.yaml", text), SourceFile::new("b", "- a\n")];
        let shown = load(&files).unwrap_err().to_string();
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
    }
}

/// A title's id is text, whatever YAML would make of it, and an instance has one.
#[test]
fn an_instance_is_one_title() {
    let of = |file: &str, title: &str| {
        SourceFile::new(file, format!("version: 1.0\nplayfab: {{ titleId: {title} }}\n"))
    };
    for (written, read) in [("1A2B3", "1A2B3"), ("12345", "12345"), ("1E5", "1E5"), ("'0042'", "0042")] {
        let accepted = load(&[of("mainstay.yaml", written)]).unwrap_or_else(|refused| panic!("{refused}"));
        assert_eq!(accepted.config.playfab_title.map(|title| title.value).as_deref(), Some(read));
    }
    let refused = load(&[of("mainstay.yaml", "1A2B3"), of("more.yaml", "1A2B3")]).unwrap_err();
    assert_eq!(refused.problems[0].code, Code::DuplicateName);
}
