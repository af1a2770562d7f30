//! The bytes of each stored format, which never change.
//!
//! A golden test that fails is a new format, never new bytes in this file.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::density::{Host, MachineSize};
use mainstay_core::slot::{
    Caps, Check, Checks, ConfigurationRef, Exit, Fault, Incident, Intent, Killer, Launch, Limits, Order,
    Query, QueryPort, ReadySignal, Recovery, RestartPolicy, Session, Spec, StopPolicy,
};
use mainstay_core::{
    AllocationId, BuildConfigurationId, BuildId, FleetNumber, Generation, MachineId, ServerId, Strikes,
};
use mainstay_fleet::catalog::{
    BuildDeclaration, Catalog, CatalogEvent, Counters, CredentialDeclaration, Release, Role,
};
use mainstay_fleet::{
    Absence, Addresses, AllocationTtl, Cause, ClaimedBy, End, Event as FleetEvent, Fit, Fleet, FleetSpec,
    Growth, Hardware, HoldEnd, Hosting, IdleServers, Losers, MachinePolicy, MachineTtl, OnLoss, Parting,
    Ports, Provided, Purpose, RegionOpening, RegionSpec, Renewal, Request, ReservationEnd, UsageSetting,
    Wish,
};
use mainstay_journal::stored::Stored;
use mainstay_supervisor::{
    Ending, Event as SupervisorEvent, Failures, Life, Reason, Run, RunNumber, Rung, Slot, Stage, Supervisor,
};

use crate::fixture::at;

const MINUTE: Duration = Duration::from_secs(60);

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn keeps_its_bytes<M: Stored>(event: M::Event, golden: &str)
where
    M::Event: PartialEq + std::fmt::Debug,
{
    let mut bytes = Vec::new();
    M::store(std::slice::from_ref(&event), &mut bytes);
    assert_eq!(hex(&bytes), golden, "{event:?}");
    assert_eq!(M::load(&bytes).unwrap(), vec![event]);
}

/// An event of format 2 that format 3 writes as it was, but for the number of the format.
fn keeps_its_bytes_since_2<M: Stored>(event: M::Event, golden: &str)
where
    M::Event: PartialEq + std::fmt::Debug + Clone,
{
    is_still_read::<M>(event.clone(), golden);
    assert!(golden.starts_with("02"), "{golden}");
    keeps_its_bytes::<M>(event, &golden.replacen("02", "03", 1));
}

/// Bytes of an older format are read as what the rules know today.
fn is_still_read<M: Stored>(event: M::Event, golden: &str)
where
    M::Event: PartialEq + std::fmt::Debug,
{
    let nibble = |at: usize| u8::from_str_radix(&golden[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..golden.len()).step_by(2).map(nibble).collect();
    assert_eq!(M::load(&bytes).unwrap(), vec![event], "{golden}");
}

const ID: &str = "00112233-4455-6677-8899-aabbccddeeff";

fn seven() -> ServerId {
    ServerId::of(FleetNumber::new(1).unwrap(), 7)
}

fn revision_2() -> ConfigurationRef {
    ConfigurationRef { id: BuildConfigurationId::from_number(3).unwrap(), revision: 2 }
}

fn spec() -> Spec {
    Spec {
        configuration: revision_2(),
        name: "c".into(),
        build: BuildId::from_number(4).unwrap(),
        launch: Launch {
            folder: "/b".into(),
            binary: "g".into(),
            command_line: "-p".into(),
            variables: vec![("k".into(), "v".into())],
            environment: vec![],
        },
        query: Some(Query {
            protocol: "sqp".into(),
            port: QueryPort::Query,
            timeout: Duration::from_secs(1),
            start_grace: Duration::from_secs(30),
        }),
        limits: Limits { cpu_millis: 1000, memory_mib: 256 },
        caps: Caps { cpu_millis: None, memory_mib: Some(600) },
        stop: StopPolicy::default(),
        restart: RestartPolicy::default(),
        checks: Checks::default(),
        recovery: Recovery::default(),
        ready_signal: ReadySignal::default(),
    }
}

fn fleet_spec() -> FleetSpec {
    FleetSpec {
        number: FleetNumber::new(1).unwrap(),
        id: ID.parse().unwrap(),
        name: "f".into(),
        revision: 9,
        idle_servers: IdleServers::StartOnAllocation,
        regions: vec![RegionSpec {
            id: ID.parse().unwrap(),
            name: "r".into(),
            aliases: vec![],
            min_available: 1,
            max_servers: 2,
            opening: RegionOpening::Offline,
            growth: Growth::MachinesMayJoin,
            ttl: None,
        }],
        configurations: vec![spec()],
        placement_timeout: Duration::from_millis(1500),
        retention: Duration::from_secs(60),
        hosting: Hosting {
            claimed_by: ClaimedBy::Reservations,
            hold_max: Duration::from_secs(90),
            allocation_ttl: AllocationTtl::Age(Duration::from_secs(60)),
            machines: MachinePolicy::default(),
            usage: vec![],
            disabled_delete: None,
        },
        floors: vec![revision_2()],
    }
}

fn fleet_spec_of_format_1() -> FleetSpec {
    FleetSpec { hosting: Hosting::default(), floors: vec![], ..fleet_spec() }
}

const SPEC: &str =
    "03020163 04 022f62 0167 022d70 01016b0176 00 010373717001 0100 1e00 e807 8002 0001d804 1e1400 01880e00";
/// What a configuration has since format 2, as seed 001 has it: 60 s, 3 in 30 min, 10 %, 200 MB, signal 11, pre-recovery.
const SETTINGS: &str = "3c00 03 880e00 0a 8084af5f 16 00";
const INCIDENT: &str = "SERVER 06 ac02 0102 0178 010116 0302 01 UUID 0177 00";

fn incident() -> Incident {
    Incident {
        server: seven(),
        run: 6,
        at: at(300),
        fault: Fault::Misbehaviour(Check::Query),
        cause: "x".into(),
        exit: Some(Exit::Signal { signal: 11, killed_by: Killer::Unknown }),
        configuration: revision_2(),
        allocation: Some(ID.parse().unwrap()),
        last_words: "w".into(),
        core: None,
    }
}

const FLEET_SPEC: &str = "01 1000112233445566778899aabbccddeeff 0166 09 01 \
    01 1000112233445566778899aabbccddeeff 0172 01 02 01 01 01 SPEC 01 80cab5ee01 3c 00";

fn bytes(pattern: &str) -> String {
    // A configuration is longer since format 2.
    let since_2 = if pattern.starts_with("01") { "" } else { SETTINGS };
    let whole = pattern.replace("FLEET", FLEET_SPEC).replace("SPEC", &format!("{SPEC}{since_2}"));
    let whole = whole.replace("INCIDENT", INCIDENT);
    whole
        .replace("UUID", "1000112233445566778899aabbccddeeff")
        .replace("SERVER", "8780808010")
        .replace(' ', "")
}

#[test]
fn of_a_fleet_in_format_1() {
    let id: AllocationId = ID.parse().unwrap();
    let (server, configuration) = (seven(), revision_2());
    let cause = Cause::Unrecorded;
    let generation = Generation::from_number(5);
    let machine = MachineId::of(FleetNumber::new(1).unwrap(), 2);
    let addresses = Addresses { ipv4: Some([127, 0, 0, 1].into()), ipv6: None };
    let request = Request {
        configuration: configuration.id,
        region: ID.parse().unwrap(),
        payload: Some("hi".into()),
        renewal: Renewal::Restart,
        purpose: Purpose::Session,
    };
    let losers = Losers { servers: 4, allocated: 3, silent: 2, unreported: 1 };
    let backed_off = End::BackedOff { crashes: 2, cause: "x".into() };
    let joined = FleetEvent::MachineJoined {
        machine,
        key: ID.parse().unwrap(),
        region: ID.parse().unwrap(),
        name: "m".into(),
        addresses,
    };
    let ports = vec![Ports { game: 7000, query: 7001 }];
    for (event, golden) in [
        (FleetEvent::Configured(Arc::new(fleet_spec_of_format_1())), "0101 00 FLEET"),
        (FleetEvent::SpecKept(Box::new(spec())), "0101 01 SPEC"),
        (joined, "0101 02 8280808010 UUID UUID 016d 017f000001 00"),
        (
            FleetEvent::MachineReaddressed { machine, name: "n".into(), addresses },
            "0101 03 8280808010 016e 017f000001 00",
        ),
        (
            FleetEvent::ServersAdded { machine, first: server, ports, configuration },
            "0101 04 8280808010 SERVER 01 d836d936 0302",
        ),
        (
            FleetEvent::ServerOrdered { server, generation, configuration, intent: Intent::Leave, cause },
            "0101 05 SERVER 05 0302 03",
        ),
        (
            FleetEvent::AllocationRequested { id, request, until: at(1_800_000_000_000) },
            "0101 06 UUID 03 UUID 01026869 01 80a0f1c2b134",
        ),
        (
            FleetEvent::AllocationPlaced {
                id,
                server,
                generation,
                configuration,
                intent: Intent::Run,
                cause,
            },
            "0101 07 UUID SERVER 05 0302 01",
        ),
        (FleetEvent::AllocationFulfilled { id, server: None }, "0101 08 UUID"),
        (FleetEvent::AllocationEnded { id, server: None, end: End::Deallocated }, "0101 09 UUID 00"),
        (FleetEvent::AllocationEnded { id, server: None, end: End::Completed }, "0101 09 UUID 01"),
        (
            FleetEvent::AllocationEnded { id, server: None, end: End::PlacementTimedOut(losers) },
            "0101 09 UUID 02 04030201",
        ),
        (FleetEvent::AllocationEnded { id, server: None, end: backed_off }, "0101 09 UUID 03 02 0178"),
        (FleetEvent::AllocationEnded { id, server: None, end: End::Lost }, "0101 09 UUID 04"),
    ] {
        is_still_read::<Fleet>(event, &bytes(golden));
    }
}

#[test]
fn of_a_fleet() {
    let id: AllocationId = ID.parse().unwrap();
    let (server, configuration) = (seven(), revision_2());
    let (cause, placed) = (Cause::StoppedByHand, Cause::Allocated(Fit::RestartAsked));
    let generation = Generation::from_number(5);
    let machine = MachineId::of(FleetNumber::new(1).unwrap(), 2);
    let addresses = Addresses { ipv4: Some([127, 0, 0, 1].into()), ipv6: None };
    let request = Request {
        configuration: configuration.id,
        region: ID.parse().unwrap(),
        payload: Some("hi".into()),
        renewal: Renewal::Restart,
        purpose: Purpose::Session,
    };
    let losers = Losers { servers: 4, allocated: 3, silent: 2, unreported: 1 };
    let backed_off = End::BackedOff { crashes: 2, cause: "x".into() };
    let joined = FleetEvent::MachineJoined {
        machine,
        key: ID.parse().unwrap(),
        region: ID.parse().unwrap(),
        name: "m".into(),
        addresses,
    };
    let ports = vec![Ports { game: 7000, query: 7001 }];
    for (event, golden) in [
        (joined, "0201 02 8280808010 UUID UUID 016d 017f000001 00"),
        (
            FleetEvent::MachineReaddressed { machine, name: "n".into(), addresses },
            "0201 03 8280808010 016e 017f000001 00",
        ),
        (
            FleetEvent::ServersAdded { machine, first: server, ports, configuration },
            "0201 04 8280808010 SERVER 01 d836d936 0302",
        ),
        (
            FleetEvent::ServerOrdered { server, generation, configuration, intent: Intent::Leave, cause },
            "0201 05 SERVER 05 0302 03 0a",
        ),
        (
            FleetEvent::AllocationRequested { id, request, until: at(1_800_000_000_000) },
            "0201 06 UUID 03 UUID 01026869 01 80a0f1c2b134",
        ),
        (
            FleetEvent::AllocationPlaced {
                id,
                server,
                generation,
                configuration,
                intent: Intent::Run,
                cause: placed,
            },
            "0201 07 UUID SERVER 05 0302 01 0205",
        ),
        (FleetEvent::AllocationFulfilled { id, server: None }, "0201 08 UUID"),
        (FleetEvent::AllocationEnded { id, server: None, end: End::Deallocated }, "0201 09 UUID 00"),
        (FleetEvent::AllocationEnded { id, server: None, end: End::Completed }, "0201 09 UUID 01"),
        (
            FleetEvent::AllocationEnded { id, server: None, end: End::PlacementTimedOut(losers) },
            "0201 09 UUID 02 04030201",
        ),
        (FleetEvent::AllocationEnded { id, server: None, end: backed_off }, "0201 09 UUID 03 02 0178"),
        (FleetEvent::AllocationEnded { id, server: None, end: End::Lost }, "0201 09 UUID 04"),
        (
            FleetEvent::AllocationEnded { id, server: None, end: End::PreRecovery { cause: "x".into() } },
            "0201 09 UUID 05 0178",
        ),
        (FleetEvent::IncidentTold { incident: Box::new(incident()) }, "0201 10 INCIDENT"),
        (FleetEvent::ServerHeld { server, until: at(1_800_000_000_000) }, "0201 0a SERVER 80a0f1c2b134"),
        (FleetEvent::HoldEnded { server, end: HoldEnd::ConfigurationChanged }, "0201 0b SERVER 06"),
        (FleetEvent::ServerReserved { server, reservation: ID.parse().unwrap() }, "0201 0c SERVER UUID"),
        (FleetEvent::ReservationEnded { server, end: ReservationEnd::RolledOut }, "0201 0d SERVER 05"),
        (FleetEvent::ServerReadied { server }, "0201 0e SERVER"),
        (FleetEvent::ServerUnreadied { server }, "0201 0f SERVER"),
        (FleetEvent::ServerAssigned { server, configuration: configuration.id }, "0201 11 SERVER 03"),
        (
            FleetEvent::AllocationEnded { id, server: None, end: End::Idle { ttl: MINUTE } },
            "0201 09 UUID 06 3c00",
        ),
        (
            FleetEvent::AllocationEnded { id, server: None, end: End::Aged { ttl: MINUTE } },
            "0201 09 UUID 07 3c00",
        ),
        (FleetEvent::AllocationEnded { id, server: None, end: End::RolledOut }, "0201 09 UUID 08"),
    ] {
        keeps_its_bytes_since_2::<Fleet>(event, &bytes(golden));
    }
    let configured = FleetEvent::Configured(Arc::new(fleet_spec()));
    is_still_read::<Fleet>(configured, &bytes("0201 00 FLEET 01 5a00 023c00 010302"));
}

/// What has come since format 2.
#[test]
fn of_a_fleets_machines() {
    let machine = MachineId::of(FleetNumber::new(1).unwrap(), 2);
    let id: AllocationId = ID.parse().unwrap();
    let (server, configuration) = (seven(), revision_2());
    let generation = Generation::from_number(5);
    let intent = Intent::Stop;
    let requested = FleetEvent::MachineRequested {
        machine,
        key: ID.parse().unwrap(),
        region: ID.parse().unwrap(),
        slots: 4,
        until: at(300),
    };
    let ordered = |cause| FleetEvent::ServerOrdered { server, generation, configuration, intent, cause };
    for (event, golden) in [
        (FleetEvent::Configured(Arc::new(machine_spec())), format!("0301 12 {MACHINE_SPEC}")),
        (requested, "0301 13 00 8280808010 UUID UUID 04 ac02".to_owned()),
        (FleetEvent::IncidentClosed { incident: Box::new(incident()) }, "0301 15 INCIDENT".to_owned()),
        (FleetEvent::MachineCame { machine }, "0301 13 01 8280808010".to_owned()),
        (
            FleetEvent::MachineBooted { machine, boot: ID.parse().unwrap() },
            "0301 13 02 8280808010 UUID".to_owned(),
        ),
        (FleetEvent::MachineDraining { machine }, "0301 13 03 8280808010".to_owned()),
        (FleetEvent::MachineEmptied { machine }, "0301 13 04 8280808010".to_owned()),
        (FleetEvent::MachineWoken { machine }, "0301 13 05 8280808010".to_owned()),
        (FleetEvent::MachineLost { machine }, "0301 13 06 8280808010".to_owned()),
        (
            FleetEvent::MachineReturned { machine, absence: Absence::Rebooted },
            "0301 13 07 8280808010 02".to_owned(),
        ),
        (FleetEvent::MachineParting { machine, why: Parting::Died }, "0301 13 08 8280808010 03".to_owned()),
        (FleetEvent::MachineRemoved { machine }, "0301 13 09 8280808010".to_owned()),
        (FleetEvent::CountersKept { machines: 3, servers: 9 }, "0301 13 0a 03 09".to_owned()),
        (FleetEvent::AllocationDisplaced { id, until: at(300) }, "0301 13 0b UUID ac02".to_owned()),
        (FleetEvent::AllocationReadied { id }, "0301 13 0c UUID".to_owned()),
        (FleetEvent::MachineDutySet { machine, wish: Wish::Leave }, "0301 13 0d 8280808010 02".to_owned()),
        (FleetEvent::MachineParting { machine, why: Parting::ByHand }, "0301 13 08 8280808010 04".to_owned()),
        (
            FleetEvent::AllocationEnded { id, server: None, end: End::MachineLost },
            "0301 09 UUID 09".to_owned(),
        ),
        (
            FleetEvent::ReservationEnded { server, end: ReservationEnd::MachineLost },
            "0301 0d SERVER 06".to_owned(),
        ),
        (ordered(Cause::Drained), "0301 05 SERVER 05 0302 00 0f".to_owned()),
        (ordered(Cause::Woken), "0301 05 SERVER 05 0302 00 10".to_owned()),
        (ordered(Cause::MachineLost), "0301 05 SERVER 05 0302 00 11".to_owned()),
        (ordered(Cause::Returned), "0301 05 SERVER 05 0302 00 12".to_owned()),
    ] {
        keeps_its_bytes::<Fleet>(event, &bytes(&golden));
    }
}

/// Since format 3 what becomes of an allocation says on which server, and an operator's test is told from a session; a machine
/// says what it runs on, and a region may have times of its own.
#[test]
fn of_a_fleets_tests_and_hosts() {
    let machine = MachineId::of(FleetNumber::new(1).unwrap(), 2);
    let id: AllocationId = ID.parse().unwrap();
    let (server, configuration) = (seven(), revision_2());
    let request = Request {
        configuration: configuration.id,
        region: ID.parse().unwrap(),
        payload: Some("hi".into()),
        renewal: Renewal::Restart,
        purpose: Purpose::Test,
    };
    let size = MachineSize { cores: 4, speed_mhz: Some(300), memory_mib: 512 };
    let host = Host { size, processor: "p".into() };
    let (server_known, end) = (Some(server), End::Lost);
    for (event, golden) in [
        (
            FleetEvent::AllocationRequested { id, request, until: at(1_800_000_000_000) },
            "0301 16 UUID 03 UUID 01026869 01 80a0f1c2b134",
        ),
        (FleetEvent::AllocationFulfilled { id, server: server_known }, "0301 17 UUID SERVER"),
        (FleetEvent::AllocationEnded { id, server: server_known, end }, "0301 18 UUID SERVER 04"),
        (FleetEvent::MachineDescribed { machine, host }, "0301 19 8280808010 04 01ac02 8004 0170"),
        (FleetEvent::ServersForgotten { machine, servers: vec![server] }, "0301 1b 8280808010 01 SERVER"),
    ] {
        keeps_its_bytes::<Fleet>(event, &bytes(golden));
    }
    let mut spec = machine_spec();
    spec.regions[0].ttl =
        Some(MachineTtl::Idle { shutdown: Duration::from_secs(60), delete: Duration::from_secs(90) });
    let golden = |form: &str| bytes(&format!("0301 {form} {MACHINE_SPEC} 01 01 01 3c00 5a00"));
    keeps_its_bytes::<Fleet>(FleetEvent::Configured(Arc::new(spec.clone())), &golden("1a"));
    keeps_its_bytes::<Catalog>(CatalogEvent::FleetDeclared(Arc::new(spec.clone())), &golden("0e"));
    spec.regions[0].ttl = Some(MachineTtl::Off);
    let off = bytes(&format!("0301 1a {MACHINE_SPEC} 01 01 00"));
    keeps_its_bytes::<Fleet>(FleetEvent::Configured(Arc::new(spec)), &off);
}

/// Since format 3 a kept build configuration says whether its allocations wait for the ready call.
#[test]
fn of_a_build_configuration_a_fleet_keeps() {
    let kept = |spec| FleetEvent::SpecKept(Box::new(spec));
    is_still_read::<Fleet>(kept(spec()), &bytes("0201 01 SPEC"));
    is_still_read::<Fleet>(kept(spec()), &bytes("0301 01 SPEC"));
    let awaiting = Spec { ready_signal: ReadySignal::Awaited, ..spec() };
    keeps_its_bytes::<Fleet>(kept(spec()), &bytes("0301 14 SPEC 00"));
    keeps_its_bytes::<Fleet>(kept(awaiting), &bytes("0301 14 SPEC 01"));
}

/// Everything that format 3 added to a fleet's specification.
fn machine_spec() -> FleetSpec {
    let mut spec = fleet_spec();
    spec.regions[0].aliases = vec!["a".into()];
    spec.configurations[0].ready_signal = ReadySignal::Awaited;
    spec.hosting.usage = vec![UsageSetting {
        hardware: Hardware::Metal,
        machine_type: Some("m".into()),
        per_machine: Some(4),
        per_core: None,
        speed_mhz: Some(1_000),
        memory_mib: Some(512),
    }];
    spec.hosting.disabled_delete = Some(Duration::from_secs(90));
    spec.regions[0].growth = Growth::Provided(Provided {
        slots: 4,
        machines_max: 5,
        create_timeout: Duration::from_secs(60),
        retry: Duration::from_secs(1),
    });
    spec.hosting.machines = MachinePolicy {
        ttl: MachineTtl::Idle { shutdown: Duration::from_secs(60), delete: Duration::from_secs(90) },
        lost_after: Duration::from_secs(30),
        on_loss: OnLoss::PlaceAnew,
    };
    spec
}

const MACHINE_SPEC: &str = "01 1000112233445566778899aabbccddeeff 0166 09 01 \
    01 1000112233445566778899aabbccddeeff 0172 01 02 01 02 04 05 3c00 0100 01 SPEC 01 80cab5ee01 3c 00 01 5a00 023c00 \
    010302 01 3c00 5a00 1e00 01 01 01 0161 01 01 \
    01 01 01016d 0104 00 01e807 018004 015a00";

#[test]
fn of_a_catalog_in_format_1() {
    let credential =
        CredentialDeclaration { key: "k".into(), secret_sha256: [0xAB; 32], role: Role::Allocator };
    let declared = BuildDeclaration { name: "b".into(), folder: "/b".into(), excluded: Vec::new() };
    let id = BuildId::from_number(4).unwrap();
    for (event, golden) in [
        (CatalogEvent::BuildDeclared { id, declared }, "0101 00 04 0162 022f62".to_owned()),
        (CatalogEvent::ConfigurationDeclared(Box::new(spec())), "0101 01 SPEC".to_owned()),
        (CatalogEvent::FleetDeclared(Arc::new(fleet_spec_of_format_1())), "0101 02 FLEET".to_owned()),
        (CatalogEvent::CredentialAdmitted(credential), format!("0101 03 016b {} 01", "ab".repeat(32))),
    ] {
        is_still_read::<Catalog>(event, &bytes(&golden));
    }
}

#[test]
fn of_a_catalog() {
    let credential =
        CredentialDeclaration { key: "k".into(), secret_sha256: [0xAB; 32], role: Role::Allocator };
    let declared = BuildDeclaration { name: "b".into(), folder: "/b".into(), excluded: Vec::new() };
    let id = BuildId::from_number(4).unwrap();
    let release = Release { version: 2, manifest: [0xCD; 32], files: 3, bytes: 42 };
    let configuration = BuildConfigurationId::from_number(5).unwrap();
    let counters = Counters { builds: 1, configurations: 2, fleets: 3 };
    for (event, golden) in [
        (CatalogEvent::BuildDeclared { id, declared }, "0201 00 04 0162 022f62".to_owned()),
        (CatalogEvent::CredentialAdmitted(credential), format!("0201 03 016b {} 01", "ab".repeat(32))),
        (CatalogEvent::BuildReleased { id, release }, format!("0201 04 04 02 {} 03 2a", "cd".repeat(32))),
        (CatalogEvent::BuildDeleted(id), "0201 05 04".to_owned()),
        (CatalogEvent::ConfigurationDeleted(configuration), "0201 06 05".to_owned()),
        (CatalogEvent::FleetDeleted(FleetNumber::new(7).unwrap()), "0201 07 07".to_owned()),
        (CatalogEvent::CountersKept(counters), "0201 08 01 02 03".to_owned()),
        (CatalogEvent::Revised { number: 9, by: "k".into() }, "0201 09 09 016b".to_owned()),
    ] {
        keeps_its_bytes_since_2::<Catalog>(event, &bytes(&golden));
    }
    let declared = BuildDeclaration { name: "b".into(), folder: "/b".into(), excluded: vec!["*".into()] };
    keeps_its_bytes::<Catalog>(
        CatalogEvent::BuildDeclared { id, declared },
        &bytes("0301 0f 04 0162 022f62 01012a"),
    );
    let declared = || CatalogEvent::FleetDeclared(Arc::new(fleet_spec()));
    is_still_read::<Catalog>(declared(), &bytes("0201 02 FLEET 01 5a00 023c00 010302"));
    let declared = CatalogEvent::FleetDeclared(Arc::new(machine_spec()));
    keeps_its_bytes::<Catalog>(declared, &bytes(&format!("0301 0b {MACHINE_SPEC}")));
    let declared = |spec| CatalogEvent::ConfigurationDeclared(Box::new(spec));
    is_still_read::<Catalog>(declared(spec()), &bytes("0201 01 SPEC"));
    is_still_read::<Catalog>(declared(spec()), &bytes("0301 01 SPEC"));
    let awaiting = Spec { ready_signal: ReadySignal::Awaited, ..spec() };
    keeps_its_bytes::<Catalog>(declared(spec()), &bytes("0301 0d SPEC 00"));
    keeps_its_bytes::<Catalog>(declared(awaiting), &bytes("0301 0d SPEC 01"));
    keeps_its_bytes::<Catalog>(CatalogEvent::CredentialRevoked("k".into()), &bytes("0301 0c 016b"));
    let taken = CatalogEvent::StartTaken([0xEF; 32]);
    keeps_its_bytes::<Catalog>(taken, &bytes(&format!("0301 10 {}", "ef".repeat(32))));
}

#[test]
fn of_a_supervisor() {
    use SupervisorEvent as Event;
    let (server, configuration, generation) = (seven(), revision_2(), Generation::from_number(5));
    let session = Session { allocation: ID.parse().unwrap(), payload: None };
    let order = Order { server, generation, configuration, allocation: Some(session), intent: Intent::Renew };
    let number = RunNumber::from_number(6);
    let run = Run { number, configuration, generation, began: at(300) };
    let kept = |life| Event::SlotKept {
        slot: Box::new(Slot {
            order: order.clone(),
            life,
            strikes: Strikes::from_moments(vec![at(1), at(2)]),
            incidents: vec![],
        }),
    };
    let (reason, rung) = (Reason::Resumed, Rung::Kill);
    let ending = Ending::BackedOff { crashes: 2, cause: "x".into() };
    for (event, golden) in [
        (Event::SpecTaken { spec: Arc::new(spec()) }, "0201 0e SPEC"),
        (Event::OrderTaken { order: order.clone() }, "0201 01 SERVER 05 0302 01 UUID 00 02"),
        (Event::RunBegan { server, run: number, configuration, generation }, "0201 02 SERVER 06 0302 05"),
        (Event::Answered { server }, "0201 03 SERVER"),
        (Event::StopBegan { server, reason, rung }, "0201 04 SERVER 05 01"),
        (Event::StopTurned { server, reason: Reason::Ordered }, "0201 05 SERVER 00"),
        (Event::KillBegan { server }, "0201 06 SERVER"),
        (
            Event::Crashed { server, cause: "x".into(), within: Duration::from_secs(1800) },
            "0201 07 SERVER 0178 880e 00",
        ),
        (Event::StrikesCleared { server }, "0201 08 SERVER"),
        (Event::Ended { server, ending: Ending::Parked }, "0201 09 SERVER 04"),
        (Event::RestBegan { server, until: at(300) }, "0201 0a SERVER ac02"),
        (Event::SlotForgotten { server }, "0201 0b SERVER"),
        (kept(Life::Fresh), "0201 12 SERVER 05 0302 01 UUID 00 02 00 02 0102 00"),
        (
            kept(Life::Down { last: run, ending }),
            "0201 12 SERVER 05 0302 01 UUID 00 02 01 06030205ac02 02020178 020102 00",
        ),
        (
            kept(Life::Resting { last: run, until: at(1) }),
            "0201 12 SERVER 05 0302 01 UUID 00 02 02 06030205ac02 01 020102 00",
        ),
        (
            kept(Life::Up { run, stage: Stage::Answered, failures: Failures::default() }),
            "0201 12 SERVER 05 0302 01 UUID 00 02 05 06030205ac02 01 000000 020102 00",
        ),
        (
            kept(Life::Stopping { run, began: at(9), rung, reason }),
            "0201 12 SERVER 05 0302 01 UUID 00 02 04 06030205ac02 09 01 05 020102 00",
        ),
        (Event::RunsCounted { newest: number }, "0201 0d 06"),
        (
            Event::CheckFailed {
                server,
                check: Check::Memory,
                reading: "x".into(),
                within: Duration::from_secs(1800),
            },
            "0201 0f SERVER 01 0178 880e00",
        ),
        (Event::Misbehaved { server, check: Check::Cpu }, "0201 10 SERVER 00"),
        (Event::IncidentNoted { incident: Box::new(incident()) }, "0201 11 INCIDENT"),
        (Event::StopTurned { server, reason: Reason::Misbehaved(Check::Query) }, "0201 05 SERVER 06 02"),
        (
            Event::Ended { server, ending: Ending::PreRecovery { cause: "x".into() } },
            "0201 09 SERVER 05 0178",
        ),
    ] {
        keeps_its_bytes::<Supervisor>(event.clone(), &bytes(golden));
        // What has not changed is read as format 1 as well.
        if !golden.starts_with("0201 0e") && !golden.starts_with("0201 1") {
            is_still_read::<Supervisor>(event, &bytes(&golden.replacen("0201", "0101", 1)));
        }
    }
    for (life, golden) in [
        (Life::Fresh, "0101 0c SERVER 05 0302 01 UUID 00 02 00 02 0102"),
        (
            Life::Up { run, stage: Stage::Answered, failures: Failures::default() },
            "0101 0c SERVER 05 0302 01 UUID 00 02 03 06030205ac02 01 020102",
        ),
        (
            Life::Stopping { run, began: at(9), rung, reason },
            "0101 0c SERVER 05 0302 01 UUID 00 02 04 06030205ac02 09 01 05 020102",
        ),
    ] {
        is_still_read::<Supervisor>(kept(life), &bytes(golden));
    }
    is_still_read::<Supervisor>(Event::SpecTaken { spec: Arc::new(spec()) }, &bytes("0101 00 SPEC"));
}
