//! Sessions whose host, or all of whose members, do not reach their lobby: real processes on hosts of their own. They need root,
//! iproute2 and TUN devices; without them these tests say loudly that they did not run.

use mainstay_tugboat::peers::crew::{Player, Stamp};
use mainstay_wan::line::{Line, Passage};
use mainstay_wan::nat::Place;
use serde_json::Value;

use crate::behind_routers::{World, network};
use crate::product::Home;

/// How many ticks a game makes in a second.
const TICKS: u64 = 20;

fn ticks(player: &Player, what: &str) -> u64 {
    player.stands[what].as_u64().unwrap_or_default()
}

/// How its lobby sees a session.
#[track_caller]
fn seen(world: &World<'_>) -> Value {
    let place = format!("/v1/sessions/{}", uuid::Uuid::parse_str(&world.crew.session).unwrap());
    let caller = world.up.caller();
    world.network.host(0).inside(|| caller.get(&place).json()).unwrap()
}

/// Reference, 5.3 A: "renew …, relayable through any peer". For more than twice its lease a host does not reach its lobby, and
/// two members do: the lobby counts the lease all the while, what is played is acknowledged, and nobody moves. Where they do not reach it
/// either, nothing is acknowledged any more; where they do again, it is, with the same host. And when that loses its power, its
/// session moves at once.
#[test]
fn a_host_that_does_not_reach_its_lobby_is_renewed_by_its_members() {
    let Some(network) = network(&[Place::Public; 3]) else { return };
    let home = Home::new();
    let mut world = World::new(&network, &home, &[]);
    (1..=3).for_each(|place| world.enter(place));
    assert_eq!(world.crew.settled().unwrap(), 0);
    let before = Stamp::of(&world.crew.players[0].stands);

    network.set_both(0, 1, Passage::Cut);
    for _ in 0..15 {
        let next = ticks(&world.crew.players[0], "durable") + TICKS;
        world
            .crew
            .until_all("another second is acknowledged", |players| ticks(&players[0], "durable") >= next)
            .unwrap();
        let session = seen(&world);
        assert_eq!((&session["lease"], &session["epoch"]), (&"held".into(), &1.into()), "{session}");
    }
    assert_eq!(seen(&world)["members"].as_array().map(Vec::len), Some(3), "nobody is lost");

    (2..=3).for_each(|place| network.set_both(0, place, Passage::Cut));
    let is_safe = |player: &Player| ticks(player, "durable") + 3 * TICKS > ticks(player, "tick");
    world.crew.until_all("nothing is acknowledged any more", |players| !is_safe(&players[0])).unwrap();
    (2..=3).for_each(|place| network.set_both(0, place, Passage::Open(Line::SHAKEN)));
    world.crew.until_all("it is, without the host's own way", |players| is_safe(&players[0])).unwrap();
    for player in &world.crew.players {
        assert!(player.moves.is_empty() && Stamp::of(&player.stands) == before, "{}", player.stands);
    }

    world.power_cut(0, 1);
    let moves = world.crew.moved(before).unwrap();
    assert_eq!(moves.len(), 2, "{moves:?}");
    for (_, moved) in &moves {
        let is = ["fork", "ackedLost"].map(|name| moved[name].as_u64());
        assert_eq!((is, moved["cause"].as_str()), ([Some(0), Some(0)], Some("catastrophic")), "{moved}");
    }
    assert_eq!(world.crew.led_twice(), None);
}

/// Issue 5: "lobby down, lobby back". The host loses its power while nobody reaches the lobby: who is left goes on without, nothing that was told
/// safe is lost, and once the lobby is reached it certifies that same host, without another move.
#[test]
fn who_goes_on_while_the_lobby_is_away_is_certified_when_it_is_back() {
    let Some(network) = network(&[Place::Public; 3]) else { return };
    let home = Home::new();
    let mut world = World::new(&network, &home, &[]);
    (1..=3).for_each(|place| world.enter(place));
    assert_eq!(world.crew.settled().unwrap(), 0);
    let before = Stamp::of(&world.crew.players[0].stands);

    (1..=3).for_each(|place| network.set_both(0, place, Passage::Cut));
    world.power_cut(0, 1);
    let moves = world.crew.moved(before).unwrap();
    assert_eq!(moves.len(), 2, "{moves:?}");
    for (_, moved) in &moves {
        assert_eq!((moved["epoch"].as_u64(), moved["ackedLost"].as_u64()), (Some(1), Some(0)), "{moved}");
        assert!(moved["fork"].as_u64() > Some(0), "{moved}");
    }
    let heir = moves[0].1["newHost"].clone();

    (2..=3).for_each(|place| network.set_both(0, place, Passage::Open(Line::SHAKEN)));
    let is_certified = |player: &Player| player.stands["epoch"] == 2 && player.stands["fork"] == 0;
    world.crew.until_all("the lobby certifies it", |players| players[1..].iter().all(is_certified)).unwrap();
    for player in &world.crew.players[1..] {
        assert_eq!(
            (&player.stands["host"], player.moves.len()),
            (&heir, 1),
            "{} {:?}",
            player.stands,
            player.moves
        );
    }
    assert_eq!(seen(&world)["epoch"], 2);
    assert_eq!(world.crew.led_twice(), None);
}
