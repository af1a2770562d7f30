//! The loop of the journal's thread: batches, work between them, the lease, the search for room.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use mainstay_journal::{AppendError, Batch, Journal, Lease, LeaseError, Settled, Space};

use super::{Core, End, Job, JournalFailure, Released, Shared, Ticket};
use crate::limits::{LEASE_RENEWAL_INTERVAL, SPACE_PROBE_INTERVAL};

pub(super) fn spawn(journal: Box<dyn Journal>, shared: Arc<Shared>) -> std::io::Result<()> {
    let body = move || {
        let end = match catch_unwind(AssertUnwindSafe(|| Loop::new(journal, &shared).run())) {
            Ok(Ok(())) => End::Stopped,
            Ok(Err(failure)) => End::Failed(Arc::new(failure)),
            Err(_panic) => End::Failed(Arc::new(JournalFailure::Panicked)),
        };
        {
            let mut core = shared.lock();
            // Set under the lock, so that no job comes after it; those that came before it hear of it by being dropped.
            shared.end.send_replace(Some(end));
            core.jobs.clear();
            core.tail = None;
        }
    };
    std::thread::Builder::new().name("journal".to_owned()).spawn(body).map(drop)
}

enum Step {
    Append(Batch),
    Job(Job),
    Renew,
    Probe,
    Stop,
}

/// Whether the store wants to be asked again by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    Well,
    LowOnSpace { asked: Duration },
    Away { asked: Duration },
}

impl Store {
    /// What follows from the room that there is, said when it changes and not while it lasts.
    fn after(self, space: Space, now: Duration) -> Self {
        match (space, self) {
            (Space::Ample, Self::LowOnSpace { .. }) => {
                tracing::warn!("the journal's disk has room again: everything is taken");
                Self::Well
            }
            (Space::Ample, Self::Well | Self::Away { .. }) => Self::Well,
            (Space::Reserve { left_bytes }, _) => {
                self.say_full(&format_args!("{left_bytes} bytes of its reserve are left"));
                Self::LowOnSpace { asked: now }
            }
        }
    }

    /// Says that the disk is full, where that is news.
    fn say_full(self, why: &dyn std::fmt::Display) {
        match self {
            Self::LowOnSpace { .. } => tracing::debug!(%why, "the journal's disk is still full"),
            Self::Well | Self::Away { .. } => tracing::error!(
                code = crate::Error::JournalFull.code(),
                %why,
                "the journal's disk is full: what ends or shrinks goes on, what grows is refused"
            ),
        }
    }
}

struct Loop<'a> {
    journal: Box<dyn Journal>,
    shared: &'a Shared,
    store: Store,
    /// When the next renewal is sent; `None` for an exclusive lease.
    renew_at: Option<Duration>,
}

impl<'a> Loop<'a> {
    fn new(journal: Box<dyn Journal>, shared: &'a Shared) -> Self {
        Self { journal, shared, store: Store::Well, renew_at: Some(Duration::ZERO) }
    }

    fn run(mut self) -> Result<(), JournalFailure> {
        self.renew()?;
        loop {
            match self.next_step() {
                Step::Append(batch) => self.append(&batch)?,
                Step::Job(job) => job(&mut *self.journal),
                Step::Renew => self.renew()?,
                Step::Probe => self.probe()?,
                Step::Stop => return Ok(()),
            }
        }
    }

    fn next_step(&mut self) -> Step {
        let mut core = self.shared.lock();
        loop {
            let now = self.shared.clock.since_boot();
            let probe_at = match self.store {
                Store::Well => None,
                Store::LowOnSpace { asked } | Store::Away { asked } => Some(asked + SPACE_PROBE_INTERVAL),
            };
            if self.renew_at.is_some_and(|at| at <= now) {
                return Step::Renew;
            }
            if probe_at.is_some_and(|at| at <= now) {
                return Step::Probe;
            }
            if let Some(job) = core.jobs.pop_front() {
                return Step::Job(job);
            }
            if let Some(batch) = core.writer.next_batch() {
                return Step::Append(batch);
            }
            if core.stopping && core.writer.is_idle() {
                return Step::Stop;
            }
            let wake = [self.renew_at, probe_at].into_iter().flatten().min();
            core = match wake {
                None => self.shared.work.wait(core).unwrap_or_else(PoisonError::into_inner),
                Some(at) => {
                    let waited = self.shared.work.wait_timeout(core, at.saturating_sub(now));
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn append(&mut self, batch: &Batch) -> Result<(), JournalFailure> {
        let began = self.shared.clock.since_boot();
        let result = self.journal.append(&batch.turns);
        let now = self.shared.clock.since_boot();
        if let Some(hear) = self.shared.heard.get() {
            hear(now.saturating_sub(began));
        }
        let mut core = self.shared.lock();
        match result {
            Ok(appended) => {
                self.store = self.store.after(appended.space, now);
                let durable = core.writer.synced(now, batch.number, appended);
                // No receiver is no fault: nobody follows the tail.
                let _followers = core.tail.as_ref().map(|tail| tail.send(durable.tail));
                release(&mut core, durable.settled);
                Ok(())
            }
            Err(error) => {
                let lost = core.writer.failed(batch.number, &error);
                release(&mut core, lost);
                self.judge(now, error)
            }
        }
    }

    /// What follows from an append that failed, beyond what the writer has done about it.
    fn judge(&mut self, now: Duration, error: AppendError) -> Result<(), JournalFailure> {
        match error {
            AppendError::Full { .. } => {
                self.store.say_full(&error);
                self.store = Store::LowOnSpace { asked: now };
                Ok(())
            }
            AppendError::Unavailable { .. } => {
                tracing::error!(error = %error, "turns wait for the store");
                self.store = Store::Away { asked: now };
                Ok(())
            }
            AppendError::Fenced { .. }
            | AppendError::SequenceMismatch { .. }
            | AppendError::UnknownOutcome { .. } => {
                tracing::error!(error = %error, "a leadership has ended");
                Ok(())
            }
            AppendError::Io { .. } => Err(JournalFailure::Append(error)),
        }
    }

    fn renew(&mut self) -> Result<(), JournalFailure> {
        let sent_at = self.shared.clock.since_boot();
        match self.journal.renew() {
            Ok(lease) => {
                self.shared.lock().writer.renewed(sent_at, lease);
                self.renew_at = match lease {
                    Lease::Exclusive => None,
                    Lease::Until { .. } => Some(sent_at + LEASE_RENEWAL_INTERVAL),
                };
                Ok(())
            }
            Err(error @ LeaseError::Unavailable { .. }) => {
                tracing::warn!(error = %error, "the lease is tried again");
                self.renew_at = Some(sent_at + LEASE_RENEWAL_INTERVAL);
                Ok(())
            }
            Err(error @ LeaseError::Dead { .. }) => {
                let mut core = self.shared.lock();
                let lost = core.writer.declared_dead();
                release(&mut core, lost);
                Err(JournalFailure::Lease(error))
            }
        }
    }

    fn probe(&mut self) -> Result<(), JournalFailure> {
        let asked = self.shared.clock.since_boot();
        match self.store {
            Store::Well => Ok(()),
            Store::Away { .. } => {
                self.store = Store::Well;
                self.shared.lock().writer.try_again();
                Ok(())
            }
            Store::LowOnSpace { .. } => match self.journal.space() {
                Ok(space) => {
                    let mut core = self.shared.lock();
                    core.writer.space(space);
                    self.store = self.store.after(space, asked);
                    release(&mut core, Vec::new());
                    Ok(())
                }
                Err(error) => self.judge(asked, error),
            },
        }
    }
}

/// Sends each shard what is released to it, in the order of acceptance, and wakes those that were told to wait. A shard
/// that has ended wants nothing more.
fn release(core: &mut Core, settled: Vec<Settled<Ticket>>) {
    let mut by_shard: Vec<Vec<Released>> = core.shards.iter().map(|_| Vec::new()).collect();
    for settled in settled {
        let (ticket, outcome) = match settled {
            Settled::Durable(ticket) => (ticket, Ok(())),
            Settled::Lost { why, release, .. } => (release, Err(why)),
        };
        if let Some(released) = by_shard.get_mut(ticket.shard) {
            released.push(Released { number: ticket.number, outcome });
        }
    }
    let waiting = std::mem::take(&mut core.waiting);
    for (index, (shard, released)) in core.shards.iter().zip(by_shard).enumerate() {
        if !released.is_empty() || waiting.contains(&index) {
            let _ended = shard.send(released);
        }
    }
}
