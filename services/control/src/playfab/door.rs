//! Every request's way in and out: path, method, body; and the envelope, whatever became of it.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody as _};
use axum::extract::{FromRequest as _, Request, State};
use axum::http::header::{ALLOW, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse as _, Response};
use mainstay_wire::object::unmarked;
use mainstay_wire::playfab::{Success, types};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use super::Face;
use super::call::Call;
use super::callers::Shown;
use super::inflated::inflated;
use super::refusal::Refusal;
use crate::doors::{Peer, Refused};
use crate::http::{CODE_HEADER, NO_ROUTE, Pages, request_id};

/// The largest body of one who showed a token, as it is once inflated: a hundred players whose attributes are of the largest size, and
/// their names, also where each is a text of JSON, whose quotes take two bytes.
pub(crate) const BODY_BYTES_MAX: usize = 2 * 1024 * 1024;
/// The largest of anybody else: a login.
const STRANGERS_BODY_BYTES_MAX: usize = 16 * 1024;
/// How long a call may take, its body included; see the other faces.
const CALL_WITHIN: Duration = Duration::from_secs(30);
/// By this a client asks for HTTP status 200 whatever happened: where its library hides the bodies of errors.
const ERROR_AS_SUCCESS: &str = "x-reporterrorassuccess";
/// By this an SDK says which it is.
const SDK: &str = "x-playfabsdk";
/// By what an answer is spoken of: PlayFab's own have it, and its SDK for C# hands it on.
const REQUEST_ID: &str = "x-requestid";
/// What every answer is.
const JSON: &str = "application/json; charset=utf-8";
/// Pages send at least what PlayFab's SDK for the web does.
const PAGES: Pages = Pages {
    methods: "POST, OPTIONS",
    sends: "content-type, content-encoding, x-playfabsdk, x-entitytoken, x-authorization, x-authentication, \
            x-secretkey, x-reporterrorassuccess",
    reads: "retry-after, mainstay-code, x-requestid",
};

/// A call on its way to its handler.
pub(super) struct Asked {
    pub(super) headers: HeaderMap,
    /// From where it came.
    pub(super) from: Option<IpAddr>,
    /// Who showed an entity token.
    pub(super) shown: Result<Shown, Refusal>,
    body: Bytes,
}

impl Asked {
    /// What the call is asked with. No body is an empty object, and so are the ways in which languages write one that is empty: some calls
    /// need nothing.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        let body = unmarked(&self.body).trim_ascii();
        let body = if body.is_empty() { b"{}" } else { body };
        let sent: Value = serde_json::from_slice(body).map_err(|error| Refusal::no_json_body(&error))?;
        let whole = types::opened(sent);
        if !whole.is_object() {
            return Err(Refusal::no_request(".", "the body is an object"));
        }
        let no_objects = types::no_objects(&whole);
        if !no_objects.is_empty() {
            return Err(Refusal::fields(&no_objects));
        }
        serde_path_to_error::deserialize(&whole).map_err(|error| {
            let faults = types::faults(&whole);
            if faults.is_empty() {
                return Refusal::no_request(&error.path().to_string(), &error.inner().to_string());
            }
            Refusal::fields(&faults)
        })
    }
}

/// Every request.
pub(super) async fn open(State(face): State<Arc<Face>>, request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        return PAGES.asked_before(request.headers());
    }
    let began = face.clock.since_boot();
    let (call, method) = (Call::of(request.uri().path()), request.method().clone());
    let wants_success = request
        .headers()
        .get(ERROR_AS_SUCCESS)
        .is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"true"));
    let is_lua = request.headers().get(SDK).is_some_and(|sdk| sdk.as_bytes().starts_with(b"LuaSdk"));
    let answered = tokio::time::timeout(CALL_WITHIN, answer(&face, request)).await;
    let answered = answered.unwrap_or_else(|_elapsed| Err(Refusal::too_slow(CALL_WITHIN)));
    let id = request_id();
    let (status, mut response) = match answered {
        Ok(body) => (StatusCode::OK, json(StatusCode::OK, body)),
        Err(refusal) => (refusal.status(), refused(refusal, wants_success, id)),
    };
    // Hexadecimal digits and hyphens are a header's value.
    if let Ok(id) = HeaderValue::try_from(id.to_string()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    // As what became of it, whatever status its client wants to see.
    let took = face.clock.since_boot().saturating_sub(began);
    face.metrics.called(call.map_or(NO_ROUTE, Call::route), method.as_str(), status.as_u16(), took);
    PAGES.allowed(if is_lua { in_one_chunk(response) } else { response })
}

/// PlayFab's SDK for Lua reads the first piece alone that its library hands it: 2,048 bytes where the answer's length is told before it, and
/// a chunk of any size where it is not.
fn in_one_chunk(response: Response) -> Response {
    response.map(|body| Body::from_stream(body.into_data_stream()))
}

async fn answer(face: &Face, request: Request) -> Result<Vec<u8>, Refusal> {
    let path = request.uri().path();
    let call = Call::of(path).ok_or_else(|| Refusal::no_call(path))?;
    if request.method() != Method::POST {
        return Err(Refusal::no_method(request.method().as_str()));
    }
    let headers = request.headers().clone();
    if !says_json(&headers) {
        return Err(Refusal::no_json_said());
    }
    let from = request.extensions().get::<Peer>().map(|peer| peer.address.ip().to_canonical());
    let shown = face.shown(&headers).await;
    let max = if shown.is_ok() { BODY_BYTES_MAX } else { STRANGERS_BODY_BYTES_MAX };
    let body = inflated(&headers, read(request, max).await?, max)?;
    let asked = Asked { body, headers, from, shown };
    called(face, call, &asked).await
}

async fn read(request: Request, max: usize) -> Result<Bytes, Refusal> {
    let length = request.body().size_hint().upper();
    let body = Bytes::from_request(request, &()).await.map_err(|rejection| {
        if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
            Refusal::too_large(length, max)
        } else {
            Refusal::unread(format!("the body was not read: {}", rejection.body_text()))
        }
    })?;
    if body.len() > max { Err(Refusal::too_large(Some(body.len() as u64), max)) } else { Ok(body) }
}

fn says_json(headers: &HeaderMap) -> bool {
    let said = headers.get(CONTENT_TYPE).and_then(|said| said.to_str().ok()).unwrap_or_default();
    said.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

async fn called(face: &Face, call: Call, asked: &Asked) -> Result<Vec<u8>, Refusal> {
    match call {
        Call::LoginWithCustomId => told(face.login(asked, &asked.read()?)),
        Call::LoginWithServerCustomId => told(face.login_vouched(asked)),
        Call::GetEntityToken => told(face.entity_token(asked)),
        Call::ValidateEntityToken => told(face.validate(asked).await),
        Call::AuthenticateGameServer => told(face.game_server(asked)),
        Call::SetObjects => told(face.set_objects(asked).await),
        Call::GetObjects => told(face.get_objects(asked).await),
        Call::CreateTicket => told(face.create_ticket(&face.caller(asked)?, asked.read()?).await),
        Call::CreateServerTicket => {
            told(face.create_server_ticket(&face.server(asked)?, asked.read()?).await)
        }
        Call::JoinTicket => told(face.join_ticket(&face.caller(asked)?, asked.read()?).await),
        Call::GetTicket => told(face.ticket(face.caller(asked)?, asked.read()?).await),
        Call::CancelTicket => told(face.cancel_ticket(face.caller(asked)?, asked.read()?).await),
        Call::CancelAllTickets => told(face.cancel_all_tickets(face.caller(asked)?, asked.read()?).await),
        Call::ListTickets => told(face.list_tickets(face.caller(asked)?, asked.read()?).await),
        Call::GetMatch => told(face.formed_match(face.caller(asked)?, asked.read()?).await),
        Call::GetStatistics => told(face.statistics(face.caller(asked)?, asked.read()?).await),
        Call::CreateBackfill => told(face.create_backfill(&face.server(asked)?, asked.read()?).await),
        Call::GetBackfill => told(face.backfill(face.server(asked)?, asked.read()?).await),
        Call::CancelBackfill => told(face.cancel_backfill(face.server(asked)?, asked.read()?).await),
        Call::CancelAllBackfills => told(face.cancel_all_backfills(face.server(asked)?, asked.read()?).await),
        Call::ListBackfills => told(face.list_backfills(face.server(asked)?, asked.read()?).await),
        Call::GetQueue => told(face.get_queue(asked).await),
        Call::ListQueues => told(face.list_queues(asked).await),
        Call::SetQueue => told(face.set_queue(asked).await),
        Call::RemoveQueue => told(face.remove_queue(asked).await),
        Call::Subscribe | Call::Unsubscribe => {
            face.caller(asked)?;
            Err(Refusal::no_push())
        }
    }
}

fn told<T: Serialize>(answer: Result<T, Refusal>) -> Result<Vec<u8>, Refusal> {
    serde_json::to_vec(&Success::of(answer?)).map_err(|error| Refusal::bug(&error))
}

fn refused(refusal: Refusal, wants_success: bool, id: Uuid) -> Response {
    let status = if wants_success { StatusCode::OK } else { refusal.status() };
    let is_method = refusal.status() == StatusCode::METHOD_NOT_ALLOWED;
    let code = refusal.code();
    let told = refusal.told();
    tracing::debug!(
        request_id = %id,
        error = told.error,
        number = told.error_code,
        message = told.error_message,
        code,
        "refused"
    );
    let wait = told.retry_after_seconds;
    // Texts, numbers and lists of texts always become JSON.
    let mut response = json(status, serde_json::to_vec(&told).unwrap_or_default());
    response.headers_mut().insert(CODE_HEADER, HeaderValue::from_static(code));
    if let Some(wait) = wait {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(wait));
    }
    if is_method {
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, OPTIONS"));
    }
    response
}

/// How a caller from another host is told to speak TLS.
pub(crate) fn no_tls(said: &[u8]) -> Refused {
    let said = String::from_utf8_lossy(said).to_ascii_lowercase();
    let wants_success = said.contains(&format!("{ERROR_AS_SUCCESS}: true"));
    let refusal = Refusal::no_tls();
    let status = if wants_success { StatusCode::OK } else { refusal.status() };
    // Texts, numbers and lists of texts always become JSON.
    let body = serde_json::to_string(&refusal.told()).unwrap_or_default();
    Refused { status, content_type: JSON, body }
}

fn json(status: StatusCode, body: Vec<u8>) -> Response {
    let kind = [(CONTENT_TYPE, HeaderValue::from_static(JSON))];
    (status, kind, Body::from(body)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "if sent, HTTP status must be 200 while the body `code` keeps the real status": Unity's client reads no body of anything else.
    #[test]
    fn who_hides_errors_is_told_of_tls_as_success() {
        let said = |header: &str| {
            let refused =
                no_tls(format!("POST /Match/GetMatch HTTP/1.1\r\nHost: a\r\n{header}\r\n\r\n").as_bytes());
            let body: Value = serde_json::from_str(&refused.body).unwrap();
            (refused.status.as_u16(), body["code"].clone())
        };
        assert_eq!(said("X-ReportErrorAsSuccess: true"), (200, 400.into()));
        assert_eq!(said("X-PlayFabSDK: a"), (400, 400.into()));
    }
}
