//! Queues and tickets over the native face: what a studio's own matchmaking service would do.

use serde_json::{Value, json};

use crate::caller::{Answer, Caller};
use crate::product::{Home, until};

/// Two teams of one, as PlayFab's documentation writes a queue, with a skill that may differ by more the longer one waits.
fn duel() -> Value {
    json!({ "MatchmakingQueue": {
        "Name": "duel", "MinMatchSize": 2, "MaxMatchSize": 2,
        "Teams": [
            { "Name": "red", "MinTeamSize": 1, "MaxTeamSize": 1 },
            { "Name": "blue", "MinTeamSize": 1, "MaxTeamSize": 1 },
        ],
        "Rules": [{
            "Type": "DifferenceRule", "Name": "skill", "Attribute": { "Path": "skill", "Source": "User" },
            "Difference": 2, "MergeFunction": "Average", "AttributeNotSpecifiedBehavior": "UseDefault",
            "DefaultAttributeValue": 0, "Weight": 1,
            "Expansion": { "Type": "Linear", "Delta": 1, "Limit": 4, "SecondsBetweenExpansions": 600 },
        }],
    } })
}

fn make(caller: &Caller, player: &str, skill: i64) -> Value {
    let body = json!({
        "players": [{ "player": player, "attributes": { "skill": skill } }], "giveUpAfterSeconds": 3600,
    });
    let made = caller.post("/v1/queues/duel/tickets", body.to_string().as_bytes());
    assert_eq!(made.status, 201, "{made:?}");
    made.json()
}

fn path(ticket: &Value) -> String {
    format!("/v1/queues/duel/tickets/{}", ticket["id"].as_str().unwrap())
}

fn set(caller: &Caller, queue: &Value) -> Answer {
    caller.put("/v1/queues/duel", queue.to_string().as_bytes())
}

/// The events of a stream that ended, as JSON.
fn events(stream: &str) -> Vec<Value> {
    stream.lines().filter_map(|line| line.strip_prefix("data: ")).map(|data| data.parse().unwrap()).collect()
}

/// Issue 4, point 4: "The native face: the same over `/v1`, with server-sent events so that nobody polls, idempotency keys,
/// and *why not matched yet*: for a ticket, the nearest tickets, the rule that fails and by how much, and when the next
/// expansion comes"; point 7: "an acknowledged ticket survives SIGKILL".
#[test]
fn a_ticket_says_why_it_waits_outlives_a_kill_and_tells_when_it_is_matched() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let caller = up.caller();
    assert_eq!(set(&caller, &duel()).status, 200);
    let (alice, bob) = (make(&caller, "alice", 10), make(&caller, "bob", 13));
    assert_eq!((&alice["status"], &bob["status"]), (&json!("WaitingForMatch"), &json!("WaitingForMatch")));

    let why = caller.get(&format!("{}/why", path(&alice))).json();
    assert_eq!((&why["lookedAt"], &why["fitting"]), (&json!(1), &json!(0)), "{why}");
    assert_eq!(why["nearest"][0]["id"], bob["id"]);
    assert_eq!(why["nearest"][0]["rules"][0]["why"], "3 apart, at most 2", "{why}");
    assert_eq!((&why["next"]["from"], &why["next"]["to"]), (&json!("2"), &json!("3")));
    up.kill_nine();

    let up = home.up(&["--demo"]);
    let caller = up.caller();
    assert_eq!(caller.get(&path(&alice)).json(), alice, "as it was acknowledged");
    let watching = {
        let (caller, path) = (caller.clone(), format!("{}/events", path(&alice)));
        std::thread::spawn(move || caller.get(&path))
    };
    // What the rule asks for changes under those who wait: who fits now is matched at once.
    let mut wider = duel();
    wider["MatchmakingQueue"]["Rules"][0]["Difference"] = json!(3);
    assert_eq!(set(&caller, &wider).status, 200);
    let matched = until("alice is matched", || {
        let seen = caller.get(&path(&alice)).json();
        (seen["status"] == "Matched").then_some(seen)
    });
    let told = events(&watching.join().unwrap().text);
    assert_eq!(told.last(), Some(&matched), "the stream ends with the ticket: {told:?}");
    let formed =
        caller.get(&format!("/v1/queues/duel/matches/{}", matched["matchId"].as_str().unwrap())).json();
    let mut seated: Vec<_> =
        formed["players"].as_array().unwrap().iter().map(|it| (&it["player"], &it["team"])).collect();
    seated.sort_by_key(|(_, team)| team.to_string());
    assert_eq!(seated.iter().map(|(_, team)| *team).collect::<Vec<_>>(), [&json!("blue"), &json!("red")]);
    assert_eq!(formed["players"][0]["attributes"], json!({ "skill": 10 }));
}

/// Issue 4, point 10: "wrong types (40 and "40"), attributes too large, … teams that cannot be filled: refused at the door
/// …, named by code, never silently unmatchable"; and point 2's backfill over the native face.
#[test]
fn what_cannot_be_matched_is_refused_with_a_code() {
    let home = Home::new();
    let up = home.up(&["--demo"]);
    let caller = up.caller();
    let mut wrong = duel();
    wrong["MatchmakingQueue"]["Teams"][0]["MaxTeamSize"] = json!(0);
    wrong["MatchmakingQueue"]["MinMatchSize"] = json!(1);
    let refused = set(&caller, &wrong).json();
    assert_eq!(refused["code"], "MS-M001");
    assert!(refused["problems"].as_array().unwrap().len() >= 2, "all at once: {refused}");
    assert_eq!(set(&caller, &duel()).status, 200);

    let send = |what: &str, body: Value| {
        caller.post(&format!("/v1/queues/duel/{what}"), body.to_string().as_bytes())
    };
    let of = |attributes: Value| json!({ "players": [{ "player": "eve", "attributes": attributes }], "giveUpAfterSeconds": 9 });
    for (body, code) in [
        (of(json!({ "skill": "40" })), "MS-M006"),
        (of(json!({ "skill": 1e12 })), "MS-M006"),
        (json!({ "players": [{ "player": "" }], "giveUpAfterSeconds": 9 }), "MS-U101"),
        (json!({ "players": [{ "player": "eve" }], "giveUpAfterSeconds": 0 }), "MS-M006"),
        (
            json!({ "players": [{ "player": "eve" }, { "player": "mal" }], "giveUpAfterSeconds": 9 }),
            "MS-M006",
        ),
        (json!({ "players": "eve", "giveUpAfterSeconds": 9 }), "MS-U101"),
    ] {
        let refused = send("tickets", body.clone()).json();
        assert_eq!(refused["code"], code, "{body}: {refused}");
    }
    assert_eq!(send("tickets", of(json!({}))).status, 201);
    assert_eq!(send("tickets", of(json!({}))).json()["code"], "MS-M008");

    let game = json!({
        "players": [{ "player": "zoe", "team": "red" }], "giveUpAfterSeconds": 60,
        "server": { "ipv4Address": "192.0.2.1", "ports": [{ "name": "game", "number": 7777, "protocol": "udp" }] },
    });
    let backfill = send("backfills", game);
    assert_eq!(backfill.status, 201, "{backfill:?}");
    let filled = until("eve joins the game of zoe", || {
        let seen = caller.get(&path(&backfill.json())).json();
        (seen["status"] == "Matched").then_some(seen)
    });
    let formed =
        caller.get(&format!("/v1/queues/duel/matches/{}", filled["matchId"].as_str().unwrap())).json();
    assert_eq!(formed["server"]["ipv4Address"], "192.0.2.1");
    assert_eq!(
        (&formed["players"][0]["team"], &formed["players"][1]["team"]),
        (&json!("red"), &json!("blue"))
    );
    let metrics = caller.get("/metrics").text;
    for line in [
        "mainstay_matches_total{queue=\"duel\"} 1",
        "mainstay_backfill_filled_places_total{queue=\"duel\"} 1",
        "mainstay_queue_tickets{queue=\"duel\",kind=\"normal\"} 0",
        "mainstay_time_to_match_seconds_count{queue=\"duel\",kind=\"backfill\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert_eq!(caller.delete("/v1/queues/duel").status, 204);
    assert_eq!(caller.get("/v1/queues/duel").json()["code"], "MS-M002");
}

/// Issue 4, point 9: "queues in `mainstay.yaml` in our words …; SetMatchmakingQueue and the file are two doors to the same thing,
/// with a clear rule for who wins. `mainstay queue|ticket|backfill|match` commands".
#[test]
fn a_queue_of_the_file_is_played_by_commands_and_what_a_call_made_of_it_outlives_a_restart() {
    let home = Home::new();
    let file = home.path().with_file_name("mainstay.yaml");
    let text = "version: 1.0\nqueues:\n  - name: duel\n    minMatchSize: 2\n    maxMatchSize: 2\n    rules:\n      \
                - { name: skill, type: DifferenceRule, attribute: { path: skill }, attributeNotSpecifiedBehavior: MatchAny, difference: 1 }\n";
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    let up = home.up(&[file]);
    assert_eq!(up.json(&["queue", "list"])[0]["name"], "duel");
    let alice = up.json(&["ticket", "create", "--player", r#"alice={"skill": 1}"#]);
    let bob = up.json(&["ticket", "create", "--queue", "duel", "--player", r#"bob={"skill": 3}"#]);
    let why = up.json(&["ticket", "why", bob["id"].as_str().unwrap()]);
    assert_eq!(why["nearest"][0]["rules"][0]["why"], "2 apart, at most 1", "{why}");
    let carol = up.json(&["ticket", "create", "--player", r#"carol={"skill": 2}"#, "--wait"]);
    assert_eq!(carol["status"], "Matched", "with alice, who waited longest: {carol}");
    let formed = up.json(&["match", "get", carol["matchId"].as_str().unwrap()]);
    // The history is written behind the journal.
    until("the match's way is told", || {
        let told = up.json(&["match", "waterfall", carol["matchId"].as_str().unwrap()]);
        let steps = told["steps"].as_array().unwrap().iter().filter_map(|step| step["what"].as_str());
        (steps.collect::<Vec<_>>() == ["ticket.created", "ticket.created", "match.formed"]).then_some(())
    });
    let stats = up.json(&["queue", "stats"]);
    assert_eq!((&stats["tickets"], &stats["sinceStart"]["matches"]), (&json!(1), &json!(1)), "{stats}");
    let tried =
        up.json(&["queue", "try", "--player", r#"ann={"skill": 7}"#, "--player", r#"ben={"skill": 8}"#]);
    assert_eq!(tried["matches"][0]["players"].as_array().unwrap().len(), 2, "{tried}");
    // Bob waits still, and nobody comes to him while the queue is paused.
    assert!(up.json(&["queue", "pause"])["pausedSince"].is_string());
    let dora = up.json(&["ticket", "create", "--player", r#"dora={"skill": 9}"#]);
    let eli = up.json(&["ticket", "create", "--player", r#"eli={"skill": 9.5}"#]);
    let (dora, eli) = (dora["id"].as_str().unwrap(), eli["id"].as_str().unwrap());
    let why = up.json(&["ticket", "why", dora]);
    assert!(why["pausedSince"].is_string() && why["fitting"] == 1, "{why}");
    let funnel = up.json(&["queue", "funnel"]);
    assert_eq!((&funnel["pairs"], &funnel["rules"][0]["left"]), (&json!(3), &json!(1)), "{funnel}");
    assert_eq!(up.json(&["queue", "resume"])["pausedSince"], Value::Null);
    assert_eq!(up.json(&["ticket", "get", eli])["status"], "Matched");
    assert!(up.json(&["match", "list"]).as_array().unwrap().contains(&formed));
    assert_eq!(up.json(&["ticket", "get", alice["id"].as_str().unwrap()])["matchId"], formed["id"]);
    assert!(up.run(&["ticket", "cancel-all", "--player", "bob"]).status.success());
    assert_eq!(up.json(&["ticket", "get", bob["id"].as_str().unwrap()])["status"], "Canceled");

    let game = home.path().with_file_name("game.json");
    let asked = json!({ "players": [{ "player": "dave" }], "server": { "region": "here" }, "giveUpAfterSeconds": 600 });
    std::fs::write(&game, asked.to_string()).unwrap();
    let game = up.json(&["backfill", "create", game.to_str().unwrap()]);
    assert_eq!(up.json(&["backfill", "list"])[0]["id"], game["id"]);
    assert!(up.run(&["backfill", "cancel-all", "--player", "dave"]).status.success());
    assert_eq!(up.json(&["backfill", "get", game["id"].as_str().unwrap()])["status"], "Canceled");

    // A call changes it, and neither a crash nor a restart with the same file undoes that; a changed file does.
    let larger = |up: &crate::product::Product<'_>| {
        up.json(&["queue", "get", "duel"])["configuration"]["MaxMatchSize"].clone()
    };
    let mut set = up.json(&["queue", "get", "duel"])["configuration"].clone();
    set["MaxMatchSize"] = json!(4);
    let json = home.path().with_file_name("duel.json");
    std::fs::write(&json, set.to_string()).unwrap();
    up.json(&["queue", "set", json.to_str().unwrap()]);
    up.kill_nine();
    let up = home.up(&[file]);
    assert_eq!(larger(&up), 4);
    std::fs::write(file, text.replace("maxMatchSize: 2", "maxMatchSize: 6")).unwrap();
    up.json(&["apply", file]);
    assert_eq!(larger(&up), 6);
    // Friends come one by one, and search together.
    let dan = up.json(&["ticket", "create", "--player", r#"dan={"skill": 20}"#]);
    let invites = up.json(&["ticket", "create", "--player", r#"fay={"skill": 20}"#, "--invite", "gus"]);
    assert_eq!((&invites["status"], &invites["missing"]), (&json!("WaitingForPlayers"), &json!(["gus"])));
    let group = invites["id"].as_str().unwrap();
    let stranger = up.run(&["ticket", "join", group, "--player", "hal"]);
    assert!(String::from_utf8_lossy(&stranger.stderr).contains("MS-M013"), "{stranger:?}");
    let joined = up.json(&["ticket", "join", group, "--player", r#"gus={"skill": 20.5}"#, "--wait"]);
    assert_eq!(joined["status"], "Matched", "{joined}");
    assert_eq!(up.json(&["ticket", "get", dan["id"].as_str().unwrap()])["matchId"], joined["matchId"]);
    assert!(up.run(&["queue", "delete", "duel"]).status.success());
    // Who was matched in it before is told so still.
    let dan = up.json(&["ticket", "get", dan["id"].as_str().unwrap(), "--queue", "duel"]);
    assert_eq!(dan["matchId"], joined["matchId"], "{dan}");
    let met = up.json(&["match", "get", joined["matchId"].as_str().unwrap(), "--queue", "duel"]);
    assert_eq!(met["players"].as_array().map(Vec::len), Some(3), "{met}");
    let none = up.run(&["ticket", "list"]);
    assert_eq!(none.status.code(), Some(3), "{none:?}");
    assert!(String::from_utf8_lossy(&none.stderr).contains(concat!("MS-", "U038")), "{none:?}");
}
