//! Builds, their files and versions (reference 3.10).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::routing::{delete as delete_route, get, post};
use axum::{Json, Router};
use mainstay_core::{BuildId, Timestamp};
use mainstay_fleet::Link;
use mainstay_fleet::catalog::{
    Build, BuildDeclaration, Catalog, CatalogCommand, Declaration, Edit, Entry as CatalogEntry, Release,
};
use mainstay_wire::admin::{
    BuildAnswer, BuildCreate, BuildFile, BuildFileRequest, BuildFiles, BuildInstall, BuildInstallFailure,
    BuildInstallRegion, BuildItem, BuildUpdate, Ccd, Conflict, ConflictType, Container, IMAGE_TO_COME,
    VersionRequest,
};
use mainstay_wire::agent::{Install, InstallStage};
use uuid::Uuid;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::super::files::{FileClaim, Origin, Unstored, signed};
use super::Area as _;
use super::call::{Call, Conflicting, Refused, bad_field, json, no_entry};
use super::configurations::{UNDATED, unplayed};
use super::fleets::{check_name, renamed};
use super::order::{Field, Order};
use crate::declare::{image_given, named};
use crate::store::{Entry, StoreError};

const AREA: &str = "builds";
/// What a page of files has unasked, and the most it has (Unity's command line asks for 100 at once).
const FILES_DEFAULT: usize = 100;
const FILES_MAX: usize = 1_000;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .area(AREA, "/builds", get(list).post(create))
        .area(AREA, "/builds/{build}", get(read).patch(update).delete(delete))
        .area(AREA, "/builds/{build}/versions", post(version))
        .area(AREA, "/builds/{build}/installs", get(installs))
        .area(AREA, "/builds/{build}/files", get(files).put(file))
        .area(AREA, "/builds/{build}/files/{*path}", delete_route(remove_file))
}

/// The bucket that clients which know Unity's content delivery ask for.
fn bucket(build: BuildId) -> Uuid {
    const BUCKETS: Uuid = Uuid::from_u128(0x6d61_696e_7374_6179_8000_6275_636b_6574);
    named(BUCKETS, &build.number().to_string())
}

fn shown(catalog: &Catalog, build: &Build) -> BuildAnswer {
    BuildAnswer::of(build, catalog.build_written(build.id).unwrap_or(UNDATED), bucket(build.id))
}

/// What a list can be ordered by.
const ORDERS: &[Field] = &[
    Field::Number("buildID"),
    Field::Text("buildName"),
    Field::Text("buildType"),
    Field::Text("syncStatus"),
    Field::Text("updated"),
    Field::Number("cfv"),
    Field::Number("buildConfigurations"),
];

async fn list(call: Call) -> Result<Json<Vec<BuildItem>>, Unity> {
    let number = "a number";
    let limit = call.asked_as::<usize>("limit", number)?.unwrap_or(usize::MAX);
    let order = Order::read(&call, ORDERS)?;
    let partial = call.asked("partialFilter").map(str::to_lowercase);
    call.may(Permission::Read)?;
    let items = call.app.catalog.query(move |catalog, _| {
        let right = |build: &&Build| {
            partial.as_ref().is_none_or(|part| build.declared.name.to_lowercase().contains(part))
        };
        let item = |build: &Build| BuildItem {
            build: shown(catalog, build),
            build_configurations: catalog.configurations().filter(|spec| spec.build == build.id).count(),
        };
        catalog.builds().filter(right).map(item).collect::<Vec<_>>()
    });
    Ok(Json(order.page(items.await?, |item| item.build.build_id, limit)))
}

async fn answer(call: &Call, is: impl Fn(&Build) -> bool + Send + 'static) -> Result<BuildAnswer, Unity> {
    let found = call
        .app
        .catalog
        .query(move |catalog, _| catalog.builds().find(|build| is(build)).map(|build| shown(catalog, build)));
    found.await?.ok_or_else(|| no_entry("build"))
}

async fn read(call: Call) -> Result<Json<BuildAnswer>, Unity> {
    call.may(Permission::Read)?;
    let id = call.build()?;
    answer(&call, move |build| build.id == id).await.map(Json)
}

async fn create(call: Call, body: Result<Bytes, BytesRejection>) -> Result<Json<BuildAnswer>, Refused> {
    let asked: BuildCreate = json(body)?;
    check_name(&asked.build_name)?;
    if asked.os_family.as_deref().is_some_and(|family| family != "LINUX") {
        return Err(bad_field("osFamily", "osFamily is LINUX here".to_owned()).into());
    }
    let folder = match (asked.build_type.as_deref(), &asked.container) {
        (None | Some("FILE_UPLOAD"), None) => String::new(),
        (Some("CONTAINER"), Some(container)) if is_uploaded(container) => IMAGE_TO_COME.to_owned(),
        (Some("CONTAINER"), Some(container)) => image(container)?,
        (Some("CONTAINER"), None) => return Err(no_image().into()),
        (None | Some("FILE_UPLOAD"), Some(_)) => {
            return Err(bad_field("container", "an image is of buildType CONTAINER".to_owned()).into());
        }
        (Some(_), _) => {
            let detail = "buildType is FILE_UPLOAD or CONTAINER here: other stores are not fetched from";
            return Err(bad_field("buildType", detail.to_owned()).into());
        }
    };
    call.may(Permission::Configure)?;
    if folder != IMAGE_TO_COME {
        call.may_name(&folder).await?;
    }
    let (by, name) = (call.by(), asked.build_name.clone());
    call.app
        .editor
        .edit::<Refused>(move |catalog| {
            if catalog.builds().any(|build| *build.declared.name == *asked.build_name) {
                let detail = format!("a build of this name exists: {}", asked.build_name);
                return Err(bad_field("buildName", detail).into());
            }
            let declared = BuildDeclaration {
                name: asked.build_name.as_str().into(),
                folder: folder.clone(),
                excluded: Vec::new(),
            };
            let declaration = Arc::new(Declaration { builds: vec![declared], ..Declaration::default() });
            let edit = Edit::of_revision(Arc::clone(&by), catalog.revision().number);
            Ok(CatalogCommand::Declare { declaration, edit })
        })
        .await?;
    Ok(Json(answer(&call, move |build| *build.declared.name == *name).await?))
}

/// The image of a call, by the rules of one in a file. Whether it is there shows when a machine first asks for it.
fn image(container: &Container) -> Result<String, Unity> {
    let found = image_given(&container.image_tag).map_err(|refused| Failure::given(&refused))?;
    found.ok_or_else(|| {
        let detail = "an image on the control plane's disk is named by its absolute path".to_owned();
        bad_field("container.imageTag", detail)
    })
}

/// Whether the image is an archive that is uploaded as the build's one file: named by a bare tag, as stock clients name what
/// they push to Unity's registry.
fn is_uploaded(container: &Container) -> bool {
    !container.image_tag.is_empty() && !container.image_tag.contains([':', '/'])
}

fn no_image() -> Unity {
    let detail = "container.imageTag is missing: docker://REGISTRY/NAME:TAG, oci-archive:/FILE.tar on the control plane's disk, or \
        a bare tag of an archive that is uploaded";
    bad_field("container.imageTag", detail.to_owned())
}

async fn update(call: Call, body: Result<Bytes, BytesRejection>) -> Result<Json<BuildAnswer>, Unity> {
    let asked: BuildUpdate = json(body)?;
    call.may(Permission::Configure)?;
    let id = call.build()?;
    let known = answer(&call, move |build| build.id == id).await?;
    if known.build_name == asked.build_name {
        Ok(Json(known))
    } else {
        Err(bad_field("buildName", renamed(&known.build_name)))
    }
}

/// One that a build configuration starts is not deleted, nor one that somebody plays.
async fn delete(call: Call) -> Result<StatusCode, Refused> {
    call.may(Permission::Configure)?;
    let (by, id) = (call.by(), call.build()?);
    let users = call.app.catalog.query(move |catalog, _| {
        catalog.build(id)?;
        let using = catalog.configurations().filter(|spec| spec.build == id);
        Some(using.map(|spec| (spec.configuration.id.number(), spec.name.to_string())).collect::<Vec<_>>())
    });
    let users = users.await?.ok_or_else(|| no_entry("build"))?;
    if !users.is_empty() {
        let conflict = |(user, name): &(u64, String)| Conflict {
            resource_id: user.to_string(),
            resource_type: "BUILD_CONFIGURATION".to_owned(),
            conflict_type: ConflictType::Dependent,
            reason: format!("build configuration \"{name}\" starts it: delete or change that first"),
        };
        return Err(Conflicting { code: "MS-P025", conflicts: users.iter().map(conflict).collect() }.into());
    }
    unplayed(&call.app, move |spec| spec.build == id).await?;
    if !call.looks_only() {
        let entry = CatalogEntry::Build(id);
        call.app.editor.change(CatalogCommand::Delete { entry, edit: Edit::by(by) }).await?;
        call.app.store(move |store| store.forget(id)).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// A page of the files that the next version will have.
async fn files(call: Call) -> Result<Json<BuildFiles>, Unity> {
    let number = "a number";
    let limit = call.asked_as::<usize>("limit", number)?.unwrap_or(FILES_DEFAULT).min(FILES_MAX);
    let offset = call.asked_as::<usize>("offset", number)?.unwrap_or(0);
    call.may(Permission::Read)?;
    let id = known(&call).await?;
    let entries = call.app.store(move |store| store.list(id)).await?;
    let results = entries.into_iter().skip(offset).take(limit).map(|entry| shown_file(entry, None)).collect();
    Ok(Json(BuildFiles { offset, limit, results }))
}

fn shown_file(entry: Entry, signed_url: Option<String>) -> BuildFile {
    BuildFile {
        path: entry.path,
        uploaded: entry.content.is_some(),
        content_hash: entry.content.map(|content| content.md5).unwrap_or_default(),
        signed_url,
    }
}

/// The build of the path, if there is one.
async fn known(call: &Call) -> Result<BuildId, Unity> {
    let id = call.build()?;
    let there = call.app.catalog.query(move |catalog, _| catalog.build(id).is_some()).await?;
    if there { Ok(id) } else { Err(no_entry("build")) }
}

/// Names a file, and says where its bytes go.
async fn file(
    call: Call,
    origin: Origin,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<BuildFile>, Unity> {
    let asked: BuildFileRequest = json(body)?;
    call.may(Permission::Configure)?;
    let id = known(&call).await?;
    let path = asked.path.clone();
    let named = call.app.store(move |store| store.name(id, &path)).await;
    let entry = named.map_err(|error| {
        let of_path = matches!(&error, Unstored::Store(StoreError::Path(_)));
        let failure = Failure::from(error);
        if of_path { failure.of_field("path") } else { failure }
    })?;
    let had = entry.content.as_ref().map(|content| content.sha256.clone());
    let claim = FileClaim::Upload { build: id.number(), path: asked.path, had };
    let url = signed(&call.app, &call.by(), &origin, claim)?;
    Ok(Json(shown_file(entry, Some(url))))
}

async fn remove_file(call: Call) -> Result<StatusCode, Unity> {
    call.may(Permission::Configure)?;
    let id = known(&call).await?;
    let path = call.path("path").to_owned();
    call.app.store(move |store| store.remove(id, &path)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The files there are become the build's next version; its build configurations follow. Servers change as they do for any
/// new revision: idle ones at once, an allocated one when its session is over; with `forceRollout` those with players too.
async fn version(
    call: Call,
    body: Result<Bytes, BytesRejection>,
) -> Result<(StatusCode, Json<serde_json::Value>), Unity> {
    let asked: VersionRequest = json(body)?;
    call.may(Permission::Configure)?;
    let build = known(&call).await?;
    let of = answer(&call, move |known| known.id == build).await?;
    match (&of.container, &asked.container) {
        (Some(_), Some(container)) if is_uploaded(container) => {
            let archive = uploaded_image(&call, build).await?;
            return new_image(&call, &of, archive, &asked).await;
        }
        (Some(_), Some(container)) => {
            let image = image(container)?;
            call.may_name(&image).await?;
            return new_image(&call, &of, image, &asked).await;
        }
        (Some(_), None) => return Err(no_image()),
        (None, Some(_)) => {
            return Err(bad_field("container", "this build is of uploaded files, not an image".to_owned()));
        }
        (None, None) => {}
    }
    let version = call.app.store(move |store| store.release(build)).await?;
    let files =
        Release { version: 0, manifest: version.manifest, files: version.files, bytes: version.bytes };
    let folder = version.folder.to_string_lossy().into_owned();
    let edit = Edit::by(call.by());
    call.app.editor.change(CatalogCommand::Release { build, files, folder, edit }).await?;
    if asked.force_rollout {
        // A caller who hears nothing of this second half asks again: the same files are the same version.
        call.app.editor.change(CatalogCommand::ForceRollout { build, edit: Edit::by(call.by()) }).await?;
    }
    Ok((StatusCode::ACCEPTED, Json(serde_json::json!({}))))
}

/// The archive that was uploaded as the only file of a build.
async fn uploaded_image(call: &Call, build: BuildId) -> Result<String, Unity> {
    let files = call.app.store(move |store| store.list(build)).await?;
    let [archive] = files.as_slice() else {
        let detail =
            format!("an image is one archive of the OCI layout, and {} files are uploaded", files.len());
        return Err(bad_field("container.imageTag", detail));
    };
    let path = archive.path.clone();
    let version = call.app.store(move |store| store.release(build)).await?;
    Ok(format!("{}{}", IMAGE_TO_COME, version.folder.join(path).display()))
}

/// Another image in the place of a build's: its build configurations follow as they do a version of files.
async fn new_image(
    call: &Call,
    of: &BuildAnswer,
    folder: String,
    asked: &VersionRequest,
) -> Result<(StatusCode, Json<serde_json::Value>), Unity> {
    let build = call.build()?;
    let declared = BuildDeclaration { name: of.build_name.as_str().into(), folder, excluded: Vec::new() };
    let declaration = Arc::new(Declaration { builds: vec![declared], ..Declaration::default() });
    let edit = Edit::by(call.by());
    call.app.editor.change(CatalogCommand::Declare { declaration, edit }).await?;
    if asked.force_rollout {
        call.app.editor.change(CatalogCommand::ForceRollout { build, edit: Edit::by(call.by()) }).await?;
    }
    Ok((StatusCode::ACCEPTED, Json(serde_json::json!({}))))
}

/// How far a build has come in each fleet that runs it: a machine has it once its agent says that it is whole on its disk;
/// one that has the control plane's own disk, once it has been told the fleet's newest specification.
async fn installs(call: Call) -> Result<Json<Vec<BuildInstall>>, Unity> {
    call.may(Permission::Read)?;
    let id = known(&call).await?;
    let mut installs = Vec::new();
    for fleet in call.app.fleets.now().all() {
        if !fleet.spec.configurations.iter().any(|spec| spec.build == id) {
            continue;
        }
        let (spec, installing) = (Arc::clone(&fleet.spec), call.app.installing.clone());
        let regions = fleet.read(move |state, _| {
            let needed: Vec<_> = spec
                .configurations
                .iter()
                .filter(|spec| spec.build == id)
                .map(|spec| spec.configuration)
                .collect();
            let standing = |id, link| match link {
                Link::Silent => Standing::Pending,
                Link::Up { specs_sent, .. } if specs_sent < spec.revision => Standing::Pending,
                Link::Up { .. } => needed
                    .iter()
                    .map(|configuration| Standing::of(installing.of(id, *configuration)))
                    .max()
                    .unwrap_or(Standing::Complete),
            };
            let region = |region: &mainstay_fleet::RegionSpec| {
                let (mut completed_machines, mut pending_machines, mut failures) = (0, 0, Vec::new());
                for (id, machine) in state.machines().filter(|(_, machine)| machine.region == region.id) {
                    match standing(id, machine.link()) {
                        Standing::Complete => completed_machines += 1,
                        Standing::Pending => pending_machines += 1,
                        Standing::Failed { since, reason } => {
                            let updated = mainstay_wire::multiplay::instant(since);
                            failures.push(BuildInstallFailure { machine_id: id.number(), reason, updated });
                        }
                    }
                }
                let region_name = region.name.to_string();
                let failed = u64::try_from(failures.len()).unwrap_or(u64::MAX);
                let told = BuildInstallRegion {
                    region_name,
                    completed_machines,
                    pending_machines,
                    failures: failed,
                };
                (told, failures)
            };
            spec.regions.iter().map(region).collect::<Vec<_>>()
        });
        let (regions, failures): (Vec<_>, Vec<_>) = regions.await?.into_iter().unzip();
        installs.push(BuildInstall {
            ccd: Ccd { bucket_id: bucket(id) },
            fleet_name: fleet.spec.name.to_string(),
            completed_machines: regions.iter().map(|region| region.completed_machines).sum(),
            pending_machines: regions.iter().map(|region| region.pending_machines).sum(),
            failures: failures.into_iter().flatten().collect(),
            regions,
        });
    }
    Ok(Json(installs))
}

/// How a machine stands with a build; the worst of what it says of the build's configurations.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Complete,
    Pending,
    Failed { since: Timestamp, reason: String },
}

impl Standing {
    fn of(install: Option<(Install, Timestamp)>) -> Self {
        match install.map(|(install, since)| (install.stage, since)) {
            None | Some((InstallStage::Complete, _)) => Self::Complete,
            Some((InstallStage::Coming, _)) => Self::Pending,
            Some((InstallStage::Stuck { code, detail }, since)) => {
                Self::Failed { since, reason: format!("{code}: {detail}") }
            }
        }
    }
}
