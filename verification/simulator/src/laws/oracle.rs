//! The oracle outside: it believes only what callers were told. A call without an answer is unknown to it.

use mainstay_core::{AllocationId, Table};

use super::{Broken, ensure};
use crate::agenda::Micros;
use crate::message::{Rank, Said, View, Want};

/// How long an ended allocation surely stays readable: the world's retention, less the longest delay of an answer.
const READABLE: Micros = 50_000_000;

/// What one caller was told of one allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Belief {
    view: View,
    /// When it was told.
    at: Micros,
}

/// Everything that callers were told.
#[derive(Debug)]
pub(crate) struct Oracle {
    known: Table<AllocationId, Known>,
}

#[derive(Debug, Default)]
struct Known {
    told: Option<Belief>,
    deallocated: bool,
}

impl Oracle {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { known: Table::seeded(seed) }
    }

    /// What has been told of an allocation so far.
    pub(crate) fn belief(&self, id: AllocationId) -> Option<Belief> {
        self.known.get(&id)?.told.clone()
    }

    /// A caller asks for the end of an allocation; from now on it may end.
    pub(crate) fn deallocates(&mut self, id: AllocationId) {
        self.known_mut(id).deallocated = true;
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
        now: Micros,
    ) -> Result<(), Broken> {
        match said {
            Said::Stands(view) => {
                if let Some(before) = before {
                    never_goes_back(id, &before.view, view)?;
                }
                let known = self.known_mut(id);
                if known.told.as_ref().is_none_or(|told| told.view.rank < view.rank) {
                    known.told = Some(Belief { view: view.clone(), at: now });
                }
                Ok(())
            }
            Said::NoSuch | Said::Refused(_) => {
                let promised = before.filter(|before| match before.view.rank {
                    Rank::Waiting | Rank::Placed | Rank::Fulfilled => true,
                    Rank::Ended => now - before.at < READABLE,
                });
                ensure(
                    promised.is_none() || self.may_have_gone(id, now, before),
                    "an acknowledged allocation exists until something ended it",
                    || format!("{want:?} was answered {said:?} after {before:?}"),
                )
            }
            Said::DiskFull | Said::Done => Ok(()),
        }
    }

    /// An allocation whose caller asked for its end may have ended and been forgotten since it was last told of.
    fn may_have_gone(&self, id: AllocationId, now: Micros, before: Option<&Belief>) -> bool {
        let old = before.is_none_or(|before| now - before.at >= READABLE);
        old && (self.was_deallocated(id) || before.is_some())
    }

    fn known_mut(&mut self, id: AllocationId) -> &mut Known {
        if !self.known.contains(&id) {
            self.known.insert(id, Known::default());
        }
        self.known.get_mut(&id).expect("just put there")
    }
}

fn never_goes_back(id: AllocationId, before: &View, now: &View) -> Result<(), Broken> {
    ensure(now.rank >= before.rank, "what a caller was told of an allocation is remembered", || {
        format!("{id}: {before:?}, then {now:?}")
    })?;
    ensure(
        before.server.is_none() || before.server == now.server,
        "an allocation has at most one server",
        || format!("{id}: {before:?}, then {now:?}"),
    )?;
    ensure(before.end.is_none() || before.end == now.end, "an allocation ends once", || {
        format!("{id}: {before:?}, then {now:?}")
    })
}
