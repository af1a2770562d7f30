//! Matches with servers, the whole way over real sockets: tickets, a match, an allocation, the payload with its players, the players on
//! tugboat, one who leaves, backfill, and the replacement on the right team.

use std::net::SocketAddr;

use mainstay_tugboat::client::Client;
use mainstay_tugboat::world::Helm;
use serde_json::{Value, json};

use crate::allocations::fleet_of;
use crate::caller::{Caller, new_id};
use crate::game::{Game, Idle};
use crate::product::{Home, LIMIT, Product, until};

/// Two teams of one in a region that all reach, each match on a server of the fleet `here`.
fn arena(build: &str) -> Value {
    let team = |name: &str| json!({ "Name": name, "MinTeamSize": 1, "MaxTeamSize": 1 });
    json!({
        "Name": "arena", "MinMatchSize": 2, "MaxMatchSize": 2, "Teams": [team("red"), team("blue")],
        "ServerAllocationEnabled": true, "BuildId": build,
        "RegionSelectionRule": { "Name": "near", "Path": "latencies", "MaxLatency": 200, "Weight": 1 },
    })
}

fn set(caller: &Caller, build: &str) -> Value {
    caller.put("/v1/queues/arena", arena(build).to_string().as_bytes()).json()
}

fn attributes(player: &str) -> Value {
    json!({ "latencies": [{ "region": "Home", "latency": 20 }], "boat": format!("boat of {player}") })
}

fn ticket(caller: &Caller, player: &str) -> String {
    let players = [json!({ "player": player, "attributes": attributes(player) })];
    let body = json!({ "players": players, "giveUpAfterSeconds": 3600 });
    let made = caller.post("/v1/queues/arena/tickets", body.to_string().as_bytes());
    assert_eq!(made.status, 201, "{made:?}");
    format!("/v1/queues/arena/tickets/{}", made.json()["id"].as_str().unwrap())
}

/// The match a ticket ends in, once it does.
#[track_caller]
fn matched(caller: &Caller, ticket: &str) -> Value {
    let seen = until("the ticket is matched", || {
        Some(caller.get(ticket).json()).filter(|seen| seen["status"] == "Matched")
    });
    caller.get(&format!("/v1/queues/arena/matches/{}", seen["matchId"].as_str().unwrap())).json()
}

fn team(formed: &Value, player: &str) -> String {
    let players = formed["players"].as_array().unwrap();
    let seat = players.iter().find(|seat| seat["player"] == player).unwrap_or_else(|| panic!("{formed}"));
    seat["team"].as_str().unwrap().to_owned()
}

fn address(formed: &Value) -> SocketAddr {
    let server = &formed["server"];
    format!("{}:{}", server["ipv4Address"].as_str().unwrap(), server["ports"][0]["number"]).parse().unwrap()
}

fn play(formed: &Value, player: &str) -> Client {
    let mut client = Client::join(address(formed), player, LIMIT).unwrap();
    client.steer_until_taken(Helm::default(), LIMIT).unwrap();
    client
}

/// The backfill ticket that the game has opened by itself.
#[track_caller]
fn open_backfill(caller: &Caller) -> Value {
    until("the game looks for more players", || {
        let all = caller.get("/v1/queues/arena/backfills").json();
        let open = |it: &&Value| it["status"] == "WaitingForMatch";
        all["items"].as_array().unwrap().iter().find(open).cloned()
    })
}

fn allocations(caller: &Caller) -> Vec<Value> {
    let all = caller.get("/v1/allocations").json();
    all["items"].as_array().unwrap().iter().filter(|it| it.get("ended").is_none()).cloned().collect()
}

#[track_caller]
fn said(up: &Product<'_>, server: &Value, text: &str) -> String {
    until(text, || up.output_of(server).lines().find(|line| line.contains(text)).map(str::to_owned))
}

/// Issue 4, point 6: "A queue with server allocation asks the fleet for a server in the best common region *before* it forms the match,
/// and never takes more servers than matches; the tickets wait in WaitingForServer, fail with ServerAllocationFailed, or are matched
/// with ServerDetails. The whole path (tickets, match, allocation, payload with the members, players connected to tugboat, one leaves,
/// backfill, replacement arrives on the right team) is one end-to-end test over real sockets"; point 2: "*automatic* backfill kept up
/// from the players the server reports through `game/sdk`", "no backfill ticket outlives its server"; point 6: "BuildId and AliasId of pasted queues resolve …,
/// else QueueConfigInvalid"; point 7: "an acknowledged ticket survives SIGKILL".
#[test]
fn players_are_matched_onto_a_server_and_whoever_leaves_is_replaced() {
    let (home, game) = (Home::new(), Game::new(Idle::Running, "--ready --backfill"));
    let up = home.up(&[game.file()]);
    let caller = up.caller();
    for unknown in ["0a1b2c3d", "here/none", "none/plain"] {
        assert_eq!(set(&caller, unknown)["code"], "MS-M001", "{unknown}");
    }
    let shown = set(&caller, "here/plain");
    assert_eq!(shown["configuration"]["BuildId"], "here/plain", "{shown}");

    // The only server is somebody's: alice and bob wait for it, through a kill, until it is free.
    let (fleet, other) = (fleet_of(&up), new_id());
    assert!((200..300).contains(&caller.allocate(&fleet, &other).status));
    let [alice, bob] = ["alice", "bob"].map(|player| ticket(&caller, player));
    let waits = |caller: &Caller| {
        until("both wait for a server", || {
            let of = |ticket: &str| caller.get(ticket).json()["status"] == "WaitingForServer";
            (of(&alice) && of(&bob)).then_some(())
        });
    };
    waits(&caller);
    let why = caller.get(&format!("{alice}/why")).json();
    assert_eq!((&why["server"]["fleet"], &why["server"]["tickets"]), (&json!("here"), &json!(2)), "{why}");
    up.kill_nine();
    let up = home.up(&[game.file()]);
    let caller = up.caller();
    waits(&caller);
    assert_eq!(caller.delete(&format!("/v1/allocations/{other}")).status, 204);
    let formed = matched(&caller, &alice);
    assert_eq!(matched(&caller, &bob), formed);
    assert_eq!((&formed["server"]["serverId"], &formed["server"]["region"]), (&formed["id"], &json!("Home")));
    let taken = allocations(&caller);
    assert_eq!(taken.len(), 1, "one match, one server: {taken:?}");
    assert_eq!(taken[0]["allocationId"], formed["id"]);

    // The server reads who comes.
    let server = up.servers()[0].clone();
    said(&up, &server, &format!("allocation id={}", formed["id"].as_str().unwrap()));
    game.command(&server, "payload");
    let line = said(&up, &server, "asked payload: ");
    // It is printed as a literal, which for such a text JSON writes alike.
    let payload: String = serde_json::from_str(line.split_once("payload: ").unwrap().1).unwrap();
    let payload: Value = serde_json::from_str(&payload).unwrap();
    assert_eq!((&payload["MatchId"], &payload["QueueName"]), (&formed["id"], &json!("arena")), "{payload}");
    let seats = payload["Members"].as_array().unwrap();
    assert_eq!(seats.len(), 2, "{payload}");
    for seat in seats {
        let player = seat["Entity"]["Id"].as_str().unwrap();
        assert_eq!(seat["TeamId"], team(&formed, player).as_str());
        assert_eq!(seat["Attributes"]["DataObject"]["boat"], attributes(player)["boat"], "{payload}");
    }

    // Both play; bob leaves, the game says so, and carol takes his place, on his team, on that server.
    let mut playing = play(&formed, "alice");
    play(&formed, "bob").leave().unwrap();
    let opened = open_backfill(&caller);
    assert_eq!((&opened["places"], &opened["server"]), (&json!(1), &formed["server"]), "{opened}");
    assert_eq!(opened["players"].as_array().unwrap().len(), 1, "{opened}");
    assert_eq!(opened["lease"]["hosted"]["session"], formed["id"], "{opened}");
    let filled = matched(&caller, &ticket(&caller, "carol"));
    assert_eq!(filled["server"], formed["server"]);
    assert_eq!(
        (team(&filled, "alice"), team(&filled, "carol")),
        (team(&formed, "alice"), team(&formed, "bob"))
    );
    let carol = play(&filled, "carol");
    playing.steer_until_taken(Helm::default(), LIMIT).unwrap();
    said(&up, &server, &format!("backfill filled carol/{}", team(&formed, "bob")));
    let now = allocations(&caller);
    assert_eq!((now.len(), &now[0]["allocationId"]), (1, &formed["id"]), "backfill takes no server: {now:?}");

    // Carol leaves too; but the process dies, is restarted with its session, and its ticket is not the new one's: nobody is stuck.
    carol.leave().unwrap();
    let opened = open_backfill(&caller);
    assert_ne!(opened["lease"]["hosted"]["run"], json!(null), "{opened}");
    game.command(&server, "crash");
    let ticket = format!("/v1/queues/arena/tickets/{}", opened["id"].as_str().unwrap());
    let ended = until("the dead game's ticket is withdrawn", || {
        Some(caller.get(&ticket).json()).filter(|seen| seen["status"] != "WaitingForMatch")
    });
    assert_eq!((&ended["status"], &ended["cancellationReason"]), (&json!("Canceled"), &json!("Server")));
    assert_eq!(allocations(&caller).len(), 1, "the session itself is recovered");

    // The new process is told who had been matched into its session, and looks for whom it misses as the one before did.
    let filled_carol = format!("backfill filled carol/{}", team(&formed, "bob"));
    until("the new process is told of carol", || {
        (up.output_of(&server).lines().filter(|line| line.contains(&filled_carol)).count() == 2).then_some(())
    });
    let mut playing = play(&formed, "alice");
    for gone in ["bob", "carol"] {
        play(&formed, gone).leave().unwrap();
    }
    let opened = open_backfill(&caller);
    assert_eq!((&opened["places"], &opened["server"]), (&json!(1), &formed["server"]), "{opened}");
    let filled = matched(&caller, &self::ticket(&caller, "erin"));
    assert_eq!((team(&filled, "erin"), &filled["server"]), (team(&formed, "bob"), &formed["server"]));
    play(&filled, "erin");
    playing.steer_until_taken(Helm::default(), LIMIT).unwrap();
}
