//! Multiplay's allocation API (reference multiplay.md section 1; choices in docs/decisions/0010-multiplay-allocations.md),
//! of sessions and, under the admin API's paths, of tests: the same calls on two sets of allocations.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{MethodRouter, get};
use axum::{Extension, Json, Router};
use mainstay_core::{AllocationId, Timestamp};
use mainstay_fleet::{Command, Fleet, Purpose};
use mainstay_wire::multiplay::{
    AllocateAnswer, AllocateRequest, AllocationList, AllocationView, LIST_IDS_MAX, LIST_LIMIT_MAX, Pagination,
};

use super::App;
use super::access::Permission;
use super::admin::Refused;
use super::failure::{Failure, Unity};
use crate::shards::OpenFleet;

/// The same resource under both of Unity's hosts.
const ROOTS: [&str; 2] = ["/v1/allocations", "/multiplay/v1/allocations"];

pub(super) fn routes() -> Router<Arc<App>> {
    ROOTS.iter().fold(Router::new(), |router, root| {
        let collection =
            format!("{root}/projects/{{project}}/environments/{{environment}}/fleets/{{fleet}}/allocations");
        let one = format!("{collection}/{{allocation}}");
        let purpose = Purpose::Session;
        router.route(&collection, self::collection(purpose)).route(&one, self::one(purpose))
    })
}

/// The calls of a fleet's allocations of a purpose.
pub(super) fn collection(purpose: Purpose) -> MethodRouter<Arc<App>> {
    get(list).post(allocate).layer(Extension(purpose))
}

/// The calls of one of them.
pub(super) fn one(purpose: Purpose) -> MethodRouter<Arc<App>> {
    get(read).delete(deallocate).layer(Extension(purpose))
}

async fn allocate(
    State(app): State<Arc<App>>,
    Extension(purpose): Extension<Purpose>,
    Path((project, environment, fleet)): Path<(String, String, String)>,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refused> {
    let caller = app.caller(&headers)?;
    let body = body.map_err(Unity::body)?;
    let malformed = |error| Unity::malformed::<AllocateRequest>(&error, &body);
    let request = AllocateRequest::read(&body).map_err(malformed)?;
    let (id, request) = request.request(purpose).map_err(malformed)?;
    caller.may(Permission::AllocationsCreate)?;
    let fleet = find(&app, &project, &environment, &fleet)?;
    fleet.ask(Command::Allocate { id, request }).await?.map_err(|rejection| match purpose {
        Purpose::Session => rejection.into(),
        Purpose::Test => Refused::of_fleet(rejection, fleet.spec.id),
    })?;
    let href = format!("{}/{id}", uri.path().trim_end_matches('/'));
    Ok((StatusCode::ACCEPTED, Json(AllocateAnswer { allocation_id: id, href })).into_response())
}

async fn read(
    State(app): State<Arc<App>>,
    Extension(purpose): Extension<Purpose>,
    Path((project, environment, fleet, id)): Path<(String, String, String, String)>,
    headers: HeaderMap,
) -> Result<Json<AllocationView>, Unity> {
    let caller = app.caller(&headers)?;
    let id = allocation_id(&id)?;
    caller.may(Permission::AllocationsGet)?;
    let fleet = find(&app, &project, &environment, &fleet)?;
    let fleet_id = fleet.spec.id;
    let view = fleet.read(move |state, now| view(state, fleet_id, id, now, purpose)).await?;
    view.map(Json).ok_or_else(|| Failure::no_allocation().into())
}

async fn deallocate(
    State(app): State<Arc<App>>,
    Extension(purpose): Extension<Purpose>,
    Path((project, environment, fleet, id)): Path<(String, String, String, String)>,
    headers: HeaderMap,
) -> Result<StatusCode, Unity> {
    let caller = app.caller(&headers)?;
    let id = allocation_id(&id)?;
    caller.may(Permission::AllocationsDelete)?;
    let fleet = find(&app, &project, &environment, &fleet)?;
    let fleet_id = fleet.spec.id;
    // What it is for never changes.
    if fleet.read(move |state, now| view(state, fleet_id, id, now, purpose)).await?.is_none() {
        return Err(Failure::no_allocation().into());
    }
    fleet.ask(Command::Deallocate { id }).await??;
    Ok(StatusCode::NO_CONTENT)
}

async fn list(
    State(app): State<Arc<App>>,
    Extension(purpose): Extension<Purpose>,
    Path((project, environment, fleet)): Path<(String, String, String)>,
    narrowed: Result<Query<Vec<(String, String)>>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<AllocationList>, Unity> {
    let caller = app.caller(&headers)?;
    let Query(pairs) = narrowed.map_err(|error| Unity::bad_query(&error.body_text()))?;
    let asked = Asked::read(&pairs, purpose)?;
    caller.may(Permission::AllocationsList)?;
    let fleet = find(&app, &project, &environment, &fleet)?;
    let fleet_id = fleet.spec.id;
    let list = fleet.read(move |state, now| page(state, fleet_id, &asked, now)).await?;
    Ok(Json(list))
}

/// What a list is asked for.
struct Asked {
    purpose: Purpose,
    age: Option<Duration>,
    limit: usize,
    offset: usize,
    ids: Vec<AllocationId>,
}

impl Asked {
    fn read(pairs: &[(String, String)], purpose: Purpose) -> Result<Self, Unity> {
        let mut asked = Self { purpose, age: None, limit: LIST_LIMIT_MAX, offset: 0, ids: Vec::new() };
        for (name, value) in pairs {
            let number = || value.parse::<usize>().map_err(|_| bad(name, value, "a number"));
            match name.as_str() {
                "age" => {
                    asked.age = Some(age(value).ok_or_else(|| bad(name, value, "a time such as 90s or 1h"))?)
                }
                "limit" => asked.limit = number()?.min(LIST_LIMIT_MAX),
                "offset" => asked.offset = number()?,
                "ids" | "ids[]" => {
                    for id in value.split(',').filter(|id| !id.is_empty()) {
                        asked.ids.push(allocation_id(id)?);
                    }
                }
                // Unknown parameters are ignored, as every gateway does.
                _unknown => {}
            }
        }
        if asked.ids.len() > LIST_IDS_MAX {
            return Err(bad("ids", &asked.ids.len().to_string(), "at most 100 ids"));
        }
        Ok(asked)
    }
}

fn bad(name: &str, value: &str, wanted: &str) -> Unity {
    Unity::bad_query(&format!("`{name}` is `{value}`, and should be {wanted}"))
}

/// A number of seconds, or a number with a unit, as Go writes durations.
fn age(text: &str) -> Option<Duration> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number: u64 = number.parse().ok()?;
    let seconds = match unit {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _other => return None,
    };
    number.checked_mul(seconds).map(Duration::from_secs)
}

/// Without ids: what goes on, the newest first. With ids: those that are known, in the order asked for.
fn page(state: &Fleet, fleet: mainstay_core::FleetId, asked: &Asked, now: Timestamp) -> AllocationList {
    let young = |requested: Timestamp| asked.age.is_none_or(|age| now.since(requested) <= age);
    let allocations = if asked.ids.is_empty() {
        state
            .live_allocations(asked.purpose)
            .take_while(|(_, allocation)| young(allocation.requested))
            .skip(asked.offset)
            .take(asked.limit)
            .filter_map(|(id, _)| view(state, fleet, id, now, asked.purpose))
            .collect()
    } else {
        asked
            .ids
            .iter()
            .filter(|id| state.allocation(**id, now).is_some_and(|known| young(known.requested)))
            .filter_map(|id| view(state, fleet, *id, now, asked.purpose))
            .skip(asked.offset)
            .take(asked.limit)
            .collect()
    };
    AllocationList { pagination: Pagination { limit: asked.limit, offset: asked.offset }, allocations }
}

/// The tests that go on in a fleet, the newest first, at most so many.
pub(super) fn tests(
    state: &Fleet,
    fleet: mainstay_core::FleetId,
    max: usize,
    now: Timestamp,
) -> Vec<AllocationView> {
    let live = state.live_allocations(Purpose::Test).take(max);
    live.filter_map(|(id, _)| view(state, fleet, id, now, Purpose::Test)).collect()
}

/// An allocation, where it is of that purpose.
fn view(
    state: &Fleet,
    fleet: mainstay_core::FleetId,
    id: AllocationId,
    now: Timestamp,
    purpose: Purpose,
) -> Option<AllocationView> {
    let allocation = state.allocation(id, now).filter(|known| known.request.purpose == purpose)?;
    let server = allocation.placed().and_then(|placed| state.server(placed.server));
    let machine = server.and_then(|server| state.machine(server.machine));
    Some(AllocationView::of(id, fleet, allocation, (server, machine), state.ready_signal(allocation)))
}

fn find(app: &App, project: &str, environment: &str, fleet: &str) -> Result<OpenFleet, Unity> {
    let ours = |text: &str, ours: uuid::Uuid| text.parse() == Ok(ours);
    if !ours(project, app.project) || !ours(environment, app.environment) {
        return Err(Unity::unknown_project());
    }
    let id = fleet.parse().map_err(|_| Failure::no_fleet(fleet))?;
    app.fleets.now().id(id).cloned().ok_or_else(|| Failure::no_fleet(fleet).into())
}

fn allocation_id(text: &str) -> Result<AllocationId, Unity> {
    text.parse().map_err(|_| Unity::bad_id("allocation", text))
}
