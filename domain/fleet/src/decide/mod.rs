//! Every rule of a fleet, one command a file.

mod allocate;
mod asking;
mod configure;
mod deallocate;
mod due;
mod hold;
mod incidents;
mod join;
mod manual;
mod ordering;
mod ready;
mod report;
mod reserve;
mod rollout;
mod waiting;

use mainstay_core::Turn;

use crate::command::{Answer, Command, Observation};
use crate::fleet::Fleet;
use crate::rejection::Rejection;

pub(crate) fn decide(turn: &mut Turn<'_, Fleet>, command: &Command) -> Result<Answer, Rejection> {
    match command {
        Command::Configure(spec) => configure::configure(turn, spec),
        Command::Join { key, region, name, addresses, slots } => {
            join::join(turn, *key, *region, name, *addresses, slots)
        }
        Command::Connect { machine, stream, statuses } => {
            if turn.state().machine(*machine).is_none() {
                return Err(Rejection::UnknownMachine(*machine));
            }
            turn.observe(Observation::Connected { machine: *machine, stream: *stream });
            report::report(turn, *machine, *stream, statuses)
        }
        Command::Report { machine, stream, statuses } => report::report(turn, *machine, *stream, statuses),
        Command::TakeIncidents { machine, stream, incidents } => {
            incidents::take(turn, *machine, *stream, incidents)
        }
        Command::Allocate { id, request } => allocate::allocate(turn, *id, request),
        Command::Deallocate { id } => deallocate::deallocate(turn, *id),
        Command::StartServer(server) => manual::start(turn, *server),
        Command::StopServer(server) => manual::stop(turn, *server),
        Command::RestartServer(server) => manual::restart(turn, *server),
        Command::SetConfiguration { server, configuration } => {
            rollout::set_configuration(turn, *server, *configuration)
        }
        Command::Release(server) => reserve::release_by_hand(turn, *server),
        Command::Hold { server, process, until } => hold::hold(turn, *server, *process, *until),
        Command::ReleaseHold { server, process } => hold::release(turn, *server, *process),
        Command::Reserve { server, process, reservation } => {
            reserve::reserve(turn, *server, *process, *reservation)
        }
        Command::Unreserve { server, process } => reserve::unreserve(turn, *server, *process),
        Command::SetReady { server, process } => ready::ready(turn, *server, *process),
        Command::SetUnready { server, process } => ready::unready(turn, *server, *process),
        Command::Due => Ok(due::due(turn)),
    }
}
