//! The local daemon that Multiplay's SDKs speak to, at the address that `server.json` names as `localProxyUrl`.
//!
//! Its calls (events, ready, hold, reservations, payload) are not built yet. The port is taken all the same, so that it
//! is nobody else's when they are; every call is refused in the SDKs' own shape, and nothing is pretended.

use axum::Router;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tokio::net::TcpListener;

/// Answers on a listener for as long as it is let.
///
/// # Errors
/// The listener's own.
pub async fn serve(listener: TcpListener) -> std::io::Result<()> {
    axum::serve(listener, Router::new().fallback(refuse)).await
}

async fn refuse(uri: Uri) -> Response {
    let body = serde_json::json!({
        "status": StatusCode::NOT_IMPLEMENTED.as_u16(),
        "title": "not implemented",
        "detail": format!("this version of Mainstay does not serve {} to games yet (MS-S420)", uri.path()),
    });
    let kind = [
        (header::CONTENT_TYPE, "application/json"),
        (header::HeaderName::from_static("mainstay-code"), "MS-S420"),
    ];
    (StatusCode::NOT_IMPLEMENTED, kind, body.to_string()).into_response()
}
