//! What the rules owe becomes work for the slots and news for the control plane, once it is durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::slot::{Incident, Reading, Spec, Status};
use mainstay_core::{Generation, ServerId, StateMachine as _};
use mainstay_runtime::{Hands, TakenUp};
use mainstay_supervisor::{Effects, Run, Supervisor};
use tokio::sync::watch;

use crate::slot::{Context, Worker};
use crate::statuses::Statuses;

/// What one slot is owed, as a level: of two, only the newer counts.
#[derive(Debug, Clone)]
pub(crate) enum Level {
    /// The slot is this machine's.
    Owed(Owed),
    /// The slot is no longer this machine's, and no process of it is left.
    Gone,
}

/// What a slot is owed, and what its hands need to know to do it.
#[derive(Debug, Clone)]
pub(crate) struct Owed {
    pub(crate) effects: Effects,
    /// The newest order; it marks a launch for those who read the slot's files.
    pub(crate) generation: Generation,
    /// The newest run and its configuration.
    pub(crate) run: Option<(Run, Arc<Spec>)>,
}

/// A slot's level and its report, on their way to who waits for them.
#[derive(Debug)]
pub(crate) struct Delivery {
    server: ServerId,
    level: Level,
    status: Option<Status>,
    incidents: Vec<Incident>,
    reading: Option<Reading>,
}

/// Gives each slot's worker its newest level.
#[derive(Debug)]
pub(crate) struct SlotHands {
    context: Arc<Context>,
    statuses: Arc<Statuses>,
    workers: BTreeMap<ServerId, watch::Sender<Level>>,
}

impl SlotHands {
    pub(crate) fn new(context: Arc<Context>, statuses: Arc<Statuses>) -> Self {
        Self { context, statuses, workers: BTreeMap::new() }
    }
}

impl Hands<Supervisor> for SlotHands {
    type Delivery = Delivery;

    fn take_up(&mut self, server: &ServerId, state: &Supervisor) -> Option<TakenUp<Supervisor, Delivery>> {
        let level = state.slot(*server).map_or(Level::Gone, |slot| {
            Level::Owed(Owed {
                effects: state.owed(server),
                generation: slot.order.generation,
                run: slot.run().and_then(|run| Some((*run, Arc::clone(state.spec(run.configuration)?)))),
            })
        });
        let delivery = Delivery {
            server: *server,
            level,
            status: state.status(*server),
            incidents: state.incidents(*server).to_vec(),
            reading: state.reading(*server),
        };
        Some(TakenUp { delivery, noted: None })
    }

    fn deliver(&mut self, deliveries: Vec<Delivery>) {
        for Delivery { server, level, status, incidents, reading } in deliveries {
            self.statuses.tell(server, incidents, reading);
            match (&level, status) {
                (Level::Gone, _) => self.statuses.forget(server),
                (Level::Owed(_), Some(status)) => self.statuses.set(status),
                // Not looked at yet: what was said last still stands.
                (Level::Owed(_), None) => {}
            }
            match (self.workers.get(&server), level) {
                (Some(levels), level) => {
                    let gone = matches!(level, Level::Gone);
                    levels.send_replace(level);
                    if gone {
                        self.workers.remove(&server);
                    }
                }
                (None, Level::Gone) => {}
                (None, level @ Level::Owed(_)) => {
                    let (sender, levels) = watch::channel(level);
                    self.workers.insert(server, sender);
                    Worker::start(server, levels, Arc::clone(&self.context));
                }
            }
        }
    }
}
