//! Builds that are container images (issue 3, section 3): made by umoci(1), run by runc(8) under the same holder. They need
//! root and both programs; without them these tests say loudly that they did not run.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use mainstay_query::Protocol;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::allocations::fleet_of;
use crate::builds::{allocated, blind, builds, can_hide, listed};
use crate::caller::new_id;
use crate::far::{beyond, connected, door, token};
use crate::game::{TOKEN, command};
use crate::product::{Home, Product, lives, processes_of, until};
use crate::query::ask;

fn can_contain() -> bool {
    let has = |program: &str| {
        Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success())
    };
    let can = nix::unistd::geteuid().is_root() && has("umoci") && has("runc");
    if !can {
        eprintln!("SKIPPED, LOUDLY: no containers here (root, runc and umoci are needed); nothing was shown");
    }
    can
}

#[track_caller]
fn must(program: &str, words: &[&str], folder: &Path) {
    let done = Command::new(program).args(words).current_dir(folder).output().unwrap();
    assert!(done.status.success(), "{program} {words:?}: {}", String::from_utf8_lossy(&done.stderr));
}

/// An image with the game and the libraries it needs, in a folder of the OCI layout; beside `up`'s data.
fn image(home: &Home) -> PathBuf {
    let folder = home.path().parent().unwrap().to_owned();
    must("umoci", &["init", "--layout", "image"], &folder);
    must("umoci", &["new", "--image", "image:v1"], &folder);
    must("umoci", &["unpack", "--image", "image:v1", "bundle"], &folder);
    let root = folder.join("bundle/rootfs");
    let game = env!("CARGO_BIN_EXE_mainstay");
    let linked = Command::new("ldd").arg(game).output().unwrap();
    let linked = String::from_utf8(linked.stdout).unwrap();
    let libraries = linked.split_whitespace().filter(|word| word.starts_with('/')).map(str::to_owned);
    for (from, to) in
        libraries.map(|path| (path.clone(), path)).chain([(game.to_owned(), "/bin/game".to_owned())])
    {
        let to = root.join(to.trim_start_matches('/'));
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from, to).unwrap();
    }
    must("umoci", &["repack", "--image", "image:v1", "bundle"], &folder);
    must("umoci", &["config", "--image", "image:v1", "--config.env", "FROM_IMAGE=yes"], &folder);
    std::fs::remove_dir_all(folder.join("bundle")).unwrap();
    folder.join("image")
}

/// A fleet that runs an image.
fn configuration(home: &Home, image: &str) -> PathBuf {
    let file = home.path().with_file_name("contained.yaml");
    let text = format!(
        "version: 1.0\n\
         builds:\n  game:\n    executableName: game\n    image: {image}\n\
         buildConfigurations:\n  plain:\n    build: game\n    queryType: sqp\n    binaryPath: bin/game\n    \
         commandLine: demo server --port $$port$$ --query-port $$query_port$$ --control-token {TOKEN}\n    \
         env: {{ DECLARED: \"1\" }}\n\
         fleets:\n  here:\n    buildConfigurations: [plain]\n    \
         usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]\n    \
         regions:\n      Home: {{ minAvailable: 0, maxServers: 2 }}\n\
         machines: {{ join: allowed }}\n"
    );
    std::fs::write(&file, text).unwrap();
    file
}

fn up<'a>(home: &'a Home, image: &str, more: &[&str]) -> Product<'a> {
    let file = configuration(home, image);
    home.up(&[&[file.to_str().unwrap()], more].concat())
}

/// The game's own process: the one with the program of the image.
fn game(home: &Home) -> Option<i32> {
    let folder = builds(home).join("installs");
    let is_game = |pid: &i32| {
        let said = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let runs = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        runs.starts_with(b"/bin/game\0") && said.windows(15).any(|part| part == b"FROM_IMAGE=yes\0")
    };
    let root = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/mountinfo")).unwrap_or_default();
    let all = procfs::process::all_processes().unwrap().filter_map(Result::ok).map(|process| process.pid);
    let marks = listed(folder).pop()?.file_name()?.to_string_lossy().into_owned();
    all.filter(|pid| is_game(pid)).find(|pid| root(pid).contains(&marks))
}

/// A path as a process sees it.
fn seen_by(pid: i32, path: &str) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join("root").join(path)
}

/// "A build may be an OCI image …, run through `runc` under the same holder with the same ports, `server.json`, checks, exit
/// codes and SIGKILL survival." "The second stage of the server lifecycle involves using information (such as the build and
/// configuration options) to start the build executable (or Docker image) as a process in the server slot" (seed 002).
#[test]
fn an_image_is_a_build_and_its_server_outlives_a_killed_up() {
    if !can_contain() {
        return;
    }
    let home = Home::new();
    let layout = image(&home);
    let folder = layout.parent().unwrap();
    must("tar", &["-C", "image", "-cf", "image.tar", "."], folder);
    let first = up(&home, "oci-archive:./image.tar:v1", &[]);
    let (caller, fleet, id) = (first.caller(), fleet_of(&first), new_id());
    caller.allocate(&fleet, &id);
    let seen = caller.fulfilled(&fleet, &id);
    let server = seen["serverId"].to_string();
    let pid = first.pid_when(&server, "ALLOCATED");
    let inside = until("the game runs in its container", || game(&home));
    assert_eq!(inside, pid, "the pid that is told is the game's own");
    let environ = std::fs::read(format!("/proc/{inside}/environ")).unwrap();
    let words: Vec<String> =
        environ.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    for word in ["DECLARED=1", "HOME=/mainstay/home"] {
        assert!(words.iter().any(|found| found == word), "{word}: {words:?}");
    }
    let status = std::fs::read_to_string(format!("/proc/{inside}/status")).unwrap();
    assert!(status.contains("NoNewPrivs:\t1") && status.contains("CapEff:\t0000000000000000"), "{status}");
    assert!(!status.contains("Uid:\t0\t"), "the slot's own user: {status}");
    let json = std::fs::read_to_string(seen_by(inside, "mainstay/home/server.json")).unwrap();
    assert!(json.contains(&id) && json.contains("/mainstay/logs"), "{json}");
    assert!(!seen_by(inside, "etc/shadow").exists(), "its root is the image");
    // SIGKILL of everything that is not the game's: it plays on, and is found.
    first.kill_nine();
    assert!(lives(inside) && lives(pid));
    let second = up(&home, "oci-archive:./image.tar:v1", &[]);
    assert_eq!(second.pid_when(&server, "ALLOCATED"), pid);
    assert_eq!(game(&home), Some(inside));
    // A crash: back under the same allocation.
    kill(Pid::from_raw(inside), Signal::SIGKILL).unwrap();
    let next = until("it is back under its allocation", || game(&home).filter(|next| *next != inside));
    assert_eq!(second.server(&server)["allocationId"], id.as_str());
    second.pid_when(&server, "ALLOCATED");
    let incident = second.server(&server)["lastIncident"].clone();
    assert_eq!((&incident["signal"], &incident["exitCode"]), (&9.into(), &Value::Null), "{incident}");
    // Its holder dies while no agent lives that could hear of it: nobody would ever end it.
    second.kill_nine();
    assert!(lives(next));
    kill(parent(next), Signal::SIGKILL).unwrap();
    until("a game without a holder is gone", || (!lives(next)).then_some(()));
    until("so is what watched it", || processes_of(&home.path()).is_empty().then_some(()));
}

/// Who is told of a process's end.
fn parent(pid: i32) -> Pid {
    Pid::from_raw(procfs::process::Process::new(pid).unwrap().stat().unwrap().ppid)
}

/// The groups of a running instance, in all hierarchies.
fn groups(home: &Home) -> Vec<PathBuf> {
    let agent = std::fs::metadata(home.path().join("agent")).unwrap();
    let name = format!("mainstay/{:x}-{:x}", agent.dev(), agent.ino());
    let tops = listed("/sys/fs/cgroup".into()).into_iter().chain(["/sys/fs/cgroup".into()]);
    tops.map(|top| top.join(&name)).filter(|group| group.is_dir()).collect()
}

/// "with the same ports, `server.json`, checks, exit codes": its query is asked on the slot's port, a game that hangs is ended by
/// SIGSEGV, one that exits by itself shows its own code, and one that the kernel ends for want of memory is told apart.
#[test]
fn a_contained_game_is_checked_and_ends_in_the_same_words_as_any_other() {
    if !can_contain() {
        return;
    }
    let home = Home::new();
    image(&home);
    let file = configuration(&home, "oci:./image:v1");
    let text = std::fs::read_to_string(&file).unwrap().replace(
        "    env: {",
        "    limits: { memoryMiB: 256 }\n    caps: { memoryMiB: 512 }\n    recovery: restart\n    \
         restart: { attempts: 9 }\n    checks: { every: 1s, failures: 6, within: 1m, cpuTolerance: 1000% }\n    env: {",
    );
    std::fs::write(&file, text).unwrap();
    let up = home.up(&[file.to_str().unwrap()]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    let port = |name: &str| u16::try_from(up.server(&server)[name].as_u64().unwrap()).unwrap();
    until("it answers its query", || ask(&Protocol::Sqp, port("queryPort")));
    let next = |what: &str, how: &str, told: &dyn Fn(&Value) -> bool| {
        let before = up.pid_when(&server, "ALLOCATED");
        command(port("port"), how);
        let incident = until(what, || {
            let incident = up.server(&server)["lastIncident"].clone();
            told(&incident).then_some(incident)
        });
        until("it is back", || (up.pid_when(&server, "ALLOCATED") != before).then_some(()));
        assert_eq!(up.server(&server)["allocationId"], id.as_str(), "{incident}");
    };
    next("its own exit code", "exit=42", &|seen| seen["exitCode"] == 42);
    next("a check that failed", "hang", &|seen| seen["check"] == "query" && seen["signal"] == 11);
    let memory_is_ours = std::fs::read_dir("/sys/fs/cgroup").is_ok_and(|entries| {
        entries
            .filter_map(Result::ok)
            .any(|entry| entry.path().join("mainstay").is_dir() || entry.file_name() == "mainstay")
    });
    if memory_is_ours {
        next("the kernel's answer to its memory cap", "eat-memory=900M", &|seen| seen["outOfMemory"] == true);
    } else {
        eprintln!("SKIPPED, LOUDLY: no writable control groups here; no oom kill was shown");
    }
    assert_eq!(groups(&home).is_empty(), !memory_is_ours);
    assert!(up.stop().success());
    assert_eq!(processes_of(&home.path()), Vec::<i32>::new());
    assert_eq!(groups(&home), Vec::<PathBuf>::new(), "what runc made is taken away in every hierarchy");
}

/// The same cache, and the same fetch, for machines that cannot see the control plane's files.
#[test]
fn an_image_is_fetched_by_machines_elsewhere() {
    if !can_contain() || !can_hide() {
        return;
    }
    let (home, far) = (Home::new(), Home::new());
    image(&home);
    let up = up(&home, "oci:./image:v1", &["--listen", &beyond()]);
    let _agent = blind(&far, &home, &door(&up), Some(&token(&up, &[])));
    allocated(&up, &connected(&up));
    until("the game runs in its container there", || game(&far));
}

/// A registry of its own, with the image in it; ends with the test.
struct Registry(std::process::Child);

impl Drop for Registry {
    fn drop(&mut self) {
        // Ended already is as good.
        let _gone = self.0.kill();
        let _reaped = self.0.wait();
    }
}

fn can_register() -> bool {
    let has = |program: &str| {
        Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success())
    };
    let can = has("skopeo") && has("docker-registry");
    if !can {
        eprintln!(
            "SKIPPED, LOUDLY: no registry here (skopeo and docker-registry are needed); nothing was shown"
        );
    }
    can
}

fn registry(home: &Home) -> (Registry, u16) {
    let folder = home.path().parent().unwrap().to_owned();
    // Taken a moment later by the registry: nobody else of this test asks for a port meanwhile.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "version: 0.1\nlog: {{ level: error }}\nstorage: {{ filesystem: {{ rootdirectory: {:?} }} }}\nhttp: {{ addr: \"127.0.0.1:{port}\" }}\n",
        folder.join("registry")
    );
    std::fs::write(folder.join("registry.yml"), config).unwrap();
    let insecure = format!("[[registry]]\nlocation = \"127.0.0.1:{port}\"\ninsecure = true\n");
    // Read by skopeo in its user's home.
    std::fs::create_dir_all(folder.join("user/.config/containers")).unwrap();
    std::fs::write(folder.join("user/.config/containers/registries.conf"), insecure).unwrap();
    let serving = Command::new("docker-registry")
        .args(["serve", "registry.yml"])
        .current_dir(&folder)
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let serving = Registry(serving);
    until("the registry is there", || std::net::TcpStream::connect(("127.0.0.1", port)).ok());
    let to = format!("docker://127.0.0.1:{port}/studio/game:1.2");
    must("skopeo", &["copy", "--quiet", "--dest-tls-verify=false", "oci:image:v1", &to], &folder);
    (serving, port)
}

/// "from a registry or a local OCI archive".
#[test]
fn an_image_comes_from_a_registry() {
    if !can_contain() || !can_register() {
        return;
    }
    let home = Home::new();
    image(&home);
    let (_registry, port) = registry(&home);
    let file = configuration(&home, &format!("docker://127.0.0.1:{port}/studio/game:1.2"));
    let user = home.path().with_file_name("user");
    let up = home.up_with(&[file.to_str().unwrap()], &[("HOME", user.to_str().unwrap())]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    caller.fulfilled(&fleet, &id);
    until("the game runs in its container", || game(&home));
    assert!(up.stop().success());
}
