//! The plane believes of a machine only what it hears on a stream it holds: nothing soft outlives its source.

use mainstay_core::MachineId;
use mainstay_fleet::{Fleet, Link, StreamId};

use super::{Broken, ensure};

/// The link of a machine names a stream that the plane holds.
pub(crate) fn link_is_held(
    fleet: &Fleet,
    machine: MachineId,
    held: impl Fn(StreamId) -> bool,
) -> Result<(), Broken> {
    let link = fleet.machine(machine).map(mainstay_fleet::Machine::link);
    let holds = match link {
        Some(Link::Up { stream, .. }) => held(stream),
        Some(Link::Silent) | None => true,
    };
    ensure(holds, "the plane believes only streams that it holds", || format!("{machine}: {link:?}"))
}
