//! What the tests of every store share: small turns, and how to open a store.

use mainstay_core::Timestamp;
use mainstay_journal::{Epoch, Journal, Leadership, Reader, Seq, ShardName, TurnRecord};

/// A store that can be opened, closed and opened again.
pub trait Store {
    type Journal: Journal;
    type Reader: Reader;

    /// Opens it as a new life of the one node. Every earlier handle has been dropped.
    fn open(&mut self) -> Self::Journal;

    /// A reader of its own beside an open handle.
    fn reader(&mut self, journal: &Self::Journal) -> Self::Reader;
}

/// A store that several nodes share by leases.
pub trait Nodes: Store {
    /// Opens it as a new life of a node.
    fn open_as(&mut self, node: &str) -> Self::Journal;

    /// Lets every lease not renewed meanwhile run out, by the store's clock.
    fn outlast_lease(&mut self);
}

pub fn shard(name: &str) -> ShardName {
    ShardName::new(name).unwrap()
}

pub fn at(ms: u64) -> Timestamp {
    Timestamp::from_unix_ms(ms)
}

/// Builds turns that follow one another.
#[derive(Clone, Debug)]
pub struct Teller {
    pub shard: ShardName,
    pub epoch: Epoch,
    pub next: Seq,
}

impl Teller {
    pub fn of(leadership: &Leadership) -> Self {
        let head = &leadership.head;
        Self { shard: head.shard.clone(), epoch: head.epoch, next: head.next }
    }

    /// A turn of `count` events whose bytes tell where it stands.
    pub fn turn(&mut self, count: u32) -> TurnRecord {
        let text = format!("{} {} x{count}", self.shard, self.next);
        self.turn_with(count, text.into_bytes())
    }

    pub fn turn_with(&mut self, count: u32, bytes: Vec<u8>) -> TurnRecord {
        let first = self.next;
        self.next = first.plus(u64::from(count));
        let at = at(1_000_000 + first.0 * 10);
        TurnRecord { shard: self.shard.clone(), first, count, epoch: self.epoch, at, bytes }
    }

    pub fn turns(&mut self, counts: &[u32]) -> Vec<TurnRecord> {
        counts.iter().map(|&count| self.turn(count)).collect()
    }
}

/// Every turn of a shard from `from` on, in pages of `page`.
pub fn read_all(reader: &mut impl Reader, shard: &ShardName, from: Seq, page: u32) -> Vec<TurnRecord> {
    let (mut all, mut next) = (Vec::new(), from);
    loop {
        let turns = reader.read(shard, next, page).unwrap();
        let Some(last) = turns.last() else { return all };
        assert!(turns.len() <= page as usize, "a page of {} for {page}", turns.len());
        next = last.next();
        all.extend(turns);
    }
}
