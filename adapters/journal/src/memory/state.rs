//! What the store in memory holds, and its rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::Timestamp;

use super::{Crash, Fault, Room, Tenancy};
use crate::chain::Sum;
use crate::error::{AppendError, LeadError, LeaseError, MaintainError, ReadError};
use crate::port::{
    Appended, EVENT_BYTES_MAX, FORGET_STEP_TURNS_MAX, Forgot, Head, LEASE, Leadership, Lease, PAGE_BYTES_MAX,
    PAGE_TURNS_MAX, SnapshotHead, Space,
};
use crate::types::{Epoch, Seq, ShardName, TurnRecord};

/// One life of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) node: Arc<str>,
    pub(super) incarnation: u64,
}

/// What the store knows of a node: its latest life.
#[derive(Debug)]
struct Node {
    incarnation: u64,
    life: Life,
}

#[derive(Debug)]
enum Life {
    Leased { until: Timestamp },
    Dead,
}

#[derive(Debug)]
struct Shard {
    head: Head,
    owner: Option<Owner>,
    /// By first event.
    turns: BTreeMap<Seq, TurnRecord>,
    chunks: Vec<Vec<u8>>,
    draft: Option<Draft>,
}

#[derive(Debug)]
struct Draft {
    owner: Owner,
    below: Seq,
    sum: Sum,
    chunks: Vec<Vec<u8>>,
}

#[derive(Debug)]
pub(super) struct State {
    tenancy: Tenancy,
    pub(super) now: Timestamp,
    pub(super) armed: Option<Fault>,
    pub(super) room: Room,
    /// Written, not synced.
    pub(super) written: Option<(Owner, Vec<TurnRecord>)>,
    nodes: BTreeMap<Arc<str>, Node>,
    shards: BTreeMap<ShardName, Shard>,
}

impl State {
    pub(super) const fn new(tenancy: Tenancy) -> Self {
        Self {
            tenancy,
            now: Timestamp::EPOCH,
            armed: None,
            room: Room::Ample,
            written: None,
            nodes: BTreeMap::new(),
            shards: BTreeMap::new(),
        }
    }

    pub(super) fn register(&mut self, owner: &Owner) {
        if self.tenancy == Tenancy::Exclusive {
            self.nodes.clear();
        }
        let life = Life::Leased { until: self.now + LEASE };
        let _older =
            self.nodes.insert(Arc::clone(&owner.node), Node { incarnation: owner.incarnation, life });
    }

    pub(super) fn crash(&mut self, crash: Crash) {
        self.armed = None;
        let Some((_owner, turns)) = self.written.take() else { return };
        let kept = match crash {
            Crash::Keeps => turns.len(),
            Crash::Drops => 0,
            Crash::Tears { turns: kept } => kept,
        };
        if self.check(&turns).is_ok() {
            turns.into_iter().take(kept).for_each(|turn| self.keep(turn));
        }
    }

    /// Whether this life may still do anything.
    pub(super) fn alive(&self, owner: &Owner) -> Result<(), AppendError> {
        if self.is_current(owner) {
            Ok(())
        } else {
            Err(AppendError::Io { cause: format!("incarnation {} has ended", owner.incarnation).into() })
        }
    }

    fn is_current(&self, owner: &Owner) -> bool {
        self.nodes.get(&owner.node).is_some_and(|node| {
            node.incarnation == owner.incarnation && matches!(node.life, Life::Leased { .. })
        })
    }

    pub(super) fn write(&mut self, owner: &Owner, batch: &[TurnRecord]) -> Result<(), AppendError> {
        if self.tenancy == Tenancy::Exclusive {
            self.alive(owner)?;
        }
        self.check(batch)?;
        if let Room::Reserve { left_bytes } = &mut self.room {
            let needed = batch.iter().map(|turn| turn.bytes.len() as u64).sum::<u64>();
            match left_bytes.checked_sub(needed) {
                Some(left) => *left_bytes = left,
                None => return Err(AppendError::Full { cause: "the reserve in memory is used up".into() }),
            }
        }
        self.written = Some((owner.clone(), batch.to_vec()));
        Ok(())
    }

    pub(super) fn sync(&mut self, owner: &Owner) -> Result<Appended, AppendError> {
        let turns = match self.written.take() {
            Some((by, turns)) if by == *owner => turns,
            other => {
                self.written = other;
                Vec::new()
            }
        };
        self.check(&turns)?;
        let fault = self.armed.take();
        let durable = match fault {
            None | Some(Fault::AnswerLost) => turns,
            Some(Fault::SyncFails | Fault::RequestLost | Fault::Unavailable) => Vec::new(),
        };
        for turn in durable {
            self.keep(turn);
        }
        match fault {
            None => Ok(Appended { space: self.space() }),
            Some(Fault::SyncFails) => Err(AppendError::Io { cause: "the sync was told to fail".into() }),
            Some(Fault::AnswerLost) => Err(AppendError::UnknownOutcome { cause: "no answer came".into() }),
            Some(Fault::RequestLost) => Err(AppendError::UnknownOutcome { cause: "no answer came".into() }),
            Some(Fault::Unavailable) => Err(AppendError::Unavailable { cause: "the store is away".into() }),
        }
    }

    pub(super) const fn space(&self) -> Space {
        match self.room {
            Room::Ample => Space::Ample,
            Room::Reserve { left_bytes } => Space::Reserve { left_bytes },
        }
    }

    /// Epoch and sequence of every turn, without writing.
    fn check(&self, batch: &[TurnRecord]) -> Result<(), AppendError> {
        let mut nexts: BTreeMap<&ShardName, Seq> = BTreeMap::new();
        for turn in batch {
            let head = self.shards.get(&turn.shard).map(|shard| &shard.head);
            let current = head.map_or(Epoch::NONE, |head| head.epoch);
            let shard = turn.shard.clone();
            if head.is_none() || turn.epoch != current {
                return Err(AppendError::Fenced { shard, held: turn.epoch, current });
            }
            let next = nexts.entry(&turn.shard).or_insert(head.map_or(Seq::FIRST, |head| head.next));
            if turn.first != *next || turn.count == 0 {
                return Err(AppendError::SequenceMismatch { shard, expected: *next, found: turn.first });
            }
            *next = turn.next();
        }
        Ok(())
    }

    fn keep(&mut self, turn: TurnRecord) {
        if let Some(shard) = self.shards.get_mut(&turn.shard) {
            shard.head.next = turn.next();
            shard.head.last_at = shard.head.last_at.max(turn.at);
            let _none = shard.turns.insert(turn.first, turn);
        }
    }

    pub(super) fn renew(&mut self, owner: &Owner) -> Result<Lease, LeaseError> {
        if !self.is_current(owner) {
            return Err(LeaseError::Dead { incarnation: owner.incarnation });
        }
        match self.tenancy {
            Tenancy::Exclusive => Ok(Lease::Exclusive),
            Tenancy::Leased => {
                let life = Life::Leased { until: self.now + LEASE };
                let node = Node { incarnation: owner.incarnation, life };
                let _older = self.nodes.insert(Arc::clone(&owner.node), node);
                Ok(Lease::Until { valid: LEASE })
            }
        }
    }

    pub(super) fn lead(&mut self, owner: &Owner, name: &ShardName) -> Result<Leadership, LeadError> {
        if !self.is_current(owner) {
            return Err(LeadError::Dead { incarnation: owner.incarnation });
        }
        let held_by = self.shards.get(name).and_then(|shard| shard.owner.clone());
        if let Some(old) = held_by
            && old != *owner
            && let Some(node) = self.nodes.get_mut(&old.node)
            && node.incarnation == old.incarnation
            && let Life::Leased { until } = node.life
        {
            if self.now < until {
                let left = until.since(self.now).as_millis();
                let left_ms = u64::try_from(left).unwrap_or(u64::MAX);
                return Err(LeadError::Held { shard: name.clone(), node: old.node.to_string(), left_ms });
            }
            node.life = Life::Dead;
        }
        let shard = self.shards.entry(name.clone()).or_insert_with(|| Shard::new(name));
        shard.head.epoch = shard.head.epoch.next();
        shard.owner = Some(owner.clone());
        Ok(Leadership { head: shard.head.clone() })
    }

    pub(super) fn heads(&self) -> Vec<Head> {
        self.shards.values().map(|shard| shard.head.clone()).collect()
    }

    pub(super) fn head(&self, name: &ShardName) -> Option<Head> {
        self.shards.get(name).map(|shard| shard.head.clone())
    }

    pub(super) fn read(
        &self,
        name: &ShardName,
        from: Seq,
        turns_max: u32,
    ) -> Result<Vec<TurnRecord>, ReadError> {
        let Some(shard) = self.shards.get(name) else { return Ok(Vec::new()) };
        if from >= shard.head.next {
            return Ok(Vec::new());
        }
        if from < shard.head.oldest {
            return Err(ReadError::Compacted { shard: name.clone(), oldest: shard.head.oldest });
        }
        let holder = shard.turns.range(..=from).next_back().map_or(from, |(first, _)| *first);
        let turns_max = usize::try_from(turns_max.clamp(1, PAGE_TURNS_MAX)).unwrap_or(1);
        let mut turns = Vec::new();
        let mut bytes = 0;
        for turn in shard.turns.range(holder..).map(|(_, turn)| turn).take(turns_max) {
            bytes += turn.bytes.len();
            turns.push(turn.clone());
            if bytes >= PAGE_BYTES_MAX {
                break;
            }
        }
        Ok(turns)
    }

    pub(super) fn snapshot_chunk(
        &self,
        name: &ShardName,
        snapshot: &SnapshotHead,
        index: u32,
    ) -> Result<Vec<u8>, ReadError> {
        let found = self.shards.get(name).filter(|shard| shard.head.snapshot.as_ref() == Some(snapshot));
        let chunk = found.and_then(|shard| shard.chunks.get(usize::try_from(index).ok()?));
        chunk.cloned().ok_or_else(|| ReadError::Damaged {
            shard: name.clone(),
            at: snapshot.covers_below,
            what: "a chunk of the snapshot is missing",
        })
    }

    pub(super) fn write_chunk(
        &mut self,
        owner: &Owner,
        name: &ShardName,
        below: Seq,
        index: u32,
        bytes: &[u8],
    ) -> Result<(), MaintainError> {
        let shard = shard_of(&mut self.shards, name)?;
        let misuse = |what| Err(MaintainError::Misuse { shard: name.clone(), what });
        if bytes.len() > EVENT_BYTES_MAX {
            return misuse("the chunk is larger than 8 MiB");
        }
        if below > shard.head.next
            || shard.head.snapshot.is_some_and(|snapshot| below <= snapshot.covers_below)
        {
            return misuse("it covers nothing new, or what is not durable");
        }
        if index == 0 {
            let sum = Sum::start(name);
            shard.draft = Some(Draft { owner: owner.clone(), below, sum, chunks: Vec::new() });
        }
        match &mut shard.draft {
            Some(draft)
                if draft.owner == *owner
                    && draft.below == below
                    && draft.chunks.len() as u64 == index.into() =>
            {
                draft.sum = draft.sum.chunk(below, index, bytes);
                draft.chunks.push(bytes.to_vec());
                Ok(())
            }
            Some(_) | None => misuse("the chunk is out of order"),
        }
    }

    pub(super) fn finish(
        &mut self,
        name: &ShardName,
        below: Seq,
        at: Timestamp,
    ) -> Result<SnapshotHead, MaintainError> {
        let shard = shard_of(&mut self.shards, name)?;
        let misuse = |what| Err(MaintainError::Misuse { shard: name.clone(), what });
        if below != shard.head.next && !shard.turns.contains_key(&below) {
            return misuse("it ends within a turn");
        }
        match shard.draft.take() {
            Some(draft) if draft.below == below => {
                let chunks = u32::try_from(draft.chunks.len()).unwrap_or(u32::MAX);
                let snapshot = SnapshotHead { covers_below: below, at, chunks, sum: draft.sum.0 };
                shard.head.snapshot = Some(snapshot);
                shard.chunks = draft.chunks;
                Ok(snapshot)
            }
            other => {
                shard.draft = other;
                misuse("no chunk of it was written")
            }
        }
    }

    pub(super) fn forget(
        &mut self,
        name: &ShardName,
        below: Seq,
        turns_max: u32,
    ) -> Result<Forgot, MaintainError> {
        let shard = shard_of(&mut self.shards, name)?;
        let covered = shard.head.replay_from();
        if below > covered {
            return Err(MaintainError::NotCovered { shard: name.clone(), asked: below, covered });
        }
        for _ in 0..turns_max.clamp(1, FORGET_STEP_TURNS_MAX) {
            match shard.turns.first_entry() {
                Some(oldest) if oldest.get().next() <= below => shard.head.oldest = oldest.remove().next(),
                Some(_) | None => return Ok(Forgot::All),
            }
        }
        Ok(Forgot::Some)
    }
}

impl Shard {
    fn new(name: &ShardName) -> Self {
        let head = Head {
            shard: name.clone(),
            epoch: Epoch::NONE,
            next: Seq::FIRST,
            last_at: Timestamp::EPOCH,
            oldest: Seq::FIRST,
            snapshot: None,
        };
        Self { head, owner: None, turns: BTreeMap::new(), chunks: Vec::new(), draft: None }
    }
}

fn shard_of<'a>(
    shards: &'a mut BTreeMap<ShardName, Shard>,
    name: &ShardName,
) -> Result<&'a mut Shard, MaintainError> {
    let missing = || MaintainError::Misuse { shard: name.clone(), what: "nobody has led the shard" };
    shards.get_mut(name).ok_or_else(missing)
}
