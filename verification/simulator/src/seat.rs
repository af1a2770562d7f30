//! One process's grip on one shard: the state machine, the production [`Writer`] in front of the journal in memory, and
//! the production stored form between them.
//!
//! The simulator is only a hand here, as `services/runtime` is: what waits for what is the writer's business.

use std::collections::VecDeque;
use std::time::Duration;

use mainstay_core::{Outcome, StateMachine, Timestamp, Turn};
use mainstay_journal as journal;
use mainstay_journal::memory::{Crash, Fault, MemoryJournal, MemoryStore, Room, Tenancy};
use mainstay_journal::stored::Stored;
use mainstay_journal::{
    AppendError, Batch, Forgot, Head, Journal as _, Limits, PAGE_TURNS_MAX, Reader as _, Seq, Settled,
    ShardName, Space, Standing, Wait, Writer,
};

use crate::laws::{Broken, ensure};

/// A shard's log on a disk that survives its process, and the state its durable turns add up to.
#[derive(Debug)]
pub(crate) struct Disk<S: StateMachine> {
    shard: ShardName,
    store: MemoryStore,
    incarnation: u64,
    blank: S,
    /// What the durable turns add up to, applied one by one as they became durable.
    pub(crate) twin: S,
    /// Everything below this is in the twin.
    applied_below: Seq,
    turns_since_snapshot: usize,
}

impl<S: Stored<Event: PartialEq + std::fmt::Debug> + Clone> Disk<S> {
    pub(crate) fn empty(shard: &str, blank: S) -> Self {
        Self {
            shard: ShardName::new(shard).expect("the simulator names its shards well"),
            store: MemoryStore::new(Tenancy::Exclusive),
            incarnation: 0,
            twin: blank.clone(),
            blank,
            applied_below: Seq::FIRST,
            turns_since_snapshot: 0,
        }
    }

    /// A new process takes the shard: it leads, and replays snapshot and turns.
    pub(crate) fn take<R>(&mut self, boot: Duration) -> Result<Seat<S, R>, Broken> {
        self.incarnation += 1;
        let mut journal = self.store.open("node", self.incarnation);
        let leadership = journal.lead(&self.shard).map_err(unreadable)?;
        let state = self.replay(&mut journal, &leadership.head)?;
        let mut writer = Writer::new(Limits::STANDARD);
        let lost = writer.lead(&leadership);
        assert!(lost.is_empty(), "a new writer holds nothing");
        writer.renewed(boot, journal.renew().map_err(unreadable)?);
        Ok(Seat { state, writer, journal, shard: self.shard.clone(), pending: VecDeque::new() })
    }

    fn replay(&self, journal: &mut MemoryJournal, head: &Head) -> Result<S, Broken> {
        let mut state = self.blank.clone();
        if let Some(snapshot) = &head.snapshot {
            for index in 0..snapshot.chunks {
                let chunk = journal.snapshot_chunk(&self.shard, snapshot, index).map_err(unreadable)?;
                for (at, event) in S::load_story(&chunk).map_err(unreadable)? {
                    state.apply(at, &event);
                }
            }
        }
        let mut from = head.replay_from();
        loop {
            let page = journal.read(&self.shard, from, PAGE_TURNS_MAX).map_err(unreadable)?;
            let Some(last) = page.last() else { return Ok(state) };
            from = last.next();
            for turn in &page {
                for event in S::load(&turn.bytes).map_err(unreadable)? {
                    state.apply(turn.at, &event);
                }
            }
        }
    }

    /// The compactor: behind the durable mark, the shortest story takes the place of the turns.
    pub(crate) fn compact<R>(
        &mut self,
        seat: &mut Seat<S, R>,
        after: usize,
        at: Timestamp,
    ) -> Result<(), Broken> {
        if self.turns_since_snapshot < after {
            return Ok(());
        }
        self.turns_since_snapshot = 0;
        let (shard, below) = (&self.shard, self.applied_below);
        let story = self.twin.snapshot();
        if seat.pending.is_empty() {
            // By its own story a queue's journal is made short.
            let lives = seat.state.snapshot();
            ensure(lives == story, "a state that lives is what its events make of it", || {
                let differs = lives.iter().zip(&story).find(|(lives, stored)| lives != stored);
                format!("shard {shard}: {} events, stored {}: {differs:?}", lives.len(), story.len())
            })?;
        }
        let mut retold = self.blank.clone();
        for (at, event) in &story {
            retold.apply(*at, event);
        }
        let again = retold.snapshot();
        ensure(again == story, "a snapshot rebuilds the state it was taken of", || {
            let differs = again.iter().zip(&story).find(|(again, first)| again != first);
            format!("shard {shard}: {} events, then {}: {differs:?}", story.len(), again.len())
        })?;
        for (index, chunk) in (0..).zip(S::story_chunks(story.into_iter())) {
            seat.journal.write_snapshot_chunk(shard, below, index, &chunk).map_err(unreadable)?;
        }
        let _head = seat.journal.finish_snapshot(shard, below, at).map_err(unreadable)?;
        while seat.journal.forget(shard, below, u32::MAX).map_err(unreadable)? == Forgot::Some {}
        Ok(())
    }

    /// The process dies; what was written and not synced fares as told. What the disk kept of it is in the twin after.
    pub(crate) fn crash<R>(
        &mut self,
        mut seat: Seat<S, R>,
        crash: Crash,
        durable: impl FnMut(Duration, &S::Event),
    ) -> Result<(), Broken> {
        self.store.crash(crash);
        let head = self.store.reader().head(&self.shard).map_err(unreadable)?;
        let next = head.map_or(Seq::FIRST, |head| head.next);
        self.catch_up(&mut seat, next, durable);
        Ok(())
    }

    pub(crate) fn arm(&self, fault: Fault) {
        self.store.arm(fault);
    }

    /// When the newest turn was decided that the disk holds.
    pub(crate) fn last_at(&self) -> Timestamp {
        let head = self.store.reader().head(&self.shard).ok().flatten();
        head.map_or(Timestamp::EPOCH, |head| head.last_at)
    }

    pub(crate) fn set_room(&self, room: Room) {
        self.store.set_room(room);
    }

    fn catch_up<R>(
        &mut self,
        seat: &mut Seat<S, R>,
        next: Seq,
        mut durable: impl FnMut(Duration, &S::Event),
    ) {
        while let Some(turn) = seat.pending.pop_front_if(|turn| turn.last < next) {
            for event in &turn.events {
                self.twin.apply(turn.at, event);
                durable(turn.decided, event);
            }
            self.applied_below = turn.last.plus(1);
            self.turns_since_snapshot += 1;
        }
    }
}

/// A turn that the journal does not have yet.
#[derive(Debug)]
struct Pending<E> {
    last: Seq,
    at: Timestamp,
    /// When it was decided, by the clock that leases are counted on: the world's own time.
    decided: Duration,
    events: Vec<E>,
}

/// What became of something that was to be released.
#[derive(Debug)]
pub(crate) enum Kept<R> {
    /// It may go at once: all it was computed from is durable.
    Now(R),
    /// It comes back from [`Seat::sync`].
    Queued,
}

/// What the first half of an append came to.
#[derive(Debug)]
pub(crate) enum Written {
    /// Nothing is to be written now.
    Nothing,
    /// This is before the disk.
    Batch(Batch),
    /// The disk is full: the writer holds the batch until there is room.
    Full,
}

/// What a sync came to.
#[derive(Debug)]
pub(crate) enum Synced<R> {
    /// It is durable, and this may go.
    Durable(Vec<R>),
    /// The store was away; the same batch is to be tried again.
    Away,
    /// The process must end.
    Failed,
}

/// A living process's grip on its shard.
#[derive(Debug)]
pub(crate) struct Seat<S: StateMachine, R> {
    pub(crate) state: S,
    pub(crate) writer: Writer<R>,
    journal: MemoryJournal,
    shard: ShardName,
    pending: VecDeque<Pending<S::Event>>,
}

impl<S: Stored<Event: PartialEq + std::fmt::Debug> + Clone, R> Seat<S, R> {
    /// One command through the rules.
    pub(crate) fn run(&mut self, now: Timestamp, command: &S::Command) -> Outcome<S> {
        Turn::run(now, &mut self.state, command)
    }

    /// Hands the turn's events and what it releases to the writer; a turn without events is a read of what there is.
    pub(crate) fn keep(
        &mut self,
        at: Timestamp,
        boot: Duration,
        events: Vec<S::Event>,
        release: R,
    ) -> Kept<R> {
        let Standing::Leading { next, .. } = self.writer.standing(&self.shard) else {
            unreachable!("a seat leads its shard for as long as its process lives");
        };
        if events.is_empty() {
            return match self.writer.wait_for(boot, &self.shard, next.before(), release) {
                Wait::Now(release) => Kept::Now(release),
                Wait::Queued => Kept::Queued,
                Wait::Lost { why, .. } => {
                    unreachable!("a living process with an exclusive lease lost {why:?}")
                }
            };
        }
        let count = u32::try_from(events.len()).expect("a turn's events are counted in 32 bits");
        let mut bytes = Vec::new();
        S::store(&events, &mut bytes);
        match self.writer.accept(&self.shard, journal::Turn { count, at, bytes }, release) {
            Ok(last) => self.pending.push_back(Pending { last, at, decided: boot, events }),
            Err(refused) => unreachable!("admission was asked before deciding, yet: {}", refused.why),
        }
        Kept::Queued
    }

    /// The first half of an append, where the writer has something for the journal.
    pub(crate) fn write(&mut self) -> Written {
        let Some(batch) = self.writer.next_batch() else { return Written::Nothing };
        match self.journal.write(&batch.turns) {
            Ok(()) => Written::Batch(batch),
            Err(error @ AppendError::Full { .. }) => {
                let lost = self.writer.failed(batch.number, &error);
                assert!(lost.is_empty(), "a full disk loses nothing");
                Written::Full
            }
            Err(error) => unreachable!("the only writer of its shard was refused: {error}"),
        }
    }

    /// The second half.
    pub(crate) fn sync(
        &mut self,
        disk: &mut Disk<S>,
        boot: Duration,
        batch: &Batch,
        durable: impl FnMut(Duration, &S::Event),
    ) -> (Synced<R>, Space) {
        match self.journal.sync() {
            Ok(appended) => {
                let next = batch.turns.last().map_or(Seq::FIRST, mainstay_journal::TurnRecord::next);
                disk.catch_up(self, next, durable);
                let settled = self.writer.synced(boot, batch.number, appended).settled;
                (Synced::Durable(settled.into_iter().map(released).collect()), appended.space)
            }
            Err(error @ AppendError::Unavailable { .. }) => {
                let lost = self.writer.failed(batch.number, &error);
                assert!(lost.is_empty(), "a store that was away loses nothing");
                (Synced::Away, Space::Ample)
            }
            Err(error) => {
                let _unanswered = self.writer.failed(batch.number, &error);
                (Synced::Failed, Space::Ample)
            }
        }
    }

    /// The room there is now.
    pub(crate) fn look_for_space(&mut self) -> Result<Space, Broken> {
        let space = self.journal.space().map_err(unreadable)?;
        self.writer.space(space);
        self.writer.try_again();
        Ok(space)
    }
}

fn released<R>(settled: Settled<R>) -> R {
    match settled {
        Settled::Durable(release) => release,
        Settled::Lost { why, .. } => unreachable!("a living process with an exclusive lease lost {why:?}"),
    }
}

fn unreadable(error: impl std::error::Error) -> Broken {
    Broken::new("a journal in memory is whole", error)
}
