//! The native face, `/v1`: fleets, machines, servers, allocations, join tokens, status. Errors are `application/problem+json`.

mod accounts;
mod allocations;
mod configuration;
mod doctor;
mod fleets;
mod lobby;
mod machines;
pub(crate) mod matching;
mod objects;
mod paging;
mod servers;
mod status;
mod tokens;

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::App;
use super::failure::{Failure, MEND_BODY, Native, tell};
use super::pages::of_players;
use crate::declare::named;

/// The calls, and what describes them: a route that is not described cannot be written, since it is made of its description.
pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .merge(fleets::routes())
        .merge(machines::routes())
        .merge(servers::routes())
        .merge(allocations::routes())
        .merge(status::routes())
        .merge(configuration::routes())
        .merge(tokens::routes())
        .merge(accounts::routes())
        .merge(doctor::routes())
        .merge(objects::routes())
        .merge(lobby::routes())
        .routes(routes!(openapi))
        .layer(axum::middleware::from_fn(tell))
        .merge(for_players())
}

/// What players call from pages, too.
fn for_players() -> OpenApiRouter<Arc<App>> {
    matching::routes().layer(axum::middleware::from_fn(tell)).layer(axum::middleware::from_fn(of_players))
}

/// These calls, as a program reads them. Made from the code, and the same for everybody: it asks for no credentials.
#[utoipa::path(
    get,
    operation_id = "getOpenApi",
    path = "/v1/openapi.json",
    tag = "status",
    security(()),
    responses((status = 200, description = "This document, OpenAPI 3.1", content_type = "application/json")),
)]
async fn openapi() -> Response {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| {
        let document = super::described().into_openapi();
        serde_json::to_string(&document).expect("an OpenAPI document is plain data")
    });
    ([(CONTENT_TYPE, "application/json")], text.as_str()).into_response()
}

/// What OpenAPI says before the calls.
#[derive(OpenApi)]
#[openapi(
    servers((url = "/", description = "The control plane that this document came from")),
    info(title = "Mainstay", description = "Game-server hosting and matchmaking: fleets, machines, servers, allocations, queues, tickets, matches, and sessions that players host. Errors are application/problem+json."),
    security(("basic" = []), ("token" = [])),
    modifiers(&Schemes)
)]
struct Description;

/// The ways to say who asks; the last is of players for their own tickets, of game servers and of the title, by PlayFab's logins.
struct Schemes;

impl Modify for Schemes {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let components = openapi.components.get_or_insert_default();
        let http = |scheme| SecurityScheme::Http(Http::new(scheme));
        components.add_security_scheme("basic", http(HttpAuthScheme::Basic));
        components.add_security_scheme("token", http(HttpAuthScheme::Bearer));
        let shown = SecurityScheme::ApiKey(ApiKey::Header(ApiKeyValue::new("X-EntityToken")));
        components.add_security_scheme("entity", shown);
    }
}

/// The header that makes a creation safe to repeat.
const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// Longest such key: a UUID with a prefix, or a hash in hexadecimal.
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 128;

/// The id of what a call makes under a key: the first half is of the key, the second of what is asked, so that the rules can tell a repeat
/// from something else under the same key.
fn keyed_id(key: Uuid, asked: &str) -> Uuid {
    let ((key_half, _), (_, asked_half)) = (key.as_u64_pair(), named(key, asked).as_u64_pair());
    Uuid::from_u64_pair(key_half, asked_half)
}

/// A body with its fields in the order of their names, and its numbers by their values: not every library writes them twice in the same way.
fn in_order(body: &[u8]) -> String {
    serde_json::from_slice(body).map_or_else(|_| String::new(), |read| by_value(read).to_string())
}

/// The same with every number without a fraction as a whole one: `900.0` and `9e2` are 900.
fn by_value(read: Value) -> Value {
    match read {
        Value::Number(number) => Value::Number(whole(&number).unwrap_or(number)),
        Value::Array(elements) => elements.into_iter().map(by_value).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, by_value(value))).collect(),
        Value::Null | Value::Bool(_) | Value::String(_) => read,
    }
}

fn whole(number: &Number) -> Option<Number> {
    let value = number.as_f64().filter(|value| number.is_f64() && value.fract() == 0.0)?;
    // There are two zeros among them.
    if value == 0.0 { Some(0.into()) } else { serde_json::from_str(&format!("{value:.0}")).ok() }
}

/// An id that nothing had before.
fn fresh_id() -> Result<Uuid, Native> {
    Ok(uuid::Builder::from_random_bytes(tokens::random()?).into_uuid())
}

/// What makes a creation safe to repeat, where its caller gives that.
fn keyed(headers: &HeaderMap) -> Result<Option<&str>, Native> {
    let Some(key) = headers.get(IDEMPOTENCY_KEY) else { return Ok(None) };
    let bytes = key.as_bytes();
    match key.to_str() {
        Ok(key) if !key.is_empty() && bytes.len() <= IDEMPOTENCY_KEY_BYTES_MAX => Ok(Some(key)),
        Ok(_) | Err(_) => {
            let detail = format!(
                "Idempotency-Key has {} bytes: 1 to {IDEMPOTENCY_KEY_BYTES_MAX} of printable ASCII",
                bytes.len()
            );
            Err(Failure::bad_request(detail, "send a UUID that is new for each creation").into())
        }
    }
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
    mainstay_wire::object::read(&body).map_err(|error| {
        let detail = format!("the body is not the JSON this call takes: {error}");
        Failure::bad_request(detail, MEND_BODY).into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repeat was refused as another body where its library wrote a skill of 900 as 900.0.
    #[test]
    fn bodies_are_the_same_whose_fields_and_values_are() {
        let one = in_order(br#"{"giveUpAfterSeconds":900,"players":[{"player":"ann","attributes":{"zero":0,"much":100000000000000000000,"skill":-2.5}}]}"#);
        let same = br#"{ "players": [{ "attributes": { "skill": -25e-1, "zero": -0.0, "much": 1e20 }, "player": "ann" }], "giveUpAfterSeconds": 9.0e2 }"#;
        assert_eq!(one, in_order(same));
        for other in ["900.5", "901", "-900", "\"900\"", "[900]", "9e300"] {
            assert_ne!(in_order(b"900"), in_order(other.as_bytes()), "{other}");
        }
        assert_eq!(in_order(b"18446744073709551615.0"), in_order(b"1.8446744073709552e19"));
        assert_ne!(
            in_order(b"9007199254740993"),
            in_order(b"9007199254740992"),
            "more digits than a double has"
        );
    }
}
