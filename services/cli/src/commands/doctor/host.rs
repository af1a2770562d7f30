//! What this host gives: room on the disk, files that are nobody else's, cores, descriptors, open doors.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use mainstay_agent::os::ports::{TakenPorts, Transport};
use mainstay_control::doctor::Finding;
use mainstay_control::slot_files;
use nix::sys::resource::{Resource, getrlimit};

use crate::client::{CREDENTIALS_FILE, Ports};
use crate::system::DESCRIPTORS_WANTED;

/// Below this the journal's reserve is all that is left before long: uploads stop at the same point.
const DISK_FREE_FAIL: u64 = 512 << 20;
/// Below this somebody should look: cores and logs of a busy day.
const DISK_FREE_WARN: u64 = 4 << 30;
/// How long a door may take to open: it is on this host.
const DOOR_WITHIN: Duration = Duration::from_secs(2);

/// What `up` listens on unless it is told otherwise.
const PORTS: [u16; 4] = [7420, 7421, 7422, 8086];

/// Everything that this host shows.
pub fn look(data_dir: &Path) -> Vec<Finding> {
    vec![disk(data_dir), files(data_dir), cores(), descriptors()]
}

fn disk(data_dir: &Path) -> Finding {
    let check = "disk";
    let free = match slot_files::free(data_dir) {
        Ok(free) => free,
        Err(error) => {
            return Finding::fail(check, error.to_string(), "MS-U012", "look whether the disk is mounted");
        }
    };
    let why = format!("{} MiB are free under {}", free >> 20, data_dir.display());
    let fix = "free some space: old logs, cores and builds lie in agent/slots and builds";
    match free {
        0..DISK_FREE_FAIL => Finding::fail(check, why, "MS-J008", fix),
        DISK_FREE_FAIL..DISK_FREE_WARN => Finding::warn(check, why, "MS-U035", fix),
        DISK_FREE_WARN.. => Finding::ok(check, why),
    }
}

/// The data directory and the secrets in it are their owner's alone.
fn files(data_dir: &Path) -> Finding {
    let check = "secrets";
    for (path, mask) in [(data_dir.to_owned(), 0o022), (data_dir.join(CREDENTIALS_FILE), 0o077)] {
        let mode = match std::fs::metadata(&path) {
            Ok(found) => found.permissions().mode() & 0o7777,
            // A machine that only runs an agent has none.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Finding::fail(
                    check,
                    format!("{}: {error}", path.display()),
                    "MS-U012",
                    "give the directory back to the user who runs Mainstay",
                );
            }
        };
        if mode & mask != 0 {
            let why = format!("{} has mode {mode:04o}: others than its owner can use it", path.display());
            return Finding::fail(
                check,
                why,
                "MS-U036",
                "chmod go-rwx it, and change the secret if others may have read it",
            );
        }
    }
    Finding::ok(check, "the data directory and credentials.json are their owner's alone")
}

/// Where the kernel puts cores.
fn cores() -> Finding {
    let check = "cores";
    const PATTERN: &str = "/proc/sys/kernel/core_pattern";
    match std::fs::read_to_string(PATTERN) {
        Err(error) => Finding::warn(check, format!("{PATTERN}: {error}"), "MS-U034", "is /proc mounted?"),
        Ok(pattern) => {
            let pattern = pattern.trim();
            if pattern.starts_with('|') {
                let why = format!(
                    "the kernel hands cores to a program ({pattern}): none is kept with a crash's evidence"
                );
                let fix = "sysctl kernel.core_pattern=/var/tmp/core.%p, or fetch them from that program (coredumpctl)";
                Finding::warn(check, why, "MS-U034", fix)
            } else if !pattern.starts_with('/') && nix::unistd::geteuid().is_root() {
                let why = format!(
                    "the kernel writes cores as {pattern:?} into a game's working directory, its build's folder, where \
                     its slot's user may not write: none is kept with a crash's evidence"
                );
                let fix = "sysctl kernel.core_pattern=/var/tmp/core.%p";
                Finding::warn(check, why, "MS-U034", fix)
            } else {
                Finding::ok(check, format!("the kernel writes cores as {pattern:?}"))
            }
        }
    }
}

fn descriptors() -> Finding {
    let check = "file descriptors";
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Err(error) => Finding::warn(check, error.to_string(), "MS-U037", "look at ulimit -Hn"),
        Ok((_soft, hard)) if hard >= DESCRIPTORS_WANTED => Finding::ok(check, format!("{hard} are allowed")),
        Ok((_soft, hard)) => {
            let why =
                format!("{hard} are allowed, {DESCRIPTORS_WANTED} are wanted for many servers and callers");
            Finding::warn(
                check,
                why,
                "MS-U037",
                "raise the hard limit: ulimit -Hn, or LimitNOFILE= of the unit",
            )
        }
    }
}

/// Who has the ports that the next start would take.
pub fn ports() -> Finding {
    let check = "ports";
    let taken = match TakenPorts::read() {
        Ok(taken) => taken,
        Err(error) => return Finding::warn(check, error.to_string(), "MS-S507", "is /proc mounted?"),
    };
    let held = |port: u16| match taken.holder(port, Transport::Tcp) {
        Ok(holder) => holder.map(|holder| holder.to_string()),
        Err(error) => Some(format!("port {port} is taken, and who has it cannot be told: {error}")),
    };
    let held: Vec<String> = PORTS.into_iter().filter_map(held).collect();
    if held.is_empty() {
        Finding::ok(check, format!("{PORTS:?} are free"))
    } else {
        let fix = "stop what holds them, or let Mainstay choose: mainstay up --ports auto";
        Finding::warn(check, held.join("; "), "MS-U020", fix)
    }
}

/// Whether something answers where the instance says that it listens.
pub fn doors(ports: &Ports) -> Vec<Finding> {
    let all = [("agents' port", &ports.agents), ("games' port", &ports.multiplay)];
    all.into_iter().map(|(check, url)| door(check, url)).collect()
}

fn door(check: &str, url: &str) -> Finding {
    let address = url.rsplit_once("//").and_then(|(_, address)| address.parse::<SocketAddr>().ok());
    let opened = match address {
        Some(address) => {
            TcpStream::connect_timeout(&address, DOOR_WITHIN).map(drop).map_err(|error| error.to_string())
        }
        None => Err("it is no address".to_owned()),
    };
    match opened {
        Ok(()) => Finding::ok(check, format!("{url} takes connections")),
        Err(error) => {
            let fix = "restart the instance; ports.json is written anew";
            Finding::fail(check, format!("{url}: {error}"), "MS-U002", fix)
        }
    }
}
