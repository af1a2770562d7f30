//! Every rule of a fleet, one command a file.

mod allocate;
mod asking;
mod away;
mod configure;
mod deallocate;
mod drain;
mod due;
mod duty;
mod grow;
mod hold;
mod incidents;
mod join;
mod lose;
mod manual;
mod ordering;
mod provider;
mod ready;
mod report;
mod reserve;
mod rollout;
mod shrink;
mod waiting;

use mainstay_core::Turn;

use crate::command::{Answer, Command, Observation};
use crate::fleet::Fleet;
use crate::rejection::Rejection;

pub(crate) fn decide(turn: &mut Turn<'_, Fleet>, command: &Command) -> Result<Answer, Rejection> {
    if !turn.state().listening {
        turn.observe(Observation::Listening);
    }
    match command {
        Command::Configure(spec) => configure::configure(turn, spec),
        Command::Join { key, region, name, addresses, slots, boot, host } => {
            let (key, region, addresses, boot) = (*key, *region, *addresses, *boot);
            let newcomer = join::Newcomer { key, region, name, addresses, boot, host: host.as_ref() };
            join::join(turn, &newcomer, slots)
        }
        Command::Connect { machine, stream, statuses } => report::connect(turn, *machine, *stream, statuses),
        Command::TakeOutcome { machine, verb, outcome } => {
            Ok(provider::take_outcome(turn, *machine, *verb, *outcome))
        }
        Command::TakeListing { region, asked, machines } => {
            Ok(provider::take_listing(turn, *region, *asked, machines))
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
        Command::Hold { server, process, time } => hold::hold(turn, *server, *process, *time),
        Command::ReleaseHold { server, process } => hold::release(turn, *server, *process),
        Command::Reserve { server, process, reservation } => {
            reserve::reserve(turn, *server, *process, *reservation)
        }
        Command::Unreserve { server, process } => reserve::unreserve(turn, *server, *process),
        Command::SetReady { server, process } => ready::ready(turn, *server, *process),
        Command::SetUnready { server, process } => ready::unready(turn, *server, *process),
        Command::DrainMachine(machine) => duty::withdraw(turn, *machine),
        Command::UndrainMachine(machine) => duty::put_back(turn, *machine),
        Command::RemoveMachine { machine, kept_out } => duty::remove(turn, *machine, *kept_out),
        Command::Due => Ok(due::due(turn)),
    }
}
