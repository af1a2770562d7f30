//! The console variables of seed 000, under their names.

use std::time::Duration;

use mainstay_migration::{NAMES, NatType, Settings, Switch};

/// net_migrate_timeout: "default is 30 seconds"; net_automigrate_host: "default is 1 = on"; net_show_host_identificiation,
/// net_show_new_host_hinting, net_hostHintingNATTypeOverride and net_hostHintingActiveConnectionsOverride: "default is 0 = off".
#[test]
fn defaults_are_the_seeds() {
    let settings = Settings::DEFAULT;
    for (name, value) in [
        ("net_migrate_timeout", "30"),
        ("net_automigrate_host", "1"),
        ("net_show_host_identificiation", "0"),
        ("net_show_new_host_hinting", "0"),
        ("net_hostHintingNATTypeOverride", "0"),
        ("net_hostHintingActiveConnectionsOverride", "0"),
    ] {
        assert_eq!(settings.get(name).unwrap(), value, "{name}");
    }
    assert_eq!(settings.migrate_timeout, Duration::from_secs(30));
}

/// net_hostHintingNATTypeOverride: "overrides the reported NAT type (default is 0 = off; 1 = open, 2 = moderate, 3 = strict, 255 = unknown)."
#[test]
fn nat_types_have_the_seeds_numbers() {
    let mut settings = Settings::DEFAULT;
    for (value, nat) in [
        ("1", Some(NatType::Open)),
        ("2", Some(NatType::Moderate)),
        ("3", Some(NatType::Strict)),
        ("255", Some(NatType::Unknown)),
        ("0", None),
    ] {
        settings.set("net_hostHintingNATTypeOverride", value).unwrap();
        assert_eq!(settings.nat_type_override, nat);
        assert_eq!(settings.get("net_hostHintingNATTypeOverride").unwrap(), value);
    }
    assert!(settings.set("net_hostHintingNATTypeOverride", "4").is_err());
}

/// "There are a number of console variables that can be used both to control host migration, and to show information about the
/// hint list and status of each machine": every_variable_is_set. net_hostHintingActiveConnectionsOverride: "by reporting a higher
/// number of connections; up to 255".
#[test]
fn every_variable_is_set_and_read_back() {
    let mut settings = Settings::DEFAULT;
    let values = ["12", "0", "1", "1", "255", "255"];
    for (name, value) in NAMES.iter().zip(values) {
        settings.set(name, value).unwrap();
        assert_eq!(settings.get(name).unwrap(), value, "{name}");
    }
    assert_eq!(settings.migrate_timeout, Duration::from_secs(12));
    assert_eq!(settings.active_connections_override, Some(255));
    settings.set("NET_SHOW_HOST_IDENTIFICATION", "0").unwrap();
    assert_eq!(settings.show_host_identification, Switch::Off, "its correct spelling, too");
    for (name, value) in [("net_migrate_timeout", "0"), ("net_automigrate_host", "2"), ("net_none", "1")] {
        assert!(settings.set(name, value).is_err(), "{name} {value}");
    }
}
