//! `/v1/status`, `/healthz` and `/readyz`: each says what it checked.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mainstay_runtime::Error::JournalFull;
use mainstay_runtime::Room;
use mainstay_wire::multiplay::instant;
use mainstay_wire::native::{HealthCheck, HealthView, StatusView};

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{CODE_HEADER, Native};
use super::fleets::view;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(status)).routes(routes!(healthz)).routes(routes!(readyz))
}

#[utoipa::path(
    get,
    operation_id = "getStatus",
    path = "/v1/status",
    tag = "status",
    responses((status = 200, description = "As asked", body = StatusView)),
)]
async fn status(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Json<StatusView>, Native> {
    app.permit(&headers, Permission::Read)?;
    let (mut fleets, mut machines, mut connected_machines) = (Vec::new(), 0, 0);
    for fleet in app.fleets.now().all() {
        fleets.push(view(&app, fleet).await?);
        // Servers and machines are counted as they change.
        let counted = fleet.read(|state, _| {
            state.pools().fold((0, 0), |(all, heard), pool| (all + pool.machines(), heard + pool.heard))
        });
        let (all, heard) = counted.await?;
        machines += all as usize;
        connected_machines += heard as usize;
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Json(StatusView { version, now: instant(app.now()), fleets, machines, connected_machines }))
}

/// Alive: turns are taken and what they say is durable, in the catalog and in every fleet. Who restarts a process that
/// hangs asks this. It says nothing of what is inside, so it asks for no credentials.
#[utoipa::path(
    get,
    operation_id = "getHealth",
    path = "/healthz",
    tag = "health",
    security(()),
    responses(
        (status = 200, description = "Every check is as it should be", body = HealthView),
        (status = 503, description = "At least one is not", body = HealthView)
    ),
)]
async fn healthz(State(app): State<Arc<App>>) -> Response {
    told(answering(&app).await)
}

/// Ready for callers: alive, every fleet has what the catalog says of it, and the journal's disk has room for what callers
/// ask for. Who sends callers here asks this.
#[utoipa::path(
    get,
    operation_id = "getReadiness",
    path = "/readyz",
    tag = "health",
    security(()),
    responses(
        (status = 200, description = "Every check is as it should be", body = HealthView),
        (status = 503, description = "At least one is not", body = HealthView)
    ),
)]
async fn readyz(State(app): State<Arc<App>>) -> Response {
    let mut checks = answering(&app).await;
    checks.push(configured(&app).await);
    checks.push(room(&app));
    told(checks)
}

/// On a full disk allocations end and servers stop as ever; what would grow is refused.
fn room(app: &App) -> HealthCheck {
    let found = match app.journal.room() {
        Room::Ample => Ok("it has room for what callers ask for".to_owned()),
        Room::Full => Err(format!("{} ({})", JournalFull, JournalFull.code())),
    };
    check("journal", found)
}

/// What fails is no refusal of the call: the code keeps the view from being taken for one.
fn told(checks: Vec<HealthCheck>) -> Response {
    let view = HealthView::of(checks);
    let well = view.checks.iter().all(|check| check.ok);
    let mut response = Json(view).into_response();
    if !well {
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response.headers_mut().insert(CODE_HEADER, HeaderValue::from_static(UNWELL));
    }
    response
}

/// The code of an answer in which a check fails; its body says which.
const UNWELL: &str = "MS-U128";

fn check(name: &str, found: Result<String, String>) -> HealthCheck {
    let ok = found.is_ok();
    let (Ok(says) | Err(says)) = found;
    HealthCheck { name: name.to_owned(), ok, says }
}

/// A query is answered once everything before it is durable, so that an answer shows the journal's health too.
async fn answering(app: &App) -> Vec<HealthCheck> {
    let answers = |answered: Result<(), mainstay_runtime::Error>, what: String| match answered {
        Ok(()) => Ok(format!("{what}; what was asked before is durable")),
        Err(error) => Err(format!("{error} ({})", error.code())),
    };
    let catalog = answers(app.catalog.query(|_, _| ()).await, "it answers".to_owned());
    let mut fleets: Result<(), mainstay_runtime::Error> = Ok(());
    let directory = app.fleets.now();
    for fleet in directory.all() {
        if let Err(error) = fleet.read(|_, _| ()).await {
            fleets = Err(error);
        }
    }
    let mut queues: Result<(), mainstay_runtime::Error> = Ok(());
    let open = app.queues.now();
    for queue in open.values() {
        if let Err(error) = queue.read(|_, _| ()).await {
            queues = Err(error);
        }
    }
    let all = |count: usize| format!("all {count} answer");
    vec![
        check("catalog", catalog),
        check("fleets", answers(fleets, all(directory.all().count()))),
        check("queues", answers(queues, all(open.len()))),
    ]
}

async fn configured(app: &App) -> HealthCheck {
    let listed = app
        .catalog
        .query(|catalog, _| catalog.fleets().map(|spec| (spec.number, spec.revision)).collect::<Vec<_>>());
    let found = match listed.await {
        Err(error) => Err(error.to_string()),
        Ok(listed) => {
            let directory = app.fleets.now();
            let has = |(number, revision): &&(_, u64)| {
                directory.number(*number).is_some_and(|open| open.spec.revision >= *revision)
            };
            let (all, have) = (listed.len(), listed.iter().filter(has).count());
            let says = format!("{have} of {all} fleets have the newest configuration");
            if all == have { Ok(says) } else { Err(says) }
        }
    };
    check("configuration", found)
}
