//! An agent tells of processes that ended as nobody wished: crashes and misbehaviour become part of the server's story.
//! Each is told until it is heard, so what is known already is passed over.

use alloc::boxed::Box;
use alloc::vec::Vec;

use mainstay_core::slot::Incident;
use mainstay_core::{MachineId, Turn};

use crate::command::{Answer, StreamId};
use crate::event::Event;
use crate::fleet::Fleet;
use crate::rejection::Rejection;

pub(super) fn take(
    turn: &mut Turn<'_, Fleet>,
    machine: MachineId,
    stream: StreamId,
    incidents: &[Incident],
) -> Result<Answer, Rejection> {
    if !turn.state().is_current(machine, stream) {
        return Err(Rejection::StaleStream);
    }
    let mut told: Vec<&Incident> = incidents.iter().collect();
    told.sort_by_key(|incident| (incident.server, incident.run));
    for incident in told {
        let server = turn.state().server(incident.server).filter(|server| server.machine == machine);
        if let Some(event) = server.and_then(|server| news(server.incident(), incident)) {
            turn.emit(event);
        }
    }
    Ok(Answer::Done)
}

/// Misbehaviour is told twice: when it is found, and once it is known how the process ended. A machine that was made anew
/// counts its runs from the beginning: a lower number at a later time is another run.
fn news(newest: Option<&Incident>, told: &Incident) -> Option<Event> {
    let incident = || Box::new(told.clone());
    match newest {
        Some(newest) if newest.run >= told.run && newest.at < told.at => {
            Some(Event::IncidentTold { incident: incident() })
        }
        Some(newest) if newest.run > told.run => None,
        Some(newest) if newest.run == told.run => (newest.exit.is_none() && told.exit.is_some())
            .then(|| Event::IncidentClosed { incident: incident() }),
        Some(_) | None => Some(Event::IncidentTold { incident: incident() }),
    }
}
