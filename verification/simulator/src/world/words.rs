//! What rules decide, in the words of a trace.

use mainstay_core::slot::Status;
use mainstay_fleet::{Command, Event};
use mainstay_supervisor as supervisor;

/// A command, briefly.
pub(super) fn brief(command: &Command) -> String {
    match command {
        Command::Configure(spec) => format!("configure revision {}", spec.revision),
        Command::Join { name, slots, .. } => format!("join {name} with {} slots", slots.len()),
        Command::Connect { machine, stream, statuses } => {
            format!("connect {machine} stream {} with {} slots", stream.0, statuses.len())
        }
        Command::Report { machine, statuses, .. } => {
            let statuses: Vec<String> = statuses.iter().map(status_words).collect();
            format!("report {machine} [{}]", statuses.join(", "))
        }
        Command::TakeIncidents { machine, incidents, .. } => {
            let told: Vec<String> =
                incidents.iter().map(|it| format!("{} run {}", it.server, it.run)).collect();
            format!("incidents of {machine} [{}]", told.join(", "))
        }
        Command::TakeOutcome { machine, verb, outcome } => format!("{verb:?} of {machine}: {outcome:?}"),
        Command::TakeListing { machines, .. } => format!("listed {machines:?}"),
        Command::Allocate { id, .. } => format!("allocate {}", short(*id)),
        Command::Deallocate { id } => format!("deallocate {}", short(*id)),
        Command::StartServer(server) => format!("start {server}"),
        Command::StopServer(server) => format!("stop {server}"),
        Command::RestartServer(server) => format!("restart {server}"),
        Command::DrainMachine(machine) => format!("drain {machine}"),
        Command::UndrainMachine(machine) => format!("undrain {machine}"),
        Command::RemoveMachine { machine, .. } => format!("remove {machine}"),
        Command::SetConfiguration { server, configuration } => format!("{server} is to run {configuration}"),
        Command::Release(server) => format!("release {server}"),
        Command::Hold { server, process, time } => {
            format!("hold {server} for {time:?}, asks {process:?}")
        }
        Command::ReleaseHold { server, process } => format!("end the hold of {server}, asks {process:?}"),
        Command::Reserve { server, process, .. } => format!("reserve {server}, asks {process:?}"),
        Command::Unreserve { server, process } => format!("unreserve {server}, asks {process:?}"),
        Command::SetReady { server, process } => format!("{server} is ready, says {process:?}"),
        Command::SetUnready { server, process } => format!("{server} is not ready, says {process:?}"),
        Command::Due => "due".to_owned(),
    }
}

fn status_words(status: &Status) -> String {
    format!("{} {:?} {:?}", status.server, status.generation, status.phase)
}

/// What a turn came to.
pub(super) fn told(event: &Event, events: usize) -> String {
    let more = if events > 1 { format!(" and {} more", events - 1) } else { String::new() };
    let first = match event {
        Event::Configured(_) => "configured".to_owned(),
        Event::SpecKept(_) => "spec kept".to_owned(),
        Event::MachineJoined { machine, .. } => format!("{machine} joined"),
        Event::MachineReaddressed { machine, .. } => format!("{machine} readdressed"),
        Event::ServersAdded { first, ports, .. } => format!("{} servers from {first}", ports.len()),
        Event::ServersForgotten { machine, servers } => {
            format!("{machine} forgets {} servers", servers.len())
        }
        Event::MachineRequested { machine, slots, .. } => format!("{machine} requested with {slots} slots"),
        Event::MachineCame { machine } => format!("{machine} came"),
        Event::MachineDescribed { machine, .. } => format!("{machine} described"),
        Event::MachineBooted { machine, boot } => format!("{machine} booted {boot}"),
        Event::MachineDraining { machine } => format!("{machine} drains"),
        Event::MachineEmptied { machine } => format!("{machine} is emptied"),
        Event::MachineWoken { machine } => format!("{machine} is woken"),
        Event::MachineLost { machine } => format!("{machine} is lost"),
        Event::MachineReturned { machine, absence } => format!("{machine} is back: {absence:?}"),
        Event::MachineParting { machine, why } => format!("{machine} is given back: {why:?}"),
        Event::MachineDutySet { machine, wish } => format!("{machine} is to {wish:?}"),
        Event::MachineRemoved { machine } => format!("{machine} is removed"),
        Event::CountersKept { .. } => "counters kept".to_owned(),
        Event::AllocationReadied { id } => format!("{} was ready", short(*id)),
        Event::AllocationDisplaced { id, .. } => format!("{} displaced", short(*id)),
        Event::ServerOrdered { server, generation, intent, cause, .. } => {
            format!("{server} ordered {generation:?} {intent:?}: {cause:?}")
        }
        Event::ServerAssigned { server, configuration } => format!("{server} is to run {configuration}"),
        Event::ServerHeld { server, until } => format!("{server} held until {until:?}"),
        Event::HoldEnded { server, end } => format!("{server} no longer held: {end:?}"),
        Event::ServerReserved { server, .. } => format!("{server} reserved"),
        Event::ReservationEnded { server, end } => format!("{server} no longer reserved: {end:?}"),
        Event::ServerReadied { server } => format!("{server} ready"),
        Event::ServerUnreadied { server } => format!("{server} no longer ready"),
        Event::AllocationRequested { id, .. } => format!("{} requested", short(*id)),
        Event::AllocationPlaced { id, server, generation, intent, .. } => {
            format!("{} placed on {server} {generation:?} {intent:?}", short(*id))
        }
        Event::AllocationFulfilled { id, .. } => format!("{} fulfilled", short(*id)),
        Event::AllocationEnded { id, end, .. } => format!("{} ended: {end:?}", short(*id)),
        Event::IncidentTold { incident } => {
            format!("{} run {}: {:?}", incident.server, incident.run, incident.fault)
        }
        Event::IncidentClosed { incident } => {
            format!("{} run {} ended: {:?}", incident.server, incident.run, incident.exit)
        }
    };
    first + &more
}

/// The last digits of an allocation's id, which count up in a world.
pub(super) fn short(id: mainstay_core::AllocationId) -> String {
    format!("a{}", id.0.as_u128() & 0xFFFF_FFFF)
}

/// What an agent's turn came to.
pub(super) fn taken(events: &[supervisor::Event]) -> String {
    use supervisor::Event;
    let words = |event: &Event| match event {
        Event::SpecTaken { spec } => format!("spec {} r{}", spec.name, spec.configuration.revision),
        Event::OrderTaken { order } => {
            let allocation = order.allocation.as_ref().map(|session| short(session.allocation));
            let allocation = allocation.unwrap_or_else(|| "idle".to_owned());
            format!("{} takes {:?} {:?} {allocation}", order.server, order.generation, order.intent)
        }
        Event::RunBegan { server, run, .. } => format!("{server} begins {run:?}"),
        Event::Answered { server } => format!("{server} answered"),
        Event::StopBegan { server, reason, .. } => format!("{server} stops: {reason:?}"),
        Event::StopTurned { server, reason } => format!("{server} stops now: {reason:?}"),
        Event::KillBegan { server } => format!("{server} is killed"),
        Event::CheckFailed { server, check, .. } => format!("{server} fails {check:?}"),
        Event::Misbehaved { server, check } => format!("{server} misbehaves: {check:?}"),
        Event::IncidentNoted { incident } => format!("{} is noted", incident.server),
        Event::Crashed { server, cause, .. } => format!("{server} crashed: {cause}"),
        Event::StrikesCleared { server } => format!("{server} forgiven"),
        Event::Ended { server, ending } => format!("{server} ended: {ending:?}"),
        Event::RestBegan { server, .. } => format!("{server} rests"),
        Event::SlotForgotten { server } => format!("{server} forgotten"),
        Event::SlotKept { .. } | Event::RunsCounted { .. } => "snapshot".to_owned(),
    };
    events.iter().map(words).collect::<Vec<_>>().join(", ")
}
