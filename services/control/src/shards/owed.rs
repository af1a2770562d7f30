//! A fleet's hands: what it owes to machines becomes frames on their agents' streams, and calls of their providers.

use mainstay_core::{MachineId, StateMachine};
use mainstay_fleet::{Errand, Fleet, Link, Observation, Owed, StreamId};
use mainstay_runtime::{Hands, TakenUp};
use mainstay_wire::agent::Frame;

use crate::providers::Errands;
use crate::streams::Outboxes;

/// Puts frames into the outboxes of streams, and errands before the office of providers.
#[derive(Debug)]
pub(crate) struct FleetHands {
    outboxes: Outboxes,
    errands: Errands,
}

/// What is owed, on its way.
#[derive(Debug)]
pub(crate) enum Delivery {
    Frame(StreamId, Frame),
    Errand(Errand),
}

impl FleetHands {
    pub(crate) const fn new(outboxes: Outboxes, errands: Errands) -> Self {
        Self { outboxes, errands }
    }
}

impl Hands<Fleet> for FleetHands {
    type Delivery = Delivery;

    /// What is taken up counts as sent on the stream: a stream that then does not carry it is cut, and a machine that
    /// connects again is told everything anew. An errand that is taken up is being run until its outcome comes.
    fn take_up(&mut self, machine: &MachineId, fleet: &Fleet) -> Option<TakenUp<Fleet, Delivery>> {
        if let Some(errand) = fleet.owed(machine).errand {
            let noted = Some(Observation::ErrandTaken(*machine));
            return Some(TakenUp { delivery: Delivery::Errand(errand), noted });
        }
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
        let frame = Frame { machine: *machine, specs: owed.specs, slots: owed.slots, orders: owed.orders };
        Some(TakenUp { delivery: Delivery::Frame(stream, frame), noted: Some(noted) })
    }

    fn deliver(&mut self, deliveries: Vec<Delivery>) {
        let mut frames = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            match delivery {
                Delivery::Frame(stream, frame) => frames.push((stream, frame)),
                Delivery::Errand(errand) => self.errands.put(errand),
            }
        }
        self.outboxes.put(frames);
    }
}
