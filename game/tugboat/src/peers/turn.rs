//! What one tick brings to the peer-hosted game. The world's next state follows from its present one and this alone, so between
//! two snapshots a host gives its standbys no more.

use mainstay_peer::migration::PeerId;

use crate::peers::voice::{decode_helm, encode_helm};
use crate::world::Helm;

/// What happens to the game in one tick, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Turn {
    /// Each of it.
    pub changes: Vec<Change>,
}

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Somebody gets a boat.
    Boards(PeerId),
    /// Somebody is gone.
    Leaves(PeerId),
    /// Somebody moves its levers.
    Steers(PeerId, Helm),
    /// The host has heard somebody's horn.
    Hails(PeerId),
}

impl Turn {
    /// One after another: 0 to 3 as u8 for who boards, leaves, steers or hails, its peer u128; for who steers throttle i8 and rudder
    /// i8. Big-endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for change in &self.changes {
            let (kind, peer) = match change {
                Change::Boards(peer) => (0, peer),
                Change::Leaves(peer) => (1, peer),
                Change::Steers(peer, _) => (2, peer),
                Change::Hails(peer) => (3, peer),
            };
            out.push(kind);
            out.extend(peer.0.to_be_bytes());
            if let Change::Steers(_, helm) = change {
                out.extend(encode_helm(*helm));
            }
        }
        out
    }

    /// Reads [`Turn::encode`]'s form; `None` where the bytes are not exactly that.
    #[must_use]
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut changes = Vec::new();
        while let Some((kind, rest)) = bytes.split_first() {
            let (peer, rest) = rest.split_first_chunk()?;
            let peer = PeerId(u128::from_be_bytes(*peer));
            bytes = rest;
            changes.push(match kind {
                0 => Change::Boards(peer),
                1 => Change::Leaves(peer),
                2 => {
                    let (helm, rest) = bytes.split_first_chunk::<2>()?;
                    bytes = rest;
                    Change::Steers(peer, decode_helm(helm)?)
                }
                3 => Change::Hails(peer),
                _ => return None,
            });
        }
        Some(Self { changes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::harbour::Harbour;
    use proptest::prelude::*;

    fn change() -> impl Strategy<Value = Change> {
        // More peers than boats, so that some have none.
        let peer = || (0_u128..40).prop_map(PeerId);
        prop_oneof![
            peer().prop_map(Change::Boards),
            peer().prop_map(Change::Leaves),
            peer().prop_map(Change::Hails),
            (peer(), any::<i8>(), any::<i8>())
                .prop_map(|(peer, throttle, rudder)| Change::Steers(peer, Helm { throttle, rudder })),
        ]
    }

    proptest! {
        #[test]
        fn what_is_read_is_written_again(bytes in prop::collection::vec(0_u8..5, 0..60), changes in prop::collection::vec(change(), 0..20)) {
            let turn = Turn { changes };
            prop_assert_eq!(Turn::decode(&turn.encode()), Some(turn));
            if let Some(read) = Turn::decode(&bytes) {
                prop_assert_eq!(read.encode(), bytes);
            }
        }

        /// A new host that has a snapshot and what each tick brought has the very game.
        #[test]
        fn a_snapshot_and_its_turns_are_the_game(ticks in prop::collection::vec(prop::collection::vec(change(), 0..8), 1..30), snapshot_at in 0_usize..30) {
            let mut host = Harbour::new(7);
            let mut heir = None;
            for (at, changes) in ticks.into_iter().enumerate() {
                for change in changes {
                    match change {
                        Change::Boards(peer) => host.board(peer),
                        Change::Leaves(peer) => host.leave(peer),
                        Change::Steers(peer, helm) => host.steer(peer, helm),
                        Change::Hails(peer) => host.hail(peer),
                    }
                }
                let turn = host.step().encode();
                match &mut heir {
                    None if at >= snapshot_at => heir = Harbour::decode(&host.encode()),
                    None => {}
                    Some(heir) => Harbour::repeat(heir, Turn::decode(&turn).unwrap()),
                }
            }
            prop_assert_eq!(heir.unwrap_or_else(|| host.clone()), host);
        }
    }
}
