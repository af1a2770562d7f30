//! Declaring, by example.

use alloc::string::ToString;
use alloc::vec;
use core::time::Duration;

use mainstay_core::slot::{Caps, Checks, Limits, ReadySignal, Recovery, RestartPolicy, StopPolicy};
use mainstay_core::{FleetId, Outcome};

use super::*;
use crate::spec::IdleServers;

fn build(name: &str, folder: &str) -> BuildDeclaration {
    BuildDeclaration { name: name.into(), folder: folder.to_string(), excluded: Vec::new() }
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
        checks: Checks::default(),
        recovery: Recovery::default(),
        ready_signal: ReadySignal::default(),
    }
}

/// Another for each name, as everywhere.
fn fleet_id(name: &str) -> FleetId {
    let sum = name.bytes().fold(0_u64, |sum, byte| sum * 31 + u64::from(byte));
    alloc::format!("00000000-0000-4000-8000-{:012x}", sum & 0xffff_ffff_ffff).parse().unwrap()
}

fn fleet(name: &str, configurations: &[&str]) -> FleetDeclaration {
    FleetDeclaration {
        name: name.into(),
        id: fleet_id(name),
        idle_servers: IdleServers::StartOnAllocation,
        regions: vec![],
        configurations: configurations.iter().map(|name| (*name).into()).collect(),
        placement_timeout: Duration::from_secs(60),
        retention: Duration::from_secs(3600),
        hosting: crate::spec::Hosting::default(),
    }
}

fn declare(catalog: &mut Catalog, declaration: Declaration) -> Outcome<Catalog> {
    let edit = Edit::by("test");
    run(catalog, 1, &CatalogCommand::Declare { declaration: Arc::new(declaration), edit })
}

/// Runs a command at a moment, and checks that a snapshot rebuilds what it left.
fn run(catalog: &mut Catalog, at: u64, command: &CatalogCommand) -> Outcome<Catalog> {
    let outcome = Turn::run(Timestamp::from_unix_ms(at), catalog, command);
    let mut told = Catalog::default();
    for (at, event) in catalog.snapshot() {
        told.apply(at, &event);
    }
    assert_eq!(told.snapshot(), catalog.snapshot(), "a snapshot rebuilds the catalog");
    assert_eq!(laws::all(catalog), vec![], "every law holds");
    outcome
}

fn arena(command_line: &str, folder: &str) -> Declaration {
    Declaration {
        builds: vec![build("arena", folder)],
        configurations: vec![configuration("ranked", "arena", command_line)],
        fleets: vec![fleet("europe", &["ranked"])],
    }
}

/// Nothing acknowledged is lost (issue 3): what a start has taken whole is remembered, and is no change of its own.
#[test]
fn what_a_start_has_taken_is_remembered_and_raises_no_revision() {
    let mut catalog = Catalog::default();
    declare(&mut catalog, arena("-port 1", "/a"));
    let revision = catalog.revision().clone();
    for (sha256, events) in [([1; 32], 1), ([1; 32], 0), ([2; 32], 1), ([1; 32], 1)] {
        let outcome = run(&mut catalog, 2, &CatalogCommand::TakeStart(sha256));
        assert_eq!(outcome.events.len(), events);
        assert_eq!(catalog.start_taken(), Some(sha256));
    }
    assert_eq!(*catalog.revision(), revision);
}

#[test]
fn declaring_the_same_again_changes_nothing() {
    let mut catalog = Catalog::default();
    assert_eq!(declare(&mut catalog, arena("-port 1", "/a")).events.len(), 4);
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

#[test]
fn every_change_raises_the_revision_and_says_whose_it_was() {
    let mut catalog = Catalog::default();
    assert_eq!(catalog.revision().number, 0);
    declare(&mut catalog, arena("-port 1", "/a"));
    declare(&mut catalog, arena("-port 1", "/a"));
    assert_eq!(catalog.revision().number, 1, "declaring the same again is no change");
    let declaration = Arc::new(arena("-port 2", "/a"));
    let edit = Edit::of_revision("ann", 1);
    run(&mut catalog, 7, &CatalogCommand::Declare { declaration, edit }).answer.unwrap();
    let Revision { number, by, at } = catalog.revision().clone();
    assert_eq!((number, &*by, at), (2, "ann", Timestamp::from_unix_ms(7)));
    let id = catalog.configurations().next().unwrap().configuration.id;
    let written = catalog.configuration_written(id).unwrap();
    assert_eq!((written.created, written.updated), (Timestamp::from_unix_ms(1), Timestamp::from_unix_ms(7)));
}

#[test]
fn a_change_made_for_an_older_revision_is_refused() {
    let mut catalog = Catalog::default();
    declare(&mut catalog, arena("-port 1", "/a"));
    let declaration = Arc::new(arena("-port 2", "/a"));
    let edit = Edit::of_revision("bob", 0);
    let outcome = run(&mut catalog, 2, &CatalogCommand::Declare { declaration, edit });
    assert_eq!(outcome.answer, Err(CatalogRejection::Outdated { seen: 0, now: 1 }));
}

#[test]
fn what_is_used_is_not_deleted_and_what_was_deleted_lends_its_id_to_nobody() {
    let mut catalog = Catalog::default();
    declare(&mut catalog, arena("-port 1", "/a"));
    let build = catalog.builds().next().unwrap().id;
    let ranked = catalog.configurations().next().unwrap().configuration.id;
    let europe = catalog.fleets().next().unwrap().number;
    let delete = |catalog: &mut Catalog, entry| {
        run(catalog, 3, &CatalogCommand::Delete { entry, edit: Edit::by("ann") }).answer
    };
    assert!(matches!(delete(&mut catalog, Entry::Build(build)), Err(CatalogRejection::InUse { .. })));
    assert!(matches!(
        delete(&mut catalog, Entry::Configuration(ranked)),
        Err(CatalogRejection::InUse { .. })
    ));
    delete(&mut catalog, Entry::Fleet(europe)).unwrap();
    delete(&mut catalog, Entry::Configuration(ranked)).unwrap();
    delete(&mut catalog, Entry::Build(build)).unwrap();
    assert_eq!(delete(&mut catalog, Entry::Build(build)), Err(CatalogRejection::Unknown { kind: "build" }));
    declare(&mut catalog, arena("-port 1", "/a"));
    assert_ne!(catalog.builds().next().unwrap().id, build);
    assert_ne!(catalog.configurations().next().unwrap().configuration.id, ranked);
    assert_ne!(catalog.fleets().next().unwrap().number, europe);
}

#[test]
fn a_release_is_the_builds_next_version_and_moves_what_starts_it() {
    let mut catalog = Catalog::default();
    declare(&mut catalog, arena("-port 1", ""));
    let build = catalog.builds().next().unwrap().id;
    let release = |catalog: &mut Catalog, manifest, folder: &str| {
        let files = Release { version: 0, manifest: [manifest; 32], files: 1, bytes: 2 };
        let edit = Edit::by("ann");
        let command = CatalogCommand::Release { build, files, folder: folder.to_string(), edit };
        run(catalog, 4, &command).answer.unwrap();
    };
    release(&mut catalog, 1, "/store/1");
    release(&mut catalog, 1, "/store/1");
    assert_eq!(
        catalog.build(build).unwrap().release.unwrap().version,
        1,
        "the same files are no new version"
    );
    release(&mut catalog, 2, "/store/2");
    assert_eq!(catalog.build(build).unwrap().release.unwrap().version, 2);
    let europe = catalog.fleets().next().unwrap();
    assert_eq!((europe.revision, &*europe.configurations[0].launch.folder), (3, "/store/2"));
    let before = europe.configurations[0].configuration.revision;
    release(&mut catalog, 3, "/store/2");
    let europe = catalog.fleets().next().unwrap();
    assert_eq!(europe.configurations[0].configuration.revision, before + 1, "other files in the same folder");
}

#[test]
fn a_forced_rollout_raises_the_floors_of_what_starts_the_build() {
    let mut catalog = Catalog::default();
    declare(&mut catalog, arena("-port 1", "/a"));
    let build = catalog.builds().next().unwrap().id;
    let force = |catalog: &mut Catalog| {
        run(catalog, 4, &CatalogCommand::ForceRollout { build, edit: Edit::by("ann") }).events.len()
    };
    let floors = |catalog: &Catalog| catalog.fleets().next().unwrap().floors.clone();
    assert_eq!(floors(&catalog), []);
    assert_eq!(force(&mut catalog), 2, "the fleet, and the catalog's revision");
    let newest = catalog.fleets().next().unwrap().configurations[0].configuration;
    assert_eq!(floors(&catalog), [newest]);
    assert_eq!(force(&mut catalog), 0, "a repeat changes nothing");
    declare(&mut catalog, arena("-port 2", "/a"));
    assert_eq!(floors(&catalog), [newest], "a later edit is progressive again");
    assert_eq!(catalog.fleets().next().unwrap().floor(newest.id), newest.revision);
    let build = BuildId::from_number(99).unwrap();
    let unknown = CatalogCommand::ForceRollout { build, edit: Edit::by("ann") };
    assert_eq!(run(&mut catalog, 5, &unknown).answer, Err(CatalogRejection::Unknown { kind: "build" }));
}

/// Each law finds what it is for, in a catalog that no command could have made so.
#[test]
fn laws_find_what_breaks_them() {
    let mut catalog = Catalog::default();
    declare(
        &mut catalog,
        Declaration {
            builds: vec![build("arena", "/srv/arena")],
            configurations: vec![configuration("ranked", "arena", "")],
            fleets: vec![fleet("europe", &["ranked"])],
        },
    )
    .answer
    .unwrap();
    type Break = fn(&mut Catalog);
    let breaks: [(Break, laws::Law); 4] = [
        (|it| it.builds.clear(), laws::Law::KnownBuild),
        (|it| it.counters = Counters::default(), laws::Law::Counters),
        (
            |it| it.configurations.values_mut().for_each(|spec| spec.configuration.revision += 1),
            laws::Law::NewestConfigurations,
        ),
        (
            |it| {
                let build = it.builds.values().next().unwrap().clone();
                it.builds.insert("other".into(), build);
            },
            laws::Law::Identity,
        ),
    ];
    for (break_it, law) in breaks {
        let mut broken = catalog.clone();
        break_it(&mut broken);
        let found = laws::all(&broken);
        assert!(found.iter().any(|it| it.law == law), "{law:?} not in {found:?}");
    }
}

/// A service account asks until it is revoked; one that is gone is not revoked again, and its key may be admitted anew.
#[test]
fn a_revoked_credential_is_gone() {
    let mut catalog = Catalog::default();
    let credential = CredentialDeclaration { key: "k".into(), secret_sha256: [1; 32], role: Role::Viewer };
    run(&mut catalog, 1, &CatalogCommand::Admit(credential.clone())).answer.unwrap();
    assert_eq!(catalog.credential("k"), Some(&credential));
    run(&mut catalog, 2, &CatalogCommand::Revoke("k".into())).answer.unwrap();
    assert_eq!(catalog.credential("k"), None);
    let again = run(&mut catalog, 3, &CatalogCommand::Revoke("k".into()));
    assert_eq!(again.answer, Err(CatalogRejection::Unknown { kind: "service account" }));
    run(&mut catalog, 4, &CatalogCommand::Admit(credential)).answer.unwrap();
    assert_eq!(catalog.credentials().count(), 1);
}
