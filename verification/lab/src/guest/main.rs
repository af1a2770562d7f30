//! What runs inside the machine: one scenario a boot, told on the wire. A scenario asserts; a panic anywhere is told as the
//! machine's failure, with the end of its journal.

mod contained;
mod cores;
mod groups;
mod office;
mod power;
mod product;
mod slots;
mod units;
mod wire;

use std::process::{Command, ExitCode};

use mainstay_lab::words::{SCENARIO, Scenario, Word};

use crate::product::{Product, configure, systemctl};

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().collect();
    if arguments.get(1).is_some_and(|word| word == contained::GAME) {
        return mainstay_tugboat::run(&arguments[2..]);
    }
    // The serial line is an old one; in its own time, it would take a millisecond a letter.
    run(Command::new("stty").args(["-F", mainstay_lab::words::WIRE, "115200", "raw"]));
    std::panic::set_hook(Box::new(|info| {
        let journal = Command::new("journalctl")
            .args(["--no-pager", "--lines=80", "--output=short-monotonic"])
            .output();
        wire::talk(&journal.map_or_else(
            |error| format!("no journal: {error}"),
            |output| String::from_utf8_lossy(&output.stdout).into_owned(),
        ));
        wire::say(&Word::Failed { why: info.to_string() });
    }));
    match scenario() {
        Scenario::Kernel => kernel(),
        Scenario::Units => units::run(),
        Scenario::Power { seed, boot, syncs, account } => power::run(seed, boot, syncs, account.as_deref()),
    }
    wire::say(&Word::Done);
    ExitCode::SUCCESS
}

/// What needs a kernel of its own, on one instance.
fn kernel() {
    groups::run();
    cores::allow();
    contained::make();
    configure(
        &contained::builds(),
        &[slots::configurations(), cores::configurations(), contained::configurations()].concat(),
        &[slots::fleets(), cores::fleets(), contained::fleets()].concat(),
    );
    systemctl(&["start", "mainstay"]);
    let product = Product::connect();
    slots::run(&product);
    cores::run(&product);
    contained::run(&product);
}

fn scenario() -> Scenario {
    let line = std::fs::read_to_string("/proc/cmdline").expect("the kernel tells its command line");
    let found = line.split_whitespace().find_map(|word| word.strip_prefix(SCENARIO));
    found.expect("a scenario is named").parse().expect("and known")
}

/// Runs a program that must succeed, and gives what it printed.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}{errors}", output.status);
    said
}
