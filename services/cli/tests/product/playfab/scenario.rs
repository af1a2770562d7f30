//! What both SDKs do: every call of matching, as it is meant and as it is not.

use serde_json::{Value, json};

use super::nobody;
use super::sdk::Sdk;

const NOT_AUTHENTICATED: (&str, u32) = ("NotAuthenticated", 1074);
const NOT_AUTHORIZED: (&str, u32) = ("NotAuthorized", 1089);
const UNAUTHORIZED: (&str, u32) = ("MatchmakingUnauthorized", 2056);
const ENTITY_INVALID: (&str, u32) = ("MatchmakingEntityInvalid", 2001);
const QUEUE_NOT_FOUND: (&str, u32) = ("MatchmakingQueueNotFound", 2016);
const TICKET_NOT_FOUND: (&str, u32) = ("MatchmakingTicketNotFound", 2018);
const ATTRIBUTE_INVALID: (&str, u32) = ("MatchmakingAttributeInvalid", 2046);
const COMPLETED: (&str, u32) = ("MatchmakingTicketAlreadyCompleted", 2029);
const MEMBERSHIP: (&str, u32) = ("MatchmakingTicketMembershipLimitExceeded", 2055);
const MISMATCH: (&str, u32) = ("MatchmakingRequestTypeMismatch", 2058);
/// A ticket, or a match, that nobody made.
const NONE: &str = "00000000-0000-4000-8000-000000000000";

/// What `credentials.json` says.
pub struct Title {
    pub id: String,
    pub secret: String,
}

/// A player who logged in.
pub struct Player {
    pub who: Value,
    pub key: Value,
}

/// What is to be there after the program was killed.
pub struct Left {
    pub token: String,
    queue: String,
    ticket: String,
    key: Value,
}

/// Everything.
#[track_caller]
pub fn drive(sdk: &mut Sdk, title: &Title) {
    let server = logins(sdk, title);
    queues(sdk, &server);
    refused_tickets(sdk, &server);
    solo(sdk, &server);
    groups(sdk, &server);
    backfill(sdk, &server);
    stored_objects(sdk, &server);
    statistics_and_removal(sdk, &server);
}

/// A ticket that waits, in a queue of its own.
#[track_caller]
pub fn leave_a_ticket(sdk: &mut Sdk, title: &Title) -> Left {
    let server = as_title(sdk, title);
    let queue = "left".to_owned();
    sdk.ok(&server, "SetMatchmakingQueue", json!({ "MatchmakingQueue": duel(&queue) }));
    let player = log_in(sdk, "left behind");
    let ticket = sdk.ok(&player.who, "CreateMatchmakingTicket", ticket_of(&player, &queue, 7));
    sdk.ok(&player.who, "Data.SetObjects", objects_of(&player, json!({ "mu": 3 })));
    let token = player.who["entityToken"].as_str().unwrap().to_owned();
    Left { token, queue, ticket: text(&ticket["TicketId"]), key: player.key }
}

/// It waits still, for the same player with the same token.
#[track_caller]
pub fn find_it_again(sdk: &mut Sdk, left: &Left) {
    let who = json!({ "entityToken": left.token });
    let found = sdk.ok(&who, "GetMatchmakingTicket", of(&left.queue, &left.ticket));
    assert_eq!((&found["Status"], &found["Creator"]), (&json!("WaitingForMatch"), &left.key));
    let objects = sdk.ok(&who, "Data.GetObjects", json!({ "Entity": left.key }));
    assert_eq!(objects["Objects"]["profile"]["DataObject"], json!({ "mu": 3 }));
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub fn of(queue: &str, ticket: &str) -> Value {
    json!({ "QueueName": queue, "TicketId": ticket, "EscapeObject": false })
}

fn duel(name: &str) -> Value {
    json!({
        "Name": name, "MinMatchSize": 2, "MaxMatchSize": 2, "ServerAllocationEnabled": false,
        "DifferenceRules": [{
            "Name": "skill", "Weight": 1, "Difference": 10, "MergeFunction": "Average",
            "Attribute": { "Path": "Skill", "Source": "User" }, "AttributeNotSpecifiedBehavior": "UseDefault",
            "DefaultAttributeValue": 50,
        }],
    })
}

#[track_caller]
pub fn as_title(sdk: &mut Sdk, title: &Title) -> Value {
    let token = sdk.ok(&json!({ "secret": title.secret }), "Authentication.GetEntityToken", json!({}));
    assert_eq!((&token["Entity"]["Type"], &token["Entity"]["Id"]), (&json!("title"), &json!(title.id)));
    json!({ "entityToken": token["EntityToken"] })
}

#[track_caller]
pub fn log_in(sdk: &mut Sdk, id: &str) -> Player {
    let id = format!("{} {id}", sdk.name);
    let login =
        sdk.ok(&nobody(), "Client.LoginWithCustomID", json!({ "CustomId": id, "CreateAccount": true }));
    let token = &login["EntityToken"];
    let who = json!({ "entityToken": token["EntityToken"], "sessionTicket": login["SessionTicket"] });
    Player { who, key: token["Entity"].clone() }
}

fn with(player: &Player, attributes: &Value) -> Value {
    json!({ "Entity": player.key, "Attributes": { "DataObject": attributes } })
}

fn ticket_of(player: &Player, queue: &str, skill: i64) -> Value {
    json!({ "Creator": with(player, &json!({ "Skill": skill })), "GiveUpAfterSeconds": 300, "QueueName": queue })
}

fn objects_of(player: &Player, profile: Value) -> Value {
    json!({ "Entity": player.key, "Objects": [{ "ObjectName": "profile", "DataObject": profile }] })
}

#[track_caller]
fn logins(sdk: &mut Sdk, title: &Title) -> Value {
    let server = as_title(sdk, title);
    let get = "Authentication.GetEntityToken";
    sdk.no(&json!({ "secret": "not the title's" }), get, json!({}), NOT_AUTHENTICATED);
    sdk.no(&nobody(), get, json!({}), NOT_AUTHENTICATED);
    sdk.no(&json!({ "sessionTicket": "x.y.z" }), get, json!({}), ("InvalidSessionTicket", 1100));
    let login = "Client.LoginWithCustomID";
    sdk.no(&nobody(), login, json!({ "CustomId": "" }), ("InvalidParams", 1000));

    let player = log_in(sdk, "logins");
    assert_eq!(player.key, log_in(sdk, "logins").key, "the same player has the same id");
    assert_ne!(player.key, log_in(sdk, "other").key);
    let session = json!({ "sessionTicket": player.who["sessionTicket"] });
    assert_eq!(sdk.ok(&session, get, json!({}))["Entity"], player.key);
    let renewed = sdk.ok(&json!({ "entityToken": player.who["entityToken"] }), get, json!({}));
    assert_eq!(renewed["Entity"], player.key);

    let validate = "Authentication.ValidateEntityToken";
    let shown = json!({ "EntityToken": player.who["entityToken"] });
    assert_eq!(sdk.ok(&server, validate, shown.clone())["Entity"], player.key);
    sdk.no(&player.who, validate, shown, NOT_AUTHORIZED);
    sdk.no(&server, validate, json!({ "EntityToken": "x" }), ("EntityTokenInvalid", 1335));
    // Nobody's token, and a session's where an entity's belongs.
    let list = "ListMatchmakingQueues";
    sdk.no(&json!({ "entityToken": "nonsense" }), list, json!({}), ("EntityTokenInvalid", 1335));
    let session = json!({ "entityToken": player.who["sessionTicket"] });
    sdk.no(&session, list, json!({}), ("EntityTokenInvalid", 1335));
    server
}

/// Both dialects, and what each names.
#[track_caller]
fn queues(sdk: &mut Sdk, server: &Value) {
    let player = log_in(sdk, "queues");
    let set = "SetMatchmakingQueue";
    let mut shown = duel("duel");
    shown["StatisticsVisibilityToPlayers"] =
        json!({ "ShowNumberOfPlayersMatching": true, "ShowTimeToMatch": false });
    sdk.ok(server, set, json!({ "MatchmakingQueue": shown }));
    sdk.ok(
        server,
        set,
        json!({ "MatchmakingQueue": {
            "Name": "party", "MinMatchSize": 4, "MaxMatchSize": 4, "MaxTicketSize": 3, "ServerAllocationEnabled": false,
            "Rules": [{ "Type": "StringEqualityRule", "Name": "mode", "Attribute": { "Path": "Mode", "Source": "User" },
                "AttributeNotSpecifiedBehavior": "MatchAny", "Weight": 1 }],
        } }),
    );
    sdk.ok(
        server,
        set,
        json!({ "MatchmakingQueue": {
            "Name": "teams", "MinMatchSize": 2, "MaxMatchSize": 4, "ServerAllocationEnabled": false,
            "Teams": [{ "Name": "red", "MinTeamSize": 1, "MaxTeamSize": 2 }, { "Name": "blue", "MinTeamSize": 1, "MaxTeamSize": 2 }],
            "RegionSelectionRule": { "Name": "near", "Path": "Latencies", "MaxLatency": 100, "Weight": 1 },
        } }),
    );
    let one = sdk.ok(server, "GetMatchmakingQueue", json!({ "QueueName": "party" }));
    assert_eq!(one["MatchmakingQueue"]["StringEqualityRules"][0]["Name"], "mode");
    let all = sdk.ok(server, "ListMatchmakingQueues", json!({}));
    let names: Vec<&str> = all["MatchMakingQueues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|queue| queue["Name"].as_str().unwrap())
        .collect();
    for name in ["duel", "party", "teams"] {
        assert!(names.contains(&name), "{names:?}");
    }

    let config = ("MatchmakingQueueConfigInvalid", 2031);
    let mut wrong = duel("wrong");
    let mut heavy = wrong["DifferenceRules"][0].clone();
    (heavy["Name"], heavy["Weight"]) = (json!("heavy"), json!(2_000));
    wrong["DifferenceRules"][0]["Weight"] = json!(0);
    wrong["DifferenceRules"].as_array_mut().unwrap().push(heavy);
    let refused = sdk.no(server, set, json!({ "MatchmakingQueue": wrong }), config);
    let faults = refused["errorDetails"]["MatchmakingQueue"].as_array().unwrap();
    assert_eq!(faults.len(), 2, "both at once: {refused}");
    let mut placed = duel("placed");
    placed["ServerAllocationEnabled"] = json!(true);
    sdk.no(server, set, json!({ "MatchmakingQueue": placed }), config);
    sdk.no(server, set, json!({}), ("InvalidParams", 1000));
    sdk.no(&player.who, set, json!({ "MatchmakingQueue": duel("mine") }), NOT_AUTHORIZED);
    sdk.no(server, "GetMatchmakingQueue", json!({ "QueueName": "none" }), QUEUE_NOT_FOUND);
    sdk.no(&player.who, "GetMatchmakingQueue", json!({ "QueueName": "duel" }), NOT_AUTHORIZED);
    sdk.no(&player.who, "ListMatchmakingQueues", json!({}), NOT_AUTHORIZED);
}

#[track_caller]
fn refused_tickets(sdk: &mut Sdk, server: &Value) {
    let create = "CreateMatchmakingTicket";
    let [one, other] = ["refused", "refused too"].map(|id| log_in(sdk, id));
    let sent = |attributes: Value| json!({ "Creator": { "Entity": one.key, "Attributes": attributes }, "GiveUpAfterSeconds": 60, "QueueName": "duel" });
    sdk.no(&one.who, create, ticket_of(&one, "none", 5), QUEUE_NOT_FOUND);
    // 40 and "40".
    sdk.no(&one.who, create, sent(json!({ "DataObject": { "Skill": "40" } })), ATTRIBUTE_INVALID);
    let list = json!({ "EscapedDataObject": "[40]" });
    sdk.no(&one.who, create, sent(list), ("MatchmakingPlayerAttributesInvalid", 2002));
    let deep = (0..32).fold(json!(1), |inner, _| json!([inner]));
    let deep = json!({ "DataObject": { "Skill": 1, "More": deep } });
    sdk.no(&one.who, create, sent(deep), ("MatchmakingPlayerAttributesInvalid", 2002));
    let large = json!({ "DataObject": { "Skill": 1, "More": "x".repeat(9_000) } });
    sdk.no(&one.who, create, sent(large), ("MatchmakingPlayerAttributesTooLarge", 2043));
    let mut never = ticket_of(&one, "duel", 5);
    never["GiveUpAfterSeconds"] = json!(0);
    sdk.no(&one.who, create, never, ("MatchmakingBadRequest", 2059));
    let mut many = ticket_of(&other, "duel", 5);
    many["MembersToMatchWith"] = json!([one.key, { "Id": "C" }, { "Id": "D" }]);
    sdk.no(&other.who, create, many, ("MatchmakingNumberOfPlayersInTicketTooLarge", 2044));
    let last = ticket_of(&one, "duel", 5);
    sdk.ok(&one.who, create, last.clone());
    // Five memberships a minute, whatever becomes of them.
    sdk.no_more(&one.who, create, &last, ("MatchmakingRateLimitExceeded", 2054));
    sdk.ok(&one.who, "CancelAllMatchmakingTicketsForPlayer", json!({ "QueueName": "duel" }));

    sdk.no(&other.who, create, ticket_of(&one, "duel", 5), UNAUTHORIZED);
    sdk.no(server, create, ticket_of(&one, "duel", 5), UNAUTHORIZED);
    sdk.no(
        &other.who,
        create,
        json!({ "GiveUpAfterSeconds": 5, "QueueName": "duel" }),
        ("InvalidParams", 1000),
    );
    let by_server = "CreateServerMatchmakingTicket";
    let members =
        |members: Value| json!({ "Members": members, "GiveUpAfterSeconds": 60, "QueueName": "duel" });
    sdk.no(&one.who, by_server, members(json!([with(&one, &json!({}))])), UNAUTHORIZED);
    sdk.no(server, by_server, members(json!([{ "Entity": { "Id": "T", "Type": "title" } }])), ENTITY_INVALID);
    sdk.no(server, by_server, members(json!({})), ("InvalidParams", 1000));
}

/// One player's ticket, from its making to its end.
#[track_caller]
fn solo(sdk: &mut Sdk, server: &Value) {
    let [one, other] = ["solo", "stranger"].map(|id| log_in(sdk, id));
    let (create, get) = ("CreateMatchmakingTicket", "GetMatchmakingTicket");
    let ticket = text(&sdk.ok(&one.who, create, ticket_of(&one, "duel", 900))["TicketId"]);
    let refused = sdk.no(&one.who, create, ticket_of(&one, "duel", 900), MEMBERSHIP);
    let who = format!("title_player_account!{}", one.key["Id"].as_str().unwrap());
    assert_eq!(refused["errorDetails"], json!({ "UsersExceedingMembershipLimit": [who] }));

    let mine = of("duel", &ticket);
    let seen = sdk.ok(&one.who, get, mine.clone());
    assert_eq!(
        (&seen["Status"], &seen["GiveUpAfterSeconds"], &seen["Creator"]),
        (&json!("WaitingForMatch"), &json!(300), &one.key)
    );
    assert_eq!(seen["Members"][0]["Attributes"]["DataObject"], json!({ "Skill": 900 }));
    let mut escaped = mine.clone();
    escaped["EscapeObject"] = json!(true);
    let seen = sdk.ok(server, get, escaped);
    assert_eq!(
        seen["Members"][0]["Attributes"],
        json!({ "DataObject": null, "EscapedDataObject": "{\"Skill\":900}" })
    );
    sdk.no(&other.who, get, mine.clone(), UNAUTHORIZED);
    sdk.no(&one.who, get, of("duel", NONE), TICKET_NOT_FOUND);
    sdk.no(&one.who, get, of("duel", "nonsense"), ("InvalidParams", 1000));

    let list = "ListMatchmakingTicketsForPlayer";
    assert_eq!(sdk.ok(&one.who, list, json!({ "QueueName": "duel" }))["TicketIds"], json!([ticket]));
    let by_key = json!({ "QueueName": "duel", "Entity": one.key });
    assert_eq!(sdk.ok(server, list, by_key.clone())["TicketIds"], json!([ticket]));
    sdk.no(&other.who, list, by_key.clone(), UNAUTHORIZED);
    sdk.no(server, list, json!({ "QueueName": "duel" }), ENTITY_INVALID);

    let (cancel, all) = ("CancelMatchmakingTicket", "CancelAllMatchmakingTicketsForPlayer");
    sdk.no(&other.who, cancel, mine.clone(), UNAUTHORIZED);
    sdk.no(&other.who, all, by_key.clone(), UNAUTHORIZED);
    sdk.ok(&one.who, cancel, mine.clone());
    sdk.ok(&one.who, cancel, mine.clone());
    let seen = sdk.ok(&one.who, get, mine.clone());
    assert_eq!((&seen["Status"], &seen["CancellationReasonString"]), (&json!("Canceled"), &json!("User")));
    sdk.ok(server, all, by_key);
    sdk.no_more(&one.who, get, &mine, ("MatchmakingRateLimitExceeded", 2054));
}

/// A group that joins, one alone, and one whom a server brings: a match.
#[track_caller]
fn groups(sdk: &mut Sdk, server: &Value) {
    let [one, friend, alone, brought, stranger] =
        ["group", "friend", "alone", "brought", "no friend"].map(|id| log_in(sdk, id));
    let (create, join, get) = ("CreateMatchmakingTicket", "JoinMatchmakingTicket", "GetMatchmakingTicket");
    let mut asked = ticket_of(&one, "party", 1);
    asked["MembersToMatchWith"] = json!([friend.key]);
    let ticket = text(&sdk.ok(&one.who, create, asked)["TicketId"]);
    let ours = of("party", &ticket);
    assert_eq!(sdk.ok(&friend.who, get, ours.clone())["Status"], "WaitingForPlayers");
    let joins = |player: &Player, attributes: Value| json!({ "TicketId": ticket, "QueueName": "party", "Member": with(player, &attributes) });
    let not_joined = ("MatchmakingPlayerHasNotJoinedTicket", 2053);
    sdk.no(&friend.who, "CancelMatchmakingTicket", ours.clone(), not_joined);
    sdk.no(&stranger.who, join, joins(&stranger, json!({})), UNAUTHORIZED);
    sdk.no(&friend.who, join, joins(&friend, json!({ "Mode": 5 })), ATTRIBUTE_INVALID);
    sdk.ok(&friend.who, join, joins(&friend, json!({ "Mode": "ctf" })));
    sdk.no(&friend.who, join, joins(&friend, json!({})), ("MatchmakingAlreadyJoinedTicket", 2028));
    sdk.ok(&alone.who, create, ticket_of(&alone, "party", 1));
    sdk.ok(
        server,
        "CreateServerMatchmakingTicket",
        json!({ "Members": [with(&brought, &json!({ "Mode": "ctf" }))], "GiveUpAfterSeconds": 60, "QueueName": "party" }),
    );

    let seen = sdk.ok(&one.who, get, ours.clone());
    assert_eq!(seen["Status"], "Matched");
    sdk.no(&friend.who, join, joins(&friend, json!({})), COMPLETED);
    sdk.no(&one.who, "CancelMatchmakingTicket", ours, COMPLETED);
    let read = |formed: &Value, told: bool| {
        json!({
            "MatchId": formed, "QueueName": "party", "EscapeObject": false, "ReturnMemberAttributes": told,
        })
    };
    let formed = sdk.ok(&alone.who, "GetMatch", read(&seen["MatchId"], false));
    let members = formed["Members"].as_array().unwrap();
    for player in [&one, &friend, &alone, &brought] {
        assert!(members.iter().any(|member| member["Entity"] == player.key), "{formed}");
    }
    assert!(
        members.iter().all(|member| member["TeamId"] == "" && member["Attributes"].is_null()),
        "{formed}"
    );
    let formed = sdk.ok(server, "GetMatch", read(&seen["MatchId"], true));
    let friends = formed["Members"].as_array().unwrap().iter().find(|member| member["Entity"] == friend.key);
    assert_eq!(friends.unwrap()["Attributes"]["DataObject"], json!({ "Mode": "ctf" }));
    sdk.no(&stranger.who, "GetMatch", read(&seen["MatchId"], false), UNAUTHORIZED);
    sdk.no(server, "GetMatch", read(&json!(NONE), false), ("MatchmakingMatchNotFound", 2017));
}

/// Seed 004, with its own samples.
#[track_caller]
fn backfill(sdk: &mut Sdk, server: &Value) {
    let [red, blue, newcomer] = ["red", "blue", "newcomer"].map(|id| log_in(sdk, id));
    let (create, get) = ("CreateServerBackfillTicket", "GetServerBackfillTicket");
    let game = |region: Value| {
        let seated = |player: &Player, team: &str| {
            let mut member = with(player, &json!({ "Skill": 25 }));
            member["TeamId"] = json!(team);
            member
        };
        json!({
            "Members": [seated(&red, "red"), seated(&blue, "blue")], "GiveUpAfterSeconds": 300, "QueueName": "teams",
            "ServerDetails": { "IPV4Address": "123.234.123.234", "Region": region,
                "Ports": [{ "Port": { "Name": "portname", "Num": 12345, "Protocol": "UDP" } }] },
        })
    };
    sdk.no(server, create, game(Value::Null), ATTRIBUTE_INVALID);
    sdk.no(&red.who, create, game(json!("EastUS")), UNAUTHORIZED);
    let ticket = text(&sdk.ok(server, create, game(json!("EastUS")))["TicketId"]);
    let refused = sdk.no(server, create, game(json!("EastUS")), MEMBERSHIP);
    let who = |player: &Player| format!("title_player_account!{}", player.key["Id"].as_str().unwrap());
    assert_eq!(refused["code"], 400);
    assert_eq!(refused["status"], "BadRequest");
    assert_eq!(refused["errorMessage"], "User is a member of too many backfill tickets.");
    assert_eq!(refused["errorDetails"], json!({ "UsersExceedingMembershipLimit": [who(&red), who(&blue)] }));

    let ours = of("teams", &ticket);
    let seen = sdk.ok(server, get, ours.clone());
    assert_eq!((&seen["Status"], &seen["Members"][0]["TeamId"]), (&json!("WaitingForMatch"), &json!("red")));
    assert_eq!(
        seen["ServerDetails"]["Ports"],
        json!([{ "Name": "portname", "Num": 12345, "Protocol": "UDP" }])
    );
    // "Users cannot view or interact with backfill tickets in any way."
    let cancel = "CancelServerBackfillTicket";
    for call in [get, cancel] {
        sdk.no(&red.who, call, ours.clone(), UNAUTHORIZED);
    }
    for call in ["GetMatchmakingTicket", "CancelMatchmakingTicket"] {
        sdk.no(&red.who, call, ours.clone(), TICKET_NOT_FOUND);
        sdk.no(server, call, ours.clone(), MISMATCH);
    }
    let list = "ListServerBackfillTicketsForPlayer";
    let of_red = json!({ "QueueName": "teams", "Entity": red.key });
    assert_eq!(sdk.ok(server, list, of_red.clone())["TicketIds"], json!([ticket]));
    sdk.no(&red.who, list, of_red.clone(), UNAUTHORIZED);
    let none = json!({ "QueueName": "teams" });
    assert_eq!(
        sdk.ok(&red.who, "ListMatchmakingTicketsForPlayer", none)["TicketIds"],
        json!([]),
        "backfill tickets are counted apart"
    );

    let near = json!({ "Latencies": [{ "region": "EastUs", "latency": 40 }] });
    let asked = json!({ "Creator": with(&newcomer, &near), "GiveUpAfterSeconds": 60, "QueueName": "teams" });
    let joined = text(&sdk.ok(&newcomer.who, "CreateMatchmakingTicket", asked)["TicketId"]);
    sdk.no(server, get, of("teams", &joined), MISMATCH);
    sdk.no(server, get, of("teams", NONE), TICKET_NOT_FOUND);
    let seen = sdk.ok(&newcomer.who, "GetMatchmakingTicket", of("teams", &joined));
    assert_eq!(seen["Status"], "Matched");
    let formed =
        sdk.ok(&newcomer.who, "GetMatch", json!({ "MatchId": seen["MatchId"], "QueueName": "teams" }));
    assert_eq!(formed["ServerDetails"]["IPV4Address"], "123.234.123.234");
    assert_eq!(formed["RegionPreferences"], json!(["EastUS"]));
    let teams: Vec<(&Value, &Value)> =
        formed["Members"].as_array().unwrap().iter().map(|it| (&it["Entity"], &it["TeamId"])).collect();
    for (player, team) in [(&red, "red"), (&blue, "blue")] {
        assert!(teams.contains(&(&player.key, &json!(team))), "{formed}");
    }
    assert_eq!(sdk.ok(server, get, ours.clone())["Status"], "Matched");
    sdk.no(server, cancel, ours, COMPLETED);

    // The recovery of a game that has lost its ticket.
    sdk.ok(server, create, game(json!("EastUS")));
    let all = "CancelAllServerBackfillTicketsForPlayer";
    sdk.no(&red.who, all, of_red.clone(), UNAUTHORIZED);
    sdk.ok(server, all, of_red.clone());
    assert_eq!(sdk.ok(server, list, of_red)["TicketIds"], json!([]));
    let ticket = text(&sdk.ok(server, create, game(json!("EastUS")))["TicketId"]);
    sdk.ok(server, cancel, of("teams", &ticket));
    assert_eq!(sdk.ok(server, get, of("teams", &ticket))["CancellationReasonString"], "Server");
}

/// "PlayerEntity": a rule reads what a player has stored.
#[track_caller]
fn stored_objects(sdk: &mut Sdk, server: &Value) {
    let [one, other] = ["objects", "no objects"].map(|id| log_in(sdk, id));
    let mut queue = duel("stored");
    queue["DifferenceRules"][0]["Attribute"] = json!({ "Path": "$.profile.mu", "Source": "PlayerEntity" });
    sdk.ok(server, "SetMatchmakingQueue", json!({ "MatchmakingQueue": queue }));
    let (set, get) = ("Data.SetObjects", "Data.GetObjects");
    sdk.ok(&one.who, set, objects_of(&one, json!({ "mu": "no number" })));
    sdk.no(&one.who, "CreateMatchmakingTicket", ticket_of(&one, "stored", 1), ATTRIBUTE_INVALID);
    let done = sdk.ok(server, set, objects_of(&one, json!({ "mu": 50 })));
    assert_eq!(done["SetResults"][0]["SetResult"], "Updated");
    let mut late = objects_of(&one, json!({ "mu": 1 }));
    late["ExpectedProfileVersion"] = json!(1);
    sdk.no(&one.who, set, late, ("EntityProfileVersionMismatch", 1352));
    sdk.no(&other.who, set, objects_of(&one, json!({ "mu": 1 })), NOT_AUTHORIZED);
    sdk.no(&other.who, get, json!({ "Entity": one.key }), NOT_AUTHORIZED);
    let seen = sdk.ok(&one.who, get, json!({ "Entity": one.key, "EscapeObject": true }));
    assert_eq!(seen["Objects"]["profile"]["EscapedDataObject"], "{\"mu\":50}");
    let ticket = text(&sdk.ok(&one.who, "CreateMatchmakingTicket", ticket_of(&one, "stored", 1))["TicketId"]);
    sdk.ok(&other.who, "CreateMatchmakingTicket", ticket_of(&other, "stored", 1));
    let seen = sdk.ok(&one.who, "GetMatchmakingTicket", of("stored", &ticket));
    assert_eq!(seen["Status"], "Matched");
}

#[track_caller]
fn statistics_and_removal(sdk: &mut Sdk, server: &Value) {
    let player = log_in(sdk, "statistics");
    let (statistics, remove) = ("GetQueueStatistics", "RemoveMatchmakingQueue");
    let of = |queue: &str| json!({ "QueueName": queue });
    let all = sdk.ok(server, statistics, of("party"));
    assert!(all["TimeToMatchStatisticsInSeconds"]["Percentile90"].is_number(), "{all}");
    let seen = sdk.ok(&player.who, statistics, of("duel"));
    assert!(
        seen["NumberOfPlayersMatching"].is_u64() && seen["TimeToMatchStatisticsInSeconds"].is_null(),
        "{seen}"
    );
    sdk.no(&player.who, statistics, of("party"), UNAUTHORIZED);
    sdk.no(&player.who, statistics, of("none"), QUEUE_NOT_FOUND);

    sdk.no(&player.who, remove, of("party"), NOT_AUTHORIZED);
    for queue in ["duel", "party", "teams", "stored"] {
        sdk.ok(server, remove, of(queue));
    }
    sdk.no(server, remove, of("party"), QUEUE_NOT_FOUND);
    sdk.no(&player.who, "CreateMatchmakingTicket", ticket_of(&player, "duel", 1), QUEUE_NOT_FOUND);
}
