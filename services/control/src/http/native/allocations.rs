//! `/v1/allocations`: as the Multiplay face, by names, and over all fleets.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mainstay_core::{AllocationId, BuildConfigurationId, RegionId, ServerId, Timestamp};
use mainstay_fleet::{Command, Purpose, Renewal, Request};
use mainstay_wire::multiplay::BodyError;
use mainstay_wire::native::{AllocationRequest, NativeAllocation, Page, Within};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native};
use super::paging::{Asked, cursor, page};
use crate::shards::OpenFleet;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list, allocate)).routes(routes!(read, deallocate))
}

#[utoipa::path(
    post,
    operation_id = "createAllocation",
    path = "/v1/allocations",
    tag = "allocations",
    request_body = AllocationRequest,
    responses((status = 202, description = "It has a server, or waits for one", body = NativeAllocation), (status = 400, description = "What was sent cannot be read", body = Problem), (status = 409, description = "The state of things forbids it", body = Problem)),
)]
async fn allocate(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Native> {
    let caller = app.caller(&headers)?;
    let asked: AllocationRequest = super::body(body)?;
    if asked.allocation_id.0.is_nil() {
        return Err(Failure::from(&BodyError::NilAllocation).into());
    }
    if let Some(bytes) = asked.payload.as_ref().map(String::len).filter(|bytes| *bytes > Request::PAYLOAD_MAX)
    {
        return Err(mainstay_fleet::Rejection::PayloadTooLarge { bytes }.into());
    }
    caller.may(Permission::AllocationsCreate)?;
    let fleet = fleet_of(&app, asked.fleet.as_deref())?;
    let request = Request {
        configuration: configuration_of(&fleet, asked.build_configuration.as_deref())?,
        region: region_of(&fleet, asked.region.as_deref())?,
        payload: asked.payload.map(Into::into),
        renewal: match asked.restart {
            Some(true) => Renewal::Restart,
            Some(false) | None => Renewal::Keep,
        },
        purpose: Purpose::Session,
    };
    let id = asked.allocation_id;
    fleet.ask(Command::Allocate { id, request }).await??;
    let view = view(&fleet, id).await?.ok_or_else(Failure::no_allocation)?;
    Ok((StatusCode::ACCEPTED, Json(view)).into_response())
}

#[utoipa::path(
    get,
    operation_id = "getAllocation",
    path = "/v1/allocations/{allocation}",
    tag = "allocations",
    params(("allocation" = String, Path, description = "Its id")),
    responses((status = 200, description = "As asked", body = NativeAllocation), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<Json<NativeAllocation>, Native> {
    let caller = app.caller(&headers)?;
    let Some(server) = caller.server() else {
        caller.may(Permission::AllocationsGet)?;
        return Ok(Json(find(&app, &named).await?.1));
    };
    // A game looks at its own session; whether there are others is none of its business.
    if let Ok((_, known)) = find(&app, &named).await
        && is_on(&known, server)
    {
        return Ok(Json(known));
    }
    caller.may(Permission::AllocationsGet)?;
    Err(Failure::no_allocation().into())
}

#[utoipa::path(
    delete,
    operation_id = "deleteAllocation",
    path = "/v1/allocations/{allocation}",
    tag = "allocations",
    params(("allocation" = String, Path, description = "Its id")),
    responses((status = 204, description = "It is over"), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn deallocate(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    app.permit(&headers, Permission::AllocationsDelete)?;
    let (fleet, known) = find(&app, &named).await?;
    fleet.ask(Command::Deallocate { id: known.allocation.allocation_id }).await??;
    Ok(StatusCode::NO_CONTENT)
}

/// Over all fleets, fleet by fleet; within each the newest first.
#[utoipa::path(
    get,
    operation_id = "listAllocations",
    path = "/v1/allocations",
    tag = "allocations",
    params(Asked),
    responses((status = 200, description = "As asked", body = Page<NativeAllocation>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<NativeAllocation>>, Native> {
    app.permit(&headers, Permission::AllocationsList)?;
    let asked = Asked::read(query)?;
    let after = asked.cursor.as_deref().map(Behind::read).transpose()?;
    let limit = asked.limit();
    let mut views: Vec<(u32, NativeAllocation)> = Vec::new();
    for fleet in super::servers::asked_fleets(&app, &asked)? {
        let number = fleet.spec.number.get();
        let behind = match &after {
            Some(after) if number < after.fleet => continue,
            Some(after) if number == after.fleet => Some(after.clone()),
            Some(_) | None => None,
        };
        let spec = Arc::clone(&fleet.spec);
        let room = limit + 1 - views.len();
        let more = fleet.read(move |state, now| {
            let within = Within { spec: &spec, fleet: state };
            let show = |(id, allocation)| within.allocation(id, allocation);
            match behind {
                None => state.allocations(now).take(room).map(show).collect::<Vec<_>>(),
                Some(Behind { requested_ms, id, .. }) => {
                    let requested = Timestamp::from_unix_ms(requested_ms);
                    state.allocations_before(requested, id, now).take(room).map(show).collect()
                }
            }
        });
        views.extend(more.await?.into_iter().map(|view| (number, view)));
        if views.len() > limit {
            break;
        }
    }
    let Page { items, next_cursor } =
        page(views, limit, |(fleet, view)| Behind::of(*fleet, view).to_string());
    Ok(Json(Page { items: items.into_iter().map(|(_, view)| view).collect(), next_cursor }))
}

/// The last allocation of a page.
#[derive(Debug, Clone)]
struct Behind {
    fleet: u32,
    requested_ms: u64,
    id: AllocationId,
}

impl Behind {
    fn of(fleet: u32, view: &NativeAllocation) -> Self {
        let requested_ms = u64::try_from(view.allocation.requested.as_millisecond()).unwrap_or(0);
        Self { fleet, requested_ms, id: view.allocation.allocation_id }
    }

    fn read(text: &str) -> Result<Self, Native> {
        let mut parts = text.splitn(3, '.');
        let mut part = || parts.next().unwrap_or_default();
        Ok(Self { fleet: cursor(part())?, requested_ms: cursor(part())?, id: cursor(part())? })
    }
}

impl std::fmt::Display for Behind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.fleet, self.requested_ms, self.id)
    }
}

/// Whether an allocation that goes on has this server.
fn is_on(known: &NativeAllocation, server: ServerId) -> bool {
    known.allocation.server_id == Some(server.number()) && known.allocation.ended.is_none()
}

async fn find(app: &App, named: &str) -> Result<(OpenFleet, NativeAllocation), Native> {
    let fix = "list them: mainstay allocation list";
    let id: AllocationId = named
        .parse()
        .map_err(|_| Failure::bad_request(format!("`{named}` is no allocation id: it is a UUID"), fix))?;
    for fleet in app.fleets.now().all() {
        if let Some(known) = view(fleet, id).await? {
            return Ok((fleet.clone(), known));
        }
    }
    Err(Failure::no_allocation().into())
}

async fn view(fleet: &OpenFleet, id: AllocationId) -> Result<Option<NativeAllocation>, Native> {
    let spec = Arc::clone(&fleet.spec);
    let read = fleet.read(move |state, now| {
        let allocation = state.allocation(id, now)?;
        Some(Within { spec: &spec, fleet: state }.allocation(id, allocation))
    });
    Ok(read.await?)
}

fn fleet_of(app: &App, named: Option<&str>) -> Result<OpenFleet, Native> {
    let fleets = app.fleets.now();
    match named {
        Some(named) => fleets.named(named).cloned().ok_or_else(|| Failure::no_fleet(named).into()),
        None => only(fleets.all().cloned(), "fleet"),
    }
}

fn region_of(fleet: &OpenFleet, named: Option<&str>) -> Result<RegionId, Native> {
    match named {
        Some(named) => fleet.region(named).ok_or_else(|| {
            let detail = format!("fleet {} has no region {named}", fleet.spec.name);
            Failure::new(StatusCode::BAD_REQUEST, "MS-P002", detail, "list them: mainstay fleet get FLEET")
                .into()
        }),
        None => only(fleet.spec.regions.iter().map(|region| region.id), "region"),
    }
}

pub(super) fn configuration_of(
    fleet: &OpenFleet,
    named: Option<&str>,
) -> Result<BuildConfigurationId, Native> {
    let Some(named) = named else {
        return only(fleet.spec.configurations.iter().map(|it| it.configuration.id), "buildConfiguration");
    };
    fleet.configuration(named).ok_or_else(|| {
        let detail = format!("fleet {} has no build configuration {named}", fleet.spec.name);
        Failure::new(StatusCode::BAD_REQUEST, "MS-P003", detail, "list them: mainstay fleet get FLEET").into()
    })
}

/// The one there is, where a caller named none.
fn only<T>(mut all: impl Iterator<Item = T>, field: &'static str) -> Result<T, Native> {
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one),
        (None, _) | (Some(_), Some(_)) => {
            let detail = format!("`{field}` is missing, and there is not exactly one to choose");
            Err(Failure::bad_request(detail, "name it; mainstay fleet list shows what there is").into())
        }
    }
}
