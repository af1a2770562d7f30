//! The oracle outside: it believes only what callers were told. A call without an answer is unknown to it.

use std::collections::{BTreeMap, BTreeSet};

use mainstay_core::AllocationId;
use mainstay_fleet::{Event, Fleet};

use super::{Broken, ensure};
use crate::message::{Said, View, Want};

/// Whether an allocation may get another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    /// Never: it has one server for life.
    Never,
    /// Where its machine is lost (the fleet's policy says so): it waits again, and is placed anew.
    Anew,
}

/// What one caller was told of one allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Belief {
    view: View,
}

/// Everything that callers were told.
#[derive(Debug)]
pub(crate) struct Oracle {
    known: BTreeMap<AllocationId, Known>,
    /// What has ended, durably: the cause of each end was checked when it was decided.
    ended: BTreeSet<AllocationId>,
}

#[derive(Debug, Default)]
struct Known {
    told: Option<Belief>,
    deallocated: bool,
}

impl Oracle {
    pub(crate) const fn new() -> Self {
        Self { known: BTreeMap::new(), ended: BTreeSet::new() }
    }

    /// An event of the plane became durable.
    pub(crate) fn learns(&mut self, event: &Event) {
        if let Event::AllocationEnded { id, .. } = event {
            self.ended.insert(*id);
        }
    }

    /// What has been told of an allocation so far.
    pub(crate) fn belief(&self, id: AllocationId) -> Option<Belief> {
        self.known.get(&id)?.told.clone()
    }

    /// A caller asks for the end of an allocation; from now on it may end.
    pub(crate) fn deallocates(&mut self, id: AllocationId) {
        self.known.entry(id).or_default().deallocated = true;
    }

    pub(crate) fn was_deallocated(&self, id: AllocationId) -> bool {
        self.known.get(&id).is_some_and(|known| known.deallocated)
    }

    /// An answer arrives. `before` is what had been told when the question was put: answers overtake each other, so only
    /// that can be held against this one.
    pub(crate) fn hears(
        &mut self,
        id: AllocationId,
        want: &Want,
        said: &Said,
        before: Option<&Belief>,
        moves: Moves,
    ) -> Result<(), Broken> {
        match said {
            Said::Stands(view) => {
                if let Some(before) = before {
                    never_goes_back(id, &before.view, view, moves)?;
                }
                let known = self.known.entry(id).or_default();
                if known.told.as_ref().is_none_or(|told| told.view.rank < view.rank) {
                    known.told = Some(Belief { view: view.clone() });
                }
                Ok(())
            }
            Said::NoSuch | Said::Refused(_) => {
                ensure(before.is_none() || self.ended.contains(&id), EXISTS, || {
                    format!("{want:?} was answered `{said}` after {before:?}")
                })
            }
            Said::DiskFull | Said::Done => Ok(()),
        }
    }

    /// Everything that a caller was told of, and that nothing ended, is there.
    pub(crate) fn is_remembered(&self, disk: &Fleet) -> Result<(), Broken> {
        for (id, known) in &self.known {
            let Some(told) = &known.told else { continue };
            let there = disk.allocation(*id, mainstay_core::Timestamp::EPOCH).is_some();
            ensure(there || self.ended.contains(id), EXISTS, || format!("{id} is gone; {told:?}"))?;
        }
        Ok(())
    }
}

const EXISTS: &str = "an acknowledged allocation exists until something ended it";

fn never_goes_back(id: AllocationId, before: &View, now: &View, moves: Moves) -> Result<(), Broken> {
    let moved = moves == Moves::Anew && before.end.is_none();
    ensure(
        moved || now.rank >= before.rank,
        "what a caller was told of an allocation is remembered",
        || format!("{id}: {before:?}, then {now:?}"),
    )?;
    ensure(
        moved || before.server.is_none() || before.server == now.server,
        "an allocation has at most one server",
        || format!("{id}: {before:?}, then {now:?}"),
    )?;
    ensure(before.end.is_none() || before.end == now.end, "an allocation ends once", || {
        format!("{id}: {before:?}, then {now:?}")
    })
}
