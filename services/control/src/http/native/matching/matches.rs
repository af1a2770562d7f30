//! `/v1/queues/{queue}/matches`.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::HeaderMap;
use mainstay_core::MatchId;
use mainstay_matchmaking::Rejection;
use mainstay_wire::native::{MatchView, Page};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::access::Permission;
use super::super::super::failure::{Failure, Native};
use super::super::paging::{Asked, page};
use super::{Asking, kept_of, queue_of};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(read))
}

#[utoipa::path(
    get,
    operation_id = "listMatches",
    path = "/v1/queues/{queue}/matches",
    tag = "matchmaking",
    params(("queue" = String, Path, description = "The queue's name"), Asked),
    responses((status = 200, description = "Those of the last minutes", body = Page<MatchView>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<MatchView>>, Native> {
    app.permit(&headers, Permission::Read)?;
    let asked = super::asked(query)?;
    let (after, limit): (Option<MatchId>, _) = (asked.after()?, asked.limit());
    let queue = queue_of(&app, &name)?;
    let matches = queue
        .read(move |queue, now| queue.matches_after(after, now).take(limit + 1).cloned().collect::<Vec<_>>());
    let views = matches.await?.iter().map(|formed| MatchView::of(formed, &name)).collect();
    Ok(Json(page(views, limit, |formed| formed.id.to_string())))
}

/// For a service account, a process hosted here of the match it plays, and by `X-EntityToken` the players of it, game servers and the title.
#[utoipa::path(
    get,
    operation_id = "getMatch",
    path = "/v1/queues/{queue}/matches/{match}",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("queue" = String, Path, description = "The queue's name"), ("match" = String, Path, description = "Its id")),
    responses((status = 200, description = "As asked", body = MatchView), (status = 404, description = "There is no such thing, or it was formed some time ago", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path((name, id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<MatchView>, Native> {
    let asking = Asking::by_anybody(&app, &app.caller(&headers)?, Permission::Read).await?;
    let (queue, id) = (kept_of(&app, &name).await?, match_of(&id)?);
    asking.reads_match(&name, id)?;
    let asker = asking.asker().clone();
    let found = queue.read(move |queue, now| queue.formed_match(id, &asker, now).cloned()).await?;
    let formed = match found {
        // Nobody learns of others' matches that there are any.
        Err(Rejection::Unauthorized { .. }) => return Err(Rejection::MatchNotFound(id).into()),
        found => found?,
    };
    Ok(Json(MatchView::of(&formed, &name)))
}

pub(super) fn match_of(text: &str) -> Result<MatchId, Native> {
    let fix = "take the matchId of a ticket";
    text.parse()
        .map_err(|_| Failure::bad_request(format!("`{text}` is no match id: it is a UUID"), fix).into())
}
