//! No text makes the loader panic or take more than its limits allow, and what it accepts keeps its own rules.

use mainstay_config::{Accepted, Severity, SourceFile, load};
use proptest::prelude::*;

/// Pieces that reach deeper than random characters would.
const PIECES: &[&str] = &[
    "version: 1.0\n",
    "builds:\n",
    "  a:\n",
    "    buildPath: x\n",
    "buildConfigurations:\n",
    "  b:\n",
    "    build: a\n",
    "    binaryPath: s\n",
    "    commandLine: \"-p $$port$$ 'q'\"\n",
    "    limits: { cpu: 0.5, memoryMiB: 1 }\n",
    "    caps: { cpuQuota: 1, memoryMiB: 1 }\n",
    "    query: { request: 00, expect: ff, port: game }\n",
    "    queryType: udp\n",
    "fleets:\n",
    "  f:\n",
    "    buildConfigurations: [b]\n",
    "    regions: { E: { maxServers: 1 } }\n",
    "    usageSettings: [{ hardwareType: METAL }]\n",
    "machines: { ports: 2000-2100 }\n",
    "queues:\n",
    "  - name: q\n",
    "    MinMatchSize: 2\n    maxMatchSize: 4\n",
    "    rules: [{ type: DifferenceRule, name: r, attribute: { path: p }, difference: 1 }]\n",
    "    teamDifferenceRules: [{ expansion: { maxOverrides: [1, null, { Value: 2 }] } }]\n",
    "x-a: &a [1, &b 2]\n",
    "x-b: *a\n",
    "x-c: {*a : *b}\n",
    "? [a]\n: b\n",
    "- ",
    "  ",
    "[",
    "}",
    ": ",
    "'",
    "\"\\u263a",
    "!!int 3",
    "|\n   x\n",
    "é日\u{202e}\u{0}",
    "---\n",
    "%YAML 1.2\n",
    "\r\n",
];

fn load_text(text: &str) {
    match load(&[SourceFile::new("mainstay.yaml", text)]) {
        Ok(Accepted { config, warnings }) => {
            for configuration in config.build_configurations.values() {
                assert!(config.builds.contains_key(&configuration.build.value));
            }
            for fleet in config.fleets.values() {
                for name in &fleet.build_configurations {
                    assert!(config.build_configurations.contains_key(&name.value));
                }
            }
            assert!(warnings.iter().all(|warning| warning.severity() == Severity::Warning));
        }
        Err(refused) => {
            assert!(refused.problems.iter().any(|problem| problem.severity() == Severity::Error));
            let shown = refused.to_string();
            assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
            for problem in &refused.problems {
                let json =
                    serde_json::to_string(&problem.report()).expect("a report has no maps with odd keys");
                assert!(json.contains(problem.code.as_str()));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_answered(text in "(?s).{0,300}") {
        load_text(&text);
    }

    #[test]
    fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let refused = load(&[SourceFile::new("mainstay.yaml", bytes)]).unwrap_err();
        prop_assert!(!refused.problems.is_empty());
    }

    #[test]
    fn any_mixture_of_real_pieces_is_answered(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40)
    ) {
        load_text(&pieces.concat());
    }
}
