//! A stand-in for the agent, to be killed by the tests: starts a holder by the given launch file and then waits.
//! Usage: `starter HOLDER_EXECUTABLE SLOT_DIR SPEC_FILE`.

use std::io::Write as _;
use std::path::Path;

use mainstay_holder::client::{Spawner, Started};
use mainstay_holder::spec::LaunchSpec;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [executable, slot, spec_file] = arguments.as_slice() else {
        return Err("usage: starter HOLDER_EXECUTABLE SLOT_DIR SPEC_FILE".into());
    };
    let spec = LaunchSpec::read(Path::new(spec_file))?;
    match Spawner::new(executable.into(), Vec::new()).spawn(Path::new(slot), &spec)? {
        Started::Running(status) => writeln!(std::io::stdout(), "{}", status.game.pid)?,
        Started::SpawnFailed(record) => return Err(format!("{record:?}").into()),
    }
    loop {
        std::thread::park();
    }
}
