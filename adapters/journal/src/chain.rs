//! The checksum that ties a row to the row before it.
//!
//! A CRC-32 finds every burst of up to 32 bits for certain, so no flipped byte of a row passes; carrying the sum of the
//! row before finds rows that are missing, swapped or from elsewhere.

use mainstay_core::Timestamp;

use crate::types::{Epoch, Seq, ShardName};

/// The running checksum of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum(pub(crate) u32);

/// What the sum of a turn covers; borrowed, so that both records and rows can be summed.
pub(crate) struct TurnFields<'a> {
    pub(crate) first: Seq,
    pub(crate) count: u32,
    pub(crate) epoch: Epoch,
    pub(crate) at: Timestamp,
    pub(crate) bytes: &'a [u8],
}

impl Sum {
    /// Where the chain of a shard begins: its name, so that rows of another shard never fit.
    pub(crate) fn start(shard: &ShardName) -> Self {
        Self(crc32fast::hash(shard.as_str().as_bytes()))
    }

    /// The sum after one turn.
    pub(crate) fn turn(self, turn: &TurnFields<'_>) -> Self {
        let mut head = [0_u8; 32];
        head[..4].copy_from_slice(&self.0.to_le_bytes());
        head[4..12].copy_from_slice(&turn.first.0.to_le_bytes());
        head[12..16].copy_from_slice(&turn.count.to_le_bytes());
        head[16..24].copy_from_slice(&turn.epoch.0.to_le_bytes());
        head[24..].copy_from_slice(&turn.at.unix_ms().to_le_bytes());
        self.over(&[&head, turn.bytes])
    }

    /// The sum after one chunk of a snapshot.
    pub(crate) fn chunk(self, covers_below: Seq, index: u32, bytes: &[u8]) -> Self {
        self.over(&[&self.0.to_le_bytes(), &covers_below.0.to_le_bytes(), &index.to_le_bytes(), bytes])
    }

    fn over(self, parts: &[&[u8]]) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        for part in parts {
            hasher.update(part);
        }
        Self(hasher.finalize())
    }
}
