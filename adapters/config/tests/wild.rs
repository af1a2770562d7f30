//! Files as they lie in public projects, unmodified in shape: all of them load without an error.

use mainstay_config::{
    Accepted, Bound, BuildPath, Config, CpuLimit, Hardware, MachineSize, Origin, QueryKind, QueryPort,
    SourceFile, load,
};
use mainstay_core::slot::ReadySignal;

fn unix_text(name: &str) -> String {
    let path = format!("{}/tests/wild/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the file is part of the crate")
}

fn accepted(name: &str) -> Accepted {
    load(&[SourceFile::new(name, unix_text(name))]).unwrap_or_else(|refused| panic!("{refused}"))
}

fn wild(name: &str) -> Config {
    let accepted = accepted(name);
    assert_eq!(accepted.warnings, [], "{name}");
    accepted.config
}

const TWO_CORES: MachineSize = MachineSize { cores: 2, speed_mhz: Some(3_000), memory_mib: 8_000 };

#[test]
fn the_older_template_states_its_limits_itself() {
    let config = wild("older-template.gsh");
    let configuration = &config.build_configurations["LinuxConfiguration"];
    assert_eq!(configuration.limits.cpu.as_ref().unwrap().value, CpuLimit::Megahertz(750));
    assert_eq!(configuration.limits.memory_bytes.as_ref().unwrap().value, 800 << 20);
    assert_eq!(configuration.query.kind.value, QueryKind::None);
    assert_eq!(
        configuration.command_line.value.expand(|_| None),
        [
            "-port",
            "$$port$$",
            "-queryport",
            "$$query_port$$",
            "-logFile",
            "$$log_dir$$/Engine.log",
            "-batchmode",
            "-nographics"
        ]
    );
    let fleet = &config.fleets["LinuxFleet"];
    assert_eq!(fleet.regions["Europe"].max_servers.value, 10);
    assert_eq!(fleet.regions["Europe"].max_servers.origin.to_string(), "older-template.gsh:23");
    let slots = config.slots_on(fleet, &TWO_CORES);
    assert_eq!((slots.count, slots.bound), (8, Bound::Cpu));
}

#[test]
fn the_current_template_has_names_with_spaces_and_its_density_in_the_fleet() {
    let config = wild("newer-template.gsh");
    let fleet = &config.fleets["my fleet"];
    assert_eq!(fleet.build_configurations[0].value, "my build configuration");
    assert_eq!(fleet.regions.keys().collect::<Vec<_>>(), ["North America"]);
    assert_eq!(fleet.usage_settings[0].hardware.value, Hardware::Cloud);
    assert_eq!(fleet.usage_settings[0].machine_type.as_ref().unwrap().value, "GCP-N2");
    let slots = config.slots_on(fleet, &TWO_CORES);
    assert_eq!((slots.count, slots.bound), (2, Bound::PerMachine));
    let configuration = &config.build_configurations["my build configuration"];
    assert_eq!(configuration.query.kind.value, QueryKind::Sqp);
    assert_eq!(configuration.query.port.value, QueryPort::Query);
    assert_eq!(configuration.limits.cpu, None);
    let build = &config.builds["my build"];
    assert_eq!(build.path.as_ref().unwrap().value, BuildPath::Folder("Builds/Multiplay".into()));
    assert_eq!(build.exclude_paths.len(), 2);
}

#[test]
fn readiness_is_read() {
    let Accepted { config, warnings } = accepted("readiness.gsh");
    assert!(config.build_configurations["dedicated-server-config"].readiness.value);
    let configuration = &config.build_configurations["dedicated-server-config"];
    assert_eq!(configuration.slot_ready_signal(), ReadySignal::Awaited);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_file_with_neither_limits_nor_usage_gets_the_default_density() {
    let config = wild("neither-limits-nor-usage.gsh");
    let fleet = &config.fleets["LinuxTestFleet"];
    assert_eq!(config.build_configurations["LinuxBuildConfiguration"].limits.cpu, None);
    assert_eq!(config.build_configurations["LinuxBuildConfiguration"].query.kind.value, QueryKind::Sqp);
    let small = MachineSize { memory_mib: 4_000, ..TWO_CORES };
    assert_eq!(config.slots_on(fleet, &TWO_CORES).count, 8, "750 MHz each of 2 × 3000");
    assert_eq!(config.slots_on(fleet, &small).count, 5, "800 MiB each of 4000");
    let tiny = MachineSize { cores: 1, speed_mhz: None, memory_mib: 300 };
    assert_eq!(config.slots_on(fleet, &tiny).count, 1, "one server always fits");
}

#[test]
fn quoted_values_windows_paths_and_editor_keys_load() {
    let config = wild("quoted-windows.gsh");
    let build = &config.builds["Arena Server"];
    assert_eq!(
        build.path.as_ref().unwrap().value,
        BuildPath::Windows(r"D:\Projects\Arena\Builds\Linux Server".into())
    );
    assert!(build.exclude_paths.is_empty());
    let configuration = &config.build_configurations["Arena Ranked"];
    assert!(!configuration.readiness.value);
    assert_eq!(configuration.query.kind.value, QueryKind::A2s);
    let variables: Vec<_> =
        configuration.variables.iter().map(|(name, value)| (name.as_str(), value.value.as_str())).collect();
    assert_eq!(variables, [("map", "harbour"), ("maxPlayers", "16"), ("motd", ""), ("ranked", "true")]);
    let fleet = &config.fleets["Arena Fleet"];
    assert!(!fleet.regions["South America"].online.value);
    assert_eq!(fleet.regions["South America"].max_servers.origin, Origin::Default);
    let slots = config.slots_on(fleet, &TWO_CORES);
    assert_eq!((slots.count, slots.bound), (4, Bound::PerCore), "the metal setting counts first");
}

#[test]
fn files_saved_on_windows_read_the_same() {
    for name in [
        "older-template.gsh",
        "newer-template.gsh",
        "readiness.gsh",
        "neither-limits-nor-usage.gsh",
        "quoted-windows.gsh",
    ] {
        let unix = accepted(name).config;
        let text = unix_text(name).replace('\n', "\r\n");
        let windows = load(&[SourceFile::new(name, format!("\u{feff}{text}"))])
            .unwrap_or_else(|refused| panic!("{refused}"))
            .config;
        assert_eq!(windows.builds, unix.builds, "{name}");
        assert_eq!(windows.build_configurations, unix.build_configurations, "{name}");
        assert_eq!(windows.fleets, unix.fleets, "{name}");
    }
}
