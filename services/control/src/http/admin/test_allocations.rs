//! Test allocations (reference 1.2): an operator's own, by the calls of the public API. Neither API sees the other's.

use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};
use mainstay_fleet::Purpose;
use mainstay_wire::multiplay::{AllocationList, LIST_LIMIT_MAX, Pagination};

use super::super::App;
use super::super::access::Permission;
use super::super::failure::Unity;
use super::super::multiplay;
use super::Area as _;
use super::call::Call;

const AREA: &str = "allocations";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .area(AREA, "/test-allocations", get(list))
        .area(AREA, "/fleets/{fleet}/test-allocations", multiplay::collection(Purpose::Test))
        .area(AREA, "/fleets/{fleet}/test-allocations/{allocation}", multiplay::one(Purpose::Test))
}

/// Of the whole environment, fleet by fleet, within each the newest first.
async fn list(call: Call) -> Result<Json<AllocationList>, Unity> {
    let number = "a number";
    let limit = call.asked_as::<usize>("limit", number)?.unwrap_or(LIST_LIMIT_MAX).min(LIST_LIMIT_MAX);
    let offset = call.asked_as::<usize>("offset", number)?.unwrap_or(0);
    call.may(Permission::AllocationsList)?;
    let mut allocations = Vec::new();
    let wanted = offset.saturating_add(limit);
    for open in call.app.fleets.now().all() {
        let id = open.spec.id;
        let room = wanted.saturating_sub(allocations.len());
        allocations.extend(open.read(move |state, now| multiplay::tests(state, id, room, now)).await?);
    }
    let allocations = allocations.into_iter().skip(offset).take(limit).collect();
    Ok(Json(AllocationList { pagination: Pagination { limit, offset }, allocations }))
}
