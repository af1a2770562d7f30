//! A fleet's hands: what it owes to machines becomes frames on their agents' streams.

use mainstay_core::{MachineId, StateMachine};
use mainstay_fleet::{Fleet, Link, Observation, Owed, StreamId};
use mainstay_runtime::{Hands, TakenUp};
use mainstay_wire::agent::Frame;

use crate::streams::Outboxes;

/// Puts frames into the outboxes of streams.
#[derive(Debug)]
pub(crate) struct FleetHands {
    outboxes: Outboxes,
}

impl FleetHands {
    pub(crate) const fn new(outboxes: Outboxes) -> Self {
        Self { outboxes }
    }
}

impl Hands<Fleet> for FleetHands {
    type Delivery = (StreamId, Frame);

    /// What is taken up counts as sent on the stream: a stream that then does not carry it is cut, and a machine that
    /// connects again is told everything anew.
    fn take_up(&mut self, machine: &MachineId, fleet: &Fleet) -> Option<TakenUp<Fleet, (StreamId, Frame)>> {
        let Link::Up { stream, .. } = fleet.machine(*machine)?.link() else { return None };
        let owed: Owed = fleet.owed(machine);
        if owed.is_empty() {
            return None;
        }
        let noted = Observation::Sent {
            machine: *machine,
            stream,
            specs: owed.specs.as_ref().map(|(revision, _)| *revision),
            orders: owed.orders.iter().map(|order| (order.server, order.generation)).collect(),
        };
        let frame = Frame { machine: *machine, specs: owed.specs, orders: owed.orders };
        Some(TakenUp { delivery: (stream, frame), noted: Some(noted) })
    }

    fn deliver(&mut self, frames: Vec<(StreamId, Frame)>) {
        self.outboxes.put(frames);
    }
}
