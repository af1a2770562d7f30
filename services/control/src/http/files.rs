//! `/v1/files/{token}`: bytes in and out by signed links, which carry their permission for an hour.
//!
//! An upload may come in pieces: `Content-Range: bytes 0-99/250` says which piece, HEAD says by `Upload-Offset` how many
//! bytes have come, and the next piece goes on from there; `bytes */250` is one of no bytes, for a file of which all have come.

use std::convert::Infallible;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequestParts, Path, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HOST};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use mainstay_core::{BuildId, ServerId};
use mainstay_wire::admin::BuildFile;
use mainstay_wire::problem::Problem;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::App;
use super::failure::{Failure, Native, Unity, tell};
use crate::config::SlotBytes;
use crate::doors::Protected;
use crate::far_files::unseen;
use crate::store::{Offset, Progress, Store, StoreError};

/// How long a link works: a large file on a slow line is sent in pieces, each within it.
const LINK_LIFE: Duration = Duration::from_secs(3_600);
/// How many pieces of a body wait for the disk.
const CHUNKS_WAITING_MAX: usize = 16;
/// How much of a file goes out at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// Says how many bytes have come.
const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
/// What a sender may say of the whole file's bytes, in hexadecimal.
const SHA256: HeaderName = HeaderName::from_static("x-content-sha256");
const MD5: HeaderName = HeaderName::from_static("x-content-md5");

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(come, has_come, upload))
        .layer(DefaultBodyLimit::disable())
        .layer(axum::middleware::from_fn(tell))
}

/// What a link is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "file")]
pub(super) enum FileClaim {
    /// The bytes of a file of a build come in.
    Upload {
        build: u64,
        path: String,
        /// SHA-256 of what the file was when the link was made, where it was whole.
        had: Option<String>,
    },
    /// The bytes of a file of a server go out.
    Download { server: u64, path: String },
}

/// A claim, the account that made it, and its end, in seconds since 1970.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Sealed {
    #[serde(flatten)]
    claim: FileClaim,
    by: String,
    pub(crate) exp: u64,
}

/// The address by which a caller knows us: what it named as host, over what protects its connection.
#[derive(Debug, Clone)]
pub(super) struct Origin(String);

impl<S: Sync> FromRequestParts<S> for Origin {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        // Without TLS only loopback is served.
        let scheme = match parts.extensions.get::<Protected>() {
            Some(Protected::Tls) => "https",
            Some(Protected::Loopback) | None => "http",
        };
        let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
        Ok(Self(host.map(|host| format!("{scheme}://{host}")).unwrap_or_default()))
    }
}

/// A link for a claim of an account's, at the address the caller knows us by.
pub(super) fn signed(
    app: &App,
    by: &str,
    Origin(origin): &Origin,
    claim: FileClaim,
) -> Result<String, Unity> {
    let sealed = Sealed { claim, by: by.to_owned(), exp: (app.now() + LINK_LIFE).unix_ms() / 1000 };
    let token = app.tokens.seal(&sealed).map_err(|error| Unity::bug(&error))?;
    Ok(format!("{origin}/v1/files/{token}"))
}

/// Why the store did not do it, for a caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unstored {
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no store.
    #[error("no builds are stored here")]
    NoStore,
    /// It panicked.
    #[error("the store failed: {0}")]
    Bug(String),
}

impl App {
    /// Asks the store, on a thread that may wait for the disk.
    pub(crate) async fn store<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Unstored> {
        let store = self.store.clone().ok_or(Unstored::NoStore)?;
        let asked = tokio::task::spawn_blocking(move || ask(&store)).await;
        Ok(asked.map_err(|panicked| Unstored::Bug(panicked.to_string()))??)
    }
}

impl From<Unstored> for Failure {
    fn from(error: Unstored) -> Self {
        let (status, code, fix) = match &error {
            Unstored::Bug(_) => return Self::internal(error.to_string()),
            Unstored::NoStore => {
                (StatusCode::NOT_FOUND, "MS-U114", "name a folder on the machine as buildPath")
            }
            Unstored::Store(refused) => match refused {
                StoreError::Path(_) | StoreError::FileAndFolder(_) => {
                    (StatusCode::BAD_REQUEST, "MS-U114", "name it otherwise")
                }
                StoreError::TooManyFiles => (StatusCode::BAD_REQUEST, "MS-U114", "pack files together"),
                StoreError::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "MS-U102", "split the file"),
                StoreError::Differs { .. } => (StatusCode::BAD_REQUEST, "MS-U114", "send the file again"),
                StoreError::Incomplete { .. } | StoreError::Empty => {
                    (StatusCode::BAD_REQUEST, "MS-U114", "upload every file first, or delete it")
                }
                StoreError::Unknown(_) => (StatusCode::NOT_FOUND, "MS-U114", "name it first: PUT …/files"),
                StoreError::Elsewhere { .. } => (
                    StatusCode::CONFLICT,
                    "MS-U114",
                    "ask with HEAD how many bytes have come, and go on from there",
                ),
                StoreError::Busy => (StatusCode::CONFLICT, "MS-U114", "wait until the other call has ended"),
                StoreError::NoRoom { .. } | StoreError::Disk(_) => {
                    (StatusCode::SERVICE_UNAVAILABLE, "MS-U115", "make room on the control plane's disk")
                }
            },
        };
        Self::new(status, code, error.to_string(), fix)
    }
}

/// What a token is for, while it and the account last.
fn claim(app: &App, token: &str) -> Result<FileClaim, Native> {
    let sealed = app.tokens.open(token, app.now());
    let sealed = sealed.filter(|sealed: &Sealed| app.access.is_known(&sealed.by));
    sealed.map(|Sealed { claim, .. }| claim).ok_or_else(|| {
        let fix = "ask for a new one, as the one before was asked for";
        let detail = "this link is none of ours, or an hour has passed, or its account is revoked".to_owned();
        Failure::new(StatusCode::FORBIDDEN, "MS-A002", detail, fix).into()
    })
}

/// The file of a link for reading; of one for writing, how many of its bytes have come.
#[utoipa::path(
    get,
    operation_id = "readFile",
    path = "/v1/files/{token}",
    tag = "files",
    params(("token" = String, Path, description = "The link's")),
    security(()),
    responses(
        (status = 200, description = "The file; or, in Upload-Offset, how many bytes have come", content_type = "application/octet-stream"),
        (status = 403, description = "The link is none of ours, its hour is over, or its account is revoked", body = Problem),
        (status = 404, description = "The file is gone", body = Problem),
    ),
)]
async fn come(State(app): State<Arc<App>>, Path(token): Path<String>) -> Result<Response, Native> {
    let (build, path, had) = match claim(&app, &token)? {
        FileClaim::Upload { build, path, had } => (build, path, had),
        FileClaim::Download { server, path } => return download(&app, server, path).await,
    };
    let build = build_id(build)?;
    let come = app.store(move |store| store.come_since(build, &path, had.as_deref())).await?;
    Ok((StatusCode::OK, [(UPLOAD_OFFSET, HeaderValue::from(come))]).into_response())
}

/// How many bytes have come, so that an upload goes on from there.
#[utoipa::path(
    head,
    operation_id = "headFile",
    path = "/v1/files/{token}",
    tag = "files",
    params(("token" = String, Path, description = "The link's")),
    security(()),
    responses(
        (status = 200, description = "Upload-Offset says how many bytes have come"),
        (status = 403, description = "The link is none of ours, its hour is over, or its account is revoked"),
    ),
)]
async fn has_come(state: State<Arc<App>>, token: Path<String>) -> Result<Response, Native> {
    come(state, token).await
}

/// A file of a server, as far as it was written when it was opened.
async fn download(app: &App, server: u64, path: String) -> Result<Response, Native> {
    let server = ServerId::from_number(server).map_err(|error| Failure::internal(error.to_string()))?;
    let logs = Arc::clone(&app.logs);
    let opened = tokio::task::spawn_blocking(move || match logs.open(server, &path)? {
        Some(file) => Ok(Some((file.length, file.bytes))),
        None => Ok(None),
    });
    let opened: std::io::Result<Option<(u64, Box<dyn SlotBytes>)>> =
        opened.await.map_err(|panicked| Failure::internal(panicked.to_string()))?;
    let fix = "list them: GET …/servers/SERVER/logs";
    let failed = |status, detail: String| Failure::new(status, "MS-S608", detail, fix);
    let unread = |error: std::io::Error| match unseen(&error) {
        Some(unseen) => Failure::unseen(unseen),
        None => failed(StatusCode::INTERNAL_SERVER_ERROR, format!("the file could not be read: {error}")),
    };
    let gone = || failed(StatusCode::NOT_FOUND, "the file is gone".to_owned());
    let (length, file) = opened.map_err(unread)?.ok_or_else(gone)?;
    let chunks = futures_util::stream::try_unfold((file, length), |(mut file, left)| async move {
        // On a thread that may wait, for the disk or for the machine that has the file.
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK_BYTES);
            let most = left.min(u64::try_from(CHUNK_BYTES).unwrap_or(u64::MAX));
            (&mut file).take(most).read_to_end(&mut chunk)?;
            Ok::<_, std::io::Error>((chunk, file))
        });
        let (chunk, file) = read.await.map_err(std::io::Error::other)??;
        let left = left.saturating_sub(chunk.len() as u64);
        Ok::<_, std::io::Error>((!chunk.is_empty()).then_some((Bytes::from(chunk), (file, left))))
    });
    let headers =
        [(CONTENT_TYPE, "application/octet-stream".to_owned()), (CONTENT_LENGTH, length.to_string())];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

fn build_id(number: u64) -> Result<BuildId, Native> {
    BuildId::from_number(number).map_err(|error| Failure::internal(error.to_string()).into())
}

/// Takes a piece, or the whole: 200 with the file once it is whole, 202 with `Upload-Offset` before.
#[utoipa::path(
    put,
    operation_id = "writeFile",
    path = "/v1/files/{token}",
    tag = "files",
    params(
        ("token" = String, Path, description = "The link's"),
        ("Content-Range" = Option<String>, Header, description = "bytes FROM-TO/TOTAL, of a piece; bytes */TOTAL where all of them have come"),
        ("X-Content-SHA256" = Option<String>, Header, description = "What the whole file should have, in hexadecimal"),
        ("X-Content-MD5" = Option<String>, Header, description = "What the whole file should have, in hexadecimal"),
    ),
    request_body(content_type = "application/octet-stream"),
    security(()),
    responses(
        (status = 200, description = "The file is whole", body = BuildFile),
        (status = 202, description = "Upload-Offset says how many bytes have come"),
        (status = 400, description = "It is not what it was said to be", body = Problem),
        (status = 403, description = "The link is none of ours, its hour is over, or its account is revoked", body = Problem),
        (status = 409, description = "It goes on from elsewhere, or somebody else sends it", body = Problem),
    ),
)]
async fn upload(
    State(app): State<Arc<App>>,
    Path(token): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Native> {
    let FileClaim::Upload { build, path, had: _ } = claim(&app, &token)? else {
        let fix = "GET it";
        return Err(Failure::new(
            StatusCode::FORBIDDEN,
            "MS-A002",
            "this link is for reading".to_owned(),
            fix,
        )
        .into());
    };
    let build = build_id(build)?;
    let offset = offset(&headers)?;
    let said = |name: &HeaderName| headers.get(name).and_then(|it| it.to_str().ok()).map(str::to_owned);
    let (sha256, md5) = (said(&SHA256), said(&MD5));
    let (sender, mut chunks) = mpsc::channel::<Option<Bytes>>(CHUNKS_WAITING_MAX);
    let store = app.store.clone().ok_or(Unstored::NoStore)?;
    let writing = tokio::task::spawn_blocking(move || {
        let mut upload = store.begin(build, &path, offset)?;
        while let Some(chunk) = chunks.blocking_recv() {
            match chunk {
                Some(bytes) => upload.write(&bytes)?,
                None => return upload.end(sha256.as_deref(), md5.as_deref()).map(Some),
            }
        }
        // The connection broke: what has come stays.
        Ok(None)
    });
    let mut stream = body.into_data_stream();
    let mut last = Some(None);
    while let Some(chunk) = stream.next().await {
        match chunk {
            // A writer that has ended says why below.
            Ok(bytes) => {
                if sender.send(Some(bytes)).await.is_err() {
                    break;
                }
            }
            Err(_broken) => {
                last = None;
                break;
            }
        }
    }
    if let Some(end) = last {
        let _ended = sender.send(end).await;
    }
    drop(sender);
    let written: Result<Option<Progress>, StoreError> =
        writing.await.map_err(|panicked| Failure::internal(panicked.to_string()))?;
    match written.map_err(Unstored::Store)? {
        Some(Progress::Whole(entry)) => {
            let content_hash = entry.content.map(|content| content.md5).unwrap_or_default();
            let file = BuildFile { path: entry.path, content_hash, uploaded: true, signed_url: None };
            Ok(Json(file).into_response())
        }
        Some(Progress::Part(come)) => {
            Ok((StatusCode::ACCEPTED, [(UPLOAD_OFFSET, HeaderValue::from(come))]).into_response())
        }
        None => {
            let detail = "the body broke off; what had come is kept".to_owned();
            Err(Failure::bad_request(detail, "ask with HEAD how many bytes have come, and go on").into())
        }
    }
}

/// `Content-Range: bytes FROM-TO/TOTAL`, or `bytes */TOTAL` where all bytes have come and the file is not whole yet, since the power
/// went in between; without it, the body is the whole file.
fn offset(headers: &HeaderMap) -> Result<Offset, Native> {
    let Some(value) = headers.get(CONTENT_RANGE) else { return Ok(Offset { from: 0, total: None }) };
    let read = || {
        let (range, total) = value.to_str().ok()?.strip_prefix("bytes ")?.split_once('/')?;
        let total = total.parse().ok()?;
        let from = if range == "*" { total } else { range.split_once('-')?.0.parse().ok()? };
        Some(Offset { from, total: Some(total) })
    };
    read().ok_or_else(|| {
        let detail = "Content-Range is not of the form `bytes FROM-TO/TOTAL` or `bytes */TOTAL`".to_owned();
        Failure::bad_request(detail, "send it so, or leave it out and send the whole file").into()
    })
}
