//! Any conversation to the demo game: after each tick its world can be read back, and no more play than may.

use std::net::SocketAddr;
use std::time::Duration;

use crate::packets;
use mainstay_tugboat::game::{Game, Output, TICK};
use mainstay_tugboat::message::{MESSAGE_BYTES_MAX, Reply};
use mainstay_tugboat::world::World;

/// Feeds one input; panics where a promise is broken.
pub fn run(bytes: &[u8]) {
    let mut game = Game::new(1, 3, || 0x0101_0101);
    let mut now = Duration::ZERO;
    for packet in packets(bytes) {
        let from =
            SocketAddr::from(([127, 0, 0, 1], u16::from(packet.first().copied().unwrap_or_default()) % 5));
        let body = packet.get(1..).unwrap_or_default();
        let mut outputs = game.receive(now, from, body, Some("7a1e6f0a-53c6-4d1e-9d35-0d6c3e0f8a11"));
        for output in &outputs {
            if let Output::Send(_, answer) = output {
                assert!(answer.len() <= body.len().max(13), "a stranger gains by asking");
            }
        }
        now += TICK * 7;
        outputs.extend(game.tick(now, None));
        for output in outputs {
            if let Output::Send(_, message) = output {
                assert!(message.len() <= MESSAGE_BYTES_MAX);
                assert!(Reply::decode(&message).is_ok(), "{message:?}");
            }
        }
        assert!(game.players(now).len() <= game.players_max());
        assert_eq!(World::decode(&game.world().encode()).as_ref(), Some(game.world()));
    }
}
