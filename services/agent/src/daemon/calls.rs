//! The daemon's HTTP calls (reference multiplay.md 2.2), in the paths of both dialects: the Go SDK's plural nouns and the
//! C# and Unreal SDKs' singular ones.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, patch, post, put};
use axum::{Extension, Json, Router};
use mainstay_core::{AllocationId, ReservationId, ServerId};
use mainstay_wire::agent::{Outcome, Refusal, Wish};
use mainstay_wire::daemon::calls::{self, BODY_BYTES_MAX, HoldView, Readiness, ReservationView, TokenView};
use mainstay_wire::multiplay::instant;
use mainstay_wire::native::KEPT_BYTES_MAX;

use super::failure::Failure;
use super::listener::Peer;
use super::{CALLS, Daemon, socket};

pub(super) fn router(daemon: Daemon) -> Router {
    Router::new()
        .route("/v1/connection/websocket", get(socket::connect))
        .route("/v1/servers/{server}/allocations/{allocation}", patch(ready))
        .route("/v1/server/{server}/allocation/{allocation}/ready-for-players", post(ready_for_players))
        .route("/v1/server/{server}/unready", post(unready))
        .route("/v1/servers/{server}/hold", get(read_hold).post(hold).delete(release_hold))
        .route("/v1/servers/{server}/reservations", post(reserve).delete(unreserve))
        .route("/v1/servers/{server}/backfill", put(backfill).layer(DefaultBodyLimit::max(KEPT_BYTES_MAX)))
        .route("/payload/{allocation}", get(payload))
        .route("/token", get(token))
        .route("/v4/token", get(token))
        .fallback(no_such_path)
        .method_not_allowed_fallback(no_such_method)
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(axum::middleware::from_fn(not_too_often))
        .with_state(daemon)
}

/// A connection that calls too often hears so, whatever it calls.
async fn not_too_often(Extension(peer): Extension<Arc<Peer>>, request: Request, next: Next) -> Response {
    match peer.calls.take() {
        Ok(()) => next.run(request).await,
        Err(_later) => Failure::too_often("calls", CALLS).into_response(),
    }
}

async fn no_such_path(uri: Uri) -> Failure {
    Failure::no_path(uri.path())
}

async fn no_such_method(uri: Uri) -> Failure {
    Failure::no_method(uri.path())
}

/// `PATCH …/allocations/{allocation}`, the Go SDK's `ReadyForPlayers`.
async fn ready(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path((server, allocation)): Path<(String, String)>,
    body: Result<Bytes, BytesRejection>,
) -> Result<StatusCode, Failure> {
    let readiness = calls::read_ready(&read(body)?).map_err(|error| Failure::bad_body(&error))?;
    say(&daemon, &peer, &server, Some(&allocation), readiness).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST …/ready-for-players`, the C# and Unreal SDKs'.
async fn ready_for_players(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path((server, allocation)): Path<(String, String)>,
) -> Result<StatusCode, Failure> {
    say(&daemon, &peer, &server, Some(&allocation), Readiness::Ready).await?;
    Ok(StatusCode::OK)
}

async fn unready(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path(server): Path<String>,
) -> Result<StatusCode, Failure> {
    say(&daemon, &peer, &server, None, Readiness::Unready).await?;
    Ok(StatusCode::OK)
}

async fn say(
    daemon: &Daemon,
    peer: &Peer,
    server: &str,
    allocation: Option<&str>,
    readiness: Readiness,
) -> Result<(), Failure> {
    let server = server_id(server)?;
    let allocation = allocation.map(allocation_id).transpose()?;
    daemon.admit(peer, server)?;
    let seat = daemon.seat(server).await?;
    if let Some(allocation) = allocation
        && seat.session.as_ref().map(|session| session.allocation) != Some(allocation)
    {
        return Err(Failure::no_allocation(allocation));
    }
    let wish = match readiness {
        Readiness::Ready => Wish::SetReady,
        Readiness::Unready => Wish::SetUnready,
    };
    daemon.wish(server, seat, wish, status).await.map(drop)
}

async fn hold(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path(server): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<HoldView>, Failure> {
    let time = calls::read_hold(&read(body)?).map_err(|error| Failure::bad_body(&error))?;
    let conflict = |why| match why {
        // "A server cannot transition into this state if it is in any of the ALLOCATED or RESERVED states" (seed 003).
        Refusal::State | Refusal::Stale => StatusCode::CONFLICT,
        Refusal::Invalid | Refusal::Forbidden | Refusal::Unknown | Refusal::Unavailable => status(why),
    };
    ask_hold(&daemon, &peer, &server, Wish::Hold { time }, conflict).await
}

async fn read_hold(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path(server): Path<String>,
) -> Result<Json<HoldView>, Failure> {
    ask_hold(&daemon, &peer, &server, Wish::ReadHold, status).await
}

async fn ask_hold(
    daemon: &Daemon,
    peer: &Peer,
    server: &str,
    wish: Wish,
    status: fn(Refusal) -> StatusCode,
) -> Result<Json<HoldView>, Failure> {
    match ask(daemon, peer, server, wish, status).await?.1 {
        Outcome::Held { until } => Ok(Json(HoldView::of(until))),
        other @ (Outcome::Done
        | Outcome::Reserved { .. }
        | Outcome::Token { .. }
        | Outcome::Backfill { .. }
        | Outcome::Refused { .. }) => Err(odd(&other)),
    }
}

async fn release_hold(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path(server): Path<String>,
) -> Result<StatusCode, Failure> {
    ask(&daemon, &peer, &server, Wish::ReleaseHold, status).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn reserve(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path(server): Path<String>,
) -> Result<Json<ReservationView>, Failure> {
    let wish = Wish::Reserve { reservation: new_reservation()? };
    let (server, outcome) = ask(&daemon, &peer, &server, wish, status).await?;
    match outcome {
        Outcome::Reserved { reservation, configuration, at } => {
            let at = instant(at);
            let addresses = daemon.0.context.ground.addresses();
            let facts = daemon.0.context.facts(server).ok_or_else(|| Failure::no_server(server))?;
            Ok(Json(ReservationView {
                configuration,
                created: at,
                fulfilled: at,
                game_port: facts.ports.game,
                ipv4: addresses.ipv4,
                ipv6: addresses.ipv6,
                requested: at,
                reservation_id: reservation,
            }))
        }
        other @ (Outcome::Done
        | Outcome::Held { .. }
        | Outcome::Token { .. }
        | Outcome::Backfill { .. }
        | Outcome::Refused { .. }) => Err(odd(&other)),
    }
}

/// `PUT …/backfill`, of our own SDK: who plays and how many are wanted, as JSON that the plane reads; how its backfill stands.
async fn backfill(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path(server): Path<String>,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Failure> {
    let server = server_id(&server)?;
    daemon.admit(&peer, server)?;
    daemon.0.backfills.take(server).map_err(|rate| Failure::too_often("words on who plays", rate))?;
    let body = read_up_to(body, KEPT_BYTES_MAX)?;
    let game: Arc<str> =
        std::str::from_utf8(&body).map_err(|_| Failure::bad("the body is no UTF-8".to_owned()))?.into();
    let seat = daemon.seat(server).await?;
    let run = seat.run.ok_or_else(|| Failure::no_process(server))?.number();
    // As for holds, 409 is a state in which it cannot be.
    let conflict = |why| match why {
        Refusal::State => StatusCode::CONFLICT,
        Refusal::Invalid | Refusal::Forbidden | Refusal::Stale | Refusal::Unknown | Refusal::Unavailable => {
            status(why)
        }
    };
    match daemon.wish(server, seat, Wish::Backfill { run, game }, conflict).await? {
        Outcome::Backfill { stands } => Ok(([(CONTENT_TYPE, "application/json")], stands).into_response()),
        other @ (Outcome::Done
        | Outcome::Held { .. }
        | Outcome::Reserved { .. }
        | Outcome::Token { .. }
        | Outcome::Refused { .. }) => Err(odd(&other)),
    }
}

async fn unreserve(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path(server): Path<String>,
) -> Result<StatusCode, Failure> {
    ask(&daemon, &peer, &server, Wish::Unreserve, status).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The payload that came with the allocation, as it came; empty where none did.
async fn payload(
    State(daemon): State<Daemon>,
    Extension(peer): Extension<Arc<Peer>>,
    Path(allocation): Path<String>,
) -> Response {
    let found = async { daemon.session(&peer, allocation_id(&allocation)?).await };
    match found.await {
        Ok(session) => {
            let payload = session.payload.map(|payload| payload.to_string()).unwrap_or_default();
            ([(CONTENT_TYPE, "text/plain; charset=utf-8")], payload).into_response()
        }
        Err(failure) => failure.of_payload(),
    }
}

/// What shows that the asking game is its server, in the SDKs' own shape, whatever becomes of it.
async fn token(State(daemon): State<Daemon>, Extension(peer): Extension<Arc<Peer>>) -> Response {
    match daemon.token(&peer).await {
        Ok(token) => Json(TokenView { token, error: String::new() }).into_response(),
        Err(failure) => failure.of_token(),
    }
}

async fn ask(
    daemon: &Daemon,
    peer: &Peer,
    server: &str,
    wish: Wish,
    status: fn(Refusal) -> StatusCode,
) -> Result<(ServerId, Outcome), Failure> {
    let server = server_id(server)?;
    daemon.admit(peer, server)?;
    let seat = daemon.seat(server).await?;
    let outcome = daemon.wish(server, seat, wish, status).await?;
    Ok((server, outcome))
}

/// The statuses that the SDKs' own table of errors has for these calls: 409 is for holds alone.
pub(super) const fn status(why: Refusal) -> StatusCode {
    match why {
        Refusal::Invalid => StatusCode::BAD_REQUEST,
        Refusal::Forbidden | Refusal::State | Refusal::Stale => StatusCode::FORBIDDEN,
        Refusal::Unknown => StatusCode::NOT_FOUND,
        Refusal::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

pub(super) fn odd(outcome: &Outcome) -> Failure {
    tracing::error!(?outcome, "the control plane answered something else than was asked; this is our bug");
    let detail = "the control plane answered something else than was asked; this is our bug".to_owned();
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "MS-S426", detail)
}

fn read(body: Result<Bytes, BytesRejection>) -> Result<Bytes, Failure> {
    read_up_to(body, BODY_BYTES_MAX)
}

fn read_up_to(body: Result<Bytes, BytesRejection>, max: usize) -> Result<Bytes, Failure> {
    body.map_err(|rejection| {
        Failure::bad(format!("the body was not read ({}); {max} bytes are allowed", rejection.body_text()))
    })
}

fn server_id(text: &str) -> Result<ServerId, Failure> {
    text.parse().map_err(|error: mainstay_core::IdError| Failure::bad(error.to_string()))
}

fn allocation_id(text: &str) -> Result<AllocationId, Failure> {
    text.parse().map_err(|_| {
        let shown: String = text.chars().take(64).collect();
        Failure::bad(format!("{shown:?} is no allocation id: it is a UUID, allocatedUUID in server.json"))
    })
}

fn new_reservation() -> Result<ReservationId, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        let detail = format!("the system gives no random bytes: {error}");
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "MS-S426", detail)
    })?;
    Ok(ReservationId(uuid::Builder::from_random_bytes(bytes).into_uuid()))
}
