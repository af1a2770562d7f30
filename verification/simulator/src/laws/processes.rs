//! At most one process a slot, and none that reads another's session.

use mainstay_core::AllocationId;
use mainstay_supervisor::SessionFile;

use super::{Broken, ensure};
use crate::message::{Host, Launch, SlotIndex};
use crate::os::SlotTruth;

/// At most one game runs in a slot.
pub(crate) fn one_a_slot(host: Host, slot: SlotIndex, truth: &SlotTruth) -> Result<(), Broken> {
    ensure(truth.games() <= 1, "at most one process a slot", || {
        format!("machine {host} slot {slot}: {:?} and {:?}", truth.held, truth.intruder)
    })
}

/// A process that starts reads a `server.json` written for its own run, with the allocation that the newest order had
/// when its start was owed, or has by now: never an older one's.
pub(crate) fn reads_its_own_session(
    launch: &Launch,
    newest: Option<AllocationId>,
    file: Option<SessionFile>,
) -> Result<(), Broken> {
    let holds = file.is_some_and(|file| {
        (file.run, file.configuration) == (launch.run, launch.configuration)
            && (file.allocation == launch.ordered || file.allocation == newest)
    });
    ensure(holds, "a stale allocation id is never given to a new process", || {
        format!("it reads {file:?}, and is started as {launch:?}; the newest order is for {newest:?}")
    })
}
