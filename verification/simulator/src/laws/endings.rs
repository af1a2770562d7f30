//! An allocation exists until something ended it, and what the plane says ended it did happen.

use std::time::Duration;

use mainstay_core::AllocationId;
use mainstay_fleet::End;

use super::{Broken, ensure};
use crate::agenda::Micros;

use crate::os::Ends;

/// How long ago the cause of an end may lie: an agent may have been down, and its stream half open, twice over.
const NOTICE_MAX: Micros = 180_000_000;

/// Checks the cause of one end against what callers asked and what the slot's processes did.
pub(crate) fn has_cause(
    id: AllocationId,
    end: &End,
    deallocated: bool,
    age: Duration,
    forced: bool,
    ends: Option<Ends>,
    now: Micros,
) -> Result<(), Broken> {
    let lately = |at: Option<Micros>| at.is_some_and(|at| now - at <= NOTICE_MAX);
    let ends = ends.unwrap_or_default();
    let caused = match end {
        End::Deallocated => deallocated,
        End::Completed => lately(ends.completed),
        // One that misbehaves may exit by itself, with code 0, before its signal arrives.
        End::BackedOff { cause, .. } | End::PreRecovery { cause } => {
            lately(ends.crashed) || cause.starts_with("misbehaved") && lately(ends.completed)
        }
        End::Lost => lately(ends.lost),
        End::PlacementTimedOut(_) => true,
        // The rule says when by its own times; what a caller asked for is older than the TTL.
        End::Aged { ttl } => age >= *ttl,
        // No world has a query that tells players, so no idle clock may run.
        End::Idle { .. } => false,
        End::RolledOut => forced,
        // The rule says when by its own times; a machine that is heard is never silent.
        End::MachineLost => true,
    };
    ensure(caused, "an allocation exists until something ended it", || {
        format!("{id} ended by {end:?}, of which the world knows nothing: {ends:?}")
    })
}
