//! At most one process a slot, and none that reads another's session.

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
/// when its start began: never an older one's.
pub(crate) fn reads_its_own_session(launch: &Launch, file: Option<SessionFile>) -> Result<(), Broken> {
    let reads = file.map(|file| (file.run, file.configuration, file.allocation));
    let wanted = (launch.run, launch.configuration, launch.ordered);
    ensure(reads == Some(wanted), "a stale allocation id is never given to a new process", || {
        format!("it reads {reads:?}, and is started as {wanted:?}")
    })
}
