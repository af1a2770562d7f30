//! Follows a shard's chain from row to row, and believes no row that its sum does not vouch for.

use mainstay_core::Timestamp;

use crate::chain::{Sum, TurnFields};
use crate::error::ReadError;
use crate::port::Head;
use crate::types::{Epoch, Seq, ShardName, TurnRecord};

/// A row as it was found.
pub(crate) struct FoundTurn {
    pub(crate) first: Seq,
    pub(crate) count: u32,
    pub(crate) epoch: Epoch,
    pub(crate) at: Timestamp,
    pub(crate) sum: Sum,
    pub(crate) bytes: Vec<u8>,
}

/// Where a walk along a chain is.
pub(crate) struct Walk<'a> {
    head: &'a Head,
    /// The sum of the shard's last turn.
    end: Sum,
    expected: Seq,
    sum: Sum,
}

impl<'a> Walk<'a> {
    /// Begins at the turn that begins with `first`; `before` is the sum of the turn before it.
    pub(crate) const fn new(head: &'a Head, end: Sum, first: Seq, before: Sum) -> Self {
        Self { head, end, expected: first, sum: before }
    }

    /// The next turn, where the row is the one that follows.
    pub(crate) fn turn(&mut self, found: FoundTurn) -> Result<TurnRecord, ReadError> {
        let FoundTurn { first, count, epoch, at, sum, bytes } = found;
        let shard = &self.head.shard;
        if first != self.expected {
            return Err(damaged(shard, self.expected, "turns are missing"));
        }
        if self.sum.turn(&TurnFields { first, count, epoch, at, bytes: &bytes }) != sum {
            return Err(damaged(shard, first, "a turn does not match its sum"));
        }
        let turn = TurnRecord { shard: shard.clone(), first, count, epoch, at, bytes };
        self.expected = turn.next();
        self.sum = sum;
        if self.expected == self.head.next && sum != self.end {
            return Err(damaged(shard, first, "the last turn is not the one that was written last"));
        }
        Ok(turn)
    }

    /// There are no more rows: the walk must be at the shard's end.
    pub(crate) fn end(&self) -> Result<(), ReadError> {
        if self.expected == self.head.next {
            Ok(())
        } else {
            Err(damaged(&self.head.shard, self.expected, "turns are missing"))
        }
    }
}

pub(crate) fn damaged(shard: &ShardName, at: Seq, what: &'static str) -> ReadError {
    ReadError::Damaged { shard: shard.clone(), at, what }
}
