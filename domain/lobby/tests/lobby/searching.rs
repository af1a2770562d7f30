//! Looking for sessions.

use mainstay_core::SessionId;
use mainstay_lobby::{Authority, Command, Epoch, Filter, Searchable, Service, Settings, Update};

use crate::world::{World, id, key};

fn all() -> Filter {
    Filter { service: Service::Online, free: 1, attributes: vec![] }
}

fn found(world: &World, filter: &Filter) -> Vec<SessionId> {
    world.lobby.search(filter, None, 100).sessions.iter().map(|session| session.id).collect()
}

#[test]
fn what_is_searchable_has_room_and_fits_is_found() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(2));
    world.create(id(2), 2, Settings { searchable: Searchable::No, ..Settings::of_size(2) });
    let mut mode = Settings::of_size(4);
    mode.attributes.insert("mode".into(), "ctf".into());
    world.create(id(3), 3, mode);
    assert_eq!(found(&world, &all()), [id(1), id(3)]);
    assert_eq!(found(&world, &Filter { free: 2, ..all() }), [id(3)]);
    assert_eq!(found(&world, &Filter { service: Service::Lan, ..all() }), []);
    let ctf = |mode: &str| Filter { attributes: vec![("mode".into(), mode.into())], ..all() };
    assert_eq!(found(&world, &ctf("ctf")), [id(3)]);
    assert_eq!(found(&world, &ctf("race")), []);
    world.join(id(1), 9).unwrap();
    assert_eq!(found(&world, &all()), [id(3)], "one is full");
    assert_eq!(found(&world, &Filter { free: 0, ..all() }), [id(1), id(3)]);
    let hide = Command::Update {
        session: id(3),
        by: Authority::Host { peer: key(3), epoch: Epoch(1) },
        update: Update {
            searchable: Some(Searchable::No),
            attributes: vec![("mode".into(), None), ("map".into(), Some("bay".into()))],
            ..Update::default()
        },
    };
    world.ask(&hide).unwrap();
    assert_eq!(found(&world, &all()), []);
}

#[test]
fn pages_leave_nothing_out_and_double_nothing() {
    let mut world = World::new();
    for number in 0..25 {
        world.create(id(number), u8::try_from(number).unwrap(), Settings::of_size(2));
    }
    let (mut seen, mut after) = (Vec::new(), None);
    for page in 0.. {
        assert!(page < 4, "ten a page");
        let found = world.lobby.search(&all(), after, 10);
        seen.extend(found.sessions.iter().map(|session| session.id));
        after = found.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, (0..25).map(id).collect::<Vec<_>>());
}
