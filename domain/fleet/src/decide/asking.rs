//! Whose wish it is: the process that a server's newest order left running, or one that is gone.

use mainstay_core::{Generation, ServerId};

use crate::fleet::Fleet;
use crate::rejection::Rejection;
use crate::server::Server;

/// The server a process asks about, where the process runs under its newest order.
///
/// The fence is strict: while an order is on its way, whatever is asked under the older one is refused, even if the
/// newer would leave the process running. Its agent has obeyed the order within moments, and the same wish is then
/// taken; a fence that tried to know which orders spare a process would have to know what the agent found.
pub(super) fn asked_by(state: &Fleet, server: ServerId, process: Generation) -> Result<&Server, Rejection> {
    let known = state.server(server).ok_or(Rejection::UnknownServer(server))?;
    if process != known.generation {
        return Err(Rejection::StaleProcess { server, asked: process, newest: known.generation });
    }
    Ok(known)
}
