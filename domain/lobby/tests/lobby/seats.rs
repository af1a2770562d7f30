//! Sessions of matches: made before their players come, and undone when nobody wants them.

use std::time::Duration;

use mainstay_lobby::{Command, Ending, Epoch, Joining, Rejection, SEATS_KEPT, Service, Settings, Unfit};

use crate::world::{World, id, player, told};

fn reserve(size: u32, players: &[u8]) -> Command {
    Command::Reserve {
        session: id(1),
        service: Service::Online,
        settings: Settings { joining: Joining::Closed, ..Settings::of_size(size) },
        players: players.iter().copied().map(player).collect(),
    }
}

#[test]
fn the_players_of_a_match_come_and_the_first_that_can_is_host() {
    let mut world = World::new();
    world.ask(&reserve(2, &[1, 2])).unwrap();
    let before = world.story.len();
    world.ask(&reserve(2, &[1, 2])).unwrap();
    assert_eq!(world.story.len(), before, "asked again, nothing happens");
    assert_eq!(world.join(id(1), 3), Err(Rejection::Closed), "others have no seat");
    world.join(id(1), 2).unwrap();
    world.join(id(1), 1).unwrap();
    assert_eq!(told(world.claim(id(1), 0, 2)).grant.unwrap().epoch, Epoch(1));
    assert!(matches!(world.claim(id(1), 0, 1), Err(Rejection::Passed { found: Epoch(1), .. })));
}

/// docs/reference/lobby.md: a player of a match that was lost "may join again": its session takes nobody else.
#[test]
fn a_player_of_a_match_comes_back() {
    let mut world = World::new();
    world.ask(&reserve(2, &[1, 2])).unwrap();
    for number in [1, 2] {
        world.join(id(1), number).unwrap();
    }
    world.claim(id(1), 0, 1).unwrap();
    for _ in 0..16 {
        world.pass(Duration::from_secs(2));
        world.renew(id(1), 1, 1);
    }
    assert_eq!(world.lobby.session(id(1)).unwrap().members.len(), 1, "2 is lost");
    assert_eq!(world.join(id(1), 3), Err(Rejection::Closed));
    world.join(id(1), 2).unwrap();
}

#[test]
fn seats_that_nobody_comes_to_are_given_up() {
    let mut world = World::new();
    world.ask(&reserve(2, &[1, 2])).unwrap();
    world.join(id(1), 1).unwrap();
    world.pass(SEATS_KEPT);
    assert!(world.lobby.session(id(1)).is_err(), "the one who came was not heard again either");
    let mut world = World::new();
    world.ask(&reserve(2, &[1, 2])).unwrap();
    world.pass(SEATS_KEPT);
    assert_eq!(world.join(id(1), 1), Err(Rejection::Over { session: id(1), ending: Ending::Empty }));
}

/// ARCHITECTURE.md, "Across shards": "an undo that overtakes its ask leaves a tombstone".
#[test]
fn an_undo_that_comes_first_refuses_what_it_undoes() {
    let mut world = World::new();
    world.ask(&Command::Withdraw { session: id(1) }).unwrap();
    world.restart();
    let over = Err(Rejection::Over { session: id(1), ending: Ending::Withdrawn });
    assert_eq!(world.ask(&reserve(2, &[1, 2])), over);
    world.ask(&Command::Withdraw { session: id(1) }).unwrap();
    assert_eq!(world.story.len(), 1);
}

#[test]
fn an_undo_that_comes_later_ends_the_session() {
    let mut world = World::new();
    world.ask(&reserve(2, &[1, 2])).unwrap();
    world.join(id(1), 1).unwrap();
    world.ask(&Command::Withdraw { session: id(1) }).unwrap();
    assert!(matches!(world.claim(id(1), 0, 1), Err(Rejection::Over { ending: Ending::Withdrawn, .. })));
}

#[test]
fn players_and_seats_have_to_fit() {
    let mut world = World::new();
    for (size, players) in [(2, &[][..]), (2, &[1, 1]), (2, &[1, 2, 3])] {
        let refused = world.ask(&reserve(size, players));
        assert_eq!(refused, Err(Rejection::Unfit(Unfit::Players { players: players.len(), size })));
    }
    assert_eq!(world.join(id(1), 1), Err(Rejection::NotFound(id(1))));
    assert_eq!(world.claim(id(1), 0, 1), Err(Rejection::NotFound(id(1))));
}
