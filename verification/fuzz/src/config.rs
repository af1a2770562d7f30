//! Any bytes as a `mainstay.yaml`: they are accepted with every name resolved, or refused in bounded, printable text.

use mainstay_config::{Accepted, Found, MachineSize, Severity, SourceFile, check_files, limits, load};

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    match load(&[SourceFile::new("mainstay.yaml", bytes)]) {
        Ok(Accepted { config, warnings }) => {
            assert!(warnings.iter().all(|warning| warning.severity() == Severity::Warning));
            for configuration in config.build_configurations.values() {
                assert!(config.builds.contains_key(&configuration.build.value));
                let _arguments = configuration.command_line.value.expand(|_| None);
            }
            let machine = MachineSize { cores: 2, speed_mhz: None, memory_mib: 4_096 };
            for fleet in config.fleets.values() {
                for name in &fleet.build_configurations {
                    assert!(config.build_configurations[&name.value].slot_limits(&machine).cpu_millis > 0);
                }
                assert!(config.slots_on(fleet, &machine).count > 0);
            }
            for problem in check_files(&config, &|_: &std::path::Path| Found::Missing) {
                assert_eq!(problem.severity(), Severity::Error);
            }
        }
        Err(refused) => {
            assert!((1..=limits::PROBLEMS_MAX).contains(&refused.problems.len()));
            let shown = refused.to_string();
            assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
        }
    }
}
