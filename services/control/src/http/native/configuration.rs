//! `/v1/configuration`: the whole of it as YAML, taken or refused as one.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Query, State};
use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;
use mainstay_config::{Code, Refused, SourceFile, check_files, load, waits_for_the_start};
use mainstay_fleet::catalog::{CatalogRejection, Edit};
use mainstay_wire::native::ConfigurationView;
use mainstay_wire::problem::Problem;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Native, reports};
use crate::declare::declaration;
use crate::lobby::supports;

/// What a text without a name is called in its problems.
const NAMELESS: &str = "configuration";

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(read, apply))
}

#[utoipa::path(
    get,
    operation_id = "getConfiguration",
    path = "/v1/configuration",
    tag = "configuration",
    responses((status = 200, description = "As asked", body = ConfigurationView)),
)]
async fn read(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Json<ConfigurationView>, Native> {
    app.permit(&headers, Permission::Read)?;
    Ok(Json(app.catalog.query(|catalog, _| ConfigurationView::of(catalog)).await?))
}

/// How a configuration is taken.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Asked {
    /// The file's path, against whose folder relative build paths count.
    name: Option<String>,
    /// Say what is wrong with it, and take nothing.
    #[serde(default)]
    #[param(value_type = Option<bool>)]
    dry_run: DryRun,
}

/// Whether a call only looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(super) enum DryRun {
    #[default]
    #[serde(rename = "false", alias = "0")]
    Off,
    #[serde(rename = "true", alias = "1")]
    On,
}

/// Has what the file says: finds or creates by name, changes what differs, deletes nothing.
#[utoipa::path(
    put,
    operation_id = "putConfiguration",
    path = "/v1/configuration",
    tag = "configuration",
    params(Asked, ("If-Match" = Option<String>, Header, description = "The revision the change was made for")),
    request_body(content = String, content_type = "application/yaml", description = "mainstay.yaml"),
    responses((status = 200, description = "It is what the configuration says, and durable", body = ConfigurationView), (status = 400, description = "Every problem at once, in `problems`", body = Problem), (status = 403, description = "Who asks may not, or names a path of the host that no build had before", body = Problem), (status = 409, description = "Queues that it does not set get their servers of what a fleet would lose; each is a problem", body = Problem), (status = 412, description = "Somebody else changed it since", body = Problem)),
)]
async fn apply(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<ConfigurationView>, Native> {
    let caller = app.caller(&headers)?;
    let fix = "see docs/reference/http-api.md";
    let Query(asked) = query.map_err(|error| Failure::bad_request(error.body_text(), fix))?;
    let body = super::bytes(body)?;
    caller.may(Permission::Configure)?;
    let file = SourceFile::new(asked.name.as_deref().unwrap_or(NAMELESS), body.to_vec());
    let (environment, machine, private) = (app.environment, app.machine, Arc::clone(&app.private));
    let queues = app.queues.clone();
    let read = tokio::task::spawn_blocking(move || {
        let accepted = load(&[file]).map_err(|refused| Failure::configuration(&refused))?;
        // Machines elsewhere may have what this one has not, so what is missing here is said and not refused.
        let missing = check_files(&accepted.config, &*private);
        let (private, missing): (Vec<_>, _) =
            missing.into_iter().partition(|problem| problem.code == Code::BuildPathPrivate);
        if !private.is_empty() {
            return Err(Failure::configuration(&Refused { problems: private, left_out: 0 }));
        }
        let later = waits_for_the_start(&accepted.config, |id, to| queues.builds().maps(id, to));
        let warnings: Vec<serde_json::Value> =
            [accepted.warnings, missing, later].iter().flat_map(|told| reports(told)).collect();
        let queues: Vec<_> = accepted.config.queues.values().map(|queue| Arc::clone(&queue.spec)).collect();
        let lobbies = supports(&accepted.config);
        Ok((declaration(&accepted.config, environment, &machine), (queues, lobbies), warnings))
    });
    let read: Result<_, Failure> = read.await.map_err(|panicked| Failure::internal(panicked.to_string()))?;
    let (declaration, (queues, lobbies), warnings) = read?;
    let named = queues.iter().map(|queue| queue.name.to_string());
    let places = declaration.builds.iter().map(|build| build.folder.clone());
    app.may_name(&caller, places.collect()).await?;
    let set: Vec<String> = match asked.dry_run {
        DryRun::Off => named.collect(),
        DryRun::On => Vec::new(),
    };
    let seen = revision(&headers)?;
    app.queues.keep(&declaration, &queues)?;
    if asked.dry_run == DryRun::Off {
        let edit = Edit { by: caller.key().into(), seen };
        app.editor.declare(declaration, edit).await?;
        // Each is a shard of its own, so one may be taken and the next not: sent again, the whole is taken.
        app.queues.set_all(queues).await?;
        if let Some(lobby) = &app.lobby {
            lobby.set_all(lobbies).await?;
        }
    }
    let view = app.catalog.query(|catalog, _| ConfigurationView::of(catalog)).await?;
    if asked.dry_run == DryRun::On
        && let Some(seen) = seen.filter(|seen| *seen != view.revision)
    {
        return Err(Failure::from(CatalogRejection::Outdated { seen, now: view.revision }).into());
    }
    Ok(Json(ConfigurationView { queues: set, warnings, ..view }))
}

/// The revision that a change was made for, where its caller says so.
fn revision(headers: &HeaderMap) -> Result<Option<u64>, Native> {
    let Some(value) = headers.get(IF_MATCH) else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.trim_matches('"').parse().ok());
    let unreadable = || {
        let fix = "send the `revision` of GET /v1/configuration, or leave the header out";
        Failure::bad_request("If-Match is no revision of the configuration".to_owned(), fix)
    };
    number.map(Some).ok_or_else(|| unreadable().into())
}
