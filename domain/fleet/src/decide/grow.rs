//! A region that is short of servers has its sleeping machines back, and then asks its provider for more: whole machines,
//! never past `maxServers`.

use mainstay_core::{MachineId, MachineKey, RegionId, Turn};

use super::{ordering, waiting};
use crate::cause::Cause;
use crate::event::Event;
use crate::fleet::Fleet;
use crate::growth::Step;
use crate::spec::{IdleServers, RegionSpec};

/// The most machines one turn wakes or asks for; the next turn goes on. Keeps a region that begins with a minimum of
/// thousands from holding up everybody else.
const TURN_MAX: usize = 64;

/// Does about every region's shortfall what can be done.
pub(super) fn grow(turn: &mut Turn<'_, Fleet>) {
    let Some(spec) = turn.state().spec().cloned() else { return };
    for region in &spec.regions {
        for _ in 0..TURN_MAX {
            let machine = match turn.state().growth_step(region) {
                Some(Ok(Step::Wake(machine))) => {
                    wake(turn, machine);
                    continue;
                }
                Some(Ok(Step::Request(slots))) => request(turn, region, slots),
                Some(Err(_)) | None => None,
            };
            if machine.is_none() {
                break;
            }
        }
    }
}

/// Has one sleeping machine of a region back, if there is one that is heard.
pub(super) fn wake_one(turn: &mut Turn<'_, Fleet>, region: RegionId) {
    let first = turn.state().pool(region).and_then(|pool| pool.asleep.first()).map(|(_, machine)| *machine);
    if let Some(machine) = first {
        wake(turn, machine);
    }
}

/// A machine serves again: with start on provision its servers run, else they wait for allocations.
pub(super) fn wake(turn: &mut Turn<'_, Fleet>, machine: MachineId) {
    turn.emit(Event::MachineWoken { machine });
    let on_provision =
        turn.state().spec().is_some_and(|spec| spec.idle_servers == IdleServers::StartOnProvision);
    let Some(known) = turn.state().machine(machine) else { return };
    let (region, servers) = (known.region, known.servers.clone());
    for server in servers {
        if on_provision {
            ordering::run_idle(turn, server, Cause::Woken);
        } else if turn.state().server(server).is_some_and(|known| known.cause == Cause::Drained) {
            ordering::rest(turn, server, Cause::Woken);
        }
    }
    waiting::place(turn, region);
}

/// Asks the region's provider for one more machine; nothing while it is left alone after failing.
fn request(turn: &mut Turn<'_, Fleet>, region: &RegionSpec, slots: u32) -> Option<MachineId> {
    let state = turn.state();
    if state.setbacks.get(&region.id).is_some_and(|setback| setback.until > turn.now()) {
        return None;
    }
    let (spec, provided) = (state.spec()?, state.provided(region.id)?);
    let machine = MachineId::of(spec.number, state.machine_counter + 1);
    let (key, until) = (MachineKey::made(spec.id, machine), turn.now() + provided.create_timeout);
    turn.emit(Event::MachineRequested { machine, key, region: region.id, slots, until });
    Some(machine)
}
