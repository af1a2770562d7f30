//! The examples of the repository load without a word, and say what they are meant to say to the rules.

use std::path::Path;
use std::time::Duration;

use mainstay_config::{
    Accepted, Bound, BuildPath, Config, Found, MachineSize, SourceFile, check_files, load,
};
use mainstay_core::slot;

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
