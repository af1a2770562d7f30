//! An agent's side of its stream: dial, join, report, obey.

use std::sync::Arc;

use mainstay_core::slot::{Incident, Phase, Reading, Status, Stopped};
use mainstay_core::{Generation, ServerId};
use mainstay_fleet::{Owed, StreamId};
use mainstay_supervisor::{Command, Supervisor};

use super::{Link, World};
use crate::agenda::Micros;
use crate::bug::Bug;
use crate::laws::{Broken, durable};
use crate::message::{AgentRelease, Down, Happening, Host, Life, Up};
use crate::world::plane::PlaneStream;

/// The least and the greatest pause before an agent dials again.
const DIAL_AGAIN: (Micros, Micros) = (100_000, 2_000_000);

/// The longest that a frame is obeyed late.
const AGAIN_MAX: Micros = 20_000_000;

impl World {
    pub(crate) fn agent_connects(
        &mut self,
        host: Host,
        stream: StreamId,
        statuses: Vec<Status>,
        readings: Vec<(ServerId, Option<Reading>)>,
    ) -> Result<(), Broken> {
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
        life.stream = Link::Up { stream, told, read: vec![None; machine.servers.len()] };
        let incidents = known_incidents(&machine.disk.twin, machine.servers.iter().copied());
        self.send_up(stream, Up::Connect { statuses });
        self.send_up(stream, Up::Incidents { incidents });
        self.agent_reports(host, Vec::new(), readings)
    }

    pub(crate) fn agent_reports(
        &mut self,
        host: Host,
        mut statuses: Vec<Status>,
        readings: Vec<(ServerId, Option<Reading>)>,
    ) -> Result<(), Broken> {
        let machine = &mut self.machines[host];
        durable::statuses(&statuses, &machine.disk.twin)?;
        let Some(life) = &mut machine.life else { return Ok(()) };
        let Link::Up { stream, told, read } = &mut life.stream else { return Ok(()) };
        statuses.retain(|status| {
            let slot = machine.servers.iter().position(|of| *of == status.server);
            let Some(told) = slot.and_then(|slot| told.get_mut(slot)) else { return false };
            if told.as_ref() == Some(status) {
                return false;
            }
            *told = Some(status.clone());
            true
        });
        // As the real agent: what has changed, and, with each word on a slot, what was read of it last.
        let readings = readings.into_iter().filter_map(|(server, reading)| {
            let known = read.get_mut(machine.servers.iter().position(|of| *of == server)?)?;
            let before = std::mem::replace(known, reading);
            let said = statuses.iter().any(|status| status.server == server);
            Some((server, reading.filter(|_| said || before != reading)?))
        });
        let readings: Vec<(ServerId, Reading)> = readings.collect();
        let stream = *stream;
        let incidents = known_incidents(&machine.disk.twin, statuses.iter().map(|status| status.server));
        if !incidents.is_empty() {
            self.send_up(stream, Up::Incidents { incidents });
        }
        if !statuses.is_empty() {
            self.send_up(stream, Up::Report { statuses });
        }
        if !readings.is_empty() {
            self.send_up(stream, Up::Readings { readings });
        }
        Ok(())
    }

    pub(crate) fn agent_dials(&mut self, host: Host, number: Life) -> Result<(), Broken> {
        let machine = &self.machines[host];
        let dialing = machine.life.as_ref().is_some_and(|life| matches!(life.stream, Link::Dialing));
        if number != machine.life_number || !dialing {
            return Ok(());
        }
        let (slots, boot) = (machine.slots.len(), machine.boot);
        if self.plane.life.is_none() || machine.cut_until > self.now {
            self.agent_dials_later(host);
            return Ok(());
        }
        let stream = self.open_stream(host, number, self.plane.life_number);
        if let Some(plane) = &mut self.plane.life {
            plane.streams.insert(stream, PlaneStream { host, machine: None });
        }
        if let Some(life) = &mut self.machines[host].life {
            life.stream = Link::Joining { stream };
        }
        self.machine_is_let_in(host);
        self.send_up(stream, Up::Join { slots, boot });
        Ok(())
    }

    pub(crate) fn agent_dials_later(&mut self, host: Host) {
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

    pub(crate) fn agent_drops(&mut self, host: Host, stream: StreamId) {
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
    pub(crate) fn frame_again(&mut self, host: Host, number: Life, owed: Owed) -> Result<(), Broken> {
        if number == self.machines[host].life_number { self.agent_takes(host, owed) } else { Ok(()) }
    }

    pub(crate) fn agent_takes(&mut self, host: Host, owed: Owed) -> Result<(), Broken> {
        if let Some((_, specs)) = owed.specs {
            let specs = specs.into_iter().map(Arc::new).collect();
            self.agent_asked(host, Command::TakeSpecs { specs })?;
        }
        let mut orders = owed.orders;
        if self.has(Bug::FenceLifted) {
            for order in &mut orders {
                let fenced =
                    self.plane.disk.twin.server(order.server).is_some_and(mainstay_fleet::Server::is_fenced);
                if fenced && order.intent == mainstay_core::slot::Intent::Stop {
                    order.intent = mainstay_core::slot::Intent::Leave;
                }
            }
        }
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

    pub(crate) fn agent_joined(
        &mut self,
        host: Host,
        stream: StreamId,
        servers: Vec<ServerId>,
    ) -> Result<(), Broken> {
        let (at, boot) = (self.at_of(host), self.boot());
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
        let readings = machine.servers.iter().map(|server| (*server, life.seat.state.reading(*server)));
        let release = AgentRelease {
            effects: Vec::new(),
            statuses: statuses.collect(),
            readings: readings.collect(),
            connects: Some(stream),
        };
        self.agent_keeps(host, at, boot, Vec::new(), release)
    }
}

/// A slot that no order has reached yet.
fn without_order(server: ServerId) -> Status {
    Status {
        server,
        generation: Generation::NONE,
        configuration: None,
        run: 0,
        phase: Phase::Stopped(Stopped::Idle),
    }
}

/// What the agent's disk knows of these slots' ended processes: told with every word on them, though it was told before.
fn known_incidents(disk: &Supervisor, servers: impl Iterator<Item = ServerId>) -> Vec<Incident> {
    servers.flat_map(|server| disk.incidents(server).to_vec()).collect()
}
