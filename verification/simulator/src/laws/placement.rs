//! No allocation waits while a server could take it, and no region has more than it may.

use std::collections::BTreeMap;

use mainstay_core::RegionId;
use mainstay_core::slot::Phase;
use mainstay_fleet::{Fleet, Link, Server};

use super::{Broken, ensure};
use crate::agenda::Micros;
use crate::message::Host;

/// Checks one region at the end of a turn.
pub(crate) fn nobody_waits_in_vain(fleet: &Fleet, region: RegionId) -> Result<(), Broken> {
    let Some(max) = fleet.spec().and_then(|spec| spec.region(region)).map(|region| region.max_servers) else {
        return Ok(());
    };
    let allocated = fleet.allocated_in(region);
    ensure(allocated <= max, "no more servers are allocated than a region may have", || {
        format!("{allocated} of {max}")
    })?;
    if fleet.waiting() == 0 || allocated == max {
        return Ok(());
    }
    let free = fleet.servers(None).find(|(_, server)| could_take(fleet, server)).map(|(id, _)| id);
    ensure(free.is_none(), "no allocation waits while a server could take it", || {
        format!("{} wait, and {free:?} is free", fleet.waiting())
    })
}

/// Who is refused since no machine can come has none on its way: one that a token has let in is waited for, for a minute.
pub(crate) fn nobody_is_on_its_way(arriving: &BTreeMap<Host, Micros>, now: Micros) -> Result<(), Broken> {
    // A minute of the plane's clock, which is steered by a tenth at most.
    const WAITED_FOR: Micros = 60_000_000 * 10 / 11;
    let coming = arriving.iter().find(|(_, since)| now - **since < WAITED_FOR);
    ensure(coming.is_none(), "a machine that a token has let in is waited for", || {
        format!("machine {coming:?} is on its way at {now}, and an allocation is refused")
    })
}

fn could_take(fleet: &Fleet, server: &Server) -> bool {
    let machine = fleet.machine(server.machine);
    let heard = match machine.map(mainstay_fleet::Machine::link) {
        Some(Link::Up { .. }) => machine.is_some_and(mainstay_fleet::Machine::takes),
        Some(Link::Silent) | None => false,
    };
    let reported = server.seen().is_some_and(|seen| match seen.phase {
        Phase::Starting { .. } | Phase::Online { .. } => seen.configuration.is_some(),
        Phase::Stopped(_)
        | Phase::Stopping { .. }
        | Phase::BackedOff { .. }
        | Phase::PreRecovery { .. }
        | Phase::Lost => true,
    });
    heard && reported && server.claim.is_open() && !server.is_fenced()
}
