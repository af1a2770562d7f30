//! What leaves the plane once it is durable, and its side of the streams.

use mainstay_core::StateMachine as _;
use mainstay_fleet::{Observation, StreamId};

use super::{Ask, PlaneStream, World};
use crate::bug::Bug;
use crate::laws::{Broken, durable};
use crate::message::{Down, Frame, Life, PlaneRelease, Reply, Up};

impl World {
    /// What was held is let go.
    pub(crate) fn plane_releases(&mut self, release: PlaneRelease) -> Result<(), Broken> {
        let PlaneRelease { reply, frames, errands } = release;
        match reply {
            None => {}
            Some(Reply::Call { call, said }) => {
                let (at, moves) = (self.at(), self.moves());
                durable::answer(&self.calls[call].want, &said, &self.plane.disk.twin, at, moves)?;
                self.answer_call(call, said);
            }
            Some(Reply::Joined { stream, machine, servers }) => {
                durable::joined(machine, &servers, &self.plane.disk.twin)?;
                self.send_down(stream, Down::Joined { servers });
            }
            Some(Reply::Close { stream }) => self.plane_closes(stream),
            Some(Reply::Orphans(orphans)) => self.orphans_are_deleted(orphans),
        }
        for errand in errands {
            self.provider_is_asked(&errand)?;
        }
        for frame in frames {
            self.plane_sends(frame)?;
        }
        Ok(())
    }

    pub(crate) fn plane_sends(&mut self, frame: Frame) -> Result<(), Broken> {
        let Frame { stream, machine, owed } = frame;
        durable::orders(&owed, &self.plane.disk.twin)?;
        let at = self.at();
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        if !life.streams.contains_key(&stream) {
            return Ok(());
        }
        let orders = owed.orders.iter().map(|order| (order.server, order.generation)).collect();
        let specs = owed.specs.as_ref().map(|(revision, _)| *revision);
        life.seat.state.observe(at, Observation::Sent { machine, stream, specs, orders });
        self.send_down(stream, Down::Owed(owed));
        Ok(())
    }

    pub(crate) fn plane_hears(&mut self, stream: StreamId, up: Up) -> Result<(), Broken> {
        self.plane_asked(Ask::Stream { stream, up })
    }

    pub(crate) fn plane_notices_end(&mut self, number: Life, stream: StreamId) -> Result<(), Broken> {
        if number != self.plane.life_number {
            return Ok(());
        }
        self.plane_drops(stream)
    }

    /// The plane closes a stream by itself.
    pub(crate) fn plane_closes(&mut self, stream: StreamId) {
        self.break_stream(stream);
    }

    /// The stream is over for the plane.
    pub(crate) fn plane_drops(&mut self, stream: StreamId) -> Result<(), Broken> {
        let at = self.at();
        let survives = self.has(Bug::DeadStreamBelieved);
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        let Some(PlaneStream { machine, .. }) = life.streams.remove(&stream) else { return Ok(()) };
        let link =
            machine.and_then(|machine| life.seat.state.machine(machine)).map(mainstay_fleet::Machine::link);
        if let (Some(machine), Some(mainstay_fleet::Link::Up { stream: current, .. })) = (machine, link)
            && current == stream
        {
            self.plane.heard.insert(machine, self.now);
        }
        let Some(life) = &mut self.plane.life else { return Ok(()) };
        if let Some(machine) = machine
            && !survives
        {
            life.seat.state.observe(at, Observation::Disconnected { machine, stream });
            return self.plane_ends_turn(Vec::new(), None);
        }
        Ok(())
    }
}
