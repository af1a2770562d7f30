//! The `mainstay` binary: one command line over every service.
//!
//! A holder, one for each game server, is this same executable: it branches off before an argument parser or a runtime
//! exists, so that two hundred of them stay small. The demo game does the same.

mod arguments;
mod client;
mod commands;
mod events;
mod failure;
mod follow;
mod output;
mod system;
mod target;
mod up;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{Arguments, Ask, Command, ContextVerb, Format, Output, Reader, TicketVerb};
use crate::failure::Failure;
use crate::target::Target;

/// Gives back to the machine what a compaction of a journal took for a moment: a second state, as large as the first. The C library's
/// keeps it ([0044](../../../docs/decisions/0044-an-allocator-that-gives-memory-back.md)).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] | [_] => return first_day(),
        [_, "holder", ..] => return mainstay_holder::main(std::env::args_os().skip(2)),
        [_, "demo", "server", ..] => return mainstay_tugboat::run(&arguments[3..]),
        [_, "demo", "peer", ..] => {
            talk(&Output::default());
            return mainstay_tugboat::peers::run(&arguments[3..]);
        }
        _ => {}
    }
    let arguments = Arguments::parse();
    talk(&arguments.output);
    match run(arguments) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit.code()
        }
    }
}

/// What a first day needs, and no more: the whole list is `mainstay help`'s.
const FIRST_DAY: &str = "\
Keeps multiplayer game sessions alive.

  mainstay up --demo                            run everything here, with a small real game
  mainstay demo play                            players matched, a server killed, a player replaced
  mainstay status                               what is running, and where
  mainstay allocation create --fleet tugboat    a server for a session
  mainstay check FILE                           what is wrong with a mainstay.yaml or .gsh

All commands: mainstay help
";

/// `mainstay` alone. As with every command without arguments, what was asked is on standard output, and it went well.
fn first_day() -> ExitCode {
    match output::write(FIRST_DAY) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            failure.exit.code()
        }
    }
}

/// Logs go to standard error: errors alone with `-q`, more with `-v`; else warnings and worse, unless `MAINSTAY_LOG` asks for more (`info`,
/// `mainstay_agent=debug`). As text, or with `MAINSTAY_LOG_FORMAT=json` as one JSON object a line for what collects them.
fn talk(wanted: &Output) {
    use tracing_subscriber::EnvFilter;
    let filter = match (wanted.quiet, wanted.verbose) {
        // What is wrong with a certificate is told by whoever asked for it.
        (false, 0) => EnvFilter::try_from_env("MAINSTAY_LOG")
            .unwrap_or_else(|_| EnvFilter::new("warn,rustls_platform_verifier=off")),
        (true, _) => EnvFilter::new("error,rustls_platform_verifier=off"),
        (false, 1) => EnvFilter::new("warn,rustls_platform_verifier=off,mainstay=debug"),
        (false, _) => EnvFilter::new("debug"),
    };
    let colours = std::io::stderr().is_terminal();
    let format =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(std::io::stderr);
    if std::env::var_os("MAINSTAY_LOG_FORMAT").is_some_and(|format| format == "json") {
        format.json().init();
    } else {
        format.init();
    }
}

fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let Arguments { command, reach, output } = arguments;
    if let (Command::Simulator(_) | Command::Bench(_), Reader::Program) = (&command, output.reader()) {
        let what = "simulator and bench print reports for people, not JSON";
        return Err(Failure::flag(what).fix("leave -o out"));
    }
    if output.watch && !command.watches() {
        let what = "--watch is for commands that only look";
        return Err(Failure::flag(what).fix("leave --watch out; list and get take it"));
    }
    if output.format == Format::Name && !command.is_answered_by_names() {
        let what = "-o name is for commands whose answers have ids or names";
        return Err(Failure::flag(what).fix("leave -o out, or say -o json; nothing is done yet"));
    }
    let takes_flags = matches!(command, Command::Ask(_) | Command::Context(ContextVerb::Create { .. }));
    if let (false, Some(flag)) = (takes_flags, reach.elsewhere()) {
        let what = format!("{flag} is for commands that ask an instance");
        return Err(Failure::flag(&what).fix("leave it out; nothing is done yet"));
    }
    let data_dir = target::data_dir(&reach);
    match command {
        Command::Ask(ask) => asked(ask, &Target::of(&reach)?, &output),
        Command::Context(verb) => commands::context::run(&verb, &reach, &output),
        Command::Up(arguments) => up::run(&arguments, &data_dir),
        Command::Agent(arguments) => commands::agent::run(&arguments, &data_dir),
        Command::Check(arguments) => commands::check::run(&arguments, &data_dir, &output),
        Command::Explain { code } => commands::explain::run(&code, &output),
        Command::Demo(verb) => commands::demo::run(&verb, &data_dir, &output),
        Command::Simulator(arguments) => Ok(mainstay_simulator::command_line::execute(&arguments)),
        Command::Bench(arguments) => commands::bench::run(&arguments),
    }
}

/// Asks an instance.
fn asked(ask: Ask, target: &Target, output: &Output) -> Result<ExitCode, Failure> {
    match ask {
        Ask::Apply(arguments) => commands::apply::run(&arguments, target, output),
        Ask::Doctor => commands::doctor::run(target, output),
        Ask::Status => commands::status::run(target, output),
        Ask::Fleet(verb) => commands::fleet::run(&verb, target, output),
        Ask::Machine(verb) => commands::machine::run(&verb, target, output),
        Ask::Token(verb) => commands::token::run(&verb, target, output),
        Ask::Account(verb) => commands::account::run(&verb, target, output),
        Ask::Server(verb) => commands::server::run(&verb, target, output),
        Ask::Allocation(verb) => commands::allocation::run(&verb, target, output),
        Ask::Queue(verb) => commands::queue::run(&verb, target, output),
        Ask::Ticket(verb) => commands::ticket::run(&verb, target, output),
        Ask::Backfill(verb) => commands::backfill::run(&verb, target, output),
        Ask::Match(verb) => commands::matches::run(&verb, target, output),
        Ask::Show { id } => commands::show::run(&id, target, output),
        Ask::Why(one) => commands::ticket::run(&TicketVerb::Why(one), target, output),
        Ask::Draw(verb) => commands::draw::run(&verb, target, output),
        Ask::Session(verb) => commands::session::run(&verb, target, output),
        Ask::Lobby(verb) => commands::lobby::run(&verb, target, output),
    }
}
