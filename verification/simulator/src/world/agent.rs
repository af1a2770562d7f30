//! An agent's process: a mailbox before the supervisor, the writer behind it, one stream to the plane.

use std::collections::VecDeque;
use std::sync::Arc;

use mainstay_core::slot::{Phase, Status, Stopped};
use mainstay_core::{Generation, ServerId, StateMachine as _};
use mainstay_fleet::StreamId;
use mainstay_journal::{Admission, Batch, Space};
use mainstay_supervisor::laws::History;
use mainstay_supervisor::{Answer, Command, Event, Observation, Sight, Supervisor};

use super::World;
use super::plane::SPACE_EVERY;
use super::words::taken;
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::laws::{Broken, domain, durable, generations};
use crate::message::{AgentRelease, Down, Due, Happening, Host, Life, SlotIndex, Up};
use crate::os::SlotTruth;
use crate::seat::{Disk, Kept, Seat, Synced, Written};

/// The least and the greatest pause before an agent dials again.
const DIAL_AGAIN: (Micros, Micros) = (100_000, 2_000_000);

/// The longest that a frame is obeyed late.
const AGAIN_MAX: Micros = 20_000_000;

/// A machine: its disk, its slots, and its agent's process while that lives.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) disk: Disk<Supervisor>,
    pub(crate) life: Option<AgentLife>,
    pub(crate) life_number: Life,
    /// Raised by each reboot.
    pub(crate) boot: u64,
    pub(crate) slots: Vec<SlotTruth>,
    /// The ids the plane gave its slots, kept in the agent's data directory.
    pub(crate) servers: Vec<ServerId>,
    /// Every durable event so far.
    pub(crate) history: History,
    /// What an agent with [`Bug::AgentTrustsStoredSight`] keeps where it must not.
    pub(crate) stored: Vec<Observation>,
}

/// What a crash of an agent's process takes with it.
#[derive(Debug)]
pub(crate) struct AgentLife {
    pub(crate) seat: Seat<Supervisor, AgentRelease>,
    pub(crate) stream: Link,
    pub(crate) hands: Vec<Hand>,
    pub(crate) mailbox: VecDeque<Command>,
    due: Option<Micros>,
}

/// An agent's stream.
#[derive(Debug)]
pub(crate) enum Link {
    /// None, and a dial is on the agenda.
    Dialing,
    /// Open; the plane has not said who we are.
    Joining { stream: StreamId },
    /// The full report waits for the writer.
    Connecting { stream: StreamId },
    /// Open, and every slot has been reported once; `told` is the newest of each.
    Up { stream: StreamId, told: Vec<Option<Status>> },
}

/// What one slot's hand is at.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Hand {
    /// A job is under way.
    pub(crate) busy: bool,
    /// The newest durable word on what is owed and not begun.
    pub(crate) owed: Option<Due>,
    /// The process whose end the hand waits for.
    pub(crate) watched: Option<u32>,
}

impl Link {
    pub(crate) const fn stream(&self) -> Option<StreamId> {
        match self {
            Self::Dialing => None,
            Self::Joining { stream } | Self::Connecting { stream } | Self::Up { stream, .. } => Some(*stream),
        }
    }
}

impl Machine {
    pub(crate) fn new(host: Host, slots: usize) -> Self {
        Self {
            disk: Disk::empty(&format!("agent-{host}"), Supervisor::new()),
            life: None,
            life_number: 0,
            boot: 1,
            slots: std::iter::repeat_with(SlotTruth::default).take(slots).collect(),
            servers: Vec::new(),
            history: History::new(),
            stored: Vec::new(),
        }
    }
}

impl World {
    pub(crate) fn agent_starts(&mut self, host: Host) -> Result<(), Broken> {
        if self.machines[host].life.is_some() {
            return Ok(());
        }
        let (at, boot) = (self.at(), self.boot());
        let trusts = self.has(Bug::AgentTrustsStoredSight);
        let machine = &mut self.machines[host];
        let mut seat = machine.disk.take(boot)?;
        domain::replayed_supervisor(&seat.state, &machine.disk.twin)?;
        seat.state.observe(at, Observation::Forgot);
        if trusts {
            for seen in &machine.stored {
                seat.state.observe(at, *seen);
            }
        }
        let number = machine.life_number;
        machine.life = Some(AgentLife {
            seat,
            stream: Link::Dialing,
            hands: vec![Hand::default(); machine.slots.len()],
            mailbox: VecDeque::new(),
            due: None,
        });
        self.say_of(host, || "starts".to_owned());
        let delay = self.message_delay();
        self.after(delay, Happening::AgentDials { host, life: number });
        self.agent_ends_turn(host, Vec::new(), None)?;
        self.agent_asked(host, Command::Resume)
    }

    /// A command for the mailbox; decided at once where the writer admits it.
    pub(crate) fn agent_asked(&mut self, host: Host, command: Command) -> Result<(), Broken> {
        if let Some(life) = &mut self.machines[host].life {
            life.mailbox.push_back(command);
        }
        self.agent_works(host)
    }

    fn agent_works(&mut self, host: Host) -> Result<(), Broken> {
        while let Some(life) = &mut self.machines[host].life {
            match life.seat.writer.admission() {
                // Everything an agent decides is a report or a stop, or was ordered by a plane that had the room.
                Admission::Open | Admission::ReserveOnly => {}
                Admission::Wait | Admission::Stalled | Admission::Ended => break,
            }
            let Some(command) = life.mailbox.pop_front() else { break };
            self.agent_turn(host, &command)?;
        }
        Ok(())
    }

    fn agent_turn(&mut self, host: Host, command: &Command) -> Result<(), Broken> {
        let at = self.at();
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        let outcome = life.seat.run(at, command);
        for event in &outcome.events {
            domain::after_supervisor(&life.seat.state, event)?;
        }
        generations::taken_are_durable_in_the_plane(&outcome.events, &self.plane.disk.twin)?;
        if !outcome.events.is_empty() {
            self.say_of(host, || format!("decides {}", taken(&outcome.events)));
        }
        match &outcome.answer {
            Ok(Answer::Done | Answer::Ignored(_)) => {}
            Ok(Answer::Orders(verdicts)) => generations::configurations_are_known(verdicts)?,
            Err(rejection) => {
                return Err(Broken::new("an agent within its limits refuses nothing", rejection));
            }
        }
        self.agent_ends_turn(host, outcome.events, None)
    }

    /// What the turn owes goes to the writer with its events; nothing is done before they are durable.
    pub(crate) fn agent_ends_turn(
        &mut self,
        host: Host,
        events: Vec<Event>,
        slot: Option<SlotIndex>,
    ) -> Result<(), Broken> {
        let (at, boot) = (self.at(), self.boot());
        self.counts.decided += events.len() as u64;
        self.trace.number(events.len() as u64);
        let machine = &mut self.machines[host];
        let Some(life) = &mut machine.life else { return Ok(()) };
        let mut release = AgentRelease::default();
        let also = slot.and_then(|slot| machine.servers.get(slot).copied());
        let touched = life.seat.state.take_touched();
        let extra = also.filter(|server| !touched.contains(server));
        for server in touched.into_iter().chain(extra) {
            let Some(slot) = machine.servers.iter().position(|of| *of == server) else { continue };
            let order = life.seat.state.slot(server).map(|slot| &slot.order);
            let ordered = order.and_then(|order| order.allocation.as_ref()).map(|session| session.allocation);
            release.effects.push(Due { slot, effects: life.seat.state.owed(&server), ordered });
            if let Link::Up { .. } | Link::Connecting { .. } = life.stream {
                release.statuses.extend(life.seat.state.status(server));
            }
        }
        let early_effects = self.has(Bug::SpawnBeforeSync).then(|| std::mem::take(&mut release.effects));
        self.agent_keeps(host, at, boot, events, release)?;
        for due in early_effects.into_iter().flatten() {
            self.hand_owes(host, due)?;
        }
        Ok(())
    }

    fn agent_keeps(
        &mut self,
        host: Host,
        at: mainstay_core::Timestamp,
        boot: std::time::Duration,
        events: Vec<Event>,
        release: AgentRelease,
    ) -> Result<(), Broken> {
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        match life.seat.keep(at, boot, events, release) {
            Kept::Now(release) => self.agent_releases(host, release)?,
            Kept::Queued => {}
        }
        self.agent_writes(host);
        self.agent_minds_deadline(host);
        Ok(())
    }

    fn agent_releases(&mut self, host: Host, release: AgentRelease) -> Result<(), Broken> {
        let AgentRelease { effects, statuses, connects } = release;
        for due in effects {
            self.hand_owes(host, due)?;
        }
        if let Some(stream) = connects {
            return self.agent_connects(host, stream, statuses);
        }
        self.agent_reports(host, statuses)
    }

    fn agent_connects(&mut self, host: Host, stream: StreamId, statuses: Vec<Status>) -> Result<(), Broken> {
        let machine = &mut self.machines[host];
        durable::statuses(&statuses, &machine.disk.twin)?;
        let Some(life) = &mut machine.life else { return Ok(()) };
        let Link::Connecting { stream: current } = life.stream else { return Ok(()) };
        if current != stream {
            return Ok(());
        }
        let mut told = vec![None; machine.servers.len()];
        for status in &statuses {
            if let Some(slot) = machine.servers.iter().position(|of| *of == status.server) {
                told[slot] = Some(status.clone());
            }
        }
        life.stream = Link::Up { stream, told };
        self.send_up(stream, Up::Connect { statuses });
        Ok(())
    }

    fn agent_reports(&mut self, host: Host, mut statuses: Vec<Status>) -> Result<(), Broken> {
        let machine = &mut self.machines[host];
        durable::statuses(&statuses, &machine.disk.twin)?;
        let Some(life) = &mut machine.life else { return Ok(()) };
        let Link::Up { stream, told } = &mut life.stream else { return Ok(()) };
        statuses.retain(|status| {
            let slot = machine.servers.iter().position(|of| *of == status.server);
            let Some(told) = slot.and_then(|slot| told.get_mut(slot)) else { return false };
            if told.as_ref() == Some(status) {
                return false;
            }
            *told = Some(status.clone());
            true
        });
        let stream = *stream;
        if !statuses.is_empty() {
            self.send_up(stream, Up::Report { statuses });
        }
        Ok(())
    }

    /// Hands the writer's next batch to the disk.
    pub(crate) fn agent_writes(&mut self, host: Host) {
        let number = self.machines[host].life_number;
        let Some(life) = &mut self.machines[host].life else { return };
        match life.seat.write() {
            Written::Nothing => {}
            Written::Batch(batch) => {
                let delay = self.delay(self.scenario.disk.sync, self.scenario.disk.slow_sync);
                self.after(delay, Happening::AgentSynced { host, life: number, batch });
            }
            Written::Full => self.after(SPACE_EVERY, Happening::AgentLooksForSpace { host, life: number }),
        }
    }

    pub(crate) fn agent_synced(&mut self, host: Host, number: Life, batch: &Batch) -> Result<(), Broken> {
        if number != self.machines[host].life_number || self.machines[host].life.is_none() {
            return Ok(());
        }
        let (fault, room) = (self.draw_disk_fault(), self.draw_room());
        let (at, boot) = (self.at(), self.boot());
        let Machine { life: Some(life), disk, history, .. } = &mut self.machines[host] else { return Ok(()) };
        if let Some(fault) = fault {
            disk.arm(fault);
        }
        if let Some(room) = room {
            disk.set_room(room);
        }
        let mut broken = Ok(());
        let (synced, space) = life.seat.sync(disk, boot, batch, |event| {
            if broken.is_ok() {
                broken = domain::history(history, event);
            }
        });
        broken?;
        let released = match synced {
            Synced::Durable(released) => released,
            Synced::Away => {
                self.after(SPACE_EVERY, Happening::AgentLooksForSpace { host, life: number });
                return Ok(());
            }
            Synced::Failed => {
                self.say_of(host, || format!("a sync failed: {fault:?}"));
                return self.agent_crashes(host);
            }
        };
        disk.compact(&mut life.seat, self.scenario.disk.compact_after, at)?;
        if space != Space::Ample {
            self.after(SPACE_EVERY, Happening::AgentLooksForSpace { host, life: number });
        }
        for release in released {
            self.agent_releases(host, release)?;
        }
        self.agent_writes(host);
        self.agent_works(host)
    }

    pub(crate) fn agent_looks_for_space(&mut self, host: Host, number: Life) -> Result<(), Broken> {
        if number != self.machines[host].life_number {
            return Ok(());
        }
        let room = self.later_room();
        self.machines[host].disk.set_room(room);
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        if life.seat.look_for_space()? != Space::Ample {
            self.after(SPACE_EVERY, Happening::AgentLooksForSpace { host, life: number });
        }
        self.agent_writes(host);
        self.agent_works(host)
    }

    pub(crate) fn agent_due(&mut self, host: Host, number: Life) -> Result<(), Broken> {
        if number != self.machines[host].life_number {
            return Ok(());
        }
        let at = self.at();
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        life.due = None;
        if life.seat.state.next_deadline().is_some_and(|(due, _)| due <= at) {
            return self.agent_asked(host, Command::Due);
        }
        self.agent_minds_deadline(host);
        Ok(())
    }

    fn agent_minds_deadline(&mut self, host: Host) {
        let number = self.machines[host].life_number;
        let Some(life) = &self.machines[host].life else { return };
        let Some((due, _)) = life.seat.state.next_deadline() else { return };
        let due = self.moment(due);
        let Some(life) = &mut self.machines[host].life else { return };
        if life.due.is_none_or(|set| due < set) {
            life.due = Some(due);
            self.agenda.put(due, Happening::AgentDue { host, life: number });
        }
    }

    pub(crate) fn agent_dials(&mut self, host: Host, number: Life) -> Result<(), Broken> {
        let machine = &self.machines[host];
        let dialing = machine.life.as_ref().is_some_and(|life| matches!(life.stream, Link::Dialing));
        if number != machine.life_number || !dialing {
            return Ok(());
        }
        let slots = machine.slots.len();
        if self.plane.life.is_none() {
            self.agent_dials_later(host);
            return Ok(());
        }
        let stream = self.open_stream(host, number, self.plane.life_number);
        if let Some(plane) = &mut self.plane.life {
            plane.streams.insert(stream, super::plane::PlaneStream { host, machine: None });
        }
        if let Some(life) = &mut self.machines[host].life {
            life.stream = Link::Joining { stream };
        }
        self.send_up(stream, Up::Join { slots });
        Ok(())
    }

    fn agent_dials_later(&mut self, host: Host) {
        let delay = self.random.between(DIAL_AGAIN.0, DIAL_AGAIN.1);
        let number = self.machines[host].life_number;
        self.after(delay, Happening::AgentDials { host, life: number });
    }

    pub(crate) fn agent_notices_end(
        &mut self,
        host: Host,
        number: Life,
        stream: StreamId,
    ) -> Result<(), Broken> {
        if number == self.machines[host].life_number {
            self.agent_drops(host, stream);
        }
        Ok(())
    }

    fn agent_drops(&mut self, host: Host, stream: StreamId) {
        let Some(life) = &mut self.machines[host].life else { return };
        if life.stream.stream() == Some(stream) {
            life.stream = Link::Dialing;
            self.agent_dials_later(host);
        }
    }

    pub(crate) fn agent_hears(&mut self, host: Host, stream: StreamId, down: Down) -> Result<(), Broken> {
        let Some(life) = &self.machines[host].life else { return Ok(()) };
        if life.stream.stream() != Some(stream) {
            return Ok(());
        }
        match down {
            Down::Joined { servers } => self.agent_joined(host, stream, servers),
            Down::Owed(owed) => {
                if self.struck(self.scenario.network.frame_again) {
                    let (life, owed) = (self.machines[host].life_number, owed.clone());
                    let later = self.random.below(AGAIN_MAX);
                    self.after(later, Happening::FrameAgain { host, life, owed });
                }
                self.agent_takes(host, owed)
            }
        }
    }

    /// A frame that had been read is obeyed late, or a second time: orders are levels, so it must do no harm.
    pub(crate) fn frame_again(
        &mut self,
        host: Host,
        number: Life,
        owed: mainstay_fleet::Owed,
    ) -> Result<(), Broken> {
        if number == self.machines[host].life_number { self.agent_takes(host, owed) } else { Ok(()) }
    }

    fn agent_takes(&mut self, host: Host, owed: mainstay_fleet::Owed) -> Result<(), Broken> {
        if let Some((_, specs)) = owed.specs {
            let specs = specs.into_iter().map(Arc::new).collect();
            self.agent_asked(host, Command::TakeSpecs { specs })?;
        }
        let mut orders = owed.orders;
        if self.has(Bug::OlderGenerationObeyed) {
            let Some(life) = &self.machines[host].life else { return Ok(()) };
            for order in &mut orders {
                if let Some(newest) = life.seat.state.slot(order.server).map(|slot| slot.order.generation)
                    && order.generation < newest
                {
                    order.generation = newest.next();
                }
            }
        }
        if orders.is_empty() {
            return Ok(());
        }
        self.agent_asked(host, Command::TakeOrders { orders })
    }

    fn agent_joined(&mut self, host: Host, stream: StreamId, servers: Vec<ServerId>) -> Result<(), Broken> {
        let (at, boot) = (self.at(), self.boot());
        let machine = &mut self.machines[host];
        if !servers.starts_with(&machine.servers) || servers.len() != machine.slots.len() {
            return Err(Broken::new(
                "a machine that comes back has the servers it had",
                format!("{:?}, then {servers:?}", machine.servers),
            ));
        }
        machine.servers = servers;
        let Some(life) = &mut machine.life else { return Ok(()) };
        life.stream = Link::Connecting { stream };
        let statuses = machine.servers.iter().filter_map(|server| match life.seat.state.slot(*server) {
            Some(_) => life.seat.state.status(*server),
            None => Some(without_order(*server)),
        });
        let release =
            AgentRelease { effects: Vec::new(), statuses: statuses.collect(), connects: Some(stream) };
        self.agent_keeps(host, at, boot, Vec::new(), release)
    }

    pub(crate) fn agent_crashes(&mut self, host: Host) -> Result<(), Broken> {
        let machine = &mut self.machines[host];
        let Some(life) = machine.life.take() else { return Ok(()) };
        self.counts.agent_crashes += 1;
        if self.bug == Some(Bug::AgentTrustsStoredSight) {
            machine.stored = stored_sights(&machine.servers, &life.seat.state);
        }
        machine.life_number += 1;
        self.say_of(host, || "crashes".to_owned());
        let AgentLife { seat, stream, .. } = life;
        let crash = self.draw_crash();
        let Machine { disk, history, .. } = &mut self.machines[host];
        let mut broken = Ok(());
        disk.crash(seat, crash, |event| {
            if broken.is_ok() {
                broken = domain::history(history, event);
            }
        })?;
        broken?;
        if let Some(stream) = stream.stream() {
            self.break_stream(stream);
        }
        let down = self.random.between(1_000, self.scenario.crashes.down);
        self.after(down, Happening::AgentStarts { host });
        Ok(())
    }

    pub(crate) fn agent_forgets(&mut self, host: Host) -> Result<(), Broken> {
        let at = self.at();
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        life.seat.state.observe(at, Observation::Forgot);
        self.counts.forgotten += 1;
        self.say_of(host, || "forgets".to_owned());
        self.agent_ends_turn(host, Vec::new(), None)
    }
}

/// A slot that no order has reached yet.
fn without_order(server: ServerId) -> Status {
    Status { server, generation: Generation::NONE, configuration: None, phase: Phase::Stopped(Stopped::Idle) }
}

fn stored_sights(servers: &[ServerId], state: &Supervisor) -> Vec<Observation> {
    let sight = |server: &ServerId| {
        let pid = state.pid(*server)?;
        let run = state.slot(*server)?.live_run()?.number;
        Some(Observation::Saw { server: *server, run, sight: Sight::Running { pid } })
    };
    servers.iter().filter_map(sight).collect()
}
