//! An agent's process: a mailbox before the supervisor, the writer behind it, one stream to the plane.

mod ends;
mod stream;
mod writes;

use std::collections::VecDeque;
use std::time::Duration;

use mainstay_core::slot::{Reading, Status};
use mainstay_core::{MachineId, ServerId, StateMachine as _, Timestamp};
use mainstay_fleet::StreamId;
use mainstay_journal::Admission;
use mainstay_supervisor::laws::History;
use mainstay_supervisor::{Answer, Command, Event, Observation, Supervisor};

use super::World;
use super::clocks::HostClock;
use super::words::taken;
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::laws::{Broken, domain, generations, processes};
use crate::message::{AgentRelease, Due, Happening, Host, Life, SlotIndex};
use crate::os::SlotTruth;
use crate::seat::{Disk, Kept, Seat};

/// A machine: its disk, its slots, and its agent's process while that lives.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) disk: Disk<Supervisor>,
    pub(crate) life: Option<AgentLife>,
    pub(crate) life_number: Life,
    /// Raised by each reboot.
    pub(crate) boot: u64,
    /// What a provider made it for.
    pub(crate) made: Option<MachineId>,
    /// It is no more, and nothing on it comes back.
    pub(crate) gone: bool,
    /// Until then nobody gets through to it, nor it to anybody.
    pub(crate) cut_until: Micros,
    pub(crate) clock: HostClock,
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
    /// Open, and every slot has been reported once; `told` and `read` are the newest of each.
    Up { stream: StreamId, told: Vec<Option<Status>>, read: Vec<Option<Reading>> },
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
            made: None,
            gone: false,
            cut_until: 0,
            clock: HostClock::new(0),
            slots: std::iter::repeat_with(SlotTruth::default).take(slots).collect(),
            servers: Vec::new(),
            history: History::new(),
            stored: Vec::new(),
        }
    }

    /// One that a provider made.
    pub(crate) fn made(host: Host, machine: MachineId, slots: usize) -> Self {
        Self { made: Some(machine), ..Self::new(host, slots) }
    }
}

impl World {
    pub(crate) fn agent_starts(&mut self, host: Host) -> Result<(), Broken> {
        if self.machines[host].life.is_some() || self.machines[host].gone {
            return Ok(());
        }
        self.agent_clock_starts(host);
        let (at, boot) = (self.at_of(host), self.boot());
        let trusts = self.has(Bug::AgentTrustsStoredSight);
        let forgets_strikes = self.has(Bug::StrikesForgotten);
        let machine = &mut self.machines[host];
        let mut seat = machine.disk.take(boot)?;
        domain::replayed_supervisor(&seat.state, &machine.disk.twin)?;
        seat.state.observe(at, Observation::Forgot);
        if forgets_strikes {
            for server in machine.servers.clone() {
                seat.state.apply(at, &Event::StrikesCleared { server });
            }
        }
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
        let at = self.at_of(host);
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
        let outcome = life.seat.run(at, command);
        processes::a_loss_is_no_crash(command, &outcome.events, |server| {
            let machine = &self.machines[host];
            let slot = machine.servers.iter().position(|known| *known == server)?;
            machine.slots.get(slot)
        })?;
        let Some(life) = &mut self.machines[host].life else { return Ok(()) };
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
        let (at, boot) = (self.at_of(host), self.boot());
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
            release.effects.push(Due { slot, effects: life.seat.state.owed(&server) });
            if let Link::Up { .. } | Link::Connecting { .. } = life.stream {
                let status = life.seat.state.status(server);
                if let (Some(status), Some(truth)) = (&status, machine.slots.get(slot)) {
                    processes::online_is_true(status, ordered, truth, self.pids)?;
                }
                release.statuses.extend(status);
                release.readings.push((server, life.seat.state.reading(server)));
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
        at: Timestamp,
        boot: Duration,
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
        let AgentRelease { effects, statuses, readings, connects } = release;
        for due in effects {
            self.hand_owes(host, due)?;
        }
        if let Some(stream) = connects {
            return self.agent_connects(host, stream, statuses, readings);
        }
        self.agent_reports(host, statuses, readings)
    }
}
