//! Servers: what they are, and what an operator does to them (reference 3.8 and 3.9).

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::routing::get;
use axum::{Json, Router};
use mainstay_config::{MachineSize, megahertz};
use mainstay_core::{BuildConfigurationId, RegionId, ServerId};
use mainstay_fleet::{Addresses, Command, Fleet, FleetSpec, NoStatus, Server, ServerStatus};
use mainstay_wire::admin::{ActionRequest, ActionSuccess, Location, MachineSpec, ServerItem};

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::Area as _;
use super::call::{Call, bad_field, json};
use super::history;
use super::order::{Field, Order, Part};
use crate::shards::OpenFleet;

const AREA: &str = "servers";
/// What a list can be narrowed to.
const SERVER_STATUSES: &str = "ALLOCATED, RESERVED, AVAILABLE, ONLINE, READY or HELD";
/// What a list has unasked, and the most it has.
const LIST_DEFAULT: usize = 100;
const LIST_MAX: usize = 1_000;
/// Servers that are put in another order than that of their ids: more take too long while others wait.
const ORDERED_MAX: usize = 10_000;
const ID: Field = Field::Number("id");
/// What a list can be ordered by.
const ORDERS: &[Field] = &[
    ID,
    Field::Text("machineName"),
    Field::Text("buildConfigurationName"),
    Field::Text("buildName"),
    Field::Text("fleetName"),
    Field::Text("locationName"),
    Field::Text("ip"),
    Field::Number("port"),
    Field::Text("status"),
];

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .area(AREA, "/servers", get(list))
        .area(AREA, "/servers/locations", get(locations))
        .area(AREA, "/servers/{server}", get(read))
        .area(AREA, "/servers/{server}/actions", get(history::actions).post(act))
}

/// A status that Multiplay has.
struct Known(ServerStatus);

impl std::str::FromStr for Known {
    type Err = NoStatus;

    fn from_str(word: &str) -> Result<Self, NoStatus> {
        let status: ServerStatus = word.parse()?;
        if status == status.multiplay() { Ok(Self(status)) } else { Err(NoStatus) }
    }
}

/// What a list is narrowed to.
#[derive(Debug, Clone)]
struct Wanted {
    fleet: Option<uuid::Uuid>,
    machine: Option<u64>,
    region: Option<u64>,
    configuration: Option<u64>,
    partial: Option<String>,
    status: Option<ServerStatus>,
    metal: bool,
    order: Order,
    limit: usize,
}

impl Wanted {
    fn read(call: &Call) -> Result<Self, Unity> {
        let number = "a number";
        Ok(Self {
            fleet: call.asked_as("fleetId", "a UUID")?,
            machine: call.asked_as("machineId", number)?,
            region: call.asked_as("locationId", number)?,
            configuration: call.asked_as("buildConfigurationId", number)?,
            partial: call.asked("partial").map(str::to_lowercase),
            status: call.asked_as::<Known>("status", SERVER_STATUSES)?.map(|known| known.0),
            metal: call.asks_for_metal()?,
            order: Order::read(call, ORDERS)?,
            limit: call.asked_as::<usize>("limit", number)?.unwrap_or(LIST_DEFAULT).clamp(1, LIST_MAX),
        })
    }

    fn takes(&self, item: &ServerItem) -> bool {
        let part = |part: &String| {
            item.id.to_string().contains(part) || item.machine_name.to_lowercase().contains(part)
        };
        self.machine.is_none_or(|asked| item.machine_id == asked)
            && self.region.is_none_or(|asked| item.location_id == asked)
            && self.configuration.is_none_or(|asked| item.build_configuration_id == asked)
            && self.status.is_none_or(|asked| item.status == asked.word())
            && self.partial.as_ref().is_none_or(part)
    }
}

/// By id, which is also the order of their making, if nothing else is asked for.
async fn list(call: Call) -> Result<Json<Vec<ServerItem>>, Unity> {
    let wanted = Wanted::read(&call)?;
    call.may(Permission::Read)?;
    let builds = builds(&call).await?;
    let part = wanted.order.part(ID);
    let (after, most) = match part {
        Part::After(id) => (id.map(ServerId::from_number).transpose(), wanted.limit),
        Part::Whole => (Ok(None), ORDERED_MAX + 1),
    };
    let after = after.map_err(|_| Unity::bad_query("`lastId` is no server's id"))?;
    let mut items = Vec::new();
    let right = |open: &&OpenFleet| wanted.metal && wanted.fleet.is_none_or(|asked| open.spec.id.0 == asked);
    for open in call.app.fleets.now().all().filter(right) {
        let (spec, builds, asked) = (Arc::clone(&open.spec), Arc::clone(&builds), wanted.clone());
        let room = most - items.len();
        let more = open.read(move |state, _| {
            let shown =
                state.servers(after).filter_map(|(id, server)| item(&spec, state, &builds, id, server));
            shown.filter(|item| asked.takes(item)).take(room).collect::<Vec<_>>()
        });
        items.extend(more.await?);
        if items.len() == most {
            break;
        }
    }
    match part {
        Part::After(_) => Ok(Json(items)),
        Part::Whole if items.len() > ORDERED_MAX => {
            let why = format!("at most {ORDERED_MAX} servers are put in such an order: ask for one fleet's");
            Err(Unity::bad_query(&why))
        }
        Part::Whole => Ok(Json(wanted.order.page(items, |item| item.id, wanted.limit))),
    }
}

async fn read(call: Call) -> Result<Json<ServerItem>, Unity> {
    call.may(Permission::Read)?;
    let (id, fleet) = call.server()?;
    let builds = builds(&call).await?;
    let spec = Arc::clone(&fleet.spec);
    let found = fleet.read(move |state, _| item(&spec, state, &builds, id, state.server(id)?)).await?;
    found.map(Json).ok_or_else(|| Failure::no_server(call.path("server")).into())
}

/// The names of builds.
type Builds = Arc<Vec<(mainstay_core::BuildId, String)>>;

async fn builds(call: &Call) -> Result<Builds, Unity> {
    let names = call.app.catalog.query(|catalog, _| {
        catalog.builds().map(|build| (build.id, build.declared.name.to_string())).collect::<Vec<_>>()
    });
    Ok(Arc::new(names.await?))
}

fn item(
    spec: &FleetSpec,
    state: &Fleet,
    builds: &Builds,
    id: ServerId,
    server: &Server,
) -> Option<ServerItem> {
    let machine = state.machine(server.machine)?;
    let configuration = state.configuration(server.configuration);
    let unknown = MachineSize { cores: 0, speed_mhz: None, memory_mib: 0 };
    let size = machine.host.as_ref().map_or(unknown, |host| host.size);
    let build = configuration.map(|it| it.build);
    let build = builds.iter().find(|(id, _)| Some(*id) == build).map(|(_, name)| name.clone());
    Some(ServerItem {
        id: id.number(),
        machine_id: server.machine.number(),
        machine_name: machine.name.to_string(),
        build_configuration_id: server.configuration.id.number(),
        build_configuration_name: configuration.map(|it| it.name.to_string()).unwrap_or_default(),
        build_name: build.unwrap_or_default(),
        fleet_id: spec.id,
        fleet_name: spec.name.to_string(),
        location_id: location(machine.region),
        location_name: spec.region(machine.region).map(|region| region.name.to_string()).unwrap_or_default(),
        ip: address(machine.addresses),
        port: server.ports.game,
        status: server.status().multiplay().word().to_owned(),
        cpu_limit: configuration.map_or(0, |it| megahertz(&size, it.limits.cpu_millis)),
        memory_limit: configuration.map_or(0, |it| it.limits.memory_mib.into()),
        hardware_type: "METAL".to_owned(),
        machine_spec: MachineSpec::of(machine.host.as_ref()),
        deleted: false,
        hold_expires_at: server.held_until().map(|until| until.unix_ms() / 1000),
    })
}

/// As players reach it: its IPv4 address, else its IPv6 one.
pub(super) fn address(addresses: Addresses) -> String {
    let four = addresses.ipv4.map(|it| it.to_string());
    four.or_else(|| addresses.ipv6.map(|it| it.to_string())).unwrap_or_default()
}

/// A region as the number that clients know locations by: 53 bits of its id, so that every reader of JSON keeps them.
pub(super) fn location(region: RegionId) -> u64 {
    const BITS: u32 = 53;
    let (high, _low) = region.0.as_u64_pair();
    high >> (u64::BITS - BITS)
}

async fn locations(call: Call) -> Result<Json<Vec<Location>>, Unity> {
    call.may(Permission::Read)?;
    let fleets = call.app.fleets.now();
    let mut all: Vec<Location> = fleets
        .all()
        .flat_map(|open| &open.spec.regions)
        .map(|region| Location { id: location(region.id), name: region.name.to_string() })
        .collect();
    all.sort_by_key(|location| location.id);
    all.dedup_by_key(|location| location.id);
    Ok(Json(all))
}

/// 424 where the state of things forbids it, as an allocated server's stop (seed 002).
async fn act(call: Call, body: Result<Bytes, BytesRejection>) -> Result<Json<ActionSuccess>, Unity> {
    let asked: ActionRequest = json(body)?;
    let number = asked.build_configuration_id;
    let command: Box<dyn FnOnce(ServerId) -> Command + Send> = match asked.action.as_str() {
        "START" => Box::new(Command::StartServer),
        "STOP" | "SHUTDOWN" => Box::new(Command::StopServer),
        "RESTART" => Box::new(Command::RestartServer),
        "CONFIGURE" => {
            let id = number.and_then(|number| BuildConfigurationId::from_number(number).ok());
            let missing = || {
                bad_field(
                    "buildConfigurationID",
                    "CONFIGURE needs the id of a build configuration".to_owned(),
                )
            };
            let configuration = id.ok_or_else(missing)?;
            Box::new(move |server| Command::SetConfiguration { server, configuration })
        }
        "ADD" | "DELETE" => {
            let detail = "servers come and go with their machines, as many as its agent brings".to_owned();
            return Err(bad_field("action", detail));
        }
        other => {
            let detail =
                format!("`{other}` is none of START, STOP, RESTART, SHUTDOWN, CONFIGURE, ADD and DELETE");
            return Err(bad_field("action", detail));
        }
    };
    call.may(Permission::Operate)?;
    let (id, fleet) = call.server()?;
    let known = fleet.read(move |state, _| state.server(id).is_some()).await?;
    if !known {
        return Err(Failure::no_server(call.path("server")).into());
    }
    let done = fleet.ask(command(id)).await?;
    done.map_err(|rejection| Failure::from(rejection).dependency())?;
    Ok(Json(ActionSuccess { success: true }))
}
