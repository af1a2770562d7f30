//! Fleets and their regions (reference 3.4 and 3.9).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use mainstay_config::limits::{ALLOCATION_TTL, MACHINE_TTL, NAME_CHARS_MAX, SERVERS_MAX};
use mainstay_core::slot::Spec;
use mainstay_core::{BuildConfigurationId, FleetNumber, RegionId};
use mainstay_fleet::catalog::{Catalog, CatalogCommand, Declaration, Edit, Entry, FleetDeclaration};
use mainstay_fleet::{
    AllocationTtl, ClaimedBy, FleetSpec, FleetStatus, Growth, Hosting, Link, MachinePolicy, MachineTtl,
    RegionOpening, RegionSpec, UsageSetting,
};
use mainstay_wire::admin::{
    Conflict, ConflictType, FleetAnswer, FleetCreate, FleetItem, FleetRegionAnswer, FleetUpdate,
    MachineTimes, MachineTimesAsked, RegionCreate, RegionTemplate, RegionUpdate, ServerStates, TtlReading,
    UsageItem,
};
use uuid::Uuid;

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::Area as _;
use super::call::{Call, Conflicting, Refused, bad_field, json, no_entry};
use crate::counted::Counted;
use crate::declare::{IDLE, fleet_given, named, presence_id, region_id, usage_given};
use crate::queues::{Need, Needed};
use crate::shards::OpenFleet;

const AREA: &str = "fleets";

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .area(AREA, "/fleets", get(list).post(create))
        .area(AREA, "/fleets/regions", get(templates))
        .area(AREA, "/fleets/{fleet}", get(read).put(update).delete(delete))
        .area(AREA, "/fleets/{fleet}/available-regions", get(available))
        .area(AREA, "/fleets/{fleet}/regions", post(add_region))
        .area(AREA, "/fleets/{fleet}/regions/{region}", put(update_region))
}

async fn list(call: Call) -> Result<Json<Vec<FleetItem>>, Unity> {
    call.may(Permission::Read)?;
    let mut items = Vec::new();
    for fleet in call.app.fleets.now().all() {
        let (counts, status) = fleet.read(|state, _| (Counted::fleet(state), state.status())).await?;
        // Three words for what has seven here: together they are all.
        let states = ServerStates {
            allocated: counts.claimed(),
            available: counts.available,
            avalaible: counts.available,
            online: counts.online + counts.ready + counts.held + counts.unreachable,
        };
        let id = fleet.spec.id;
        items.push(FleetItem::of(&fleet.spec, status, states, counts.total(), |region| {
            presence_id(id, region.id)
        }));
    }
    Ok(Json(items))
}

async fn read(call: Call) -> Result<Json<FleetAnswer>, Unity> {
    call.may(Permission::Read)?;
    let number = call.fleet()?.spec.number;
    answer(&call, number).await.map(Json)
}

/// A fleet as the catalog has it.
async fn answer(call: &Call, number: FleetNumber) -> Result<FleetAnswer, Unity> {
    let statuses = statuses(call, number).await?;
    let answer = call.app.catalog.query(move |catalog, _| {
        let spec = catalog.fleets().find(|spec| spec.number == number)?;
        let names: BTreeMap<u64, String> =
            catalog.builds().map(|build| (build.id.number(), build.declared.name.to_string())).collect();
        let name = |id| names.get(&id).cloned().unwrap_or_default();
        let status = |region: &RegionSpec| statuses.get(&region.id).copied().unwrap_or(FleetStatus::Offline);
        let presence = |region: &RegionSpec| (presence_id(spec.id, region.id), status(region));
        Some(FleetAnswer::of(spec, name, presence, |at| named(spec.id.0, &format!("usage {at}"))))
    });
    answer.await?.ok_or_else(|| no_entry("fleet"))
}

/// How the fleet's regions stand.
async fn statuses(call: &Call, number: FleetNumber) -> Result<BTreeMap<RegionId, FleetStatus>, Unity> {
    let fleet = call.app.fleets.now().number(number).cloned().ok_or_else(|| no_entry("fleet"))?;
    let statuses = fleet.read(|state, _| {
        let regions = state.spec().into_iter().flat_map(|spec| &spec.regions);
        regions.map(|region| (region.id, state.region_status(region.id))).collect()
    });
    Ok(statuses.await?)
}

/// How one region stands.
async fn status(call: &Call, number: FleetNumber, region: RegionId) -> Result<FleetStatus, Unity> {
    Ok(statuses(call, number).await?.get(&region).copied().unwrap_or(FleetStatus::Offline))
}

/// An allocation's time to live as a call names it; what it leaves out stays. 0 seconds are no end.
fn ttl(
    known: AllocationTtl,
    seconds: Option<u64>,
    reading: Option<TtlReading>,
) -> Result<AllocationTtl, Unity> {
    let (had, read) = match known {
        AllocationTtl::Off => (None, TtlReading::Idle),
        AllocationTtl::Idle(ttl) => (Some(ttl), TtlReading::Idle),
        AllocationTtl::Age(ttl) => (Some(ttl), TtlReading::Age),
    };
    let time = match seconds {
        None => had,
        Some(0) => None,
        Some(seconds) => Some(Duration::from_secs(seconds)),
    };
    let Some(time) = time else { return Ok(AllocationTtl::Off) };
    if !ALLOCATION_TTL.holds(time) {
        let (min, max) = (ALLOCATION_TTL.min.as_secs(), ALLOCATION_TTL.max.as_secs());
        let detail = format!("allocationTTL is 0 for never, or {min} to {max} seconds");
        return Err(bad_field("allocationTTL", detail));
    }
    Ok(match reading.unwrap_or(read) {
        TtlReading::Idle => AllocationTtl::Idle(time),
        TtlReading::Age => AllocationTtl::Age(time),
    })
}

/// When machines go, as a call names it; what it leaves out stays. 0 for both is never.
fn machine_ttl(known: MachineTtl, asked: MachineTimesAsked) -> Result<MachineTtl, Unity> {
    let MachineTimesAsked { shutdown, delete, disabled: _ } = asked;
    for (field, seconds) in [("shutdownTTL", shutdown), ("deleteTTL", delete)] {
        if seconds.is_some_and(|it| it > 0 && !MACHINE_TTL.holds(Duration::from_secs(it))) {
            let (min, max) = (MACHINE_TTL.min.as_secs(), MACHINE_TTL.max.as_secs());
            return Err(bad_field(field, format!("{field} is 0 for never, or {min} to {max} seconds")));
        }
    }
    let (wanted, end) = (time(shutdown, known.shutdown()), time(delete, known.delete()));
    match (wanted, end) {
        (None, None) => Ok(MachineTtl::Off),
        (None, Some(delete)) => Ok(MachineTtl::Idle { shutdown: delete, delete }),
        (Some(shutdown), None) if delete.is_none() => {
            Ok(MachineTtl::Idle { shutdown, delete: IDLE.1.max(shutdown) })
        }
        (Some(_), None) => {
            let detail = "a machine whose servers are stopped is given back some time: with a shutdownTTL, deleteTTL is no 0";
            Err(bad_field("deleteTTL", detail.to_owned()))
        }
        (Some(shutdown), Some(delete)) if delete < shutdown => {
            let detail = format!(
                "deleteTTL is {} s, less than shutdownTTL's {} s",
                delete.as_secs(),
                shutdown.as_secs()
            );
            Err(bad_field("deleteTTL", detail))
        }
        (Some(shutdown), Some(delete)) => Ok(MachineTtl::Idle { shutdown, delete }),
    }
}

/// A time in seconds, as a call names it: 0 is never, and what is left out stays.
fn time(asked: Option<u64>, known: Option<Duration>) -> Option<Duration> {
    match asked {
        None => known,
        Some(0) => None,
        Some(seconds) => Some(Duration::from_secs(seconds)),
    }
}

/// The usage settings of a call, by the rules of those in a file.
fn usage(asked: &[UsageItem]) -> Result<Vec<UsageSetting>, Refused> {
    let plain: Vec<_> = asked.iter().map(|item| UsageItem { fleet_usage_id: None, ..item.clone() }).collect();
    let settings = serde_json::to_value(plain).map_err(|error| Failure::internal(error.to_string()))?;
    Ok(usage_given(&settings).map_err(|refused| Failure::given(&refused))?)
}

/// Who takes servers out of the pool of a fleet that is to be.
fn claimed_by(asked: Option<&str>) -> Result<ClaimedBy, Unity> {
    match asked {
        None | Some("ALLOCATION") => Ok(ClaimedBy::Allocations),
        Some("RESERVATION") => Ok(ClaimedBy::Reservations),
        Some(other) => {
            let detail = format!("`{other}` is neither ALLOCATION nor RESERVATION");
            Err(bad_field("allocationType", detail))
        }
    }
}

/// Every server has its stop signal before SIGKILL: one that is to have none has it of its build configuration.
fn check_graceful(asked: Option<bool>) -> Result<(), Unity> {
    match asked {
        None | Some(true) => Ok(()),
        Some(false) => {
            let detail = "graceful is true here: for none, give the build configurations a killTimeout of 0 or the stop signal SIGKILL";
            Err(bad_field("graceful", detail.to_owned()))
        }
    }
}

async fn create(call: Call, body: Result<Bytes, BytesRejection>) -> Result<Json<FleetAnswer>, Refused> {
    let asked: FleetCreate = json(body)?;
    check_name(&asked.name)?;
    if asked.os_family.as_deref().is_some_and(|family| !matches!(family, "LINUX" | "ANY")) {
        return Err(bad_field("osFamily", "osFamily is LINUX here".to_owned()).into());
    }
    check_graceful(asked.graceful)?;
    let allocation_ttl = ttl(AllocationTtl::DEFAULT, asked.allocation_ttl, asked.allocation_ttl_reading)?;
    let claimed_by = claimed_by(asked.allocation_type.as_deref())?;
    call.may(Permission::Configure)?;
    let (by, environment) = (call.by(), call.app.environment);
    let name: Arc<str> = asked.name.as_str().into();
    call.app
        .editor
        .edit::<Refused>(move |catalog| {
            if let Some(known) = catalog.fleets().find(|spec| *spec.name == *asked.name) {
                let reason = format!("a fleet of this name exists: {}", known.name);
                let id = known.id.to_string();
                return Err(Conflicting::one("MS-U112", "FLEET", id, ConflictType::Active, reason).into());
            }
            let regions =
                asked.regions.iter().map(|it| region_of(catalog, it)).collect::<Result<Vec<_>, _>>()?;
            let configurations = names_of(catalog, &asked.build_configurations)?;
            let names: Vec<&str> = regions.iter().map(|region| &*region.name).collect();
            let declared = fleet_given(&asked.name, &names, &configurations, environment)
                .map_err(|refused| Failure::given(&refused))?;
            let machines = declared.hosting.machines;
            let ttl = machine_ttl(machines.ttl, asked.machines)?;
            let usage = usage(asked.usage_settings.as_deref().unwrap_or_default())?;
            let disabled_delete = time(asked.machines.disabled, None);
            let machines = MachinePolicy { ttl, ..machines };
            let hosting =
                Hosting { allocation_ttl, claimed_by, machines, usage, disabled_delete, ..declared.hosting };
            let declared = FleetDeclaration { regions, hosting, ..declared };
            Ok(declare(catalog, &by, alone(declared)))
        })
        .await?;
    let number = call.app.fleets.now().named(&name).map(|fleet| fleet.spec.number);
    Ok(Json(answer(&call, number.ok_or_else(|| no_entry("fleet"))?).await?))
}

async fn update(call: Call, body: Result<Bytes, BytesRejection>) -> Result<Json<FleetAnswer>, Refused> {
    let asked: FleetUpdate = json(body)?;
    check_name(&asked.name)?;
    check_graceful(asked.graceful)?;
    call.may(Permission::Configure)?;
    let number = call.fleet()?.spec.number;
    change(&call, number, move |catalog, spec| {
        if *spec.name != *asked.name {
            return Err(bad_field("name", renamed(&spec.name)).into());
        }
        let configurations = names_of(catalog, &asked.build_configurations)?;
        let known = spec.hosting.allocation_ttl;
        let allocation_ttl = ttl(known, asked.allocation_ttl, asked.allocation_ttl_reading)?;
        let machines = spec.hosting.machines;
        let machine_ttl = machine_ttl(machines.ttl, asked.machines)?;
        let machines = MachinePolicy { ttl: machine_ttl, ..machines };
        let disabled_delete = time(asked.machines.disabled, spec.hosting.disabled_delete);
        let usage = match &asked.usage_settings {
            Some(asked) => usage(asked)?,
            None => spec.hosting.usage.clone(),
        };
        let hosting = Hosting { allocation_ttl, machines, usage, disabled_delete, ..spec.hosting.clone() };
        Ok(FleetDeclaration { configurations, hosting, ..FleetDeclaration::of(spec) })
    })
    .await?;
    Ok(Json(answer(&call, number).await?))
}

/// Whoever goes by names would not find it again.
pub(super) fn renamed(name: &str) -> String {
    format!("a name is an identity here, as in deploy files: \"{name}\" keeps its own; make another instead")
}

async fn add_region(
    call: Call,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<FleetRegionAnswer>, Refused> {
    let asked: RegionCreate = json(body)?;
    call.may(Permission::Configure)?;
    let OpenFleet { spec, .. } = call.fleet()?;
    let (number, fleet) = (spec.number, spec.id);
    let wanted = asked.clone();
    change(&call, number, move |catalog, spec| {
        let region = region_of(catalog, &wanted)?;
        if spec.region(region.id).is_some() {
            return Err(bad_field("regionID", format!("the fleet is in {} already", region.name)).into());
        }
        let mut declared = FleetDeclaration::of(spec);
        declared.regions.push(region);
        Ok(declared)
    })
    .await?;
    let region = call.app.catalog.query(move |catalog, _| region_of(catalog, &asked)).await??;
    let status = status(&call, number, region.id).await?;
    let times = MachineTimes::of(&spec).in_region(&region);
    Ok(Json(FleetRegionAnswer::of(&region, presence_id(fleet, region.id), status, times)))
}

async fn update_region(
    call: Call,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<FleetRegionAnswer>, Refused> {
    let asked: RegionUpdate = json(body)?;
    check_limits(asked.min_available_servers, asked.max_servers)?;
    call.may(Permission::Configure)?;
    let OpenFleet { spec, .. } = call.fleet()?;
    let (number, fleet) = (spec.number, spec.id);
    let named: Uuid = call.path("region").parse().map_err(|_| no_region())?;
    // By the region's id, or by that of the fleet's presence in it.
    let is = move |region: &RegionSpec| region.id.0 == named || presence_id(fleet, region.id) == named;
    change(&call, number, move |_, spec| {
        let mut declared = FleetDeclaration::of(spec);
        let withdrawn = MachineTimes::of(spec).disabled;
        if asked.machines.disabled.is_some_and(|asked| asked != withdrawn) {
            let field = "disabledDeleteTTL";
            let detail =
                format!("machines go by their fleet's {field}, {withdrawn} s: change that of the fleet");
            return Err(bad_field(field, detail).into());
        }
        let fleets = spec.hosting.machines.ttl;
        let region = declared.regions.iter_mut().find(|region| is(region)).ok_or_else(no_region)?;
        // One that has its fleet's times goes by them, also when they change.
        let ttl = machine_ttl(region.ttl.unwrap_or(fleets), asked.machines)?;
        region.ttl = (ttl != fleets).then_some(ttl);
        region.min_available = asked.min_available_servers;
        region.max_servers = asked.max_servers;
        region.opening = if asked.scaling_enabled { RegionOpening::Online } else { RegionOpening::Offline };
        Ok(declared)
    })
    .await?;
    let spec = call.app.fleets.now().number(number).map(|fleet| Arc::clone(&fleet.spec));
    let spec = spec.ok_or_else(|| no_entry("fleet"))?;
    let region = spec.regions.iter().find(|region| is(region)).ok_or_else(no_region)?;
    let status = status(&call, number, region.id).await?;
    let times = MachineTimes::of(&spec).in_region(region);
    Ok(Json(FleetRegionAnswer::of(region, presence_id(fleet, region.id), status, times)))
}

/// Every region that a fleet is in: what a new fleet may name by id.
async fn templates(call: Call) -> Result<Json<Vec<RegionTemplate>>, Unity> {
    call.may(Permission::Read)?;
    Ok(Json(call.app.catalog.query(|catalog, _| all_regions(catalog)).await?))
}

/// Every region that this fleet is not in.
async fn available(call: Call) -> Result<Json<Vec<RegionTemplate>>, Unity> {
    call.may(Permission::Read)?;
    let fleet = call.fleet()?;
    let mut regions = call.app.catalog.query(|catalog, _| all_regions(catalog)).await?;
    regions.retain(|region| fleet.spec.region(region.region_id).is_none());
    Ok(Json(regions))
}

/// A fleet where somebody plays or waits, or whose machines are heard, is not deleted. One that may be is taken offline
/// first, looked at again, and only then forgotten, if nobody has changed it in between.
async fn delete(call: Call) -> Result<StatusCode, Refused> {
    call.may(Permission::Configure)?;
    let fleet = call.fleet()?;
    let number = fleet.spec.number;
    in_use(&fleet).await?;
    call.app.queues.keep_fleet(&fleet).map_err(needed)?;
    if call.looks_only() {
        return Ok(StatusCode::NO_CONTENT);
    }
    let before = FleetDeclaration::of(&fleet.spec);
    change(&call, number, move |_, spec| {
        let mut declared = FleetDeclaration::of(spec);
        declared.regions.iter_mut().for_each(|region| region.opening = RegionOpening::Offline);
        Ok(declared)
    })
    .await?;
    if let Err(conflict) = in_use(&fleet).await {
        change(&call, number, move |_, _| Ok(before.clone())).await?;
        return Err(conflict);
    }
    let by = call.by();
    call.app
        .editor
        .edit::<Refused>(move |catalog| {
            let edit = Edit::of_revision(by.clone(), catalog.revision().number);
            Ok(CatalogCommand::Delete { entry: Entry::Fleet(number), edit })
        })
        .await?;
    call.app.fleets.close(number);
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses with what uses a fleet.
async fn in_use(fleet: &OpenFleet) -> Result<(), Refused> {
    let found = fleet.read(|state, _| {
        let counts = Counted::fleet(state);
        let heard = state.machines().find(|(_, machine)| matches!(machine.link(), Link::Up { .. }));
        (counts.claimed(), state.waiting(), heard.map(|(id, machine)| (id, machine.name.clone())))
    });
    let (claimed, waiting, heard) = found.await?;
    let id = fleet.spec.id.to_string();
    if claimed > 0 || waiting > 0 {
        let reason =
            format!("{claimed} of its servers are allocated or reserved, and {waiting} allocations wait");
        return Err(Conflicting::one("MS-U112", "FLEET", id, ConflictType::Active, reason).into());
    }
    if let Some((machine, name)) = heard {
        let reason = format!("machine {name} runs its servers: stop its agent first");
        let conflict = ConflictType::Dependent;
        return Err(
            Conflicting::one("MS-U112", "MACHINE", machine.number().to_string(), conflict, reason).into()
        );
    }
    Ok(())
}

/// Changes a fleet from what the catalog says of it.
async fn change(
    call: &Call,
    number: FleetNumber,
    compose: impl Fn(&Catalog, &FleetSpec) -> Result<FleetDeclaration, Refused> + Clone + Send + 'static,
) -> Result<(), Refused> {
    let (by, queues) = (call.by(), call.app.queues.clone());
    call.app
        .editor
        .edit::<Refused>(move |catalog| {
            let spec =
                catalog.fleets().find(|spec| spec.number == number).ok_or_else(|| no_entry("fleet"))?;
            let declaration = alone(compose(catalog, spec)?);
            queues.keep(&declaration, []).map_err(needed)?;
            Ok(declare(catalog, &by, declaration))
        })
        .await
}

/// What queues get their servers of stays: each is told.
fn needed(needed: Needed) -> Refused {
    let conflict = |need: &Need| Conflict {
        resource_id: need.queue.to_string(),
        resource_type: "QUEUE".to_owned(),
        conflict_type: ConflictType::Dependent,
        reason: format!("queue {}: set it to another first, or remove it", need.told()),
    };
    Conflicting { code: "MS-M027", conflicts: needed.needs().iter().map(conflict).collect() }.into()
}

fn alone(declared: FleetDeclaration) -> Declaration {
    Declaration { fleets: vec![declared], ..Declaration::default() }
}

fn declare(catalog: &Catalog, by: &Arc<str>, declaration: Declaration) -> CatalogCommand {
    let declaration = Arc::new(declaration);
    let edit = Edit::of_revision(Arc::clone(by), catalog.revision().number);
    CatalogCommand::Declare { declaration, edit }
}

fn all_regions(catalog: &Catalog) -> Vec<RegionTemplate> {
    let regions = catalog.fleets().flat_map(|spec| &spec.regions);
    let named: BTreeMap<RegionId, &RegionSpec> = regions.map(|region| (region.id, region)).collect();
    named.values().map(|it| RegionTemplate { region_id: it.id, name: it.name.to_string() }).collect()
}

fn region_of(catalog: &Catalog, asked: &RegionCreate) -> Result<RegionSpec, Unity> {
    check_limits(asked.min_available_servers, asked.max_servers)?;
    let regions = || catalog.fleets().flat_map(|spec| &spec.regions);
    let known = |region: &RegionSpec| (region.id, region.name.clone(), region.aliases.clone());
    let (id, name, aliases) = match (&asked.region_id, &asked.region_name) {
        (_, Some(name)) => {
            check_name(name)?;
            let called = regions().find(|region| region.is_called(name)).map(known);
            called.unwrap_or_else(|| (region_id(name), name.as_str().into(), Vec::new()))
        }
        (Some(id), None) => regions().find(|region| region.id == *id).map(known).ok_or_else(no_region)?,
        (None, None) => {
            return Err(bad_field(
                "regionID",
                "regionID is missing (or regionName, of a new region)".to_owned(),
            ));
        }
    };
    Ok(RegionSpec {
        id,
        name,
        aliases,
        min_available: asked.min_available_servers,
        max_servers: asked.max_servers,
        opening: RegionOpening::Online,
        growth: Growth::MachinesMayJoin,
        ttl: None,
    })
}

fn names_of(catalog: &Catalog, ids: &[u64]) -> Result<Vec<Arc<str>>, Unity> {
    let name = |id: &u64| {
        let known = BuildConfigurationId::from_number(*id).ok().and_then(|id| catalog.configuration(id));
        let unknown = || bad_field("buildConfigurations", format!("there is no build configuration {id}"));
        known.map(|spec: &Spec| spec.name.clone()).ok_or_else(unknown)
    };
    ids.iter().map(name).collect()
}

fn check_limits(min_available: u32, max_servers: u32) -> Result<(), Unity> {
    if u64::from(min_available.max(max_servers)) > SERVERS_MAX {
        return Err(bad_field("maxServers", format!("a region has at most {SERVERS_MAX} servers")));
    }
    Ok(())
}

/// A name as configuration files may have it.
pub(super) fn check_name(name: &str) -> Result<(), Unity> {
    let chars = name.chars().count();
    if chars == 0 || chars > NAME_CHARS_MAX || name.chars().any(char::is_control) {
        let detail = format!("a name has 1 to {NAME_CHARS_MAX} characters, none of them a control character");
        return Err(bad_field("name", detail));
    }
    Ok(())
}

fn no_region() -> Unity {
    let fix = "list them: GET …/fleets/regions";
    Failure::new(StatusCode::NOT_FOUND, "MS-P002", "there is no such region".to_owned(), fix).into()
}
