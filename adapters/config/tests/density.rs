//! How many server slots a machine holds (seed 002, "Create"; reference 3.6).

use mainstay_config::{Bound, MachineSize, Slots, SourceFile, load};

/// 8 cores of 3 GHz and 32 GiB.
const MACHINE: MachineSize = MachineSize { cores: 8, speed_mhz: Some(3_000), memory_mib: 32 * 1_024 };

/// The slots of a fleet with these usage settings, whose one build configuration states these limits.
fn slots(usage: &str, limits: &str, machine: &MachineSize) -> Slots {
    let text = format!(
        "version: 1.0\nbuilds: {{ b: {{ buildPath: /srv }} }}\nbuildConfigurations:\n  \
         c: {{ build: b, binaryPath: x, queryType: none, commandLine: \"\"{limits} }}\n\
         fleets:\n  f:\n    buildConfigurations: [c]\n    usageSettings: [{usage}]\n    \
         regions: {{ r: {{ minAvailable: 0, maxServers: 1000 }} }}\n"
    );
    let config =
        load(&[SourceFile::new("a.yaml", text)]).unwrap_or_else(|refused| panic!("{refused}")).config;
    config.slots_on(&config.fleets["f"], machine)
}

fn of(count: u32, bound: Bound) -> Slots {
    Slots { count, bound }
}

/// Shows `METAL density`: the least of what CPU, memory, servers per core and servers per machine allow, and which it was.
/// "The server density calculation finds the number of server slots that can fit on a machine based on the machine’s
/// available resources and the fleet’s usage settings."
#[test]
fn metal_density_is_the_least_of_what_each_resource_allows() {
    let rows = [
        // Multiplay's own example (2019): "8 cores at 50 % of a core each → 16; 32 GB at 6 GB each → 5; result 5".
        ("hardwareType: METAL, speed: 1500, memory: 6144", of(5, Bound::Memory)),
        ("hardwareType: METAL, speed: 1500, memory: 1024", of(16, Bound::Cpu)),
        ("hardwareType: METAL, speed: 1500, memory: 1024, maxServersPerCore: 1", of(8, Bound::PerCore)),
        ("hardwareType: METAL, speed: 1500, memory: 1024, maxServersPerMachine: 3", of(3, Bound::PerMachine)),
        // A server that needs more than there is still gets a machine of its own.
        ("hardwareType: METAL, speed: 90000, memory: 1024", of(1, Bound::Cpu)),
    ];
    for (usage, expected) in rows {
        assert_eq!(slots(&format!("{{ {usage} }}"), "", &MACHINE), expected, "{usage}");
    }
}

/// Shows `CLOUD density`: servers per machine as they are given; a metal setting beside it counts for the studio's own
/// machines.
#[test]
fn cloud_density_is_as_given() {
    let cloud = "{ hardwareType: CLOUD, machineType: GCP-N2, maxServersPerMachine: 7 }";
    let small = MachineSize { cores: 1, speed_mhz: None, memory_mib: 1_024 };
    for machine in [&MACHINE, &small] {
        assert_eq!(slots(cloud, "", machine), of(7, Bound::PerMachine));
    }
    let both = format!("{cloud}, {{ hardwareType: METAL, maxServersPerMachine: 2 }}");
    assert_eq!(slots(&both, "", &MACHINE), of(2, Bound::PerMachine));
}

/// Without usage settings the neediest build configuration decides, as in the older generation (reference 3.6).
#[test]
fn without_usage_settings_the_neediest_build_configuration_decides() {
    let limits = ", cores: 1, speedMhz: 1500, memoryMiB: 6144";
    assert_eq!(slots("", limits, &MACHINE), of(5, Bound::Memory));
    let unstated = slots("", "", &MACHINE);
    // 24,000 MHz at 750 MHz each; 32 GiB at 800 MiB each would be 40.
    assert_eq!(unstated, of(32, Bound::Cpu));
}
