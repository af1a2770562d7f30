//! Tugboat without a server: its players host it, one after the other (`game/peer`).
//!
//! - `harbour` is the game and who steers what, as the state that goes along; `turn` is what changes it in one tick;
//! - `voice` is what host and members say to each other;
//! - `account` measures what a move cost a player, and `lineage` tells by whom a game was written;
//! - `crew` are players as processes, for whoever starts some;
//! - `screen` is the game as a person plays it;
//! - `process` is one player's process: the loop, and a line of JSON for whatever happens; `entrance` is how it comes into its session,
//!   `console` who speaks to it, and `stagehand` its listener of migrations.

pub mod account;
mod console;
pub mod crew;
mod entrance;
pub mod harbour;
pub mod lineage;
pub mod options;
mod process;
mod screen;
mod stagehand;
pub mod turn;
pub mod voice;

use std::process::ExitCode;

use clap::Parser;

use self::options::Options;
use crate::chain;

/// Runs one peer until its session is over or it is told to leave: `args` are the words after `mainstay demo peer`.
///
/// The exit code is 0 after it has left, 1 where the session ended otherwise or it could not run, and 2 where the arguments
/// are wrong; the reason is on stderr.
#[must_use]
pub fn run(args: &[String]) -> ExitCode {
    let words = std::iter::once("mainstay demo peer").chain(args.iter().map(String::as_str));
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
    match process::run(&options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("mainstay demo peer: {} [{}]", chain(&error), error.code());
            ExitCode::FAILURE
        }
    }
}
