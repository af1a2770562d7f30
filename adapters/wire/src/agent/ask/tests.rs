//! Golden bytes, round trips and hostile bytes of asks and answers.

use mainstay_core::FleetNumber;
use proptest::prelude::*;
use prost::Message as _;
use uuid::Uuid;

use super::super::{Down, Up};
use super::*;

fn fleet() -> FleetNumber {
    FleetNumber::new(1).unwrap()
}

fn ask(wish: Wish) -> Up {
    Up::Ask(Ask {
        id: 7,
        machine: MachineId::of(fleet(), 2),
        server: ServerId::of(fleet(), 3),
        process: Generation::from_number(4),
        wish,
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a released agent or plane has written must be read for ever: these bytes are never edited, only added to.
#[test]
fn golden_bytes() {
    let reservation = ReservationId(Uuid::from_bytes([0xab; 16]));
    let head = "08071082808080101883808080102004";
    let asks = [
        (Wish::Hold { time: Duration::from_secs(600) }, "2a0308d804"),
        (Wish::ReadHold, "3200"),
        (Wish::ReleaseHold, "3a00"),
        (Wish::Reserve { reservation }, "42120a10abababababababababababababababab"),
        (Wish::Unreserve, "4a00"),
        (Wish::SetReady, "5200"),
        (Wish::SetUnready, "5a00"),
        // As agents said it before processes were told apart.
        (Wish::Token { run: 0 }, "6200"),
        (Wish::Token { run: 5 }, "62020805"),
        (Wish::Backfill { run: 5, game: "{}".into() }, "6a06080512027b7d"),
    ];
    for (wish, tail) in asks {
        let bytes = proto::Up::from(ask(wish.clone())).encode_to_vec();
        let length = (head.len() + tail.len()) / 2;
        assert_eq!(hex(&bytes), format!("52{length:02x}{head}{tail}"), "{wish:?}");
        assert_eq!(Up::try_from(proto::Up::decode(bytes.as_slice()).unwrap()), Ok(ask(wish)));
    }
    let at = Timestamp::from_unix_ms(1_000);
    let configuration = BuildConfigurationId::of(fleet(), 5);
    let answers = [
        (Outcome::Done, "520408071200"),
        (Outcome::Held { until: None }, "520408071a00"),
        (Outcome::Held { until: Some(at) }, "520708071a0308e807"),
        (
            Outcome::Reserved { reservation, configuration, at },
            "521f0807221b0a10abababababababababababababababab10858080801018e807",
        ),
        (
            Outcome::Token { token: "ab".to_owned(), life: Duration::from_secs(1) },
            "520b080732070a02616210e807",
        ),
        (Outcome::Backfill { stands: "{}".to_owned() }, "520808073a040a027b7d"),
        (
            Outcome::Refused { why: Refusal::State, code: "MS-H003".to_owned(), detail: "no".to_owned() },
            "521308072a0f080412074d532d483030331a026e6f",
        ),
    ];
    for (outcome, golden) in answers {
        let answer = Down::Answer(Answer { id: 7, outcome });
        let bytes = proto::Down::from(answer.clone()).encode_to_vec();
        assert_eq!(hex(&bytes), golden, "{answer:?}");
        assert_eq!(Down::try_from(proto::Down::decode(bytes.as_slice()).unwrap()), Ok(answer));
    }
}

#[test]
fn what_is_wrong_is_named() {
    let ask = |wish| Ask::try_from(proto::Ask { id: 1, machine: 1, server: 1, process: 1, wish }).map(drop);
    assert_eq!(ask(None), Err(Malformed::Missing { message: "Ask", field: "wish" }));
    let short = proto::ask::Wish::Reserve(proto::ReserveWish { reservation: vec![1; 15] });
    let expected = Malformed::Uuid { message: "ReserveWish", field: "reservation", bytes: 15 };
    assert_eq!(ask(Some(short)), Err(expected));
    for value in [0, 7, -1] {
        let expected = Malformed::Meaningless { message: "Refused", field: "why", value: value.into() };
        assert_eq!(Refusal::try_from(value), Err(expected));
    }
}

#[test]
fn a_long_detail_is_cut_at_a_character() {
    let detail = "ü".repeat(DETAIL_BYTES_MAX);
    let outcome = Outcome::Refused { why: Refusal::Invalid, code: String::new(), detail };
    let read = Answer::try_from(proto::AskAnswer::from(Answer { id: 1, outcome })).unwrap();
    let Outcome::Refused { detail, .. } = read.outcome else { panic!("{read:?}") };
    assert_eq!(detail.len(), DETAIL_BYTES_MAX);
}

proptest! {
    #[test]
    fn an_ask_with_a_flipped_byte_is_an_ask_or_a_reason(
        seconds in any::<u64>(),
        place in any::<proptest::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let mut bytes = proto::Up::from(ask(Wish::Hold { time: Duration::from_secs(seconds) })).encode_to_vec();
        let place = place.index(bytes.len());
        bytes[place] ^= flip;
        if let Ok(up) = proto::Up::decode(bytes.as_slice()) {
            let _value_or_reason = Up::try_from(up);
        }
    }
}
