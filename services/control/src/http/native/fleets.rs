//! `/v1/fleets`.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use mainstay_wire::agent::Install;
use mainstay_wire::native::{FleetView, InstallView, Page};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native};
use super::paging::{Asked, page};
use crate::shards::OpenFleet;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read))
}

#[utoipa::path(
    get,
    operation_id = "listFleets",
    path = "/v1/fleets",
    tag = "fleets",
    params(Asked),
    responses((status = 200, description = "As asked", body = Page<FleetView>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<FleetView>>, Native> {
    app.permit(&headers, Permission::Read)?;
    let asked = Asked::read(query)?;
    let after: Option<u32> = asked.after()?;
    let limit = asked.limit();
    let fleets = app.fleets.now();
    let mut views = Vec::new();
    for fleet in
        fleets.all().filter(|it| after.is_none_or(|after| it.spec.number.get() > after)).take(limit + 1)
    {
        views.push(view(&app, fleet).await?);
    }
    Ok(Json(page(views, limit, |fleet| fleet.number.to_string())))
}

#[utoipa::path(
    get,
    operation_id = "getFleet",
    path = "/v1/fleets/{fleet}",
    tag = "fleets",
    params(("fleet" = String, Path, description = "Its id or name")),
    responses((status = 200, description = "As asked", body = FleetView), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<Json<FleetView>, Native> {
    app.permit(&headers, Permission::Read)?;
    let fleet = app.fleets.now().named(&named).cloned().ok_or_else(|| Failure::no_fleet(&named))?;
    Ok(Json(view(&app, &fleet).await?))
}

/// The most machines that are shown to wait for builds: the first of them say what is wrong.
const INSTALLS_SHOWN_MAX: usize = 100;

pub(super) async fn view(app: &App, fleet: &OpenFleet) -> Result<FleetView, Native> {
    let spec = Arc::clone(&fleet.spec);
    let seen = fleet.read(move |state, now| {
        let spec = state.spec().unwrap_or(&spec);
        (FleetView::of(spec, state, now), Arc::clone(spec))
    });
    let (view, spec) = seen.await?;
    // What agents say of their installs is soft and outside the fleet: its turns go on meanwhile.
    let runs =
        |install: &Install| spec.configurations.iter().any(|it| it.configuration == install.configuration);
    let waiting = app.installing.waiting(spec.number, runs, INSTALLS_SHOWN_MAX);
    let installs = waiting.into_iter().map(|(machine, install, detail)| InstallView {
        machine_id: machine.number(),
        build_configuration_id: install.id.number(),
        revision: install.revision,
        detail,
    });
    Ok(FleetView { installs: installs.collect(), ..view })
}
