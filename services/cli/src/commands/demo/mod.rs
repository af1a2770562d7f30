//! `mainstay demo`: what Mainstay does, shown with the small game that is built in.

mod patience;
mod peers;
mod play;
mod player;
mod server;
mod tickets;
mod told;

use std::path::Path;
use std::process::ExitCode;

use crate::arguments::{DemoVerb, Output};
use crate::failure::Failure;

pub fn run(verb: &DemoVerb, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    match verb {
        DemoVerb::Play => play::run(data_dir, format),
        DemoVerb::Peers(arguments) => peers::run(arguments, data_dir, format),
        DemoVerb::Peer { options } => Ok(mainstay_tugboat::peers::run(options)),
        DemoVerb::KillHost(arguments) => peers::running::kill_host(arguments.how(), data_dir, format),
    }
}
