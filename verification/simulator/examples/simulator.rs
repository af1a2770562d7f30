//! The simulator as a program of its own: `cargo run --release --example simulator -- run --seconds 60`.

use std::process::ExitCode;

fn main() -> ExitCode {
    mainstay_simulator::command_line::main(std::env::args_os())
}
