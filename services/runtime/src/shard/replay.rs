//! How a shard's state is rebuilt: the snapshot, then the turns after it.

use mainstay_core::StateMachine;
use mainstay_journal::{Head, Leadership, PAGE_TURNS_MAX, ShardName};

use crate::codec::Codec;
use crate::error::StartError;
use crate::journal::JournalHandle;

/// How often a replay begins anew: a journal is made short once in many thousand turns.
const BEGINNINGS_MAX: usize = 3;

/// Leads first, so that nobody appends meanwhile, then reads in pages, between which other shards' batches go on. What is read may be
/// deleted meanwhile, by whoever makes the journal short: then it begins anew, with the snapshot that stands in its place.
pub(super) async fn replay<S: StateMachine + Clone, C: Codec<S>>(
    journal: &JournalHandle,
    shard: ShardName,
    initial: &S,
    codec: &C,
) -> Result<(S, Leadership), StartError> {
    let name = shard.clone();
    let mut leadership = journal
        .work(move |journal| journal.lead(&name))
        .await?
        .map_err(|cause| StartError::Lead { shard: shard.clone(), cause })?;
    let mut beginnings = 1;
    loop {
        // A state is large, and so is a future that holds one.
        let error = match Box::pin(read(journal, &leadership.head, initial, codec)).await {
            Ok(state) => return Ok((state, leadership)),
            Err(error) => error,
        };
        let name = shard.clone();
        let head = journal.work(move |journal| journal.head(&name)).await?.ok().flatten();
        match head.filter(|head| head.snapshot != leadership.head.snapshot) {
            Some(head) if beginnings < BEGINNINGS_MAX => leadership.head = head,
            Some(_) | None => return Err(error),
        }
        beginnings += 1;
    }
}

async fn read<S: StateMachine + Clone, C: Codec<S>>(
    journal: &JournalHandle,
    head: &Head,
    initial: &S,
    codec: &C,
) -> Result<S, StartError> {
    let mut state = initial.clone();
    let shard = head.shard.clone();
    let read = |cause| StartError::Read { shard: shard.clone(), cause };
    let mut next = head.replay_from();
    if let Some(snapshot) = head.snapshot {
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
    while next < head.next {
        let name = shard.clone();
        let page =
            journal.work(move |journal| journal.read(&name, next, PAGE_TURNS_MAX)).await?.map_err(read)?;
        if page.is_empty() {
            return Err(StartError::Gap { shard, expected: next, found: head.next });
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
    Ok(state)
}
