//! The loop of one shard: take what has arrived, decide all of it, hand it over at once, let go of what is durable.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use mainstay_core::{Outcome, StateMachine, Timestamp, Turn};
use mainstay_journal::{Admission, LostWhy, Seq, ShardName, Turn as StoredTurn, Wait, Writer};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, Sleep, sleep_until};

use super::{Growth, Held, Message, Reply, Runnable, ShardEnd};
use crate::codec::Codec;
use crate::error::Error;
use crate::hands::Hands;
use crate::journal::{JournalHandle, Released, Ticket};
use crate::limits::{CHUNK_BYTES_MAX, CHUNK_COMMANDS_MAX, DUE_RETRY, SLEEP_MAX};

/// A running shard.
pub(super) struct Turns<S: Runnable, C, H: Hands<S>> {
    pub(super) name: ShardName,
    pub(super) index: usize,
    pub(super) journal: JournalHandle,
    pub(super) state: S,
    pub(super) codec: C,
    pub(super) hands: H,
    pub(super) due: fn(S::Why) -> S::Command,
    /// The last event decided: what the next read is computed from.
    pub(super) decided: Seq,
    /// Taken from the mailbox, not decided yet; at most [`CHUNK_COMMANDS_MAX`].
    pub(super) inbox: VecDeque<Message<S>>,
    /// Decided, not durable yet, by number; bounded by the writer's limits and one chunk.
    pub(super) pending: VecDeque<(u64, Pending<S, H::Delivery>)>,
    pub(super) next_number: u64,
    pub(super) draining: Vec<oneshot::Sender<()>>,
    /// A deadline that its turn did not clear is not due before this.
    pub(super) due_retry: Option<Timestamp>,
    pub(super) lost: Option<LostWhy>,
}

/// What waits for a sync.
pub(super) enum Pending<S: StateMachine, D> {
    Reply {
        reply: oneshot::Sender<Result<Reply<S>, Error>>,
        outcome: Reply<S>,
    },
    Query(Held),
    Deliveries(Vec<D>),
    /// A turn that nobody waits for.
    Unasked,
}

/// One step of a chunk on its way to the writer.
struct Step<S: StateMachine, D> {
    turn: Option<StoredTurn>,
    pending: Pending<S, D>,
}

/// What a loop of the shard was woken by.
enum Woken {
    Released(Vec<Released>),
    Mail { count: usize },
    Due,
    JournalGone,
}

impl<S: Runnable, C: Codec<S>, H: Hands<S>> Turns<S, C, H> {
    pub(super) async fn run(
        mut self,
        mut mailbox: mpsc::Receiver<Message<S>>,
        mut released: mpsc::UnboundedReceiver<Vec<Released>>,
    ) -> ShardEnd {
        let mut timer: Pin<Box<Sleep>> = Box::pin(sleep_until(Instant::now()));
        let mut armed_for: Option<Timestamp> = None;
        let mut mail: Vec<Message<S>> = Vec::with_capacity(CHUNK_COMMANDS_MAX);
        let mut open = true;
        // What the state owed when the last process ended is owed still.
        self.chunk();
        loop {
            if let Some(why) = self.lost {
                self.refuse_everything(&mut mailbox, Error::Lost(why));
                return ShardEnd::Lost(why);
            }
            if !open && self.inbox.is_empty() && self.pending.is_empty() {
                for drained in self.draining.drain(..) {
                    let _gone = drained.send(());
                }
                return ShardEnd::Drained;
            }
            let free = self.inbox.is_empty();
            let deadline = self.deadline();
            if deadline != armed_for {
                if let Some(deadline) = deadline {
                    timer.as_mut().reset(self.wake_at(deadline));
                }
                armed_for = deadline;
            }
            let woken = tokio::select! {
                biased;
                batch = released.recv() => batch.map_or(Woken::JournalGone, Woken::Released),
                () = &mut timer, if armed_for.is_some() => Woken::Due,
                count = mailbox.recv_many(&mut mail, CHUNK_COMMANDS_MAX), if open && free => Woken::Mail { count },
            };
            match woken {
                Woken::JournalGone => self.lost = Some(LostWhy::SyncFailed),
                Woken::Released(batch) => {
                    self.release(batch, &mut released);
                    self.work_off();
                }
                Woken::Due => {
                    armed_for = None;
                    if self.chunk() == Progress::Blocked {
                        self.due_retry = Some(self.journal.clock().now() + DUE_RETRY);
                    }
                }
                Woken::Mail { count: 0 } => open = false,
                Woken::Mail { .. } => {
                    self.inbox.extend(mail.drain(..));
                    self.work_off();
                    if !self.draining.is_empty() {
                        mailbox.close();
                    }
                }
            }
        }
    }

    fn work_off(&mut self) {
        while !self.inbox.is_empty() && self.lost.is_none() && self.chunk() == Progress::Made {}
    }

    /// The next moment this shard wants a turn of its own.
    fn deadline(&self) -> Option<Timestamp> {
        let (deadline, _why) = self.state.next_deadline()?;
        Some(self.due_retry.map_or(deadline, |retry| deadline.max(retry)))
    }

    fn wake_at(&self, deadline: Timestamp) -> Instant {
        let left = deadline.since(self.journal.clock().now());
        Instant::now() + left.min(SLEEP_MAX)
    }

    /// Decides what is in the inbox and due, up to the limits of one chunk, and hands it over.
    fn chunk(&mut self) -> Progress {
        let admission = self.journal.admission(self.index);
        let commands_max = match admission {
            Admission::Open => CHUNK_COMMANDS_MAX,
            // Each turn takes from the reserve: ask again before each.
            Admission::ReserveOnly | Admission::Stalled | Admission::Ended => 1,
            Admission::Wait => return Progress::Blocked,
        };
        let now = self.journal.clock().now();
        let mut steps = Vec::with_capacity(self.inbox.len().min(commands_max) + 2);
        let mut bytes = self.run_due(now, admission, &mut steps);
        let stored = |turn: &Option<StoredTurn>| turn.as_ref().map_or(0, |turn| u64::from(turn.count));
        let mut next = self.decided.plus(1 + steps.iter().map(|step| stored(&step.turn)).sum::<u64>());
        let mut commands = 0;
        while commands < commands_max && bytes < CHUNK_BYTES_MAX {
            let Some(message) = self.inbox.pop_front() else { break };
            match message {
                Message::Command { command, growth, reply } => {
                    commands += 1;
                    if let Err(refused) = admit(admission, growth) {
                        let _gone = reply.send(Err(refused));
                        continue;
                    }
                    let (turn, outcome) = self.turn(now, &command);
                    bytes += turn.as_ref().map_or(0, |turn| turn.bytes.len());
                    next = next.plus(stored(&turn));
                    steps.push(Step { turn, pending: Pending::Reply { reply, outcome } });
                }
                Message::Observe(observation) => self.state.observe(now, observation),
                Message::Query(query) => {
                    commands += 1;
                    steps.push(Step { turn: None, pending: Pending::Query(query(&self.state, now, next)) });
                }
                Message::Drain(drained) => self.draining.push(drained),
            }
        }
        let deliveries = self.take_up(now);
        if !deliveries.is_empty() {
            steps.push(Step { turn: None, pending: Pending::Deliveries(deliveries) });
        }
        self.hand_over(steps);
        Progress::Made
    }

    fn turn(&mut self, now: Timestamp, command: &S::Command) -> (Option<StoredTurn>, Reply<S>) {
        let Outcome { answer, events } = Turn::run(now, &mut self.state, command);
        if events.is_empty() {
            return (None, answer);
        }
        let mut bytes = Vec::new();
        self.codec.encode(&events, &mut bytes);
        let count = u32::try_from(events.len()).unwrap_or(u32::MAX);
        (Some(StoredTurn { count, at: now, bytes }), answer)
    }

    /// Runs the turn of a deadline that has come; says how many bytes it stores.
    fn run_due(
        &mut self,
        now: Timestamp,
        admission: Admission,
        steps: &mut Vec<Step<S, H::Delivery>>,
    ) -> usize {
        let Some((deadline, why)) = self.state.next_deadline() else { return 0 };
        if deadline > now || self.due_retry.is_some_and(|retry| retry > now) {
            return 0;
        }
        self.due_retry = None;
        if admit(admission, Growth::Shrinks).is_err() {
            self.due_retry = Some(now + DUE_RETRY);
            return 0;
        }
        let command = (self.due)(why);
        let began = self.journal.clock().since_boot();
        let (turn, _nobody_asked) = self.turn(now, &command);
        self.hands.due_took(self.journal.clock().since_boot().saturating_sub(began));
        if turn.is_none() && self.state.next_deadline().is_some_and(|(next, _)| next <= now) {
            tracing::error!(shard = %self.name, "a deadline was not cleared by its turn; this is our bug");
            self.due_retry = Some(now + DUE_RETRY);
        }
        let bytes = turn.as_ref().map_or(0, |turn| turn.bytes.len());
        steps.push(Step { turn, pending: Pending::Unasked });
        bytes
    }

    fn take_up(&mut self, now: Timestamp) -> Vec<H::Delivery> {
        let mut deliveries = Vec::new();
        for target in self.state.take_touched() {
            if let Some(taken) = self.hands.take_up(&target, &self.state) {
                deliveries.push(taken.delivery);
                if let Some(noted) = taken.noted {
                    self.state.observe(now, noted);
                }
            }
        }
        deliveries
    }

    /// Gives the writer a chunk.
    fn hand_over(&mut self, steps: Vec<Step<S, H::Delivery>>) {
        if steps.is_empty() {
            return;
        }
        let first = self.next_number;
        let mut turns = Vec::with_capacity(steps.len());
        for Step { turn, pending } in steps {
            turns.push((self.next_number, turn));
            self.pending.push_back((self.next_number, pending));
            self.next_number += 1;
        }
        debug_assert_eq!(turns.first().map(|(number, _)| *number), Some(first));
        let (name, index, mut decided) = (&self.name, self.index, self.decided);
        let failed = self.journal.hand_over(index, |writer, boot| {
            let mut free = Vec::new();
            let mut failed = None;
            for (number, turn) in turns {
                let ticket = Ticket { shard: index, number };
                match hold(writer, boot, name, &mut decided, turn, ticket) {
                    Ok(Wait::Queued) => {}
                    Ok(Wait::Now(ticket)) => free.push(Released { number: ticket.number, outcome: Ok(()) }),
                    Ok(Wait::Lost { why, release }) => {
                        free.push(Released { number: release.number, outcome: Err(why) });
                    }
                    Err(why) => {
                        failed = Some(why);
                        break;
                    }
                }
            }
            (free, failed)
        });
        self.decided = decided;
        if let Some(why) = failed {
            tracing::error!(shard = %self.name, ?why, "a decided turn was not taken; the shard ends");
            self.lost = Some(why);
        }
    }

    /// Lets go of everything that has come, in one delivery.
    fn release(&mut self, batch: Vec<Released>, more: &mut mpsc::UnboundedReceiver<Vec<Released>>) {
        let mut all = batch;
        while let Ok(batch) = more.try_recv() {
            all.extend(batch);
        }
        self.let_go(all);
    }

    fn let_go(&mut self, released: Vec<Released>) {
        let mut deliveries = Vec::new();
        let mut answers = Vec::with_capacity(released.len());
        for Released { number, outcome } in released {
            let Some(pending) = self.take_pending(number) else { continue };
            match (outcome, &pending) {
                // Effects that were noted as under way and are not delivered: only a new start owes them again.
                (Err(why), Pending::Deliveries(_)) => self.lost = Some(why),
                (Ok(()) | Err(LostWhy::LeaseRanOut), _) => {}
                (Err(why), _) => self.lost = Some(why),
            }
            match pending {
                Pending::Deliveries(held) => {
                    if outcome.is_ok() {
                        deliveries.extend(held);
                    }
                }
                Pending::Reply { .. } | Pending::Query(_) => answers.push((pending, outcome)),
                Pending::Unasked => {}
            }
        }
        if !deliveries.is_empty() {
            self.hands.deliver(deliveries);
        }
        for (pending, outcome) in answers {
            answer(pending, outcome.map_err(Error::Lost));
        }
    }

    /// Releases come in the order of their numbers, so what is looked for is nearly always the first.
    fn take_pending(&mut self, number: u64) -> Option<Pending<S, H::Delivery>> {
        let place = self.pending.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.pending.remove(place).map(|(_, pending)| pending)
    }

    fn refuse_everything(&mut self, mailbox: &mut mpsc::Receiver<Message<S>>, error: Error) {
        mailbox.close();
        for (_, pending) in self.pending.drain(..) {
            answer(pending, Err(error));
        }
        while let Ok(message) = mailbox.try_recv() {
            self.inbox.push_back(message);
        }
        for message in self.inbox.drain(..) {
            match message {
                Message::Command { reply, .. } => drop(reply.send(Err(Error::Stopping))),
                // The callers of queries and drains hear of it by the end of their channel.
                Message::Observe(_) | Message::Query(_) | Message::Drain(_) => {}
            }
        }
    }
}

/// Whether a chunk could be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Made,
    /// Too much waits for the sync.
    Blocked,
}

const fn admit(admission: Admission, growth: Growth) -> Result<(), Error> {
    match (admission, growth) {
        (Admission::Open | Admission::Wait, _) | (Admission::ReserveOnly, Growth::Shrinks) => Ok(()),
        (Admission::ReserveOnly, Growth::Grows) | (Admission::Stalled, _) => Err(Error::JournalFull),
        (Admission::Ended, _) => Err(Error::Lost(LostWhy::SyncFailed)),
    }
}

/// Gives the writer one step; `decided` moves with the turns it takes.
fn hold(
    writer: &mut Writer<Ticket>,
    boot: Duration,
    shard: &ShardName,
    decided: &mut Seq,
    turn: Option<StoredTurn>,
    ticket: Ticket,
) -> Result<Wait<Ticket>, LostWhy> {
    let Some(turn) = turn else { return Ok(writer.wait_for(boot, shard, *decided, ticket)) };
    match writer.accept(shard, turn, ticket) {
        Ok(last) => {
            *decided = last;
            Ok(Wait::Queued)
        }
        Err(refused) => {
            tracing::error!(%shard, error = %refused.why, "the writer refused a turn");
            Err(LostWhy::SteppedDown)
        }
    }
}

fn answer<S: StateMachine, D>(pending: Pending<S, D>, outcome: Result<(), Error>) {
    match pending {
        Pending::Reply { reply, outcome: said } => drop(reply.send(outcome.map(|()| said))),
        Pending::Query(held) => held(outcome),
        Pending::Deliveries(_) | Pending::Unasked => {}
    }
}
