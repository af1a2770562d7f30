//! What servers run, on machines that cannot see the control plane's files (issue 3, section 4): agents in a mount namespace
//! of their own, where nothing of the control plane's folders exists. They need root and unshare(1); without either these
//! tests say loudly that they did not run.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::far::{Agent, beyond, connected, door, joined, token};
use crate::product::{Home, Product, until};

/// A build folder beside the control plane's data, with the game and whatever `more` puts there.
fn build(home: &Home, more: impl Fn(&Path)) -> PathBuf {
    let folder = home.path().with_file_name("build");
    std::fs::create_dir_all(folder.join("bin")).unwrap();
    std::fs::copy(env!("CARGO_BIN_EXE_mainstay"), folder.join("bin/game")).unwrap();
    std::os::unix::fs::symlink("bin/game", folder.join("game")).unwrap();
    std::fs::write(folder.join("map"), "first").unwrap();
    more(&folder);
    folder
}

/// `up`, heard beyond loopback, with a fleet that has no server on this host that a session could take first.
fn up<'a>(home: &'a Home, host: &str) -> Product<'a> {
    let file = home.path().with_file_name("far.yaml");
    let text = "version: 1.0\n\
         builds:\n  game:\n    executableName: game\n    buildPath: ./build\n\
         buildConfigurations:\n  plain:\n    build: game\n    queryType: sqp\n    binaryPath: game\n    \
         commandLine: demo server --port $$port$$ --query-port $$query_port$$\n\
         fleets:\n  here:\n    buildConfigurations: [plain]\n    \
         usageSettings: [{ hardwareType: METAL, maxServersPerMachine: 1 }]\n    \
         regions:\n      Home: { minAvailable: 0, maxServers: 3 }\n\
         machines: { join: allowed }\n";
    std::fs::write(&file, text).unwrap();
    home.up(&[file.to_str().unwrap(), "--listen", host])
}

/// Whether this host lets us make mount namespaces.
pub fn can_hide() -> bool {
    let can = nix::unistd::geteuid().is_root()
        && Command::new("unshare").args(["--mount", "true"]).status().is_ok_and(|status| status.success());
    if !can {
        eprintln!(
            "SKIPPED, LOUDLY: no mount namespaces here (root and unshare are needed); nothing was shown"
        );
    }
    can
}

/// An agent for whom the control plane's folders do not exist, and which fetches what its servers run.
#[track_caller]
pub fn blind(far: &Home, up: &Home, join: &str, token: Option<&str>) -> Agent {
    let agent = crate::far::command(far, join, token, &["--builds", "fetch"]);
    let hidden = up.path().parent().unwrap().to_owned();
    let mut inside = Command::new("unshare");
    inside.args(["--mount", "sh", "-c", "mount -t tmpfs none \"$0\" && exec \"$@\""]);
    inside.arg(&hidden).arg(agent.get_program()).args(agent.get_args()).stdin(Stdio::null());
    Agent::of(far, inside)
}

pub fn builds(far: &Home) -> PathBuf {
    far.path().join("agent/builds")
}

pub fn listed(folder: PathBuf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// The installs that are whole, by the content of their map.
fn maps(far: &Home) -> Vec<String> {
    listed(builds(far).join("installs"))
        .into_iter()
        .map(|install| std::fs::read_to_string(install.join("map")).unwrap())
        .collect()
}

/// A session on the machine that joined: this host's own slot is taken first.
#[track_caller]
pub fn allocated(up: &Product<'_>, machine: &Value) -> Value {
    let (caller, fleet) = (up.caller(), fleet_of(up));
    for _ in 0..2 {
        let id = new_id();
        caller.allocate(&fleet, &id);
        let seen = caller.fulfilled(&fleet, &id);
        if seen["machineId"] == machine["id"] {
            return seen;
        }
    }
    panic!("neither of two allocations is on {machine}")
}

/// Issue 3, section 4: "Agents fetch builds from the control plane by content hash … test agents have their own mount
/// namespace and cannot see the control plane's files."
#[test]
fn a_machine_that_cannot_see_the_control_planes_files_fetches_what_it_runs() {
    if !can_hide() {
        return;
    }
    let (home, far) = (Home::new(), Home::new());
    build(&home, |_| {});
    let up = up(&home, &beyond());
    let _agent = blind(&far, &home, &door(&up), Some(&token(&up, &[])));
    let machine = connected(&up);
    let seen = allocated(&up, &machine);
    let server = up.server(&seen["serverId"].to_string());
    let pid = server["pid"].as_i64().unwrap();
    let runs = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    assert!(runs.starts_with(builds(&far)), "{runs:?} is on the machine's own disk");
    let fleets = up.json(&["fleet", "list"]);
    let fleet = up.json(&["fleet", "get", fleets[0]["id"].as_str().unwrap()]);
    assert!(fleet["installs"].is_null(), "nothing is on its way any more: {fleet}");
    // What it wrote is on its machine, and read through the control plane.
    let text = until("its output comes through the control plane", || {
        Some(up.output_of(&server)).filter(|text| text.contains("out "))
    });
    assert!(!text.contains("MS-S608"), "{text}");
}

/// "resumable, verified, … never starting from a partial install".
#[test]
fn a_fetch_that_is_cut_goes_on_where_it_ended_and_nothing_starts_before_it_is_whole() {
    if !can_hide() {
        return;
    }
    const LARGE: u64 = 256 << 20;
    let (home, far) = (Home::new(), Home::new());
    build(&home, |folder| std::fs::File::create(folder.join("large")).unwrap().set_len(LARGE).unwrap());
    let up = up(&home, &beyond());
    let (join, token) = (door(&up), token(&up, &[]));
    let agent = blind(&far, &home, &join, Some(&token));
    let coming = |at_least: u64| {
        let partial = listed(builds(&far).join("partial")).into_iter();
        let mut found = partial.filter_map(|path| std::fs::metadata(path).ok());
        found
            .find(|found| found.len() >= at_least && found.len() < LARGE)
            .map(|found| (found.ino(), found.len()))
    };
    let (file, come) = until("a part of the large file has come", || coming(1 << 20));
    agent.end(Signal::SIGKILL);
    assert_eq!(listed(builds(&far).join("installs")), Vec::<PathBuf>::new(), "nothing is whole yet");
    let kept = coming(come).unwrap_or_else(|| panic!("what has come is kept: {come}"));
    assert_eq!(kept.0, file);
    let _agent = blind(&far, &home, &join, None);
    let machine = connected(&up);
    allocated(&up, &machine);
    let install = listed(builds(&far).join("installs")).pop().unwrap();
    // Several files come at once: which of them was seen first is chance.
    let inodes = ["large", "bin/game"]
        .map(|path| std::fs::metadata(install.join(path)).map(|found| found.ino()).unwrap());
    assert!(inodes.contains(&file), "it is the very file that the first agent began: {file} in {inodes:?}");
    assert_eq!(std::fs::metadata(install.join("large")).unwrap().len(), LARGE);
    assert_eq!(listed(builds(&far).join("partial")), Vec::<PathBuf>::new());
}

/// "verified": what changed on the machine's own disk is found before a server starts from it.
#[test]
fn a_damaged_install_is_found_and_fetched_again() {
    if !can_hide() {
        return;
    }
    let (home, far) = (Home::new(), Home::new());
    build(&home, |_| {});
    let up = up(&home, &beyond());
    let (join, token) = (door(&up), token(&up, &[]));
    let agent = blind(&far, &home, &join, Some(&token));
    until("the build is whole", || (maps(&far) == ["first"]).then_some(()));
    agent.end(Signal::SIGTERM);
    let install = listed(builds(&far).join("installs")).pop().unwrap();
    std::fs::write(install.join("map"), "wrong").unwrap();
    let agent = blind(&far, &home, &join, None);
    agent.says("MS-S434");
    until("it is right again", || (maps(&far) == ["first"]).then_some(()));
    allocated(&up, &connected(&up));
}

/// A folder that changes is a new revision: no two machines run different things under one.
#[test]
fn a_folder_that_changed_is_a_new_revision_for_every_machine() {
    if !can_hide() {
        return;
    }
    let (home, one, other) = (Home::new(), Home::new(), Home::new());
    let folder = build(&home, |_| {});
    let up = up(&home, &beyond());
    let join = door(&up);
    let revision = || {
        let fleets = up.json(&["fleet", "list"]);
        up.json(&["fleet", "get", fleets[0]["id"].as_str().unwrap()])["buildConfigurations"][0]["revision"]
            .as_u64()
    };
    let before = revision().unwrap();
    let _one = blind(&one, &home, &join, Some(&token(&up, &[])));
    until("the build is whole", || (maps(&one) == ["first"]).then_some(()));
    std::fs::write(folder.join("map"), "second").unwrap();
    let _other = blind(&other, &home, &join, Some(&token(&up, &[])));
    until("the second machine has what is there now", || (maps(&other) == ["second"]).then_some(()));
    assert_eq!(revision(), Some(before + 1));
    until("and so has the first", || maps(&one).contains(&"second".to_owned()).then_some(()));
    assert_eq!(joined(&up).len(), 2);
}
