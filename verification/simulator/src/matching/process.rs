//! The process that holds the queue: its turns, its syncs, its deaths and its successors.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{StateMachine as _, TicketId, Timestamp, Turn};
use mainstay_journal::memory::{Crash, Fault};
use mainstay_journal::{Admission, Batch};
use mainstay_matchmaking::{Answer, BackfillTicket, Command, Event, Lease, Observation, Queue};

use super::{BEGIN, Bug, Happening, World, laws};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};
use crate::random::Random;
use crate::seat::{Kept, Synced, Written};

/// How often each thing goes wrong in a world, in a million chances, and how long things take.
#[derive(Debug)]
pub(super) struct Scenario {
    /// Between two callers, at most.
    pub pause: Micros,
    /// The longest sync.
    sync: Micros,
    /// How late a turn may come.
    late: Micros,
    /// How far clocks differ, in milliseconds.
    skew: u64,
    /// A sync that fails, or a store that is away.
    disk: u32,
    crash: u32,
    forget: u32,
    /// A configuration changes.
    pub configure: u32,
    /// Turns until the compactor works.
    compact_after: usize,
}

impl Scenario {
    pub(super) fn draw(random: &mut Random) -> Self {
        let mut some = |most: u32| if random.chance(500_000) { random.below(most.into()) as u32 } else { 0 };
        let (disk, crash, forget, configure) = (some(40_000), some(150_000), some(60_000), some(20_000));
        let late = if random.chance(500_000) { random.below(4_000_000) } else { 0 };
        Self {
            pause: random.between(200_000, 6_000_000),
            sync: random.between(100, 400_000),
            late,
            skew: if random.chance(500_000) { random.below(20_000) } else { 0 },
            disk,
            crash,
            forget,
            configure,
            compact_after: random.index(40) + 2,
        }
    }
}

/// What a caller waits for.
#[derive(Debug)]
pub(super) enum Release {
    /// Word of a ticket that is there now.
    Ticket(TicketId),
    /// Anything else.
    Word,
}

impl World {
    fn boot(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    /// The time by the process's clock: never before what the journal has.
    fn at(&mut self) -> Timestamp {
        let own = Timestamp::from_unix_ms(BEGIN + self.now / 1_000 + self.skew);
        if self.bug == Some(Bug::ClockBelieved) {
            return own;
        }
        self.told = self.told.max(own);
        self.told
    }

    /// A process takes the queue: it replays, and stands where the durable turns stand.
    pub(super) fn start(&mut self) -> Result<(), Broken> {
        let boot = self.boot();
        let seat = self.disk.take(boot)?;
        self.life += 1;
        self.skew = self.random.below(self.scenario.skew + 1);
        self.told = self.disk.last_at();
        self.wakes = None;
        ensure(
            seat.state.snapshot() == self.disk.twin.snapshot(),
            "a replayed queue is the one that was durable",
            || format!("life {}", self.life),
        )?;
        self.decided = self.disk.twin.clone();
        self.decided.observe(self.told, Observation::Forgotten);
        self.seat = Some(seat);
        if self.decided.spec().is_none() && self.decided.form() == 0 {
            let spec = self.draw_queue();
            self.turn(&Command::Configure(spec))?;
        }
        self.minds_deadline();
        Ok(())
    }

    /// One command through the rules; nobody hears of it before it is durable.
    pub(super) fn turn(&mut self, command: &Command) -> Result<(), Broken> {
        let (at, boot) = (self.at(), self.boot());
        let Some(seat) = &mut self.seat else { return Ok(()) };
        match seat.writer.admission() {
            Admission::Open => {}
            // The caller waits, gives up, and may ask again.
            Admission::Wait | Admission::ReserveOnly | Admission::Stalled | Admission::Ended => return Ok(()),
        }
        // A queue that was just replayed does not know yet, and may be late.
        let due = seat.state.next_deadline().map(|(due, _)| due);
        let late = due.is_some_and(|due| due < at);
        self.counts.late += u64::from(late && due != Some(Timestamp::EPOCH));
        if self.random.chance(self.scenario.forget) {
            self.counts.forgotten += 1;
            seat.state.observe(at, Observation::Forgotten);
        }
        let outcome = seat.run(at, command);
        mainstay_matchmaking::laws::all(&seat.state)
            .map_err(|broken| Broken::new(format!("{:?}", broken.law), broken.detail))?;
        let settled = seat.state.next_deadline().is_none_or(|(due, _)| due > at);
        if self.random.chance(200_000) {
            self.compare(at, command, &outcome.events)?;
        }
        for event in &outcome.events {
            laws::judge(self, at, event, late)?;
        }
        if settled && self.random.chance(300_000) {
            laws::none_is_missed(self, at)?;
        }
        let release = match outcome.answer {
            Ok(Answer::Ticket(ticket)) => Release::Ticket(ticket),
            Ok(Answer::Done | Answer::Cancelled(_)) => Release::Word,
            Err(_) => {
                self.counts.refusals += 1;
                self.trace.number(1);
                return Ok(());
            }
        };
        self.counts.commands += 1;
        if self.bug == Some(Bug::AnswerBeforeSync) {
            self.releases(&release)?;
        }
        let Some(seat) = &mut self.seat else { return Ok(()) };
        if let Kept::Now(release) = seat.keep(at, boot, outcome.events, release) {
            self.releases(&release)?;
        }
        self.writes();
        self.minds_deadline();
        Ok(())
    }

    /// A queue rebuilt from its story decides the same.
    fn compare(&mut self, at: Timestamp, command: &Command, events: &[Event]) -> Result<(), Broken> {
        let leased = |it: &Arc<BackfillTicket>| {
            it.stage.ended().is_none() && matches!(it.terms.lease, Lease::Renewed { .. })
        };
        if self.decided.backfills().any(leased) {
            // Leases are soft: a rebuilt queue counts them anew.
            return Ok(());
        }
        let mut rebuilt = Queue::new(self.random.next());
        for (at, event) in self.decided.snapshot() {
            rebuilt.apply(at, &event);
        }
        self.counts.compared += 1;
        let other = Turn::run(at, &mut rebuilt, command).events;
        ensure(other == events, "a rebuilt queue forms the same matches", || {
            format!("{command:?} at {at:?}: {events:?}, rebuilt: {other:?}")
        })
    }

    fn releases(&mut self, release: &Release) -> Result<(), Broken> {
        let Release::Ticket(ticket) = release else { return Ok(()) };
        self.acknowledged.insert(*ticket);
        ensure(
            self.bug == Some(Bug::AnswerBeforeSync) || self.made.contains_key(ticket),
            "a ticket that a caller knows of is durable",
            || ticket,
        )
    }

    fn writes(&mut self) {
        let life = self.life;
        let Some(seat) = &mut self.seat else { return };
        match seat.write() {
            Written::Nothing => {}
            Written::Batch(batch) => {
                let delay = self.random.between(50, self.scenario.sync);
                self.after(delay, Happening::Synced { life, batch });
            }
            Written::Full => unreachable!("this disk is never full"),
        }
    }

    pub(super) fn synced(&mut self, batch: &Batch) -> Result<(), Broken> {
        if self.busy && self.random.chance(self.scenario.disk) {
            self.counts.disk_faults += 1;
            let fault = if self.random.chance(500_000) { Fault::SyncFails } else { Fault::Unavailable };
            self.disk.arm(fault);
        }
        let (at, boot, life) = (self.at(), self.boot(), self.life);
        let Some(seat) = &mut self.seat else { return Ok(()) };
        let mut durable = Vec::new();
        let (synced, _room) = seat.sync(&mut self.disk, boot, batch, |_, event| durable.push(event.clone()));
        let released = match synced {
            Synced::Durable(released) => released,
            Synced::Away => {
                self.after(100_000, Happening::TriesAgain { life });
                return Ok(());
            }
            Synced::Failed => {
                self.say("process", |_| "a sync failed".to_owned());
                return self.crash();
            }
        };
        self.disk.compact(seat, self.scenario.compact_after, at)?;
        for event in &durable {
            laws::durable(self, event)?;
        }
        for release in &released {
            self.releases(release)?;
        }
        self.writes();
        Ok(())
    }

    pub(super) fn tries_again(&mut self) -> Result<(), Broken> {
        if let Some(seat) = &mut self.seat {
            let _room = seat.look_for_space()?;
        }
        self.writes();
        Ok(())
    }

    /// Something strikes, or nothing.
    pub(super) fn strike(&mut self) -> Result<(), Broken> {
        if self.random.chance(self.scenario.crash) { self.crash() } else { Ok(()) }
    }

    fn crash(&mut self) -> Result<(), Broken> {
        let Some(seat) = self.seat.take() else { return Ok(()) };
        // By its own story its journal is made short.
        let (lives, decided) = (seat.state.snapshot(), self.decided.snapshot());
        ensure(lives == decided, "a queue is what its events make of it", || {
            let differs = lives.iter().zip(&decided).find(|(lives, decided)| lives != decided);
            format!("{} events, decided {}: {differs:?}", lives.len(), decided.len())
        })?;
        let left = match self.random.below(3) {
            0 => Crash::Keeps,
            1 => Crash::Drops,
            _ => Crash::Tears { turns: self.random.index(3) },
        };
        self.counts.crashes += 1;
        self.say("process", |_| format!("it dies, and what was written {left:?}"));
        let mut durable = Vec::new();
        self.disk.crash(seat, left, |_, event| durable.push(event.clone()))?;
        for event in &durable {
            laws::durable(self, event)?;
        }
        self.life += 1;
        let lost = self.acknowledged.iter().find(|ticket| !self.made.contains_key(ticket));
        ensure(lost.is_none(), "a ticket that a caller knows of survives a crash", || format!("{lost:?}"))?;
        let delay = self.random.between(1_000, 8_000_000);
        self.after(delay, Happening::Starts);
        Ok(())
    }

    pub(super) fn wakes(&mut self) -> Result<(), Broken> {
        self.wakes = None;
        self.turn(&Command::Due)?;
        self.minds_deadline();
        Ok(())
    }

    fn minds_deadline(&mut self) {
        if self.bug == Some(Bug::DeadlineMissed) {
            return;
        }
        let Some((due, _)) = self.seat.as_ref().and_then(|seat| seat.state.next_deadline()) else { return };
        let at = self.at();
        let late = if self.busy { self.random.below(self.scenario.late + 1) } else { 0 };
        let until = u64::try_from(due.since(at).as_micros()).unwrap_or(0);
        // The clock tells whole milliseconds.
        let wakes = self.now + until + 1_000 + late;
        if self.wakes.is_none_or(|set| wakes < set) {
            self.wakes = Some(wakes);
            self.agenda.put(wakes, Happening::Wakes { life: self.life });
        }
    }
}
