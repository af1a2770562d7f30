//! Coming, going, being thrown out and being lost.

use std::time::Duration;

use mainstay_lobby::{
    ADDRESSES_MAX, Authority, CanBeHost, Command, Epoch, FORMER_MAX, Joiner, Joining, KICKED_MAX, LEASE,
    Observation, Phase, Player, Rejection, SILENCE, Service, Settings, Support, Takeover, Unfit, Update,
};

use crate::world::{World, id, joiner, key, player, told};

fn host(epoch: u32) -> Authority {
    Authority::Host { peer: key(1), epoch: Epoch(epoch) }
}

/// CRYENGINE: "Kicking clears MIGRATABLE on the kicked peer so it does not migrate along" (reference, 1.5). Here it never comes back:
/// not with another process, not after a migration, not after a restart.
#[test]
fn a_kicked_member_never_comes_back() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(4));
    world.join(id(1), 2).unwrap();
    world.join(id(1), 3).unwrap();
    let kick = Command::Kick { session: id(1), peer: key(3), by: host(1) };
    world.ask(&kick).unwrap();
    world.ask(&kick).unwrap();
    world.pass(LEASE);
    world.claim(id(1), 1, 2).unwrap();
    world.renew(id(1), 2, 2);
    world.restart();
    world.renew(id(1), 2, 2);
    assert_eq!(world.join(id(1), 3), Err(Rejection::Kicked));
    let other_process = Joiner { peer: key(9), ..joiner(3) };
    assert_eq!(world.ask(&Command::Join { session: id(1), by: other_process }), Err(Rejection::Kicked));
    let other_name = Joiner { player: player(9), ..joiner(3) };
    assert_eq!(world.ask(&Command::Join { session: id(1), by: other_name }), Err(Rejection::Kicked));
    assert_eq!(world.claim(id(1), 2, 3), Err(Rejection::NotMember(key(3))));
}

/// Issue 5, point 4: "join in progress redirected during a migration".
#[test]
fn who_joins_during_a_migration_waits_until_the_new_host_is_heard() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(4));
    world.join(id(1), 2).unwrap();
    world.pass(LEASE);
    assert!(matches!(world.join(id(1), 3), Err(Rejection::Moving { epoch: Epoch(1), .. })));
    world.claim(id(1), 1, 2).unwrap();
    assert!(matches!(world.join(id(1), 3), Err(Rejection::Moving { epoch: Epoch(2), .. })));
    world.renew(id(1), 2, 2);
    let session = told(world.join(id(1), 3));
    assert_eq!(session.grant.unwrap().host, key(2), "it is told where to go");
}

/// "late and lost peers": somebody of whom neither it nor its host says anything is lost, and may come again.
#[test]
fn who_is_silent_is_lost_and_may_come_again() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(4));
    world.join(id(1), 2).unwrap();
    world.join(id(1), 3).unwrap();
    for _ in 0..20 {
        world.pass(Duration::from_secs(2));
        world.renew(id(1), 1, 1);
        world.see(Observation::Heard { session: id(1), peers: vec![key(2), key(7)] });
    }
    let members: Vec<_> = world.lobby.session(id(1)).unwrap().members.keys().copied().collect();
    assert_eq!(members, [key(1), key(2)]);
    world.join(id(1), 3).unwrap();
    world.pass(SILENCE);
    assert!(matches!(world.lobby.session(id(1)), Err(Rejection::Over { .. })), "nobody is left");
    world.pass(mainstay_lobby::ENDED_KEPT);
    world.create(id(2), 1, Settings::of_size(1));
    world.ask(&Command::Leave { session: id(2), peer: key(1) }).unwrap();
    assert_eq!(world.join(id(1), 3), Err(Rejection::NotFound(id(1))), "forgotten");
}

#[test]
fn a_player_is_here_once_and_its_newest_process_counts() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(2));
    world.join(id(1), 2).unwrap();
    let again = Joiner { peer: key(9), ..joiner(2) };
    let session = told(world.ask(&Command::Join { session: id(1), by: again }));
    assert_eq!(session.members.keys().copied().collect::<Vec<_>>(), [key(1), key(9)]);
    let stolen = Joiner { player: player(5), ..joiner(9) };
    assert_eq!(world.ask(&Command::Join { session: id(1), by: stolen }), Err(Rejection::KeyTaken));
    // The one before is told so, also after a restart, and takes no place from the new one; once that has gone it may come back.
    world.restart();
    world.renew(id(1), 1, 1);
    assert_eq!(world.lobby.session(id(1)).unwrap().is_out(key(2)), Rejection::Replaced);
    assert_eq!(world.join(id(1), 2), Err(Rejection::Replaced));
    let kick = Command::Kick { session: id(1), peer: key(2), by: host(1) };
    assert_eq!(world.ask(&kick), Err(Rejection::NotMember(key(2))), "it is no member");
    world.ask(&Command::Leave { session: id(1), peer: key(9) }).unwrap();
    world.join(id(1), 2).unwrap();
    assert_eq!(world.members(id(1)), [1, 2]);
}

/// A host whose player comes with another process is followed by whoever claims; in a strict session once it cannot act any more.
#[test]
fn a_host_that_is_replaced_is_followed() {
    for takeover in [Takeover::Fast, Takeover::Strict] {
        let mut world = World::new();
        world.create(id(1), 1, Settings { takeover, ..Settings::of_size(2) });
        world.join(id(1), 2).unwrap();
        let again = Joiner { peer: key(9), ..joiner(1) };
        world.ask(&Command::Join { session: id(1), by: again }).unwrap();
        world.renew(id(1), 1, 1);
        let claimed = world.claim(id(1), 1, 2);
        assert_eq!(claimed.is_ok(), takeover == Takeover::Fast, "{claimed:?}");
        world.pass(LEASE);
        world.claim(id(1), 1, 2).unwrap();
        assert_eq!(world.members(id(1)), [2, 9]);
    }
}

/// Without its old host a session that does not move would be over: the second process waits until that one has gone.
#[test]
fn a_host_is_not_replaced_where_its_session_does_not_move() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(2));
    world.join(id(1), 2).unwrap();
    world.ask(&Command::Configure { service: Service::Online, migration: Support::Unsupported }).unwrap();
    let again = Command::Join { session: id(1), by: Joiner { peer: key(9), ..joiner(1) } };
    assert_eq!(world.ask(&again), Err(Rejection::Unsupported(Service::Online)));
    world.renew(id(1), 1, 1);
    assert_eq!(world.members(id(1)), [1, 2]);
}

#[test]
fn who_asks_twice_is_answered_twice() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(2));
    world.join(id(1), 2).unwrap();
    let before = world.story.len();
    world.join(id(1), 2).unwrap();
    world.create(id(1), 1, Settings::of_size(2));
    assert_eq!(world.story.len(), before, "nothing is written twice");
    let taken = Command::Create {
        session: id(1),
        service: Service::Online,
        settings: Settings::of_size(2),
        by: joiner(7),
    };
    assert_eq!(world.ask(&taken), Err(Rejection::Taken(id(1))));
}

#[test]
fn a_full_or_closed_session_takes_nobody() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(3));
    world.join(id(1), 2).unwrap();
    let close = Update { joining: Some(Joining::Closed), phase: Some(Phase::Started), ..Update::default() };
    let update = |update| Command::Update { session: id(1), by: host(1), update };
    assert_eq!(told(world.ask(&update(close))).phase, Phase::Started);
    assert_eq!(world.join(id(1), 3), Err(Rejection::Closed));
    world.ask(&update(Update { joining: Some(Joining::Open), ..Update::default() })).unwrap();
    world.join(id(1), 3).unwrap();
    assert_eq!(world.join(id(1), 4), Err(Rejection::Full { size: 3 }));
}

/// docs/reference/lobby.md: who was a member comes back into a session that takes nobody new, having left or been lost, also after a restart; as
/// long as there is room, and unless it was kicked.
#[test]
fn who_was_a_member_comes_back_into_a_closed_session() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(3));
    world.join(id(1), 2).unwrap();
    world.join(id(1), 3).unwrap();
    let joining = |joining| Command::Update {
        session: id(1),
        by: host(1),
        update: Update { joining: Some(joining), ..Update::default() },
    };
    world.ask(&joining(Joining::Closed)).unwrap();
    world.ask(&Command::Leave { session: id(1), peer: key(2) }).unwrap();
    for _ in 0..16 {
        world.pass(Duration::from_secs(2));
        world.renew(id(1), 1, 1);
    }
    assert_eq!(world.lobby.session(id(1)).unwrap().members.len(), 1, "2 has left, and 3 is lost");
    world.restart();
    world.renew(id(1), 1, 1);
    assert_eq!(world.join(id(1), 4), Err(Rejection::Closed));
    let other_process = Joiner { peer: key(9), ..joiner(2) };
    world.ask(&Command::Join { session: id(1), by: other_process }).unwrap();
    world.join(id(1), 3).unwrap();
    world.ask(&Command::Leave { session: id(1), peer: key(9) }).unwrap();
    world.ask(&joining(Joining::Open)).unwrap();
    world.join(id(1), 4).unwrap();
    assert_eq!(world.join(id(1), 2), Err(Rejection::Full { size: 3 }), "no place is kept for it");
    world.ask(&Command::Kick { session: id(1), peer: key(3), by: host(1) }).unwrap();
    world.ask(&joining(Joining::Closed)).unwrap();
    assert_eq!(world.join(id(1), 3), Err(Rejection::Kicked));
    world.join(id(1), 2).unwrap();
}

/// A host says it late where its lobby was away: whom it threw out may have gone by then, and comes back no more than anybody who was thrown out.
#[test]
fn who_has_gone_can_still_be_kicked() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(4));
    world.join(id(1), 2).unwrap();
    world.ask(&Command::Leave { session: id(1), peer: key(2) }).unwrap();
    let kick = |number| Command::Kick { session: id(1), peer: key(number), by: host(1) };
    assert_eq!(world.ask(&kick(3)), Err(Rejection::NotMember(key(3))), "it was never here");
    world.ask(&kick(2)).unwrap();
    world.ask(&kick(2)).unwrap();
    world.restart();
    world.renew(id(1), 1, 1);
    assert_eq!(world.join(id(1), 2), Err(Rejection::Kicked));
    let other_process = Joiner { peer: key(9), ..joiner(2) };
    assert_eq!(world.ask(&Command::Join { session: id(1), by: other_process }), Err(Rejection::Kicked));
}

/// A pass lasts for a day, also that of a process which was left for another: hosts are told all keys of whoever was thrown out.
#[test]
fn every_process_of_whoever_is_kicked_is_kept_out() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(4));
    world.join(id(1), 2).unwrap();
    world.ask(&Command::Leave { session: id(1), peer: key(2) }).unwrap();
    let other_process = Joiner { peer: key(9), ..joiner(2) };
    world.ask(&Command::Join { session: id(1), by: other_process }).unwrap();
    world.ask(&Command::Kick { session: id(1), peer: key(9), by: host(1) }).unwrap();
    world.restart();
    let kept_out = &world.lobby.session(id(1)).unwrap().kicked_peers;
    assert_eq!(kept_out.iter().copied().collect::<Vec<_>>(), [key(2), key(9)]);
}

/// "Every queue, list, body, retry and time has a limit": of those who come and go the latest are remembered.
#[test]
fn of_many_who_were_members_the_latest_come_back() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(2));
    let named = |number: usize| Joiner { player: Player(format!("guest-{number}").into()), ..joiner(2) };
    let join = |number| Command::Join { session: id(1), by: named(number) };
    for number in 0..=FORMER_MAX {
        world.ask(&join(number)).unwrap();
        world.ask(&Command::Leave { session: id(1), peer: key(2) }).unwrap();
    }
    let close = Update { joining: Some(Joining::Closed), ..Update::default() };
    world.ask(&Command::Update { session: id(1), by: host(1), update: close }).unwrap();
    assert_eq!(world.ask(&join(0)), Err(Rejection::Closed));
    world.ask(&join(1)).unwrap();
}

#[test]
fn what_is_out_of_bounds_is_refused_at_the_door() {
    let mut world = World::new();
    let create = |settings: Settings, by: Joiner| Command::Create {
        session: id(1),
        service: Service::Lan,
        settings,
        by,
    };
    for size in [0, 65] {
        let asked = create(Settings::of_size(size), joiner(1));
        assert_eq!(world.ask(&asked), Err(Rejection::Unfit(Unfit::Size(size))));
    }
    let named = |name: &str| Settings { name: name.into(), ..Settings::of_size(2) };
    for name in ["\u{7}", &"x".repeat(65)] {
        assert!(matches!(
            world.ask(&create(named(name), joiner(1))),
            Err(Rejection::Unfit(Unfit::Name { .. }))
        ));
    }
    let attributed = |name: &str, value: &str| {
        let mut settings = Settings::of_size(2);
        settings.attributes.insert(name.into(), value.into());
        settings
    };
    let asked = create(attributed("a b", "1"), joiner(1));
    assert!(matches!(world.ask(&asked), Err(Rejection::Unfit(Unfit::AttributeName(_)))));
    let asked = create(attributed("a", &"x".repeat(257)), joiner(1));
    assert!(matches!(world.ask(&asked), Err(Rejection::Unfit(Unfit::AttributeValue { .. }))));
    let many = Joiner { addresses: vec!["a".into(); ADDRESSES_MAX + 1], ..joiner(1) };
    assert_eq!(world.ask(&create(Settings::of_size(2), many)), Err(Rejection::Unfit(Unfit::Addresses)));
    let nobody = Joiner { player: mainstay_lobby::Player("".into()), ..joiner(1) };
    assert_eq!(world.ask(&create(Settings::of_size(2), nobody)), Err(Rejection::Unfit(Unfit::Player)));
    assert!(world.story.is_empty());
}

/// Whoever was thrown out is remembered, and there is an end to that: then nobody new comes in.
#[test]
fn a_session_that_threw_out_too_many_takes_nobody_new() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(2));
    let nth = |number: usize| {
        let mut peer = [0; 32];
        peer[..8].copy_from_slice(&number.to_be_bytes());
        peer[31] = 0xff;
        Joiner {
            peer: mainstay_lobby::PeerKey(peer),
            player: mainstay_lobby::Player(format!("visitor-{number}").into()),
            can_be_host: CanBeHost::NotYet,
            addresses: vec![],
        }
    };
    for number in 0..KICKED_MAX {
        let by = nth(number);
        world.ask(&Command::Join { session: id(1), by: by.clone() }).unwrap();
        world.ask(&Command::Kick { session: id(1), peer: by.peer, by: host(1) }).unwrap();
    }
    let last = Command::Join { session: id(1), by: nth(KICKED_MAX) };
    assert_eq!(world.ask(&last), Err(Rejection::TooManyKicked));
}
