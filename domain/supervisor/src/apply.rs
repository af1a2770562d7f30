//! Events become state. No rule lives here.

use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::slot::{Incident, Order, Spec};
use mainstay_core::{Strikes, Timestamp};

use crate::supervisor::Known;
use crate::{Event, Failures, Life, Reason, Run, Rung, Slot, Stage, Supervisor};

impl Supervisor {
    pub(crate) fn apply_event(&mut self, at: Timestamp, event: &Event) {
        match event {
            Event::SpecTaken { spec } => self.know(spec),
            Event::OrderTaken { order } => self.take_order(order),
            Event::RunBegan { server, run, configuration, generation } => {
                self.runs = self.runs.max(*run);
                let (number, configuration, generation) = (*run, *configuration, *generation);
                let run = Run { number, configuration, generation, began: at };
                self.change(*server, |slot| {
                    slot.life = Life::Up { run, stage: Stage::Started, failures: Failures::default() };
                });
            }
            Event::Answered { server } => self.change(*server, |slot| {
                if let Life::Up { stage, .. } = &mut slot.life {
                    *stage = Stage::Answered;
                }
            }),
            Event::StopBegan { server, reason, rung } => self.change(*server, |slot| {
                if let Life::Up { run, .. } = slot.life {
                    slot.life = Life::Stopping { run, began: at, rung: *rung, reason: *reason };
                }
            }),
            Event::StopTurned { server, reason: turned } => self.change(*server, |slot| {
                if let Life::Stopping { reason, .. } = &mut slot.life {
                    *reason = *turned;
                }
            }),
            Event::KillBegan { server } => self.change(*server, |slot| {
                if let Life::Stopping { rung, .. } = &mut slot.life {
                    *rung = Rung::Kill;
                }
            }),
            Event::CheckFailed { server, check, within, .. } => self.change(*server, |slot| {
                if let Life::Up { failures, .. } = &mut slot.life {
                    failures.of_mut(*check).strike(at, *within);
                }
            }),
            Event::Misbehaved { server, check } => self.change(*server, |slot| {
                if let Life::Up { run, .. } = slot.life {
                    let reason = Reason::Misbehaved(*check);
                    slot.life = Life::Stopping { run, began: at, rung: Rung::Signal, reason };
                }
            }),
            Event::IncidentNoted { incident } => self.change(incident.server, |slot| note(slot, incident)),
            Event::Crashed { server, within, .. } => {
                self.change(*server, |slot| slot.strikes.strike(at, *within));
            }
            Event::StrikesCleared { server } => self.change(*server, |slot| slot.strikes.clear()),
            Event::Ended { server, ending } => self.change(*server, |slot| {
                if let Some(&last) = slot.run() {
                    slot.life = Life::Down { last, ending: ending.clone() };
                }
            }),
            Event::RestBegan { server, until } => self.change(*server, |slot| {
                if let Some(&last) = slot.run() {
                    slot.life = Life::Resting { last, until: *until };
                }
            }),
            Event::SlotForgotten { server } => self.remove(*server),
            Event::SlotKept { slot } => self.put(Slot::clone(slot)),
            Event::RunsCounted { newest } => self.runs = self.runs.max(*newest),
        }
    }

    /// A new revision takes the place of older ones that nothing names.
    fn know(&mut self, spec: &Arc<Spec>) {
        let new = spec.configuration;
        self.specs.retain(|old, known| known.uses > 0 || old.id != new.id || old.revision >= new.revision);
        self.specs.entry(new).or_insert_with(|| Known { spec: Arc::clone(spec), uses: 0 });
    }

    fn take_order(&mut self, order: &Order) {
        if self.slot(order.server).is_some() {
            self.change(order.server, |slot| slot.order = order.clone());
        } else {
            self.put(Slot {
                order: order.clone(),
                life: Life::Fresh,
                strikes: Strikes::none(),
                incidents: Vec::new(),
            });
        }
    }
}

fn note(slot: &mut Slot, incident: &Incident) {
    match slot.incidents.iter_mut().find(|known| known.run == incident.run) {
        Some(known) => known.clone_from(incident),
        None => {
            if slot.incidents.len() >= Incident::KEPT_MAX {
                slot.incidents.remove(0);
            }
            slot.incidents.push(incident.clone());
        }
    }
}
