//! A caller asks for a server. Idempotent by the caller's id: "an allocationId that already exists causes no action".

use mainstay_core::{AllocationId, Timestamp, Turn};

use super::{grow, waiting};
use crate::allocation::{Allocation, Request};
use crate::command::Answer;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;
use crate::spec::{ClaimedBy, RegionOpening, RegionSpec};

/// The most allocations that may wait at once. Each is owed a decision on every change of capacity, and a caller that
/// waits behind ten thousand others is better told to come back.
const WAITING_MAX: usize = 10_000;

pub(super) fn allocate(
    turn: &mut Turn<'_, Fleet>,
    id: AllocationId,
    request: &Request,
) -> Result<Answer, Rejection> {
    let bytes = request.payload.as_ref().map_or(0, |payload| payload.len());
    if bytes > Request::PAYLOAD_MAX {
        return Err(Rejection::PayloadTooLarge { bytes });
    }
    if let Some(known) = turn.state().allocation(id, turn.now()) {
        if known.request.purpose == request.purpose {
            return Ok(Answer::Known);
        }
        // Its caller could neither read nor end it.
        return Err(Rejection::OfAnotherPurpose(id));
    }
    let spec = turn.state().spec().cloned().ok_or(Rejection::NotConfigured)?;
    let region = spec.region(request.region).ok_or(Rejection::UnknownRegion(request.region))?;
    if spec.configuration(request.configuration).is_none() {
        return Err(Rejection::UnknownConfiguration(request.configuration));
    }
    match spec.hosting.claimed_by {
        ClaimedBy::Allocations => {}
        ClaimedBy::Reservations => return Err(Rejection::NotAnAllocationFleet),
    }
    let until = turn.now() + spec.placement_timeout;
    let server = match admit(turn.state(), turn.now(), region, request)? {
        Admitted::Place => waiting::free_server(turn.state(), request),
        Admitted::Wait => None,
    };
    turn.emit(Event::AllocationRequested { id, request: request.clone(), until });
    // Where nothing else is left, one that drains or was emptied serves again, and gives the allocation its server.
    if server.is_none() {
        grow::wake_one(turn, request.region);
        if let Some(placed) = turn.state().allocation(id, turn.now()).and_then(Allocation::placed) {
            return Ok(Answer::Placed { server: placed.server });
        }
    }
    if let Some(server) = server {
        waiting::give(turn, id, request, server);
        return Ok(Answer::Placed { server });
    }
    Ok(Answer::Waiting { until })
}

enum Admitted {
    Place,
    Wait,
}

fn admit(
    state: &Fleet,
    now: Timestamp,
    region: &RegionSpec,
    request: &Request,
) -> Result<Admitted, Rejection> {
    match region.opening {
        RegionOpening::Online => {}
        RegionOpening::Offline => return Err(Rejection::RegionOffline(region.id)),
    }
    let allocated = state.allocated_in(region.id);
    if allocated >= region.max_servers {
        return Err(Rejection::AtMaximum { allocated, max: region.max_servers });
    }
    if waiting::free_server(state, request).is_some() {
        return Ok(Admitted::Place);
    }
    let losers = state.losers(region.id);
    if !can_come(state, now, region, losers.servers, losers.silent + losers.unreported) {
        return Err(Rejection::NoServer(losers));
    }
    match state.waiting() {
        waiting if waiting >= WAITING_MAX => Err(Rejection::TooManyWaiting { waiting }),
        _ => Ok(Admitted::Wait),
    }
}

/// Whether a server can come without anybody deallocating: a machine may join or be made or be woken, or one that is known
/// is not heard or has not reported yet.
fn can_come(state: &Fleet, now: Timestamp, region: &RegionSpec, servers: u32, unheard: u32) -> bool {
    let pool = state.pool(region.id);
    if unheard > 0 || pool.is_some_and(|pool| pool.coming > 0 || !pool.asleep.is_empty()) {
        return true;
    }
    servers < region.max_servers && state.may_join(region, now) || state.may_grow(region).is_ok()
}
