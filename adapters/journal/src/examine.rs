//! Reads all of what is kept, and believes nothing it did not check: for `mainstay doctor`.
//!
//! A start reads from the latest snapshot on. This reads from the oldest turn that is kept, and every chunk of the
//! snapshot, so that damage is found before anybody needs what it lies in.

use crate::error::ReadError;
use crate::port::{Head, PAGE_TURNS_MAX, Reader};
use crate::walk::damaged;

/// What a shard's chain came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Walked {
    /// Turns that were read, each checked against its sum and the turn before.
    pub turns: u64,
    /// The events in them.
    pub events: u64,
    /// Chunks of the snapshot.
    pub chunks: u64,
}

impl std::ops::AddAssign for Walked {
    fn add_assign(&mut self, other: Self) {
        self.turns += other.turns;
        self.events += other.events;
        self.chunks += other.chunks;
    }
}

/// Reads a shard's snapshot and every turn that is kept, up to where `head` says that it ends.
///
/// # Errors
/// The first damage, or the store failing.
pub fn walk(reader: &mut impl Reader, head: &Head) -> Result<Walked, ReadError> {
    let mut walked = Walked::default();
    if let Some(snapshot) = &head.snapshot {
        for index in 0..snapshot.chunks {
            let _checked = reader.snapshot_chunk(&head.shard, snapshot, index)?;
            walked.chunks += 1;
        }
    }
    // A running compactor deletes the oldest turns: what it has deleted meanwhile lies below the snapshot.
    let mut next = head.oldest;
    while next < head.next {
        let page = match reader.read(&head.shard, next, PAGE_TURNS_MAX) {
            Err(ReadError::Compacted { oldest, .. }) if oldest > next && oldest <= head.next => {
                next = oldest;
                continue;
            }
            page => page?,
        };
        if page.is_empty() {
            return Err(damaged(&head.shard, next, "turns are missing"));
        }
        for turn in page.iter().take_while(|turn| turn.first < head.next) {
            walked.turns += 1;
            walked.events += u64::from(turn.count);
            next = turn.next();
        }
    }
    Ok(walked)
}
