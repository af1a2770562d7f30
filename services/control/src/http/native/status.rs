//! `/v1/status` and `/healthz`.

use std::sync::Arc;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::get;
use axum::{Json, Router};
use mainstay_fleet::Link;
use mainstay_wire::multiplay::instant;
use mainstay_wire::native::StatusView;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::Native;
use super::fleets::view;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/v1/status", get(status)).route("/healthz", get(healthz))
}

async fn status(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Json<StatusView>, Native> {
    app.permit(&headers, Permission::Read)?;
    let (mut fleets, mut machines, mut connected_machines) = (Vec::new(), 0, 0);
    for fleet in app.fleets.now().all() {
        fleets.push(view(fleet).await?);
        let counted = fleet.read(|state, _| {
            let up =
                state.machines().filter(|(_, machine)| matches!(machine.link(), Link::Up { .. })).count();
            (state.machines().count(), up)
        });
        let (all, up) = counted.await?;
        machines += all;
        connected_machines += up;
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Json(StatusView { version, now: instant(app.now()), fleets, machines, connected_machines }))
}

/// Says that turns are taken and their state is durable, without telling anybody what it is.
async fn healthz(State(app): State<Arc<App>>) -> Result<&'static str, Native> {
    app.catalog.query(|_, _| ()).await?;
    for fleet in app.fleets.now().all() {
        fleet.read(|_, _| ()).await?;
    }
    Ok("ok\n")
}
