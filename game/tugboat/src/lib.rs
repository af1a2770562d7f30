//! Tugboat: a small real-time game for Mainstay to host, whose state can be checked, and which misbehaves on command.
//!
//! Boats push about a harbour and take buoys for points. The server is the authority: clients send where their helm
//! stands, the server steps the world twenty times a second and tells everyone the whole of it.
//!
//! - [`world`] is the game: integers only, the same orders give the same world on every machine, and one hash says so.
//! - [`message`] is the wire: a few versioned datagrams, laid out there byte by byte.
//! - [`game`] joins the two, without a socket or a clock: who plays, with which token, since when.
//! - [`client`] is the other end, for tests and bots.
//! - [`fault`] is what makes it a fixture: it crashes, hangs, falls silent, eats memory, by argument or by command.
//! - [`run`] is the process: two UDP sockets, one signal descriptor, one thread, which sleeps until a packet comes or a
//!   tick is due. When nobody plays it wakes once a second, which is also how soon it takes note of a new session.
//! - [`peers`] is the same game without a server: its players host it, one after the other.
//! - [`desk`] is what it knows from its host and asks of it, by the SDK (`game/sdk`).
//!
//! It is an ordinary game server as far as Mainstay is concerned: it knows nothing of agents and slots but its command
//! line, its signals, its `server.json` and the local daemon named there.
#![forbid(unsafe_code)]

pub mod client;
pub mod desk;
pub mod fault;
pub mod game;
mod log;
pub mod message;
mod options;
pub mod peers;
mod query;
mod server;
pub mod world;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

use crate::options::Options;

/// Runs a server until it is told to stop: `args` are the words after the program's name (`mainstay demo server`).
///
/// The exit code is 0 after SIGTERM or SIGINT, what a fault says, 1 where the server could not run and 2 where the
/// arguments are wrong; the reason is on stderr.
#[must_use]
pub fn run(args: &[String]) -> ExitCode {
    let words = std::iter::once("tugboat").chain(args.iter().map(String::as_str));
    let options = match Options::try_parse_from(words) {
        Ok(options) => options,
        Err(usage) => {
            let code = u8::try_from(usage.exit_code()).unwrap_or(2);
            return match usage.print() {
                Ok(()) => ExitCode::from(code),
                Err(_closed) => ExitCode::FAILURE,
            };
        }
    };
    match server::run(options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tugboat: {} [{}]", chain(&error), error.code());
            ExitCode::FAILURE
        }
    }
}

/// An error and its causes in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
