//! A store in memory whose faults the caller commands: the simulator's disk.
//!
//! Nothing here is drawn by chance and nothing reads a clock, so the same commands give the same story. A
//! [`MemoryStore`] is the disk (or the database server): it outlives crashes. A [`MemoryJournal`] is one life of one node
//! with it. [`MemoryJournal::write`] and [`MemoryJournal::sync`] are the two halves of an append, so that a crash can come
//! between them.

mod state;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_core::Timestamp;

use crate::error::{AppendError, LeadError, LeaseError, MaintainError, ReadError};
use crate::port::{Appended, Forgot, Head, Journal, Leadership, Lease, Reader, SnapshotHead, Space};
use crate::types::{Seq, ShardName, TurnRecord};

use state::{Owner, State};

/// Who may use the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// One process at a time, as with SQLite: opening it ends whoever had it.
    Exclusive,
    /// Many nodes with leases, as with PostgreSQL. The store's clock is [`MemoryStore::tell_time`].
    Leased,
}

/// What the next sync meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The sync fails; the turns are not durable, and the process must end.
    SyncFails,
    /// The answer is lost, the turns are durable.
    AnswerLost,
    /// The request is lost, and the sender cannot tell.
    RequestLost,
    /// The store is not reached; the sender knows that nothing was written.
    Unavailable,
}

/// What a crash leaves of a batch that was written and not synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crash {
    /// All of it: the disk had it after all.
    Keeps,
    /// Nothing.
    Drops,
    /// The first so many turns: harder than any store behind the port, since those keep a batch whole.
    Tears {
        /// How many.
        turns: usize,
    },
}

/// How much room the disk has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Enough.
    Ample,
    /// Full, with this much of the reserve left; appends use it up.
    Reserve {
        /// In bytes.
        left_bytes: u64,
    },
}

/// What outlives the processes: a disk, or a database server.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
}

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new(tenancy: Tenancy) -> Self {
        Self { state: Arc::new(Mutex::new(State::new(tenancy))) }
    }

    /// A new life of a node. `incarnation` tells lives apart; where the store is [`Tenancy::Exclusive`] (and for the same
    /// node) older lives can do nothing more.
    #[must_use]
    pub fn open(&self, node: &str, incarnation: u64) -> MemoryJournal {
        let owner = Owner { node: node.into(), incarnation };
        self.state().register(&owner);
        MemoryJournal { state: Arc::clone(&self.state), owner }
    }

    /// A reader: a follower needs no life of a node.
    #[must_use]
    pub fn reader(&self) -> MemoryReader {
        MemoryReader { state: Arc::clone(&self.state) }
    }

    /// The store's own clock, for leases.
    pub fn tell_time(&self, now: Timestamp) {
        self.state().now = now;
    }

    /// Arms a fault for the next sync.
    pub fn arm(&self, fault: Fault) {
        self.state().armed = Some(fault);
    }

    /// Takes an armed fault back: one that met no sync (the append was refused before it) stays armed otherwise.
    pub fn disarm(&self) {
        self.state().armed = None;
    }

    /// Sets the room.
    pub fn set_room(&self, room: Room) {
        self.state().room = room;
    }

    /// Every process on this disk dies, with this outcome for what was written and not synced.
    pub fn crash(&self, crash: Crash) {
        self.state().crash(crash);
    }

    /// How many turns are written and not synced.
    #[must_use]
    pub fn unsynced(&self) -> usize {
        self.state().written.as_ref().map_or(0, |(_owner, turns)| turns.len())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// One life of a node.
#[derive(Clone, Debug)]
pub struct MemoryJournal {
    state: Arc<Mutex<State>>,
    owner: Owner,
}

impl MemoryJournal {
    /// The first half of an append: checked and written, not durable.
    ///
    /// # Errors
    /// Fencing, a full disk, an earlier failure.
    pub fn write(&mut self, batch: &[TurnRecord]) -> Result<(), AppendError> {
        lock(&self.state).write(&self.owner, batch)
    }

    /// The second half: what was written becomes durable, or the armed fault happens.
    ///
    /// # Errors
    /// The armed fault; fencing, where another took the shard between the halves.
    pub fn sync(&mut self) -> Result<Appended, AppendError> {
        lock(&self.state).sync(&self.owner)
    }
}

/// Reads what is durable.
#[derive(Clone, Debug)]
pub struct MemoryReader {
    state: Arc<Mutex<State>>,
}

impl Reader for MemoryReader {
    fn heads(&mut self) -> Result<Vec<Head>, ReadError> {
        Ok(lock(&self.state).heads())
    }

    fn head(&mut self, shard: &ShardName) -> Result<Option<Head>, ReadError> {
        Ok(lock(&self.state).head(shard))
    }

    fn read(&mut self, shard: &ShardName, from: Seq, turns_max: u32) -> Result<Vec<TurnRecord>, ReadError> {
        lock(&self.state).read(shard, from, turns_max)
    }

    fn snapshot_chunk(
        &mut self,
        shard: &ShardName,
        snapshot: &SnapshotHead,
        index: u32,
    ) -> Result<Vec<u8>, ReadError> {
        lock(&self.state).snapshot_chunk(shard, snapshot, index)
    }
}

impl Reader for MemoryJournal {
    fn heads(&mut self) -> Result<Vec<Head>, ReadError> {
        Ok(lock(&self.state).heads())
    }

    fn head(&mut self, shard: &ShardName) -> Result<Option<Head>, ReadError> {
        Ok(lock(&self.state).head(shard))
    }

    fn read(&mut self, shard: &ShardName, from: Seq, turns_max: u32) -> Result<Vec<TurnRecord>, ReadError> {
        lock(&self.state).read(shard, from, turns_max)
    }

    fn snapshot_chunk(
        &mut self,
        shard: &ShardName,
        snapshot: &SnapshotHead,
        index: u32,
    ) -> Result<Vec<u8>, ReadError> {
        lock(&self.state).snapshot_chunk(shard, snapshot, index)
    }
}

impl Journal for MemoryJournal {
    fn append(&mut self, batch: &[TurnRecord]) -> Result<Appended, AppendError> {
        let mut state = lock(&self.state);
        state.write(&self.owner, batch)?;
        state.sync(&self.owner)
    }

    fn space(&mut self) -> Result<Space, AppendError> {
        let state = lock(&self.state);
        state.alive(&self.owner)?;
        Ok(state.space())
    }

    fn renew(&mut self) -> Result<Lease, LeaseError> {
        lock(&self.state).renew(&self.owner)
    }

    fn lead(&mut self, shard: &ShardName) -> Result<Leadership, LeadError> {
        lock(&self.state).lead(&self.owner, shard)
    }

    fn write_snapshot_chunk(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        index: u32,
        bytes: &[u8],
    ) -> Result<(), MaintainError> {
        lock(&self.state).write_chunk(&self.owner, shard, covers_below, index, bytes)
    }

    fn finish_snapshot(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        at: Timestamp,
    ) -> Result<SnapshotHead, MaintainError> {
        lock(&self.state).finish(shard, covers_below, at)
    }

    fn forget(&mut self, shard: &ShardName, below: Seq, turns_max: u32) -> Result<Forgot, MaintainError> {
        lock(&self.state).forget(shard, below, turns_max)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
