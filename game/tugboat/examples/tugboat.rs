//! The game server as a program of its own: `cargo run -p mainstay-tugboat --example tugboat -- --port 9000`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    mainstay_tugboat::run(&args)
}
