//! Declaring, by example.

use alloc::string::ToString;
use alloc::vec;
use core::time::Duration;

use mainstay_core::slot::{Caps, Limits, RestartPolicy, StopPolicy};
use mainstay_core::{FleetId, Outcome};

use super::*;
use crate::spec::IdleServers;

fn build(name: &str, folder: &str) -> BuildDeclaration {
    BuildDeclaration { name: name.into(), folder: folder.to_string() }
}

fn configuration(name: &str, build: &str, command_line: &str) -> ConfigurationDeclaration {
    ConfigurationDeclaration {
        name: name.into(),
        build: build.into(),
        binary: "server".to_string(),
        command_line: command_line.to_string(),
        variables: vec![],
        environment: vec![],
        query: None,
        limits: Limits { cpu_millis: 1000, memory_mib: 800 },
        caps: Caps::default(),
        stop: StopPolicy::default(),
        restart: RestartPolicy::default(),
    }
}

fn fleet(name: &str, configurations: &[&str]) -> FleetDeclaration {
    FleetDeclaration {
        name: name.into(),
        id: FleetId::LOWEST,
        idle_servers: IdleServers::StartOnAllocation,
        regions: vec![],
        configurations: configurations.iter().map(|name| (*name).into()).collect(),
        placement_timeout: Duration::from_secs(60),
        retention: Duration::from_secs(3600),
    }
}

fn declare(catalog: &mut Catalog, declaration: Declaration) -> Outcome<Catalog> {
    let outcome = Turn::run(Timestamp::EPOCH, catalog, &CatalogCommand::Declare(Arc::new(declaration)));
    let mut told = Catalog::default();
    for (at, event) in catalog.snapshot() {
        told.apply(at, &event);
    }
    assert_eq!(told.snapshot(), catalog.snapshot(), "a snapshot rebuilds the catalog");
    outcome
}

fn arena(command_line: &str, folder: &str) -> Declaration {
    Declaration {
        builds: vec![build("arena", folder)],
        configurations: vec![configuration("ranked", "arena", command_line)],
        fleets: vec![fleet("europe", &["ranked"])],
    }
}

#[test]
fn declaring_the_same_again_changes_nothing() {
    let mut catalog = Catalog::default();
    assert_eq!(declare(&mut catalog, arena("-port 1", "/a")).events.len(), 3);
    assert_eq!(declare(&mut catalog, arena("-port 1", "/a")).events, vec![]);
}

#[test]
fn a_change_raises_the_revision_and_keeps_the_ids() {
    let mut catalog = Catalog::default();
    declare(&mut catalog, arena("-port 1", "/a"));
    declare(&mut catalog, arena("-port 2", "/a"));
    let europe = catalog.fleets().next().unwrap();
    let reference = europe.configurations[0].configuration;
    assert_eq!((europe.revision, europe.number.get()), (2, 1));
    assert_eq!((reference.id.number(), reference.revision), (1, 2));
}

#[test]
fn a_build_that_moves_moves_its_configurations_and_their_fleets() {
    let mut catalog = Catalog::default();
    declare(&mut catalog, arena("-port 1", "/a"));
    declare(&mut catalog, Declaration { builds: vec![build("arena", "/b")], ..Declaration::default() });
    let europe = catalog.fleets().next().unwrap();
    assert_eq!(europe.configurations[0].launch.folder, "/b");
    assert_eq!((europe.revision, europe.configurations[0].configuration.revision), (2, 2));
}

#[test]
fn nothing_is_taken_of_a_declaration_that_names_what_does_not_exist() {
    let mut catalog = Catalog::default();
    let mut declaration = arena("-port 1", "/a");
    declaration.fleets.push(fleet("asia", &["casual"]));
    let outcome = declare(&mut catalog, declaration);
    assert!(matches!(outcome.answer, Err(CatalogRejection::UnknownConfiguration { .. })));
    assert_eq!(catalog.snapshot(), vec![]);
    let orphan =
        Declaration { configurations: vec![configuration("x", "none", "")], ..Declaration::default() };
    assert!(matches!(declare(&mut catalog, orphan).answer, Err(CatalogRejection::UnknownBuild { .. })));
}

#[test]
fn a_fleet_is_owed_its_newest_revision_until_it_says_it_has_it() {
    let mut catalog = Catalog::default();
    declare(&mut catalog, arena("-port 1", "/a"));
    let fleet = catalog.take_touched()[0];
    assert_eq!(catalog.owed(&fleet).unwrap().revision, 1);
    catalog.observe(Timestamp::EPOCH, CatalogObservation::Configured { fleet, revision: 1 });
    assert_eq!(catalog.owed(&fleet), None);
    declare(&mut catalog, arena("-port 2", "/a"));
    assert_eq!(catalog.owed(&fleet).unwrap().revision, 2);
    catalog.observe(Timestamp::EPOCH, CatalogObservation::Configured { fleet, revision: 2 });
    catalog.observe(Timestamp::EPOCH, CatalogObservation::Forgotten);
    assert_eq!(catalog.owed(&fleet).unwrap().revision, 2, "after forgetting, it is simply owed again");
}
