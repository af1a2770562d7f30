//! What becomes of a session, as server-sent events: its members and whoever waits to come in hear of a new host at once.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive};
use axum::response::{IntoResponse as _, Response, Sse};
use mainstay_core::SessionId;
use mainstay_lobby::{Rejection, Session};
use mainstay_wire::native::SessionView;
use mainstay_wire::problem::Problem;
use serde_json::json;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::failure::{Failure, Native};
use super::{Looks, lobby, look, looks as looks_of, session_of};
use crate::lobby::{Lobbies, Watcher, Watching};

/// How often a stream says that it lives: well within the minute after which proxies give up.
const ALIVE_EVERY: Duration = Duration::from_secs(15);

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(watch))
}

/// What becomes of a session, as it happens: a `session` event with each change, the first at once; `ended` is the last.
#[utoipa::path(
    get,
    operation_id = "watchSession",
    path = "/v1/sessions/{session}/events",
    tag = "lobby",
    security(("basic" = []), ("token" = []), ()),
    params(("session" = String, Path, description = "The session's id")),
    responses((status = 200, description = "Server-sent events of type `session`, and one of type `ended`", body = SessionView, content_type = "text/event-stream"), (status = 404, description = "There is no such thing", body = Problem), (status = 503, description = "Too many watch", body = Problem)),
)]
async fn watch(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Native> {
    let looks = looks_of(&app, &headers)?;
    let (lobbies, session) = (lobby(&app)?, session_of(&named)?);
    let watcher = watcher(&looks, &look(&app, session).await?.session);
    // Watched before it is read for the stream, so that no change falls in between.
    let watching = lobbies.watched().watch(session, watcher).ok_or_else(Failure::too_many_watch)?;
    let lobbies = lobbies.clone();
    // Whoever is revoked, or whose token has run out, hears nothing more.
    let still_looks = move || looks_of(&app, &headers).ok();
    let telling = Telling { lobbies, looks, still_looks, session, watching: Some(watching), told: None };
    let events = futures_util::stream::unfold(telling, |mut telling| async move {
        let event = telling.next().await?;
        Some((Ok::<_, Infallible>(event), telling))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(ALIVE_EVERY)).into_response())
}

fn watcher(looks: &Looks, session: &Session) -> Watcher {
    match looks {
        Looks::Member(member) if looks.is_member_of(session) => Watcher::Member(member.peer),
        Looks::Member(_) | Looks::Player(_) | Looks::Studio(_) | Looks::Anybody => {
            Watcher::Other(looks.counted())
        }
    }
}

struct Telling<F> {
    lobbies: Lobbies,
    looks: Looks,
    /// Who looks, while it may still.
    still_looks: F,
    session: SessionId,
    /// `None` once the end was told.
    watching: Option<Watching>,
    told: Option<SessionView>,
}

impl<F: Fn() -> Option<Looks>> Telling<F> {
    async fn next(&mut self) -> Option<Event> {
        loop {
            let watching = self.watching.as_mut()?;
            if self.told.is_some() {
                watching.next().await?;
                self.looks = (self.still_looks)()?;
            }
            // Where the shard does not answer the stream ends, and whoever watches asks again.
            match self.lobbies.look(self.session).await.ok()? {
                Ok(seen) => {
                    let view = self.lobbies.view(&seen, self.looks.addresses(&seen.session));
                    if self.told.as_ref() != Some(&view) {
                        let event = event("session", &view);
                        self.told = Some(view);
                        return Some(event);
                    }
                }
                Err(rejection) => {
                    self.watching = None;
                    return Some(ended(self.session, &rejection));
                }
            }
        }
    }
}

fn ended(session: SessionId, rejection: &Rejection) -> Event {
    let why = if let Rejection::Over { ending, .. } = rejection {
        ending.to_string()
    } else {
        rejection.to_string()
    };
    event("ended", &json!({ "id": session, "why": why }))
}

fn event(kind: &str, data: &impl serde::Serialize) -> Event {
    Event::default().event(kind).json_data(data).expect("a session is plain data")
}
