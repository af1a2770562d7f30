//! The control plane's process: a mailbox before the fleet, the writer behind it, streams beside it.

mod ends;
mod releases;
mod writes;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use mainstay_core::slot::{Reading, Status};
use mainstay_core::{BootId, Generation, MachineId, ServerId, StateMachine as _};
use mainstay_fleet::{
    Addresses, Answer, Cause, Command, Event, Fleet, FleetSpec, KeptOut, Observation, Ports, Rejection,
    StreamId, laws as fleet_laws,
};
use mainstay_journal::Admission;
use uuid::Uuid;

use super::World;
use super::clocks::HostClock;
use super::people::REGION;
use super::provider::key_of;
use super::words::{brief, told};
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::laws::{Broken, domain, endings, hearing, holds, placement};
use crate::message::{
    CallIndex, Frame, GameAsk, Host, Life, Operation, PlaneRelease, Reply, Said, Up, View, Want,
};
use crate::os::Ends;
use crate::seat::{Disk, Kept, Seat};

/// How often a plane whose disk is full looks for space ("about once a second", the journal's port).
pub(crate) const SPACE_EVERY: Micros = 1_000_000;

/// The plane: its disk, and its process while it lives.
#[derive(Debug)]
pub(crate) struct Plane {
    pub(crate) disk: Disk<Fleet>,
    pub(crate) life: Option<PlaneLife>,
    pub(crate) life_number: Life,
    /// What the operator's file says the fleet is.
    pub(crate) file: Arc<FleetSpec>,
    /// What a plane with [`Bug::PlaneTrustsStoredSeen`] keeps where it must not.
    pub(crate) stored: Vec<(MachineId, StreamId, Status)>,
    /// When each machine was last heard by this plane's process, as the world saw it.
    pub(crate) heard: BTreeMap<MachineId, Micros>,
    /// Machines that this plane's process has let in by a token and that have not joined, and since when.
    pub(crate) arriving: BTreeMap<Host, Micros>,
    /// Since when this plane's process has been listening.
    pub(crate) listens_since: Micros,
    pub(crate) clock: HostClock,
    /// When it last heard of each server that somebody plays there, or may.
    pub(crate) played: BTreeMap<ServerId, Micros>,
}

/// What a crash of the plane's process takes with it.
#[derive(Debug)]
pub(crate) struct PlaneLife {
    pub(crate) seat: Seat<Fleet, PlaneRelease>,
    pub(crate) streams: BTreeMap<StreamId, PlaneStream>,
    pub(crate) mailbox: VecDeque<Ask>,
    due: Option<Micros>,
}

/// One agent's stream as the plane holds it.
#[derive(Debug)]
pub(crate) struct PlaneStream {
    pub(crate) host: Host,
    pub(crate) machine: Option<MachineId>,
}

/// What waits in the mailbox.
#[derive(Debug)]
pub(crate) enum Ask {
    Configure,
    Due,
    Call(CallIndex),
    Stream {
        stream: StreamId,
        up: Up,
    },
    /// What the hand at the machine provider heard.
    Provider(Command),
}

impl Plane {
    pub(crate) fn new(seed: u64, file: Arc<FleetSpec>) -> Self {
        Self {
            disk: Disk::empty("fleet/1", Fleet::new(seed)),
            life: None,
            life_number: 0,
            file,
            stored: Vec::new(),
            heard: BTreeMap::new(),
            arriving: BTreeMap::new(),
            listens_since: 0,
            clock: HostClock::new(0),
            played: BTreeMap::new(),
        }
    }
}

impl World {
    pub(crate) fn plane_starts(&mut self) -> Result<(), Broken> {
        if self.plane.life.is_some() {
            return Ok(());
        }
        self.plane_clock_starts();
        let boot = self.boot();
        let mut seat = self.plane.disk.take(boot)?;
        domain::replayed_fleet(&seat.state, &self.plane.disk.twin)?;
        if self.has(Bug::PlaneTrustsStoredSeen) {
            for (machine, stream, status) in self.plane.stored.clone() {
                seat.state.observe(self.at(), Observation::Connected { machine, stream });
                seat.state.observe(self.at(), Observation::Seen(status));
            }
        }
        // A loss that was decided and never durable did not happen.
        self.condemned
            .retain(|server, _| seat.state.server(*server).is_some_and(mainstay_fleet::Server::is_fenced));
        let (streams, mailbox) = (BTreeMap::new(), VecDeque::new());
        self.plane.life = Some(PlaneLife { seat, streams, mailbox, due: None });
        self.plane.listens_since = self.now;
        self.plane.arriving.clear();
        self.say("plane", || "starts".to_owned());
        self.plane_asked(Ask::Configure)
    }

    /// Something for the mailbox; decided at once where the writer admits it.
    pub(crate) fn plane_asked(&mut self, ask: Ask) -> Result<(), Broken> {
        if let Some(life) = &mut self.plane.life {
            life.mailbox.push_back(ask);
        }
        self.plane_works()
    }

    fn plane_works(&mut self) -> Result<(), Broken> {
        while let Some(life) = &mut self.plane.life {
            let admission = life.seat.writer.admission();
            match admission {
                Admission::Open | Admission::ReserveOnly => {}
                Admission::Wait | Admission::Stalled | Admission::Ended => break,
            }
            let Some(ask) = life.mailbox.pop_front() else { break };
            self.plane_decides(ask, admission)?;
        }
        Ok(())
    }

    fn plane_decides(&mut self, ask: Ask, admission: Admission) -> Result<(), Broken> {
        match ask {
            Ask::Configure => {
                self.plane_turn(&Command::Configure(Arc::clone(&self.plane.file)), Asker::Nobody)
            }
            Ask::Due => self.plane_turn(&Command::Due, Asker::Nobody),
            Ask::Provider(command) => self.plane_turn(&command, Asker::Provider),
            Ask::Stream { stream, up } => self.plane_decides_frame(stream, up),
            Ask::Call(call) => self.plane_decides_call(call, admission),
        }
    }

    fn plane_decides_frame(&mut self, stream: StreamId, up: Up) -> Result<(), Broken> {
        let Some(known) = self.plane.life.as_ref().and_then(|life| life.streams.get(&stream)) else {
            return Ok(());
        };
        let (host, machine) = (known.host, known.machine);
        match (up, machine) {
            (Up::Join { slots, boot }, _) => {
                let join = join(host, self.machines[host].made, slots, boot);
                self.plane_turn(&join, Asker::Stream { stream, machine: None })
            }
            (Up::Connect { statuses }, Some(machine)) => self.plane_turn(
                &Command::Connect { machine, stream, statuses },
                Asker::Stream { stream, machine: Some(machine) },
            ),
            (Up::Report { statuses }, Some(machine)) => self.plane_turn(
                &Command::Report { machine, stream, statuses },
                Asker::Stream { stream, machine: Some(machine) },
            ),
            (Up::Incidents { incidents }, Some(machine)) => self.plane_turn(
                &Command::TakeIncidents { machine, stream, incidents },
                Asker::Stream { stream, machine: Some(machine) },
            ),
            (Up::Readings { readings }, Some(machine)) => self.plane_sees(stream, machine, readings),
            (Up::Connect { .. } | Up::Report { .. } | Up::Incidents { .. } | Up::Readings { .. }, None) => {
                Ok(())
            }
        }
    }

    /// What was read changes nothing durable, but may set a deadline.
    fn plane_sees(
        &mut self,
        stream: StreamId,
        machine: MachineId,
        mut readings: Vec<(ServerId, Reading)>,
    ) -> Result<(), Broken> {
        let (at, now, deaf) = (self.at(), self.now, self.has(Bug::PlayersUnheard));
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        let link = life.seat.state.machine(machine).map(mainstay_fleet::Machine::link);
        if matches!(link, Some(mainstay_fleet::Link::Up { stream: current, .. }) if current == stream) {
            let played = readings.iter().filter(|(_, reading)| endings::may_be_played_on(reading));
            self.plane.played.extend(played.map(|(server, _)| (*server, now)));
        }
        if deaf {
            readings.retain(|(_, reading)| !endings::may_be_played_on(reading));
        }
        life.seat.state.observe(at, Observation::Read { machine, stream, readings });
        self.plane_ends_turn(Vec::new(), None)
    }

    fn plane_decides_call(&mut self, call: CallIndex, admission: Admission) -> Result<(), Broken> {
        let want = self.calls[call].want.clone();
        let grows = match &want {
            Want::Allocate { .. } | Want::Operate(_) => true,
            Want::Deallocate { .. } | Want::Read { .. } | Want::Ask { .. } => false,
        };
        if grows && admission == Admission::ReserveOnly {
            return self.plane_releases(PlaneRelease {
                reply: Some(Reply::Call { call, said: Said::DiskFull }),
                frames: Vec::new(),
                errands: Vec::new(),
            });
        }
        match want {
            Want::Allocate { id, request } => {
                self.plane_turn(&Command::Allocate { id, request }, Asker::Call(call))
            }
            Want::Deallocate { id } => self.plane_turn(&Command::Deallocate { id }, Asker::Call(call)),
            Want::Operate(Operation::Start(server)) => {
                self.plane_turn(&Command::StartServer(server), Asker::Call(call))
            }
            Want::Operate(Operation::Stop(server)) => {
                self.plane_turn(&Command::StopServer(server), Asker::Call(call))
            }
            Want::Operate(Operation::Restart(server)) => {
                self.plane_turn(&Command::RestartServer(server), Asker::Call(call))
            }
            Want::Operate(Operation::Release(server)) => {
                self.plane_turn(&Command::Release(server), Asker::Call(call))
            }
            Want::Operate(Operation::Assign(server, configuration)) => {
                self.plane_turn(&Command::SetConfiguration { server, configuration }, Asker::Call(call))
            }
            Want::Operate(Operation::Drain(machine)) => {
                self.plane_turn(&Command::DrainMachine(machine), Asker::Call(call))
            }
            Want::Operate(Operation::Undrain(machine)) => {
                self.plane_turn(&Command::UndrainMachine(machine), Asker::Call(call))
            }
            Want::Operate(Operation::Remove(machine)) => {
                let kept_out = KeptOut::ByItsCredential;
                self.plane_turn(&Command::RemoveMachine { machine, kept_out }, Asker::Call(call))
            }
            Want::Ask { server, process, what } => {
                let what = match what {
                    GameAsk::Hold(_) if self.has(Bug::HoldReserves) => {
                        GameAsk::Reserve(mainstay_core::ReservationId(Uuid::from_u128(
                            u128::try_from(call).unwrap_or_default(),
                        )))
                    }
                    GameAsk::Hold(_)
                    | GameAsk::ReleaseHold
                    | GameAsk::Reserve(_)
                    | GameAsk::Unreserve
                    | GameAsk::Ready
                    | GameAsk::Unready => what,
                };
                let command = asked(server, process, what);
                self.plane_turn(&command, Asker::Call(call))
            }
            Want::Operate(Operation::Reconfigure) => {
                self.plane_turn(&Command::Configure(Arc::clone(&self.plane.file)), Asker::Call(call))
            }
            Want::Read { .. } => {
                self.plane_ends_turn(Vec::new(), Some(Reply::Call { call, said: Said::Done }))
            }
        }
    }

    fn plane_turn(&mut self, command: &Command, asker: Asker) -> Result<(), Broken> {
        let at = self.at();
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        if let Command::Due = command {
            self.begun.holds_are_over(&life.seat.state, at, self.now)?;
        }
        let (before, pool) = (fleet_laws::Before::of(&life.seat.state), holds::Before::of(&life.seat.state));
        let outcome = life.seat.run(at, command);
        if let Asker::Call(call) = &asker
            && let Want::Ask { what, .. } = &self.calls[*call].want
        {
            pool.changed_nothing_by_holding(what, &life.seat.state)?;
        }
        if let Command::Due = command {
            domain::nothing_is_overdue(&life.seat.state, at)?;
        }
        domain::turn_of_fleet(before, &life.seat.state, &outcome.events)?;
        placement::nobody_waits_in_vain(&life.seat.state, REGION)?;
        if let Some(event) = outcome.events.first() {
            self.say("plane", || {
                format!("decides {}: {}", brief(command), told(event, outcome.events.len()))
            });
        }
        self.begun.note(&outcome.events, at, self.now);
        self.endings_have_causes(&outcome.events)?;
        self.machines_fare(&outcome.events)?;
        if let Err(Rejection::NoServer(losers)) = &outcome.answer
            && losers.servers < self.scenario.fleet.max_servers
        {
            placement::nobody_is_on_its_way(&self.plane.arriving, self.now)?;
        }
        let reply = match asker {
            Asker::Nobody => None,
            Asker::Provider => match outcome.answer {
                Ok(Answer::Orphans(orphans)) => Some(Reply::Orphans(orphans)),
                Ok(_) | Err(_) => None,
            },
            Asker::Call(call) => {
                let said = match outcome.answer {
                    Ok(_) => Said::Done,
                    Err(rejection) => Said::Refused(Box::new(rejection)),
                };
                Some(Reply::Call { call, said })
            }
            Asker::Stream { stream, machine } => self.plane_answers_stream(stream, machine, outcome.answer),
        };
        self.plane_ends_turn(outcome.events, reply)
    }

    fn plane_answers_stream(
        &mut self,
        stream: StreamId,
        machine: Option<MachineId>,
        answer: Result<Answer, Rejection>,
    ) -> Option<Reply> {
        match answer {
            Ok(Answer::Joined { machine, slots }) => {
                let known = self.plane.life.as_mut()?.streams.get_mut(&stream)?;
                known.machine = Some(machine);
                let host = known.host;
                self.plane.arriving.remove(&host);
                self.plane.heard.insert(machine, self.now);
                let servers = slots.iter().map(|slot| slot.server).collect();
                Some(Reply::Joined { stream, machine, servers })
            }
            Ok(
                Answer::Done
                | Answer::Placed { .. }
                | Answer::Waiting { .. }
                | Answer::Known
                | Answer::Deferred
                | Answer::Held { .. }
                | Answer::Reserved(_)
                | Answer::Orphans(_),
            ) => {
                if self.has(Bug::PlaneTrustsStoredSeen)
                    && let Some(machine) = machine
                {
                    self.plane_stores_seen(machine, stream);
                }
                None
            }
            Err(rejection) => {
                self.say("plane", || format!("refuses stream {}: {rejection}", stream.0));
                Some(Reply::Close { stream })
            }
        }
    }

    /// What the turn owes goes to the writer with its events; nothing leaves before they are durable.
    fn plane_ends_turn(&mut self, events: Vec<Event>, reply: Option<Reply>) -> Result<(), Broken> {
        let (at, boot) = (self.at(), self.boot());
        self.counts.decided += events.len() as u64;
        self.trace.number(events.len() as u64);
        let reply = reply.map(|reply| self.with_view(reply));
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        let (mut frames, mut errands) = (Vec::new(), Vec::new());
        for machine in life.seat.state.take_touched() {
            hearing::link_is_held(&life.seat.state, machine, |stream| life.streams.contains_key(&stream))?;
            let owed = life.seat.state.owed(&machine);
            if let Some(errand) = owed.errand {
                life.seat.state.observe(at, Observation::ErrandTaken(machine));
                errands.push(errand);
                continue;
            }
            if let Some(mainstay_fleet::Link::Up { stream, .. }) =
                life.seat.state.machine(machine).map(mainstay_fleet::Machine::link)
                && !owed.is_empty()
            {
                frames.push(Frame { stream, machine, owed });
            }
        }
        let release = PlaneRelease { reply, frames, errands };
        let Some((early, release)) = self.early(release, events.is_empty()) else { return Ok(()) };
        if let Some(early) = early {
            self.plane_releases(early)?;
        }
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        match life.seat.keep(at, boot, events, release) {
            Kept::Now(release) => self.plane_releases(release)?,
            Kept::Queued => {}
        }
        self.plane_writes();
        self.plane_minds_deadline();
        Ok(())
    }

    /// What a planted bug lets go before its time.
    fn early(&self, release: PlaneRelease, is_read: bool) -> Option<(Option<PlaneRelease>, PlaneRelease)> {
        let PlaneRelease { reply, frames, errands } = release;
        let of_call = matches!(reply, Some(Reply::Call { .. }));
        let answer_early = of_call && !is_read && self.has(Bug::AnswerBeforeSync);
        let read_early = of_call && is_read && self.has(Bug::ReadBeforeSync);
        let frames_early = self.has(Bug::OrderBeforeSync);
        let (early_reply, reply) = if answer_early || read_early { (reply, None) } else { (None, reply) };
        let (early_frames, frames) = if frames_early { (frames, Vec::new()) } else { (Vec::new(), frames) };
        let (early_errands, errands) =
            if self.has(Bug::ErrandBeforeSync) { (errands, Vec::new()) } else { (Vec::new(), errands) };
        let early = (early_reply.is_some() || !early_frames.is_empty() || !early_errands.is_empty())
            .then_some(PlaneRelease { reply: early_reply, frames: early_frames, errands: early_errands });
        Some((early, PlaneRelease { reply, frames, errands }))
    }

    /// An answer about an allocation says how it stands at the end of the turn.
    fn with_view(&self, reply: Reply) -> Reply {
        let Reply::Call { call, said: Said::Done } = reply else { return reply };
        let id = match &self.calls[call].want {
            Want::Allocate { id, .. } | Want::Deallocate { id } | Want::Read { id } => *id,
            Want::Operate(_) | Want::Ask { .. } => return Reply::Call { call, said: Said::Done },
        };
        let Some(life) = &self.plane.life else { return Reply::Call { call, said: Said::Done } };
        let said = match life.seat.state.allocation(id, self.at()) {
            Some(allocation) => Said::Stands(View::of(allocation)),
            None => Said::NoSuch,
        };
        Reply::Call { call, said }
    }

    /// What happens to machines has a cause in the world, and what they had played stays given up.
    fn machines_fare(&mut self, events: &[Event]) -> Result<(), Broken> {
        for event in events {
            self.counts.note(event);
            if let Event::MachineLost { machine } = event {
                self.lost_were_silent(*machine)?;
            } else if let Event::ServerOrdered { server, cause: Cause::MachineLost, .. } = event {
                self.condemn(*server);
            } else if let Event::AllocationFulfilled { id, .. } = event {
                let state = self.plane.life.as_ref().map(|life| &life.seat.state);
                let placed = state.and_then(|state| state.allocation(*id, self.at())?.placed());
                if let Some(placed) = placed {
                    self.plays_afresh(placed.server)?;
                }
            }
        }
        Ok(())
    }

    fn endings_have_causes(&self, events: &[Event]) -> Result<(), Broken> {
        let Some(life) = &self.plane.life else { return Ok(()) };
        for event in events {
            if let Event::AllocationEnded { id, end, .. } = event {
                let known = life.seat.state.allocation(*id, self.at());
                let server = known.and_then(mainstay_fleet::Allocation::placed).map(|placed| placed.server);
                let ends = server.map(|server| self.ends_of(server));
                let played = server.and_then(|server| self.plane.played.get(&server).copied());
                let quiet = self.scenario.fleet.players_told.then(|| self.now - played.unwrap_or(0));
                let age = known.map(|known| self.at().since(known.requested)).unwrap_or_default();
                let forced = life.seat.state.spec().is_some_and(|spec| !spec.floors.is_empty());
                self.begun.has_aged(*id, end, self.now)?;
                let happened = endings::Happened {
                    deallocated: self.oracle.was_deallocated(*id),
                    age,
                    forced,
                    ends: ends.unwrap_or_default(),
                    quiet,
                };
                endings::has_cause(*id, end, &happened, self.now)?;
            }
        }
        Ok(())
    }
}

/// What a game asks, as the plane takes it: the time counts from when it is heard, by the plane's clock.
fn asked(server: ServerId, process: Generation, what: GameAsk) -> Command {
    match what {
        GameAsk::Hold(time) => Command::Hold { server, process, time },
        GameAsk::ReleaseHold => Command::ReleaseHold { server, process },
        GameAsk::Reserve(reservation) => Command::Reserve { server, process, reservation },
        GameAsk::Unreserve => Command::Unreserve { server, process },
        GameAsk::Ready => Command::SetReady { server, process },
        GameAsk::Unready => Command::SetUnready { server, process },
    }
}

enum Asker {
    Nobody,
    Provider,
    Call(CallIndex),
    Stream { stream: StreamId, machine: Option<MachineId> },
}

fn join(host: Host, made: Option<MachineId>, slots: usize, boot: u64) -> Command {
    let ports = |slot: usize| {
        let game = u16::try_from(9_000 + slot * 2).unwrap_or(u16::MAX - 1);
        Ports { game, query: game + 1 }
    };
    Command::Join {
        key: key_of(host, made),
        region: REGION,
        name: format!("machine-{host}").into(),
        addresses: Addresses::default(),
        slots: (0..slots).map(ports).collect(),
        boot: Some(BootId(Uuid::from_u128(((host as u128) << 64) | u128::from(boot)))),
        host: None,
    }
}

/// Where a server is in the world.
impl World {
    pub(crate) fn place_of(&self, server: ServerId) -> Option<(Host, usize)> {
        // The newest of those that a provider made under one name.
        self.machines.iter().enumerate().rev().find_map(|(host, machine)| {
            machine.servers.iter().position(|of| *of == server).map(|slot| (host, slot))
        })
    }

    /// When a server's processes last ended in each way, on whichever host its machine was at the time: a provider makes
    /// one anew under the same name.
    fn ends_of(&self, server: ServerId) -> Ends {
        let slots = self.machines.iter().flat_map(|machine| machine.servers.iter().zip(&machine.slots));
        let ends = slots.filter(|(of, _)| **of == server).map(|(_, truth)| truth.ends);
        ends.fold(Ends::default(), |one, other| Ends {
            completed: one.completed.max(other.completed),
            crashed: one.crashed.max(other.crashed),
            lost: one.lost.max(other.lost),
        })
    }

    pub(crate) fn truth_of(&self, server: ServerId) -> Option<&crate::os::SlotTruth> {
        let (host, slot) = self.place_of(server)?;
        self.machines[host].slots.get(slot)
    }
}
