//! Any conversation to the responders, with a token that a lucky input can hit: answers fit a datagram, and only a spent
//! token buys more than a challenge.

use std::net::SocketAddr;
use std::time::Duration;

use crate::packets;
use mainstay_query::{DATAGRAM_BYTES_MAX, Player, Status, a2s, sqp};

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first() else { return };
    let name = "ä".repeat(usize::from(*length));
    let status = Status {
        players: vec![
            Player { name: name.clone(), score: -1, connected: Duration::MAX };
            usize::from(*length) * 2
        ],
        rules: vec![(name.clone(), name.clone()); usize::from(*length)],
        metrics: vec![f32::NAN; usize::from(*length)],
        name,
        ..Status::default()
    };
    let mut sqp = sqp::Responder::new(|| 0x0101_0101);
    let mut a2s = a2s::Responder::new(|| 0x0101_0101);
    let (mut sqp_challenges, mut a2s_challenges) = (0, 0);
    for (number, packet) in packets(rest).enumerate() {
        let now = Duration::from_secs(number as u64);
        let from = SocketAddr::from(([127, 0, 0, 1], packet.len() as u16 % 3));
        if let Some(answer) = sqp.handle(now, from, packet, &status) {
            assert!(answer.len() <= DATAGRAM_BYTES_MAX);
            if answer.len() == 5 { sqp_challenges += 1 } else { sqp_challenges -= 1 }
        }
        if let Some(answer) = a2s.handle(now, from, packet, &status) {
            assert!(answer.len() <= DATAGRAM_BYTES_MAX);
            if answer.len() == 9 && answer[4] == b'A' { a2s_challenges += 1 } else { a2s_challenges -= 1 }
        }
        assert!(sqp_challenges >= 0 && a2s_challenges >= 0, "more told than challenged");
    }
}
