//! The store in memory against the contract, and the faults it was built for.

use mainstay_journal::memory::{Crash, Fault, MemoryJournal, MemoryReader, MemoryStore, Room, Tenancy};
use mainstay_journal::{
    Admission, AppendError, Journal, Lease, LeaseError, Limits, Reader, Seq, Settled, Space, Standing, Turn,
    Writer,
};
use std::time::Duration;

use crate::contract::{contract, takeover};
use crate::fixture::{Nodes, Store, Teller, at, read_all, shard};

struct Memory {
    store: MemoryStore,
    lives: u64,
}

impl Memory {
    fn new(tenancy: Tenancy) -> Self {
        Self { store: MemoryStore::new(tenancy), lives: 0 }
    }
}

impl Store for Memory {
    type Journal = MemoryJournal;
    type Reader = MemoryReader;

    fn open(&mut self) -> MemoryJournal {
        self.open_node("a")
    }

    fn reader(&mut self, _journal: &MemoryJournal) -> MemoryReader {
        self.store.reader()
    }
}

impl Memory {
    fn open_node(&mut self, node: &str) -> MemoryJournal {
        self.lives += 1;
        self.store.open(node, self.lives)
    }
}

impl Nodes for Memory {
    fn open_as(&mut self, node: &str) -> MemoryJournal {
        self.open_node(node)
    }

    fn outlast_lease(&mut self) {
        self.store.tell_time(at(10_000));
    }
}

mod exclusive {
    use super::*;
    contract!(Memory::new(Tenancy::Exclusive));
}

mod leased {
    use super::*;
    contract!(Memory::new(Tenancy::Leased));
    takeover!(Memory::new(Tenancy::Leased));
}

#[test]
fn a_crash_keeps_drops_or_tears_what_was_not_synced() {
    for (crash, kept) in
        [(Crash::Keeps, 3), (Crash::Drops, 0), (Crash::Tears { turns: 2 }, 2), (Crash::Tears { turns: 9 }, 3)]
    {
        let store = MemoryStore::new(Tenancy::Exclusive);
        let mut journal = store.open("a", 1);
        let mut teller = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
        let durable = teller.turns(&[1]);
        let _space = journal.append(&durable).unwrap();
        let written = teller.turns(&[1, 2, 1]);
        journal.write(&written).unwrap();
        assert_eq!(store.unsynced(), 3);
        assert_eq!(read_all(&mut journal, &teller.shard, Seq::FIRST, 10), durable, "unsynced is not seen");
        store.crash(crash);
        let expected: Vec<_> = durable.into_iter().chain(written.into_iter().take(kept)).collect();
        let mut journal = store.open("a", 2);
        assert_eq!(read_all(&mut journal, &teller.shard, Seq::FIRST, 10), expected, "{crash:?}");
    }
}

#[test]
fn each_fault_says_what_became_of_the_turns() {
    for (fault, durable) in [
        (Fault::SyncFails, false),
        (Fault::AnswerLost, true),
        (Fault::RequestLost, false),
        (Fault::Unavailable, false),
    ] {
        let store = MemoryStore::new(Tenancy::Exclusive);
        let mut journal = store.open("a", 1);
        let mut teller = Teller::of(&journal.lead(&shard("fleet/1")).unwrap());
        store.arm(fault);
        let error = journal.append(&teller.turns(&[1])).unwrap_err();
        let fits = match fault {
            Fault::SyncFails => matches!(error, AppendError::Io { .. }),
            Fault::AnswerLost | Fault::RequestLost => matches!(error, AppendError::UnknownOutcome { .. }),
            Fault::Unavailable => matches!(error, AppendError::Unavailable { .. }),
        };
        assert!(fits, "{fault:?}: {error:?}");
        assert_eq!(!journal.read(&teller.shard, Seq::FIRST, 1).unwrap().is_empty(), durable, "{fault:?}");
    }
}

#[test]
fn a_full_disk_takes_the_reserve_and_then_nothing_until_there_is_room() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut journal = store.open("a", 1);
    let mut writer = Writer::new(Limits { reserve_floor_bytes: 10, ..Limits::STANDARD });
    let name = shard("fleet/1");
    assert!(writer.lead(&journal.lead(&name).unwrap()).is_empty());
    let turn = |bytes: usize| Turn { count: 1, at: at(1), bytes: vec![0; bytes] };

    store.set_room(Room::Reserve { left_bytes: 50 });
    let _seq = writer.accept(&name, turn(20), 'a').unwrap();
    let batch = writer.next_batch().unwrap();
    let appended = journal.append(&batch.turns).unwrap();
    assert_eq!(appended.space, Space::Reserve { left_bytes: 30 });
    assert_eq!(writer.synced(Duration::ZERO, batch.number, appended).settled, vec![Settled::Durable('a')]);
    assert_eq!(writer.admission(), Admission::ReserveOnly);

    let _seq = writer.accept(&name, turn(40), 'b').unwrap();
    let batch = writer.next_batch().unwrap();
    let full = journal.append(&batch.turns).unwrap_err();
    assert!(matches!(full, AppendError::Full { .. }), "{full:?}");
    assert_eq!(writer.failed(batch.number, &full), vec![]);
    assert_eq!(writer.admission(), Admission::Stalled);
    assert!(writer.next_batch().is_none(), "held until there is room");

    store.set_room(Room::Ample);
    writer.space(journal.space().unwrap());
    let batch = writer.next_batch().unwrap();
    let appended = journal.append(&batch.turns).unwrap();
    assert_eq!(writer.synced(Duration::ZERO, batch.number, appended).settled, vec![Settled::Durable('b')]);
    assert_eq!(writer.admission(), Admission::Open);
}

#[test]
fn an_older_life_can_do_nothing_more() {
    let store = MemoryStore::new(Tenancy::Exclusive);
    let mut old = store.open("a", 1);
    let mut teller = Teller::of(&old.lead(&shard("fleet/1")).unwrap());
    assert_eq!(old.renew().unwrap(), Lease::Exclusive);
    let mut new = store.open("a", 2);
    assert!(matches!(old.append(&teller.turns(&[1])), Err(AppendError::Io { .. })));
    assert!(matches!(old.renew(), Err(LeaseError::Dead { incarnation: 1 })));
    assert_eq!(new.lead(&teller.shard).unwrap().head.next, Seq::FIRST);
    let writer: Writer<()> = Writer::new(Limits::STANDARD);
    assert_eq!(writer.standing(&teller.shard), Standing::NotLed);
}
