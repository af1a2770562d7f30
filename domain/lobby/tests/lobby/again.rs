//! Sessions that are asked for again, under the id that the first one was made with.

use mainstay_core::SessionId;
use mainstay_lobby::{Command, ENDED_KEPT, Rejection, Service, Settings};

use crate::world::{World, id, joiner, key, told};

/// An id that is made of names: of a key, and of what is asked under it.
fn named(key: u16, asked: u16) -> SessionId {
    format!("0000{key:04x}-0000-8000-8000-00000000{asked:04x}").parse().unwrap()
}

fn asks(world: &mut World, session: SessionId) -> Result<SessionId, Rejection> {
    let (service, settings, by) = (Service::Online, Settings::of_size(4), joiner(1));
    let answer = world.ask(&Command::Create { session, service, settings, by })?;
    Ok(told(Ok(answer)).id)
}

/// `Idempotency-Key`: "makes the call safe to repeat". Something else under it is no repeat, and makes nothing.
#[test]
fn the_same_again_finds_its_session_and_something_else_does_not() {
    let mut world = World::new();
    for asked in [4, 9, 2, 4] {
        let expected = if asked == 4 { Ok(named(7, 4)) } else { Err(Rejection::KeyReused(named(7, 4))) };
        assert_eq!(asks(&mut world, named(7, asked)), expected);
    }
    assert_eq!(world.lobby.len(), 1);
    // Of other keys, on both sides, and of none: the halves of a random id say nothing.
    for other in [named(6, 9), named(8, 2), id(1), id(2)] {
        assert_eq!(asks(&mut world, other), Ok(other));
    }
    // Also while it is told how it ended.
    world.ask(&Command::Leave { session: named(7, 4), peer: key(1) }).unwrap();
    assert_eq!(asks(&mut world, named(7, 9)), Err(Rejection::KeyReused(named(7, 4))));
    assert!(matches!(asks(&mut world, named(7, 4)), Err(Rejection::Over { .. })));
    world.pass(ENDED_KEPT);
    // What ended is forgotten as something else ends.
    world.create(id(5), 5, Settings::of_size(1));
    world.ask(&Command::Leave { session: id(5), peer: key(5) }).unwrap();
    assert_eq!(asks(&mut world, named(7, 9)), Ok(named(7, 9)));
}
