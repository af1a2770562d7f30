//! The process that holds the lobby: its turns, its syncs, its deaths and its successors.

use std::time::Duration;

use mainstay_core::{SessionId, StateMachine as _, Timestamp};
use mainstay_journal::memory::{Crash, Fault};
use mainstay_journal::{Admission, Batch};
use mainstay_lobby::{Command, Event, Observation, PeerKey, Rejection};

use super::peers::{Ask, Says, Word};
use super::{BEGIN, Bug, Happening, World, laws};
use crate::agenda::Micros;
use crate::laws::{Broken, ensure};
use crate::random::Random;
use crate::seat::{Kept, Synced, Written};

/// How often each thing goes wrong in a world, in a million chances, and how long things take.
#[derive(Debug)]
pub(super) struct Scenario {
    /// A message that is lost; half as often one comes twice.
    pub network: u32,
    /// The longest way of a message.
    pub delay: Micros,
    /// Something befalls a peer.
    pub peers: u32,
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
    /// Turns until the compactor works.
    compact_after: usize,
}

impl Scenario {
    pub(super) fn draw(random: &mut Random) -> Self {
        let mut some = |most: u32| if random.chance(600_000) { random.below(most.into()) as u32 } else { 0 };
        let (network, peers, disk, crash, forget) =
            (some(200_000), some(40_000), some(40_000), some(15_000), some(20_000));
        let late = if random.chance(500_000) { random.below(4_000_000) } else { 0 };
        Self {
            network,
            delay: random.between(5_000, 2_000_000),
            peers,
            sync: random.between(100, 400_000),
            late,
            skew: if random.chance(500_000) { random.below(20_000) } else { 0 },
            disk,
            crash,
            forget,
            compact_after: random.index(40) + 2,
        }
    }
}

/// Who is told what, once that is durable.
#[derive(Debug)]
pub(super) struct Release {
    peer: usize,
    key: PeerKey,
    word: Word,
}

impl World {
    fn boot(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    /// The time by the process's clock: never before what the journal has.
    fn at(&mut self) -> Timestamp {
        let own = Timestamp::from_unix_ms(BEGIN + self.now / 1_000 + self.skew);
        self.told = self.told.max(own);
        self.told
    }

    /// A process takes the lobby: it replays, and stands where the durable turns stand.
    pub(super) fn start(&mut self) -> Result<(), Broken> {
        let boot = self.boot();
        let seat = self.disk.take(boot)?;
        self.life += 1;
        self.skew = self.random.below(self.scenario.skew + 1);
        self.told = self.disk.last_at();
        self.wakes = None;
        ensure(
            seat.state.snapshot() == self.disk.twin.snapshot(),
            "a replayed lobby is the one that was durable",
            || format!("life {}", self.life),
        )?;
        self.seat = Some(seat);
        self.minds_deadline();
        Ok(())
    }

    /// A request arrives. Where there is no process, it is lost.
    pub(super) fn arrives(&mut self, peer: usize, key: PeerKey, ask: Ask) -> Result<(), Broken> {
        if self.seat.is_none() {
            return Ok(());
        }
        match ask {
            Ask::Command(command) => self.turn(&command, Some((peer, key))),
            Ask::Beat { session, epoch, says } => self.beat((peer, key), session, epoch, says),
        }
    }

    /// Signs of life are told the rules, and answered with what is durable.
    fn beat(
        &mut self,
        (peer, key): (usize, PeerKey),
        session: SessionId,
        epoch: mainstay_lobby::Epoch,
        says: Says,
    ) -> Result<(), Broken> {
        let (at, now) = (self.at(), self.now);
        let (mut observed, renewed) = says.observed(session, epoch, key, now);
        if self.bug == Some(Bug::RenewalsUnheard) {
            observed.retain(|observation| !matches!(observation, Observation::Renewed { .. }));
        }
        let Some(seat) = &mut self.seat else { return Ok(()) };
        let known = seat.state.session(session).cloned();
        let is_member = known.as_ref().is_ok_and(|it| it.members.contains_key(&key));
        if is_member {
            observed.into_iter().for_each(|observation| seat.state.observe(at, observation));
            let grant = known.as_ref().ok().and_then(|it| it.grant);
            let is_host =
                |host: &PeerKey| grant.is_some_and(|grant| grant.host == *host && grant.epoch == epoch);
            if let Some((_, when)) = renewed.filter(|(host, _)| is_host(host)) {
                let newest = self.seen.renewed.entry((session, epoch)).or_default();
                *newest = when.max(*newest);
            }
        }
        let word = match known {
            Ok(session) => Word::Session(session, (at, now)),
            Err(rejection) => Word::of(session, &rejection),
        };
        self.keeps(at, Vec::new(), Some(Release { peer, key, word }))?;
        self.minds_deadline();
        Ok(())
    }

    /// One command through the rules; nobody hears of it before it is durable.
    pub(super) fn turn(&mut self, command: &Command, by: Option<(usize, PeerKey)>) -> Result<(), Broken> {
        let at = self.at();
        let Some(seat) = &mut self.seat else { return Ok(()) };
        match seat.writer.admission() {
            Admission::Open => {}
            // Whoever asks waits, gives up, and may ask again.
            Admission::Wait | Admission::ReserveOnly | Admission::Stalled | Admission::Ended => return Ok(()),
        }
        if self.busy && self.random.chance(self.scenario.forget) {
            self.counts.forgotten += 1;
            seat.state.observe(at, Observation::Forgotten);
        }
        let outcome = seat.run(at, command);
        let broken = mainstay_lobby::laws::all(&seat.state);
        ensure(broken.is_empty(), "the laws of a lobby", || broken.join("; "))?;
        for event in &outcome.events {
            laws::decided(self, command, event)?;
        }
        self.trace.number(outcome.events.len() as u64);
        self.counts.commands += u64::from(outcome.answer.is_ok());
        self.counts.refusals += u64::from(outcome.answer.is_err());
        let release =
            by.map(|(peer, key)| Release { peer, key, word: self.word(command, outcome.answer.err(), at) });
        self.keeps(at, outcome.events, release)?;
        self.minds_deadline();
        Ok(())
    }

    /// What whoever asked is told.
    fn word(&self, command: &Command, refused: Option<Rejection>, at: Timestamp) -> Word {
        let session = match command {
            Command::Create { session, .. }
            | Command::Reserve { session, .. }
            | Command::Withdraw { session }
            | Command::Join { session, .. }
            | Command::Introduce { session, .. }
            | Command::Leave { session, .. }
            | Command::Kick { session, .. }
            | Command::Claim { session, .. }
            | Command::HandOver { session, .. }
            | Command::Update { session, .. }
            | Command::End { session, .. } => *session,
            Command::Configure { .. } | Command::Due => return Word::Nothing,
        };
        let now = self.seat.as_ref().map(|seat| seat.state.session(session).cloned());
        match (refused, now) {
            (Some(rejection), _) => Word::of(session, &rejection),
            (None, Some(Ok(session))) => Word::Session(session, (at, self.now)),
            (None, Some(Err(_)) | None) => Word::Out(session),
        }
    }

    fn keeps(&mut self, at: Timestamp, events: Vec<Event>, release: Option<Release>) -> Result<(), Broken> {
        let boot = self.boot();
        let release =
            release.unwrap_or(Release { peer: usize::MAX, key: PeerKey([0; 32]), word: Word::Nothing });
        let early = (self.bug == Some(Bug::AnswerBeforeSync)).then(|| Release {
            peer: release.peer,
            key: release.key,
            word: release.word.clone(),
        });
        if let Some(early) = early {
            self.releases(early)?;
        }
        let Some(seat) = &mut self.seat else { return Ok(()) };
        if let Kept::Now(release) = seat.keep(at, boot, events, release) {
            self.releases(release)?;
        }
        self.writes();
        Ok(())
    }

    /// Somebody is told; what it is told of a host, it may show to everybody.
    fn releases(&mut self, release: Release) -> Result<(), Broken> {
        laws::told(self, &release.word)?;
        let Release { peer, key, word } = release;
        if self.busy && self.random.chance(self.scenario.network) {
            self.counts.dropped += 1;
            return Ok(());
        }
        let delay = self.random.between(1_000, self.scenario.delay);
        self.after(delay, Happening::Told { peer, key, word });
        Ok(())
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
        for release in released {
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
        laws::survives(self)?;
        let delay = self.random.between(1_000, 20_000_000);
        self.after(delay, Happening::Starts);
        Ok(())
    }

    pub(super) fn wakes(&mut self) -> Result<(), Broken> {
        self.wakes = None;
        self.turn(&Command::Due, None)
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
