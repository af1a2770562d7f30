//! A tally as a state machine, a journal with a gate before its sync, a clock that follows tokio's.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use mainstay_core::{StateMachine, Timestamp, Turn};
use mainstay_journal::memory::{MemoryJournal, MemoryStore, Tenancy};
use mainstay_journal::stored::{Stored, StoredError};
use mainstay_journal::{
    AppendError, Appended, Forgot, Head, Journal, LeadError, Leadership, Lease, LeaseError, Limits,
    MaintainError, ReadError, Reader, Seq, ShardName, SnapshotHead, Space, TurnRecord,
};
use mainstay_runtime::{
    Clock, Codec, CodecError, Config, Growth, Handle, Hands, JournalHandle, JournalThread, MAILBOX_MAX,
    Shard, TakenUp,
};
use tokio::sync::mpsc;
use tokio::time::Instant;

/// Adds up; owes target 0 its sum, and what it has glimpsed on top; may set itself a deadline.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    pub sum: u64,
    pub seen: u64,
    glimpsed: u64,
    pub rang: Vec<Timestamp>,
    alarm: Option<Timestamp>,
    touched: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Say {
    Add(u64),
    Refuse,
    RingAt(Timestamp),
    Ring,
}

/// What changes nothing durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saw {
    TakenUp,
    Glimpse(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Happened {
    Added(u64),
    AlarmSet(Timestamp),
    Rang,
}

impl StateMachine for Tally {
    type Command = Say;
    type Event = Happened;
    type Answer = u64;
    type Rejection = u64;
    type Observation = Saw;
    type Target = u8;
    type Effects = u64;
    type Why = ();

    fn decide(turn: &mut Turn<'_, Self>, command: &Say) -> Result<u64, u64> {
        match command {
            Say::Add(n) => turn.emit(Happened::Added(*n)),
            Say::Refuse => return Err(turn.state().sum),
            Say::RingAt(at) => turn.emit(Happened::AlarmSet(*at)),
            Say::Ring => turn.emit(Happened::Rang),
        }
        Ok(turn.state().sum)
    }

    fn apply(&mut self, at: Timestamp, event: &Happened) {
        self.touched = true;
        match event {
            Happened::Added(n) => self.sum += n,
            Happened::AlarmSet(at) => self.alarm = Some(*at),
            Happened::Rang => {
                self.alarm = None;
                self.rang.push(at);
            }
        }
    }

    fn observe(&mut self, _now: Timestamp, saw: Saw) {
        match saw {
            Saw::TakenUp => self.seen += 1,
            Saw::Glimpse(n) => {
                self.glimpsed += n;
                self.touched = true;
            }
        }
    }

    fn owed(&self, _target: &u8) -> u64 {
        self.sum + self.glimpsed
    }

    fn take_touched(&mut self) -> Vec<u8> {
        if std::mem::take(&mut self.touched) { vec![0] } else { vec![] }
    }

    fn next_deadline(&self) -> Option<(Timestamp, ())> {
        self.alarm.map(|at| (at, ()))
    }

    fn story(&self) -> impl Iterator<Item = (Timestamp, Happened)> {
        std::iter::once((Timestamp::EPOCH, Happened::Added(self.sum)))
    }
}

pub struct Plain;

impl Codec<Tally> for Plain {
    fn encode(&self, events: &[Happened], bytes: &mut Vec<u8>) {
        for event in events {
            let (kind, value) = match event {
                Happened::Added(n) => (0, *n),
                Happened::AlarmSet(at) => (1, at.unix_ms()),
                Happened::Rang => (2, 0),
            };
            bytes.push(kind);
            bytes.extend(value.to_be_bytes());
        }
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<Happened>, CodecError> {
        bytes
            .chunks(9)
            .map(|chunk| {
                let value = u64::from_be_bytes(chunk.get(1..9).ok_or("short")?.try_into()?);
                match chunk[0] {
                    0 => Ok(Happened::Added(value)),
                    1 => Ok(Happened::AlarmSet(Timestamp::from_unix_ms(value))),
                    2 => Ok(Happened::Rang),
                    other => Err(format!("kind {other}").into()),
                }
            })
            .collect()
    }

    fn decode_snapshot(&self, chunk: &[u8]) -> Result<Vec<(Timestamp, Happened)>, CodecError> {
        Ok(Tally::load_story(chunk)?)
    }
}

/// Of a snapshot it tells its sum, at no time.
impl Stored for Tally {
    fn store(events: &[Happened], bytes: &mut Vec<u8>) {
        Plain.encode(events, bytes);
    }

    fn load(bytes: &[u8]) -> Result<Vec<Happened>, StoredError> {
        Plain.decode(bytes).map_err(|_| StoredError::Empty)
    }

    fn store_story(story: &[(Timestamp, Happened)], bytes: &mut Vec<u8>) {
        story.iter().for_each(|(_, event)| Plain.encode(&[*event], bytes));
    }

    fn load_story(bytes: &[u8]) -> Result<Vec<(Timestamp, Happened)>, StoredError> {
        Ok(Self::load(bytes)?.into_iter().map(|event| (Timestamp::EPOCH, event)).collect())
    }

    fn story_chunks(story: impl Iterator<Item = (Timestamp, Happened)>) -> impl Iterator<Item = Vec<u8>> {
        story.map(|told| {
            let mut bytes = Vec::new();
            Self::store_story(&[told], &mut bytes);
            bytes
        })
    }
}

/// Sends every delivery of one release as one message.
pub struct Told(pub mpsc::UnboundedSender<Vec<u64>>);

impl Hands<Tally> for Told {
    type Delivery = u64;

    fn take_up(&mut self, target: &u8, state: &Tally) -> Option<TakenUp<Tally, u64>> {
        Some(TakenUp { delivery: state.owed(target), noted: Some(Saw::TakenUp) })
    }

    fn deliver(&mut self, deliveries: Vec<u64>) {
        let _test_over = self.0.send(deliveries);
    }
}

/// Opens and shuts before each append.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<(Mutex<GateState>, Condvar)>);

#[derive(Debug, Default)]
struct GateState {
    shut: bool,
    waiting: usize,
}

impl Gate {
    pub fn shut(&self) {
        self.0.0.lock().unwrap().shut = true;
    }

    pub fn open(&self) {
        self.0.0.lock().unwrap().shut = false;
        self.0.1.notify_all();
    }

    /// Waits until an append stands before the gate.
    pub async fn reached(&self) {
        while self.0.0.lock().unwrap().waiting == 0 {
            tokio::task::yield_now().await;
        }
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().unwrap();
        state.waiting += 1;
        while state.shut {
            state = self.0.1.wait(state).unwrap();
        }
        state.waiting -= 1;
    }
}

/// What happens before turns are next read.
type Meanwhile = Box<dyn FnOnce() + Send>;

struct Gated {
    gate: Gate,
    inner: MemoryJournal,
    meanwhile: Option<Meanwhile>,
}

impl Reader for Gated {
    fn heads(&mut self) -> Result<Vec<Head>, ReadError> {
        self.inner.heads()
    }
    fn head(&mut self, shard: &ShardName) -> Result<Option<Head>, ReadError> {
        self.inner.head(shard)
    }
    fn read(&mut self, shard: &ShardName, from: Seq, turns_max: u32) -> Result<Vec<TurnRecord>, ReadError> {
        if let Some(meanwhile) = self.meanwhile.take() {
            meanwhile();
        }
        self.inner.read(shard, from, turns_max)
    }
    fn snapshot_chunk(
        &mut self,
        shard: &ShardName,
        snapshot: &SnapshotHead,
        index: u32,
    ) -> Result<Vec<u8>, ReadError> {
        self.inner.snapshot_chunk(shard, snapshot, index)
    }
}

impl Journal for Gated {
    fn append(&mut self, batch: &[TurnRecord]) -> Result<Appended, AppendError> {
        self.gate.pass();
        self.inner.append(batch)
    }
    fn space(&mut self) -> Result<Space, AppendError> {
        self.inner.space()
    }
    fn renew(&mut self) -> Result<Lease, LeaseError> {
        self.inner.renew()
    }
    fn lead(&mut self, shard: &ShardName) -> Result<Leadership, LeadError> {
        self.inner.lead(shard)
    }
    fn write_snapshot_chunk(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        index: u32,
        bytes: &[u8],
    ) -> Result<(), MaintainError> {
        self.inner.write_snapshot_chunk(shard, covers_below, index, bytes)
    }
    fn finish_snapshot(
        &mut self,
        shard: &ShardName,
        covers_below: Seq,
        at: Timestamp,
    ) -> Result<SnapshotHead, MaintainError> {
        self.inner.finish_snapshot(shard, covers_below, at)
    }
    fn forget(&mut self, shard: &ShardName, below: Seq, turns_max: u32) -> Result<Forgot, MaintainError> {
        self.inner.forget(shard, below, turns_max)
    }
}

/// Tokio's own time, so that paused tests own it.
pub struct TokioClock {
    began: Instant,
    floor: Mutex<u64>,
}

/// When tests begin.
pub const BEGAN_MS: u64 = 1_000_000;

impl TokioClock {
    pub fn now_at_start() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), floor: Mutex::new(BEGAN_MS) })
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Timestamp {
        let floor = *self.floor.lock().unwrap();
        let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap();
        Timestamp::from_unix_ms(floor + elapsed)
    }
    fn since_boot(&self) -> Duration {
        self.began.elapsed()
    }
    fn not_below(&self, at: Timestamp) {
        let mut floor = self.floor.lock().unwrap();
        *floor = (*floor).max(at.unix_ms());
    }
}

/// A shard over a store, with everything a test holds of it.
pub struct World {
    pub store: MemoryStore,
    pub gate: Gate,
    pub journal: JournalHandle,
    pub tally: Handle<Tally>,
    pub told: mpsc::UnboundedReceiver<Vec<u64>>,
}

impl World {
    pub async fn new() -> Self {
        Self::on(MemoryStore::new(Tenancy::Exclusive), MAILBOX_MAX).await
    }

    pub async fn on(store: MemoryStore, mailbox_max: usize) -> Self {
        Self::limited(store, mailbox_max, Limits::STANDARD).await
    }

    pub async fn limited(store: MemoryStore, mailbox_max: usize, limits: Limits) -> Self {
        Self::over(store, mailbox_max, limits, None).await
    }

    /// Starts on what a store holds, where this happens between the look at how much that is and its reading.
    pub async fn meeting(store: MemoryStore, meanwhile: Meanwhile) -> Self {
        Self::over(store, MAILBOX_MAX, Limits::STANDARD, Some(meanwhile)).await
    }

    async fn over(
        store: MemoryStore,
        mailbox_max: usize,
        limits: Limits,
        meanwhile: Option<Meanwhile>,
    ) -> Self {
        let gate = Gate::default();
        let gated = Gated { gate: gate.clone(), inner: store.open("node", 1), meanwhile };
        let journal = JournalThread::start(Box::new(gated), limits, TokioClock::now_at_start()).unwrap();
        let (tally, told) = shard(&journal, "tally", mailbox_max).await;
        Self { store, gate, journal, tally, told }
    }

    /// One more shard of the same process.
    pub async fn shard(&self, name: &str) -> Handle<Tally> {
        shard(&self.journal, name, MAILBOX_MAX).await.0
    }

    pub async fn add(&self, n: u64) -> u64 {
        self.tally.command(Say::Add(n), Growth::Grows).await.unwrap().unwrap()
    }

    pub async fn sum(&self) -> u64 {
        self.tally.query(|tally, _| tally.sum).await.unwrap()
    }

    /// What reached the target so far.
    pub fn told_now(&mut self) -> Vec<Vec<u64>> {
        std::iter::from_fn(|| self.told.try_recv().ok()).collect()
    }
}

async fn shard(
    journal: &JournalHandle,
    name: &str,
    mailbox_max: usize,
) -> (Handle<Tally>, mpsc::UnboundedReceiver<Vec<u64>>) {
    let (told, heard) = mpsc::unbounded_channel();
    let config = Config {
        name: ShardName::new(name).unwrap(),
        journal: journal.clone(),
        initial: Tally::default(),
        codec: Plain,
        hands: Told(told),
        due: |()| Say::Ring,
        mailbox_max,
    };
    (Shard::start(config).await.unwrap(), heard)
}
