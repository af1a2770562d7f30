//! `/v1/players/{player}/objects`: what players have stored, for the studio's own services, and for whoever has an entity token of its own.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use mainstay_matchmaking::Entity;
use mainstay_players::{Becomes, Change};
use mainstay_wire::native::{ObjectsRequest, ObjectsView};
use mainstay_wire::problem::Problem;
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native};
use super::matching::{Asking, player_named};
use crate::objects::values;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(read, change))
}

#[utoipa::path(
    get,
    operation_id = "getObjects",
    path = "/v1/players/{player}/objects",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("player" = String, Path, description = "The player's id, as in a ticket")),
    responses((status = 200, description = "What it has stored; nothing, at version 0, where it never stored anything", body = ObjectsView), (status = 400, description = "That is no player", body = Problem)),
)]
async fn read(
    State(app): State<Arc<App>>,
    Path(player): Path<String>,
    headers: HeaderMap,
) -> Result<Json<ObjectsView>, Native> {
    let asking = Asking::by_account_or_token(&app, &app.caller(&headers)?, Permission::Read)?;
    let entity = player_named(player)?;
    asking.about_objects(&entity)?;
    view(&app, &entity).await
}

/// Stores objects, and removes them; all that are named, or none. Tickets that are made from the answer on are read with them.
#[utoipa::path(
    patch,
    operation_id = "setObjects",
    path = "/v1/players/{player}/objects",
    tag = "matchmaking",
    security(("basic" = []), ("token" = []), ("entity" = [])),
    params(("player" = String, Path, description = "The player's id, as in a ticket")),
    request_body = ObjectsRequest,
    responses((status = 200, description = "What it has stored now, which is durable", body = ObjectsView), (status = 400, description = "That is no player, or its objects are too many or too large", body = Problem), (status = 409, description = "They are at another version", body = Problem), (status = 503, description = "As much is stored as may be", body = Problem)),
)]
async fn change(
    State(app): State<Arc<App>>,
    Path(player): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ObjectsView>, Native> {
    let caller = app.caller(&headers)?;
    let asked: ObjectsRequest = super::body(body)?;
    let asking = Asking::by_account_or_token(&app, &caller, Permission::Match)?;
    let entity = player_named(player)?;
    asking.about_objects(&entity)?;
    let becomes = |value: Value| match value {
        Value::Null => Becomes::Gone,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Becomes::Json(value.to_string().into())
        }
    };
    let objects = asked.objects.into_iter();
    let changes = objects.map(|(name, value)| Change { name: name.into(), becomes: becomes(value) });
    app.objects.set(&entity, changes.collect(), asked.expected_version).await?.map_err(Failure::from)?;
    view(&app, &entity).await
}

async fn view(app: &App, entity: &Entity) -> Result<Json<ObjectsView>, Native> {
    let profile = app.objects.of(entity).await?;
    Ok(Json(ObjectsView::of(entity, profile.version, values(&profile))))
}
