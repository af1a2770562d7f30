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
    blind_with(far, up, join, token, &[])
}

/// As [`blind`], with more words.
#[track_caller]
pub fn blind_with(far: &Home, up: &Home, join: &str, token: Option<&str>, more: &[&str]) -> Agent {
    let agent = crate::far::command(far, join, token, &[&["--builds", "fetch"], more].concat());
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

/// A game that writes a log of 3 MiB, and goes where it may leave a core.
const LOUD: &str =
    "#!/bin/sh\nhead -c 3145728 /dev/zero > \"$1/match.$$.log\"\ncd \"$2\" && exec sleep 100000\n";

/// A version of it, with a map of 3 MiB.
fn loud(home: &Home, version: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = home.path().with_file_name(version);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("game"), LOUD).unwrap();
    std::fs::set_permissions(folder.join("game"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(folder.join("map"), version.repeat((3 << 20) / version.len())).unwrap();
}

fn loud_file(home: &Home, version: &str) -> PathBuf {
    let file = home.path().with_file_name("loud.yaml");
    let text = format!(
        "version: 1.0\n\
         builds:\n  game:\n    executableName: game\n    buildPath: ./{version}\n\
         buildConfigurations:\n  plain:\n    build: game\n    queryType: none\n    binaryPath: game\n    \
         commandLine: $$log_dir$$ $$work_dir$$\n    restart: {{ attempts: 3 }}\n\
         fleets:\n  here:\n    buildConfigurations: [plain]\n    \
         usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]\n    \
         regions:\n      Home: {{ minAvailable: 0, maxServers: 3 }}\n\
         machines: {{ join: allowed }}\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

/// Issue 3, section 10: "one disk budget a machine for game logs, cores, evidence and old builds", filled with real ones: the
/// oldest go in their order, never a build in use.
#[test]
fn a_machine_over_its_disk_budget_gives_up_the_oldest_and_never_a_build_in_use() {
    if !can_hide() {
        return;
    }
    let (home, far) = (Home::new(), Home::new());
    for version in ["one", "two", "three"] {
        loud(&home, version);
    }
    let up = home.up(&[loud_file(&home, "one").to_str().unwrap(), "--listen", &beyond()]);
    let (join, token) = (door(&up), token(&up, &[]));
    // Three times three MiB and a little.
    let _agent = blind_with(&far, &home, &join, Some(&token), &["--disk", "10M"]);
    let machine = connected(&up);
    let seen = allocated(&up, &machine);
    let server = seen["serverId"].to_string();
    let slot = far.path().join("agent/slots").join(&server);
    let logs = || {
        let matches = listed(slot.join("logs")).into_iter();
        matches.filter(|path| path.to_string_lossy().contains("match.")).collect::<Vec<_>>()
    };
    let before = up.pid_when(&server, "ALLOCATED");
    let old = until("a log", || logs().pop().filter(|log| std::fs::metadata(log).unwrap().len() == 3 << 20));
    until("the game sleeps", || {
        std::fs::read_to_string(format!("/proc/{before}/comm"))
            .is_ok_and(|comm| comm == "sleep\n")
            .then_some(())
    });
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(before), Signal::SIGSEGV).unwrap();
    until("another process", || (up.pid_when(&server, "ALLOCATED") != before).then_some(()));
    let kept = until("evidence", || {
        listed(slot.join("evidence")).pop().filter(|run| run.join("incident.json").exists())
    });
    let pattern = std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if !pattern.starts_with(['|', '/']) {
        assert!(
            kept.join("core").exists(),
            "the kernel writes cores beside the game: {:?}",
            listed(slot.join("evidence"))
        );
    }
    until("a log of the second process", || (logs().len() == 2).then_some(()));
    // Nobody has written it for hours: it may go.
    let hours_ago = std::time::SystemTime::now().checked_sub(std::time::Duration::from_secs(7_200)).unwrap();
    std::fs::File::options().append(true).open(&old).unwrap().set_modified(hours_ago).unwrap();

    let versions = || {
        let mut found: Vec<String> = maps(&far).iter().map(|map| map.chars().take(3).collect()).collect();
        found.sort();
        found
    };
    let apply = |version| {
        let applied = up.run(&["apply", loud_file(&home, version).to_str().unwrap()]);
        assert!(applied.status.success(), "{applied:?}");
    };
    apply("two");
    until("the second version is there", || (versions() == ["one", "two"]).then_some(()));
    assert!(!kept.exists() && !old.exists(), "the core, the evidence and the old log made room");
    assert_eq!(logs().len(), 1, "what is fresh stays");
    apply("three");
    until("the third is there, in the place of one that no server uses", || {
        (versions() == ["one", "thr"]).then_some(())
    });
    assert_eq!(logs().len(), 1);
    let disk = until("what was deleted is told", || {
        let disk = up.json(&["machine", "get", &machine["id"].to_string()])["disk"].clone();
        disk["deleted"].as_u64().is_some_and(|deleted| deleted > 6 << 20).then_some(disk)
    });
    assert_eq!(disk["budget"], 10 << 20, "{disk}");
    assert_eq!(up.server(&server)["status"], "ALLOCATED");
}
