//! Machines (reference 3.7).

use std::sync::Arc;

use axum::routing::get;
use axum::{Json, Router};
use mainstay_core::MachineId;
use mainstay_fleet::{FleetSpec, Machine, MachineStatus};
use mainstay_wire::admin::{MachineItem, MachineServers, MachineSpec, OS_FAMILY, OS_NAME};

use super::super::App;
use super::super::access::Permission;
use super::super::failure::{Failure, Unity};
use super::Area as _;
use super::call::Call;
use super::servers::{address, location};
use crate::counted::Counted;

const AREA: &str = "machines";
/// What a list can be narrowed to.
const MACHINE_STATUSES: &str = "AWAITING_SETUP, PROVISIONING, BOOTING, ONLINE, SHUTTING_DOWN, SHUTDOWN, DELETING, \
    CANCELLATION_REQUESTED or CANCELLED";
/// The most one answer lists.
const LIST_MAX: usize = 1_000;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().area(AREA, "/machines", get(list)).area(AREA, "/machines/{machine}", get(read))
}

async fn list(call: Call) -> Result<Json<Vec<MachineItem>>, Unity> {
    let fleet: Option<uuid::Uuid> = call.asked_as("fleetId", "a UUID")?;
    let region: Option<u64> = call.asked_as("locationId", "a number")?;
    let partial = call.asked("partial").map(str::to_lowercase);
    let status: Option<MachineStatus> = call.asked_as("status", MACHINE_STATUSES)?;
    let metal = call.asks_for_metal()?;
    call.may(Permission::Read)?;
    let mut items: Vec<MachineItem> = Vec::new();
    let wanted =
        |open: &&crate::shards::OpenFleet| metal && fleet.is_none_or(|asked| open.spec.id.0 == asked);
    for open in call.app.fleets.now().all().filter(wanted) {
        let (spec, partial) = (Arc::clone(&open.spec), partial.clone());
        let room = LIST_MAX - items.len();
        let more = open.read(move |state, _| {
            let right =
                state.machines().filter(|(_, machine)| status.is_none_or(|asked| machine.status() == asked));
            right
                .map(|(id, machine)| item(&spec, id, machine))
                .filter(|it| region.is_none_or(|asked| it.location_id == asked))
                .filter(|it| partial.as_ref().is_none_or(|part| it.name.to_lowercase().contains(part)))
                .take(room)
                .collect::<Vec<_>>()
        });
        items.extend(more.await?);
    }
    Ok(Json(items))
}

async fn read(call: Call) -> Result<Json<MachineItem>, Unity> {
    call.may(Permission::Read)?;
    let (id, fleet) = call.machine()?;
    let spec = Arc::clone(&fleet.spec);
    let found = fleet.read(move |state, _| Some(item(&spec, id, state.machine(id)?))).await?;
    found.map(Json).ok_or_else(|| Failure::no_machine(call.path("machine")).into())
}

fn item(spec: &FleetSpec, id: MachineId, machine: &Machine) -> MachineItem {
    let counts = Counted::machine(machine);
    MachineItem {
        id: id.number(),
        ip: address(machine.addresses),
        name: machine.name.to_string(),
        location_id: location(machine.region),
        location_name: spec.region(machine.region).map(|region| region.name.to_string()).unwrap_or_default(),
        fleet_id: spec.id,
        fleet_name: spec.name.to_string(),
        hardware_type: "METAL".to_owned(),
        os_family: OS_FAMILY.to_owned(),
        os_name: OS_NAME.to_owned(),
        servers_states: MachineServers {
            allocated: counts.allocated,
            available: counts.available,
            held: counts.held,
            online: counts.online + counts.ready + counts.unreachable,
            reserved: counts.reserved,
        },
        spec: MachineSpec::of(machine.host.as_ref()),
        status: machine.status().word().to_owned(),
        deleted: false,
        disabled: machine.duty.withdrawn().is_some(),
    }
}
