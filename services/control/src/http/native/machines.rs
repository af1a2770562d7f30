//! `/v1/machines`.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use mainstay_core::MachineId;
use mainstay_fleet::{Answer, Command, KeptOut};
use mainstay_wire::native::{
    MachineAction, MachineActionRequest, MachineActionView, MachineView, Page, Within,
};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native};
use super::paging::{Asked, page};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read)).routes(routes!(act))
}

#[utoipa::path(
    get,
    operation_id = "listMachines",
    path = "/v1/machines",
    tag = "machines",
    params(Asked),
    responses((status = 200, description = "As asked", body = Page<MachineView>)),
)]
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
        let disk = |id: u64| app.installing.disk(MachineId::from_number(id).ok()?);
        views.extend(more.await?.into_iter().map(|view| MachineView { disk: disk(view.id), ..view }));
        if views.len() > limit {
            break;
        }
    }
    Ok(Json(page(views, limit, |machine| machine.id.to_string())))
}

#[utoipa::path(
    get,
    operation_id = "getMachine",
    path = "/v1/machines/{machine}",
    tag = "machines",
    params(("machine" = String, Path, description = "Its id")),
    responses((status = 200, description = "As asked", body = MachineView), (status = 404, description = "There is no such thing", body = Problem)),
)]
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
        Some((machine.key, Within { spec: &spec, fleet: state }.machine(id, machine)))
    });
    let (key, view) = view.await?.ok_or_else(|| Failure::no_machine(&named))?;
    let disk = app.installing.disk(id);
    Ok(Json(MachineView { credential: super::tokens::credential(&app, key).await?, disk, ..view }))
}

#[utoipa::path(
    post,
    operation_id = "actOnMachine",
    path = "/v1/machines/{machine}/actions",
    tag = "machines",
    params(("machine" = String, Path, description = "Its id, 4294967297 or mch-1-1")),
    request_body = MachineActionRequest,
    responses((status = 202, description = "It is ordered", body = MachineActionView), (status = 404, description = "There is no such thing", body = Problem), (status = 409, description = "The state of things forbids it", body = Problem)),
)]
async fn act(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<MachineActionView>), Native> {
    let caller = app.caller(&headers)?;
    let asked: MachineActionRequest = super::body(body)?;
    caller.may(match asked.action {
        MachineAction::Drain | MachineAction::Undrain => Permission::Operate,
        MachineAction::Remove => Permission::Admit,
    })?;
    let machine: MachineId = named.parse().map_err(|_| Failure::no_machine(&named))?;
    let fleets = app.fleets.now();
    let fleet = fleets.number(machine.fleet()).ok_or_else(|| Failure::no_machine(&named))?;
    let key = fleet.read(move |state, _| state.machine(machine).map(|machine| machine.key)).await?;
    let key = key.ok_or_else(|| Failure::no_machine(&named))?;
    let command = match asked.action {
        MachineAction::Drain => Command::DrainMachine(machine),
        MachineAction::Undrain => Command::UndrainMachine(machine),
        MachineAction::Remove => {
            let kept_out = match super::tokens::credential(&app, key).await? {
                Some(_) => KeptOut::ByItsCredential,
                None => KeptOut::ByNothing,
            };
            Command::RemoveMachine { machine, kept_out }
        }
    };
    let answer = fleet.ask(command).await??;
    Ok((StatusCode::ACCEPTED, Json(MachineActionView { deferred: answer == Answer::Deferred })))
}
