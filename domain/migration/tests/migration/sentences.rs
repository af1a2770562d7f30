//! Sentences of seed 000 about sessions, hints, actors and entities that no other file shows.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_migration::{
    ActorId, CanBeHost, Cause, EntityId, Epoch, Input, ListenerId, Migratable, Moving, Outcome, Output,
    PeerId, Priority, Role, Session, SessionId, Stage, Stages, Stamp, WithoutMajority,
};

use crate::net::{Net, peer};

/// Two sessions of the same peers, over the same links: whatever comes in one comes to the same peer in the other, too.
struct Both {
    one: Net,
    other: Net,
}

impl Both {
    fn of(count: u128) -> Self {
        let mut both = Self { one: Net::of(count), other: Net::of_session(SessionId(10), count) };
        both.one.overheard = Some(Vec::new());
        both.other.overheard = Some(Vec::new());
        both
    }

    fn run(&mut self, span: Duration) {
        for _ in 0..span.as_millis() / 50 {
            self.one.run(Duration::from_millis(50));
            self.other.run(Duration::from_millis(50));
            let heard = [&mut self.one, &mut self.other].map(|net| net.overheard.replace(Vec::new()));
            for (net, heard) in [&mut self.other, &mut self.one].into_iter().zip(heard) {
                for (from, to, message) in heard.into_iter().flatten() {
                    net.deliver(from, to, message);
                }
                net.overheard = Some(Vec::new());
            }
        }
    }
}

/// "Host migration is session based, and each session can migrate independently (and concurrently)." I13: one peer is in both,
/// the host of one dies, and the other hears of nothing.
#[test]
fn sessions_migrate_independently() {
    let mut both = Both::of(4);
    both.one.kill(peer(1));
    both.run(Duration::from_secs(4));
    assert_eq!((both.one.host(), both.other.host()), (peer(2), peer(1)));
    assert!(both.other.seen.values().all(|seen| seen.stages.is_empty()));
    assert_eq!(both.other.session(peer(2)).stamp(), Stamp::certified(Epoch::FIRST));
    // And at the same time, in both.
    both.other.kill(peer(1));
    both.one.kill(peer(2));
    both.run(Duration::from_secs(4));
    assert_eq!((both.one.host(), both.other.host()), (peer(3), peer(2)));
    assert_eq!(both.one.session(peer(4)).stamp(), Stamp::certified(Epoch(3)));
    assert_eq!(both.other.session(peer(4)).stamp(), Stamp::certified(Epoch(2)));
}

/// net_show_host_identificiation, "in all its participating sessions", and net_show_new_host_hinting: "This shows the hint list of any given
/// machine in all its participating sessions."
#[test]
fn a_machine_shows_what_it_is_in_each_of_its_sessions() {
    let mut both = Both::of(4);
    for net in [&mut both.one, &mut both.other] {
        net.set(peer(3), "net_show_host_identificiation", "1");
        net.set(peer(3), "net_show_new_host_hinting", "1");
    }
    let shown = |net: &Net| {
        let session = net.session(peer(3));
        let hints: Vec<PeerId> = session.shown_hints().into_iter().map(|(of, _)| of).collect();
        (session.identification().unwrap().text(), hints)
    };
    assert_eq!([shown(&both.one), shown(&both.other)], [(); 2].map(|()| ("MEMBER", vec![peer(2), peer(4)])));
    for dead in 1..=2 {
        both.one.kill(peer(dead));
        both.run(Duration::from_secs(8));
    }
    both.other.kill(peer(1));
    both.run(Duration::from_secs(8));
    assert_eq!(shown(&both.one), ("HOST", vec![peer(4)]));
    assert_eq!(shown(&both.other), ("ANTICIPATED NEW HOST", vec![peer(4)]));
}

/// A message of one session is nothing in another that the same two peers share (I13).
#[test]
fn a_message_of_another_session_is_not_taken() {
    let mut net = Net::of(3);
    let beat = net.beat_of(peer(1));
    let before = net.session(peer(2)).shown();
    let stamp = Stamp::certified(Epoch(9));
    let message = mainstay_migration::Message {
        session: SessionId(10),
        stamp,
        body: mainstay_migration::Body::Beat(beat),
    };
    net.deliver(peer(1), peer(2), message);
    assert_eq!(net.session(peer(2)).shown(), before);
}

/// "The determination of the 'best' host is decided by hints that are synchronised between all clients in a game." And "The
/// hint list is maintained by the current host for as long as the session is active (and supports host migration), and
/// propagated to all clients."
#[test]
fn all_have_the_hosts_list_of_hints() {
    let mut net = Net::of(5);
    net.set(peer(4), "net_hostHintingActiveConnectionsOverride", "99");
    net.run(Duration::from_secs(1));
    let shown = |net: &Net, id: u128| {
        let mut net_hints = net.session(peer(id)).shown_hints();
        net_hints.retain(|(who, _)| *who != peer(1) && *who != peer(2) && *who != peer(3));
        net_hints
    };
    for id in 1..=5 {
        net.set(peer(id), "net_show_new_host_hinting", "1");
    }
    let of_host = shown(&net, 1);
    assert!(of_host.iter().any(|(who, entry)| *who == peer(4) && entry.hint.connections == 99));
    for id in 2..=3 {
        assert_eq!(shown(&net, id), of_host, "{id}");
    }
    let anticipated: BTreeSet<Option<PeerId>> = net.peers.values().map(Session::anticipated).collect();
    assert_eq!(anticipated, BTreeSet::from([Some(peer(4))]), "so they all think of the same successor");
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    assert_eq!(net.host(), peer(4));
}

/// "OnPromoteToServer() is called only on the anticipated new host of the session." "Secondly your class must register
/// itself with the network layer." "Once registered, your class will have the methods defined in IHostMigrationEventListener invoked
/// during a host migration event." "OnDemoteToClient() is called on each client who is not the new host - this means that clients
/// remaining as clients will have this method called." "OnReconnectClient() is called on all clients, whether they were the old host, the new host or
/// remaining a client." "OnFinalise() is called on all clients, whether they were the old host, the new host or remaining
/// client." "OnInitiate() is called at the start of a host migration event." "OnDisconnectClient() is called when the client
/// disconnects from the original host."
#[test]
fn each_is_called_what_its_role_is() {
    let mut net = Net::of(4);
    let anticipated = net.session(peer(3)).anticipated().unwrap();
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    for id in [2, 3, 4] {
        let stages = net.stages(peer(id));
        let has = |stage| stages.contains(&stage);
        assert_eq!(has(Stage::PromoteToServer), peer(id) == anticipated);
        assert_eq!(has(Stage::DemoteToClient), peer(id) != anticipated);
        assert!(has(Stage::ReconnectClient) && has(Stage::Finalise));
        assert_eq!(stages[..2], [Stage::Initiate, Stage::DisconnectClient]);
    }
}

/// "A corresponding call to unregister your class should go in its destructor": nobody waits for a listener that is gone, not
/// even where it was just called.
#[test]
fn a_listener_that_is_unregistered_is_waited_for_no_more() {
    let mut net = Net::of(3);
    let now = net.now;
    let session = net.peers.get_mut(&peer(2)).unwrap();
    let (slow, other) = (ListenerId(1), ListenerId(2));
    assert!(session.add_listener(slow, "slow", Priority::Engine));
    session.remove_listener(slow);
    assert!(session.add_listener(other, "other", Priority::Engine));
    session.handle(now, Input::Wake);
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    assert_eq!(
        net.stages(peer(2)).iter().filter(|stage| **stage == Stage::Initiate).count(),
        2,
        "of three, two"
    );
    let mut stages = Stages::begin(now, &[(slow, ("slow".to_owned(), Priority::Engine))].into());
    let budget = Duration::from_secs(30);
    assert_eq!(stages.advance(now, budget).len(), 1);
    assert_eq!(stages.waits_for(), ["slow"]);
    stages.remove(slow);
    stages.advance(now, budget);
    assert!(stages.elected(Role::Client), "it waits for a host, and for nobody else");
    assert_eq!(stages.stage(), None);
}

/// "SetChannelForMigratingPlayer() should return the EntityId which corresponds to the actor being assigned to that channel."
/// "OnClientConnect() would normally be responsible for creating an actor for the new client, but in the case of host migration
/// it needs to use the cached EntityId from SetChannelForMigratingPlayer(), as this actor entity already exists." "The game is also responsible for making sure that reconnecting
/// clients are given the correct actor." "This is done inside
/// CGameRules::SetChannelForMigratingPlayer() and CGameRules::OnClientConnect()": `actor_for_channel` and `Connected`. B10: by the key of whoever plays it, not by a name.
#[test]
fn b10_whoever_reconnects_gets_its_own_actor() {
    let mut net = Net::of(4);
    for id in 1..=4_u64 {
        net.give(peer(1), Input::Plays { peer: peer(u128::from(id)), actor: ActorId(100 + id) });
    }
    net.run(Duration::from_secs(1));
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    assert_eq!(net.host(), peer(2));
    for id in 3..=4_u64 {
        let channel = net.session(peer(2)).roster().members[&peer(u128::from(id))];
        assert_eq!(net.session(peer(2)).actor_for_channel(channel), Some(ActorId(100 + id)));
        let connected = net.seen[&peer(2)].outputs.iter().find_map(|output| {
            let Output::Connected { peer: who, actor, .. } = output else { return None };
            (*who == peer(u128::from(id))).then_some(*actor)
        });
        assert_eq!(connected, Some(Some(ActorId(100 + id))), "and no other is made for it");
    }
    net.join(peer(9));
    net.run(Duration::from_secs(3));
    let of_newcomer = net.seen[&peer(2)].outputs.iter().find_map(|output| {
        let Output::Connected { peer: who, actor, .. } = output else { return None };
        (*who == peer(9)).then_some(*actor)
    });
    assert_eq!(of_newcomer, Some(None), "a newcomer has none yet");
}

/// Until it is a client of a new host for the so many-th time.
fn demoted(net: &mut Net, id: u128, times: usize) {
    for _ in 0..10_000 {
        let stages = net.seen.get(&peer(id)).map_or(&[][..], |seen| &seen.stages);
        if stages.iter().filter(|stage| **stage == Stage::DemoteToClient).count() == times {
            return;
        }
        net.run(Duration::from_millis(1));
    }
    panic!("{id} was not demoted {times} times: {:?}", net.stages(peer(id)));
}

/// What it was told to discard, each time with the stage that it had come to.
fn discarded(net: &Net, id: u128) -> Vec<(Stage, Vec<EntityId>)> {
    let mut last = Stage::Initiate;
    let mut discarded = Vec::new();
    for output in &net.seen[&peer(id)].outputs {
        if let Output::Call(call, _) = output {
            last = call.stage;
        } else if let Output::Discard(entities) = output {
            discarded.push((last, entities.clone()));
        }
    }
    discarded
}

/// "the list of entities created in the OnDemoteToClient() listener mustn't be deleted until the OnFinalise() listener (which is
/// the point when host migration has essentially completed)", and "This also means that the entity list on any client who remains a client during a
/// multi-migrate event might gain duplicate entries as the OnDemoteToClient() listener will be called more than once. In this
/// situation, it is safe to immediately discard the duplicates." "This should be done by creating a list of entities that will no
/// longer be needed post-migration in the OnDemoteToClient() listener, and then removing these in the OnFinalise() listener." "It is therefore
/// up to the game to decide what is no longer needed, and to throw it away as necessary.": what it listed, and nothing else.
#[test]
fn what_was_listed_at_demotion_is_kept_until_finalise() {
    let mut net = Net::of(5);
    net.kill(peer(1));
    demoted(&mut net, 4, 1);
    net.give(peer(4), Input::NoLongerNeeded(vec![EntityId(7), EntityId(8)]));
    net.kill(peer(2));
    demoted(&mut net, 4, 2);
    assert!(net.stages(peer(4)).contains(&Stage::Reset));
    assert_eq!(discarded(&net, 4), [], "not at OnReset, nor when the next host is known");
    net.give(peer(4), Input::NoLongerNeeded(vec![EntityId(8), EntityId(9)]));
    net.run(Duration::from_secs(6));
    let once_each = vec![EntityId(7), EntityId(8), EntityId(9)];
    assert_eq!(discarded(&net, 4), [(Stage::Finalise, once_each)]);
    assert_eq!(discarded(&net, 5), [], "whose game listed nothing");
}

/// "OnTerminate() is called in the event of an error (which could happen at any point in the host migration process, so make sure any
/// clean-up done in OnFinalise() is also done here)."
#[test]
fn what_was_listed_at_demotion_is_discarded_when_it_is_terminated() {
    let mut net = Net::with(3, Migratable::Yes, WithoutMajority::End);
    net.kill(peer(1));
    demoted(&mut net, 3, 1);
    net.give(peer(3), Input::NoLongerNeeded(vec![EntityId(7), EntityId(7)]));
    net.kill(peer(2));
    net.run(Duration::from_secs(40));
    assert!(net.stages(peer(3)).contains(&Stage::Terminate));
    assert!(matches!(net.seen[&peer(3)].reports[0].outcome, Outcome::Terminated(_)));
    assert_eq!(discarded(&net, 3), [(Stage::Terminate, vec![EntityId(7)])]);
    // And where the game leaves in the middle of one.
    let mut net = Net::of(4);
    net.kill(peer(1));
    demoted(&mut net, 4, 1);
    net.give(peer(4), Input::NoLongerNeeded(vec![EntityId(8)]));
    net.give(peer(4), Input::Leave);
    assert_eq!(discarded(&net, 4), [(Stage::Terminate, vec![EntityId(8)])]);
}

/// "Each method takes two parameters (supplied by the network layer), namely a reference to a SHostMigrationInfo structure which contains
/// information for this host migration event, and a reference to the internal state of the listener (see below)": why the session moves,
/// from whom and to whom, and how often it began again.
#[test]
fn a_listener_is_told_of_the_migration_that_it_lives_through() {
    let mut net = Net::of(5);
    net.kill(peer(1));
    demoted(&mut net, 4, 1);
    net.kill(peer(2));
    net.run(Duration::from_secs(8));
    let told = net.seen[&peer(4)].told.clone();
    let cause = Cause::Catastrophic;
    let of = |to: Option<u128>, resets| Moving { cause, from: peer(1), to: to.map(peer), resets };
    assert_eq!(told.first(), Some(&(Stage::Initiate, of(None, 0))), "{told:?}");
    assert!(told.contains(&(Stage::DemoteToClient, of(Some(2), 0))), "{told:?}");
    assert!(told.contains(&(Stage::Reset, of(None, 1))), "{told:?}");
    assert_eq!(told.last(), Some(&(Stage::Finalise, of(Some(3), 1))), "{told:?}");
    net.kill(peer(3));
    net.run(Duration::from_secs(8));
    let (stage, next) = net.seen[&peer(4)].told[told.len()];
    assert_eq!((stage, next.from, next.resets), (Stage::Initiate, peer(3), 0), "the next begins anew");
}

/// An addition to the seed's callbacks, beside the veto: how far a migration is, and whom it waits for.
#[test]
fn a_game_is_told_how_its_migration_goes_on() {
    let mut net = Net::of(3);
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    let told = net.seen[&peer(2)].outputs.iter().filter_map(|output| {
        let Output::Progress(progress) = output else { return None };
        Some(progress.clone())
    });
    let told: Vec<mainstay_migration::Progress> = told.collect();
    let mut stages: Vec<Stage> = told.iter().filter_map(|progress| progress.stage).collect();
    stages.dedup();
    assert_eq!(stages, net.stages(peer(2)), "each stage as it begins");
    assert!(told.iter().all(|it| it.took_ms + it.left_ms == 30_000), "{told:?}");
    assert!(told.iter().all(|it| it.waits_for == if it.stage.is_some() { vec!["game"] } else { vec![] }));
}

/// "otherwise the client who is becoming the host will have no knowledge of the entities which it is supposed to assume control
/// of": whoever was demoted first and is host in the end keeps what it listed. "Note that with a migration event, it is possible for a client
/// to start migrating to a new host (remaining a client) but for that host to leave (either in a controlled or catastrophic manner)
/// and for this client to subsequently become the host (a multi-migrate event)."
#[test]
fn who_becomes_host_after_all_keeps_what_it_listed() {
    for leaves in [true, false] {
        let mut net = Net::of(5);
        net.kill(peer(1));
        demoted(&mut net, 3, 1);
        net.give(peer(3), Input::NoLongerNeeded(vec![EntityId(7)]));
        if leaves {
            net.give(peer(2), Input::Leave);
        }
        net.kill(peer(2));
        net.run(Duration::from_secs(8));
        let is_promoted = |id: &u128| net.stages(peer(*id)).contains(&Stage::PromoteToServer);
        let promoted: Vec<u128> = [3, 4, 5].into_iter().filter(is_promoted).collect();
        assert_eq!(
            (net.host(), promoted),
            (peer(3), vec![3]),
            "after it was demoted, the host leaves: {leaves}"
        );
        assert!(net.stages(peer(3)).contains(&Stage::Reset), "in one migration, the host leaves: {leaves}");
        assert_eq!(net.seen[&peer(3)].reports.len(), 1, "the host leaves: {leaves}");
        assert_eq!(discarded(&net, 3), [], "the host leaves: {leaves}");
    }
}

/// "Once the game deems that the client has sufficient information to be able to assume host responsibilities for the session,
/// the game must at least do the following" (SessionSetLocalFlags): a flag of one session, "where <game_session_handle> is the session handle
/// that was returned in the callback from SessionCreate()". "It is important to note that this must be done for each
/// session that the game controls and wishes this client to be considered as host if a host migration event is triggered."
#[test]
fn suitable_in_one_session_is_not_suitable_in_another() {
    let mut both = Both::of(3);
    for net in [&mut both.one, &mut both.other] {
        net.give(peer(2), Input::Suitable(CanBeHost::NotYet));
    }
    both.one.give(peer(2), Input::Suitable(CanBeHost::Yes));
    both.run(Duration::from_secs(1));
    both.one.kill(peer(1));
    both.other.kill(peer(1));
    both.run(Duration::from_secs(4));
    assert_eq!((both.one.host(), both.other.host()), (peer(2), peer(3)));
}

/// "In order to match an update to it's associated player, SConnectionUIDs should only use the .m_UID component for comparison
/// purposes.": what a session is called by changes as it moves (there its id, here its stamp), and who a player is does not. What it does
/// after, and what the new host has of it, is its own, whatever it was said under.
#[test]
fn peers_compare_without_their_session() {
    let mut net = Net::of(4);
    let play = |net: &mut Net| {
        for id in [3, 4] {
            net.give(peer(id), Input::Play(vec![7]));
        }
        net.run(Duration::from_millis(300));
    };
    let channels = |net: &Net| [3, 4].map(|id| net.session(peer(2)).roster().members[&peer(id)]);
    let before = (net.session(peer(2)).stamp(), channels(&net));
    play(&mut net);
    play(&mut net);
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    play(&mut net);
    assert!(net.session(peer(2)).stamp() > before.0 && net.host() == peer(2));
    assert_eq!(channels(&net), before.1);
    for id in [3, 4] {
        let of = |host: u128| {
            let applied = net.seen[&peer(host)].applied.iter().filter(|(from, _)| *from == peer(id));
            applied.map(|(_, number)| *number).collect::<Vec<u64>>()
        };
        assert_eq!((of(1), of(2)), (vec![1, 2], vec![3]), "what it did before is not taken for another's");
    }
}

/// "OnInitiate() is called at the start of a host migration event." "It is the responsibility of this method to store any pertinent information required to persist across the
/// migration (e.g. player inventories)": before the game is told of the host that it goes on under, and given what that goes on from. Of
/// two players under a lobby the one that is left begins and leads in one moment; so does a host that thaws and obeys the next.
#[test]
fn oninitiate_comes_before_the_game_is_told_who_is_host() {
    let is_first = |net: &Net, id| {
        let begins =
            |output: &&Output| matches!(output, Output::Call(call, _) if call.stage == Stage::Initiate);
        let of_next = |output: &&Output| {
            let (Output::Lead { stamp, .. } | Output::Follow { stamp, .. }) = output else { return false };
            stamp.epoch == Epoch(2)
        };
        let all = net.seen[&peer(id)].outputs.iter().filter(|it| begins(it) || of_next(it));
        let told: Vec<bool> = all.map(|output| begins(&output)).collect();
        told.len() > 1 && told[0]
    };
    let mut crashed = Net::under_lobby(2, WithoutMajority::Fork);
    crashed.run(Duration::from_secs(1));
    crashed.kill(peer(1));
    crashed.run(Duration::from_millis(1_500));
    assert!(is_first(&crashed, 2));

    let mut thawed = Net::of(3);
    thawed.freeze(peer(1));
    thawed.run(Duration::from_secs(3));
    thawed.thaw(peer(1));
    thawed.run(Duration::from_secs(1));
    assert!(is_first(&thawed, 1));
}

/// "During a migration event for a game that is in progress, clients go through several of the context establishment tasks that are required when connecting to a new server, however they
/// skip the tear-down stages": the new host connects it and it obeys that one; its session did not end in between, and what it does is numbered on.
#[test]
fn clients_skip_the_tear_down_stages() {
    let mut net = Net::of(3);
    let plays = |net: &mut Net| {
        net.give(peer(3), Input::Play(vec![3]));
        net.run(Duration::from_secs(1));
    };
    plays(&mut net);
    net.kill(peer(1));
    net.run(Duration::from_secs(3));
    plays(&mut net);
    let of = |host: u128| net.seen[&peer(host)].applied.iter().rfind(|(from, _)| *from == peer(3));
    assert_eq!((of(1), of(2)), (Some(&(peer(3), 1)), Some(&(peer(3), 2))));
    let connected =
        |output: &&Output| matches!(output, Output::Connected { peer: who, .. } if *who == peer(3));
    assert_eq!(net.seen[&peer(2)].outputs.iter().filter(connected).count(), 1);
    let client = &net.seen[&peer(3)].outputs;
    let follows = |output: &&Output| matches!(output, Output::Follow { leader, .. } if *leader == peer(2));
    assert_eq!(client.iter().filter(follows).count(), 1);
    assert!(!client.iter().any(|output| matches!(output, Output::Ended(_))), "it was a member all the while");
}
