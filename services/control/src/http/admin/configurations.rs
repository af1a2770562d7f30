//! Build configurations (reference 3.3 and 3.9).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use mainstay_config::{CpuLimit, MachineSize, megahertz, millicores};
use mainstay_core::slot::{Limits, Spec};
use mainstay_core::{BuildConfigurationId, BuildId, ServerId, Timestamp};
use mainstay_fleet::Claim;
use mainstay_fleet::catalog::{
    Build, Catalog, CatalogCommand, ConfigurationDeclaration, Declaration, Edit, Entry, Written,
};
use mainstay_wire::admin::{
    BuildConfigurationAnswer, BuildConfigurationItem, BuildConfigurationRequest, ConflictType,
};
use mainstay_wire::multiplay::instant;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::Area as _;
use super::call::{Call, Conflicting, Refused, bad_field, json, no_entry};
use super::fleets::renamed;
use crate::declare::{Given, configuration_given};

const AREA: &str = "build-configurations";
/// What is written of something before times were kept.
pub(super) const UNDATED: Written = Written { created: Timestamp::EPOCH, updated: Timestamp::EPOCH };

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().area(AREA, "/build-configurations", get(list).post(create)).area(
        AREA,
        "/build-configurations/{configuration}",
        get(read).put(update).delete(delete),
    )
}

async fn list(call: Call) -> Result<Json<Vec<BuildConfigurationItem>>, Unity> {
    let fleet: Option<uuid::Uuid> = call.asked_as("fleetId", "a UUID")?;
    let partial = call.asked("partialFilter").map(str::to_lowercase);
    call.may(Permission::Read)?;
    let items = call.app.catalog.query(move |catalog, _| {
        let wanted =
            |spec: &&Spec| partial.as_ref().is_none_or(|part| spec.name.to_lowercase().contains(part));
        let item = |spec: &Spec| item(catalog, spec, fleet);
        catalog.configurations().filter(wanted).filter_map(item).collect::<Vec<_>>()
    });
    Ok(Json(items.await?))
}

/// `None` where a fleet is asked for that has it not.
fn item(catalog: &Catalog, spec: &Spec, asked: Option<uuid::Uuid>) -> Option<BuildConfigurationItem> {
    let id = spec.configuration.id;
    let mut having = catalog.fleets().filter(|fleet| fleet.configuration(id).is_some());
    let fleet = match asked {
        Some(asked) => Some(having.find(|fleet| fleet.id.0 == asked)?),
        None => having.next(),
    };
    let written = catalog.configuration_written(id).unwrap_or(UNDATED);
    Some(BuildConfigurationItem {
        id: id.number(),
        name: spec.name.to_string(),
        build_id: spec.build.number(),
        build_name: build_name(catalog, spec.build),
        fleet_id: fleet.map(|fleet| fleet.id.0),
        fleet_name: fleet.map(|fleet| fleet.name.to_string()),
        version: spec.configuration.revision.into(),
        updated_at: instant(written.updated),
        created_at: instant(written.created),
    })
}

pub(super) fn build_name(catalog: &Catalog, id: BuildId) -> String {
    catalog.build(id).map(|build| build.declared.name.to_string()).unwrap_or_default()
}

async fn read(call: Call) -> Result<Json<BuildConfigurationAnswer>, Unity> {
    call.may(Permission::Read)?;
    let id = call.configuration()?;
    answer(&call, move |spec| spec.configuration.id == id).await.map(Json)
}

async fn answer(
    call: &Call,
    is: impl Fn(&Spec) -> bool + Send + 'static,
) -> Result<BuildConfigurationAnswer, Unity> {
    let machine = call.app.machine;
    let found = call.app.catalog.query(move |catalog, _| {
        let spec = catalog.configurations().find(|spec| is(spec))?;
        let written = catalog.configuration_written(spec.configuration.id).unwrap_or(UNDATED);
        let speed = megahertz(&machine, spec.limits.cpu_millis);
        Some(BuildConfigurationAnswer::of(spec, &build_name(catalog, spec.build), speed, written))
    });
    found.await?.ok_or_else(|| no_entry("build configuration"))
}

async fn create(
    call: Call,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<BuildConfigurationAnswer>, Refused> {
    let asked: BuildConfigurationRequest = json(body)?;
    call.may(Permission::Configure)?;
    let (by, machine, name) = (call.by(), call.app.machine, asked.name.clone());
    call.app
        .editor
        .edit::<Refused>(move |catalog| {
            if let Some(known) = catalog.configurations().find(|spec| *spec.name == *asked.name) {
                let id = known.configuration.id.number().to_string();
                let reason = format!("a build configuration of this name exists: {}", known.name);
                let kind = "BUILD_CONFIGURATION";
                return Err(Conflicting::one("MS-U112", kind, id, ConflictType::Active, reason).into());
            }
            let declared = given(catalog, &asked, variables(&asked).unwrap_or_default(), &machine)?;
            Ok(declare(catalog, &by, limited(declared, &asked, &machine)))
        })
        .await?;
    Ok(Json(answer(&call, move |spec| *spec.name == *name).await?))
}

/// What the call names changes; checks, caps, stop and restart stay as they are.
async fn update(
    call: Call,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<BuildConfigurationAnswer>, Refused> {
    let asked: BuildConfigurationRequest = json(body)?;
    call.may(Permission::Configure)?;
    let (by, machine, id) = (call.by(), call.app.machine, call.configuration()?);
    call.app
        .editor
        .edit::<Refused>(move |catalog| {
            let spec = catalog.configuration(id).ok_or_else(|| no_entry("build configuration"))?;
            if *spec.name != *asked.name {
                return Err(bad_field("name", renamed(&spec.name)).into());
            }
            let known = catalog.build(spec.build).ok_or_else(|| no_entry("build"))?;
            let kept =
                || spec.launch.variables.iter().map(|(name, value)| (name.to_string(), value.to_string()));
            let variables = variables(&asked).unwrap_or_else(|| kept().collect());
            let fresh = given(catalog, &asked, variables, &machine)?;
            let same = |query: &mainstay_core::slot::Query| query.protocol == asked.query_type;
            let query = if spec.query.as_ref().is_some_and(same) { spec.query.clone() } else { fresh.query };
            let declared = ConfigurationDeclaration {
                build: fresh.build,
                binary: fresh.binary,
                command_line: fresh.command_line,
                variables: fresh.variables,
                query,
                ready_signal: if asked.readiness.is_some() { fresh.ready_signal } else { spec.ready_signal },
                ..ConfigurationDeclaration::of(spec, known)
            };
            Ok(declare(catalog, &by, limited(declared, &asked, &machine)))
        })
        .await?;
    Ok(Json(answer(&call, move |spec| spec.configuration.id == id).await?))
}

/// The variables a call states.
fn variables(asked: &BuildConfigurationRequest) -> Option<Vec<(String, String)>> {
    let pairs = asked.configuration.as_ref()?;
    Some(pairs.iter().map(|pair| (pair.key.clone(), pair.value.clone())).collect())
}

fn given(
    catalog: &Catalog,
    asked: &BuildConfigurationRequest,
    variables: Vec<(String, String)>,
    machine: &MachineSize,
) -> Result<ConfigurationDeclaration, Refused> {
    let build: Option<&Build> = BuildId::from_number(asked.build_id).ok().and_then(|id| catalog.build(id));
    let build = build.ok_or_else(|| bad_field("buildID", format!("there is no build {}", asked.build_id)))?;
    let given = Given {
        name: asked.name.clone(),
        build: build.declared.name.to_string(),
        query_type: asked.query_type.clone(),
        binary_path: asked.binary_path.clone(),
        command_line: asked.command_line.clone(),
        readiness: asked.readiness.unwrap_or(false),
        variables,
    };
    Ok(configuration_given(&given, machine).map_err(|refused| Failure::given(&refused))?)
}

/// The limits a call states, by the rule of those in a file; 0 states none.
fn limited(
    declared: ConfigurationDeclaration,
    asked: &BuildConfigurationRequest,
    machine: &MachineSize,
) -> ConfigurationDeclaration {
    let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    let known = declared.limits;
    let limits = Limits {
        cpu_millis: match asked.cores.saturating_mul(asked.speed) {
            0 => known.cpu_millis,
            stated => small(millicores(machine, CpuLimit::Megahertz(stated)).max(1)),
        },
        memory_mib: match asked.memory {
            0 => known.memory_mib,
            mib => small(mib),
        },
    };
    ConfigurationDeclaration { limits, ..declared }
}

fn declare(catalog: &Catalog, by: &Arc<str>, declared: ConfigurationDeclaration) -> CatalogCommand {
    let declaration = Arc::new(Declaration { configurations: vec![declared], ..Declaration::default() });
    let edit = Edit::of_revision(Arc::clone(by), catalog.revision().number);
    CatalogCommand::Declare { declaration, edit }
}

/// One that a fleet has is not deleted, nor one that somebody plays that no fleet has any more.
async fn delete(call: Call) -> Result<StatusCode, Refused> {
    call.may(Permission::Configure)?;
    let (by, id) = (call.by(), call.configuration()?);
    let fleets = call.app.catalog.query(move |catalog, _| users(catalog, id)).await??;
    if let Some((fleet, name)) = fleets.first() {
        let reason = format!("fleet \"{name}\" has it: take it out of the fleet first");
        let kind = ConflictType::Dependent;
        return Err(Conflicting::one("MS-P025", "FLEET", fleet.clone(), kind, reason).into());
    }
    unplayed(&call.app, move |spec| spec.configuration.id == id).await?;
    if !call.looks_only() {
        call.app
            .editor
            .change(CatalogCommand::Delete { entry: Entry::Configuration(id), edit: Edit::by(by) })
            .await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses where a server that somebody has is to run a specification that `is` what is asked about, whatever its fleet has by
/// now. What no fleet has is given to no further session, so that a look is enough.
pub(super) async fn unplayed(
    app: &App,
    is: impl Fn(&Spec) -> bool + Clone + Send + 'static,
) -> Result<(), Refused> {
    for fleet in app.fleets.now().all() {
        let is = is.clone();
        let played: Option<ServerId> = fleet
            .read(move |state, _| {
                let mut taken = state.servers(None).filter(|(_, server)| server.claim != Claim::Free);
                let found =
                    taken.find(|(_, server)| state.configuration(server.configuration).is_some_and(&is));
                found.map(|(id, _)| id)
            })
            .await?;
        if let Some(server) = played {
            let reason = format!("server {server} plays it: wait for its session's end, or end it");
            let id = server.number().to_string();
            return Err(Conflicting::one("MS-P025", "SERVER", id, ConflictType::Active, reason).into());
        }
    }
    Ok(())
}

fn users(catalog: &Catalog, id: BuildConfigurationId) -> Result<Vec<(String, String)>, Unity> {
    catalog.configuration(id).ok_or_else(|| no_entry("build configuration"))?;
    let having = catalog.fleets().filter(|fleet| fleet.configuration(id).is_some());
    Ok(having.map(|fleet| (fleet.id.to_string(), fleet.name.to_string())).collect())
}
