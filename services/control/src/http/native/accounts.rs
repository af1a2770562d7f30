//! `/v1/service-accounts`: who may ask. A secret is told once, and kept as its hash alone.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainstay_fleet::catalog::{CatalogCommand, CredentialDeclaration};
use mainstay_runtime::Growth;
use mainstay_wire::native::{Page, ServiceAccountRequest, ServiceAccountView};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::App;
use super::super::access::{Permission, sha256};
use super::super::failure::{Failure, Native};
use super::paging::{Asked, page};
use super::tokens::random;

/// The random bytes of a secret: 256 bits, so that a plain hash of it is as good as a slow one.
const SECRET_BYTES: usize = 32;

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(revoke))
}

#[utoipa::path(
    post,
    operation_id = "createServiceAccount",
    path = "/v1/service-accounts",
    tag = "access",
    request_body = ServiceAccountRequest,
    responses((status = 201, description = "The account; its secret is told this once", body = ServiceAccountView)),
)]
async fn create(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<ServiceAccountView>), Native> {
    let caller = app.caller(&headers)?;
    let asked: ServiceAccountRequest = super::body(body)?;
    caller.may(Permission::Accounts)?;
    let key_id = super::fresh_id()?.to_string();
    let secret_key = URL_SAFE_NO_PAD.encode(random::<SECRET_BYTES>()?);
    let credential = CredentialDeclaration {
        key: key_id.as_str().into(),
        secret_sha256: sha256(secret_key.as_bytes()),
        role: asked.role.into(),
    };
    let admitted = app.catalog.command(CatalogCommand::Admit(credential.clone()), Growth::Grows).await?;
    admitted.map_err(Failure::from)?;
    app.access.admit(&credential);
    let view = ServiceAccountView { key_id, secret_key: Some(secret_key), role: asked.role };
    Ok((StatusCode::CREATED, Json(view)))
}

#[utoipa::path(
    get,
    operation_id = "listServiceAccounts",
    path = "/v1/service-accounts",
    tag = "access",
    params(Asked),
    responses((status = 200, description = "As asked, without their secrets", body = Page<ServiceAccountView>)),
)]
async fn list(
    State(app): State<Arc<App>>,
    query: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Json<Page<ServiceAccountView>>, Native> {
    app.permit(&headers, Permission::Accounts)?;
    let asked = Asked::read(query)?;
    let after: Option<String> = asked.after()?;
    let limit = asked.limit();
    let views = app.catalog.query(move |catalog, _| {
        let behind = |known: &&CredentialDeclaration| after.as_ref().is_none_or(|after| *known.key > **after);
        let view = |known: &CredentialDeclaration| ServiceAccountView {
            key_id: known.key.to_string(),
            secret_key: None,
            role: known.role.into(),
        };
        catalog.credentials().filter(behind).take(limit + 1).map(view).collect::<Vec<_>>()
    });
    Ok(Json(page(views.await?, limit, |account| account.key_id.clone())))
}

/// Its calls and the tokens bought with it are refused from the answer on.
#[utoipa::path(
    delete,
    operation_id = "revokeServiceAccount",
    path = "/v1/service-accounts/{account}",
    tag = "access",
    params(("account" = String, Path, description = "Its key id")),
    responses((status = 204, description = "It may ask no longer"), (status = 404, description = "There is no such thing", body = Problem), (status = 409, description = "It is the instance's own", body = Problem)),
)]
async fn revoke(
    State(app): State<Arc<App>>,
    Path(key): Path<String>,
    headers: HeaderMap,
) -> Result<StatusCode, Native> {
    app.permit(&headers, Permission::Accounts)?;
    if app.own_accounts.contains(&key) {
        let detail = format!(
            "{key} is the account of this instance's credentials.json, which its next start admits again"
        );
        let fix = "stop the instance, remove credentials.json, and start it: it makes another; then revoke this one";
        return Err(Failure::new(StatusCode::CONFLICT, "MS-A011", detail, fix).into());
    }
    let revoked = app.catalog.command(CatalogCommand::Revoke(key.as_str().into()), Growth::Shrinks).await?;
    revoked.map_err(Failure::from)?;
    app.access.revoke(&key);
    Ok(StatusCode::NO_CONTENT)
}
