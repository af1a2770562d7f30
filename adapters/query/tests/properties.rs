//! What holds for all values and all bytes: what is written is read back alike, nothing panics, answers stay small.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::net::SocketAddr;
use std::time::Duration;

use mainstay_query::sqp::{Chunks, Kind, QueryAnswer, Rule, ServerInfo, Table, Value};
use mainstay_query::{
    DATAGRAM_BYTES_MAX, Player, Probe, Prober, Protocol, Status, Step, TEXT_BYTES_MAX, a2s, sqp,
};
use proptest::collection::vec;
use proptest::prelude::*;

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 40_000);

fn asked() -> Vec<Protocol> {
    ["sqp", "a2s", "quake3", "teeworlds", "udp:4f45:4f"].map(|text| text.parse().unwrap()).into()
}

fn prober(protocol: &Protocol) -> Prober {
    match protocol.probe(0x0102_0304) {
        Probe::Datagrams(prober) => prober,
        Probe::Nothing | Probe::Connect => panic!("{protocol} is asked by datagrams"),
    }
}

/// Bytes that get past the first checks of some protocol, then go wild.
fn packet() -> impl Strategy<Value = Vec<u8>> {
    let heads: Vec<Vec<u8>> = vec![
        vec![],
        vec![0],
        vec![1, 1, 2, 3, 4, 0, 1, 0, 0],
        b"\xff\xff\xff\xff".to_vec(),
        b"\xff\xff\xff\xffA".to_vec(),
        b"\xff\xff\xff\xffI".to_vec(),
        b"\xff\xff\xff\xffTSource Engine Query\0".to_vec(),
        b"\xff\xff\xff\xffstatusResponse\n\\".to_vec(),
        vec![4, 0, 0, 1, 2, 3, 4, 5],
        b"\x21\x01\x02\x03\x04\x09\x09\x09\x09\xff\xff\xff\xffinf3\x05".to_vec(),
    ];
    (prop::sample::select(heads), vec(any::<u8>(), 0..1600)).prop_map(|(head, rest)| [head, rest].concat())
}

fn value(kind: Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::U8 => any::<u8>().prop_map(Value::U8).boxed(),
        Kind::U16 => any::<u16>().prop_map(Value::U16).boxed(),
        Kind::U32 => any::<u32>().prop_map(Value::U32).boxed(),
        Kind::U64 => any::<u64>().prop_map(Value::U64).boxed(),
        Kind::Text => "[a-zä]{0,9}".prop_map(Value::Text).boxed(),
        Kind::F32 => prop::num::f32::NORMAL.prop_map(Value::F32).boxed(),
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![Kind::U8, Kind::U16, Kind::U32, Kind::U64, Kind::Text, Kind::F32])
}

fn table() -> impl Strategy<Value = Table> {
    vec(("[a-z]{0,6}", kind()), 1..4).prop_flat_map(|columns| {
        let row = columns.iter().map(|(_, kind)| value(*kind)).collect::<Vec<_>>();
        vec(row, 0..5).prop_map(move |rows| match rows.is_empty() {
            true => Table::default(),
            false => Table { columns: columns.clone(), rows },
        })
    })
}

prop_compose! {
    fn info()(players: u16, max_players: u16, name in "\\PC{0,60}", game_type in "[a-z]{0,9}",
              build in "[0-9.]{0,9}", map in "[a-z0-9]{0,9}", port: u16) -> ServerInfo {
        ServerInfo { players, max_players, name, game_type, build, map, port }
    }
}

fn rule() -> impl Strategy<Value = Rule> {
    ("[a-z]{0,9}", kind().prop_flat_map(value)).prop_map(|(name, value)| Rule { name, value })
}

prop_compose! {
    fn answer()(token: u32, info in prop::option::of(info()), rules in prop::option::of(vec(rule(), 0..6)),
                players in prop::option::of(table()), teams in prop::option::of(table()),
                metrics in prop::option::of(vec(prop::num::f32::NORMAL, 0..=25))) -> QueryAnswer {
        QueryAnswer { token, info, rules, players, teams, metrics }
    }
}

fn chunks(answer: &QueryAnswer) -> Chunks {
    [
        (answer.info.is_some(), Chunks::SERVER_INFO),
        (answer.rules.is_some(), Chunks::RULES),
        (answer.players.is_some(), Chunks::PLAYERS),
        (answer.teams.is_some(), Chunks::TEAMS),
        (answer.metrics.is_some(), Chunks::METRICS),
    ]
    .into_iter()
    .filter(|(there, _)| *there)
    .fold(Chunks::from_bits(0), |all, (_, chunk)| all | chunk)
}

prop_compose! {
    fn status()(name in "\\PC{0,400}", game in "\\PC{0,400}", map in "\\PC{0,400}", build in "\\PC{0,400}",
                players in vec(("\\PC{0,60}", any::<i32>()), 0..300), max_players: u16, port: u16,
                metrics in vec(any::<f32>(), 0..40), rules in vec(("\\PC{0,60}", "\\PC{0,60}"), 0..60)) -> Status {
        let players = players.into_iter()
            .map(|(name, score)| Player { name, score, connected: Duration::from_secs(1) })
            .collect();
        Status { name, game, map, build, version: "1".into(), players, max_players, port, metrics, rules }
    }
}

proptest! {
    #[test]
    fn sqp_answers_are_read_as_written(answer in answer()) {
        let packet = answer.encode().unwrap();
        prop_assert_eq!(QueryAnswer::decode(&packet, chunks(&answer)).unwrap(), answer);
    }

    #[test]
    fn sqp_answers_cut_anywhere_are_refused(answer in answer(), cut: prop::sample::Index) {
        let packet = answer.encode().unwrap();
        let end = cut.index(packet.len());
        prop_assert!(QueryAnswer::decode(&packet[..end], chunks(&answer)).is_err());
    }

    #[test]
    fn no_bytes_panic_a_prober(packets in vec(packet(), 1..6)) {
        for protocol in asked() {
            let mut prober = prober(&protocol);
            prober.start();
            for packet in &packets {
                let step = prober.receive(packet);
                if packet.len() > prober.receive_bytes_max() {
                    prop_assert!(matches!(step, Step::Refused(_)));
                }
                if let Step::Done(answer) = step {
                    for text in [answer.name, answer.map].into_iter().flatten() {
                        prop_assert!(text.len() <= TEXT_BYTES_MAX);
                    }
                }
            }
        }
    }

    #[test]
    fn no_bytes_panic_the_codecs(packet in packet(), bits: u8) {
        let asked = Chunks::from_bits(bits);
        if let Ok(answer) = QueryAnswer::decode(&packet, asked) {
            let rows = answer.players.map_or(0, |table| table.rows.len());
            prop_assert!(rows <= DATAGRAM_BYTES_MAX);
        }
        if let Ok(request) = sqp::Request::decode(&packet) {
            prop_assert_eq!(sqp::Request::decode(&request.encode()), Ok(request));
        }
        if let Ok(request) = a2s::Request::decode(&packet) {
            prop_assert_eq!(a2s::Request::decode(&request.encode()), Ok(request));
        }
    }

    #[test]
    fn strangers_get_a_challenge_or_silence(packet in packet(), status in status()) {
        let sqp = sqp::Responder::new(|| 7).handle(Duration::ZERO, FROM, &packet, &status);
        prop_assert!(sqp.is_none_or(|answer| answer.len() <= 5));
        let a2s = a2s::Responder::new(|| 7).handle(Duration::ZERO, FROM, &packet, &status);
        prop_assert!(a2s.is_none_or(|answer| answer.len() <= 9));
    }

    #[test]
    fn probers_read_what_responders_tell(status in status(), token: u32) {
        let players = u32::try_from(status.players.len()).unwrap();

        let mut responder = sqp::Responder::new(move || token);
        let got = exchange(prober(&Protocol::Sqp), |packet| responder.handle(Duration::ZERO, FROM, packet, &status));
        prop_assert_eq!(got.players, Some(players));
        prop_assert_eq!(got.max_players, Some(u32::from(status.max_players)));
        prop_assert!(status.name.starts_with(&got.name.unwrap()));

        let mut responder = a2s::Responder::new(move || token);
        let got = exchange(prober(&Protocol::A2s), |packet| responder.handle(Duration::ZERO, FROM, packet, &status));
        prop_assert_eq!(got.players, Some(players.min(255)));
        prop_assert!(status.map.starts_with(&got.map.unwrap()));
    }

    #[test]
    fn every_protocol_text_is_read_back(request in vec(any::<u8>(), 1..20), expect in vec(any::<u8>(), 0..20)) {
        let protocol = Protocol::Udp(mainstay_query::UdpPattern::new(request, expect).unwrap());
        prop_assert_eq!(protocol.to_string().parse::<Protocol>(), Ok(protocol));
    }

    #[test]
    fn no_text_panics_the_protocol(text in "(udp:)?\\PC{0,20}") {
        if let Ok(protocol) = text.parse::<Protocol>() {
            prop_assert_eq!(protocol.to_string().parse::<Protocol>(), Ok(protocol));
        }
    }
}

fn exchange(mut prober: Prober, mut handle: impl FnMut(&[u8]) -> Option<Vec<u8>>) -> mainstay_query::Answer {
    let mut packet = prober.start();
    for _ in 0..4 {
        let reply = handle(&packet).unwrap();
        assert!(reply.len() <= DATAGRAM_BYTES_MAX);
        match prober.receive(&reply) {
            Step::Send(next) => packet = next,
            Step::Done(answer) => return answer,
            Step::Wait | Step::Refused(_) => break,
        }
    }
    panic!("the prober did not come to an answer");
}
