//! At most one process a slot, none that reads another's session, and none that was lost counts as crashed.

use mainstay_core::slot::{Phase, Status};
use mainstay_core::{AllocationId, ServerId};
use mainstay_supervisor::{Command, Event, SessionFile};

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

/// A slot is reported online for a session only where `server.json` names that session, and a process has had the pid.
/// An idle one may still be told of a session that ended while the write was under way.
pub(crate) fn online_is_true(
    status: &Status,
    ordered: Option<AllocationId>,
    truth: &SlotTruth,
    pids: u32,
) -> Result<(), Broken> {
    let Phase::Online { pid } = status.phase else { return Ok(()) };
    let given = truth.file.and_then(|file| file.allocation);
    ensure(
        (ordered.is_none() || given == ordered)
            && pid <= pids
            && truth.held.as_ref().is_none_or(|game| game.pid >= pid),
        "a server is online only where its process was told of its session",
        || format!("{status:?} for {ordered:?}; there is {given:?}, {:?}", truth.held),
    )
}

/// "A changed boot id or a dead holder is the machine's loss, not a crash": how a process ended is told only where its holder
/// wrote that down, and what nobody wrote down strikes no slot.
pub(crate) fn a_loss_is_no_crash<'a>(
    command: &Command,
    events: &[Event],
    truth: impl Fn(ServerId) -> Option<&'a SlotTruth>,
) -> Result<(), Broken> {
    const LAW: &str = "a changed boot id or a dead holder is the machine's loss, not a crash";
    match command {
        Command::Exited { server, run, exit, .. } => {
            let noted = truth(*server).and_then(|truth| truth.exit_record.as_ref());
            let written = noted.is_some_and(|(of, how)| of > run || of == run && how == exit);
            ensure(written, LAW, || {
                format!("{server} {run:?} is told to have ended by {exit:?}; noted is {noted:?}")
            })
        }
        Command::Lost { server, run } => {
            let struck = events.iter().any(|event| matches!(event, Event::Crashed { .. }));
            ensure(!struck, LAW, || format!("{server} {run:?} was lost, and counts as crashed"))
        }
        Command::TakeSpecs { .. }
        | Command::TakeOrders { .. }
        | Command::NeverRan { .. }
        | Command::Answered { .. }
        | Command::Checked { .. }
        | Command::Due
        | Command::ForgetSlots { .. }
        | Command::Park
        | Command::Resume => Ok(()),
    }
}
