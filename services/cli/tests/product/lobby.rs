//! Sessions that players host, over the native face: what a game does that knows the documentation and has an Ed25519 library.

use std::collections::BTreeSet;
use std::process::Stdio;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde_json::{Value, json};

use crate::caller::{Answer, Caller, Credentials};
use crate::product::{Home, LIMIT, Product, lines_of, until};

const SEARCH: &str = "/v1/lobbies/online/sessions";

/// A process of a game that players host.
struct Peer {
    caller: Caller,
    pair: Ed25519KeyPair,
    name: &'static str,
}

impl Peer {
    fn new(up: &Product<'_>, name: &'static str) -> Self {
        let mut seed = [0; 32];
        loop {
            getrandom::fill(&mut seed).unwrap();
            let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
            let peer = Self { caller: up.caller().with(Credentials::Nothing), pair, name };
            // As an argument of the command line one of those may need `--` before it, which its own test shows.
            if !peer.key().starts_with('-') {
                return peer;
            }
        }
    }

    fn key(&self) -> String {
        BASE64.encode(self.pair.public_key())
    }

    /// What it says to come in.
    fn member(&self, lobby_key: &str) -> Value {
        let asks = [b"mainstay lobby join 1\0".to_vec(), BASE64.decode(lobby_key).unwrap()].concat();
        json!({
            "peer": self.key(), "proof": BASE64.encode(self.pair.sign(&asks)), "player": self.name,
            "canBeHost": true, "addresses": ["192.0.2.7:7777"],
        })
    }

    /// Comes in, and is a member from then on.
    #[track_caller]
    fn joins(&mut self, session: &str, lobby_key: &str) -> Value {
        let answer = self.asks_in(session, lobby_key);
        assert_eq!(answer.status, 201, "{answer:?}");
        self.is_given(&answer)
    }

    fn asks_in(&self, session: &str, lobby_key: &str) -> Answer {
        let body = json!({ "member": self.member(lobby_key) });
        self.caller.with(Credentials::Nothing).send(&format!("/v1/sessions/{session}/members"), &body)
    }

    fn is_given(&mut self, answer: &Answer) -> Value {
        let given = answer.json();
        self.caller = self.caller.with(Credentials::Bearer(given["token"].as_str().unwrap().to_owned()));
        given
    }

    /// After a restart the instance listens elsewhere.
    fn moves(&mut self, up: &Product<'_>) {
        self.caller.api = up.caller().api;
    }

    fn claims(&self, session: &str, expected: u32) -> Answer {
        self.caller.send(&format!("/v1/sessions/{session}/claims"), &json!({ "expectedEpoch": expected }))
    }

    fn beats(&self, session: &str, body: &Value) -> Answer {
        self.caller.send(&format!("/v1/sessions/{session}/beats"), body)
    }
}

/// What a host signs that goes on, and what the lobby signs that has counted it, by how far they differ: what they are, and which moments.
fn says(what: &[u8], session: &str, epoch: u32, moments: &[u64]) -> Vec<u8> {
    let session: uuid::Uuid = session.parse().unwrap();
    let moments = moments.iter().flat_map(|at| at.to_be_bytes());
    what.iter().chain(session.as_bytes()).copied().chain(epoch.to_be_bytes()).chain(moments).collect()
}

fn lobby_key(caller: &Caller) -> String {
    let lobbies = caller.get("/v1/lobbies").json();
    lobbies["items"][1]["lobbyKey"].as_str().unwrap().to_owned()
}

/// Checks a certificate as a peer does that reaches nobody: with the lobby's key alone.
fn is_certified(certificate: &Value, lobby_key: &str) -> bool {
    let session: uuid::Uuid = certificate["session"].as_str().unwrap().parse().unwrap();
    let epoch = u32::try_from(certificate["epoch"].as_u64().unwrap()).unwrap();
    let host = BASE64.decode(certificate["host"].as_str().unwrap()).unwrap();
    let says = b"mainstay lobby certificate 1\0";
    let bytes = [&says[..], session.as_bytes(), &epoch.to_be_bytes(), &host].concat();
    let signature = BASE64.decode(certificate["signature"].as_str().unwrap()).unwrap();
    UnparsedPublicKey::new(&ED25519, BASE64.decode(lobby_key).unwrap()).verify(&bytes, &signature).is_ok()
}

fn create(up: &Product<'_>, host: &mut Peer, key: &str, settings: Value) -> Value {
    let mut body = settings;
    body["member"] = host.member(key);
    let made = host.caller.send(SEARCH, &body);
    assert_eq!(made.status, 201, "{made:?}\n{}", up.log());
    host.is_given(&made)
}

fn start(home: &Home) -> Product<'_> {
    start_with(home, "")
}

fn start_with<'a>(home: &'a Home, says: &str) -> Product<'a> {
    let file = home.path().with_file_name("mainstay.yaml");
    std::fs::write(&file, format!("version: 1.0\n{says}")).unwrap();
    home.up(&[file.to_str().unwrap()])
}

/// Issue 5, points 2 and 4: "Authority is a certificate for (session, epoch): from the lobby by compare-and-swap lease"; "a shard
/// on the journal, so the lobby's crash loses no certificate". Create, join, the host dies, another claims, the third is told who
/// did; SIGKILL in between, and every certificate that was told stands.
#[test]
fn a_session_outlives_its_host_and_the_lobby_and_no_certificate_is_lost() {
    let home = Home::new();
    let up = start(&home);
    let key = lobby_key(&up.caller());
    let [mut ann, mut ben, mut cat] = ["ann", "ben", "cat"].map(|name| Peer::new(&up, name));
    let made =
        create(&up, &mut ann, &key, json!({ "name": "harbour", "size": 4, "attributes": { "mode": "ctf" } }));
    let session = made["session"]["id"].as_str().unwrap().to_owned();
    let first = made["session"]["certificate"].clone();
    assert!(is_certified(&first, &key), "{first}");
    assert_eq!((&first["epoch"], &first["host"]), (&json!(1), &json!(ann.key())));
    let mut forged = first;
    forged["epoch"] = json!(2);
    assert!(!is_certified(&forged, &key));

    let found = ben.caller.get(&format!("{SEARCH}?attr.mode=ctf")).json();
    assert_eq!(found["items"][0]["id"], json!(session), "{found}");
    assert_eq!(found["items"][0]["members"][0].get("addresses"), None, "for members alone");
    let joined = ben.joins(&session, &key);
    assert_eq!(joined["session"]["members"].as_array().unwrap().len(), 2);
    assert_eq!(joined["session"]["members"][0]["addresses"], json!(["192.0.2.7:7777"]));
    cat.joins(&session, &key);

    // The host lives: nobody takes its place alone. Two of three that miss it are more than half.
    assert_eq!(ann.beats(&session, &json!({ "epoch": 1, "hears": [ben.key(), cat.key()] })).status, 200);
    let early = ben.claims(&session, 1);
    assert_eq!((early.status, early.code.as_deref()), (409, Some("MS-G011")), "{early:?}");
    assert!(early.retry_after.is_some_and(|seconds| seconds <= 6), "{early:?}");
    assert_eq!(cat.beats(&session, &json!({ "epoch": 1, "missesHost": true })).status, 200);
    let won = ben.claims(&session, 1);
    assert_eq!(won.status, 200, "{won:?}");
    let second = won.json()["certificate"].clone();
    assert!(is_certified(&second, &key), "{second}");
    assert_eq!((&second["epoch"], &second["host"]), (&json!(2), &json!(ben.key())));

    // The lobby crashes as soon as it has said so.
    up.kill_nine();
    let up = start(&home);
    [&mut ann, &mut ben, &mut cat].into_iter().for_each(|peer| peer.moves(&up));
    assert_eq!(lobby_key(&up.caller()), key, "the same key");
    let lost = cat.claims(&session, 1);
    assert_eq!((lost.status, lost.code.as_deref()), (409, Some("MS-G010")), "{lost:?}");
    assert_eq!(lost.json()["certificate"], second, "the loser is told who won in the same answer");
    let told = cat.beats(&session, &json!({ "epoch": 1 })).json();
    assert_eq!(told["certificate"], second, "{told}");

    // Who joins meanwhile waits until the new host is heard; the old one is fenced.
    let dan = Peer::new(&up, "dan");
    let waits = dan.asks_in(&session, &key);
    assert_eq!((waits.status, waits.code.as_deref(), waits.retry_after), (503, Some("MS-G009"), Some(1)));
    let zombie = ann.caller.delete(&format!("/v1/sessions/{session}/members/{}?epoch=1", cat.key()));
    assert_eq!((zombie.status, zombie.code.as_deref()), (409, Some("MS-G010")), "{zombie:?}");
    assert_eq!(ben.beats(&session, &json!({ "epoch": 2 })).json()["lease"], "held");
    let joined = { dan }.joins(&session, &key);
    assert_eq!(joined["session"]["host"]["peer"], json!(ben.key()), "it is told where to go");
    assert_eq!(ann.claims(&session, 2).code.as_deref(), Some("MS-G011"), "the new lease stands");
}

/// Of those who miss a host whoever heard it later comes first; what a member said long ago, and a lobby that stood still reads now, is as old as it says.
#[test]
fn whoever_heard_a_host_later_comes_first_whenever_it_is_read() {
    let home = Home::new();
    let up = start(&home);
    let key = lobby_key(&up.caller());
    let [mut ann, mut ben, mut cat] = ["ann", "ben", "cat"].map(|name| Peer::new(&up, name));
    let made = create(&up, &mut ann, &key, json!({ "size": 4 }));
    let session = made["session"]["id"].as_str().unwrap().to_owned();
    [&mut ben, &mut cat].into_iter().for_each(|peer| drop(peer.joins(&session, &key)));
    let misses = |by: &Peer, silent: u64, as_of: Option<u64>| {
        let mut says = json!({ "epoch": 1, "missesHost": true, "silentMs": silent });
        if let Some(as_of) = as_of {
            says["asOf"] = json!(as_of);
        }
        let answer = by.beats(&session, &says);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()["asOf"].as_u64().unwrap()
    };
    let now = misses(&ben, 5_000, None);
    misses(&cat, 2_000, None);
    let waits = ben.claims(&session, 1);
    assert_eq!((waits.status, waits.code.as_deref()), (409, Some("MS-G011")), "{waits:?}");
    misses(&cat, 2_000, Some(now - 10_000));
    assert_eq!(ben.claims(&session, 1).status, 200);
}

/// Reference, 5.3 A: "renew …, relayable through any peer". Over the documented bytes: a member brings what the host signed, and is given
/// what the host can check with the lobby's key alone; of what it signed itself, of a moment to come, or for an epoch that is over, it is
/// given nothing.
#[test]
fn a_renewal_that_a_member_brings_is_receipted_where_it_counts() {
    let home = Home::new();
    let up = start(&home);
    let key = lobby_key(&up.caller());
    let [mut ann, mut ben, mut cat] = ["ann", "ben", "cat"].map(|name| Peer::new(&up, name));
    let made = create(&up, &mut ann, &key, json!({ "size": 4, "takeover": "strict" }));
    let session = made["session"]["id"].as_str().unwrap().to_owned();
    ben.joins(&session, &key);
    cat.joins(&session, &key);
    let brings = |by: &Peer, signer: &Peer, as_of: u64| {
        let signature = signer.pair.sign(&says(b"mainstay lobby renewal 1\0", &session, 1, &[as_of]));
        let relayed = json!({ "asOf": as_of, "signature": BASE64.encode(signature) });
        by.beats(&session, &json!({ "epoch": 1, "hears": [cat.key()], "relayed": relayed }))
    };
    let mut renewed = made["asOf"].as_u64().unwrap();
    for _ in 0..3 {
        let answer = brings(&ben, &ann, renewed).json();
        let now = answer["asOf"].as_u64().unwrap();
        assert_eq!((&answer["epoch"], &answer["lease"]), (&json!(1), &json!("held")), "{answer}");
        let receipt = BASE64.decode(answer["receipt"].as_str().unwrap()).unwrap();
        let signed = says(b"mainstay lobby receipt 1\0", &session, 1, &[renewed, now]);
        let lobby = UnparsedPublicKey::new(&ED25519, BASE64.decode(&key).unwrap());
        assert!(lobby.verify(&signed, &receipt).is_ok(), "{answer}");
        renewed = now;
    }
    let forged = brings(&ben, &ben, renewed);
    assert_eq!((forged.status, forged.code.as_deref()), (400, Some("MS-G015")), "{forged:?}");
    let hour = 3_600_000;
    assert_eq!(brings(&ben, &ann, renewed + hour).json()["receipt"], json!(null), "of a moment to come");
    let without = ben.beats(&session, &json!({ "epoch": 1 })).json();
    assert_eq!(without["receipt"], json!(null), "nothing was brought");

    assert_eq!(ann.caller.delete(&format!("/v1/sessions/{session}/members/{}", ann.key())).status, 204);
    let claimed = ben.claims(&session, 1);
    assert_eq!(claimed.status, 200, "{claimed:?}");
    let late = brings(&cat, &ann, renewed).json();
    assert_eq!((&late["receipt"], &late["epoch"]), (&json!(null), &json!(2)), "{late}");
    let certificate = &late["certificate"];
    assert!(is_certified(certificate, &key) && certificate["host"] == json!(ben.key()), "{late}");
}

/// Issue 5, point 4: "a matchmaking queue may end in a lobby session whose members and tokens come from the match (one end-to-end
/// test)".
#[test]
fn a_queue_ends_in_a_session_whose_players_are_those_of_the_match() {
    let home = Home::new();
    let file = home.path().with_file_name("mainstay.yaml");
    let text =
        "version: 1.0\nqueues:\n  - { name: duel, minMatchSize: 2, maxMatchSize: 2, session: online }\n";
    std::fs::write(&file, text).unwrap();
    let up = home.up(&[file.to_str().unwrap()]);
    let (studio, key) = (up.caller(), lobby_key(&up.caller()));
    assert_eq!(studio.get("/v1/queues/duel").json()["configuration"]["Session"], "online");
    let ticket = |player: &str| {
        let body = json!({ "players": [{ "player": player }], "giveUpAfterSeconds": 600 });
        let made = studio.send("/v1/queues/duel/tickets", &body);
        assert_eq!(made.status, 201, "{made:?}");
        format!("/v1/queues/duel/tickets/{}", made.json()["id"].as_str().unwrap())
    };
    let [ann, _] = ["ann", "ben"].map(ticket);
    let matched = until("the match has its session", || {
        let seen = studio.get(&ann).json();
        (seen["status"] == "Matched").then(|| seen["matchId"].as_str().unwrap().to_owned())
    });
    let formed = studio.get(&format!("/v1/queues/duel/matches/{matched}")).json();
    assert_eq!(formed["server"]["serverId"], json!(matched), "{formed}");
    let session = matched;
    let place = format!("/v1/sessions/{session}");
    let made = studio.get(&place).json();
    assert_eq!((&made["epoch"], &made["free"], &made["searchable"]), (&json!(0), &json!(0), &json!(false)));

    let seats = studio.get(&format!("{place}/seats")).json();
    let token = |player: &str| {
        let is = |seat: &&Value| seat["player"].as_str().unwrap().ends_with(player);
        let seat = seats["items"].as_array().unwrap().iter().find(is).unwrap();
        Credentials::Bearer(seat["token"].as_str().unwrap().to_owned())
    };
    let mut players = ["ann", "ben"].map(|name| Peer::new(&up, name));
    for peer in &mut players {
        let body = json!({ "member": peer.member(&key) });
        let joined = peer.caller.with(token(peer.name)).send(&format!("{place}/members"), &body);
        assert_eq!(joined.status, 201, "{joined:?}");
        let given = peer.is_given(&joined);
        assert!(given["pass"]["player"].as_str().unwrap().ends_with(peer.name), "{given}");
    }
    let stranger = Peer::new(&up, "eve").asks_in(&session, &key);
    assert_eq!(stranger.code.as_deref(), Some("MS-G008"), "it has no seat: {stranger:?}");
    let [ann, ben] = &players;
    let first = ben.claims(&session, 0);
    assert_eq!(first.status, 200, "{first:?}");
    assert!(is_certified(&first.json()["certificate"], &key));
    assert_eq!(ann.claims(&session, 0).json()["certificate"], first.json()["certificate"]);
    // The session is durable, and so is who hosts it.
    up.kill_nine();
    let up = home.up(&[file.to_str().unwrap()]);
    let seen = up.caller().get(&place).json();
    assert_eq!((&seen["host"]["peer"], &seen["epoch"]), (&json!(ben.key()), &json!(1)));
}

/// Seed 000: "an individual lobby service can be configured to not support host migration"; a file says so, a restart with the same
/// file undoes no call, and a changed file is right.
#[test]
fn a_file_says_whether_a_services_sessions_migrate() {
    let home = Home::new();
    let file = home.path().with_file_name("mainstay.yaml");
    let write = |supports: &str| {
        std::fs::write(
            &file,
            format!("version: 1.0\nlobbies:\n  lan: {{ supportsHostMigration: {supports} }}\n"),
        )
        .unwrap();
    };
    let supports = |up: &Product<'_>| {
        let lobbies = up.json(&["lobby", "list"]);
        [0, 1].map(|at| lobbies[at]["supportsHostMigration"].as_bool().unwrap())
    };
    write("false");
    let up = home.up(&[file.to_str().unwrap()]);
    assert_eq!(supports(&up), [false, true]);
    up.json(&["lobby", "set", "lan", "--supports-host-migration", "on"]);
    up.stop();
    let up = home.up(&[file.to_str().unwrap()]);
    assert_eq!(supports(&up), [true, true]);
    write("false");
    assert!(up.run(&["apply", file.to_str().unwrap()]).status.success());
    assert_eq!(supports(&up), [false, true]);
}

/// 0056: "half-way through the day that a pass lasts its holder has it renewed, which makes nobody a member": whoever is none, was
/// thrown out, shows another's token or one that ran out gets nothing, and is where it was.
#[test]
fn a_pass_is_renewed_for_a_member_alone_and_makes_nobody_one() {
    let home = Home::new();
    let up = start_with(&home, "lobbies: { online: { passLife: 20s } }\n");
    let key = lobby_key(&up.caller());
    let [mut ann, mut ben, mut cat, mut dan] = ["ann", "ben", "cat", "dan"].map(|name| Peer::new(&up, name));
    let made = create(&up, &mut ann, &key, json!({ "size": 8 }));
    let session = made["session"]["id"].as_str().unwrap().to_owned();
    let elsewhere = create(&up, &mut dan, &key, json!({ "size": 8 }))["session"]["id"].clone();
    let joined = ben.joins(&session, &key);
    cat.joins(&session, &key);
    let place = |session: &str, peer: &Peer| format!("/v1/sessions/{session}/members/{}/pass", peer.key());
    let renews = |who: &Peer, whose: &Peer| who.caller.send(&place(&session, whose), &Value::Null);
    let members = || {
        let seen = up.caller().get(&format!("/v1/sessions/{session}")).json();
        let members = seen["members"].as_array().unwrap().iter();
        members.map(|member| member["player"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let are = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let given = renews(&ben, &ben).json();
    assert_eq!((&given["pass"]["peer"], &given["pass"]["player"]), (&json!(ben.key()), &json!("ben")));
    assert_eq!(given["pass"]["expires"].as_u64(), given["asOf"].as_u64().map(|now| now + 20_000), "{given}");
    assert!(given["pass"]["expires"].as_u64() > joined["pass"]["expires"].as_u64(), "{given}");
    ben.caller = ben.caller.with(Credentials::Bearer(given["token"].as_str().unwrap().to_owned()));
    assert_eq!(renews(&ben, &ben).status, 200, "the new token is one");

    let nobody = ben.caller.with(Credentials::Nothing);
    for (asked, refused) in [
        (renews(&ben, &cat), (403, "MS-G005")),
        (renews(&dan, &ben), (403, "MS-G005")),
        (renews(&dan, &dan), (403, "MS-G005")),
        (ben.caller.send(&place(elsewhere.as_str().unwrap(), &ben), &Value::Null), (403, "MS-G005")),
        (nobody.send(&place(&session, &ben), &Value::Null), (401, "MS-A001")),
        (up.caller().send(&place(&session, &ben), &Value::Null), (403, "MS-A003")),
    ] {
        assert_eq!((asked.status, asked.code.as_deref()), (refused.0, Some(refused.1)), "{asked:?}");
    }
    assert!(up.run(&["session", "kick", &session, &ben.key()]).status.success());
    assert_eq!(cat.caller.delete(&format!("/v1/sessions/{session}/members/{}", cat.key())).status, 204);
    for (who, code) in [(&ben, "MS-G006"), (&cat, "MS-G005")] {
        let asked = renews(who, who);
        assert_eq!((asked.status, asked.code.as_deref()), (403, Some(code)), "{asked:?}");
    }
    assert_eq!(members(), are(&["ann"]), "nobody is back");

    // Its player comes with another process: the old one is none any more, whatever it holds.
    let mut again = Peer::new(&up, "dan");
    assert_eq!(
        ann.beats(&session, &json!({ "epoch": 1 })).status,
        200,
        "a session takes members while it has a host"
    );
    dan.joins(&session, &key);
    again.joins(&session, &key);
    let beat = dan.beats(&session, &json!({ "epoch": 1 }));
    for told in [renews(&dan, &dan), beat, dan.asks_in(&session, &key)] {
        assert_eq!((told.status, told.code.as_deref()), (403, Some("MS-G024")), "{told:?}");
    }
    assert_eq!(renews(&again, &again).status, 200);
    let watching = {
        // On a connection of its own: nothing else is asked on that once it has ended.
        let caller = up.caller().with(again.caller.credentials.clone());
        let events = format!("/v1/sessions/{session}/events");
        std::thread::spawn(move || caller.get(&events).text)
    };
    until("the token runs out", || {
        (again.caller.get(&format!("/v1/sessions/{session}")).status == 401).then_some(())
    });
    let late = renews(&again, &again);
    assert_eq!((late.status, late.code.as_deref()), (401, Some("MS-A002")), "{late:?}");
    assert!(
        late.text.contains("join the session again") && !late.text.contains("service account"),
        "{late:?}"
    );
    assert_eq!(members(), are(&["ann", "dan"]), "it is a member, and has to join again for a token");
    assert_eq!(again.joins(&session, &key)["pass"]["player"], "dan");
    assert!(up.run(&["session", "end", &session]).status.success());
    assert_eq!(renews(&again, &again).code.as_deref(), Some("MS-G002"));
    let told = watching.join().unwrap();
    assert!(told.contains("event: session") && !told.contains("event: ended"), "its token ran out: {told}");
}

/// "A minute: 30 sessions made and joined by one player": by itself, not by others who name it and prove nothing.
#[test]
fn who_proves_nothing_uses_nobodys_joins_up() {
    let home = Home::new();
    let up = start(&home);
    let key = lobby_key(&up.caller());
    let [mut ann, eve] = ["ann", "eve"].map(|name| Peer::new(&up, name));
    let mut forged = ann.member(&key);
    forged["proof"] = eve.member(&key)["proof"].clone();
    for _ in 0..40 {
        let refused = eve.caller.send(SEARCH, &json!({ "size": 4, "member": forged }));
        assert_eq!((refused.status, refused.code.as_deref()), (400, Some("MS-G015")), "{refused:?}");
    }
    create(&up, &mut ann, &key, json!({ "size": 4 }));
}

/// `Idempotency-Key`: a repeat finds the session that it made. Something else under the same key is none, and neither is another process's.
#[test]
fn a_key_is_of_one_process_and_one_session() {
    let home = Home::new();
    let up = start(&home);
    let key = lobby_key(&up.caller());
    let [ann, ben] = ["ann", "ben"].map(|name| Peer::new(&up, name));
    let body =
        |peer: &Peer, size: u32| json!({ "name": "harbour", "size": size, "member": peer.member(&key) });
    let asks = |peer: &Peer, place: &str, size| peer.caller.send_keyed(place, "one", &body(peer, size));
    let made = asks(&ann, SEARCH, 4);
    assert_eq!(made.status, 201, "{made:?}");
    let id = |answer: &Answer| answer.json()["session"]["id"].as_str().unwrap().to_owned();
    let lan = "/v1/lobbies/lan/sessions";
    for other in [asks(&ann, lan, 4), asks(&ann, SEARCH, 9)] {
        assert_eq!((other.status, other.code.as_deref()), (409, Some("MS-G023")), "{other:?}");
    }
    assert_eq!(id(&asks(&ann, SEARCH, 4)), id(&made));
    assert_ne!(id(&asks(&ben, SEARCH, 4)), id(&made), "its own");
    // A strict session's host is waited for, whoever misses it.
    let mut strict = Peer::new(&up, "cat");
    let session = create(&up, &mut strict, &key, json!({ "size": 4, "takeover": "strict" }));
    let session = session["session"]["id"].as_str().unwrap().to_owned();
    let mut dan = Peer::new(&up, "dan");
    dan.joins(&session, &key);
    let early = dan.claims(&session, 1);
    assert_eq!((early.status, early.code.as_deref()), (409, Some("MS-G011")), "{early:?}");
    assert!(early.text.contains("whoever misses it"), "{early:?}");
}

/// The command line, events, kicks, the flag of a service, limits and metrics.
/// Seed 000: "A lobby service can be queried for host migration support as follows: … GetLobbyServiceFlag(<lobby_service_type>,
/// eCLSF_SupportHostMigration), where <lobby_service_type> is eCLS_LAN or eCLS_Online."
#[test]
fn the_studio_sees_sessions_and_says_whether_they_migrate() {
    let home = Home::new();
    let up = start(&home);
    let key = lobby_key(&up.caller());
    let [mut ann, mut ben] = ["ann", "ben"].map(|name| Peer::new(&up, name));
    let made = create(&up, &mut ann, &key, json!({ "name": "harbour", "size": 4 }));
    let session = made["session"]["id"].as_str().unwrap().to_owned();
    ben.joins(&session, &key);
    let watching = {
        let (caller, events) = (ben.caller.clone(), format!("/v1/sessions/{session}/events"));
        std::thread::spawn(move || caller.get(&events).text)
    };
    assert_eq!(up.json(&["session", "list"])[0]["name"], "harbour");
    assert_eq!(up.json(&["session", "candidates", &session]).as_array().unwrap().len(), 2);
    assert_eq!(up.json(&["lobby", "list"])[1]["supportsHostMigration"], true);
    let off = up.json(&["lobby", "set", "online", "--supports-host-migration", "off"]);
    assert_eq!(off["supportsHostMigration"], false);
    assert_eq!(up.json(&["session", "get", &session])["migrates"], false);
    let place = format!("/v1/sessions/{session}");
    let hand = ann.caller.send(&format!("{place}/claims"), &json!({ "expectedEpoch": 1, "to": ben.key() }));
    assert_eq!(hand.code.as_deref(), Some("MS-G013"), "{hand:?}");
    up.json(&["lobby", "set", "online", "--supports-host-migration", "on"]);
    let studio = up.caller().send(&format!("{place}/claims"), &json!({ "expectedEpoch": 1 }));
    assert_eq!((studio.status, studio.code.as_deref()), (403, Some("MS-A003")), "{studio:?}");
    assert!(studio.text.contains("for the session's members"), "{studio:?}");
    let hand = ann.caller.send(&format!("{place}/claims"), &json!({ "expectedEpoch": 1, "to": ben.key() }));
    assert_eq!((hand.status, &hand.json()["host"]["peer"]), (200, &json!(ben.key())));
    assert!(up.run(&["session", "kick", &session, &ann.key()]).status.success());
    assert_eq!(ann.asks_in(&session, &key).code.as_deref(), Some("MS-G006"));
    let metrics = up.caller().get("/metrics").text;
    for line in [
        "mainstay_sessions{kind=\"peer\",state=\"awaited\"} 1",
        "mainstay_migrations_total{cause=\"controlled\",result=\"granted\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    let mut watch =
        home.command(&["session", "get", &session, "--watch"]).stdout(Stdio::piped()).spawn().unwrap();
    let watched = lines_of(watch.stdout.take().unwrap());
    assert!(watched.recv_timeout(LIMIT).unwrap().contains("harbour"));
    assert!(up.run(&["session", "end", &session]).status.success());
    let ended = until("the watch has ended", || watch.try_wait().unwrap());
    let last: Value = watched.into_iter().last().unwrap().parse().unwrap();
    assert!(ended.success(), "{ended}: {last}");
    assert_eq!(last, json!({ "id": session, "gone": true }));
    let told = watching.join().unwrap();
    let events: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert_eq!((events.first(), events.last()), (Some(&"session"), Some(&"ended")), "{told}");
    let hosts = told.lines().filter_map(|line| line.strip_prefix("data: ")).filter_map(|data| {
        let seen: Value = data.parse().unwrap();
        seen["certificate"]["host"].as_str().map(str::to_owned)
    });
    assert!(hosts.collect::<Vec<_>>().contains(&ben.key()), "the new host is told, with its proof: {told}");
    let gone = up.run(&["session", "get", &session]);
    assert_eq!(gone.status.code(), Some(3), "{gone:?}");
    assert!(String::from_utf8_lossy(&gone.stderr).contains("MS-G002"), "{gone:?}");
    let wrong = ben.caller.send(SEARCH, &json!({ "size": 65, "member": ben.member(&key) }));
    assert_eq!(wrong.code.as_deref(), Some("MS-A002"), "a member's token makes no session: {wrong:?}");
    let body = json!({ "size": 2, "member": ben.member(&key) });
    let nobody = ben.caller.with(Credentials::Nothing);
    let [once, twice] =
        [1, 2].map(|_| nobody.send_keyed(SEARCH, "one", &body).json()["session"]["id"].clone());
    assert_eq!(once, twice, "a repeat finds the session that it made");
    let body = json!({ "size": 65, "member": ben.member(&key) });
    let wrong = nobody.send(SEARCH, &body);
    assert_eq!((wrong.status, wrong.code.as_deref()), (400, Some("MS-G003")), "{wrong:?}");
}
