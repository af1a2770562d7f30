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
}

impl Turn {
    /// One after another: 0, 1 or 2 as u8 for who boards, leaves or steers, its peer u128; for who steers throttle i8 and rudder
    /// i8. Big-endian.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for change in &self.changes {
            let (kind, peer) = match change {
                Change::Boards(peer) => (0, peer),
                Change::Leaves(peer) => (1, peer),
                Change::Steers(peer, _) => (2, peer),
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
                _ => return None,
            });
        }
        Some(Self { changes })
    }
}
