//! An allocation exists until something ended it, and what the plane says ended it did happen.

use std::time::Duration;

use mainstay_core::AllocationId;
use mainstay_core::slot::{Heard, Reading};
use mainstay_fleet::End;

use super::{Broken, ensure};
use crate::agenda::Micros;

use crate::os::Ends;

/// How long ago the cause of an end may lie: an agent may have been down, and its stream half open, twice over.
const NOTICE_MAX: Micros = 180_000_000;

/// Whether somebody plays on a server of which this was read, or may: what nobody knows ends no session.
pub(crate) const fn may_be_played_on(reading: &Reading) -> bool {
    match reading.heard {
        Heard::Answer { players: Some(0), .. } => false,
        Heard::Answer { .. } | Heard::Silence | Heard::Unasked => true,
    }
}

/// What the world knows of an allocation and its server.
#[derive(Debug)]
pub(crate) struct Happened {
    /// Somebody asked that it end.
    pub(crate) deallocated: bool,
    /// How long ago it was requested, by the plane's clock.
    pub(crate) age: Duration,
    /// A version was forced onto servers with players.
    pub(crate) forced: bool,
    /// When the server's processes last ended in each way.
    pub(crate) ends: Ends,
    /// How long the plane has heard of nobody who plays there; nothing where no query would tell.
    pub(crate) quiet: Option<Micros>,
}

/// Checks the cause of one end against what callers asked and what the slot's processes did.
pub(crate) fn has_cause(id: AllocationId, end: &End, happened: &Happened, now: Micros) -> Result<(), Broken> {
    let lately = |at: Option<Micros>| at.is_some_and(|at| now - at <= NOTICE_MAX);
    let Happened { deallocated, age, forced, ends, quiet } = happened;
    let caused = match end {
        End::Deallocated => *deallocated,
        End::Completed => lately(ends.completed),
        // One that misbehaves may exit by itself, with code 0, before its signal arrives.
        End::BackedOff { cause, .. } | End::PreRecovery { cause } => {
            lately(ends.crashed) || cause.starts_with("misbehaved") && lately(ends.completed)
        }
        End::Lost => lately(ends.lost),
        End::PlacementTimedOut(_) => true,
        // The rule says when by its own times; what a caller asked for is older than the TTL.
        End::Aged { ttl } => age >= ttl,
        // By a clock that is steered by a tenth at most, and counts whole milliseconds.
        End::Idle { ttl } => quiet
            .is_some_and(|quiet| Duration::from_micros(quiet * 11 / 10) + Duration::from_millis(2) >= *ttl),
        End::RolledOut => *forced,
        // The rule says when by its own times; a machine that is heard is never silent.
        End::MachineLost => true,
    };
    ensure(caused, "an allocation exists until something ended it", || {
        format!("{id} ended by {end:?}, of which the world knows nothing: {happened:?}")
    })
}
