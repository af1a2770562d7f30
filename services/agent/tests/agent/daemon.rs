//! The local daemon against the reference (multiplay.md section 2): one test a trap, with the recorded bytes.

use std::io::{Read as _, Write as _};

use mainstay_core::slot::{Intent, Spec};
use mainstay_core::{BuildConfigurationId, ReservationId, Timestamp};
use mainstay_wire::agent::{Outcome, Refusal, Wish};
use serde_json::{Value, json};
use std::time::Duration;
use uuid::Uuid;

use crate::games::{Build, fleet};
use crate::guest::{Events, Guest, aside, call, users_tell};
use crate::host::{Agent, Host};
use crate::plane::{Plane, allocation, server};

const A: u128 = 0x1234_5678_9abc_4def_8123_4567_89ab_cdef;
const B: u128 = 0xb;

/// One slot with a game that runs, for a session or for none.
struct World {
    build: Build,
    host: Host,
    plane: Plane,
    spec: Spec,
    agent: Option<Agent>,
}

impl World {
    async fn new(session: Option<u128>) -> Self {
        let (build, host) = (Build::new(), Host::new(1));
        let spec = build.spec(1, "obedient");
        let plane = Plane::start(vec![spec.clone()]).await;
        let agent = Some(host.agent(&plane));
        let world = Self { build, host, plane, spec, agent };
        world.session(session).await;
        world
    }

    /// Gives the running game a session, or takes it.
    async fn session(&self, session: Option<u128>) {
        self.plane.order_with(1, Intent::Run, &self.spec, session, session.map(|_| "the map")).await;
        self.plane.online(1).await;
        assert!(self.build.path().exists());
    }

    fn guest(&self) -> Guest {
        Guest::of(&self.host, 1)
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/servers/{}{rest}", server(1).number())
    }
}

fn event(kind: &str, session: u128) -> (String, String, u64) {
    (kind.to_owned(), allocation(session).to_string(), server(1).number())
}

fn allocated(session: u128) -> (String, String, u64) {
    event("AllocateEventType", session)
}

fn deallocated(session: u128) -> (String, String, u64) {
    event("DeallocateEventType", session)
}

/// The next message, which is a publication on the server's channel.
#[track_caller]
fn heard(events: &mut Events) -> (String, String, u64) {
    let push = events.next();
    assert_eq!(push["result"]["channel"], format!("server#{}", server(1).number()), "{push}");
    let event = &push["result"]["data"]["data"];
    assert!(event["EventID"].as_str().is_some_and(|id| id.parse::<Uuid>().is_ok()), "{push}");
    let text = |name: &str| event[name].as_str().unwrap_or_default().to_owned();
    (text("EventType"), text("AllocationID"), event["ServerID"].as_u64().unwrap_or_default())
}

#[track_caller]
fn listening(guest: &Guest) -> Events {
    let mut events = guest.events();
    assert_eq!(events.subscribe(server(1).number()), json!({"id": 2, "result": {}}));
    events
}

/// "Observed exchange (text frames) [RUN GO v0.5.4 against a mock]": connect, subscribe, push, then ready.
/// Shows `GET /v1/connection/websocket`, `PATCH /v1/servers/{serverId}/allocations/{allocationId}`.
#[tokio::test(flavor = "multi_thread")]
async fn the_go_sdks_recorded_exchange() {
    let world = World::new(None).await;
    let guest = world.guest();
    let mut events = aside(move || {
        let mut events = guest.socket();
        let connected = events.ask(r#"{"id":1,"params":{"name":"go"}}"#);
        assert_eq!(connected["id"], 1);
        assert!(connected["result"]["client"].is_string() && connected["result"]["version"].is_string());
        assert_eq!(events.subscribe(server(1).number()), json!({"id": 2, "result": {}}));
        events
    })
    .await;
    world.session(Some(A)).await;
    let mut events = aside(move || {
        assert_eq!(heard(&mut events), allocated(A));
        events
    })
    .await;
    let (guest, path) = (world.guest(), world.path(&format!("/allocations/{}", allocation(A))));
    let ready = tokio::task::spawn_blocking(move || guest.call("PATCH", &path, r#"{"ready":true}"#));
    let ask = world.plane.ask(0).await;
    assert_eq!((ask.server, ask.wish, ask.process), (server(1), Wish::SetReady, world.plane.generation(1)));
    world.plane.answer(ask.id, Outcome::Done).await;
    assert_eq!(ready.await.unwrap().status, 204);
    // The same call takes it back.
    let (guest, path) = (world.guest(), world.path(&format!("/allocations/{}", allocation(A))));
    let unready = tokio::task::spawn_blocking(move || guest.call("PATCH", &path, r#"{"ready":false}"#));
    let ask = world.plane.ask(1).await;
    assert_eq!((ask.server, ask.wish), (server(1), Wish::SetUnready));
    world.plane.answer(ask.id, Outcome::Done).await;
    assert_eq!(unready.await.unwrap().status, 204);
    world.session(None).await;
    aside(move || assert_eq!(heard(&mut events), deallocated(A))).await;
}

/// "Replay on subscribe: if the server is already allocated when it subscribes, the real proxy publishes the allocate
/// event at that moment"; the Go SDK "raises "allocated" only from events".
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_subscribes_late_is_told_its_session() {
    let world = World::new(Some(A)).await;
    for _ in 0..2 {
        let guest = world.guest();
        aside(move || {
            let mut events = listening(&guest);
            assert_eq!(heard(&mut events), allocated(A));
            events.is_quiet();
        })
        .await;
    }
}

/// "Never reject the first SUBSCRIBE: Go SDK then hangs inside Start()": a server this agent has not heard of yet.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_subscribe_is_never_rejected() {
    let world = World::new(None).await;
    let guest = world.guest();
    aside(move || {
        let mut events = guest.events();
        let unknown = server(77).number();
        assert_eq!(events.subscribe(unknown), json!({"id": 2, "result": {}}));
        let again = events.subscribe(unknown);
        assert_eq!(again["error"]["code"], 105, "a second one is: already subscribed ({again})");
    })
    .await;
}

/// "C# re-reads server.json on each event. So the file must be written **before** the event is published"; and "truncate +
/// write", in place.
/// Shows `truncated and written in place`, `written before the event is published`.
#[tokio::test(flavor = "multi_thread")]
async fn the_file_says_it_before_the_event_does() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new(None).await;
    let path = world.host.dirs(1).home.join("server.json");
    let inode = std::fs::metadata(&path).unwrap().ino();
    let guest = world.guest();
    let mut events = aside(move || listening(&guest)).await;
    for session in [Some(A), None, Some(B), None] {
        let path = path.clone();
        let hearing = tokio::task::spawn_blocking(move || {
            let (kind, id, _) = heard(&mut events);
            let read: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            let wanted = if kind == "AllocateEventType" { id } else { String::new() };
            assert_eq!(read["allocatedUUID"], wanted, "{kind}");
            assert!(
                read.as_object().unwrap().values().all(Value::is_string),
                "every value is a string: {read}"
            );
            events
        });
        world.session(session).await;
        events = hearing.await.unwrap();
    }
    assert_eq!(std::fs::metadata(&path).unwrap().ino(), inode, "changed in place");
}

/// A killed agent comes back: its game is adopted, connects again, and hears what it has and what it missed.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_agent_tells_what_the_last_one_could_not() {
    let mut world = World::new(Some(A)).await;
    let guest = world.guest();
    let _lost = aside(move || {
        let mut events = listening(&guest);
        assert_eq!(heard(&mut events), allocated(A));
        events
    })
    .await;
    world.agent.take().unwrap().kill();
    // Ordered while no agent is there: the next one takes it on its stream, and writes the file anew.
    world.plane.order(1, Intent::Run, &world.spec, None).await;
    world.agent = Some(world.host.agent(&world.plane));
    world.plane.online(1).await;
    let guest = world.guest();
    aside(move || {
        let mut events = listening(&guest);
        assert_eq!(heard(&mut events), deallocated(A));
        events.is_quiet();
    })
    .await;
}

/// "Client ping = method 7 every 25 s, needs a reply"; "Several JSON objects may share a frame"; "Unreal needs a `result`
/// key in every reply, … and asks for subprotocol `ws`". No `subs in the connect reply`, so that the C# SDK goes on to
/// SUBSCRIBE.
#[tokio::test(flavor = "multi_thread")]
async fn the_dialects_of_the_sdks_are_understood() {
    let world = World::new(None).await;
    let guest = world.guest();
    aside(move || {
        let mut events = guest.socket();
        events.send("{\"id\":1,\"params\":{\"token\":\"x\",\"subs\":{}}}\n{\"id\":2,\"method\":7}");
        let connected = events.next();
        assert_eq!((&connected["id"], connected["result"].get("subs")), (&json!(1), None), "{connected}");
        assert_eq!(events.next(), json!({"id": 2, "result": {}}));
        let history = events.ask(r#"{"id":3,"method":6,"params":{"channel":"server#1"}}"#);
        assert_eq!((&history["error"]["code"], history["result"].is_object()), (&json!(104), true));
        assert_eq!(events.ask(r#"{"id":4,"method":1,"params":{"channel":"lobby"}}"#)["error"]["code"], 102);
        assert_eq!(events.ask(r#"{"id":5,"method":2,"params":{"channel":"server#1"}}"#)["id"], 5);
        let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: ws\r\n";
        let answer = call(&mut guest.connect(), "GET", "/v1/connection/websocket", "", upgrade);
        assert_eq!(answer.status, 101);
        assert_eq!(answer.header("sec-websocket-protocol"), Some("ws"));
        assert_eq!(
            answer.header("sec-websocket-accept"),
            Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            "RFC 6455, 1.3"
        );
        assert_eq!(guest.call("GET", "/v1/connection/websocket", "").status, 400);
    })
    .await;
}

/// "Version trap: … `centrifuge` 5.x / centrifuge-python 0.7 speak v2 … v2 detection: first frame has a `connect` key."
#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_closes_the_socket_with_its_reason() {
    let world = World::new(None).await;
    let guest = world.guest();
    aside(move || {
        let mut second = guest.socket();
        assert_eq!(second.ask(r#"{"id":1,"connect":{}}"#)["error"]["code"], 107);
        assert_eq!(second.closed().0, 3003);
        let long = format!("{{\"id\":1,\"params\":{{\"token\":\"{}\"}}}}", "x".repeat(64 * 1024));
        for first in ["{", "[]", r#"{"id":1,"method":99}"#, r#"{"id":1,"method":7}"#, &long] {
            let mut events = guest.socket();
            events.send(first);
            let (code, reason) = events.closed();
            assert_eq!(code, 3003, "{first}");
            let reason: Value = serde_json::from_str(&reason).unwrap();
            assert_eq!(reason, json!({"reason": "bad request", "reconnect": false}));
        }
        // Bytes that are no frames, and a game that says nothing more.
        let mut raw = guest.connect();
        let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        assert_eq!(call(&mut raw, "GET", "/v1/connection/websocket", "", upgrade).status, 101);
        raw.write_all(&[0xff; 64]).unwrap();
        let mut rest = Vec::new();
        // However it ends, it ends: with a close frame or without.
        let _ended = raw.read_to_end(&mut rest);
        assert!(rest.len() < 1024);
        guest.events().is_quiet();
    })
    .await;
}

/// The table of 2.2: holds, with the statuses that the SDKs know, and the process that asks as the fence.
/// Shows `POST /v1/servers/{serverId}/hold`, `GET /v1/servers/{serverId}/hold`, `DELETE /v1/servers/{serverId}/hold`, `bodies
/// of the daemon's errors`.
#[tokio::test(flavor = "multi_thread")]
async fn holds_are_asked_of_the_plane() {
    let world = World::new(None).await;
    let process = world.plane.generation(1);
    let until = Some(Timestamp::from_unix_ms(1_700_000_000_500));
    let refused = |why, code: &str| Outcome::Refused { why, code: code.to_owned(), detail: "no".to_owned() };
    let table = [
        (
            "POST",
            r#"{"timeout":"10m"}"#,
            Wish::Hold { time: Duration::from_secs(600) },
            Outcome::Held { until },
            200,
        ),
        ("GET", "", Wish::ReadHold, Outcome::Held { until: None }, 200),
        ("DELETE", "", Wish::ReleaseHold, Outcome::Done, 204),
        (
            "POST",
            r#"{"timeout":"1h"}"#,
            Wish::Hold { time: Duration::from_secs(3_600) },
            refused(Refusal::State, "MS-H003"),
            409,
        ),
        (
            "POST",
            r#"{"timeout":"0s"}"#,
            Wish::Hold { time: Duration::ZERO },
            refused(Refusal::Invalid, "MS-H004"),
            400,
        ),
        ("GET", "", Wish::ReadHold, refused(Refusal::Unknown, "MS-S001"), 404),
        ("DELETE", "", Wish::ReleaseHold, refused(Refusal::Unavailable, "MS-J101"), 503),
    ];
    for (place, (method, body, wish, outcome, status)) in table.into_iter().enumerate() {
        let (guest, path) = (world.guest(), world.path("/hold"));
        let calling = tokio::task::spawn_blocking(move || guest.call(method, &path, body));
        let ask = world.plane.ask(place).await;
        assert_eq!((ask.server, ask.process, ask.wish), (server(1), process, wish));
        world.plane.answer(ask.id, outcome.clone()).await;
        let answer = calling.await.unwrap();
        assert_eq!(answer.status, status, "{answer:?}");
        match (status, outcome) {
            (200, Outcome::Held { until: Some(_) }) => {
                assert_eq!(answer.json(), json!({"expiresAt": 1_700_000_000, "held": true}));
            }
            (200, _) => assert_eq!(answer.json(), json!({"expiresAt": 0, "held": false})),
            (204, _) => assert_eq!(answer.body, ""),
            (_, Outcome::Refused { code, .. }) => {
                let body = answer.json();
                assert_eq!(body["status"], status);
                assert!(body["detail"].is_string() && body["title"].is_string(), "{body}");
                assert_eq!(answer.header("mainstay-code"), Some(code.as_str()));
                assert_eq!(answer.header("retry-after").is_some(), status == 503);
            }
            (_, other) => panic!("{other:?}"),
        }
    }
}

/// The table of 2.2: reservations, and ready in the C# dialect.
/// Shows `POST /v1/servers/{serverId}/reservations`, `DELETE /v1/servers/{serverId}/reservations`, `POST
/// /v1/server/{serverId}/allocation/{allocationId}/ready-for-players`, `POST /v1/server/{serverId}/unready`.
#[tokio::test(flavor = "multi_thread")]
async fn reservations_and_the_singular_dialect() {
    let world = World::new(Some(A)).await;
    let n = server(1).number();
    let at = Timestamp::from_unix_ms(1_000);
    let earlier = ReservationId(Uuid::from_u128(5));
    let configuration = BuildConfigurationId::of(fleet(), 1);
    let reserved = Outcome::Reserved { reservation: earlier, configuration, at };
    let ready = format!("/v1/server/{n}/allocation/{}/ready-for-players", allocation(A));
    let reservations = world.path("/reservations");
    let forbidden =
        Outcome::Refused { why: Refusal::Forbidden, code: "MS-H006".to_owned(), detail: "no".to_owned() };
    let table = [
        ("POST", reservations.clone(), "{}", reserved, 200),
        ("POST", reservations.clone(), "{}", forbidden, 403),
        ("DELETE", reservations.clone(), "{}", Outcome::Done, 204),
        ("DELETE", reservations, "", Outcome::Done, 204),
        ("POST", ready, "", Outcome::Done, 200),
        ("POST", format!("/v1/server/{n}/unready"), "", Outcome::Done, 200),
    ];
    for (place, (method, path, body, outcome, status)) in table.into_iter().enumerate() {
        let guest = world.guest();
        let calling = tokio::task::spawn_blocking(move || guest.call(method, &path, body));
        let ask = world.plane.ask(place).await;
        match (place, ask.wish) {
            (0 | 1, Wish::Reserve { .. })
            | (2 | 3, Wish::Unreserve)
            | (4, Wish::SetReady)
            | (5, Wish::SetUnready) => {}
            other => panic!("{other:?}"),
        }
        world.plane.answer(ask.id, outcome).await;
        let answer = calling.await.unwrap();
        assert_eq!(answer.status, status, "{answer:?}");
        if place == 0 {
            let body = answer.json();
            assert_eq!(body["reservationId"], earlier.to_string(), "an earlier one stands");
            assert_eq!(body["buildConfigurationId"], configuration.number());
            assert_eq!((&body["ipv4"], body["gamePort"].is_u64()), (&json!("127.0.0.1"), true));
            for date in ["created", "requested", "fulfilled"] {
                assert_eq!(body[date], "1970-01-01T00:00:01Z");
            }
        }
    }
}

/// While the plane is away: what is known here is answered, the rest is told to come back; a stream that breaks under an
/// ask costs a second asking, with the same id.
#[tokio::test(flavor = "multi_thread")]
async fn while_the_plane_is_away_a_game_is_told_when_to_come_back() {
    let mut world = World::new(Some(A)).await;
    let (guest, path) = (world.guest(), world.path("/hold"));
    let calling = tokio::task::spawn_blocking(move || guest.call("GET", &path, ""));
    let first = world.plane.ask(0).await;
    let streams = world.plane.streams_so_far();
    world.plane.go_away().await;
    world.plane.come_up().await;
    world.plane.streams(streams + 1).await;
    let again = world.plane.ask(1).await;
    assert_eq!(again, first);
    world.plane.answer(again.id, Outcome::Held { until: None }).await;
    assert_eq!(calling.await.unwrap().status, 200);

    world.plane.go_away().await;
    let (guest, path) = (world.guest(), world.path("/hold"));
    aside(move || {
        let answer = loop {
            let answer = guest.call("GET", &path, "");
            // Until the agent has noticed.
            if answer.header("mainstay-code") == Some("MS-S426") {
                break answer;
            }
        };
        assert_eq!((answer.status, answer.header("retry-after")), (503, Some("1")), "{answer:?}");
        let payload = guest.call("GET", &format!("/payload/{}", allocation(A)), "");
        assert_eq!((payload.status, payload.body.as_str()), (200, "the map"));
        let mut events = listening(&guest);
        assert_eq!(heard(&mut events), allocated(A));
    })
    .await;
}

/// "GET `/payload/{allocationId}` 200, raw body text; 400, 500 {success,error,error_code,error_message}; 404 seen".
#[tokio::test(flavor = "multi_thread")]
async fn a_payload_is_its_own_sessions() {
    let world = World::new(Some(A)).await;
    let guest = world.guest();
    aside(move || {
        let payload = guest.call("GET", &format!("/payload/{}", allocation(A)), "");
        assert_eq!((payload.status, payload.body.as_str()), (200, "the map"));
        for (id, status) in [(allocation(B).to_string(), 404), ("x".to_owned(), 400)] {
            let answer = guest.call("GET", &format!("/payload/{id}"), "");
            let body = answer.json();
            assert_eq!(
                (answer.status, &body["success"], &body["error_code"]),
                (status, &json!(false), &json!(status))
            );
            assert!(body["error"].is_string() && body["error_message"].is_string(), "{body}");
        }
    })
    .await;
}

/// Reference 1.4, the effects of a deallocation: "allocation id cleared in server.json, payload dropped, event published;
/// process is not stopped by deallocation itself". Shows `deallocation does not stop the process`.
#[tokio::test(flavor = "multi_thread")]
async fn a_deallocation_clears_the_id_drops_the_payload_and_is_published() {
    let world = World::new(Some(A)).await;
    let pid = world.plane.online(1).await;
    let guest = world.guest();
    let mut events = aside(move || {
        let mut events = listening(&guest);
        assert_eq!(heard(&mut events), allocated(A));
        let payload = guest.call("GET", &format!("/payload/{}", allocation(A)), "");
        assert_eq!((payload.status, payload.body.as_str()), (200, "the map"));
        events
    })
    .await;
    world.session(None).await;
    let guest = world.guest();
    aside(move || {
        assert_eq!(heard(&mut events), deallocated(A));
        assert_eq!(guest.call("GET", &format!("/payload/{}", allocation(A)), "").status, 404);
    })
    .await;
    assert_eq!(world.host.told(1, "allocatedUUID"), "");
    assert_eq!(world.plane.online(1).await, pid);
}

/// The table of 2.2: tokens are the control plane's to give, and kept for half their lives; what keeps one from being given
/// is told in the SDKs' own shape. Shows `GET /token`, `GET /v4/token`.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_asked_of_the_plane_once_and_kept() {
    let world = World::new(Some(A)).await;
    let calling = |path: &'static str| {
        let guest = world.guest();
        tokio::task::spawn_blocking(move || guest.call("GET", path, ""))
    };
    let refused = calling("/v4/token");
    let ask = world.plane.ask(0).await;
    assert_eq!((ask.server, ask.process), (server(1), world.plane.generation(1)));
    assert!(matches!(ask.wish, Wish::Token { run } if run > 0), "{:?}", ask.wish);
    let no = Outcome::Refused {
        why: Refusal::Unavailable,
        code: "MS-P001".to_owned(),
        detail: "not configured yet".to_owned(),
    };
    world.plane.answer(ask.id, no).await;
    let answer = refused.await.unwrap();
    assert_eq!((answer.status, &answer.json()["token"]), (503, &json!("")), "{answer:?}");
    assert!(answer.json()["error"].as_str().unwrap().contains("not configured yet"), "{answer:?}");

    let given = calling("/v4/token");
    let ask = world.plane.ask(1).await;
    let token = Outcome::Token { token: "a.b.c".to_owned(), life: Duration::from_secs(600) };
    world.plane.answer(ask.id, token).await;
    let expected = json!({ "token": "a.b.c", "error": "" });
    let answer = given.await.unwrap();
    assert_eq!((answer.status, answer.json()), (200, expected.clone()));
    // Nobody answers now: it is the one that is kept.
    let kept = calling("/token").await.unwrap();
    assert_eq!((kept.status, kept.json()), (200, expected));
}

/// Bad input: a code, a sentence and a status each, and nothing reaches the plane.
#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_here() {
    let world = World::new(Some(A)).await;
    let (guest, n) = (world.guest(), server(1).number());
    let large = format!("{{\"timeout\":\"{}\"}}", "1".repeat(5_000));
    aside(move || {
        let hold = format!("/v1/servers/{n}/hold");
        let other = format!("/v1/servers/{n}/allocations/{}", allocation(B));
        let table = [
            ("GET", "/".to_owned(), "", 404, "MS-S420"),
            ("PUT", hold.clone(), r#"{"timeout":"1m"}"#, 405, "MS-S420"),
            ("POST", hold.clone(), "", 400, "MS-S421"),
            ("POST", hold.clone(), r#"{"timeout":"soon"}"#, 400, "MS-S421"),
            ("POST", hold, &large, 400, "MS-S421"),
            ("GET", "/v1/servers/me/hold".to_owned(), "", 400, "MS-S421"),
            ("GET", format!("/v1/servers/{}/hold", server(77).number()), "", 404, "MS-S422"),
            ("PATCH", other, r#"{"ready":true}"#, 404, "MS-S425"),
            ("PATCH", format!("/v1/servers/{n}/allocations/x"), r#"{"ready":true}"#, 400, "MS-S421"),
        ];
        for (method, path, body, status, code) in table {
            let answer = guest.call(method, &path, body);
            assert_eq!(
                (answer.status, answer.header("mainstay-code")),
                (status, Some(code)),
                "{method} {path}"
            );
            let said = answer.json();
            assert_eq!(said["status"], status);
            assert!(said["detail"].as_str().is_some_and(|detail| detail.contains(code)), "{said}");
        }
    })
    .await;
}

/// Issue 3, section 7: "where the agent is root, a call about a server is taken only from a socket of that slot's uid".
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_speaks_for_no_server() {
    if !users_tell() {
        // All games are one user here, and nobody can be told apart; as root this test has its say.
        return;
    }
    let world = World::new(Some(A)).await;
    let guest = world.guest();
    aside(move || {
        let n = server(1).number();
        for stranger in [guest.other(), Guest::root(&guest)] {
            for (method, path) in [
                ("GET", format!("/v1/servers/{n}/hold")),
                ("DELETE", format!("/v1/servers/{n}/hold")),
                ("POST", format!("/v1/servers/{n}/reservations")),
                ("POST", format!("/v1/server/{n}/unready")),
            ] {
                let answer = stranger.call(method, &path, "{}");
                assert_eq!((answer.status, answer.header("mainstay-code")), (403, Some("MS-S423")), "{path}");
            }
            assert_eq!(stranger.call("GET", &format!("/payload/{}", allocation(A)), "").status, 404);
            let mut events = stranger.events();
            assert_eq!(events.subscribe(n)["error"]["code"], 103);
            events.is_quiet();
        }
    })
    .await;
}

/// Connections and calls have limits, and a game that passes them costs no other anything.
#[tokio::test(flavor = "multi_thread")]
async fn a_game_gone_wild_is_bounded() {
    let world = World::new(Some(A)).await;
    let guest = world.guest();
    aside(move || {
        // All at once, so that they are answered faster than the limit fills up again, however busy the machine is.
        let path = format!("/payload/{}", allocation(B));
        let calls = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").repeat(400);
        let last = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut stream = guest.connect();
        stream.write_all((calls + &last).as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.contains("429 Too Many Requests") && said.contains("retry-after: 1"), "{said}");
        // Who plays is said less often than other things; what is no text is refused here, each time as quickly.
        let words = |words: usize| {
            let path = format!("/v1/servers/{}/backfill", server(1).number());
            let mut stream = guest.connect();
            for word in 1..=words {
                let kept = if word == words { "close" } else { "keep-alive" };
                let head = format!("PUT {path} HTTP/1.1\r\nHost: localhost\r\nConnection: {kept}\r\nContent-Length: 1\r\n\r\n");
                stream.write_all(&[head.as_bytes(), &[0xff]].concat()).unwrap();
            }
            let mut said = String::new();
            stream.read_to_string(&mut said).unwrap();
            said
        };
        let said = words(30);
        assert!(said.contains("400 Bad Request") && said.contains("words on who plays"), "{said}");
        if !users_tell() {
            return;
        }
        // The seventeenth connection of one user is closed unheard; another user's is not.
        let mut held: Vec<_> = (0..15).map(|_| guest.events()).collect();
        let mut further = Vec::new();
        let refused = (0..3).any(|_| {
            let mut one = guest.connect();
            let asked = one.write_all(b"GET /token HTTP/1.1\r\nHost: localhost\r\n\r\n");
            let answered = asked.and_then(|()| one.read(&mut [0; 1]));
            further.push(one);
            !matches!(answered, Ok(1))
        });
        assert!(refused, "{} sockets and {} connections are open", held.len(), further.len());
        guest.other().events().is_quiet();
        held[0].is_quiet();
    })
    .await;
}
