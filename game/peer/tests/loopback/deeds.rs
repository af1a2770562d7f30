//! What members do comes out at their host: all of it, once and in its order, over whatever line.

use std::thread;
use std::time::{Duration, Instant};

use mainstay_peer::migration::{Kind, PeerId, Piece, SessionId, Tick};
use mainstay_peer::{Event, SessionOptions};

use crate::{PATIENCE, Player, line, start, until};

/// How often a host's game gives a state.
const TICK: Duration = Duration::from_millis(50);

/// A host's game: it gives a state each tick, and has been given so many deeds of that member.
fn deeds(host: &mut Player, of: PeerId, tick: u64) -> Vec<u64> {
    host.seat.hold(Piece { tick: Tick(tick), kind: Kind::Snapshot, bytes: Vec::new() }).unwrap();
    host.listen();
    let numbers = host.heard.iter().filter_map(|event| {
        let Event::Apply { from, number, .. } = event else { return None };
        (*from == of).then_some(*number)
    });
    numbers.collect()
}

/// Runs both games until all that was done has come out.
#[track_caller]
fn all_come_out(host: &mut Player, member: &mut Player, done: u64, mut play: impl FnMut(&mut Player, u64)) {
    let until = Instant::now() + PATIENCE;
    for tick in 1.. {
        play(member, tick);
        member.listen();
        let deeds = deeds(host, member.me, tick);
        assert!(deeds.iter().copied().eq(1..=deeds.len() as u64), "a gap: {deeds:?}");
        if deeds.len() as u64 == done {
            return;
        }
        assert!(Instant::now() < until, "{} of {done}", deeds.len());
        thread::sleep(TICK);
    }
}

/// Seed 000's session loses no player's input, and no line is without loss: four in a hundred datagrams are lost here, and one in nine
/// is overtaken by others. Eighty deeds a second; each travels by itself.
#[test]
fn what_is_done_comes_out_over_a_line_that_loses_and_reorders() {
    const DONE: u64 = 320;
    let (ann, bob) = (start(), start());
    let session = SessionOptions::new(SessionId(11));
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let door = line::to(ann.address());
    let mut member = Player::new(&bob, bob.join(session, vec![door], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| {
        it.shown().is_some_and(|shown| shown.members.len() == 2)
    });
    let mut done = 0;
    all_come_out(&mut host, &mut member, DONE, |member, _| {
        for _ in 0..4_u64.min(DONE - done) {
            done += 1;
            member.seat.play(done.to_be_bytes().to_vec()).unwrap();
        }
    });
    assert_eq!(done, DONE);
}

/// More at once than a link takes: as after a move, when everything is said again that no state holds.
#[test]
fn a_burst_of_deeds_comes_out() {
    const DONE: u64 = 400;
    let (ann, bob) = (start(), start());
    let session = SessionOptions::new(SessionId(12));
    let mut host = Player::new(&ann, ann.found(session, Vec::new()).unwrap());
    let mut member = Player::new(&bob, bob.join(session, vec![ann.address()], Vec::new()).unwrap());
    until("two play", &mut [&mut host, &mut member], |it| {
        it.shown().is_some_and(|shown| shown.members.len() == 2)
    });
    all_come_out(&mut host, &mut member, DONE, |member, tick| {
        if tick == 1 {
            (1..=DONE).for_each(|number| member.seat.play(number.to_be_bytes().to_vec()).unwrap());
        }
    });
}
