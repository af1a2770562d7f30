//! Places in a session: one at a time, and each by itself.

use mainstay_peer::link::Way;
use mainstay_peer::migration::{CanBeHost, Cause, Closed, End, Identification, PeerId, SessionId};
use mainstay_peer::{
    Event, GAME_BYTES_MAX, Joining, Over, Peer, PlayError, SayError, SeatError, SessionOptions, To,
};

use crate::{Player, is_linked, start, until};

/// A host and a member, each with its peer.
pub fn two(session: SessionOptions) -> ((Peer, Player), (Peer, Player)) {
    let (ann, bob) = (start(), start());
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let mut member = Player::new(&bob, bob.join(session, vec![ann.address()], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    ((ann, host), (bob, member))
}

pub fn over(player: &Player) -> Option<&Over> {
    player.heard.iter().find_map(|event| {
        let Event::Over(over) = event else { return None };
        Some(over)
    })
}

/// What comes over a link says which session it is for, and nothing else.
#[test]
fn who_is_in_takes_no_second_place() {
    let session = SessionOptions::new(SessionId(13));
    let ((ann, mut host), (bob, mut member)) = two(session);
    let doors = vec![ann.address()];
    let seconds = [ann.found(session, Vec::new()), bob.join(session, doors, Vec::new())];
    for second in seconds {
        assert!(matches!(second, Err(SeatError::Seated { session: SessionId(13) })), "{second:?}");
    }
    until("both play on", &mut [&mut host, &mut member], |it| is_linked(it, 2) && over(it).is_none());
}

/// A game that comes back puts the new seat where the old one is, which is dropped only then.
#[test]
fn a_seat_that_is_over_does_nothing_to_the_next() {
    let session = SessionOptions::new(SessionId(14));
    let ((ann, mut host), (bob, mut member)) = two(session);
    for _ in 0..2 {
        member.seat.leave().unwrap();
        until("it has left", &mut [&mut host, &mut member], |it| {
            it.me == ann.id() || over(it) == Some(&Over::Ended(End::Left))
        });
        member.heard.clear();
        member.seat = bob.join(session, vec![ann.address()], Vec::new()).unwrap();
        member.seat.set_can_be_host(CanBeHost::Yes).unwrap();
        until("it is back", &mut [&mut host, &mut member], |it| is_linked(it, 2));
        assert_eq!(over(&member), None);
    }
    // Nor does it wait for its end: what was asked first is done first.
    member.seat.leave().unwrap();
    member.seat = bob.join(session, vec![ann.address()], Vec::new()).unwrap();
    member.heard.clear();
    member.seat.set_can_be_host(CanBeHost::Yes).unwrap();
    until("it is back at once", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    assert_eq!(over(&member), None);
}

/// A program that drops its peer before its seats does not hang: it has left, and whoever holds a seat reads so.
#[test]
fn a_peer_that_is_dropped_leaves_with_all_its_seats() {
    let ((ann, mut host), (_bob, mut member)) = two(SessionOptions::new(SessionId(18)));
    drop(ann);
    host.listen();
    assert_eq!(over(&host), Some(&Over::Ended(End::Left)));
    assert!(host.seat.leave().is_err(), "there is nobody to tell");
    until("the other goes on", &mut [&mut member], |it| {
        it.shown().is_some_and(|it| it.role == Identification::Host)
    });
    assert!(member.moved().is_none_or(|(cause, _)| cause == Cause::Controlled));
}

/// It would make no use of its place: it is told why it lost it, and the others need not miss it first.
#[test]
fn a_game_that_reads_nothing_loses_its_place_and_is_told() {
    /// More than wait for a game.
    const UNREAD: usize = 5_000;
    let session = SessionOptions::new(SessionId(15));
    let ((_ann, mut host), (_bob, mut member)) = two(session);
    for _ in 0..UNREAD {
        member.seat.set("net_typo", "1").unwrap();
    }
    let me: PeerId = member.me;
    until("it is told", &mut [&mut member], |it| over(it) == Some(&Over::GameHung));
    until("it has gone", &mut [&mut host], |it| it.heard.contains(&Event::Gone(me)));
}

/// A game says what it has to say when it has its seat; how long it takes to be let in is not its matter.
#[test]
fn what_is_said_before_it_is_in_counts_once_it_is() {
    let session = SessionOptions::new(SessionId(16));
    let (ann, bob) = (start(), start());
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let mut member = Player::new(&bob, bob.join(session, vec![ann.address()], Vec::new()).unwrap());
    for (name, value) in
        [("net_show_host_identification", "1"), ("net_migrate_timeout", "0"), ("net_typo", "1")]
    {
        member.seat.set(name, value).unwrap();
    }
    assert_eq!(member.seat.play(b"ahoy".to_vec()), Err(PlayError::NotIn), "it has no player yet");
    // That it can be host it has said at once, too.
    until("it is next", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    assert_eq!(member.shown().unwrap().identification, Some(Identification::AnticipatedNewHost));
    let wrong = member.heard.iter().filter(|event| matches!(event, Event::NotSet(_)));
    assert_eq!(wrong.count(), 2);
    assert_eq!(member.seat.play(b"ahoy".to_vec()), Ok(()));
    let length = GAME_BYTES_MAX + 1;
    assert_eq!(member.seat.play(vec![0; length]), Err(PlayError::TooLong { length }));
    for way in [Way::Stream, Way::Datagram] {
        assert_eq!(member.seat.say(To::Host, way, vec![0; length]), Err(SayError::TooLong { length }));
    }
    member.seat.leave().unwrap();
    until("it has left", &mut [&mut member], |it| over(it).is_some());
    assert_eq!(member.seat.play(b"ahoy".to_vec()), Err(PlayError::NotIn));
}

/// A game that goes on need not let anybody in, in a session without a lobby either.
#[test]
fn a_closed_session_says_so_to_newcomers() {
    let session = SessionOptions::new(SessionId(31));
    let ((ann, mut host), (_bob, mut member)) = two(session);
    host.seat.set_joining(Joining::Closed).unwrap();
    let cat = start();
    let join = || Player::new(&cat, cat.join(session, vec![ann.address()], Vec::new()).unwrap());
    let mut newcomer = join();
    until("it is refused", &mut [&mut newcomer], |it| over(it) == Some(&Over::Refused(Closed::ToNewcomers)));
    drop(newcomer);
    host.seat.set_joining(Joining::Open).unwrap();
    let mut newcomer = join();
    until("three play", &mut [&mut host, &mut member, &mut newcomer], |it| is_linked(it, 3));
}
