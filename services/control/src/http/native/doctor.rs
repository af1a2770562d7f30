//! `/v1/doctor`: runs every law, and says what each check found.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native};
use crate::doctor::{DoctorView, live};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(examine))
}

/// Reads all that is kept, on threads that no turn waits for; one call at a time. 200 whatever it finds: `status` says.
#[utoipa::path(
    get,
    operation_id = "examine",
    path = "/v1/doctor",
    tag = "health",
    responses((status = 200, description = "Every check, and the worst of them", body = DoctorView), (status = 429, description = "Another call is under way", body = Problem)),
)]
async fn examine(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Json<DoctorView>, Native> {
    app.permit(&headers, Permission::Operate)?;
    let Ok(_one) = app.examining.try_acquire() else {
        let detail = "another call of the doctor is under way, and each reads all that is kept".to_owned();
        return Err(Failure::new(
            StatusCode::TOO_MANY_REQUESTS,
            "MS-U129",
            detail,
            "ask again when it is over",
        )
        .into());
    };
    let mut checks = live::live(&app).await;
    let host = Arc::clone(&app.host);
    let found = tokio::task::spawn_blocking(move || host.look()).await;
    checks.extend(found.map_err(|panicked| Failure::internal(panicked.to_string()))?);
    Ok(Json(DoctorView::of(checks)))
}
