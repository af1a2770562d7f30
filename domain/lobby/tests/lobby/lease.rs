//! The host lease: one holder an epoch, by compare-and-swap, while the old one lives and when it does not.

use std::time::Duration;

use mainstay_core::StateMachine as _;
use mainstay_lobby::{
    Authority, CLAIM_LIFE, CanBeHost, Cause, Command, Epoch, LEASE, Lease, Migratable, Observation, Pace,
    Rejection, Renewal, Service, Settings, Support, Takeover,
};

use crate::world::{World, id, key, told};

fn three(settings: Settings) -> World {
    let mut world = World::new();
    let session = world.create(id(1), 1, settings);
    assert_eq!(session.grant.unwrap().epoch, Epoch(1));
    world.join(id(1), 2).unwrap();
    world.join(id(1), 3).unwrap();
    world
}

/// Issue 5, point 2: "Authority is a certificate for (session, epoch): from the lobby by compare-and-swap lease". Of two who claim
/// the same epoch one gets it, and the other is told who did.
#[test]
fn of_two_who_claim_an_epoch_one_gets_it_and_the_other_is_told_who() {
    let mut world = three(Settings::of_size(8));
    world.pass(LEASE);
    assert_eq!(told(world.claim(id(1), 1, 2)).grant.unwrap().host, key(2));
    let Err(Rejection::Passed { found, grant, .. }) = world.claim(id(1), 1, 3) else { panic!("refused") };
    assert_eq!((found, grant.unwrap().host), (Epoch(2), key(2)));
    let ahead = world.claim(id(1), u32::MAX, 3);
    assert!(matches!(ahead, Err(Rejection::Passed { found: Epoch(2), .. })), "{ahead:?}");
    // Its answer was lost: it asks again, and nothing happens twice.
    let before = world.story.len();
    assert_eq!(told(world.claim(id(1), 1, 2)).grant.unwrap().host, key(2));
    assert_eq!(world.story.len(), before);
}

/// Reference, section 5.3 A: "lobby may grant epoch+1 before L ends when suspicion reports exceed half of the whole view; the
/// host's live renewals count as a vote against".
#[test]
fn a_peer_that_alone_misses_a_healthy_host_does_not_steal_the_session() {
    let mut world = three(Settings::of_size(8));
    world.renew(id(1), 1, 1);
    let Err(Rejection::LeaseStands { reports, needed, again, .. }) = world.claim(id(1), 1, 2) else {
        panic!("the host lives")
    };
    assert_eq!((reports, needed, again), (1, 2, LEASE));
    world.misses(id(1), 1, 3);
    assert_eq!(told(world.claim(id(1), 1, 2)).grant.unwrap().host, key(2), "two of three");
}

/// "with 2 players survivor + silent host = 2 of 2 works".
#[test]
fn of_two_the_survivor_and_the_silent_host_are_a_majority() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(2));
    world.join(id(1), 2).unwrap();
    world.pass(Pace::Usual.patience().saturating_sub(Duration::from_millis(1)));
    assert!(matches!(world.claim(id(1), 1, 2), Err(Rejection::LeaseStands { reports: 1, needed: 2, .. })));
    world.pass(Duration::from_millis(1));
    world.claim(id(1), 1, 2).unwrap();
}

/// Of two players one alone can miss the host, so the lobby has to: it does so the sooner the oftener the host renews. What another brings promises nothing.
#[test]
fn a_host_that_renews_quickly_is_missed_quickly() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(2));
    world.join(id(1), 2).unwrap();
    let renewed = |renewal| Observation::Renewed {
        session: id(1),
        epoch: Epoch(1),
        host: key(1),
        renewal,
        hears: vec![],
    };
    world.see(renewed(Renewal::Now(Pace::Quick)));
    world.pass(Duration::from_millis(999));
    assert!(matches!(world.claim(id(1), 1, 2), Err(Rejection::LeaseStands { reports: 1, needed: 2, .. })));
    world.see(renewed(Renewal::AsOf(world.now)));
    world.pass(Duration::from_millis(3_999));
    assert!(matches!(world.claim(id(1), 1, 2), Err(Rejection::LeaseStands { reports: 1, needed: 2, .. })));
    world.see(renewed(Renewal::Now(Pace::Quick)));
    world.pass(Duration::from_secs(1));
    world.claim(id(1), 1, 2).unwrap();
    // The next one promises for itself.
    world.pass(Duration::from_millis(3_999));
    assert!(matches!(world.claim(id(1), 2, 1), Err(Rejection::LeaseStands { reports: 1, needed: 2, .. })));
}

/// Members that died with the host before are not waited for: half of those that are heard is enough.
#[test]
fn the_dead_of_an_earlier_epoch_hold_nobody_up() {
    let mut world = World::new();
    world.create(id(1), 1, Settings::of_size(8));
    for number in 2..=5 {
        world.join(id(1), number).unwrap();
    }
    world.pass(LEASE);
    for number in 3..=5 {
        world.misses(id(1), 1, number);
    }
    world.claim(id(1), 1, 2).unwrap();
    let heard = Observation::Heard { session: id(1), peers: vec![key(3)] };
    for _ in 0..4 {
        world.pass(Duration::from_secs(2));
        world.renew(id(1), 2, 2);
        world.see(heard.clone());
    }
    // 1, 4 and 5 are members still; of 2 and 3 both miss the host.
    world.pass(Pace::Usual.patience());
    world.claim(id(1), 2, 3).unwrap();
}

/// Two power cuts within a lease: the host that died first was heard a moment before it was missed, and holds up nobody who misses the second.
/// One that lives on as a member counts again.
#[test]
fn a_host_that_more_than_half_missed_counts_for_nothing_until_it_is_heard() {
    for lives in [false, true] {
        let mut world = three(Settings::of_size(8));
        world.join(id(1), 4).unwrap();
        for number in 2..=4 {
            world.misses(id(1), 1, number);
        }
        world.claim(id(1), 1, 2).unwrap();
        world.renew(id(1), 2, 2);
        world.pass(Duration::from_millis(500));
        if lives {
            world.see(Observation::Heard { session: id(1), peers: vec![key(1)] });
        }
        world.misses(id(1), 2, 4);
        let claimed = world.claim(id(1), 2, 3);
        assert_eq!(
            matches!(claimed, Err(Rejection::LeaseStands { reports: 2, needed: 3, .. })),
            lives,
            "{claimed:?}"
        );
        assert_eq!(claimed.is_ok(), !lives);
        world.pass(mainstay_lobby::SILENCE);
        assert!(world.lobby.session(id(1)).is_err(), "its silence counted all the time");
    }
}

/// Three survivors, and three on their way in whom no host has let in yet: those have none to miss, and hold nobody up. One that its host has heard does.
#[test]
fn who_has_only_just_joined_has_no_host_to_miss() {
    for came in [false, true] {
        let mut world = three(Settings::of_size(8));
        world.join(id(1), 4).unwrap();
        world.pass(Duration::from_millis(100));
        world.see(Observation::Heard { session: id(1), peers: vec![key(2), key(3), key(4)] });
        for number in 5..=7 {
            world.join(id(1), number).unwrap();
        }
        world.pass(Duration::from_millis(100));
        if came {
            world.see(Observation::Heard { session: id(1), peers: vec![key(5), key(6), key(7)] });
        }
        for number in 3..=4 {
            world.misses(id(1), 1, number);
        }
        let claimed = world.claim(id(1), 1, 2);
        assert_eq!(
            matches!(claimed, Err(Rejection::LeaseStands { reports: 3, needed: 4, .. })),
            came,
            "{claimed:?}"
        );
        assert_eq!(claimed.is_ok(), !came);
    }
}

/// A host that meets a side which goes on without a certificate takes an epoch that outranks it: its own lease hinders nobody.
#[test]
fn a_host_may_claim_the_epoch_after_its_own() {
    let mut world = three(Settings::of_size(8));
    world.renew(id(1), 1, 1);
    let grant = told(world.claim(id(1), 1, 1)).grant.unwrap();
    assert_eq!((grant.epoch, grant.host), (Epoch(2), key(1)));
    assert_eq!(world.lobby.tally().granted(Cause::Catastrophic), 0, "nothing has moved");
}

/// So it may though its game would not be host any more, and though sessions move no more by now: it is host, and stays it. Were it
/// refused, two sides of one session would never come together (the simulator's seeds 1000000226 and 1500000227).
#[test]
fn a_host_that_would_not_be_one_any_more_may_still_outrank_a_side_without_a_certificate() {
    let mut world = three(Settings::of_size(8));
    let would_not = Command::Introduce {
        session: id(1),
        peer: key(1),
        can_be_host: CanBeHost::NotYet,
        addresses: vec![],
    };
    world.ask(&would_not).unwrap();
    world.ask(&Command::Configure { service: Service::Online, migration: Support::Unsupported }).unwrap();
    assert_eq!(told(world.claim(id(1), 1, 1)).epoch(), Epoch(2));
    assert_eq!(world.claim(id(1), 2, 2), Err(Rejection::Unsupported(Service::Online)), "nobody else");
}

/// A session whose service supports no migration is over for whoever misses its host, once that is gone and not before.
#[test]
fn who_misses_a_host_that_gets_no_successor_need_not_wait() {
    let mut world = three(Settings::of_size(8));
    let goes_on = |world: &World| {
        let session = world.lobby.session(id(1)).unwrap();
        world.lobby.goes_on(session, world.now)
    };
    world.ask(&Command::Configure { service: Service::Online, migration: Support::Unsupported }).unwrap();
    assert_eq!(goes_on(&world), Ok(()), "its host is there");
    world.ask(&Command::Leave { session: id(1), peer: key(1) }).unwrap();
    assert_eq!(goes_on(&world), Err(Rejection::Unsupported(Service::Online)));
    world.ask(&Command::Configure { service: Service::Online, migration: Support::Supported }).unwrap();
    assert_eq!(goes_on(&world), Ok(()), "somebody may take it over");
}

/// "`strict` (persistent effects, dedicated): wait for lease end".
#[test]
fn a_strict_session_waits_for_the_end_of_the_lease() {
    let mut world = three(Settings { takeover: Takeover::Strict, ..Settings::of_size(8) });
    world.misses(id(1), 1, 2);
    world.misses(id(1), 1, 3);
    world.pass(LEASE.saturating_sub(Duration::from_millis(1)));
    let refused = world.claim(id(1), 1, 2).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the host's lease stands for 1 ms more, and a strict session waits for its end, whoever misses it"
    );
    world.pass(Duration::from_millis(1));
    world.claim(id(1), 1, 2).unwrap();
}

/// Reference, 6.1, I4: "Strict mode: at any real time at most one host believes it may act". A host that was thrown out acts until it is told so.
#[test]
fn a_strict_session_waits_for_a_host_that_was_thrown_out() {
    for (takeover, waits) in [(Takeover::Strict, true), (Takeover::Fast, false)] {
        let mut world = three(Settings { takeover, ..Settings::of_size(8) });
        world.ask(&Command::Kick { session: id(1), peer: key(1), by: Authority::Studio }).unwrap();
        let claimed = world.claim(id(1), 1, 2);
        assert_eq!(matches!(claimed, Err(Rejection::LeaseToEnd { .. })), waits, "{claimed:?}");
        // It renews nothing any more.
        world.pass(LEASE.saturating_sub(Duration::from_millis(1)));
        world.renew(id(1), 1, 1);
        world.pass(Duration::from_millis(1));
        world.claim(id(1), 1, 2).unwrap();
    }
    let mut world = three(Settings { takeover: Takeover::Strict, ..Settings::of_size(8) });
    world.ask(&Command::Leave { session: id(1), peer: key(1) }).unwrap();
    world.claim(id(1), 1, 2).unwrap();
}

/// A report says which epoch's host it is about, and only for a while.
#[test]
fn reports_of_another_epoch_or_of_long_ago_count_for_nothing() {
    let mut world = three(Settings::of_size(8));
    world.misses(id(1), 1, 3);
    world.claim(id(1), 1, 2).unwrap();
    world.renew(id(1), 2, 2);
    assert!(matches!(world.claim(id(1), 2, 1), Err(Rejection::LeaseStands { reports: 1, .. })), "of epoch 1");
    world.misses(id(1), 2, 3);
    for _ in 0..2 {
        world.pass(Duration::from_secs(2));
        world.renew(id(1), 2, 2);
    }
    assert!(matches!(world.claim(id(1), 2, 1), Err(Rejection::LeaseStands { reports: 1, .. })), "too old");
}

/// ARCHITECTURE.md, section 6: "after a restart every lease counts as renewed at the new leader's first moment".
#[test]
fn after_a_restart_a_lease_counts_from_the_moment_somebody_listens() {
    let mut world = three(Settings::of_size(8));
    world.pass(Duration::from_secs(5));
    world.restart();
    // Nobody listens for an hour: for this leader no time has passed.
    world.now = world.now + Duration::from_secs(3_600);
    assert!(matches!(world.claim(id(1), 1, 2), Err(Rejection::LeaseStands { again: LEASE, .. })));
    world.pass(LEASE);
    world.claim(id(1), 1, 2).unwrap();
}

/// The same within the life of a process: soft state may vanish at any instant, and no lease is lost sooner by it.
#[test]
fn forgetting_what_is_soft_never_ends_a_lease_early() {
    let mut world = three(Settings::of_size(8));
    world.pass(Duration::from_secs(5));
    world.see(Observation::Forgotten);
    world.pass(Duration::from_millis(1));
    assert!(matches!(world.claim(id(1), 1, 2), Err(Rejection::LeaseStands { .. })));
    world.pass(LEASE);
    world.claim(id(1), 1, 2).unwrap();
}

/// Reference, 5.3 A: "renew …, relayable through any peer". What is brought counts from the moment the host knew of, so that
/// nobody keeps a dead host alive with what it saved up.
#[test]
fn a_renewal_that_others_bring_counts_from_when_its_host_signed_it() {
    let mut world = three(Settings { takeover: Takeover::Strict, ..Settings::of_size(8) });
    let signed = world.now;
    world.pass(Duration::from_secs(4));
    world.brings(id(1), 1, 1, world.now, &[]);
    world.pass(Duration::from_secs(4));
    assert!(matches!(world.claim(id(1), 1, 2), Err(Rejection::LeaseToEnd { .. })));
    world.brings(id(1), 1, 1, signed, &[]);
    world.pass(Duration::from_secs(2));
    world.claim(id(1), 1, 2).unwrap();
}

/// "The lease counts from that moment": of one to come it would for ever.
#[test]
fn a_renewal_as_of_a_moment_to_come_counts_for_nothing() {
    let mut world = three(Settings { takeover: Takeover::Strict, ..Settings::of_size(8) });
    let to_come = world.now + Duration::from_secs(3_600);
    for _ in 0..3 {
        world.pass(Duration::from_secs(2));
        world.brings(id(1), 1, 1, to_come, &[1]);
    }
    world.claim(id(1), 1, 2).unwrap();
    world.renew(id(1), 2, 2);
    for _ in 0..15 {
        world.pass(Duration::from_secs(2));
        world.brings(id(1), 2, 2, to_come, &[1, 3]);
        world.misses(id(1), 2, 3);
    }
    assert_eq!(world.members(id(1)), [3], "nobody else was heard for 30 s");
}

/// "neither heard by the host nor beats itself for 30 s is lost": what a host heard when it signed keeps nobody that is dead by now, however
/// often it is brought.
#[test]
fn a_renewal_that_is_brought_again_keeps_nobody() {
    let mut world = three(Settings::of_size(8));
    let signed = world.now;
    world.pass(Duration::from_secs(1));
    world.brings(id(1), 1, 1, signed, &[]);
    world.brings(id(1), 1, 1, world.now, &[3]);
    let mut newest = signed;
    for _ in 0..16 {
        newest = world.now;
        world.pass(Duration::from_secs(1));
        world.brings(id(1), 1, 1, newest, &[2]);
    }
    assert_eq!(world.members(id(1)), [1, 2, 3]);
    for _ in 0..16 {
        world.pass(Duration::from_secs(1));
        for at in [signed, newest] {
            world.brings(id(1), 1, 1, at, &[1, 3]);
        }
    }
    assert_eq!(world.members(id(1)), [1, 2], "3 was heard last 32 s ago");
}

/// Whoever brings a renewal is given the lobby's receipt for it where it was counted: not for a host that has gone, nor as of a moment
/// to come.
#[test]
fn a_renewal_that_was_brought_is_receipted_where_it_counts() {
    let mut world = three(Settings::of_size(8));
    let signed = world.now;
    world.pass(Duration::from_secs(1));
    let brings = |world: &mut World, epoch, host, at| {
        let (epoch, renewal) = (Epoch(epoch), Renewal::AsOf(at));
        world.see(Observation::Renewed { session: id(1), epoch, host: key(host), renewal, hears: vec![] });
        let session = world.lobby.session(id(1)).unwrap().clone();
        world.lobby.lease(&session, world.now).has_counted(at, world.now)
    };
    assert!(brings(&mut world, 1, 1, signed));
    let now = world.now;
    assert!(brings(&mut world, 1, 1, now));
    assert!(!brings(&mut world, 1, 1, now + Duration::from_millis(1)), "of tomorrow");
    world.pass(LEASE);
    assert!(brings(&mut world, 1, 1, signed), "it renews nothing, and tells its host the time");
    world.ask(&Command::Leave { session: id(1), peer: key(1) }).unwrap();
    let now = world.now;
    assert!(!brings(&mut world, 1, 1, now), "it has gone");
}

/// Issue 5, point 2: "A zombie host that wakes is fenced". Its word counts for nothing, and its commands are refused with the
/// newest epoch.
#[test]
fn an_old_host_is_fenced() {
    let mut world = three(Settings::of_size(8));
    world.pass(LEASE);
    world.claim(id(1), 1, 2).unwrap();
    world.renew(id(1), 1, 1);
    let session = world.lobby.session(id(1)).unwrap().clone();
    assert!(matches!(world.lobby.lease(&session, world.now), Lease::Awaited { .. }));
    let by = Authority::Host { peer: key(1), epoch: Epoch(1) };
    let kick = Command::Kick { session: id(1), peer: key(3), by };
    assert!(matches!(world.ask(&kick), Err(Rejection::Passed { found: Epoch(2), .. })));
    let hand = Command::HandOver { session: id(1), expected: Epoch(1), by: key(1), to: key(3), as_of: None };
    assert!(matches!(world.ask(&hand), Err(Rejection::Passed { found: Epoch(2), .. })));
    // And as nobody's host of the newest.
    let by = Authority::Host { peer: key(1), epoch: Epoch(2) };
    assert!(matches!(world.ask(&Command::End { session: id(1), by }), Err(Rejection::NotHost(_))));
}

/// Reference, 5.3 C: "planned leave … CAS transfer at the lobby".
#[test]
fn a_host_hands_over_while_it_lives() {
    let mut world = three(Settings::of_size(8));
    let hand = |expected, by, to| Command::HandOver {
        session: id(1),
        expected: Epoch(expected),
        by: key(by),
        to: key(to),
        as_of: None,
    };
    assert!(matches!(world.ask(&hand(1, 2, 3)), Err(Rejection::NotHost(_))));
    assert!(matches!(world.ask(&hand(1, 1, 9)), Err(Rejection::NotMember(_))));
    assert_eq!(told(world.ask(&hand(1, 1, 3))).grant.unwrap().host, key(3));
    assert_eq!(told(world.ask(&hand(1, 1, 3))).epoch(), Epoch(2), "asked again");
    assert!(matches!(world.ask(&hand(1, 1, 2)), Err(Rejection::Passed { .. })));
}

/// Issue 5: "lobby down, lobby back". What a member asked while it did not reach the lobby may come when it obeys another who goes on without:
/// it is no claim any more, and no handover.
#[test]
fn what_was_under_way_for_long_is_not_granted() {
    let mut world = three(Settings::of_size(8));
    let asked = world.now;
    world.pass(LEASE);
    let claim = |as_of| Command::Claim { session: id(1), expected: Epoch(1), by: key(2), as_of: Some(as_of) };
    assert_eq!(world.ask(&claim(asked)), Err(Rejection::Stale { age: LEASE }));
    let (oldest, mut ahead) = (world.now.back(CLAIM_LIFE), three(Settings::of_size(8)));
    assert_eq!(told(world.ask(&claim(oldest))).grant.unwrap().host, key(2));
    assert_eq!(told(world.ask(&claim(asked))).epoch(), Epoch(2), "asked again");
    let hand = |as_of| Command::HandOver {
        session: id(1),
        expected: Epoch(2),
        by: key(2),
        to: key(3),
        as_of: Some(as_of),
    };
    assert_eq!(world.ask(&hand(asked)), Err(Rejection::Stale { age: LEASE }));
    told(world.ask(&hand(world.now)));
    // Whose clock is ahead asks just now.
    ahead.pass(LEASE);
    told(ahead.ask(&claim(ahead.now + LEASE)));
}

/// Seed 000: "all clients will initially report that they are unsuitable as a host".
#[test]
fn who_has_not_said_that_it_can_is_no_host() {
    let mut world = three(Settings::of_size(8));
    let says =
        |can_be_host| Command::Introduce { session: id(1), peer: key(2), can_be_host, addresses: vec![] };
    world.ask(&says(CanBeHost::NotYet)).unwrap();
    world.pass(LEASE);
    assert!(matches!(world.claim(id(1), 1, 2), Err(Rejection::Unsuitable(_))));
    world.ask(&says(CanBeHost::Yes)).unwrap();
    world.claim(id(1), 1, 2).unwrap();
}

/// Seed 000: "It is also a controllable feature of the lobby service; an individual lobby service can be configured to not support
/// host migration (the default is to support it, via the eCLSF_SupportHostMigration flag) so that a game title can support host
/// migration only on selected platforms if required."
/// Issue 5: "off means that no session of that service migrates".
#[test]
fn a_service_without_support_moves_none_of_its_sessions() {
    let mut world = three(Settings::of_size(8));
    assert_eq!(Service::ALL.map(|it| world.lobby.support(it)), [Support::Supported; 2]);
    let set = |migration| Command::Configure { service: Service::Online, migration };
    world.ask(&set(Support::Unsupported)).unwrap();
    world.pass(LEASE);
    assert_eq!(world.claim(id(1), 1, 2), Err(Rejection::Unsupported(Service::Online)));
    let hand = Command::HandOver { session: id(1), expected: Epoch(1), by: key(1), to: key(2), as_of: None };
    assert_eq!(world.ask(&hand), Err(Rejection::Unsupported(Service::Online)));
    world.restart();
    assert_eq!(world.lobby.support(Service::Online), Support::Unsupported, "it outlives a restart");
    world.ask(&set(Support::Supported)).unwrap();
    world.pass(LEASE);
    world.claim(id(1), 1, 2).unwrap();
}

/// Seed 000: "Sessions need to be created as migratable (or not)".
#[test]
fn a_session_that_is_not_migratable_ends_with_its_host() {
    let mut world = three(Settings { migratable: Migratable::No, ..Settings::of_size(8) });
    world.pass(LEASE);
    assert_eq!(world.claim(id(1), 1, 2), Err(Rejection::NotMigratable));
    assert_eq!(world.join(id(1), 4), Err(Rejection::NotMigratable), "nor is it on its way to anybody");
    world.ask(&Command::Leave { session: id(1), peer: key(1) }).unwrap();
    assert!(matches!(world.lobby.session(id(1)), Err(Rejection::Over { .. })));
}

/// A host that leaves without a word to anybody else leaves the next epoch to whoever claims it first.
#[test]
fn a_host_that_left_is_followed_at_once() {
    let mut world = three(Settings::of_size(8));
    world.ask(&Command::Leave { session: id(1), peer: key(1) }).unwrap();
    world.claim(id(1), 1, 3).unwrap();
}

#[test]
fn a_lobby_that_has_just_begun_wants_a_turn_to_listen() {
    let mut world = World::new();
    assert!(world.lobby.next_deadline().is_some());
    world.pass(Duration::from_secs(1));
    assert_eq!(world.lobby.next_deadline(), None);
}

/// Issue 5: acknowledged state is lost "none while one holder of it lives". Peers 1 and 2 were cut off as 3 became host and never heard it; as it
/// dies, 4 holds what it wrote, and 1 does not get the session before 4 had its turn.
#[test]
fn whoever_heard_the_host_later_comes_first() {
    struct Case {
        /// Whether 4 says that it misses its host.
        says: bool,
        can_be_host: CanBeHost,
        /// How long before its host's end 1 heard it, if ever.
        heard: Option<Duration>,
        /// Whether 1 waits.
        waits: bool,
    }
    let yes = CanBeHost::Yes;
    let cases = [
        Case { says: true, can_be_host: yes, heard: None, waits: true },
        Case { says: true, can_be_host: yes, heard: Some(Duration::from_millis(1_001)), waits: true },
        Case { says: true, can_be_host: yes, heard: Some(Duration::from_millis(1_000)), waits: false },
        Case { says: false, can_be_host: yes, heard: None, waits: false },
        Case { says: true, can_be_host: CanBeHost::NotYet, heard: None, waits: false },
    ];
    for Case { says, can_be_host, heard, waits } in cases {
        let mut world = three(Settings::of_size(8));
        world.join(id(1), 4).unwrap();
        let (peer, addresses) = (key(4), Vec::new());
        world.ask(&Command::Introduce { session: id(1), peer, can_be_host, addresses }).unwrap();
        world.pass(LEASE);
        world.claim(id(1), 1, 3).unwrap();
        world.pass(Duration::from_secs(5));
        world.renew(id(1), 2, 3);
        let heard = heard.map(|before| {
            let at = world.now;
            world.pass(before);
            at
        });
        let died = world.now;
        let mut made = None;
        for _ in 0..40 {
            world.pass(Duration::from_millis(500));
            [1, 2].into_iter().for_each(|peer| world.misses_since(id(1), 2, peer, heard));
            if says {
                world.misses_since(id(1), 2, 4, Some(died));
            }
            match world.claim(id(1), 2, 1) {
                Ok(_) => {
                    made = Some(world.now.since(died));
                    break;
                }
                Err(Rejection::OthersFirst { until, again }) => {
                    assert_eq!(world.now + again, until);
                    assert!(until <= died + 2 * LEASE);
                }
                Err(Rejection::LeaseStands { .. }) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        // Four, of whom three miss the host, or two and its lease is over.
        let made = made.unwrap();
        assert_eq!(made > LEASE, waits, "{says} {can_be_host:?} {heard:?} {made:?}");
        assert!(made <= 2 * LEASE, "whoever comes first may not want to be host: {made:?}");
    }
}

/// A member that says again and again that it has just heard a host which renewed nothing for three leases, and claims nothing, does not keep the session from all others.
#[test]
fn whoever_always_has_just_heard_a_dead_host_ends_nothing() {
    let mut world = three(Settings::of_size(8));
    world.renew(id(1), 1, 1);
    let died = world.now;
    world.pass(Duration::from_secs(1));
    let made = loop {
        world.pass(Duration::from_millis(500));
        world.misses_since(id(1), 1, 2, Some(died));
        world.misses_since(id(1), 1, 3, Some(world.now));
        let since = world.now.since(died);
        match world.claim(id(1), 1, 2) {
            Ok(_) => break since,
            Err(refused) => assert!(since < 3 * LEASE, "{refused:?} after {since:?}"),
        }
    };
    assert!(made > LEASE, "it is believed for a while: {made:?}");
}

/// Whoever heard it last gets it as soon as enough miss its host; also where the lobby was away meanwhile, and knows nothing of who was heard by that.
#[test]
fn whoever_heard_the_host_last_waits_for_nobody() {
    for restarts in [false, true] {
        let mut world = three(Settings::of_size(8));
        world.pass(LEASE);
        world.claim(id(1), 1, 3).unwrap();
        world.renew(id(1), 2, 3);
        let died = world.now;
        if restarts {
            world.restart();
        }
        world.pass(Duration::from_secs(1));
        world.misses(id(1), 2, 1);
        world.misses_since(id(1), 2, 2, Some(died));
        assert!(matches!(world.claim(id(1), 2, 1), Err(Rejection::OthersFirst { .. })));
        assert_eq!(told(world.claim(id(1), 2, 2)).grant.unwrap().host, key(2));
    }
}

/// A host that hears one member counts as silent after a second, and that member says a moment later that it misses it: two who were cut off had the session by then.
#[test]
fn whoever_was_not_with_a_host_that_falls_silent_leaves_others_a_moment_to_say_that_they_were() {
    let mut world = three(Settings::of_size(8));
    world.join(id(1), 4).unwrap();
    world.pass(LEASE);
    world.claim(id(1), 1, 3).unwrap();
    world.pass(Duration::from_secs(5));
    let (session, host, hears) = (id(1), key(3), vec![key(4)]);
    let renewal = Renewal::Now(Pace::Quick);
    world.see(Observation::Renewed { session, epoch: Epoch(2), host, renewal, hears });
    let died = world.now;
    world.pass(Duration::from_millis(1_100));
    [1, 2].into_iter().for_each(|peer| world.misses(id(1), 2, peer));
    let Err(Rejection::OthersFirst { until, .. }) = world.claim(id(1), 2, 1) else { panic!("4 may live") };
    assert_eq!(until, died + Pace::Quick.every() + Duration::from_secs(2));
    world.misses_since(id(1), 2, 4, Some(died));
    assert!(matches!(world.claim(id(1), 2, 1), Err(Rejection::OthersFirst { .. })));
    assert_eq!(told(world.claim(id(1), 2, 4)).grant.unwrap().host, key(4));
}

/// A host that renews is missed by most: they wait for nobody, though it is heard by the lobby later than by them.
#[test]
fn most_of_a_session_wait_for_nobody_where_their_host_lives_apart_from_them() {
    let mut world = three(Settings::of_size(8));
    world.join(id(1), 4).unwrap();
    world.pass(LEASE);
    world.renew(id(1), 1, 1);
    let heard = world.now;
    world.pass(Duration::from_millis(1_900));
    world.renew(id(1), 1, 1);
    world.pass(Duration::from_millis(1_900));
    [2, 3, 4].into_iter().for_each(|peer| world.misses_since(id(1), 1, peer, Some(heard)));
    assert_eq!(told(world.claim(id(1), 1, 2)).grant.unwrap().host, key(2));
}
