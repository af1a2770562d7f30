//! The write-ahead order as a value: no I/O, no clock, no threads.
//!
//! Command, decide, events applied, made durable, *then* answer and effects. The state machine's hands give each turn here
//! together with what it releases; here it waits until the journal has it. One batch is in flight; what arrives meanwhile
//! is the next batch, so there is no batching delay. Leading, losing and taking over live here too, so that the simulator
//! reaches them.
//!
//! ```text
//! admission() ─▶ decide ─▶ accept(turn, answer) ─┐                        ┌─▶ synced(..)  released, in order
//!                          wait_for(seq, answer) ┴▶ next_batch() ─▶ append┤
//!                                                                         └─▶ failed(..)  lost, held or ended
//! ```

mod limits;
mod outcome;
mod shard;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::Timestamp;

use crate::error::AppendError;
use crate::port::{Appended, Leadership, Lease, Space};
use crate::types::{Seq, ShardName, TurnRecord};

pub use limits::Limits;
pub use outcome::{Admission, Batch, Durable, LostWhy, Refused, RefusedWhy, Settled, Standing, Wait};
use shard::Shard;

/// One turn to be made durable; the writer numbers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// How many events; at least one (a turn without events is a [`Writer::wait_for`]).
    pub count: u32,
    /// The turn's time.
    pub at: Timestamp,
    /// The events in their stored form.
    pub bytes: Vec<u8>,
}

/// A turn not yet in a batch, with its place in the order and what it releases.
#[derive(Debug)]
struct Entry<R> {
    order: u64,
    record: TurnRecord,
    release: R,
}

/// The batch before the journal. `releases` runs along `batch.turns`; an entry is `None` once it was handed back as lost.
#[derive(Debug)]
struct InFlight<R> {
    batch: Batch,
    releases: Vec<(u64, Option<R>)>,
    stage: Stage,
}

/// Where the batch before the journal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The journal is at it.
    Sent,
    /// Not written; given out again by the next `next_batch`.
    Again,
    /// Not written for want of space; waits for [`Writer::space`].
    NoSpace,
    /// Not written because the store was away; waits for [`Writer::try_again`].
    Unavailable,
}

/// Whether this process may still write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Running,
    Ended,
}

/// Whether reads may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    NoLease,
    Exclusive,
    Until(Duration),
}

/// Holds turns, answers and reads of many shards until the journal has what they were computed from. `R` is what is
/// released: an answer, effects, both.
#[derive(Debug)]
pub struct Writer<R> {
    limits: Limits,
    life: Life,
    reading: Reading,
    space: Space,
    shards: BTreeMap<ShardName, Shard<R>>,
    queue: VecDeque<Entry<R>>,
    in_flight: Option<InFlight<R>>,
    unsynced_bytes: usize,
    waits: usize,
    next_order: u64,
    next_batch: u64,
}

impl<R> Writer<R> {
    /// A writer that leads nothing yet and has no lease.
    #[must_use]
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            life: Life::Running,
            reading: Reading::NoLease,
            space: Space::Ample,
            shards: BTreeMap::new(),
            queue: VecDeque::new(),
            in_flight: None,
            unsynced_bytes: 0,
            waits: 0,
            next_order: 0,
            next_batch: 1,
        }
    }

    /// Begins to lead a shard whose state has been replayed up to `leadership.head.next`. What an earlier leadership of
    /// the shard still held comes back as lost.
    pub fn lead(&mut self, leadership: &Leadership) -> Vec<Settled<R>> {
        let lost = self.lose(leadership.shard(), LostWhy::SteppedDown);
        let _ended = self.shards.insert(leadership.shard().clone(), Shard::leading(&leadership.head));
        lost
    }

    /// The lease was renewed; `sent_at` is the monotonic clock (time since boot) when the renewal was *sent*.
    pub fn renewed(&mut self, sent_at: Duration, lease: Lease) {
        self.reading = match lease {
            Lease::Exclusive => Reading::Exclusive,
            Lease::Until { valid } => Reading::Until(sent_at.saturating_add(valid)),
        };
    }

    /// Where a shard stands.
    #[must_use]
    pub fn standing(&self, shard: &ShardName) -> Standing {
        self.shards.get(shard).map_or(Standing::NotLed, |shard| shard.standing)
    }

    /// What may be decided now. Ask *before* `decide`: once events are applied they can no longer be refused.
    #[must_use]
    pub fn admission(&self) -> Admission {
        if self.life == Life::Ended {
            return Admission::Ended;
        }
        if self.in_flight.as_ref().is_some_and(|batch| batch.stage == Stage::NoSpace) {
            return Admission::Stalled;
        }
        if self.unsynced_turns() >= self.limits.unsynced_turns_max
            || self.unsynced_bytes >= self.limits.unsynced_bytes_max
            || self.waits >= self.limits.waits_max
        {
            return Admission::Wait;
        }
        match self.space {
            Space::Ample => Admission::Open,
            Space::Reserve { left_bytes } if left_bytes < self.limits.reserve_floor_bytes => {
                Admission::Stalled
            }
            Space::Reserve { .. } => Admission::ReserveOnly,
        }
    }

    /// Takes a decided turn; its events are applied already. Returns the number of its last event. `release` comes back
    /// from [`Writer::synced`] once the turn is durable, in the order of acceptance over all shards.
    ///
    /// # Errors
    /// Where the shard is not led, the process has ended, or the turn cannot be stored. The state holds events the
    /// journal never will: drop it.
    pub fn accept(&mut self, shard: &ShardName, turn: Turn, release: R) -> Result<Seq, Refused<R>> {
        let refused = |why, release| Err(Refused { why, release });
        if self.life == Life::Ended {
            return refused(RefusedWhy::Ended, release);
        }
        if turn.count == 0 || turn.bytes.len() > self.limits.turn_bytes_max {
            return refused(RefusedWhy::Size { events: turn.count, bytes: turn.bytes.len() }, release);
        }
        let Some((name, state)) = self.shards.get_key_value(shard) else {
            return refused(RefusedWhy::NotLeading, release);
        };
        let Standing::Leading { epoch, next, durable } = state.standing else {
            return refused(RefusedWhy::NotLeading, release);
        };
        let Turn { count, at, bytes } = turn;
        let record = TurnRecord { shard: name.clone(), first: next, count, epoch, at, bytes };
        let last = record.last();
        self.unsynced_bytes += record.bytes.len();
        if let Some(state) = self.shards.get_mut(shard) {
            state.standing = Standing::Leading { epoch, next: record.next(), durable };
        }
        let order = self.take_order();
        self.queue.push_back(Entry { order, record, release });
        Ok(last)
    }

    /// Holds a rejection, a repeat or a read until the state it was computed from, everything up to `seq`, is durable.
    /// `now` is the monotonic clock (time since boot): a leader reads only inside its lease.
    pub fn wait_for(&mut self, now: Duration, shard: &ShardName, seq: Seq, release: R) -> Wait<R> {
        if self.life == Life::Ended {
            return Wait::Lost { why: LostWhy::SyncFailed, release };
        }
        if !self.may_read(now) {
            return Wait::Lost { why: LostWhy::LeaseRanOut, release };
        }
        let order = self.next_order;
        let Some(state) = self.shards.get_mut(shard) else {
            return Wait::Lost { why: LostWhy::SteppedDown, release };
        };
        match state.standing {
            Standing::NotLed => Wait::Lost { why: LostWhy::SteppedDown, release },
            Standing::Lost(why) => Wait::Lost { why, release },
            Standing::Leading { durable, .. } if seq <= durable => Wait::Now(release),
            Standing::Leading { .. } => {
                state.waits.push_back(shard::Waiting { seq, order, release });
                self.waits += 1;
                let _order = self.take_order();
                Wait::Queued
            }
        }
    }

    /// The next batch to append, where none is in flight and there is something to write.
    pub fn next_batch(&mut self) -> Option<Batch> {
        if self.life == Life::Ended {
            return None;
        }
        if let Some(held) = &mut self.in_flight {
            return match held.stage {
                Stage::Sent | Stage::NoSpace | Stage::Unavailable => None,
                Stage::Again => {
                    held.stage = Stage::Sent;
                    Some(held.batch.clone())
                }
            };
        }
        let (mut turns, mut releases, mut bytes) = (Vec::new(), Vec::new(), 0_usize);
        while let Some(entry) = self.queue.front() {
            let size = entry.record.bytes.len();
            let full =
                turns.len() >= self.limits.batch_turns_max || bytes + size > self.limits.batch_bytes_max;
            if full && !turns.is_empty() {
                break;
            }
            let Some(entry) = self.queue.pop_front() else { break };
            bytes += size;
            turns.push(entry.record);
            releases.push((entry.order, Some(entry.release)));
        }
        if turns.is_empty() {
            return None;
        }
        let batch = Batch { number: self.take_batch_number(), turns: turns.into() };
        self.in_flight = Some(InFlight { batch: batch.clone(), releases, stage: Stage::Sent });
        Some(batch)
    }

    /// The batch is durable. `now` is the monotonic clock (time since boot).
    ///
    /// # Panics
    /// Where `number` is not the batch in flight: the caller mixed up its batches, and nothing it says can be believed.
    pub fn synced(&mut self, now: Duration, number: u64, appended: Appended) -> Durable<R> {
        let InFlight { batch, releases, .. } = self.take_in_flight(number);
        self.space = appended.space;
        let mut settled: Vec<(u64, Settled<R>)> = Vec::with_capacity(releases.len());
        for (record, (order, release)) in batch.turns.iter().zip(releases) {
            self.unsynced_bytes = self.unsynced_bytes.saturating_sub(record.bytes.len());
            if let Some(shard) = self.shards.get_mut(&record.shard) {
                shard.made_durable(record);
            }
            settled.extend(release.map(|release| (order, Settled::Durable(release))));
        }
        let may_read = self.may_read(now);
        let mut last: Option<&ShardName> = None;
        for record in batch.turns.iter() {
            if last == Some(&record.shard) {
                continue;
            }
            last = Some(&record.shard);
            let Some(shard) = self.shards.get_mut(&record.shard) else { continue };
            while let Some(waiting) = shard.pop_ready() {
                self.waits = self.waits.saturating_sub(1);
                let release = waiting.release;
                let outcome = if may_read {
                    Settled::Durable(release)
                } else {
                    Settled::Lost { shard: record.shard.clone(), why: LostWhy::LeaseRanOut, release }
                };
                settled.push((waiting.order, outcome));
            }
        }
        Durable { tail: Arc::clone(&batch.turns), settled: in_order(settled) }
    }

    /// The batch was not made durable. Returns what is lost by it; what is not lost stays for the next batch.
    ///
    /// # Panics
    /// Where `number` is not the batch in flight.
    pub fn failed(&mut self, number: u64, error: &AppendError) -> Vec<Settled<R>> {
        match error {
            AppendError::Full { .. } => self.hold(number, Stage::NoSpace),
            AppendError::Unavailable { .. } => self.hold(number, Stage::Unavailable),
            AppendError::Fenced { shard, current, .. } => {
                let _none = self.hold(number, Stage::Again);
                self.lose_as_written(shard, LostWhy::Fenced { current: *current })
            }
            AppendError::SequenceMismatch { shard, .. } => {
                let _none = self.hold(number, Stage::Again);
                self.lose_as_written(shard, LostWhy::OutOfSequence)
            }
            AppendError::UnknownOutcome { .. } => {
                let _none = self.hold(number, Stage::Again);
                self.lose_in_flight(LostWhy::UnknownOutcome)
            }
            AppendError::Io { .. } => {
                let _none = self.hold(number, Stage::Again);
                self.life = Life::Ended;
                self.lose_everything(LostWhy::SyncFailed)
            }
        }
    }

    /// What [`crate::Journal::space`] said. A batch held for want of space is given out again.
    pub fn space(&mut self, space: Space) {
        self.space = space;
        self.release_held(Stage::NoSpace);
    }

    /// Gives a batch that the store was away for out again.
    pub fn try_again(&mut self) {
        self.release_held(Stage::Unavailable);
    }

    /// Stops leading a shard; what it holds comes back as lost. Turns in flight may yet become durable.
    pub fn step_down(&mut self, shard: &ShardName) -> Vec<Settled<R>> {
        self.lose(shard, LostWhy::SteppedDown)
    }

    /// A successor declared this node's incarnation dead: every leadership has ended.
    pub fn declared_dead(&mut self) -> Vec<Settled<R>> {
        self.reading = Reading::NoLease;
        self.lose_everything(LostWhy::DeclaredDead)
    }

    /// Whether nothing waits: every accepted turn is durable or lost, and every read is answered.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight.is_none() && self.waits == 0
    }

    /// How many accepted turns are not durable yet.
    #[must_use]
    pub fn unsynced_turns(&self) -> usize {
        self.queue.len() + self.in_flight.as_ref().map_or(0, |batch| batch.releases.len())
    }

    fn may_read(&self, now: Duration) -> bool {
        match self.reading {
            Reading::NoLease => false,
            Reading::Exclusive => true,
            Reading::Until(end) => now < end,
        }
    }

    fn hold(&mut self, number: u64, stage: Stage) -> Vec<Settled<R>> {
        let in_flight = self.take_in_flight(number);
        let batch = Batch { number: self.take_batch_number(), turns: in_flight.batch.turns };
        self.in_flight = Some(InFlight { batch, releases: in_flight.releases, stage });
        Vec::new()
    }

    fn release_held(&mut self, held_for: Stage) {
        if let Some(held) = &mut self.in_flight
            && held.stage == held_for
        {
            held.stage = Stage::Again;
        }
    }

    fn take_in_flight(&mut self, number: u64) -> InFlight<R> {
        match self.in_flight.take() {
            Some(held) if held.stage == Stage::Sent && held.batch.number == number => held,
            other => {
                let held = other.as_ref().map(|held| (held.batch.number, held.stage));
                panic!("batch {number} was reported on, but {held:?} is before the journal")
            }
        }
    }

    fn lose_in_flight(&mut self, why: LostWhy) -> Vec<Settled<R>> {
        let turns = self.in_flight.as_ref().map(|held| Arc::clone(&held.batch.turns));
        let mut names: Vec<ShardName> =
            turns.iter().flat_map(|turns| turns.iter()).map(|record| record.shard.clone()).collect();
        names.sort_unstable();
        names.dedup();
        names.iter().flat_map(|name| self.lose_as_written(name, why)).collect()
    }

    /// Ends the leadership that wrote the turns of the batch. Where the shard has been led anew meanwhile, only the turns go.
    fn lose_as_written(&mut self, name: &ShardName, why: LostWhy) -> Vec<Settled<R>> {
        let turns = self.in_flight.iter().flat_map(|held| held.batch.turns.iter());
        let written = turns.filter(|turn| turn.shard == *name).map(|turn| turn.epoch).next();
        match self.standing(name) {
            Standing::Leading { epoch, .. } if written.is_some_and(|written| written != epoch) => {
                let mut lost = Vec::new();
                self.lose_of_batch(name, &mut lost);
                settle_lost(name, why, lost)
            }
            Standing::Leading { .. } | Standing::NotLed | Standing::Lost(_) => self.lose(name, why),
        }
    }

    fn lose_everything(&mut self, why: LostWhy) -> Vec<Settled<R>> {
        let names: Vec<ShardName> = self.shards.keys().cloned().collect();
        names.iter().flat_map(|name| self.lose(name, why)).collect()
    }

    /// Ends a leadership: hands back everything of the shard, and takes its turns out of what is still to be written.
    fn lose(&mut self, name: &ShardName, why: LostWhy) -> Vec<Settled<R>> {
        let mut lost = Vec::new();
        if let Some(shard) = self.shards.get_mut(name) {
            if let Standing::Leading { .. } = shard.standing {
                shard.standing = Standing::Lost(why);
            }
            self.waits = self.waits.saturating_sub(shard.waits.len());
            lost.extend(shard.waits.drain(..).map(|waiting| (waiting.order, waiting.release)));
        }
        self.lose_of_batch(name, &mut lost);
        let (gone, kept) =
            std::mem::take(&mut self.queue).into_iter().partition(|entry| entry.record.shard == *name);
        self.queue = kept;
        let gone: VecDeque<Entry<R>> = gone;
        for entry in gone {
            self.unsynced_bytes = self.unsynced_bytes.saturating_sub(entry.record.bytes.len());
            lost.push((entry.order, entry.release));
        }
        settle_lost(name, why, lost)
    }

    /// A batch that the journal is at keeps its records (they may yet become durable); one that was not written drops them.
    fn lose_of_batch(&mut self, name: &ShardName, lost: &mut Vec<(u64, R)>) {
        let Some(mut held) = self.in_flight.take() else { return };
        for (record, (order, release)) in held.batch.turns.iter().zip(&mut held.releases) {
            if record.shard == *name {
                lost.extend(release.take().map(|release| (*order, release)));
            }
        }
        if held.stage != Stage::Sent {
            let mut kept = Vec::new();
            let mut releases = Vec::new();
            for (record, release) in held.batch.turns.iter().zip(held.releases) {
                if record.shard == *name {
                    self.unsynced_bytes = self.unsynced_bytes.saturating_sub(record.bytes.len());
                } else {
                    kept.push(record.clone());
                    releases.push(release);
                }
            }
            held =
                InFlight { batch: Batch { number: held.batch.number, turns: kept.into() }, releases, ..held };
        }
        self.in_flight = (!held.batch.turns.is_empty()).then_some(held);
    }

    const fn take_order(&mut self) -> u64 {
        let order = self.next_order;
        self.next_order += 1;
        order
    }

    const fn take_batch_number(&mut self) -> u64 {
        let number = self.next_batch;
        self.next_batch += 1;
        number
    }
}

fn settle_lost<R>(name: &ShardName, why: LostWhy, mut lost: Vec<(u64, R)>) -> Vec<Settled<R>> {
    lost.sort_by_key(|(order, _)| *order);
    lost.into_iter().map(|(_, release)| Settled::Lost { shard: name.clone(), why, release }).collect()
}

fn in_order<R>(mut settled: Vec<(u64, Settled<R>)>) -> Vec<Settled<R>> {
    settled.sort_by_key(|(order, _)| *order);
    settled.into_iter().map(|(_, settled)| settled).collect()
}
