//! The compactor on real stores: what replays after it is what replayed before it, while the writer goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use mainstay_core::{AllocationId, FleetNumber, Timestamp};
use mainstay_fleet::{End, Event, Fleet, FleetSpec, IdleServers};
use mainstay_journal::memory::{MemoryStore, Tenancy};
use mainstay_journal::sqlite::SqliteJournal;
use mainstay_journal::stored::Stored;
use mainstay_journal::{
    Cause, CompactError, Compacted, Compactor, Fold, Journal, Living, Reader, Seq, Source, StoredFold,
    TurnRecord, replay,
};

use crate::fixture::{Teller, at, shard};

/// A state as small as one can be: how many events there were, and the sum of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    events: u64,
    sum: u64,
}

/// Pads its snapshot, so that it has several chunks.
const CHUNKS: usize = 3;

impl Fold for Tally {
    fn take_chunk(&mut self, chunk: &[u8]) -> Result<(), Cause> {
        let text = std::str::from_utf8(chunk)?;
        if let Some((events, sum)) = text.split_once(' ') {
            *self = Self { events: events.parse()?, sum: sum.trim_end().parse()? };
        }
        Ok(())
    }

    fn take_turn(&mut self, turn: &TurnRecord) -> Result<(), Cause> {
        self.events += u64::from(turn.count);
        self.sum += turn.bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        Ok(())
    }

    fn chunks(&self) -> Box<dyn Iterator<Item = Vec<u8>> + '_> {
        let padding = std::iter::repeat_n(b"padding".to_vec(), CHUNKS - 1);
        Box::new(padding.chain([format!("{} {}", self.events, self.sum).into_bytes()]))
    }
}

fn empty() -> Source<Tally> {
    Source::Stored(Tally::default())
}

fn tally(reader: &mut impl Reader) -> (Tally, Timestamp) {
    let head = reader.head(&shard("fleet/1")).unwrap().unwrap();
    let mut tally = Tally::default();
    let last = replay(reader, &head, &mut tally).unwrap();
    (tally, last)
}

#[test]
fn compacting_changes_nothing_that_replays() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let name = shard("fleet/1");
    let mut compactor = Compactor::<_, _, Tally>::new(store.reader(), journal.clone(), 10);
    assert_eq!(compactor.compact(&name, empty).unwrap(), Compacted::NotDue { events: 0 });
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    for round in 1..=3 {
        let _space = journal.append(&teller.turns(&[1, 2, 3])).unwrap();
        let few = compactor.compact(&name, empty).unwrap();
        assert_eq!(few, Compacted::NotDue { events: 6 }, "round {round}");
        let _space = journal.append(&teller.turns(&[4])).unwrap();
        let before = tally(&mut journal);
        let done = compactor.compact(&name, empty).unwrap();
        assert_eq!(done, Compacted::Done { covers_below: teller.next, chunks: 3 });
        assert_eq!(tally(&mut journal), before);
        let head = journal.head(&name).unwrap().unwrap();
        assert_eq!((head.oldest, head.replay_from(), head.next), (teller.next, teller.next, teller.next));
    }
}

/// A state that lives may be further than what was looked at, and the journal further than it.
#[test]
fn a_state_that_lives_is_its_own_snapshot() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let name = shard("fleet/1");
    let mut compactor = Compactor::<_, _, Tally>::new(store.reader(), journal.clone(), 3);
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let _space = journal.append(&teller.turns(&[1, 2])).unwrap();
    let (lives, _) = tally(&mut journal);
    let (below, mut later) = (teller.next, journal.clone());
    let living = |below, lives: Tally| {
        let chunks: Vec<Vec<u8>> = lives.chunks().collect();
        Source::Living(Living { below, at: at(9), chunks: Box::new(chunks.into_iter()) })
    };
    let done = compactor.compact(&name, || {
        let _space = later.append(&teller.turns(&[3])).unwrap();
        living(below, lives)
    });
    assert_eq!(done.unwrap(), Compacted::Done { covers_below: below, chunks: 3 });
    let head = journal.head(&name).unwrap().unwrap();
    assert_eq!((head.oldest, head.replay_from(), head.next), (below, below, teller.next));
    assert_eq!(tally(&mut journal).0.events, 6);
    // Whoever knows less than is stored makes nothing shorter.
    let late = compactor.compact(&name, || living(Seq(2), lives));
    assert_eq!(late.unwrap(), Compacted::NotDue { events: 3 });
    assert_eq!(tally(&mut journal).0.events, 6);
}

#[test]
fn a_deletion_cut_short_is_finished_by_the_next_compaction() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let turns = teller.turns(&[1; 20]);
    let _space = journal.append(&turns).unwrap();
    journal.write_snapshot_chunk(&name, Seq(15), 0, b"14 0").unwrap();
    let _snapshot = journal.finish_snapshot(&name, Seq(15), at(1)).unwrap();
    let mut compactor = Compactor::<_, _, Tally>::new(store.reader(), journal.clone(), 100);
    assert_eq!(compactor.compact(&name, empty).unwrap(), Compacted::NotDue { events: 6 });
    assert_eq!(journal.head(&name).unwrap().unwrap().oldest, Seq(15));
}

#[test]
fn bytes_that_nobody_knows_are_kept() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let name = shard("fleet/1");
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let _space = journal.append(&[teller.turn_with(1, vec![250])]).unwrap();
    let mut compactor = Compactor::new(store.reader(), journal.clone(), 1);
    let refused = compactor.compact(&name, || Source::Stored(StoredFold::new(Fleet::new(1))));
    assert!(matches!(refused, Err(CompactError::Replay { at: Seq(1), .. })), "{refused:?}");
    let head = journal.head(&name).unwrap().unwrap();
    assert_eq!((head.snapshot, head.oldest), (None, Seq(1)));
}

/// A second state of a large queue is large enough without a list of everything it holds.
#[test]
fn a_state_that_is_rebuilt_keeps_no_list_of_whom_its_turns_concern() {
    use mainstay_core::StateMachine as _;
    use mainstay_matchmaking::{Event, Queue};
    let undone = || Event::PlacementUndone { id: "00000000-0000-0000-0000-000000000001".parse().unwrap() };
    let mut queue = Queue::new(1);
    queue.apply(at(1), &undone());
    assert_eq!(queue.take_touched().len(), 1, "the event concerns somebody");
    let (mut fold, mut bytes) = (StoredFold::new(Queue::new(1)), Vec::new());
    Queue::store(&[undone()], &mut bytes);
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut teller = Teller::of(&store.open("a", 1).lead(&shard("queue/1")).unwrap());
    fold.take_turn(&teller.turn_with(1, bytes)).unwrap();
    assert_eq!(fold.into_state().take_touched(), []);
    let mut fold = StoredFold::new(Queue::new(1));
    for chunk in Queue::story_chunks(std::iter::once((at(1), undone()))) {
        fold.take_chunk(&chunk).unwrap();
    }
    assert_eq!(fold.into_state().take_touched(), []);
}

#[test]
fn a_writer_goes_on_while_its_journal_is_compacted() {
    let dir = tempfile::tempdir().unwrap();
    let name = shard("fleet/1");
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let (reader, handle) = (journal.reader().unwrap(), journal.clone());
    let done = AtomicBool::new(false);
    let mut expected = Tally::default();
    thread::scope(|scope| {
        let compacting = scope.spawn(|| {
            let mut compactor = Compactor::<_, _, Tally>::new(reader, handle, 50);
            let mut compacted = 0;
            while !done.load(Ordering::SeqCst) || compacted == 0 {
                match compactor.compact(&shard("fleet/1"), empty).unwrap() {
                    Compacted::Done { .. } => compacted += 1,
                    Compacted::NotDue { .. } => thread::yield_now(),
                }
            }
            compacted
        });
        for _ in 0..300 {
            let turns = teller.turns(&[1, 2]);
            let _space = journal.append(&turns).unwrap();
            for turn in &turns {
                expected.take_turn(turn).unwrap();
            }
        }
        done.store(true, Ordering::SeqCst);
        let compacted = compacting.join().unwrap();
        eprintln!("compacted {compacted} times");
        assert!(compacted > 0);
    });
    assert_eq!(tally(&mut journal).0, expected);
    drop(journal);
    assert_eq!(tally(&mut SqliteJournal::open(dir.path()).unwrap()).0, expected);
}

fn fleet_spec() -> FleetSpec {
    FleetSpec {
        number: FleetNumber::new(1).unwrap(),
        id: "00000000-0000-0000-0000-00000000000f".parse().unwrap(),
        name: "fleet".into(),
        revision: 1,
        idle_servers: IdleServers::StartOnAllocation,
        regions: vec![],
        configurations: vec![],
        placement_timeout: Duration::from_secs(60),
        retention: Duration::from_secs(3600),
        hosting: mainstay_fleet::Hosting::default(),
        floors: Vec::new(),
    }
}

#[test]
fn a_fleet_is_rebuilt_from_its_own_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let name = shard("fleet/1");
    let mut journal = SqliteJournal::open(dir.path()).unwrap();
    let mut teller = Teller::of(&journal.lead(&name).unwrap());
    let mut bytes = Vec::new();
    Fleet::store(&[Event::Configured(Arc::new(fleet_spec()))], &mut bytes);
    let _space = journal.append(&[teller.turn_with(1, bytes)]).unwrap();
    for number in 1..=40_u128 {
        let id: AllocationId = format!("{number:032x}").parse().unwrap();
        let request = mainstay_fleet::Request {
            configuration: mainstay_core::BuildConfigurationId::from_number(1).unwrap(),
            region: "00000000-0000-0000-0000-000000000001".parse().unwrap(),
            payload: None,
            renewal: mainstay_fleet::Renewal::Keep,
            purpose: mainstay_fleet::Purpose::Session,
        };
        let mut events = vec![Event::AllocationRequested { id, request, until: at(u64::MAX) }];
        if number % 2 == 0 {
            events.push(Event::AllocationEnded { id, server: None, end: End::Deallocated });
        }
        let mut bytes = Vec::new();
        Fleet::store(&events, &mut bytes);
        let count = u32::try_from(events.len()).unwrap();
        let _space = journal.append(&[teller.turn_with(count, bytes)]).unwrap();
    }
    let story = |journal: &mut SqliteJournal| {
        let head = journal.head(&name).unwrap().unwrap();
        let mut fold = StoredFold::new(Fleet::new(7));
        let _last = replay(journal, &head, &mut fold).unwrap();
        fold.chunks().collect::<Vec<_>>()
    };
    let before = story(&mut journal);
    assert!(before[0].len() > 500, "the fleet has something to tell");
    let mut compactor = Compactor::new(journal.reader().unwrap(), journal.clone(), 1);
    let done = compactor.compact(&name, || Source::Stored(StoredFold::new(Fleet::new(8)))).unwrap();
    assert_eq!(done, Compacted::Done { covers_below: teller.next, chunks: 1 });
    assert_eq!(story(&mut journal), before);
}
