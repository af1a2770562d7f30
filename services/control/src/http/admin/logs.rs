//! Log files, their search, and the other files of servers (reference 3.11): of every server whose machine is heard.

use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::sync::Arc;
use std::time::SystemTime;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp as Instant;
use mainstay_core::{FleetId, ServerId};
use mainstay_wire::admin::{
    DownloadRequest, FileItem, FileLocation, FileOwner, Link, LogFile, LogFilters, LogFleet, LogHit,
    LogMetadata, LogSearch, LogSearchAnswer, LogSource, LogStatus, LogStatusRequest, LogUsage,
};
use serde::{Deserialize, Serialize};

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::super::files::{FileClaim, Origin, signed};
use super::Area as _;
use super::call::{Call, bad_field, json};
use crate::config::{LogTail, OpenFile};
use crate::far_files::unseen;
use crate::shards::OpenFleet;
use crate::slot_files::SlotFile;
use crate::streams::Unseen;

const LOGS: &str = "logs";
const SERVERS: &str = "servers";
const FILES: &str = "files";

/// "limit default and max 600" (reference 3.11).
const FILES_LISTED_MAX: usize = 600;
/// The most lines one search finds, and what it finds unasked.
const HITS_MAX: usize = 1_000;
const HITS_DEFAULT: usize = 100;
/// How much one search reads before it answers with what it has and a token to go on from: about a second.
const SEARCH_BYTES_MAX: u64 = 64 << 20;
/// The longest line told; the rest of it is cut.
const LINE_BYTES_MAX: usize = 16 << 10;
/// How many servers are asked for their files at once: so machines far away are waited for together, and four such calls leave
/// nobody's question without a place ([`crate::streams::Looking`] has 64).
const ASKED_AT_ONCE_MAX: usize = 16;
/// How many servers one search looks at before it answers with what it has and a token to go on from.
const SERVERS_MAX: usize = 1_000;
/// How much of a file a preview shows: its end.
const PREVIEW_LINES: usize = 200;
const PREVIEW_BYTES_MAX: u64 = 256 << 10;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .area(LOGS, "/logs/search", post(search))
        .area(LOGS, "/logs/status", get(status).post(set_status))
        .area(LOGS, "/logs/usage", get(usage))
        .area(LOGS, "/logs/downloadlink", post(download_link))
        .area(LOGS, "/logs/fleets", get(fleets))
        .area(LOGS, "/logs/servers", get(servers))
        .area(LOGS, "/logs/fleets/{fleet}/servers", get(fleet_servers))
        .area(LOGS, "/logs/fleets/{fleet}/servers/{server}/files", get(server_sources))
        .area(SERVERS, "/servers/{server}/logs", get(server_logs))
        .area(SERVERS, "/servers/{server}/logs/link", get(server_link))
        .area(SERVERS, "/servers/{server}/logs/preview", get(server_preview))
        .area(FILES, "/files", get(files).post(files_by_body))
        .area(FILES, "/files/download", post(download_link))
}

/// A server, with what its files are told with.
#[derive(Debug, Clone)]
struct Of {
    server: ServerId,
    machine: u64,
    region: String,
    fleet: FleetId,
    fleet_name: String,
}

/// Servers of every fleet that are wanted, in the order of their ids, and no more than these.
async fn servers_where(
    app: &App,
    wanted: impl Fn(FleetId, ServerId) -> bool + Clone + Send + 'static,
    max: usize,
) -> Result<Vec<Of>, Unity> {
    let mut all = Vec::new();
    for fleet in app.fleets.now().all() {
        let (id, wanted) = (fleet.spec.id, wanted.clone());
        all.extend(servers_of(fleet, move |server| wanted(id, server), max - all.len()).await?);
    }
    Ok(all)
}

async fn servers_of(
    fleet: &OpenFleet,
    wanted: impl Fn(ServerId) -> bool + Send + 'static,
    max: usize,
) -> Result<Vec<Of>, Unity> {
    let spec = Arc::clone(&fleet.spec);
    let found = fleet.read(move |state, _| {
        let of = |(server, known): (ServerId, &mainstay_fleet::Server)| {
            let region = state.machine(known.machine).and_then(|machine| spec.region(machine.region));
            Of {
                server,
                machine: known.machine.number(),
                region: region.map(|region| region.name.to_string()).unwrap_or_default(),
                fleet: spec.id,
                fleet_name: spec.name.to_string(),
            }
        };
        state.servers(None).filter(|(server, _)| wanted(*server)).take(max).map(of).collect::<Vec<_>>()
    });
    Ok(found.await?)
}

/// Asks for files, on a thread that may wait for the disk.
async fn on_disk<T: Send + 'static>(
    app: &App,
    ask: impl FnOnce(&dyn LogTail) -> std::io::Result<T> + Send + 'static,
) -> Result<T, Unity> {
    let logs = Arc::clone(&app.logs);
    let asked = tokio::task::spawn_blocking(move || ask(&*logs)).await;
    let asked = asked.map_err(|panicked| Failure::internal(panicked.to_string()))?;
    asked.map_err(|error| {
        if let Some(unseen) = unseen(&error) {
            return Failure::unseen(unseen).into();
        }
        let detail = format!("a server's files could not be read: {error}");
        let fix = "look whether the agent's data directory can be read";
        Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "MS-S608", detail, fix).into()
    })
}

/// The files of servers, in the order of these, [`ASKED_AT_ONCE_MAX`] asked at a time; those whose machines are not heard are left out.
fn files_of(app: &App, all: Vec<Of>) -> impl Stream<Item = Result<(Of, Vec<SlotFile>), Unity>> + Unpin {
    let asked = all.into_iter().map(move |of| async move {
        let server = of.server;
        let files = on_disk(app, move |logs| heard(logs.files(server))).await?;
        Ok((of, files.unwrap_or_default()))
    });
    Box::pin(stream::iter(asked).buffered(ASKED_AT_ONCE_MAX))
}

/// To the millisecond, as every other time: some clients read no finer ones.
fn at(time: SystemTime) -> Instant {
    let ms =
        time.duration_since(SystemTime::UNIX_EPOCH).ok().and_then(|it| i64::try_from(it.as_millis()).ok());
    ms.and_then(|ms| Instant::from_millisecond(ms).ok()).unwrap_or(Instant::UNIX_EPOCH)
}

fn no_file(server: &str) -> Unity {
    let detail = format!(
        "server {server} has no such file: it never had, or it was deleted for its machine's disk budget"
    );
    let fix = "list those it has: GET …/servers/SERVER/logs";
    Failure::new(StatusCode::NOT_FOUND, "MS-S608", detail, fix).into()
}

/// The server of the path, if it is there.
async fn known(call: &Call) -> Result<ServerId, Unity> {
    let (id, fleet) = call.server()?;
    if fleet.read(move |state, _| state.server(id).is_some()).await? {
        Ok(id)
    } else {
        Err(Failure::no_server(call.path("server")).into())
    }
}

async fn server_files(call: &Call) -> Result<(ServerId, Vec<SlotFile>), Unity> {
    let id = known(call).await?;
    let files = on_disk(&call.app, move |logs| logs.files(id)).await?;
    // One that never started has none.
    Ok((id, files.unwrap_or_default()))
}

async fn server_logs(call: Call, origin: Origin) -> Result<Json<Vec<LogFile>>, Unity> {
    call.may(Permission::Operate)?;
    let (id, files) = server_files(&call).await?;
    let file = |file: SlotFile| {
        let claim = FileClaim::Download { server: id.number(), path: file.path.clone() };
        Ok(LogFile {
            download_url: Some(signed(&call.app, &call.by(), &origin, claim)?),
            file: file.path,
            size: file.size,
            last_modified: at(file.modified),
        })
    };
    Ok(Json(files.into_iter().map(file).collect::<Result<Vec<_>, Unity>>()?))
}

async fn server_sources(call: Call) -> Result<Json<Vec<LogSource>>, Unity> {
    call.may(Permission::Operate)?;
    let _fleet = call.fleet()?;
    let (_, files) = server_files(&call).await?;
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let sources = files.into_iter().filter(is_log);
    Ok(Json(sources.map(|file| LogSource { name: name(&file.path), source: file.path }).collect()))
}

/// What is searched: what servers write, not what is kept of their ends.
fn is_log(file: &SlotFile) -> bool {
    !file.path.starts_with("evidence/")
}

async fn link_to(call: &Call, origin: &Origin, id: ServerId, path: String) -> Result<Json<Link>, Unity> {
    let wanted = path.clone();
    let there = on_disk(&call.app, move |logs| logs.open(id, &wanted)).await?;
    there.ok_or_else(|| no_file(&id.to_string()))?;
    let claim = FileClaim::Download { server: id.number(), path };
    Ok(Json(Link { url: signed(&call.app, &call.by(), origin, claim)? }))
}

fn asked_file(call: &Call) -> Result<String, Unity> {
    let file = call.asked("file").ok_or_else(|| Unity::bad_query("`file` is missing"))?;
    Ok(file.to_owned())
}

async fn server_link(call: Call, origin: Origin) -> Result<Json<Link>, Unity> {
    let file = asked_file(&call)?;
    call.may(Permission::Operate)?;
    let id = known(&call).await?;
    link_to(&call, &origin, id, file).await
}

/// The last lines of a file, as a text.
async fn server_preview(call: Call) -> Result<Json<String>, Unity> {
    let file = asked_file(&call)?;
    call.may(Permission::Operate)?;
    let id = known(&call).await?;
    let text = on_disk(&call.app, move |logs| {
        let Some(OpenFile { length, bytes: mut file }) = logs.open(id, &file)? else { return Ok(None) };
        file.seek(SeekFrom::Start(length.saturating_sub(PREVIEW_BYTES_MAX)))?;
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::Read::take(file, PREVIEW_BYTES_MAX), &mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        Ok(Some(lines[lines.len().saturating_sub(PREVIEW_LINES)..].join("\n")))
    });
    text.await?.map(Json).ok_or_else(|| no_file(call.path("server")))
}

/// A link to a file, of a server named beside it.
async fn download_link(
    call: Call,
    origin: Origin,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Link>, Unity> {
    let asked: DownloadRequest = json(body)?;
    // A source of the search names its server itself: SERVER/PATH.
    let (server, path) = match (asked.server_id, asked.path.split_once('/')) {
        (Some(server), _) => (server.to_string(), asked.path.clone()),
        (None, Some((server, path))) => (server.to_owned(), path.to_owned()),
        (None, None) => return Err(bad_field("serverId", "serverId is missing".to_owned())),
    };
    call.may(Permission::Operate)?;
    let id: ServerId = server.parse().map_err(|_| Failure::no_server(&server))?;
    let fleet = call.app.fleets.now().number(id.fleet()).cloned();
    let there = match fleet {
        Some(fleet) => fleet.read(move |state, _| state.server(id).is_some()).await?,
        None => false,
    };
    if !there {
        return Err(Failure::no_server(&server).into());
    }
    link_to(&call, &origin, id, path).await
}

async fn fleets(call: Call) -> Result<Json<Vec<LogFleet>>, Unity> {
    call.may(Permission::Operate)?;
    let fleets = call.app.fleets.now();
    let of =
        |open: &OpenFleet| LogFleet { id: open.spec.id, name: open.spec.name.to_string(), deleted: false };
    Ok(Json(fleets.all().map(of).collect()))
}

async fn servers(call: Call) -> Result<Json<Vec<String>>, Unity> {
    call.may(Permission::Operate)?;
    let all = servers_where(&call.app, |_, _| true, usize::MAX).await?;
    Ok(Json(all.into_iter().map(|of| of.server.number().to_string()).collect()))
}

async fn fleet_servers(call: Call) -> Result<Json<Vec<String>>, Unity> {
    call.may(Permission::Operate)?;
    let all = servers_of(&call.fleet()?, |_| true, usize::MAX).await?;
    Ok(Json(all.into_iter().map(|of| of.server.number().to_string()).collect()))
}

async fn status(call: Call) -> Result<Json<LogStatus>, Unity> {
    call.may(Permission::Read)?;
    Ok(Json(LogStatus { status: "ENABLED".to_owned() }))
}

/// Output is always kept, within its rotation.
async fn set_status(call: Call, body: Result<Bytes, BytesRejection>) -> Result<Json<LogStatus>, Unity> {
    let asked: LogStatusRequest = json(body)?;
    let always = "output is always kept here, within its rotation".to_owned();
    match (asked.enabled, asked.status.as_deref()) {
        (None | Some(true), None | Some("ENABLED")) => {}
        (Some(false), _) => return Err(bad_field("enabled", always)),
        (None | Some(true), Some(_)) => return Err(bad_field("status", always)),
    }
    call.may(Permission::Configure)?;
    Ok(Json(LogStatus { status: "ENABLED".to_owned() }))
}

async fn usage(call: Call) -> Result<Json<LogUsage>, Unity> {
    call.may(Permission::Read)?;
    let all = servers_where(&call.app, |_, _| true, usize::MAX).await?;
    let of_files =
        |files: Vec<SlotFile>| files.iter().filter(|file| is_log(file)).map(|file| file.size).sum();
    let usages = files_of(&call.app, all).map_ok(|(_, files)| of_files(files));
    let usage = usages.try_fold(0_u64, async |all, one: u64| Ok(all + one)).await?;
    let remaining = on_disk(&call.app, |logs| logs.free()).await?;
    // Bytes below 2^53 are exact.
    #[expect(clippy::cast_precision_loss, reason = "a disk of more than 8 PB may lose a byte")]
    let number = |bytes: u64| bytes as f64;
    let (usage, remaining) = (number(usage), number(remaining));
    Ok(Json(LogUsage { usage, capacity: usage + remaining, remaining }))
}

/// What a list of files is asked for; the same by query and by body.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct FilesAsked {
    limit: Option<usize>,
    path_filter: Option<String>,
    modified_from: Option<Instant>,
    modified_to: Option<Instant>,
    #[serde(default)]
    server_ids: Vec<u64>,
}

async fn files(call: Call, body: Result<Bytes, BytesRejection>) -> Result<Json<Vec<FileItem>>, Unity> {
    // The command line of Unity sends a body with its GET.
    let by_body: FilesAsked = json(body)?;
    let time = "a time such as 2026-11-20T12:00:00Z";
    let asked_servers: Result<Vec<u64>, Unity> = call
        .every("serverIds")
        .map(|id| id.parse().map_err(|_| Unity::bad_query(&format!("`{id}` is no id of a server"))))
        .collect();
    let mut server_ids = asked_servers?;
    server_ids.extend(by_body.server_ids);
    let asked = FilesAsked {
        limit: call.asked_as("limit", "a number")?.or(by_body.limit),
        path_filter: call
            .asked("path")
            .or(call.asked("pathFilter"))
            .map(str::to_owned)
            .or(by_body.path_filter),
        modified_from: call.asked_as("modifiedFrom", time)?.or(by_body.modified_from),
        modified_to: call.asked_as("modifiedTo", time)?.or(by_body.modified_to),
        server_ids,
    };
    listed(call, asked).await
}

async fn files_by_body(
    call: Call,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<Vec<FileItem>>, Unity> {
    let asked = json(body)?;
    listed(call, asked).await
}

/// Cores among them.
async fn listed(call: Call, asked: FilesAsked) -> Result<Json<Vec<FileItem>>, Unity> {
    call.may(Permission::Operate)?;
    let named = asked.server_ids.clone();
    let wanted = move |_, server: ServerId| named.is_empty() || named.contains(&server.number());
    // The list is complete up to its limit: it has no token to go on from.
    let all = servers_where(&call.app, wanted, usize::MAX).await?;
    let limit = asked.limit.unwrap_or(FILES_LISTED_MAX).min(FILES_LISTED_MAX);
    let right = |file: &SlotFile| {
        let modified = at(file.modified);
        asked.path_filter.as_ref().is_none_or(|part| file.path.contains(part.as_str()))
            && asked.modified_from.is_none_or(|from| modified >= from)
            && asked.modified_to.is_none_or(|to| modified <= to)
    };
    let mut items = Vec::new();
    let mut found = files_of(&call.app, all);
    while items.len() < limit
        && let Some((of, files)) = found.try_next().await?
    {
        let files = files.into_iter().filter(right);
        items.extend(files.take(limit - items.len()).map(|file| item(&of, file)));
    }
    Ok(Json(items))
}

fn item(of: &Of, file: SlotFile) -> FileItem {
    FileItem {
        filename: file.path.rsplit('/').next().unwrap_or_default().to_owned(),
        path: file.path,
        file_size: file.size,
        created_at: at(file.modified),
        last_modified: at(file.modified),
        fleet: FileOwner { id: of.fleet, name: of.fleet_name.clone() },
        machine: FileLocation { id: of.machine, location: of.region.clone() },
        server_id: of.server.number(),
    }
}

/// Where a search goes on.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    search: LogSearch,
    server: u64,
    file: String,
    byte: u64,
}

async fn search(call: Call, body: Result<Bytes, BytesRejection>) -> Result<Json<LogSearchAnswer>, Unity> {
    let asked: LogSearch = json(body)?;
    let place: Option<Place> = match asked.pagination_token.as_deref().filter(|token| !token.is_empty()) {
        None => None,
        Some(token) => {
            let bad = || bad_field("paginationToken", "paginationToken is none of ours".to_owned());
            let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| bad())?;
            Some(serde_json::from_slice(&bytes).map_err(|_| bad())?)
        }
    };
    let asked = place.as_ref().map_or(asked, |place| place.search.clone());
    call.may(Permission::Operate)?;
    let (filters, from) = (asked.filters.clone(), place.as_ref().map_or(0, |place| place.server));
    let wanted = move |fleet: FleetId, server: ServerId| {
        let named = |id: &String| server.number().to_string() == *id || server.to_string() == *id;
        server.number() >= from
            && filters.fleet_id.is_none_or(|id| id == fleet)
            && filters.server_id.as_ref().is_none_or(named)
    };
    // One more than is looked at: where the next search goes on.
    let mut all = servers_where(&call.app, wanted, SERVERS_MAX + 1).await?;
    let next = (all.len() > SERVERS_MAX).then(|| all.pop()).flatten();
    let next = next.map(|of| Place {
        search: asked.clone(),
        server: of.server.number(),
        file: String::new(),
        byte: 0,
    });
    Ok(Json(on_disk(&call.app, move |logs| find(logs, &all, asked, (place, next))).await?))
}

fn find(
    logs: &dyn LogTail,
    all: &[Of],
    asked: LogSearch,
    (place, next): (Option<Place>, Option<Place>),
) -> std::io::Result<LogSearchAnswer> {
    let token = |place: &Place| Ok::<_, std::io::Error>(URL_SAFE_NO_PAD.encode(serde_json::to_vec(place)?));
    let size = if asked.size == 0 { HITS_DEFAULT } else { asked.size.min(HITS_MAX) };
    let words: Vec<String> = asked.query.split_whitespace().map(str::to_lowercase).collect();
    let (mut hits, mut read) = (Vec::new(), 0_u64);
    for of in all {
        let server = of.server.number();
        let resumed = place.as_ref().filter(|place| place.server == server);
        for file in heard(logs.files(of.server))?.unwrap_or_default() {
            let behind = resumed.is_some_and(|place| file.path < place.file);
            if behind || !is_log(&file) || !within(&asked.filters, &file) {
                continue;
            }
            let from = resumed.filter(|place| place.file == file.path).map_or(0, |place| place.byte);
            let Some(OpenFile { bytes: mut opened, .. }) = heard(logs.open(of.server, &file.path))? else {
                continue;
            };
            opened.seek(SeekFrom::Start(from))?;
            let (mut lines, mut byte) = (BufReader::new(opened), from);
            loop {
                if hits.len() == size || read >= SEARCH_BYTES_MAX {
                    let place = Place { search: asked, server, file: file.path, byte };
                    let pagination_token = token(&place)?;
                    return Ok(LogSearchAnswer { count: hits.len(), hits, pagination_token });
                }
                let mut line = Vec::new();
                let length =
                    std::io::Read::take(&mut lines, SEARCH_BYTES_MAX).read_until(b'\n', &mut line)?;
                if length == 0 {
                    break;
                }
                read += length as u64;
                let text = String::from_utf8_lossy(line.get(..LINE_BYTES_MAX).unwrap_or(&line));
                let text = text.trim_end();
                let lower = text.to_lowercase();
                if words.iter().all(|word| lower.contains(word.as_str())) {
                    hits.push(hit(of, &file, byte, text));
                }
                byte += length as u64;
            }
        }
    }
    let pagination_token = next.as_ref().map(token).transpose()?.unwrap_or_default();
    Ok(LogSearchAnswer { count: hits.len(), hits, pagination_token })
}

/// Of many servers, those whose machines are not heard are left out. Not those that nobody was asked about, since too much is
/// asked at once: what is there would seem to be all.
fn heard<T>(found: std::io::Result<Option<T>>) -> std::io::Result<Option<T>> {
    let left_out = |error| match unseen(error) {
        Some(Unseen::Unheard | Unseen::TooOld | Unseen::Silent | Unseen::Failed(_)) => true,
        Some(Unseen::Busy) | None => false,
    };
    match found {
        Err(error) if left_out(&error) => Ok(None),
        found => found,
    }
}

/// Lines have no times of their own: a file that was last written before `from` has none that is wanted, and one that was
/// written after `to` may have some from before it, so that `to` leaves nothing out.
fn within(filters: &LogFilters, file: &SlotFile) -> bool {
    filters.source.as_ref().is_none_or(|source| source.is_empty() || file.path == *source)
        && filters.from.is_none_or(|from| at(file.modified) >= from)
}

fn hit(of: &Of, file: &SlotFile, byte: u64, message: &str) -> LogHit {
    LogHit {
        message: message.to_owned(),
        metadata: LogMetadata {
            fleet_id: of.fleet,
            message_id: format!("{}/{}/{byte}", of.server.number(), file.path),
            server_id: of.server.number().to_string(),
            source: file.path.clone(),
            timestamp: at(file.modified),
        },
    }
}
