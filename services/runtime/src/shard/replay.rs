//! How a shard's state is rebuilt: the snapshot, then the turns after it.

use mainstay_core::StateMachine;
use mainstay_journal::{Leadership, PAGE_TURNS_MAX, ShardName};

use crate::codec::Codec;
use crate::error::StartError;
use crate::journal::JournalHandle;

/// Leads first, so that nobody appends meanwhile, then reads in pages, between which other shards' batches go on.
pub(super) async fn replay<S: StateMachine, C: Codec<S>>(
    journal: &JournalHandle,
    shard: ShardName,
    mut state: S,
    codec: &C,
) -> Result<(S, Leadership), StartError> {
    let name = shard.clone();
    let leadership = journal
        .work(move |journal| journal.lead(&name))
        .await?
        .map_err(|cause| StartError::Lead { shard: shard.clone(), cause })?;
    let read = |cause| StartError::Read { shard: shard.clone(), cause };
    let mut next = leadership.head.replay_from();
    if let Some(snapshot) = leadership.head.snapshot {
        for index in 0..snapshot.chunks {
            let name = shard.clone();
            let chunk = journal
                .work(move |journal| journal.snapshot_chunk(&name, &snapshot, index))
                .await?
                .map_err(read)?;
            let events = codec.decode_snapshot(&chunk);
            let decode = |cause| StartError::Decode { shard: shard.clone(), at: next, cause };
            for (at, event) in events.map_err(decode)? {
                state.apply(at, &event);
            }
        }
    }
    while next < leadership.head.next {
        let name = shard.clone();
        let page =
            journal.work(move |journal| journal.read(&name, next, PAGE_TURNS_MAX)).await?.map_err(read)?;
        if page.is_empty() {
            let gap = (leadership.head.next, next);
            return Err(StartError::Gap { shard, expected: next, found: gap.0 });
        }
        for turn in page {
            if turn.first != next {
                return Err(StartError::Gap { shard, expected: next, found: turn.first });
            }
            let decode = |cause| StartError::Decode { shard: shard.clone(), at: turn.first, cause };
            for event in codec.decode(&turn.bytes).map_err(decode)? {
                state.apply(turn.at, &event);
            }
            next = turn.next();
        }
    }
    Ok((state, leadership))
}
