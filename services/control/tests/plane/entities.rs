//! Entity tokens over `/v1`: a player, a game server and the title may there what they may on PlayFab's face, and as often.

use std::time::Duration;

use serde_json::{Value, json};

use crate::playfab::{post, title_token};
use crate::support::{ADMIN, Answer, TITLE, World, basic};

/// Who shows a token.
struct Shown<'a> {
    world: &'a World,
    token: String,
    /// Its id, as it stands in a ticket.
    id: String,
}

impl<'a> Shown<'a> {
    async fn player(world: &'a World, name: &str) -> Self {
        let login = json!({ "TitleId": TITLE, "CustomId": name });
        let told = post(world, "/Client/LoginWithCustomID", &[], &login).await;
        Self::of(world, &told.body["data"]["EntityToken"])
    }

    async fn game_server(world: &'a World, title: &Self, name: &str) -> Self {
        let path = "/GameServerIdentity/AuthenticateGameServerWithCustomId";
        let told = post(world, path, &[("x-entitytoken", &title.token)], &json!({ "CustomId": name })).await;
        Self::of(world, &told.body["data"]["EntityToken"])
    }

    async fn title(world: &'a World) -> Self {
        Self { world, token: title_token(world).await, id: TITLE.to_owned() }
    }

    fn of(world: &'a World, told: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{told}")).to_owned();
        Self { world, token: text(&told["EntityToken"]), id: text(&told["Entity"]["Id"]) }
    }

    async fn asks(&self, method: &str, path: &str, body: Value) -> Answer {
        self.world.by_entity(&self.token, method, path, &body).await
    }

    async fn get(&self, path: &str) -> Answer {
        self.asks("GET", path, Value::Null).await
    }

    /// A call of PlayFab's face by the same token.
    async fn calls(&self, call: &str, body: &Value) -> Answer {
        post(self.world, &format!("/Match/{call}"), &[("x-entitytoken", &self.token)], body).await
    }
}

/// A ticket of these players.
fn of(players: &[&Shown<'_>], invited: &[&Shown<'_>]) -> Value {
    let ids = |of: &[&Shown<'_>]| of.iter().map(|it| it.id.clone()).collect::<Vec<_>>();
    let players: Vec<Value> = ids(players).iter().map(|id| json!({ "player": id })).collect();
    json!({ "players": players, "invited": ids(invited), "giveUpAfterSeconds": 600 })
}

async fn set(world: &World, size: u32) {
    let queue = json!({ "MinMatchSize": size, "MaxMatchSize": size }).to_string().into_bytes();
    let admin = crate::support::basic(crate::support::ADMIN);
    assert_eq!(world.call("PUT", "/v1/queues/q", Some(&admin), queue).await.status, 200);
}

const TICKETS: &str = "/v1/queues/q/tickets";

fn path(made: &Answer) -> String {
    assert_eq!(made.status, 201, "{}", made.text);
    format!("{TICKETS}/{}", made.body["id"].as_str().unwrap())
}

/// The first answer that is a refusal: of the limits here the highest is 60 a minute.
async fn refused_in_the_end(asks: impl AsyncFn() -> Answer) -> Answer {
    for _ in 0..200 {
        let answer = asks().await;
        if answer.status >= 400 {
            return answer;
        }
    }
    panic!("nothing was refused");
}

/// Issue 4, point 4: "The native face: the same over `/v1`": a player makes its ticket, invites, joins, and reads its match.
#[tokio::test]
async fn players_make_and_join_their_own_tickets_and_read_their_match() {
    let world = World::new().await;
    set(&world, 3).await;
    let mut players = Vec::new();
    for name in ["ann", "bea", "cyd", "dan"] {
        players.push(Shown::player(&world, name).await);
    }
    let [ann, bea, cyd, dan] = &players[..] else { panic!() };
    // For itself alone.
    ann.asks("POST", TICKETS, of(&[bea], &[])).await.expect(403, "MS-M013");
    ann.asks("POST", TICKETS, of(&[bea], &[cyd])).await.expect(403, "MS-M013");
    ann.asks("POST", TICKETS, of(&[ann, bea], &[])).await.expect(400, "MS-U101");
    let made = ann.asks("POST", TICKETS, of(&[ann], &[bea])).await;
    let ticket = path(&made);
    assert_eq!(
        (&made.body["status"], &made.body["missing"]),
        (&json!("WaitingForPlayers"), &json!([bea.id]))
    );
    ann.asks("POST", TICKETS, of(&[ann], &[])).await.expect(409, "MS-M008");
    let own = ann.get(&format!("{TICKETS}?player={}", ann.id)).await;
    assert_eq!(own.body["items"][0]["id"], made.body["id"], "{}", own.text);
    bea.get(&format!("{TICKETS}?player={}", ann.id)).await.expect(403, "MS-M013");
    // By itself, and where it was invited.
    let join = async |who: &Shown<'_>, whom: &Shown<'_>| {
        who.asks("POST", &format!("{ticket}/players"), json!({ "player": whom.id })).await
    };
    join(ann, bea).await.expect(403, "MS-M013");
    join(dan, dan).await.expect(403, "MS-M013");
    let joined = join(bea, bea).await;
    assert_eq!((joined.status, &joined.body["status"]), (200, &json!("WaitingForMatch")), "{}", joined.text);
    let alone = path(&cyd.asks("POST", TICKETS, of(&[cyd], &[])).await);
    let matched = cyd.get(&alone).await;
    assert_eq!(matched.body["status"], "Matched", "{}", matched.text);
    let id = matched.body["matchId"].as_str().unwrap();
    let formed = format!("/v1/queues/q/matches/{id}");
    for player in [ann, bea, cyd] {
        let told = player.get(&formed).await;
        assert_eq!(
            (told.status, told.body["players"].as_array().map(Vec::len)),
            (200, Some(3)),
            "{}",
            told.text
        );
    }
    dan.get(&formed).await.expect(404, "MS-M004");
    let same = ann.calls("GetMatch", &json!({ "QueueName": "q", "MatchId": id })).await;
    assert_eq!(same.body["data"]["MatchId"], id, "{}", same.text);
    // What it has stored is its own too.
    let objects = |who: &Shown<'_>| format!("/v1/players/{}/objects", who.id);
    let stored = ann.asks("PATCH", &objects(ann), json!({ "objects": { "profile": { "mu": 5 } } })).await;
    assert_eq!(
        (stored.status, &stored.body["objects"]["profile"]["mu"]),
        (200, &json!(5)),
        "{}",
        stored.text
    );
    bea.asks("PATCH", &objects(ann), json!({ "objects": {} })).await.expect(403, "MS-A003");
    world.shutdown().await;
}

/// PlayFab's limits hold for a token on both faces together: five tickets of a player a minute and queue, three looks at matches.
#[tokio::test]
async fn both_faces_count_as_one() {
    let world = World::new().await;
    set(&world, 3).await;
    let ann = Shown::player(&world, "ann").await;
    let entity = json!({ "Id": ann.id, "Type": "title_player_account" });
    let created = json!({ "Creator": { "Entity": entity }, "GiveUpAfterSeconds": 600, "QueueName": "q" });
    for _ in 0..2 {
        let ticket = path(&ann.asks("POST", TICKETS, of(&[&ann], &[])).await);
        assert_eq!(ann.asks("DELETE", &ticket, Value::Null).await.status, 204);
        let made = ann.calls("CreateMatchmakingTicket", &created).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let gone = json!({ "QueueName": "q", "TicketId": made.body["data"]["TicketId"] });
        assert_eq!(ann.calls("CancelMatchmakingTicket", &gone).await.status, 200);
    }
    let last = path(&ann.asks("POST", TICKETS, of(&[&ann], &[])).await);
    assert_eq!(ann.asks("DELETE", &last, Value::Null).await.status, 204);
    let refused = ann.asks("POST", TICKETS, of(&[&ann], &[])).await;
    refused.expect(429, "MS-M018");
    assert!(refused.header("retry-after").is_some());
    assert_eq!(ann.calls("CreateMatchmakingTicket", &created).await.body["errorCode"], 2054);
    // A service account is the studio's own, and paces itself.
    assert_eq!(world.post(TICKETS, &of(&[&ann], &[])).await.status, 201);

    let nothing = "/v1/queues/q/matches/00000000-0000-4000-8000-000000000000";
    for _ in 0..3 {
        ann.get(nothing).await.expect(404, "MS-M004");
    }
    ann.get(nothing).await.expect(429, "MS-M018");
    world.shutdown().await;
}

/// Statistics are "visible to players only where the queue says so", and then without what it shows operators alone.
#[tokio::test]
async fn a_player_sees_of_a_queue_what_it_shows_players() {
    let world = World::new().await;
    let (ann, bea) = (Shown::player(&world, "ann").await, Shown::player(&world, "bea").await);
    let shown = json!({ "ShowNumberOfPlayersMatching": true, "ShowTimeToMatch": true });
    for (name, visible) in [("open", shown), ("shut", json!({}))] {
        let queue = json!({ "MinMatchSize": 2, "MaxMatchSize": 2, "StatisticsVisibilityToPlayers": visible });
        let path = format!("/v1/queues/{name}");
        assert_eq!(
            world.call("PUT", &path, Some(&basic(ADMIN)), queue.to_string().into_bytes()).await.status,
            200
        );
        for player in [&ann, &bea, &ann] {
            let ticket = of(&[player], &[]);
            assert_eq!(player.asks("POST", &format!("{path}/tickets"), ticket).await.status, 201);
        }
    }
    let told = ann.get("/v1/queues/open/statistics/players").await;
    assert_eq!(told.status, 200, "{}", told.text);
    assert_eq!((&told.body["name"], &told.body["playersMatching"]), (&json!("open"), &json!(1)));
    assert!(told.body["timeToMatch"]["p99Seconds"].is_f64(), "{}", told.text);
    let shut = "/v1/queues/shut/statistics/players";
    ann.get(shut).await.expect(403, "MS-M013");
    assert_eq!(world.get(shut).await.body["playersMatching"], 1, "the studio sees it");
    ann.get("/v1/queues/none/statistics/players").await.expect(404, "MS-M002");
    ann.get("/v1/queues/open/statistics").await.expect(403, "MS-A003");
    world.shutdown().await;
}

/// "*game_server* and *title* entity tokens": servers that run elsewhere need no service account, which had power over every ticket.
#[tokio::test]
async fn game_servers_and_the_title_do_what_they_do_on_playfabs_face() {
    let world = World::new().await;
    let title = Shown::title(&world).await;
    let queue = json!({ "MinMatchSize": 2, "MaxMatchSize": 2 });
    assert_eq!(title.asks("PUT", "/v1/queues/q", queue.clone()).await.status, 200);
    assert_eq!(title.get("/v1/queues").await.body["items"][0]["name"], "q");
    let (ann, bea) = (Shown::player(&world, "ann").await, Shown::player(&world, "bea").await);
    let mine = Shown::game_server(&world, &title, "mine").await;
    let other = Shown::game_server(&world, &title, "other").await;
    mine.asks("PUT", "/v1/queues/q", queue).await.expect(403, "MS-A003");
    mine.get("/v1/queues").await.expect(403, "MS-A003");
    assert_eq!(mine.get("/v1/queues/q/statistics").await.status, 200);

    // A ticket of players, and the match of it.
    let made = mine.asks("POST", TICKETS, of(&[&ann], &[])).await;
    let ticket = path(&made);
    assert_eq!(other.get(&ticket).await.status, 200, "servers look at every ticket of players");
    mine.asks("POST", TICKETS, of(&[&bea], &[&ann])).await.expect(403, "MS-M013");
    mine.asks("POST", &format!("{ticket}/players"), json!({ "player": bea.id })).await.expect(403, "MS-M013");
    path(&title.asks("POST", TICKETS, of(&[&bea], &[])).await);
    let formed = mine.get(&ticket).await.body["matchId"].as_str().unwrap().to_owned();
    assert_eq!(mine.get(&format!("/v1/queues/q/matches/{formed}")).await.status, 200);

    // A backfill ticket is its server's, and the title's.
    let game = |player: &Shown<'_>| json!({ "players": [{ "player": player.id }], "server": {}, "leaseSeconds": 60, "giveUpAfterSeconds": 600 });
    let backfills = "/v1/queues/q/backfills";
    ann.asks("POST", backfills, game(&ann)).await.expect(403, "MS-A003");
    let wanted = path(&mine.asks("POST", backfills, game(&ann)).await);
    other.get(&wanted).await.expect(404, "MS-M003");
    other.asks("DELETE", &wanted, Value::Null).await.expect(403, "MS-M013");
    assert_eq!(mine.asks("PUT", &format!("{wanted}/lease"), Value::Null).await.status, 204);
    let listed = other.get(&format!("{backfills}?player={}", ann.id)).await.body["items"].clone();
    assert!(listed[0]["id"].is_string() && listed[0].get("lease").is_none(), "{listed}");
    assert_eq!(title.get(&wanted).await.body["status"], "WaitingForMatch");
    assert_eq!(mine.asks("DELETE", &wanted, Value::Null).await.status, 204);
    path(&title.asks("POST", backfills, game(&bea)).await);
    let free = format!("{backfills}?player={}", bea.id);
    assert_eq!(other.asks("DELETE", &free, Value::Null).await.status, 204, "recovery is every server's");

    // Of anything else they have nothing here, and every player's objects are the title's alone.
    let objects = format!("/v1/players/{}/objects", ann.id);
    let stored = title.asks("PATCH", &objects, json!({ "objects": { "profile": { "mu": 5 } } })).await;
    assert_eq!(stored.status, 200, "{}", stored.text);
    mine.get(&objects).await.expect(403, "MS-A003");
    for path in ["/v1/status", "/v1/fleets", TICKETS, "/v1/queues/q/funnel"] {
        for who in [&title, &mine] {
            who.get(path).await.expect(403, "MS-A003");
        }
    }
    mine.asks("DELETE", "/v1/queues/q", Value::Null).await.expect(403, "MS-A003");
    assert_eq!(title.asks("DELETE", "/v1/queues/q", Value::Null).await.status, 204);
    world.shutdown().await;
}

/// Issue 4, point 4: "idempotency keys": whoever lost an answer asks again, and comes to be in no further ticket by it. A repeat is a look at
/// the ticket, also to the limits.
#[tokio::test]
async fn a_repeat_of_a_key_is_charged_as_a_look() {
    let world = World::new().await;
    set(&world, 2).await;
    let title = Shown::title(&world).await;
    let ann = Shown::player(&world, "ann").await;
    let game = Shown::game_server(&world, &title, "game").await;
    let of_game = json!({ "players": [{ "player": "bea" }], "server": {}, "giveUpAfterSeconds": 600 });
    for (who, path, body) in [(&ann, TICKETS, of(&[&ann], &[])), (&game, "/v1/queues/q/backfills", of_game)] {
        let keyed = async || {
            let request = hyper::Request::builder().header("idempotency-key", "one");
            let request = request.header("x-entitytoken", &who.token);
            world.send(request, "POST", path, body.to_string().into_bytes()).await
        };
        let made = keyed().await;
        assert_eq!(made.status, 201, "{}", made.text);
        for repeat in 1..=10 {
            let again = keyed().await;
            assert_eq!(
                (again.status, &again.body["id"]),
                (201, &made.body["id"]),
                "{repeat}: {}",
                again.text
            );
        }
        let limited = refused_in_the_end(async || keyed().await).await;
        limited.expect(429, "MS-M018");
    }
    world.shutdown().await;
}

/// Issue 4, point 4: "idempotency keys". A body is what it says: it was another one where its library wrote a number otherwise the second time.
#[tokio::test]
async fn a_repeat_may_write_its_numbers_otherwise() {
    let world = World::new().await;
    set(&world, 2).await;
    let ann = Shown::player(&world, "ann").await;
    let asked = async |skill: &str| {
        let player = format!(r#"{{ "player": "{}", "attributes": {{ "skill": {skill} }} }}"#, ann.id);
        let body = format!(r#"{{ "players": [{player}], "giveUpAfterSeconds": 600 }}"#);
        let request = hyper::Request::builder().header("idempotency-key", "one");
        world.send(request.header("x-entitytoken", &ann.token), "POST", TICKETS, body.into_bytes()).await
    };
    let made = asked("900").await;
    assert_eq!(made.status, 201, "{}", made.text);
    for same in ["900.0", "9e2"] {
        let again = asked(same).await;
        assert_eq!((again.status, &again.body["id"]), (201, &made.body["id"]), "{same}: {}", again.text);
    }
    asked("901").await.expect(409, "MS-M024");
    world.shutdown().await;
}

/// Whom an entity token was given to has no roles and no scopes: it is told whom a call is for, and not which right its token lacks.
#[tokio::test]
async fn who_may_not_is_told_whom_the_call_is_for() {
    let world = World::new().await;
    set(&world, 2).await;
    let title = Shown::title(&world).await;
    let (ann, mine) = (Shown::player(&world, "ann").await, Shown::game_server(&world, &title, "mine").await);
    let game = json!({ "players": [{ "player": ann.id }], "giveUpAfterSeconds": 600 });
    let told = |refused: &Answer, whom: &str| {
        refused.expect(403, "MS-A003");
        let detail = refused.body["detail"].as_str().unwrap();
        assert!(detail.contains(whom) && !refused.text.contains("scope"), "{}", refused.text);
    };
    let (servers, the_title, accounts) =
        ("for game servers and the title", "for the title", "for service accounts");
    let backfills = "/v1/queues/q/backfills";
    told(&ann.asks("POST", backfills, game).await, servers);
    told(&ann.get(&format!("{backfills}?player={}", ann.id)).await, servers);
    told(&ann.asks("DELETE", &format!("{backfills}?player={}", ann.id), Value::Null).await, servers);
    told(&ann.get("/v1/queues/q/statistics").await, servers);
    for who in [&ann, &mine] {
        told(&who.get("/v1/queues").await, the_title);
        told(&who.get(&format!("/v1/players/{}/objects", title.id)).await, the_title);
    }
    for who in [&ann, &mine, &title] {
        told(&who.get(backfills).await, accounts);
        told(&who.get("/v1/queues/q/funnel").await, accounts);
    }
    let stale = world.by_entity("no-token", "GET", "/v1/queues/q/statistics/players", &Value::Null).await;
    stale.expect(401, "MS-A002");
    assert!(stale.text.contains("log in again"), "{}", stale.text);
    world.shutdown().await;
}

/// A misspelt word would be a player without attributes, who is matched with anybody.
#[tokio::test]
async fn what_a_player_does_not_have_is_refused() {
    let world = World::new().await;
    set(&world, 2).await;
    let ann = Shown::player(&world, "ann").await;
    let misspelt = json!({ "player": ann.id, "atributes": { "skill": 5 } });
    let asked = json!({ "players": [misspelt], "giveUpAfterSeconds": 600 });
    let refused = ann.asks("POST", TICKETS, asked).await;
    refused.expect(400, "MS-U101");
    assert!(refused.text.contains("atributes"), "{}", refused.text);
    world.shutdown().await;
}

/// A lease may be shorter than the six seconds between two looks: a server that looks too often is told so, and lives.
#[tokio::test]
async fn a_look_too_many_renews_a_lease() {
    let world = World::new().await;
    set(&world, 2).await;
    let title = Shown::title(&world).await;
    let game = Shown::game_server(&world, &title, "game").await;
    let asked = json!({ "players": [{ "player": "ann" }], "server": {}, "leaseSeconds": 100, "giveUpAfterSeconds": 6_000 });
    let made = game.asks("POST", "/v1/queues/q/backfills", asked).await;
    let ticket = path(&made);
    let says = async || game.asks("PUT", &format!("{ticket}/lease"), Value::Null).await;
    world.goes_on(Duration::from_secs(60));
    // These looks renew nothing.
    refused_in_the_end(async || game.get(&ticket).await).await.expect(429, "MS-M018");
    let look = json!({ "QueueName": "q", "TicketId": made.body["id"] });
    assert_eq!(game.calls("GetServerBackfillTicket", &look).await.body["errorCode"], 2054);
    // However it is written.
    let id = made.body["id"].as_str().unwrap();
    for written in [id.to_uppercase(), id.replace('-', ""), format!("{{{id}}}")] {
        let look = json!({ "QueueName": "q", "TicketId": written });
        assert_eq!(game.calls("GetServerBackfillTicket", &look).await.body["errorCode"], 2054, "{look}");
    }
    world.goes_on(Duration::from_secs(60));
    refused_in_the_end(async || game.get(&ticket).await).await.expect(429, "MS-M018");
    for _ in 0..20 {
        let said = says().await;
        assert_eq!(said.status, 204, "{}", said.text);
    }
    world.goes_on(Duration::from_secs(60));
    assert_eq!(says().await.status, 204);
    // Noticed so late it counts anew, once: whoever should have heard was held up.
    world.goes_on(Duration::from_secs(101));
    let another = json!({ "players": [{ "player": "bob" }], "server": {}, "giveUpAfterSeconds": 60 });
    assert_eq!(game.asks("POST", "/v1/queues/q/backfills", another).await.status, 201);
    world.goes_on(Duration::from_secs(101));
    says().await.expect(409, "MS-M007");
    world.shutdown().await;
}

/// A game of nobody is charged to its server, on either face; and so is what is cancelled.
#[tokio::test]
async fn a_game_server_makes_no_games_without_limit() {
    let world = World::new().await;
    set(&world, 2).await;
    let title = Shown::title(&world).await;
    let game = Shown::game_server(&world, &title, "game").await;
    let called = json!({ "Members": [], "GiveUpAfterSeconds": 600, "QueueName": "q" });
    let made = game.calls("CreateServerBackfillTicket", &called).await;
    assert_eq!(made.status, 200, "{}", made.text);
    let gone = json!({ "QueueName": "q", "TicketId": made.body["data"]["TicketId"] });
    let cancels = refused_in_the_end(async || game.calls("CancelServerBackfillTicket", &gone).await).await;
    assert_eq!(cancels.body["errorCode"], 2054, "{}", cancels.text);
    let of_player = json!({ "QueueName": "q", "Entity": { "Id": "ann", "Type": "title_player_account" } });
    let frees = async || game.calls("CancelAllServerBackfillTicketsForPlayer", &of_player).await;
    assert_eq!(refused_in_the_end(frees).await.body["errorCode"], 2054);

    let nobody = json!({ "players": [], "server": {}, "giveUpAfterSeconds": 600 });
    let makes = async || game.asks("POST", "/v1/queues/q/backfills", nobody.clone()).await;
    refused_in_the_end(makes).await.expect(429, "MS-M018");
    let makes = async || game.calls("CreateServerBackfillTicket", &called).await;
    assert_eq!(refused_in_the_end(makes).await.body["errorCode"], 2054);
    world.shutdown().await;
}

/// "a player its own ticket": what keeps it waiting, and by how much, but not who else waits.
#[tokio::test]
async fn a_player_is_told_why_its_own_ticket_waits() {
    let world = World::new().await;
    let rule = json!({ "Name": "skill", "Attribute": { "Path": "skill" }, "AttributeNotSpecifiedBehavior": "MatchAny", "Difference": 5 });
    let queue = json!({ "MinMatchSize": 2, "MaxMatchSize": 2, "DifferenceRules": [rule] });
    let queue = queue.to_string().into_bytes();
    assert_eq!(world.call("PUT", "/v1/queues/q", Some(&basic(ADMIN)), queue).await.status, 200);
    let title = Shown::title(&world).await;
    let game = Shown::game_server(&world, &title, "game").await;
    let (ann, bea) = (Shown::player(&world, "ann").await, Shown::player(&world, "bea").await);
    let mut asks = Vec::new();
    for (who, skill) in [(&ann, 10), (&bea, 20)] {
        let player = json!({ "player": who.id, "attributes": { "skill": skill } });
        let made = who.asks("POST", TICKETS, json!({ "players": [player], "giveUpAfterSeconds": 600 })).await;
        asks.push((path(&made), made.body["id"].clone()));
    }
    let (own, other) = (format!("{}/why", asks[0].0), &asks[1].1);
    let told = ann.get(&own).await;
    assert_eq!(told.status, 200, "{}", told.text);
    assert_eq!(told.body["nearest"][0]["rules"][0]["why"], "10 apart, at most 5", "{}", told.text);
    assert!(!told.text.contains(other.as_str().unwrap()), "{}", told.text);
    bea.get(&own).await.expect(404, "MS-M003");
    for answer in [title.get(&own).await, game.get(&own).await, world.get(&own).await] {
        assert_eq!((answer.status, &answer.body["nearest"][0]["id"]), (200, other), "{}", answer.text);
    }
    world.shutdown().await;
}
