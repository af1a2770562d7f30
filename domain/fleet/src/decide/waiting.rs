//! Allocations that wait for a server get one as soon as there is one, first come first.

use mainstay_core::slot::{Intent, Spec};
use mainstay_core::{AllocationId, RegionId, ServerId, Timestamp, Turn};

use super::hold;
use crate::allocation::{Renewal, Request};
use crate::cause::{Cause, Fit};
use crate::claim::HoldEnd;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::placement::Candidate;
use crate::server::Server;
use crate::spec::{ClaimedBy, RegionSpec};

/// Places what waits for a region, until one finds no server.
///
/// An allocation that finds none does not hold up those behind it that want another build configuration: any free
/// server serves any configuration of the fleet, so where the first finds none, none does.
pub(super) fn place(turn: &mut Turn<'_, Fleet>, region: RegionId) {
    while let Some(id) = first_waiting(turn.state(), region) {
        let Some(request) = turn.state().allocations.get(&id).map(|allocation| allocation.request.clone())
        else {
            return;
        };
        let Some(server) = free_server(turn.state(), &request) else { return };
        give(turn, id, &request, server);
    }
}

/// Places what waits anywhere.
pub(super) fn place_all(turn: &mut Turn<'_, Fleet>) {
    let Some(spec) = turn.state().spec().cloned() else { return };
    for region in &spec.regions {
        place(turn, region.id);
    }
}

/// The server an allocation would get now; `None` also where the region is at its maximum.
pub(super) fn free_server(state: &Fleet, request: &Request) -> Option<ServerId> {
    let spec = state.spec()?;
    match spec.hosting.claimed_by {
        ClaimedBy::Allocations => {}
        ClaimedBy::Reservations => return None,
    }
    let RegionSpec { id, max_servers, .. } = spec.region(request.region)?;
    if state.allocated_in(*id) >= *max_servers {
        return None;
    }
    let configuration = spec.configuration(request.configuration)?.configuration;
    state.best_server(*id, configuration)
}

/// Gives an allocation its server, and the server its order.
pub(super) fn give(turn: &mut Turn<'_, Fleet>, id: AllocationId, request: &Request, server: ServerId) {
    let state = turn.state();
    let Some(spec) = state.spec().and_then(|spec| spec.configuration(request.configuration)) else { return };
    let Some(known) = state.server(server) else { return };
    let event = Event::AllocationPlaced {
        id,
        server,
        generation: known.generation.next(),
        configuration: spec.configuration,
        intent: match request.renewal {
            Renewal::Keep => Intent::Run,
            Renewal::Restart => Intent::Renew,
        },
        cause: Cause::Allocated(fit(state, known, spec, request.renewal)),
    };
    hold::end(turn, server, HoldEnd::Allocated);
    turn.emit(event);
}

/// What a slot must do for an allocation.
fn fit(state: &Fleet, server: &Server, wanted: &Spec, renewal: Renewal) -> Fit {
    let Some(candidate) = state.candidate(server) else { return Fit::Stopped };
    let runs = match candidate {
        Candidate::Stopped => return Fit::Stopped,
        Candidate::BackedOff => return Fit::KeptDown,
        Candidate::Stopping => return Fit::Stopping,
        Candidate::Online(runs) | Candidate::Starting(runs) => runs,
    };
    if runs != wanted.configuration {
        let build = state.configuration(runs).map(|spec| spec.build);
        return if build == Some(wanted.build) { Fit::OtherConfiguration } else { Fit::OtherBuild };
    }
    match (renewal, candidate) {
        (Renewal::Restart, _) => Fit::RestartAsked,
        (Renewal::Keep, Candidate::Starting(_)) => Fit::Starting,
        (
            Renewal::Keep,
            Candidate::Online(_) | Candidate::Stopped | Candidate::BackedOff | Candidate::Stopping,
        ) => Fit::Running,
    }
}

fn first_waiting(state: &Fleet, region: RegionId) -> Option<AllocationId> {
    let from = (region, Timestamp::EPOCH, AllocationId::LOWEST);
    state.waiting.range(from..).next().filter(|(of, _, _)| *of == region).map(|(_, _, id)| *id)
}
