//! `/v1/machines`.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Json, Router};
use mainstay_core::MachineId;
use mainstay_wire::native::{MachineView, Page, Within};

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native};
use super::paging::{Asked, page};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/v1/machines", get(list)).route("/v1/machines/{machine}", get(read))
}

async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<MachineView>>, Native> {
    app.permit(&headers, Permission::Read)?;
    let asked = Asked::read(query)?;
    let after: Option<MachineId> = asked.after()?;
    let limit = asked.limit();
    let mut views: Vec<MachineView> = Vec::new();
    for fleet in super::servers::asked_fleets(&app, &asked)? {
        let spec = Arc::clone(&fleet.spec);
        let room = limit + 1 - views.len();
        let more = fleet.read(move |state, _| {
            let within = Within { spec: &spec, fleet: state };
            let machines = state.machines().filter(|(id, _)| after.is_none_or(|after| *id > after));
            machines.take(room).map(|(id, machine)| within.machine(id, machine)).collect::<Vec<_>>()
        });
        views.extend(more.await?);
        if views.len() > limit {
            break;
        }
    }
    Ok(Json(page(views, limit, |machine| machine.id.to_string())))
}

async fn read(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<Json<MachineView>, Native> {
    app.permit(&headers, Permission::Read)?;
    let id: MachineId = named.parse().map_err(|_| Failure::no_machine(&named))?;
    let fleet = app.fleets.now().number(id.fleet()).cloned().ok_or_else(|| Failure::no_machine(&named))?;
    let spec = Arc::clone(&fleet.spec);
    let view = fleet.read(move |state, _| {
        let machine = state.machine(id)?;
        Some(Within { spec: &spec, fleet: state }.machine(id, machine))
    });
    view.await?.map(Json).ok_or_else(|| Failure::no_machine(&named).into())
}
