//! The recorded exchanges of the reference, and whatever else a game may send.

use std::time::Duration;

use mainstay_core::{AllocationId, BuildConfigurationId, FleetNumber, ReservationId, ServerId, Timestamp};
use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::calls::{
    self, BadBody, ErrorBody, HoldView, PayloadErrorBody, Readiness, ReservationView, TokenView,
};
use super::centrifuge::{self, Asked, BadMessage, CHANNEL_BYTES_MAX, COMMANDS_MAX, Call, Close, Fault};
use super::event::{Event, EventKind};

const ALLOCATION: Uuid = Uuid::from_u128(0x1234_5678_9abc_4def_8123_4567_89ab_cdef);

fn event(kind: EventKind, run: u64) -> Event {
    Event { kind, run, server: ServerId::from_number(123).unwrap(), allocation: AllocationId(ALLOCATION) }
}

fn read(text: &str) -> Vec<Asked> {
    centrifuge::read(text.as_bytes()).unwrap()
}

/// Reference 2.3, the exchange observed with the Go SDK: "method omitted = 0 connect".
#[test]
fn the_go_sdks_exchange_is_read_and_answered() {
    assert_eq!(read(r#"{"id":1,"params":{"name":"go"}}"#), [Asked { id: 1, call: Call::Connect }]);
    let subscribe = Call::Subscribe { channel: "server#123".to_owned() };
    assert_eq!(
        read(r#"{"id":2,"method":1,"params":{"channel":"server#123"}}"#),
        [Asked { id: 2, call: subscribe }]
    );
    assert_eq!(
        centrifuge::connected(1, "c", "mainstay"),
        r#"{"id":1,"result":{"client":"c","version":"mainstay"}}"#
    );
    assert_eq!(centrifuge::done(2), r#"{"id":2,"result":{}}"#);
}

/// Reference 2.3: "push ← {"result":{"channel":"server#123","data":{"data":{<event>}}}} (no id; push type omitted = 0)",
/// and "`EventID` string; `ServerID` **number**; `AllocationID` string".
#[test]
fn an_event_is_published_in_the_exact_shape() {
    let text = centrifuge::published("server#123", &event(EventKind::Allocated, 1));
    assert_eq!(
        text,
        r#"{"result":{"channel":"server#123","data":{"data":{"EventType":"AllocateEventType","EventID":"12345678-9abc-8dee-8123-456789abcdef","ServerID":123,"AllocationID":"12345678-9abc-4def-8123-456789abcdef"}}}}"#
    );
    let text = centrifuge::published("server#123", &event(EventKind::Deallocated, 1));
    assert!(text.contains(r#""EventType":"DeallocateEventType""#), "{text}");
}

#[test]
fn the_same_told_again_has_the_same_id_and_nothing_else_has_it() {
    use EventKind::{Allocated, Deallocated};
    let ids = [(Allocated, 1), (Allocated, 2), (Deallocated, 1), (Deallocated, 2)]
        .map(|(kind, run)| event(kind, run).id());
    let distinct: std::collections::BTreeSet<Uuid> = ids.into();
    assert_eq!(distinct.len(), 4);
    assert_eq!(event(Allocated, 1).id(), ids[0]);
}

/// Reference 2.3: "Several JSON objects may share a frame, newline-separated"; C# writes them without a newline.
#[test]
fn several_commands_share_a_message() {
    let expected = [Asked { id: 1, call: Call::Connect }, Asked { id: 2, call: Call::Ping }];
    for between in ["\n", "", " \r\n "] {
        assert_eq!(read(&format!(r#"{{"id":1}}{between}{{"id":2,"method":7}}"#)), expected);
    }
}

/// Reference 2.3: "C# (Unity Wire) sends connect params with a token and a `subs` map, subscribes with token".
#[test]
fn unity_wires_extra_fields_are_passed_over() {
    let connect =
        r#"{"id":1,"method":0,"params":{"token":"x","subs":{"server#1":{"recover":true}},"data":null}}"#;
    assert_eq!(read(connect), [Asked { id: 1, call: Call::Connect }]);
    let subscribe =
        r#"{"id":2,"method":1,"params":{"channel":"server#1","token":"TestToken","recover":false}}"#;
    assert_eq!(read(subscribe)[0].call, Call::Subscribe { channel: "server#1".to_owned() });
}

/// Reference 2.3: "Method numbers: 0 connect … 11 sub_refresh".
#[test]
fn every_method_has_its_number() {
    for method in 0..=11_u8 {
        let text = format!(r#"{{"id":3,"method":{method},"params":{{"channel":"x"}}}}"#);
        let channel = "x".to_owned();
        let call = match method {
            0 => Call::Connect,
            1 => Call::Subscribe { channel },
            2 => Call::Unsubscribe { channel },
            7 => Call::Ping,
            8 => Call::Send,
            method => Call::Other { method },
        };
        assert_eq!(read(&text), [Asked { id: 3, call }]);
    }
}

/// Reference 2.3: "Version trap: … v2 detection: first frame has a `connect` key."
#[test]
fn the_second_version_is_recognised() {
    for text in [r#"{"id":1,"connect":{}}"#, r#"{"id":4,"subscribe":{"channel":"server#1"}}"#] {
        assert!(matches!(centrifuge::read(text.as_bytes()), Err(BadMessage::SecondVersion { .. })), "{text}");
    }
}

#[test]
fn what_is_no_command_is_named() {
    let long =
        format!(r#"{{"id":1,"method":1,"params":{{"channel":"{}"}}}}"#, "x".repeat(CHANNEL_BYTES_MAX + 1));
    let many = r#"{"id":1}"#.repeat(COMMANDS_MAX + 1);
    type Is = fn(&BadMessage) -> bool;
    let table: [(&str, Is); 9] = [
        ("{", |it| matches!(it, BadMessage::Json(_))),
        ("[]", |it| matches!(it, BadMessage::Json(_))),
        (r#"{"id":-1}"#, |it| matches!(it, BadMessage::Json(_))),
        (r#"{"id":"1"}"#, |it| matches!(it, BadMessage::Json(_))),
        (r#"{"id":1,"method":12}"#, |it| matches!(it, BadMessage::Method { method: 12 })),
        (r#"{"method":1,"params":{"channel":"x"}}"#, |it| matches!(it, BadMessage::NoId)),
        (r#"{"id":1,"method":1}"#, |it| matches!(it, BadMessage::Channel { bytes: 0 })),
        (&long, |it| matches!(it, BadMessage::Channel { bytes: 256 })),
        (&many, |it| matches!(it, BadMessage::TooMany)),
    ];
    for (text, is) in table {
        let error = centrifuge::read(text.as_bytes()).unwrap_err();
        assert!(is(&error), "{text}: {error:?}");
    }
    assert!(read("").is_empty() && read("\n").is_empty(), "an empty frame asks for nothing");
}

/// Reference 2.3: "Unreal needs a `result` key in every reply".
#[test]
fn every_reply_has_a_result() {
    let faults = [
        (Fault::UnknownChannel, 102),
        (Fault::PermissionDenied, 103),
        (Fault::MethodNotFound, 104),
        (Fault::AlreadySubscribed, 105),
        (Fault::LimitExceeded, 106),
        (Fault::BadRequest, 107),
    ];
    for (fault, code) in faults {
        let reply: Value = serde_json::from_str(&centrifuge::refused(5, fault)).unwrap();
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(5), &json!(code)));
        assert!(reply["result"].is_object() && reply["error"]["message"].is_string(), "{reply}");
    }
}

#[test]
fn a_close_is_read_as_json_and_fits_its_frame() {
    for (close, again) in
        [(Close::Shutdown, true), (Close::BadRequest, false), (Close::Stale, false), (Close::Slow, true)]
    {
        let reason: Value = serde_json::from_str(close.reason()).unwrap();
        assert_eq!(reason["reconnect"], again, "{close:?}");
        assert!(
            close.reason().len() <= 123 && (3000..4000).contains(&close.code()),
            "RFC 6455, 5.5 and 7.4.2"
        );
    }
}

/// Reference 2.3: "Channel name `server#<serverID>`".
#[test]
fn a_channel_is_its_servers() {
    let server = ServerId::of(FleetNumber::new(1).unwrap(), 7);
    assert_eq!(centrifuge::channel_of(server), "server#4294967303");
    assert_eq!(centrifuge::server_of("server#4294967303"), Some(server));
    for other in ["server#", "server#x", "server", "4294967303", "server#-1", "server#99999999999999999999"] {
        assert_eq!(centrifuge::server_of(other), None, "{other}");
    }
}

/// Reference 2.2: "Hold `timeout` is a duration string with s/m/h units, 1-second granularity".
#[test]
fn a_holds_time_is_hours_minutes_and_seconds() {
    let table = [
        ("10m", Some(600)),
        ("1h", Some(3_600)),
        ("90s", Some(90)),
        ("1h30m", Some(5_400)),
        ("1h0m1s", Some(3_601)),
        ("0s", Some(0)),
        ("", None),
        ("10", None),
        ("m", None),
        ("-1m", None),
        ("1.5h", None),
        ("500ms", None),
        ("1m1m", None),
        ("1s1m", None),
        ("1d", None),
        ("١m", None),
        ("18446744073709551615h", None),
        ("99999999999999999999s", None),
    ];
    for (text, seconds) in table {
        assert_eq!(calls::duration(text), seconds.map(Duration::from_secs), "{text}");
    }
    assert_eq!(calls::read_hold(br#"{"timeout":"10m"}"#).unwrap(), Duration::from_secs(600));
    assert!(matches!(calls::read_hold(br#"{"timeout":"soon"}"#), Err(BadBody::Timeout { .. })));
    for body in ["", "{}", r#"{"timeout":600}"#, "[]"] {
        assert!(matches!(calls::read_hold(body.as_bytes()), Err(BadBody::Json(_))), "{body}");
    }
    assert_eq!(calls::read_ready(br#"{"ready":true}"#).unwrap(), Readiness::Ready);
    assert_eq!(calls::read_ready(br#"{"ready":false}"#).unwrap(), Readiness::Unready);
    assert!(calls::read_ready(br#"{"ready":1}"#).is_err());
}

/// Reference 2.2, the table's bodies.
#[test]
fn answers_have_the_fields_of_the_reference() {
    assert_eq!(
        said(&HoldView::of(Some(Timestamp::from_unix_ms(1_700_000_000_999)))),
        json!({"expiresAt": 1_700_000_000, "held": true})
    );
    assert_eq!(said(&HoldView::of(None)), json!({"expiresAt": 0, "held": false}));
    let at = crate::multiplay::instant(Timestamp::from_unix_ms(1_000));
    let reservation = ReservationView {
        configuration: BuildConfigurationId::from_number(9).unwrap(),
        created: at,
        fulfilled: at,
        game_port: 20_000,
        ipv4: Some([192, 0, 2, 1].into()),
        ipv6: None,
        requested: at,
        reservation_id: ReservationId(ALLOCATION),
    };
    assert_eq!(
        said(&reservation),
        json!({
            "buildConfigurationId": 9, "created": "1970-01-01T00:00:01Z", "fulfilled": "1970-01-01T00:00:01Z",
            "gamePort": 20_000, "ipv4": "192.0.2.1", "requested": "1970-01-01T00:00:01Z", "reservationId": ALLOCATION,
        })
    );
    let (detail, title) = ("d".to_owned(), "t".to_owned());
    assert_eq!(
        said(&ErrorBody { status: 404, detail, title }),
        json!({"status": 404, "detail": "d", "title": "t"})
    );
    let (error, error_message) = ("e".to_owned(), "m".to_owned());
    assert_eq!(
        said(&PayloadErrorBody { success: false, error, error_code: 404, error_message }),
        json!({"success": false, "error": "e", "error_code": 404, "error_message": "m"})
    );
    let token = TokenView { token: String::new(), error: "none".to_owned() };
    assert_eq!(said(&token), json!({"token": "", "error": "none"}));
}

fn said(value: &impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

proptest! {
    #[test]
    fn whatever_arrives_is_commands_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _commands_or_reason = centrifuge::read(&bytes);
        let _time_or_reason = calls::read_hold(&bytes);
        let _readiness_or_reason = calls::read_ready(&bytes);
    }

    #[test]
    fn a_command_with_a_flipped_byte_is_commands_or_a_reason(
        place in any::<proptest::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let mut bytes = br#"{"id":2,"method":1,"params":{"channel":"server#123"}}{"id":3,"method":7}"#.to_vec();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        let _commands_or_reason = centrifuge::read(&bytes);
    }

    #[test]
    fn any_text_is_a_duration_or_none(text in "[0-9hms]{0,24}") {
        let _duration_or_none = calls::duration(&text);
    }
}
