//! Sessions whose players gather: their hosts give them to whoever suits better, and have them listed so.

use std::time::Duration;

use mainstay_peer::migration::{
    Cause, Epoch, GamePhase, Handover, Identification, Kind, Migratable, Piece, SessionId, Tick,
};
use mainstay_peer::{Event, Service, SessionOptions, Support};

use crate::{Player, is_linked, start, until};

const NAT: &str = "net_hostHintingNATTypeOverride";

fn snapshot(tick: u64) -> Piece {
    Piece { tick: Tick(tick), kind: Kind::Snapshot, bytes: b"harbour".to_vec() }
}

/// Seed 000: "the current host determines that a client in the lobby is a more suitable candidate, prior to commencing the game."
#[test]
fn a_session_goes_to_whoever_suits_better_while_its_players_gather() {
    let (ann, bob) = (start(), start());
    let session = SessionOptions::new(SessionId(21));
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let mut member = Player::new(&bob, bob.join(session, vec![ann.address()], Vec::new()).unwrap());
    // Said before it is in: it counts then.
    member.seat.set_phase(GamePhase::Gathering).unwrap();
    until("two play", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    host.seat.hold(snapshot(4)).unwrap();
    // What the game itself asks for goes by what suits, too; nothing is lost where nobody does.
    host.seat.hand_over(None, Handover::Lobby, snapshot(5)).unwrap();
    until("it is told", &mut [&mut host], |it| it.heard.contains(&Event::NobodyBetter));
    until("what it gave is held", &mut [&mut host], |it| {
        it.heard.iter().any(|event| matches!(event, Event::Durable(state) if state.tick == Tick(5)))
    });
    host.seat.set(NAT, "3").unwrap();
    member.seat.set(NAT, "1").unwrap();
    host.seat.set_phase(GamePhase::Gathering).unwrap();
    let asked = Event::SomebodyBetter(bob.id());
    until("its game is asked first", &mut [&mut host, &mut member], |it| {
        it.me == bob.id() || it.heard.contains(&asked)
    });
    // What it did since it gave a state nobody else has.
    host.seat.hand_over(Some(bob.id()), Handover::Lobby, snapshot(6)).unwrap();
    until("it moves", &mut [&mut host, &mut member], |it| it.moved() == Some((Cause::Lobby, bob.id())));
    let shown = member.shown().unwrap();
    assert_eq!((shown.role, shown.stamp.epoch), (Identification::Host, Epoch(2)));
    let leads = member.heard.iter().find_map(|event| {
        let Event::Lead { state, .. } = event else { return None };
        Some(state.id().tick)
    });
    assert_eq!(leads, Some(Tick(6)), "it goes on from where the other stopped");
}

/// "A lobby service can be queried for host migration support as follows", GetLobbyServiceFlag, "where <lobby_service_type> is eCLS_LAN or
/// eCLS_Online": each has its own flag, on by default.
#[test]
fn each_service_has_a_flag_of_its_own() {
    let ann = start();
    let flags = || [Service::Lan, Service::Online].map(|service| ann.support(service));
    assert_eq!(flags(), [Support::Supported; 2]);
    ann.set_support(Service::Lan, Support::Unsupported);
    assert_eq!(flags(), [Support::Unsupported, Support::Supported]);
    ann.set_support(Service::Online, Support::Unsupported);
    ann.set_support(Service::Lan, Support::Supported);
    assert_eq!(flags(), [Support::Supported, Support::Unsupported]);
}

/// A session that was not made to move does not, whoever suits better and whoever asks.
#[test]
fn a_session_that_does_not_migrate_stays() {
    let (ann, bob) = (start(), start());
    let session = SessionOptions { migratable: Migratable::No, ..SessionOptions::new(SessionId(22)) };
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let mut member = Player::new(&bob, bob.join(session, vec![ann.address()], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    host.seat.hold(snapshot(4)).unwrap();
    host.seat.hand_over(Some(bob.id()), Handover::Lobby, snapshot(5)).unwrap();
    until("nobody is better", &mut [&mut host], |it| {
        it.seat.next(Duration::ZERO).into_iter().for_each(|event| it.heard.push(event));
        it.heard.iter().any(|event| matches!(event, Event::NobodyBetter))
    });
    assert_eq!(host.shown().unwrap().role, Identification::Host);
}
