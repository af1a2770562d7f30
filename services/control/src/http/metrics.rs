//! `/metrics`, and the counting of every call.

use std::sync::Arc;

use axum::extract::{MatchedPath, Request, State};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE as CONTENT_TYPE_HEADER;
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::App;
use super::access::Permission;
use super::failure::{Failure, Native, tell};
use crate::metrics::{CONTENT_TYPE, FleetGauges, Gauges, QueueGauges, SessionGauges, Whole};

/// What a call to no route of ours is counted as: paths that callers make up are no labels.
pub(crate) const NO_ROUTE: &str = "none";

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(metrics)).layer(axum::middleware::from_fn(tell))
}

/// OpenMetrics text. Fleets' names are in it, so it asks for credentials as everything else does.
#[utoipa::path(
    get,
    operation_id = "getMetrics",
    path = "/metrics",
    tag = "status",
    responses((status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text")),
)]
async fn metrics(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Response, Native> {
    app.permit(&headers, Permission::Read)?;
    let mut fleets = Vec::new();
    for fleet in app.fleets.now().all() {
        let load = app.samples.now(fleet, app.now()).await?.load();
        let (spec, disks) = (Arc::clone(&fleet.spec), app.installing.disks(fleet.spec.number));
        fleets.push(fleet.read(move |state, _| FleetGauges::of(&spec, state, load, disks)).await?);
    }
    let mut queues = Vec::new();
    for (name, queue) in app.queues.now().iter() {
        // One that has ended is told by `/healthz`, and takes no other's figures with it.
        let Ok((gauges, now)) = queue.read(|state, now| (state.gauges(), now)).await else { continue };
        queues.push(QueueGauges { name: Arc::clone(name), now, gauges, passes: queue.passes().clone() });
    }
    let sessions = match &app.lobby {
        Some(lobby) => Some(lobby.read(SessionGauges::of).await?),
        None => None,
    };
    let heads = app.journal.work(|journal| journal.heads()).await;
    let heads = heads.map_err(|error| Failure::internal(error.to_string()))?;
    let heads = heads.map_err(|error| Failure::internal(error.to_string()))?;
    let whole = Whole {
        silences: app.metrics.silences(app.clock.since_boot()),
        events: heads.iter().map(|head| head.next.before().0).sum(),
    };
    let text = app
        .metrics
        .encode(&Gauges::new(fleets, queues, sessions, whole))
        .map_err(|error| Failure::internal(error.to_string()))?;
    Ok(([(CONTENT_TYPE_HEADER, CONTENT_TYPE)], text).into_response())
}

/// Counts a call and its time by its route, and says so in the log.
pub(super) async fn count(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let began = app.clock.since_boot();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let route = matched.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    let (status, took) = (response.status().as_u16(), app.clock.since_boot().saturating_sub(began));
    app.metrics.called(route, method.as_str(), status, took);
    tracing::debug!(route, %method, status, took_us = took.as_micros(), "a call was answered");
    response
}
