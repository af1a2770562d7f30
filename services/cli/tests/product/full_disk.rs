//! A full disk is the machine's trouble and no game's crash: nothing acknowledged is lost, and nothing is given up.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::far::{Agent, beyond, connected, door, token, with_slots};
use crate::game::{Game, Idle};
use crate::operating::admin;
use crate::product::{Home, lives, until};

/// A small disk of its own, taken away at the end.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn at(path: &Path) -> Self {
        std::fs::create_dir_all(path).unwrap();
        mount(Some("tmpfs"), path, Some("tmpfs"), MsFlags::empty(), Some("size=96m")).unwrap();
        Self(path.to_owned())
    }

    /// Fills it to the last byte.
    fn fill(&self) -> PathBuf {
        self.fill_more()
    }

    /// Fills what has been freed since.
    fn fill_more(&self) -> PathBuf {
        let path = self.0.join("filler");
        let mut file = File::options().create(true).append(true).open(&path).unwrap();
        for size in [1024 * 1024, 4096] {
            while file.write_all(&vec![1; size]).is_ok() {}
        }
        path
    }
}

/// Fills a disk for as long as it lives.
struct Filling {
    goes_on: Arc<AtomicBool>,
    filler: Option<JoinHandle<()>>,
}

impl SmallDisk {
    /// Takes whatever is freed, until what is returned is dropped.
    fn keep_full(&self) -> Filling {
        let goes_on = Arc::new(AtomicBool::new(true));
        let (disk, still) = (std::mem::ManuallyDrop::new(Self(self.0.clone())), Arc::clone(&goes_on));
        let filler = std::thread::spawn(move || {
            while still.load(Ordering::Relaxed) {
                disk.fill_more();
                // Slower than a commit that gives back and takes: else nothing of the reserve would reach the journal.
                std::thread::sleep(std::time::Duration::from_millis(25));
            }
        });
        Filling { goes_on, filler: Some(filler) }
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.goes_on.store(false, Ordering::Relaxed);
        if let Some(filler) = self.filler.take() {
            filler.join().unwrap();
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        umount2(&self.0, MntFlags::MNT_DETACH).unwrap();
    }
}

/// Issue 2, item 15: "a full disk: a clear error with a code; nothing acknowledged is lost".
#[test]
fn a_game_that_dies_on_a_full_disk_is_back_once_there_is_room() {
    if !geteuid().is_root() {
        eprintln!("SKIPPED without root: a full disk of its own");
        return;
    }
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let disk = SmallDisk::at(&home.path());
    let up = home.up(&[game.file()]);
    let (caller, fleet, id) = (up.caller(), fleet_of(&up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    let before = up.pid_when(&server, "ALLOCATED");

    let filler = disk.fill();
    kill(Pid::from_raw(before), Signal::SIGKILL).unwrap();
    until("the agent has met the full disk", || up.log().contains("tried again").then_some(()));
    let seen = up.server(&server);
    // What the journal held in reserve may have made room enough by now.
    assert!(seen["process"] == "starting" || seen["process"] == "online", "{seen}");
    assert_eq!(seen["allocationId"], id.as_str(), "{seen}");

    std::fs::remove_file(filler).unwrap();
    let after = until("the game is back under its allocation", || {
        let seen = up.server(&server);
        let pid = seen["pid"].as_i64().filter(|_| seen["process"] == "online")?;
        (pid != i64::from(before) && seen["allocationId"] == id.as_str()).then_some(pid)
    });
    assert!(lives(i32::try_from(after).unwrap()));
    up.stop();
}

/// Issue 3, section 10 ("operating it") and issue 2, item 15: a full disk of a machine elsewhere. Servers go on, what ends one
/// is obeyed, what starts one waits and says so with a code, it is said once, and everything goes on once there is room.
#[test]
fn a_machine_whose_disk_is_full_plays_on_says_so_once_and_recovers() {
    if !geteuid().is_root() {
        eprintln!("SKIPPED without root: a full disk of its own");
        return;
    }
    const SLOTS: usize = 12;
    let (home, far) = (Home::new(), Home::new());
    let program = Path::new(env!("CARGO_BIN_EXE_mainstay"));
    let file = home.path().with_file_name("many.yaml");
    let text = format!(
        "version: 1.0\n\
         builds:\n  game:\n    executableName: mainstay\n    buildPath: {folder:?}\n\
         buildConfigurations:\n  plain:\n    build: game\n    queryType: sqp\n    binaryPath: {binary:?}\n    \
         commandLine: demo server --port $$port$$ --query-port $$query_port$$\n\
         fleets:\n  here:\n    buildConfigurations: [plain]\n    \
         usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]\n    \
         regions:\n      Home: {{ minAvailable: 0, maxServers: 16 }}\n\
         machines: {{ join: allowed }}\n",
        folder = program.parent().unwrap().display().to_string(),
        binary = program.file_name().unwrap().to_str().unwrap(),
    );
    std::fs::write(&file, text).unwrap();
    let up = home.up(&[file.to_str().unwrap(), "--listen", &beyond()]);
    let disk = SmallDisk::at(&far.path());
    let slots = SLOTS.to_string();
    let agent = Agent::of(
        &far,
        with_slots(&far, &slots, &door(&up), Some(&token(&up, &[])), &["--builds", "in-place"]),
    );
    let machine = connected(&up);
    let of_machine = || up.json(&["machine", "get", &machine["id"].to_string()]);
    until("its disk is told", || of_machine()["disk"]["budget"].as_u64().filter(|budget| *budget > 0));
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let session = || {
        let id = new_id();
        assert!((200..300).contains(&caller.allocate(&fleet, &id).status));
        id
    };
    // Two that play: the fuller machine is taken first, so one of them may be on this host.
    let playing = || {
        let id = session();
        let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
        (id, up.pid_when(&server, "ALLOCATED"), server)
    };
    let on_it = |server: &str| up.server(server)["machineId"] == machine["id"];
    let mut first: Vec<(String, i32, String)> = Vec::new();
    while first.iter().filter(|(_, _, server)| on_it(server)).count() < 2 {
        assert!(first.len() < 4, "{first:?} are not on {machine}");
        first.push(playing());
    }
    first.retain(|(_, _, server)| on_it(server));
    let [(ended, ending, emptied), (_, stays, witness)] = <[_; 2]>::try_from(first).unwrap();
    // No more sessions than slots: a server that is given back would play on for one that waits.
    let further = SLOTS - 2;

    // What is freed in between (the journal's own reserve) is taken again; until then a further server may still start.
    let filler = disk.fill();
    let filling = disk.keep_full();
    let mut sessions = 0;
    let seen = until("a server says that it waits for room", || {
        let servers: Vec<Value> =
            up.servers().into_iter().filter(|it| it["machineId"] == machine["id"]).collect();
        let each = servers.iter().map(|it| up.server(&it["id"].to_string()));
        let mut starting =
            each.filter(|it| it["process"] != "online").filter(|it| it["status"] == "ALLOCATED").peekable();
        if starting.peek().is_none() && sessions < further {
            sessions += 1;
            let _taken = session();
        }
        starting.find(|it| it["detail"].as_str().is_some_and(|why| why.contains("MS-S622")))
    });
    drop(filling);
    assert_eq!(of_machine()["disk"]["fill"], "full");
    let (server, last) = (seen["id"].to_string(), seen["allocationId"].as_str().unwrap().to_owned());
    assert_eq!(seen["pid"], Value::Null, "{seen}");
    assert_eq!(of_machine()["status"], "connected", "the stream goes on");
    let doctor = up.run(&["doctor"]);
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("MS-S622"), "{doctor:?}");
    let metrics = caller.get("/metrics");
    assert!(metrics.text.contains("mainstay_machine_disks_full{region=\"Home\"} 1"), "{}", metrics.text);

    // What ends a server is obeyed: its process goes on after its allocation, until it is stopped.
    assert!(lives(ending) && lives(stays));
    assert_eq!(caller.delete(&format!("{}/{ended}", caller.allocations(&fleet.id))).status, 204);
    let stopped = up.run(&["server", "stop", &emptied]);
    assert!(stopped.status.success(), "{stopped:?}");
    until("the server that was given back is stopped", || (!lives(ending)).then_some(()));
    assert!(lives(stays), "{}", up.server(&witness));
    let said = agent.log().matches("this machine's disk is full").count();
    assert_eq!(said, 1, "{}", agent.log());

    std::fs::remove_file(filler).unwrap();
    assert_eq!(caller.fulfilled(&fleet, &last)["serverId"].to_string(), server);
    until("there is room again", || (of_machine()["disk"]["fill"] == "room").then_some(()));
    agent.says("has room again");
    assert!(lives(stays), "{}", up.server(&witness));
}

/// "/healthz, /readyz": a full disk of the control plane's own is told, refused with a code, and over once there is room.
/// Shows `PUT /builds/{id}/files, 503`.
#[test]
fn readiness_tells_a_full_disk_and_calls_that_grow_are_refused_until_there_is_room() {
    if !geteuid().is_root() {
        eprintln!("SKIPPED without root: a full disk of its own");
        return;
    }
    let (home, game) = (Home::new(), Game::new(Idle::Running, ""));
    let disk = SmallDisk::at(&home.path());
    let up = home.up(&[game.file()]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let asked = |path: &str| caller.get(path);
    assert_eq!(asked("/readyz").status, 200);
    let builds = admin(&caller, "builds", "/builds");
    let build = caller.post(&builds, br#"{"buildName":"new"}"#).json()["buildID"].to_string();
    let named = caller.put(&format!("{builds}/{build}/files"), br#"{"path":"server"}"#);
    assert_eq!((named.status, named.code.as_deref()), (503, Some("MS-U115")), "less than 512 MiB are free");
    // What is freed in between (a log's space, the journal's own) is taken again, until all of it has been seen.
    let filler = disk.fill();
    let filling = disk.keep_full();
    let mut taken = Vec::new();
    let refused = until("an allocation is refused for want of room", || {
        let id = new_id();
        let answer = caller.allocate(&fleet, &id);
        if answer.status < 300 {
            taken.push(id);
        }
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(refused.code.as_deref(), Some("MS-J102"), "{refused:?}");
    until("readiness tells the full disk", || {
        let ready = asked("/readyz");
        (ready.status == 503 && ready.text.contains("MS-J102")).then_some(())
    });
    assert_eq!(asked("/healthz").status, 200, "a restart would mend nothing");
    drop(filling);
    std::fs::remove_file(filler).unwrap();
    until("it is ready again", || (asked("/readyz").status == 200).then_some(()));
    for id in taken {
        assert_eq!(caller.delete(&format!("{}/{id}", caller.allocations(&fleet.id))).status, 204);
    }
    let id = new_id();
    until("a session is taken again", || (caller.allocate(&fleet, &id).status < 300).then_some(()));
    assert!(up.stop().success());
}
