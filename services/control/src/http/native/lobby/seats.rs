//! `/v1/sessions/{session}/seats`: what the players of a match show to come into its session.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use mainstay_wire::native::{Page, SeatView};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::access::Permission;
use super::super::super::failure::{Failure, Native};
use super::super::super::token::OfSeat;
use super::{look, session_of};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Those who have not come yet, each with the token that lets it in: to be handed to the players that the studio's service knows.
/// Players of the title need none: their entity token says who they are.
#[utoipa::path(
    get,
    operation_id = "listSeats",
    path = "/v1/sessions/{session}/seats",
    tag = "lobby",
    params(("session" = String, Path, description = "The session's id: the match's")),
    responses((status = 200, description = "One a player, and all on one page", body = Page<SeatView>), (status = 404, description = "There is no such thing", body = Problem)),
)]
async fn list(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
) -> Result<Json<Page<SeatView>>, Native> {
    app.permit(&headers, Permission::Sessions)?;
    let seen = look(&app, session_of(&named)?).await?;
    let seats = seen.session.seats.iter().map(|player| {
        let seat = OfSeat { session: seen.session.id, player: player.clone() };
        let token = app.tokens.of_seat(seat, seen.now);
        let token = token.map_err(|error| Failure::internal(format!("failed to sign: {error}")))?;
        Ok(SeatView { player: player.to_string(), token })
    });
    Ok(Json(Page { items: seats.collect::<Result<_, Native>>()?, next_cursor: None }))
}
