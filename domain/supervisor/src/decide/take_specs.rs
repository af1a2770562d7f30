//! Configurations become known before the orders that name them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use mainstay_core::Turn;
use mainstay_core::slot::Spec;

use crate::{Answer, Event, Rejection, SPECS_MAX, Supervisor};

pub(super) fn decide(turn: &mut Turn<'_, Supervisor>, specs: &[Arc<Spec>]) -> Result<Answer, Rejection> {
    let state = turn.state();
    let new: BTreeMap<_, _> = specs
        .iter()
        .filter(|spec| state.spec(spec.configuration).is_none())
        .map(|spec| (spec.configuration, spec))
        .collect();
    let known = state.specs().count();
    if known + new.len() > SPECS_MAX {
        return Err(Rejection::SpecsFull { specs: known, asked: new.len(), limit: SPECS_MAX });
    }
    let events: Vec<Event> =
        new.into_values().map(|spec| Event::SpecTaken { spec: Arc::clone(spec) }).collect();
    for event in events {
        turn.emit(event);
    }
    Ok(Answer::Done)
}
