//! The laboratory's tests: each starts the machine of the workspace's own programs, or says loudly why it cannot.
//!
//! The tests take the machine's one lock in turns: two machines at once would each be half as fast.

#![expect(clippy::unwrap_used, reason = "a test's helper fails the test where it stands")]

mod kernel;
mod office;
mod power;
mod units;

use std::fs::File;
use std::path::{Path, PathBuf};

use mainstay_lab::disk::{self, Content};
use mainstay_lab::machine::Machine;
use mainstay_lab::packages::{self, Base};
use mainstay_lab::products::Products;
use mainstay_lab::words::Scenario;

/// What begins the machine's work: after the basics, before nothing.
const TARGET: &str = "[Unit]\nRequires=basic.target\nAfter=basic.target\nWants=lab.service\n";
const SERVICE: &str = "[Unit]\nAfter=basic.target\n[Service]\nType=oneshot\nExecStart=/lab/guest\n\
                       StandardOutput=file:/dev/ttyS1\nStandardError=inherit\nTimeoutStartSec=infinity\n";

/// A disk, and how it is started.
struct Lab {
    dir: tempfile::TempDir,
    base: Base,
    _turn: File,
}

impl Lab {
    /// With a fresh disk; `None`, said loudly, where no image with root's files can be made.
    fn new() -> Option<Self> {
        if let Err(why) = disk::can_make() {
            eprintln!("SKIPPED: the laboratory needs root, or a user who may call himself root: {why}");
            return None;
        }
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab");
        let base = packages::base(&home).unwrap_or_else(|error| panic!("{error}"));
        let turn = File::create(home.join("turn")).unwrap();
        turn.lock().unwrap();
        let dir = tempfile::tempdir_in(&home).unwrap();
        let lab = Self { dir, base, _turn: turn };
        disk::make(&lab.base, &contents(), &lab.dir.path().join("tree"), &lab.disk())
            .unwrap_or_else(|error| panic!("{error}"));
        Some(lab)
    }

    fn disk(&self) -> PathBuf {
        self.dir.path().join("disk.ext4")
    }

    fn boot(&self, scenario: &Scenario) -> Machine {
        let console = self.dir.path().join("console.log");
        Machine::boot(&self.base, &self.disk(), &console, scenario).unwrap_or_else(|error| panic!("{error}"))
    }

    /// What the scenario has shown to hold.
    #[track_caller]
    fn held(&self, scenario: &Scenario) -> Vec<String> {
        self.boot(scenario).finish().unwrap_or_else(|error| panic!("{error}"))
    }
}

fn contents() -> Vec<(&'static str, Content)> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let products = Products::build(&cargo, &workspace).unwrap_or_else(|error| panic!("{error}"));
    let program = |kind: &str, name: &str| {
        Content::Program(products.get(kind, name).unwrap_or_else(|error| panic!("{error}")))
    };
    let unit = |name: &str| {
        let file = workspace.join("deploy/systemd").join(name);
        Content::Text(
            std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        )
    };
    vec![
        ("/usr/bin/mainstay", program("bin", "mainstay")),
        ("/lab/guest", Content::Program(env!("CARGO_BIN_EXE_mainstay-lab-guest").into())),
        ("/lab/deps/os", program("test", "os")),
        ("/lab/examples/slot_holder", program("example", "slot_holder")),
        ("/etc/systemd/system/mainstay.service", unit("mainstay.service")),
        ("/etc/systemd/system/mainstay-agent.service", unit("mainstay-agent.service")),
        ("/etc/systemd/system/lab.target", Content::Text(TARGET.to_owned())),
        ("/etc/systemd/system/lab.service", Content::Text(SERVICE.to_owned())),
        // Nothing here comes over a network, and nothing waits for one.
        ("/etc/systemd/system/network-online.target", Content::Link("/dev/null".to_owned())),
    ]
}
