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

use crate::arguments::{DemoVerb, Format, Output};
use crate::failure::{Exit, Failure};

pub fn run(verb: &DemoVerb, data_dir: &Path, format: &Output) -> Result<ExitCode, Failure> {
    // What a player's process tells has one form.
    if format.format == Format::Name && !matches!(verb, DemoVerb::Peer { .. }) {
        let what = "what a demo tells has neither an id nor a name";
        return Err(Failure::new(Exit::Usage, "MS-U047", what).fix("-o json"));
    }
    match verb {
        DemoVerb::Play => play::run(data_dir, format),
        DemoVerb::Peers(arguments) => peers::run(arguments, data_dir, format),
        DemoVerb::Peer { options } => Ok(mainstay_tugboat::peers::run(options)),
        DemoVerb::KillHost(arguments) => peers::running::kill_host(arguments.how(), data_dir, format),
    }
}
