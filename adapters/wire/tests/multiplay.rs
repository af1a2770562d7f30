//! The Multiplay face's JSON, as its clients write and read it.
#![cfg(test)]

use std::sync::Arc;

use mainstay_core::slot::{
    Caps, Checks, ConfigurationRef, Launch, Limits, ReadySignal, Recovery, RestartPolicy, Spec, StopPolicy,
};
use mainstay_core::{
    AllocationId, BuildConfigurationId, BuildId, FleetId, FleetNumber, MachineKey, RegionId,
    StateMachine as _, Timestamp, Turn,
};
use mainstay_fleet::{
    Addresses, Command, Fleet, FleetSpec, Growth, IdleServers, Ports, Purpose, RegionOpening, RegionSpec,
    Renewal, Request,
};
use mainstay_wire::multiplay::{AllocateRequest, AllocationView, BodyError, TokenRequest};
use proptest::prelude::*;
use serde_json::json;
use uuid::Uuid;

const ID: &str = "f2a6a2d0-6f4b-4b7e-9f66-0c2f3f5a7b11";
const REGION: &str = "bd984d6f-37a6-473d-a766-8944ae439526";

fn body(change: impl FnOnce(&mut serde_json::Value)) -> Vec<u8> {
    let mut body = json!({ "allocationId": ID, "buildConfigurationId": 1_136_640, "regionId": REGION });
    change(&mut body);
    serde_json::to_vec(&body).unwrap()
}

#[test]
fn what_stock_clients_send_is_read() {
    // The matchmaker adapter sends `payload` and no `restart`; a caller without one may send null.
    for (change, payload, renewal) in [
        (json!({}), None, Renewal::Keep),
        (json!({ "payload": null }), None, Renewal::Keep),
        (json!({ "payload": "{}" }), Some("{}"), Renewal::Keep),
        (json!({ "payload": "", "restart": false }), Some(""), Renewal::Keep),
        (json!({ "restart": true }), None, Renewal::Restart),
        (json!({ "unknownField": 1 }), None, Renewal::Keep),
    ] {
        let bytes = body(|body| {
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        });
        let (id, request) = AllocateRequest::read(&bytes).unwrap().request(Purpose::Session).unwrap();
        assert_eq!(id.to_string(), ID);
        assert_eq!(request.configuration.number(), 1_136_640);
        assert_eq!(request.region.to_string(), REGION);
        assert_eq!((request.payload.as_deref(), request.renewal), (payload, renewal), "{change}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_code() {
    let cases: [(Vec<u8>, &str); 9] = [
        (b"".to_vec(), "MS-U101"),
        (b"{".to_vec(), "MS-U101"),
        (b"[]".to_vec(), "MS-U101"),
        (b"\xff".to_vec(), "MS-U101"),
        (body(|body| body["allocationId"] = json!("x")), "MS-U101"),
        (body(|body| body["buildConfigurationId"] = json!("1136640")), "MS-U101"),
        (body(|body| body["buildConfigurationId"] = json!(-1)), "MS-U101"),
        (body(|body| drop(body.as_object_mut().unwrap().remove("regionId"))), "MS-U101"),
        (body(|body| body["payload"] = json!("x".repeat(30 * 1024 + 1))), "MS-P008"),
    ];
    for (bytes, code) in cases {
        let error = AllocateRequest::read(&bytes).unwrap_err();
        assert_eq!(error.code(), code, "{}", String::from_utf8_lossy(&bytes));
    }
    let large =
        AllocateRequest::read(&body(|body| body["buildConfigurationId"] = json!(1_u64 << 53))).unwrap();
    assert!(matches!(large.request(Purpose::Session), Err(BodyError::ConfigurationId(_))));
}

#[test]
fn a_payload_of_exactly_30_kb_is_taken() {
    let bytes = body(|body| body["payload"] = json!("x".repeat(30 * 1024)));
    assert!(AllocateRequest::read(&bytes).is_ok());
}

#[test]
fn token_requests_of_stock_clients_are_read() {
    assert_eq!(TokenRequest::read(b"").unwrap(), TokenRequest::default());
    assert_eq!(TokenRequest::read(b"{}").unwrap().scopes, Vec::<String>::new());
    let sample = br#"{"apiKeyPublicIdentifier":"key","secret":"s3cret","scopes":[]}"#;
    let request = TokenRequest::read(sample).unwrap();
    assert_eq!(request.api_key_public_identifier.as_deref(), Some("key"));
    assert!(!format!("{request:?}").contains("s3cret"));
    assert!(TokenRequest::read(b"[").is_err());
    let many = serde_json::to_vec(&json!({ "scopes": vec!["a"; 65] })).unwrap();
    assert!(matches!(TokenRequest::read(&many), Err(BodyError::TooManyScopes { found: 65 })));
}

fn spec() -> FleetSpec {
    FleetSpec {
        number: FleetNumber::new(1).unwrap(),
        id: FleetId(Uuid::from_bytes([1; 16])),
        name: "arena".into(),
        revision: 1,
        idle_servers: IdleServers::StartOnAllocation,
        regions: vec![RegionSpec {
            id: RegionId(Uuid::from_bytes([2; 16])),
            name: "Europe".into(),
            aliases: vec![],
            min_available: 0,
            max_servers: 10,
            opening: RegionOpening::Online,
            growth: Growth::MachinesMayJoin,
            ttl: None,
        }],
        configurations: vec![Spec {
            configuration: ConfigurationRef {
                id: BuildConfigurationId::from_number(7).unwrap(),
                revision: 1,
            },
            name: "ranked".into(),
            build: BuildId::from_number(3).unwrap(),
            launch: Launch {
                folder: "/a".into(),
                binary: "b".into(),
                command_line: String::new(),
                variables: vec![],
                environment: vec![],
            },
            query: None,
            limits: Limits { cpu_millis: 1000, memory_mib: 100 },
            caps: Caps::default(),
            stop: StopPolicy::default(),
            restart: RestartPolicy::default(),
            checks: Checks::default(),
            recovery: Recovery::default(),
            ready_signal: ReadySignal::default(),
        }],
        placement_timeout: std::time::Duration::from_secs(60),
        retention: std::time::Duration::from_secs(3600),
        hosting: mainstay_fleet::Hosting::default(),
        floors: Vec::new(),
    }
}

fn run(fleet: &mut Fleet, at: u64, command: Command) -> mainstay_fleet::Answer {
    Turn::run(Timestamp::from_unix_ms(at), fleet, &command).answer.unwrap()
}

/// An allocation as it waits, is placed, and has ended: absent datetimes are left out.
#[test]
fn an_allocation_is_shown_step_by_step() {
    let mut fleet = Fleet::new(0);
    run(&mut fleet, 0, Command::Configure(Arc::new(spec())));
    let id: AllocationId = ID.parse().unwrap();
    let request = Request {
        configuration: BuildConfigurationId::from_number(7).unwrap(),
        region: RegionId(Uuid::from_bytes([2; 16])),
        payload: None,
        renewal: Renewal::Keep,
        purpose: Purpose::Session,
    };
    run(&mut fleet, 1_000, Command::Allocate { id, request });
    let view = |fleet: &Fleet, at: u64| {
        let allocation = fleet.allocation(id, Timestamp::from_unix_ms(at)).unwrap();
        let server = allocation.placed().and_then(|placed| fleet.server(placed.server));
        let machine = server.and_then(|server| fleet.machine(server.machine));
        let signal = fleet.ready_signal(allocation);
        serde_json::to_value(AllocationView::of(id, spec().id, allocation, (server, machine), signal))
            .unwrap()
    };
    let waiting = json!({
        "allocationId": ID, "buildConfigurationId": 7, "fleetId": spec().id, "readiness": false,
        "regionId": RegionId(Uuid::from_bytes([2; 16])), "requestId": ID, "requested": "1970-01-01T00:00:01Z",
    });
    assert_eq!(view(&fleet, 1_000), waiting);

    let join = Command::Join {
        key: MachineKey(Uuid::from_bytes([9; 16])),
        region: RegionId(Uuid::from_bytes([2; 16])),
        name: "host".into(),
        addresses: Addresses { ipv4: Some([10, 0, 0, 7].into()), ipv6: None },
        slots: vec![Ports { game: 20000, query: 20001 }],
        boot: None,
        host: None,
    };
    let mainstay_fleet::Answer::Joined { machine, slots } = run(&mut fleet, 2_000, join) else { panic!() };
    let statuses = vec![mainstay_core::slot::Status {
        run: 0,
        server: slots[0].server,
        generation: mainstay_core::Generation::NONE,
        configuration: None,
        phase: mainstay_core::slot::Phase::Stopped(mainstay_core::slot::Stopped::Idle),
    }];
    let stream = mainstay_fleet::StreamId(1);
    run(&mut fleet, 3_500, Command::Connect { machine, stream, statuses });
    let placed = view(&fleet, 3_500);
    assert_eq!(placed["created"], json!("1970-01-01T00:00:03.5Z"));
    assert_eq!(placed["ipv4"], json!("10.0.0.7"));
    assert_eq!(placed["gamePort"], json!(20000));
    assert_eq!(placed["machineId"], json!(machine.number()));
    assert_eq!(placed["serverId"], json!(slots[0].server.number()));
    assert_eq!(placed.get("fulfilled"), None, "not yet: its process has not been seen to play");
    assert_eq!(fleet.owed(&machine).orders.len(), 1);

    run(&mut fleet, 4_000, Command::Deallocate { id });
    let ended = view(&fleet, 4_000);
    assert_eq!(ended["ended"], json!("1970-01-01T00:00:04Z"));
    assert_eq!((ended["failed"].clone(), ended["endReason"].clone()), (json!(false), json!("deallocated")));
    assert_eq!((ended.get("ipv4"), ended.get("gamePort")), (None, None), "the port may be another's already");
}

proptest! {
    #[test]
    fn whatever_a_body_holds_it_is_a_request_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(request) = AllocateRequest::read(&bytes) {
            let _value_or_reason = request.request(Purpose::Session);
        }
        let _value_or_reason = TokenRequest::read(&bytes);
    }

    #[test]
    fn a_request_survives_the_wire(id in any::<[u8; 16]>(), configuration in 0..1_u64 << 53, payload in proptest::option::of(".{0,100}")) {
        let request = AllocateRequest {
            allocation_id: AllocationId(Uuid::from_bytes(id)),
            build_configuration_id: configuration,
            region_id: RegionId(Uuid::from_bytes(id)),
            payload,
            restart: None,
        };
        let bytes = serde_json::to_vec(&request).unwrap();
        prop_assert_eq!(AllocateRequest::read(&bytes).unwrap(), request);
    }
}
