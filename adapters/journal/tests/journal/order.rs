//! The order under random commands and faults: nothing leaves before it is durable, everything leaves once, in order.

use std::collections::BTreeSet;
use std::time::Duration;

use mainstay_journal::memory::{Fault, MemoryJournal, MemoryStore, Room, Tenancy};
use mainstay_journal::{
    Admission, Journal, Lease, Limits, Reader, Seq, Settled, ShardName, Standing, Turn, Wait, Writer,
};
use proptest::prelude::*;

use crate::fixture::{at, shard};

const NOW: Duration = Duration::from_secs(1);
const SHARDS: usize = 3;
/// Small, so that every bound is met.
const LIMITS: Limits = Limits {
    turn_bytes_max: 64,
    batch_turns_max: 3,
    batch_bytes_max: 40,
    unsynced_turns_max: 8,
    unsynced_bytes_max: 120,
    waits_max: 6,
    reserve_floor_bytes: 30,
};

#[derive(Clone, Copy, Debug)]
enum Deed {
    Accept { shard: usize, count: u32 },
    Read { shard: usize },
    Append,
    AppendMeeting(Fault),
    Fill { left_bytes: u64 },
    MakeRoom,
    StepDown { shard: usize },
}

fn deed() -> impl Strategy<Value = Deed> {
    let faults = prop_oneof![
        4 => Just(Fault::AnswerLost),
        4 => Just(Fault::RequestLost),
        4 => Just(Fault::Unavailable),
        1 => Just(Fault::SyncFails),
    ];
    prop_oneof![
        12 => (0..SHARDS, 1..4_u32).prop_map(|(shard, count)| Deed::Accept { shard, count }),
        6 => (0..SHARDS).prop_map(|shard| Deed::Read { shard }),
        10 => Just(Deed::Append),
        2 => faults.prop_map(Deed::AppendMeeting),
        1 => (0..80_u64).prop_map(|left_bytes| Deed::Fill { left_bytes }),
        2 => Just(Deed::MakeRoom),
        1 => (0..SHARDS).prop_map(|shard| Deed::StepDown { shard }),
    ]
}

/// What is held: the number it was given when it was taken, and what it was computed from.
#[derive(Clone, Debug)]
struct Held {
    number: u64,
    shard: ShardName,
    through: Seq,
}

struct World {
    store: MemoryStore,
    journal: MemoryJournal,
    writer: Writer<Held>,
    names: [ShardName; SHARDS],
    next_number: u64,
    open: BTreeSet<u64>,
}

impl World {
    fn new() -> Self {
        let store = MemoryStore::new(Tenancy::Exclusive);
        let journal = store.open("a", 1);
        let mut writer = Writer::new(LIMITS);
        writer.renewed(NOW, Lease::Exclusive);
        let names = ["fleet/1", "fleet/2", "queue/1"].map(shard);
        let mut world = Self { store, journal, writer, names, next_number: 0, open: BTreeSet::new() };
        world.lead_what_is_not_led();
        world
    }

    /// What a runtime does after a loss: it reads again and leads.
    fn lead_what_is_not_led(&mut self) {
        for name in self.names.clone() {
            match self.writer.standing(&name) {
                Standing::Leading { .. } => {}
                Standing::NotLed | Standing::Lost(_) => {
                    let leadership = self.journal.lead(&name).unwrap();
                    let lost = self.writer.lead(&leadership);
                    self.settle(lost);
                }
            }
        }
    }

    fn hold(&mut self, shard: &ShardName, through: Seq) -> Held {
        let number = self.next_number;
        self.next_number += 1;
        assert!(self.open.insert(number));
        Held { number, shard: shard.clone(), through }
    }

    fn next_of(&self, name: &ShardName) -> Seq {
        match self.writer.standing(name) {
            Standing::Leading { next, .. } => next,
            other @ (Standing::NotLed | Standing::Lost(_)) => panic!("{name}: {other:?}"),
        }
    }

    fn assert_durable(&mut self, held: &Held) {
        let next = self.journal.head(&held.shard).unwrap().unwrap().next;
        assert!(held.through < next, "{held:?} left although {next} is next");
    }

    /// Everything leaves once; what leaves as durable is, and in the order it was taken in.
    fn settle(&mut self, settled: Vec<Settled<Held>>) {
        let mut last = None;
        for one in settled {
            let held = match one {
                Settled::Durable(held) => {
                    self.assert_durable(&held);
                    assert!(last < Some(held.number), "{held:?} left after {last:?}");
                    last = Some(held.number);
                    held
                }
                Settled::Lost { release, .. } => release,
            };
            assert!(self.open.remove(&held.number), "{held:?} left twice");
        }
    }

    fn accept(&mut self, shard: usize, count: u32) {
        match self.writer.admission() {
            Admission::Open | Admission::ReserveOnly => {}
            Admission::Wait | Admission::Stalled | Admission::Ended => return,
        }
        let name = self.names[shard].clone();
        let last = Seq(self.next_of(&name).0 + u64::from(count) - 1);
        let held = self.hold(&name, last);
        let turn = Turn { count, at: at(self.next_number), bytes: vec![1; 10] };
        assert_eq!(self.writer.accept(&name, turn, held).unwrap(), last);
    }

    fn read(&mut self, shard: usize) {
        if self.writer.admission() == Admission::Wait {
            return;
        }
        let name = self.names[shard].clone();
        let through = Seq(self.next_of(&name).0 - 1);
        let held = self.hold(&name, through);
        match self.writer.wait_for(NOW, &name, through, held) {
            Wait::Now(held) => {
                self.assert_durable(&held);
                assert!(self.open.remove(&held.number));
            }
            Wait::Queued => {}
            Wait::Lost { release, .. } => assert!(self.open.remove(&release.number)),
        }
    }

    fn append(&mut self, fault: Option<Fault>) {
        self.writer.try_again();
        let Some(batch) = self.writer.next_batch() else { return };
        assert!(batch.turns.len() <= LIMITS.batch_turns_max && !batch.turns.is_empty());
        if let Some(fault) = fault {
            self.store.arm(fault);
        }
        let settled = match self.journal.append(&batch.turns) {
            Ok(appended) => self.writer.synced(NOW, batch.number, appended).settled,
            Err(error) => self.writer.failed(batch.number, &error),
        };
        self.settle(settled);
    }

    fn ended(&self) -> bool {
        self.writer.admission() == Admission::Ended
    }

    fn act(&mut self, deed: Deed) {
        match deed {
            Deed::Accept { shard, count } => self.accept(shard, count),
            Deed::Read { shard } => self.read(shard),
            Deed::Append => self.append(None),
            Deed::AppendMeeting(fault) => self.append(Some(fault)),
            Deed::Fill { left_bytes } => self.store.set_room(Room::Reserve { left_bytes }),
            Deed::MakeRoom => {
                self.store.set_room(Room::Ample);
                let space = self.journal.space().unwrap();
                self.writer.space(space);
            }
            Deed::StepDown { shard } => {
                let lost = self.writer.step_down(&self.names[shard].clone());
                self.settle(lost);
            }
        }
        if !self.ended() {
            self.lead_what_is_not_led();
        }
    }

    /// With the faults over, everything that is held leaves.
    fn heal(&mut self) {
        self.store.disarm();
        self.act(Deed::MakeRoom);
        let batches_max = LIMITS.unsynced_turns_max + 1;
        for _ in 0..batches_max {
            self.act(Deed::Append);
        }
        assert!(self.open.is_empty(), "held for ever: {:?}", self.open);
        assert!(self.writer.is_idle());
        assert_eq!(self.writer.admission(), Admission::Open);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_leaves_early_twice_or_never(deeds in prop::collection::vec(deed(), 1..60)) {
        let mut world = World::new();
        for deed in deeds {
            world.act(deed);
            if world.ended() {
                prop_assert!(world.open.is_empty(), "an end hands everything back: {:?}", world.open);
                return Ok(());
            }
        }
        world.heal();
    }
}
