//! Every recorded exchange, byte for byte: what Unity's Go SDK 0.5.4 and go-svrquery 1.7.2 put on the wire.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::net::SocketAddr;
use std::time::Duration;

use mainstay_query::sqp::{Chunks, QueryAnswer, Request, ServerInfo};
use mainstay_query::{Answer, Malformed, Player, Probe, Prober, Protocol, Status, Step, a2s, sqp};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn prober(protocol: &Protocol) -> Prober {
    match protocol.probe(1) {
        Probe::Datagrams(prober) => prober,
        Probe::Nothing | Probe::Connect => panic!("{protocol} is asked by datagrams"),
    }
}

const FROM: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 40_000);
const NOW: Duration = Duration::from_secs(100);
const TOKEN: u32 = 0x764c_03d7;

/// The state of the Go SDK's sample server when it was recorded.
fn sample() -> Status {
    Status { name: "go-sdk-server - 123".into(), map: "go-sdk-map".into(), port: 19_000, ..Status::default() }
}

const INFO: &str = "01764c03d7 0001 00 00 002b 00000027 0000 0000 13 676f2d73646b2d736572766572202d20313233 00 00 0a \
                    676f2d73646b2d6d6170 4a38";

/// What the Go SDK says to a query, or `None` for its silence. `TOKEN` was given out just before each.
const SQP_QUERIES: &[(&str, &str, Option<&str>)] = &[
    ("version 1, server info", "01764c03d7 0001 01", Some(INFO)),
    ("version 0, server info", "01764c03d7 0000 01", Some(INFO)),
    ("version 2, server info", "01764c03d7 0002 01", Some(INFO)),
    ("trailing bytes", "01764c03d7 0001 01 00", Some(INFO)),
    ("version 1, nothing", "01764c03d7 0001 00", Some("01764c03d7 0001 00 00 0000")),
    ("version 2, nothing", "01764c03d7 0002 00", Some("01764c03d7 0001 00 00 0000")),
    ("version 1, rules", "01764c03d7 0001 02", Some("01764c03d7 0001 00 00 0000")),
    ("version 2, rules", "01764c03d7 0002 02", Some("01764c03d7 0001 00 00 0000")),
    ("version 1, everything", "01764c03d7 0001 1f", Some(INFO)),
    ("version 2, metrics", "01764c03d7 0002 10", Some("01764c03d7 0001 00 00 0005 00000001 00")),
    (
        "version 2, everything",
        "01764c03d7 0002 1f",
        Some(
            "01764c03d7 0001 00 00 0030 00000027 0000 0000 13 676f2d73646b2d736572766572202d20313233 00 00 0a \
             676f2d73646b2d6d6170 4a38 00000001 00",
        ),
    ),
    ("version 3", "01764c03d7 0003 01", None),
    ("a wrong token", "01764c03d8 0001 01", None),
    ("a short query", "01764c03d7 0001", None),
    ("another kind", "02764c03d7 0001 01", None),
    ("a challenge request that is not zero", "00764c03d7", None),
    ("nothing", "", None),
];

#[test]
fn sqp_answers_as_the_go_sdk_does() {
    for (case, query, answer) in SQP_QUERIES {
        let mut responder = sqp::Responder::new(|| TOKEN);
        let challenge = responder.handle(NOW, FROM, &bytes("0000000000"), &sample());
        assert_eq!(challenge, Some(bytes("00764c03d7")));
        let got = responder.handle(NOW, FROM, &bytes(query), &sample());
        assert_eq!(got.map(|got| hex(&got)), answer.map(|answer| hex(&bytes(answer))), "{case}");
    }
}

#[test]
fn sqp_challenges_even_one_byte_and_spends_its_token_once() {
    let query = bytes("01764c03d7000101");
    let mut responder = sqp::Responder::new(|| TOKEN);
    assert_eq!(responder.handle(NOW, FROM, &query, &sample()), None, "no token given");
    assert_eq!(responder.handle(NOW, FROM, &[0], &sample()), Some(bytes("00764c03d7")));
    assert_eq!(responder.handle(NOW, FROM, &query, &sample()), Some(bytes(INFO)));
    assert_eq!(responder.handle(NOW, FROM, &query, &sample()), None, "spent");

    responder.handle(NOW, FROM, &[0], &sample());
    assert_eq!(responder.handle(NOW, FROM, &bytes("01764c03d8000101"), &sample()), None, "wrong");
    assert_eq!(responder.handle(NOW, FROM, &query, &sample()), None, "the wrong one spent it");

    responder.handle(NOW, FROM, &[0], &sample());
    let late = NOW + mainstay_query::TOKEN_LIFETIME;
    assert_eq!(responder.handle(late, FROM, &query, &sample()), None, "late");

    responder.handle(NOW, FROM, &[0], &sample());
    let other = SocketAddr::new(FROM.ip(), FROM.port() + 1);
    assert_eq!(responder.handle(NOW, other, &query, &sample()), None, "another source");
}

#[test]
fn sqp_prober_reads_the_go_sdk() {
    let mut prober = prober(&Protocol::Sqp);
    assert_eq!(hex(&prober.start()), "0000000000");
    assert_eq!(prober.receive(&bytes("00764c03d7")), Step::Send(bytes("01764c03d7000101")));
    assert_eq!(prober.receive(&bytes("00764c03d7")), Step::Wait, "a challenge that came twice");
    assert_eq!(prober.receive(&bytes("01000000010001000000")), Step::Wait, "another token");
    assert_eq!(prober.receive(&bytes("0176")), Step::Refused(short("the token", 4, 1)));
    assert_eq!(
        prober.receive(&bytes(INFO)),
        Step::Done(Answer {
            players: Some(0),
            max_players: Some(0),
            name: Some("go-sdk-server - 123".into()),
            map: Some("go-sdk-map".into()),
        })
    );
    prober.start();
    prober.receive(&bytes("00764c03d7"));
    assert_eq!(prober.receive(&bytes("01764c03d70001000000 00")), Step::Done(Answer::default()));
    assert_eq!(
        prober.receive(&bytes("01764c03d70001000100 00")),
        Step::Refused(Malformed::Split { number: 0 })
    );
    let unknown = Malformed::Unknown { what: "the version", found: 7 };
    assert_eq!(prober.receive(&bytes("01764c03d70007000000 00")), Step::Refused(unknown));
}

fn short(what: &'static str, needed: usize, left: usize) -> Malformed {
    Malformed::Short { what, needed, left }
}

#[test]
fn sqp_fixtures_of_go_svrquery() {
    let request = Request::Query { token: 1 << 24, version: 1, chunks: Chunks::SERVER_INFO };
    assert_eq!(Request::decode(&bytes("0101000000000101")), Ok(request));
    assert_eq!(hex(&request.encode()), "0101000000000101");

    let fixture = bytes("010000010000010000001e0000001a0005000a096d7920736572766572036374660131036d61700401");
    let answer = QueryAnswer::decode(&fixture, Chunks::SERVER_INFO).unwrap();
    let info = ServerInfo {
        players: 5,
        max_players: 10,
        name: "my server".into(),
        game_type: "ctf".into(),
        build: "1".into(),
        map: "map".into(),
        port: 0x0401,
    };
    assert_eq!(answer, QueryAnswer { info: Some(info), ..QueryAnswer::empty(0x100) });
    assert_eq!(answer.encode(), Ok(fixture));

    let fixture = bytes("010000000100010000001d00000019063f8000000000000040490fd0425e47ae43db2048c2f6e979");
    let answer = QueryAnswer::decode(&fixture, Chunks::METRICS).unwrap();
    let bits = [0x3f80_0000, 0, 0x4049_0fd0, 0x425e_47ae, 0x43db_2048, 0xc2f6_e979];
    let metrics = bits.map(f32::from_bits).to_vec();
    assert_eq!(answer, QueryAnswer { metrics: Some(metrics), ..QueryAnswer::empty(1) });
    assert_eq!(answer.encode(), Ok(fixture));
}

const A2S_QUESTION: &str = "ffffffff54 536f7572636520456e67696e6520517565727900";
const A2S_CHALLENGE: &str = "ffffffff41 d7034c76";
const A2S_SPENT: &str = "ffffffff54 536f7572636520456e67696e6520517565727900 d7034c76";
const A2S_INFO: &str = "ffffffff49 01 676f2d73646b2d736572766572202d2031323300 676f2d73646b2d6d617000 6e2f6100 00 0000 \
                        00 00 00 64 6c 00 00 00";

#[test]
fn a2s_answers_as_the_go_sdk_does() {
    let mut responder = a2s::Responder::new(|| TOKEN);
    let handle = |responder: &mut a2s::Responder, packet: &str| {
        responder.handle(NOW, FROM, &bytes(packet), &sample()).map(|got| hex(&got))
    };
    assert_eq!(handle(&mut responder, A2S_QUESTION), Some(hex(&bytes(A2S_CHALLENGE))));
    assert_eq!(handle(&mut responder, A2S_SPENT), Some(hex(&bytes(A2S_INFO))));
    assert_eq!(handle(&mut responder, A2S_SPENT), None, "single use");
    let all_ones = format!("{A2S_QUESTION} ffffffff");
    assert_eq!(handle(&mut responder, &all_ones), None, "an explicit empty challenge");
    for rubbish in ["", "ff", "ffffffff", "ffffffff57", "feffffff54", "ffffffff55", "ffffffff56ffff"] {
        assert_eq!(handle(&mut responder, rubbish), None, "{rubbish}");
    }
}

#[test]
fn a2s_prober_reads_the_go_sdk() {
    let mut prober = prober(&Protocol::A2s);
    assert_eq!(hex(&prober.start()), hex(&bytes(A2S_QUESTION)));
    for _ in 0..3 {
        assert_eq!(prober.receive(&bytes(A2S_CHALLENGE)), Step::Send(bytes(A2S_SPENT)));
    }
    assert_eq!(
        prober.receive(&bytes(A2S_CHALLENGE)),
        Step::Refused(Malformed::TooMany { what: "challenges", found: 4, max: 3 })
    );
    let info = Step::Done(Answer {
        players: Some(0),
        max_players: Some(0),
        name: Some("go-sdk-server - 123".into()),
        map: Some("go-sdk-map".into()),
    });
    assert_eq!(prober.receive(&bytes(A2S_INFO)), info);
    assert_eq!(
        prober.receive(&bytes(&format!("{A2S_INFO} b1 2a2a"))),
        info,
        "fields at the end are left alone"
    );
    assert_eq!(prober.receive(&bytes("feffffff00")), Step::Refused(Malformed::Split { number: 0 }));
    for end in 0..bytes(A2S_INFO).len() {
        assert!(matches!(prober.receive(&bytes(A2S_INFO)[..end]), Step::Refused(_)), "cut at {end}");
    }
}

#[test]
fn a2s_tells_players_and_rules_for_a_token() {
    let status = Status {
        players: vec![
            Player { name: "ann".into(), score: -2, connected: Duration::from_millis(1500) },
            Player { name: "b\0b".into(), score: 7, connected: Duration::ZERO },
        ],
        rules: vec![("allocation".into(), "none".into())],
        ..sample()
    };
    let mut responder = a2s::Responder::new(|| TOKEN);
    let mut handle = |packet: &str| responder.handle(NOW, FROM, &bytes(packet), &status).map(|got| hex(&got));
    let challenge = Some(hex(&bytes(A2S_CHALLENGE)));
    assert_eq!(handle("ffffffff55 ffffffff"), challenge);
    assert_eq!(
        handle("ffffffff55 d7034c76"),
        Some(hex(&bytes("ffffffff44 02 00 616e6e00 feffffff 0000c03f 01 6200 07000000 00000000")))
    );
    assert_eq!(handle("ffffffff55 d7034c76"), challenge, "spent");
    assert_eq!(
        handle("ffffffff56 d7034c76"),
        Some(hex(&bytes("ffffffff45 0100 616c6c6f636174696f6e00 6e6f6e6500")))
    );
    assert_eq!(handle("ffffffff56 00000000"), challenge);
}

/// Recorded from Debian's `ioquake3-server` 1.36 with OpenArena's `oa_dm1`, most settings left out.
const QUAKE3_STATUS: &[u8] = b"\xff\xff\xff\xffstatusResponse\n\\challenge\\1234abcd\\com_protocol\\71\\version\\ioq3 \
    1.36+u20221123.70d07d9+dfsg-1/Debian linux-x86_64 Jan  8 2023\\g_gametype\\0\\mapname\\oa_dm1\\sv_privateClients\\0\
    \\sv_hostname\\noname\\sv_maxclients\\8\\sv_minRate\\0\\gamename\\baseoa\\g_maxGameClients\\0\
    \\g_voteGametypes\\/0/1/3/4/5/6/7/8/9/10/11/12/\\g_timestamp\\2026-11-20 20:22:23\n";

#[test]
fn quake3_prober_reads_ioquake3() {
    let Probe::Datagrams(mut prober) = Protocol::Quake3.probe(0x1234_abcd) else {
        panic!("asked by datagrams")
    };
    assert_eq!(prober.start(), b"\xff\xff\xff\xffgetstatus 1234abcd\n");
    assert_eq!(
        prober.receive(QUAKE3_STATUS),
        Step::Done(Answer {
            players: Some(0),
            max_players: Some(8),
            name: Some("noname".into()),
            map: Some("oa_dm1".into()),
        })
    );
}
