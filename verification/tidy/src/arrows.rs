//! Which crate may use which: the picture of ARCHITECTURE.md section 2 as data.
//!
//! An arrow that is not in [`ARROWS`] fails, whether it is a dependency of the program, of a test or of a build
//! script. A crate without a row fails too, and so does a row without a crate: the table is the whole picture.

use crate::Violation;
use serde::Deserialize;
use std::collections::BTreeSet;

/// Crate, and the crates of ours it may use.
pub const ARROWS: &[(&str, &[&str])] = &[
    // domain: rules, no I/O
    ("mainstay-core", &[]),
    ("mainstay-fleet", &["mainstay-core"]),
    ("mainstay-supervisor", &["mainstay-core"]),
    ("mainstay-matchmaking", &["mainstay-core"]),
    ("mainstay-players", &["mainstay-core"]),
    ("mainstay-lobby", &["mainstay-core"]),
    ("mainstay-migration", &["mainstay-core"]),
    // adapters: bytes in, bytes out
    (
        "mainstay-journal",
        &[
            "mainstay-core",
            "mainstay-fleet",
            "mainstay-lobby",
            "mainstay-players",
            "mainstay-supervisor",
            "mainstay-matchmaking",
        ],
    ),
    (
        "mainstay-wire",
        &[
            "mainstay-core",
            "mainstay-fleet",
            "mainstay-lobby",
            "mainstay-matchmaking",
            "mainstay-migration",
            "mainstay-supervisor",
        ],
    ),
    ("mainstay-query", &["mainstay-core"]),
    ("mainstay-stun", &["mainstay-migration"]),
    ("mainstay-config", &["mainstay-core", "mainstay-matchmaking", "mainstay-wire"]),
    // game: what a game links
    ("mainstay-sdk", &[]),
    ("mainstay-peer", &["mainstay-core", "mainstay-migration", "mainstay-stun", "mainstay-wire"]),
    ("mainstay-peer-ffi", &["mainstay-peer"]),
    ("mainstay-tugboat", &["mainstay-peer", "mainstay-query", "mainstay-sdk"]),
    // services: tokio, sockets, clock, files
    ("mainstay-holder", &[]),
    ("mainstay-runtime", &["mainstay-core", "mainstay-journal"]),
    (
        "mainstay-control",
        &[
            "mainstay-config",
            "mainstay-core",
            "mainstay-fleet",
            "mainstay-journal",
            "mainstay-lobby",
            "mainstay-matchmaking",
            "mainstay-players",
            "mainstay-runtime",
            "mainstay-stun",
            "mainstay-wire",
        ],
    ),
    (
        "mainstay-agent",
        &[
            "mainstay-core",
            "mainstay-supervisor",
            "mainstay-journal",
            "mainstay-wire",
            "mainstay-query",
            "mainstay-stun",
            "mainstay-runtime",
            "mainstay-holder",
        ],
    ),
    // verification: may use everything below it
    ("mainstay-simulator", BELOW_VERIFICATION),
    ("mainstay-wan", &[]),
    ("mainstay-bench", BELOW_CLI),
    (
        "mainstay-fuzz",
        &[
            "mainstay-core",
            "mainstay-lobby",
            "mainstay-matchmaking",
            "mainstay-migration",
            "mainstay-wire",
            "mainstay-query",
            "mainstay-config",
            "mainstay-tugboat",
        ],
    ),
    ("mainstay-lab", &["mainstay-tugboat"]),
    ("mainstay-tidy", &[]),
    // The one binary carries the simulator and the benchmarks as commands, so it stands above them.
    ("mainstay", BELOW_CLI_AND_BENCH),
];

const BELOW_VERIFICATION: &[&str] = &[
    "mainstay-core",
    "mainstay-fleet",
    "mainstay-supervisor",
    "mainstay-matchmaking",
    "mainstay-players",
    "mainstay-lobby",
    "mainstay-migration",
    "mainstay-journal",
    "mainstay-wire",
    "mainstay-query",
    "mainstay-stun",
    "mainstay-config",
    "mainstay-sdk",
    "mainstay-peer",
    "mainstay-tugboat",
    "mainstay-holder",
    "mainstay-runtime",
    "mainstay-control",
    "mainstay-agent",
];

const BELOW_CLI: &[&str] = &[
    "mainstay-core",
    "mainstay-fleet",
    "mainstay-supervisor",
    "mainstay-matchmaking",
    "mainstay-players",
    "mainstay-lobby",
    "mainstay-migration",
    "mainstay-journal",
    "mainstay-wire",
    "mainstay-query",
    "mainstay-stun",
    "mainstay-config",
    "mainstay-sdk",
    "mainstay-peer",
    "mainstay-tugboat",
    "mainstay-holder",
    "mainstay-runtime",
    "mainstay-control",
    "mainstay-agent",
    "mainstay-simulator",
    "mainstay-wan",
];

const BELOW_CLI_AND_BENCH: &[&str] = &[
    "mainstay-core",
    "mainstay-fleet",
    "mainstay-supervisor",
    "mainstay-matchmaking",
    "mainstay-players",
    "mainstay-lobby",
    "mainstay-migration",
    "mainstay-journal",
    "mainstay-wire",
    "mainstay-query",
    "mainstay-stun",
    "mainstay-config",
    "mainstay-sdk",
    "mainstay-peer",
    "mainstay-peer-ffi",
    "mainstay-tugboat",
    "mainstay-holder",
    "mainstay-runtime",
    "mainstay-control",
    "mainstay-agent",
    "mainstay-simulator",
    "mainstay-bench",
    "mainstay-wan",
];

/// The part of `cargo metadata` the rule reads.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// The workspace's packages, when asked with `--no-deps`.
    pub packages: Vec<Package>,
}

/// One package of the workspace.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// What it depends on: for the program, its tests and its build script alike.
    pub dependencies: Vec<Dependency>,
}

/// One dependency of a package.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The package depended on, by its own name.
    pub name: String,
    /// Where it stands on disk; a registry's package has none.
    pub path: Option<String>,
}

/// Arrows that the table does not allow, crates without a row, rows without a crate.
#[must_use]
pub fn violations(metadata: &Metadata, table: &[(&str, &[&str])]) -> Vec<Violation> {
    const MANIFEST: &str = "Cargo.toml";
    let mut found = Vec::new();
    for package in &metadata.packages {
        let Some((_, allowed)) = table.iter().find(|(name, _)| *name == package.name) else {
            found.push(Violation::new(
                MANIFEST,
                0,
                format!(
                    "crate {} has no row in the table of arrows: add it there and to ARCHITECTURE.md",
                    package.name
                ),
            ));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            if !allowed.contains(&dependency.name.as_str()) {
                found.push(Violation::new(
                    MANIFEST,
                    0,
                    format!(
                        "{} -> {} is no arrow of the picture: imports only point down",
                        package.name, dependency.name
                    ),
                ));
            }
        }
    }
    let names: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    for (name, _) in table.iter().filter(|(name, _)| !names.contains(name)) {
        found.push(Violation::new(
            MANIFEST,
            0,
            format!("the table of arrows has a row for {name}, which is gone"),
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str]) -> Package {
        Package {
            name: name.to_owned(),
            dependencies: dependencies
                .iter()
                .map(|name| Dependency { name: (*name).to_owned(), path: Some("somewhere".to_owned()) })
                .collect(),
        }
    }

    #[test]
    fn an_upward_arrow_an_unknown_crate_and_a_dead_row_are_found() {
        let table: &[(&str, &[&str])] = &[("low", &[]), ("high", &["low"]), ("gone", &[])];
        let metadata = Metadata {
            packages: vec![package("low", &["high"]), package("high", &["low"]), package("new", &[])],
        };
        let found: Vec<String> = violations(&metadata, table).into_iter().map(|it| it.what).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].starts_with("low -> high"));
        assert!(found[1].starts_with("crate new has no row"));
        assert!(found[2].contains("a row for gone"));
    }

    #[test]
    fn a_library_from_a_registry_is_no_arrow() {
        let dependency = Dependency { name: "serde".to_owned(), path: None };
        let metadata =
            Metadata { packages: vec![Package { name: "low".to_owned(), dependencies: vec![dependency] }] };
        assert_eq!(violations(&metadata, &[("low", &[])]), []);
    }

    #[test]
    fn the_table_has_no_circle() {
        // A crate may only use crates whose rows stand above its own.
        for (index, (name, allowed)) in ARROWS.iter().enumerate() {
            for used in *allowed {
                let place = ARROWS.iter().position(|(other, _)| other == used);
                assert!(place.is_some_and(|place| place < index), "{name} -> {used}");
            }
        }
    }
}
