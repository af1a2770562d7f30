//! Configurations become known before the orders that name them.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use mainstay_core::Turn;
use mainstay_core::slot::Spec;

use crate::{Answer, Event, Rejection, SPECS_MAX, Supervisor};

pub(super) fn decide(turn: &mut Turn<'_, Supervisor>, specs: &[Arc<Spec>]) -> Result<Answer, Rejection> {
    let state = turn.state();
    let new: BTreeSet<_> = specs
        .iter()
        .map(|spec| spec.configuration)
        .filter(|configuration| state.spec(*configuration).is_none())
        .collect();
    let known = state.specs().count();
    if known + new.len() > SPECS_MAX {
        return Err(Rejection::SpecsFull { specs: known, asked: new.len(), limit: SPECS_MAX });
    }
    // The newest first: it drops older revisions that nothing names yet, and those that are still asked for come back.
    let listed: BTreeMap<_, _> = specs.iter().map(|spec| (spec.configuration, spec)).collect();
    for (configuration, spec) in listed.into_iter().rev() {
        if turn.state().spec(configuration).is_none() {
            turn.emit(Event::SpecTaken { spec: Arc::clone(spec) });
        }
    }
    Ok(Answer::Done)
}
