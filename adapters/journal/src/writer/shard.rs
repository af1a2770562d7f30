//! One shard's place in the order.

use std::collections::VecDeque;

use super::outcome::Standing;
use crate::port::Head;
use crate::types::{Seq, TurnRecord};

/// A read or rejection that waits for the durable mark.
#[derive(Debug)]
pub(super) struct Waiting<R> {
    pub(super) seq: Seq,
    pub(super) order: u64,
    pub(super) release: R,
}

#[derive(Debug)]
pub(super) struct Shard<R> {
    pub(super) standing: Standing,
    /// In the order of `seq`: a state is only ever computed further on.
    pub(super) waits: VecDeque<Waiting<R>>,
}

impl<R> Shard<R> {
    pub(super) fn leading(head: &Head) -> Self {
        let standing = Standing::Leading { epoch: head.epoch, next: head.next, durable: head.next.before() };
        Self { standing, waits: VecDeque::new() }
    }

    /// Moves the durable mark, unless the record is of an earlier leadership.
    pub(super) fn made_durable(&mut self, record: &TurnRecord) {
        if let Standing::Leading { epoch, durable, .. } = &mut self.standing
            && *epoch == record.epoch
        {
            *durable = record.last();
        }
    }

    /// The next wait whose state is durable.
    pub(super) fn pop_ready(&mut self) -> Option<Waiting<R>> {
        let Standing::Leading { durable, .. } = self.standing else { return None };
        self.waits.pop_front_if(|waiting| waiting.seq <= durable)
    }
}
