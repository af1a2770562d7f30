//! Golden bytes and round trips of the agent stream.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::density::{Host, MachineSize};
use mainstay_core::slot::{
    Caps, Check, Checks, ConfigurationRef, Exit, Fault, Heard, Incident, Intent, Killer, Launch, Limits,
    Order, Phase, Query, QueryPort, Reading, ReadySignal, Recovery, RestartPolicy, Scene, Session, Spec,
    Status, StopPolicy, Stopped,
};
use mainstay_core::{
    AllocationId, BuildConfigurationId, BuildId, FleetId, FleetNumber, Generation, MachineId, MachineKey,
    RegionId, ServerId, Timestamp,
};
use mainstay_fleet::{JoinedSlot, Ports};
use proptest::prelude::*;
use prost::Message as _;
use uuid::Uuid;

use super::*;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn server(counter: u32) -> ServerId {
    ServerId::of(FleetNumber::new(1).unwrap(), counter)
}

fn machine() -> MachineId {
    MachineId::of(FleetNumber::new(1).unwrap(), 2)
}

fn configuration() -> ConfigurationRef {
    ConfigurationRef { id: BuildConfigurationId::from_number(7).unwrap(), revision: 3 }
}

fn uuid(n: u8) -> Uuid {
    Uuid::from_bytes([n; 16])
}

/// What a released agent or plane has written must be read for ever: these bytes are never edited, only added to.
#[test]
fn golden_bytes() {
    let resync = Up::Resync(Statuses {
        machine: machine(),
        statuses: vec![
            Status {
                server: server(1),
                generation: Generation::from_number(5),
                configuration: Some(configuration()),
                run: 0,
                phase: Phase::Online { pid: 4711 },
            },
            Status {
                server: server(2),
                generation: Generation::NONE,
                configuration: None,
                run: 0,
                phase: Phase::Stopped(Stopped::Idle),
            },
        ],
    });
    let frames = Down::Frames(vec![Frame {
        machine: machine(),
        specs: None,
        slots: None,
        orders: vec![Order {
            server: server(1),
            generation: Generation::from_number(6),
            configuration: configuration(),
            allocation: Some(Session { allocation: AllocationId(uuid(0xab)), payload: Some("hi".into()) }),
            intent: Intent::Renew,
        }],
    }]);
    let up = proto::Up::from(resync.clone()).encode_to_vec();
    let down = proto::Down::from(frames.clone()).encode_to_vec();
    assert_eq!(hex(&up), include_str!("golden/resync.hex").trim());
    assert_eq!(hex(&down), include_str!("golden/frames.hex").trim());
    assert_eq!(Up::try_from(proto::Up::decode(up.as_slice()).unwrap()), Ok(resync.clone()));
    assert_eq!(Down::try_from(proto::Down::decode(down.as_slice()).unwrap()), Ok(frames));
    // With the run of a process, which later agents say too.
    let Up::Resync(mut told) = resync else { panic!("a resync") };
    told.statuses[0].run = 3;
    let up = proto::Up::from(Up::Resync(told.clone())).encode_to_vec();
    assert_eq!(hex(&up), include_str!("golden/resync_with_run.hex").trim());
    assert_eq!(Up::try_from(proto::Up::decode(up.as_slice()).unwrap()), Ok(Up::Resync(told)));
}

#[test]
fn a_hello_and_its_welcome_survive_the_wire() {
    let hello = Up::Hello(Hello {
        agent_version: "0.1.0".to_owned(),
        boot_id: "b".to_owned(),
        token: "secret".to_owned(),
        machines: vec![JoiningMachine {
            key: MachineKey(uuid(1)),
            fleet: "tugboat".to_owned(),
            region: "local".to_owned(),
            name: "host".into(),
            ipv4: Some([127, 0, 0, 1].into()),
            ipv6: Some(std::net::Ipv6Addr::LOCALHOST),
            slots: vec![Ports { game: 20000, query: 20001 }],
        }],
        looks: LOOKS,
        host: Some(Host {
            size: MachineSize { cores: 8, speed_mhz: Some(2_400), memory_mib: 16_000 },
            processor: "a processor".into(),
        }),
    });
    assert_eq!(Up::try_from(proto::Up::from(hello.clone())), Ok(hello.clone()));
    assert!(!format!("{hello:?}").contains("secret"), "tokens are never shown");
    let welcome = Down::Welcome(Welcome {
        machines: vec![WelcomedMachine {
            machine: machine(),
            fleet_id: FleetId(uuid(2)),
            fleet_name: "tugboat".to_owned(),
            region_id: RegionId(uuid(3)),
            region_name: "local".to_owned(),
            slots: vec![JoinedSlot { server: server(9), ports: Ports { game: 1, query: 2 } }],
        }],
        asks: ASKS,
        installs: INSTALLS,
    });
    assert_eq!(Down::try_from(proto::Down::from(welcome.clone())), Ok(welcome));
}

#[test]
fn installs_and_looks_survive_the_wire_and_are_bounded() {
    let install =
        |stage, bytes_all| Install { configuration: configuration(), bytes_done: 3, bytes_all, stage };
    let stuck = InstallStage::Stuck { code: "MS-S435".to_owned(), detail: "no room".to_owned() };
    let installs = vec![
        install(InstallStage::Coming, Some(9)),
        install(InstallStage::Coming, None),
        install(InstallStage::Complete, Some(9)),
        install(stuck, Some(9)),
    ];
    let disk = DiskUse {
        builds: 1,
        cores: 2,
        evidence: 3,
        logs: 4,
        budget: 5,
        free: 6,
        deleted: 7,
        fill: Fill::Full,
    };
    let looked = |seen| Up::Looked(Looked { id: 7, seen });
    let file = SeenFile { path: "logs/a".to_owned(), size: 4, modified: 5 };
    for up in [
        Up::Installs(Installs { machine: machine(), installs, disk: None }),
        Up::Installs(Installs { machine: machine(), installs: Vec::new(), disk: Some(disk) }),
        looked(Seen::Nothing),
        looked(Seen::Tail("out hello".to_owned())),
        looked(Seen::Files(vec![file.clone()])),
        looked(Seen::Part { data: vec![1, 2], length: 9 }),
        looked(Seen::Failed { code: "MS-S608".to_owned(), detail: "why".to_owned() }),
    ] {
        let bytes = proto::Up::from(up.clone()).encode_to_vec();
        assert_eq!(Up::try_from(proto::Up::decode(bytes.as_slice()).unwrap()), Ok(up));
    }
    let look = |what| Down::Look(Look { id: 7, server: server(1), what });
    let read = LookFor::Read { path: "logs/a".to_owned(), from: 8, bytes: LOOK_BYTES_MAX };
    for down in [look(LookFor::Tail { lines: 4 }), look(LookFor::List), look(read)] {
        let bytes = proto::Down::from(down.clone()).encode_to_vec();
        assert_eq!(Down::try_from(proto::Down::decode(bytes.as_slice()).unwrap()), Ok(down));
    }
    let more = look(LookFor::Read { path: "a".to_owned(), from: 0, bytes: u32::MAX });
    let less = look(LookFor::Read { path: "a".to_owned(), from: 0, bytes: LOOK_BYTES_MAX });
    assert_eq!(Down::try_from(proto::Down::from(more)), Ok(less));
    let files = looked(Seen::Files(vec![file; LOOK_FILES_MAX + 1]));
    assert!(matches!(Up::try_from(proto::Up::from(files)), Err(Malformed::TooLong { .. })));
}

#[test]
fn what_is_wrong_is_named() {
    let hello = |change: fn(&mut proto::Hello)| {
        let mut hello = proto::Hello {
            protocol: PROTOCOL,
            machines: vec![proto::JoiningMachine { key: vec![0; 16], ..Default::default() }],
            ..Default::default()
        };
        change(&mut hello);
        Hello::try_from(hello).map(drop)
    };
    let address = |field| Malformed::Address { message: "JoiningMachine", field };
    type Row = (fn(&mut proto::Hello), Result<(), Malformed>);
    let table: [Row; 7] = [
        (|_| {}, Ok(())),
        (|it| it.protocol = 2, Err(Malformed::Protocol { found: 2 })),
        (
            |it| it.machines[0].key = vec![0; 15],
            Err(Malformed::Uuid { message: "JoiningMachine", field: "key", bytes: 15 }),
        ),
        (|it| it.machines[0].ipv4 = "300.0.0.1".to_owned(), Err(address("ipv4"))),
        (|it| it.machines[0].ipv6 = "127.0.0.1".to_owned(), Err(address("ipv6"))),
        (
            |it| it.machines[0].slots = vec![proto::Ports { game: 65_536, query: 1 }],
            Err(Malformed::Meaningless { message: "Ports", field: "game", value: 65_536 }),
        ),
        (
            |it| it.machines = vec![proto::JoiningMachine::default(); 257],
            Err(Malformed::TooLong { message: "Hello", field: "machines", found: 257, max: 256 }),
        ),
    ];
    for (row, (change, expected)) in table.into_iter().enumerate() {
        assert_eq!(hello(change), expected, "row {row}");
    }
    let order =
        proto::Order { configuration: Some(proto::ConfigurationRef::default()), ..Default::default() };
    let unspecified = Malformed::Meaningless { message: "Order", field: "intent", value: 0 };
    assert_eq!(Order::try_from(order), Err(unspecified));
    assert_eq!(Up::try_from(proto::Up::default()), Err(Malformed::Missing { message: "Up", field: "what" }));
}

fn reference() -> impl Strategy<Value = ConfigurationRef> {
    (0..1_u64 << 53, any::<u32>()).prop_map(|(id, revision)| ConfigurationRef {
        id: BuildConfigurationId::from_number(id).unwrap(),
        revision,
    })
}

fn phase() -> impl Strategy<Value = Phase> {
    prop_oneof![
        Just(Phase::Stopped(Stopped::Idle)),
        Just(Phase::Stopped(Stopped::Ordered)),
        Just(Phase::Stopped(Stopped::Completed)),
        proptest::option::of(1..=u32::MAX).prop_map(|pid| Phase::Starting { pid }),
        any::<u32>().prop_map(|pid| Phase::Online { pid }),
        proptest::option::of(1..=u32::MAX).prop_map(|pid| Phase::Stopping { pid }),
        (any::<u32>(), ".{0,40}")
            .prop_map(|(crashes, cause)| Phase::BackedOff { crashes, cause: cause.into() }),
        ".{0,40}".prop_map(|cause| Phase::PreRecovery { cause: cause.into() }),
        Just(Phase::Lost),
    ]
}

fn status() -> impl Strategy<Value = Status> {
    (any::<u32>(), any::<u64>(), proptest::option::of(reference()), phase()).prop_map(
        |(counter, generation, configuration, phase)| Status {
            server: server(counter),
            generation: Generation::from_number(generation),
            configuration,
            run: generation / 2,
            phase,
        },
    )
}

fn order() -> impl Strategy<Value = Order> {
    let session = (any::<[u8; 16]>(), proptest::option::of(".{0,60}")).prop_map(|(id, payload)| Session {
        allocation: AllocationId(Uuid::from_bytes(id)),
        payload: payload.map(Into::into),
    });
    let intent = prop_oneof![Just(Intent::Stop), Just(Intent::Run), Just(Intent::Renew), Just(Intent::Leave)];
    (any::<u32>(), any::<u64>(), reference(), proptest::option::of(session), intent).prop_map(
        |(counter, generation, configuration, allocation, intent)| Order {
            server: server(counter),
            generation: Generation::from_number(generation),
            configuration,
            allocation,
            intent,
        },
    )
}

fn spec() -> impl Strategy<Value = Spec> {
    let pairs = || proptest::collection::vec(("[a-z]{1,5}", ".{0,9}"), 0..3);
    let query =
        (".{0,9}", any::<bool>(), any::<u32>(), any::<u32>()).prop_map(|(protocol, game, a, b)| Query {
            protocol,
            port: if game { QueryPort::Game } else { QueryPort::Query },
            timeout: Duration::from_millis(a.into()),
            start_grace: Duration::from_millis(b.into()),
        });
    let optional = || proptest::option::of(any::<u32>());
    (
        (reference(), ".{0,9}", 0..1_u64 << 53, pairs(), pairs()),
        (proptest::option::of(query), any::<u32>(), any::<u32>(), optional(), optional()),
        (any::<i32>(), any::<u32>(), any::<u32>(), any::<u32>()),
    )
        .prop_map(|((configuration, name, build, variables, environment), limits, policies)| {
            let (query, cpu, memory, cpu_cap, memory_cap) = limits;
            let (signal, kill_after, attempts, within) = policies;
            Spec {
                configuration,
                name: Arc::from(name.clone()),
                build: BuildId::from_number(build).unwrap(),
                launch: Launch {
                    folder: name.clone(),
                    binary: name.clone(),
                    command_line: name,
                    variables,
                    environment,
                },
                query,
                limits: Limits { cpu_millis: cpu, memory_mib: memory },
                caps: Caps { cpu_millis: cpu_cap, memory_mib: memory_cap },
                stop: StopPolicy { signal, kill_after: Duration::from_millis(kill_after.into()) },
                restart: RestartPolicy { attempts, within: Duration::from_millis(within.into()) },
                checks: Checks {
                    every: Duration::from_millis(kill_after.into()),
                    failures: attempts,
                    within: Duration::from_millis(within.into()),
                    cpu_tolerance_percent: cpu,
                    memory_tolerance_bytes: memory.into(),
                    signal,
                },
                recovery: if attempts % 2 == 0 { Recovery::PreRecovery } else { Recovery::Restart },
                ready_signal: ReadySignal::NotAwaited,
            }
        })
}

fn incident() -> impl Strategy<Value = Incident> {
    let fault = prop_oneof![
        Just(Fault::Crash),
        Just(Fault::Misbehaviour(Check::Cpu)),
        Just(Fault::Misbehaviour(Check::Memory)),
        Just(Fault::Misbehaviour(Check::Query)),
    ];
    let killer = prop_oneof![Just(Killer::Unknown), Just(Killer::OutOfMemory)];
    let exit = prop_oneof![
        any::<i32>().prop_map(Exit::Code),
        (any::<i32>(), killer).prop_map(|(signal, killed_by)| Exit::Signal { signal, killed_by }),
        ".{0,40}".prop_map(|why| Exit::NotStarted(why.into())),
    ];
    let place =
        (any::<u32>(), any::<u64>(), any::<u64>(), reference(), proptest::option::of(any::<[u8; 16]>()));
    let text = || ".{0,40}";
    (place, fault, text(), proptest::option::of(exit), text(), proptest::option::of(text())).prop_map(
        |((counter, run, at, configuration, session), fault, cause, exit, last_words, core)| Incident {
            server: server(counter),
            run,
            at: Timestamp::from_unix_ms(at),
            fault,
            cause: cause.into(),
            exit,
            configuration,
            allocation: session.map(|id| AllocationId(Uuid::from_bytes(id))),
            last_words: last_words.into(),
            core: core.map(Into::into),
        },
    )
}

fn reading() -> impl Strategy<Value = (ServerId, Reading)> {
    let number = || proptest::option::of(any::<u32>());
    let heard = prop_oneof![
        Just(Heard::Unasked),
        Just(Heard::Silence),
        (number(), number()).prop_map(|(players, players_max)| Heard::Answer { players, players_max }),
    ];
    (any::<u32>(), number(), proptest::option::of(any::<u64>()), heard).prop_map(
        |(counter, cpu_millis, memory_bytes, heard)| {
            (server(counter), Reading { cpu_millis, memory_bytes, heard })
        },
    )
}

/// A plane of before sends no settings of checks: the seed's hold. What makes no sense is refused by name.
#[test]
fn settings_of_checks_have_defaults_and_incidents_have_bounds() {
    let told = proto::Spec {
        configuration: Some(configuration().into()),
        build: 1,
        launch: Some(proto::Launch::default()),
        limits: Some(proto::Limits::default()),
        caps: Some(proto::Caps::default()),
        stop: Some(proto::StopPolicy::default()),
        restart: Some(proto::RestartPolicy::default()),
        ..proto::Spec::default()
    };
    let spec = Spec::try_from(told.clone()).unwrap();
    assert_eq!((spec.checks, spec.recovery), (Checks::default(), Recovery::PreRecovery));
    let unknown = Malformed::Meaningless { message: "Spec", field: "recovery", value: 7 };
    assert_eq!(Spec::try_from(proto::Spec { recovery: 7, ..told }), Err(unknown));

    let incident = |change: fn(&mut proto::Incident)| {
        let mut told = proto::Incident {
            server: server(1).number(),
            fault: proto::Fault::Crash.into(),
            configuration: Some(configuration().into()),
            ..proto::Incident::default()
        };
        change(&mut told);
        Incident::try_from(told).map(drop)
    };
    let long = |field, found, max| Err(Malformed::TooLong { message: "Incident", field, found, max });
    assert_eq!(incident(|_| {}), Ok(()));
    assert_eq!(
        incident(|it| it.fault = 0),
        Err(Malformed::Meaningless { message: "Incident", field: "fault", value: 0 })
    );
    assert_eq!(
        incident(|it| it.last_words = "x".repeat(513)),
        long("last_words", 513, Scene::LAST_WORDS_BYTES_MAX)
    );
    assert_eq!(incident(|it| it.core = Some("x".repeat(4097))), long("core", 4097, PATH_BYTES_MAX));
    assert_eq!(incident(|it| it.cause = "x".repeat(1025)), long("cause", 1025, CAUSE_BYTES_MAX));
    assert_eq!(
        incident(|it| it.exit = Some(proto::Exit { how: None })),
        Err(Malformed::Missing { message: "Exit", field: "how" })
    );
}

proptest! {
    #[test]
    fn every_incident_and_reading_survives_the_wire(
        incidents in proptest::collection::vec(incident(), 0..4),
        readings in proptest::collection::vec(reading(), 0..4),
    ) {
        for up in [
            Up::Incidents(Incidents { machine: machine(), incidents }),
            Up::Readings(Readings { machine: machine(), readings }),
        ] {
            let bytes = proto::Up::from(up.clone()).encode_to_vec();
            prop_assert_eq!(Up::try_from(proto::Up::decode(bytes.as_slice()).unwrap()), Ok(up));
        }
    }

    #[test]
    fn every_report_survives_the_wire(statuses in proptest::collection::vec(status(), 0..8)) {
        let up = Up::Report(Statuses { machine: machine(), statuses });
        let bytes = proto::Up::from(up.clone()).encode_to_vec();
        prop_assert_eq!(Up::try_from(proto::Up::decode(bytes.as_slice()).unwrap()), Ok(up));
    }

    #[test]
    fn every_frame_survives_the_wire(
        specs in proptest::option::of((any::<u64>(), proptest::collection::vec(spec(), 0..3))),
        slots in proptest::option::of(0..=4_096_u32),
        orders in proptest::collection::vec(order(), 0..8),
    ) {
        let down = Down::Frames(vec![Frame { machine: machine(), specs, slots, orders }]);
        let bytes = proto::Down::from(down.clone()).encode_to_vec();
        prop_assert_eq!(Down::try_from(proto::Down::decode(bytes.as_slice()).unwrap()), Ok(down));
    }

    #[test]
    fn whatever_arrives_is_a_message_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(up) = proto::Up::decode(bytes.as_slice()) {
            let _value_or_reason = Up::try_from(up);
        }
        if let Ok(down) = proto::Down::decode(bytes.as_slice()) {
            let _value_or_reason = Down::try_from(down);
        }
    }

    #[test]
    fn a_message_with_a_flipped_byte_is_a_message_or_a_reason(
        orders in proptest::collection::vec(order(), 1..4),
        place in any::<proptest::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let mut bytes = proto::Down::from(Down::Frames(vec![Frame { machine: machine(), specs: None, slots: None, orders }]))
            .encode_to_vec();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        if let Ok(down) = proto::Down::decode(bytes.as_slice()) {
            let _value_or_reason = Down::try_from(down);
        }
    }
}
