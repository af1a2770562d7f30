//! What a game says over a stream comes to whom it was said to, or the game hears that it does not; and what the rules say comes through
//! whatever the game says.

use mainstay_peer::link::{Obstacle, Way};
use mainstay_peer::migration::{Kind, PeerId, Piece, SessionId, Tick};
use mainstay_peer::{Event, NotCarried, Peer, SessionOptions, To};

use crate::seats::two;
use crate::{Player, is_linked, line, start, until};

/// How many messages for that peer are said not to have come.
fn not_carried(player: &Player, to: PeerId) -> u64 {
    let told = player.heard.iter().filter_map(|event| {
        let Event::NotCarried(NotCarried { peer, count, .. }) = event else { return None };
        (*peer == to).then_some(*count)
    });
    told.sum()
}

fn heard(player: &Player) -> u64 {
    player.heard.iter().filter(|event| matches!(event, Event::FromHost { .. })).count() as u64
}

/// More at once than a link takes: whatever does not come is counted, and nothing is lost besides.
#[test]
fn whatever_is_said_over_a_stream_comes_or_is_told_not_to() {
    /// Less than a game may leave unread, and more bytes than wait.
    const SAID: u64 = 1_200;
    let ((_ann, mut host), (_bob, mut member)) = two(SessionOptions::new(SessionId(45)));
    let to = member.me;
    for _ in 0..SAID {
        host.seat.say(To::Members, Way::Stream, vec![7; 32 * 1024]).unwrap();
    }
    let mut came = 0;
    until("all of it came or is told not to", &mut [&mut member, &mut host], |it| {
        came = came.max(heard(it));
        it.me == to || came + not_carried(it, to) == SAID
    });
    assert!(came < SAID, "the link had room for all of it");
    // And a moment later there is room again.
    host.seat.say(To::Members, Way::Stream, b"ahoy".to_vec()).unwrap();
    until("it comes", &mut [&mut member], |it| heard(it) == came + 1);
    host.listen();
    assert_eq!(came + not_carried(&host, to), SAID);
}

/// A burst of a tick is no burden.
#[test]
fn a_burst_comes_whole() {
    let ((_ann, host), (_bob, mut member)) = two(SessionOptions::new(SessionId(46)));
    for number in 0..900_u64 {
        host.seat.say(To::Members, Way::Stream, number.to_be_bytes().to_vec()).unwrap();
    }
    until("all of it came", &mut [&mut member], |it| heard(it) == 900);
}

/// To whom there is no link nothing comes, and the game hears it.
#[test]
fn what_has_no_link_is_told_not_to_come() {
    let ((_ann, mut host), (_bob, mut member)) = two(SessionOptions::new(SessionId(47)));
    let (nobody, to) = (PeerId(7), member.me);
    host.seat.say(To::Member(nobody), Way::Stream, b"ahoy".to_vec()).unwrap();
    host.seat.say(To::Member(nobody), Way::Datagram, b"ahoy".to_vec()).unwrap();
    until("it is told", &mut [&mut host], |it| not_carried(it, nobody) == 1);
    let why = NotCarried { peer: nobody, count: 1, first: Obstacle::NoLink };
    assert!(host.heard.contains(&Event::NotCarried(why)));
    // Of the datagram, which was said after it, nothing is told: a message that the member hears was said later still.
    host.seat.say(To::Member(to), Way::Stream, b"ahoy".to_vec()).unwrap();
    until("it comes", &mut [&mut member, &mut host], |it| it.me != to || heard(it) == 1);
    assert_eq!(not_carried(&host, nobody), 1);
}

/// A host and a member that a narrow line leads to.
fn two_far_apart(id: u128) -> ((Peer, Player), (Peer, Player)) {
    let (ann, bob) = (start(), start());
    let session = SessionOptions::new(SessionId(id));
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let doors = vec![line::narrow(ann.address())];
    let mut member = Player::new(&bob, bob.join(session, doors, Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| is_linked(it, 2));
    ((ann, host), (bob, member))
}

fn is_durable(player: &Player, tick: u64) -> bool {
    player.heard.iter().any(|event| matches!(event, Event::Durable(state) if state.tick == Tick(tick)))
}

/// What a game says over streams fills the line for eight seconds. The state that was given after all of it is held before most of it came,
/// and nobody misses the host.
#[test]
fn the_rules_do_not_wait_behind_what_a_game_says_over_streams() {
    /// As many as wait.
    const SAID: u64 = 120;
    let ((_ann, mut host), (_bob, mut member)) = two_far_apart(48);
    let to = member.me;
    for _ in 0..SAID {
        host.seat.say(To::Members, Way::Stream, vec![7; 16 * 1024]).unwrap();
    }
    host.seat.hold(Piece { tick: Tick(1), kind: Kind::Snapshot, bytes: vec![1; 16 * 1024] }).unwrap();
    until("the state is held", &mut [&mut member, &mut host], |it| it.me == to || is_durable(it, 1));
    let came = heard(&member);
    assert!(came < SAID / 2, "{came} messages came before it");
    until("and all of it comes", &mut [&mut member, &mut host], |it| it.me != to || heard(it) == SAID);
    assert_eq!((host.moved(), member.moved(), not_carried(&host, to)), (None, None, 0));
}

/// A game that says ten times as much in datagrams as the line carries, for as long as it takes to miss a host five times: states come
/// through, and nobody misses anybody.
#[test]
fn the_rules_do_not_wait_behind_what_a_game_says_in_datagrams() {
    const COME: u64 = 1_000;
    let ((_ann, mut host), (_bob, mut member)) = two_far_apart(49);
    let (to, stamp) = (member.me, host.shown().unwrap().stamp);
    let mut tick = 0;
    until("enough of it came", &mut [&mut member, &mut host], |it| {
        if it.me == to {
            return heard(it) >= COME;
        }
        for _ in 0..64 {
            it.seat.say(To::Members, Way::Datagram, vec![7; 1_000]).unwrap();
        }
        if tick == 0 || is_durable(it, tick) {
            tick += 1;
            let piece = Piece { tick: Tick(tick), kind: Kind::Snapshot, bytes: vec![1; 4 * 1024] };
            it.seat.hold(piece).unwrap();
        }
        true
    });
    assert!(tick > 5, "{tick} states in {COME} datagrams");
    assert_eq!((host.moved(), member.moved()), (None, None));
    assert_eq!((host.shown().unwrap().stamp, member.shown().unwrap().stamp), (stamp, stamp));
}
