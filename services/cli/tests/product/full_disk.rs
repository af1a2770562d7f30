//! A full disk is the machine's trouble and no game's crash: nothing acknowledged is lost, and nothing is given up.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};

use crate::allocations::fleet_of;
use crate::caller::new_id;
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
    let home = Home::new();
    let disk = SmallDisk::at(&home.path());
    let up = home.up(&["--demo"]);
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

/// "/healthz, /readyz": a full disk of the control plane's own is told, refused with a code, and over once there is room.
#[test]
fn readiness_tells_a_full_disk_and_calls_that_grow_are_refused_until_there_is_room() {
    if !geteuid().is_root() {
        eprintln!("SKIPPED without root: a full disk of its own");
        return;
    }
    let home = Home::new();
    let disk = SmallDisk::at(&home.path());
    let up = home.up(&["--demo"]);
    let (caller, fleet) = (up.caller(), fleet_of(&up));
    let asked = |path: &str| caller.get(path);
    assert_eq!(asked("/readyz").status, 200);
    let mut filler = disk.fill();
    let refused = until("an allocation is refused for want of room", || {
        filler = disk.fill_more();
        let answer = caller.allocate(&fleet, &new_id());
        (answer.status == 503).then_some(answer)
    });
    assert_eq!(refused.code.as_deref(), Some("MS-J102"), "{refused:?}");
    let ready = asked("/readyz");
    assert_eq!(ready.status, 503, "{ready:?}");
    assert!(ready.text.contains("MS-J102"), "{ready:?}");
    assert_eq!(asked("/healthz").status, 200, "a restart would mend nothing");
    std::fs::remove_file(filler).unwrap();
    until("it is ready again", || (asked("/readyz").status == 200).then_some(()));
    let id = new_id();
    until("a session is taken again", || (caller.allocate(&fleet, &id).status < 300).then_some(()));
    assert!(up.stop().success());
}
