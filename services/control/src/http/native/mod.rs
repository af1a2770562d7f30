//! The native face, `/v1`: fleets, machines, servers, allocations, status. Errors are `application/problem+json`.

mod allocations;
mod configuration;
mod fleets;
mod machines;
mod paging;
mod servers;
mod status;

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use serde::de::DeserializeOwned;

use super::App;
use super::failure::{Failure, Native, tell};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .merge(fleets::routes())
        .merge(machines::routes())
        .merge(servers::routes())
        .merge(allocations::routes())
        .merge(status::routes())
        .merge(configuration::routes())
        .layer(axum::middleware::from_fn(tell))
}

/// A body that could be read whole.
fn bytes(body: Result<Bytes, BytesRejection>) -> Result<Bytes, Native> {
    body.map_err(|rejection| {
        let status = rejection.status();
        let code = if status == StatusCode::PAYLOAD_TOO_LARGE { "MS-U102" } else { "MS-U101" };
        let detail = format!("the body was not read: {}", rejection.body_text());
        Failure::new(status, code, detail, "send a smaller body").into()
    })
}

/// Reads a body; what cannot be read is refused before anything else is looked at.
fn body<T: DeserializeOwned>(body: Result<Bytes, BytesRejection>) -> Result<T, Native> {
    let body = bytes(body)?;
    serde_json::from_slice(&body).map_err(|error| {
        let detail = format!("the body is not the JSON this call takes: {error}");
        Failure::bad_request(detail, "mend the body; the fields are in docs/reference/http-api.md").into()
    })
}
