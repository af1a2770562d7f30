//! "Graceful leave: … zero messages lost": what is said over a stream comes to the host that there is by then, or to its members, once, while the
//! session is given from one to the other and back over a line that loses and reorders.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use mainstay_peer::link::Way;
use mainstay_peer::migration::{Handover, Identification, Kind, PeerId, Piece, SessionId, Tick};
use mainstay_peer::{Event, Peer, SessionOptions, To};

use crate::{PATIENCE, Player, STEP, is_linked, line, start, until};

/// How often the session is given away.
const MOVES: u64 = 6;
/// How many words each says between two of those.
const WORDS: u64 = 12;

fn piece(tick: u64) -> Piece {
    Piece { tick: Tick(tick), kind: Kind::Snapshot, bytes: b"harbour".to_vec() }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes.try_into().unwrap())
}

/// Who said which words to this one, as far as it has heard: 0 stands for hosts.
fn heard(player: &Player) -> BTreeMap<PeerId, Vec<u64>> {
    let mut words: BTreeMap<PeerId, Vec<u64>> = BTreeMap::new();
    for event in &player.heard {
        if let Event::FromMember { peer, bytes } = event {
            words.entry(*peer).or_default().push(number(bytes));
        } else if let Event::FromHost { bytes, .. } = event {
            words.entry(PeerId(0)).or_default().push(number(bytes));
        }
    }
    words
}

#[test]
fn every_word_comes_once_while_the_session_is_given_to_and_fro() {
    let peers: [Peer; 3] = std::array::from_fn(|_| start());
    let session = SessionOptions::new(SessionId(31));
    let [ann, bob, cat] = &peers;
    let mut ann = Player::new(ann, ann.found(session, Vec::new()).unwrap());
    let door = line::to(peers[0].address());
    let mut bob = Player::new(bob, bob.join(session, vec![door], Vec::new()).unwrap());
    until("two play", &mut [&mut ann, &mut bob], |it| is_linked(it, 2));
    // Nobody else could dial where that line ends.
    let doors = vec![peers[0].address(), peers[1].address()];
    let mut cat = Player::new(cat, cat.join(session, doors, Vec::new()).unwrap());
    until("three play", &mut [&mut ann, &mut bob, &mut cat], |it| is_linked(it, 3));
    let mut players = [ann, bob, cat];
    let mut said_by_hosts: [Vec<u64>; 3] = Default::default();
    let mut said_to_hosts: [Vec<u64>; 3] = Default::default();
    for moves in 0..MOVES {
        let is_host = |it: &Player| it.shown().is_some_and(|shown| shown.role == Identification::Host);
        let host = players.iter().position(is_host).unwrap();
        players[host].seat.hold(piece(moves)).unwrap();
        for word in moves * WORDS..(moves + 1) * WORDS {
            for (index, player) in players.iter().enumerate() {
                if index == host {
                    player.seat.say(To::Members, Way::Stream, word.to_be_bytes().to_vec()).unwrap();
                    said_by_hosts[index].push(word);
                }
                // The host's too: a game may be host before it has read so.
                player.seat.say(To::Host, Way::Stream, word.to_be_bytes().to_vec()).unwrap();
                said_to_hosts[index].push(word);
            }
        }
        // Of what its members have said by now its game has read one at most.
        if let Some(event) = players[host].seat.next(Duration::ZERO) {
            players[host].heard.push(event);
        }
        let to = players[(host + 1) % players.len()].me;
        let epoch = players[host].shown().unwrap().stamp.epoch;
        let [ann, bob, cat] = &mut players;
        until("it is given to the next", &mut [ann, bob, cat], |it| {
            let shown = it.shown().unwrap();
            if shown.role == Identification::Host && shown.stamp.epoch == epoch {
                it.seat.hand_over(Some(to), Handover::Lobby, piece(moves)).unwrap();
            }
            shown.leader == to && shown.stamp.epoch > epoch
        });
    }
    let ids: Vec<PeerId> = players.iter().map(|it| it.me).collect();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let mut missing = Vec::new();
        let mut by_members: BTreeMap<PeerId, Vec<u64>> = BTreeMap::new();
        for (index, player) in players.iter_mut().enumerate() {
            player.listen();
            let mut words = heard(player);
            let mut by_hosts = words.remove(&PeerId(0)).unwrap_or_default();
            by_hosts.sort_unstable();
            let others = (0..ids.len()).filter(|other| *other != index);
            let mut said: Vec<u64> = others.flat_map(|other| said_by_hosts[other].clone()).collect();
            said.sort_unstable();
            if by_hosts != said {
                missing.push((player.me, by_hosts, said));
            }
            words.into_iter().for_each(|(from, words)| by_members.entry(from).or_default().extend(words));
        }
        for (id, said) in ids.iter().zip(&said_to_hosts) {
            let mut words = by_members.remove(id).unwrap_or_default();
            words.sort_unstable();
            if words != *said {
                missing.push((*id, words, said.clone()));
            }
        }
        if missing.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "who, what came, what was said: {missing:?}");
        std::thread::sleep(STEP);
    }
}
