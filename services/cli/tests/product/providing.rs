//! Machines that a provider's program makes: real agents in network namespaces, which come when they are needed and go when
//! they are not; and what becomes of one that is slow, cut off, or dead. It needs root and iproute2; without either this
//! test says loudly that it did not run.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sched::{CloneFlags, setns};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::allocations::fleet_of;
use crate::caller::new_id;
use crate::far::mode;
use crate::game::{TOKEN, command};
use crate::joining::growing;
use crate::product::{Home, Product, lives, processes_of, until};

/// Makes a "machine" of a network namespace on a bridge, with an agent in it.
const PROVIDER: &str = r#"#!/bin/sh
set -eu
here=$MACHINES
machine=$here/${MAINSTAY_MACHINE:-none}
number=${machine##*-}
case $1 in
create)
    [ ! -e "$machine.deleted" ] && [ ! -e "$machine" ] || exit 0
    mkdir -p "$machine"
    space=$TAG-$number
    ip netns add "$space"
    ip link add "$TAG$number" type veth peer name eth0 netns "$space"
    ip link set "$TAG$number" master "$BRIDGE" up
    ip -n "$space" address add "$NET.$((10 + number))/24" dev eth0
    ip -n "$space" link set eth0 up
    ip -n "$space" link set lo up
    export MAINSTAY_JOIN_TOKEN
    setsid ip netns exec "$space" "$MAINSTAY" agent --join "$MAINSTAY_JOIN_URL" --machine-key "$MAINSTAY_MACHINE_KEY" \
        --slots "$MAINSTAY_SLOTS" --builds in-place --name "$MAINSTAY_MACHINE" --ports "$FIRST_PORT-$((FIRST_PORT + 39))" --games-port 0 \
        --data-dir "$machine/data" </dev/null >"$machine/agent.log" 2>&1 &
    echo $! >"$machine/pid"
    ;;
delete)
    : >"$machine.deleted"
    for process in /proc/[0-9]*; do
        if grep -q -a -F "$machine/" "$process/cmdline" 2>/dev/null; then
            kill -KILL "${process#/proc/}" 2>/dev/null || true
        fi
    done
    ip link delete "$TAG$number" 2>/dev/null || true
    ip netns delete "$TAG-$number" 2>/dev/null || true
    rm -rf "$machine"
    ;;
list)
    names=
    for machine in "$here"/mch-*; do
        [ -e "$machine/pid" ] && [ -d "/proc/$(cat "$machine/pid")" ] || continue
        names="$names${names:+,}\"${machine##*/}\""
    done
    echo "{\"machines\":[$names]}"
    ;;
esac
"#;

/// A bridge on this host, and a provider whose machines hang on it.
struct Cloud {
    tag: String,
    net: String,
    machines: PathBuf,
    program: PathBuf,
    first_port: u32,
}

/// What becomes of a lost machine's allocations.
#[derive(Debug, Clone, Copy)]
enum OnLoss {
    Fail,
    PlaceAnew,
}

fn ip(words: &str) -> bool {
    Command::new("ip").args(words.split(' ')).output().is_ok_and(|done| done.status.success())
}

impl Cloud {
    /// `None` where this host does not let us make one.
    fn new(home: &Home) -> Option<Self> {
        let process = std::process::id();
        let [high, low] = [(process >> 8) & 0xff, process & 0xff];
        // A net of its own for each run (RFC 2544), apart from those of the tests of single namespaces.
        let net = format!("198.{}.{low}", 18 + (high & 1));
        let tag = format!("q{process:x}");
        let bridge = format!("{tag}b");
        if !nix::unistd::geteuid().is_root() || !ip(&format!("link add {bridge} type bridge")) {
            eprintln!(
                "SKIPPED, LOUDLY: no network namespaces here (root and iproute2 are needed); nothing was shown"
            );
            return None;
        }
        let machines = home.path().with_file_name("machines");
        std::fs::create_dir_all(&machines).unwrap();
        let program = home.path().with_file_name("provider");
        std::fs::write(&program, PROVIDER).unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(mode(&program), 0o755);
        let cloud = Self { tag, net, machines, program, first_port: 6_000 + process % 90 * 40 };
        assert!(
            ip(&format!("address add {}.1/24 dev {bridge}", cloud.net))
                && ip(&format!("link set {bridge} up"))
        );
        Some(cloud)
    }

    /// The fleet of `joining`, with its machines from here, and games that are told what to do.
    fn file(&self, ttl: &str, lost: OnLoss) -> String {
        let fleet = growing()
            .replace("machines: { join: allowed }\n", "")
            .replace(
                "--query-port $$query_port$$",
                &format!("--query-port $$query_port$$ --control-token {TOKEN}"),
            )
            .replace("queryType: sqp\n", "queryType: sqp\n    stop: { signal: SIGTERM, killTimeout: 5s }\n")
            .replace("maxServers: 2 }", "maxServers: 4, provider: cloud }");
        let lost = match lost {
            OnLoss::Fail => "fail",
            OnLoss::PlaceAnew => "placeAnew",
        };
        let Self { tag, net, machines, program, first_port } = self;
        format!(
            "{fleet}    ttl: {ttl}\n    lost: {{ after: 15s, allocations: {lost} }}\n    placementTimeout: 2m\n\
             providers:\n  cloud:\n    command: {program:?}\n    slots: 1\n    maxMachines: 4\n    listEvery: 500ms\n    \
             env: {{ MACHINES: {machines:?}, MAINSTAY: {mainstay:?}, TAG: {tag}, BRIDGE: {tag}b, NET: {net:?}, \
             FIRST_PORT: \"{first_port}\" }}\n",
            mainstay = env!("CARGO_BIN_EXE_mainstay"),
        )
    }

    /// Tells the game of the only server of a machine to do something.
    #[track_caller]
    fn tell(&self, up: &Product<'_>, machine: &Value, what: &str) -> Value {
        let servers = up.servers();
        let server = servers.into_iter().find(|it| it["machineId"] == machine["id"]).unwrap();
        let port = u16::try_from(server["port"].as_u64().unwrap()).unwrap();
        let number = machine["display"].as_str().unwrap().rsplit('-').next().unwrap();
        // Games are told from their own machine alone: a thread goes there.
        let space = std::fs::File::open(format!("/run/netns/{}-{number}", self.tag)).unwrap();
        let tell = || {
            setns(&space, CloneFlags::CLONE_NEWNET).unwrap();
            command(port, what);
        };
        std::thread::scope(|scope| scope.spawn(tell).join().unwrap());
        server
    }

    fn agent(&self, machine: &str) -> i32 {
        std::fs::read_to_string(self.machines.join(machine).join("pid")).unwrap().trim().parse().unwrap()
    }

    fn line(&self, machine: &str, word: &str) {
        let number = machine.rsplit('-').next().unwrap();
        assert!(ip(&format!("link set {}{number} {word}", self.tag)), "{word}");
    }

    /// Everything on a machine at once, as when its host burns down.
    fn burn(&self, machine: &str) {
        for pid in processes_of(&self.machines.join(machine)) {
            // Gone in between is as good.
            let _gone = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

impl Drop for Cloud {
    fn drop(&mut self) {
        for machine in std::fs::read_dir(&self.machines).into_iter().flatten().flatten() {
            let name = machine.file_name().to_string_lossy().into_owned();
            if machine.path().is_dir() {
                self.burn(&name);
            }
            let number = name.trim_end_matches(".deleted").rsplit('-').next().unwrap_or_default().to_owned();
            // What was never made is gone already.
            let _line = ip(&format!("link delete {}{number}", self.tag));
            let _space = ip(&format!("netns delete {}-{number}", self.tag));
        }
        let _bridge = ip(&format!("link delete {}b", self.tag));
    }
}

fn write(home: &Home, text: &str) -> PathBuf {
    let file = home.path().with_file_name("providing.yaml");
    std::fs::write(&file, text).unwrap();
    file
}

fn machines(up: &Product<'_>) -> Vec<Value> {
    let all = up.json(&["machine", "list"]);
    let ids = all.as_array().unwrap().iter().map(|machine| machine["id"].to_string());
    // One that goes in between is gone.
    ids.filter_map(|id| {
        let seen = up.run(&["machine", "get", &id]);
        seen.status.success().then(|| serde_json::from_slice(&seen.stdout).unwrap())
    })
    .collect()
}

fn machine(up: &Product<'_>, name: &str) -> Option<Value> {
    machines(up).into_iter().find(|machine| machine["display"] == name)
}

/// Allocates, and says on which machine and in which process it plays.
#[track_caller]
fn play(up: &Product<'_>) -> (String, String, i32) {
    let (caller, fleet, id) = (up.caller(), fleet_of(up), new_id());
    caller.allocate(&fleet, &id);
    let server = caller.fulfilled(&fleet, &id)["serverId"].to_string();
    let pid = up.pid_when(&server, "ALLOCATED");
    let number = up.server(&server)["machineId"].clone();
    let all = machines(up);
    let on = all.iter().find(|machine| machine["id"] == number);
    let on = on.unwrap_or_else(|| panic!("no machine {number} in {all:?}"));
    (id, on["display"].as_str().unwrap().to_owned(), pid)
}

fn state(up: &Product<'_>, allocation: &str) -> Value {
    up.json(&["allocation", "get", allocation])["state"].clone()
}

/// Issue 3, section 4: "Tests provision real agents in network namespaces through the `command` provider and watch fleets
/// grow, drain and shrink; a machine cut off from the network, and one that dies, are told apart from a slow one, their
/// allocations reported lost once […], and a machine that comes back is fenced by generation."
#[test]
fn machines_come_are_slow_are_cut_off_die_and_go() {
    let home = Home::new();
    let Some(cloud) = Cloud::new(&home) else { return };
    let file = write(&home, &cloud.file("{ shutdown: 30m, delete: 30m }", OnLoss::Fail));
    let up = home.up(&[file.to_str().unwrap(), "--listen", &format!("{}.1", cloud.net)]);
    assert_eq!(machines(&up), Vec::<Value>::new(), "nobody needs one");

    // It grows as it is allocated.
    let (first, one, game) = play(&up);
    let (second, two, _) = play(&up);
    assert_ne!(one, two);
    let made = machines(&up);
    assert!(
        made.iter().all(|machine| machine["origin"] == "made" && machine["life"] == "serving"),
        "{made:?}"
    );

    // A slow one is not lost.
    let agent = Pid::from_raw(cloud.agent(&one));
    kill(agent, Signal::SIGSTOP).unwrap();
    until("the stopped agent is not heard", || machine(&up, &one).filter(|it| it["status"] == "silent"));
    kill(agent, Signal::SIGCONT).unwrap();
    let heard = until("it is heard again", || machine(&up, &one).filter(|it| it["status"] == "connected"));
    assert_eq!(heard["life"], "serving", "{heard}");
    assert_eq!(state(&up, &first), "fulfilled");

    // One that is cut off is lost, and told as that; its game plays on, out of sight.
    cloud.line(&one, "down");
    until("the machine without a line is lost", || machine(&up, &one).filter(|it| it["life"] == "lost"));
    let told = until("its provider says that it is still there", || {
        let detail = machine(&up, &one)?["detail"].as_str()?.to_owned();
        detail.contains("cut off").then_some(detail)
    });
    assert_eq!(state(&up, &first), "failed", "{told}");
    assert!(lives(game), "nobody reached it");
    // It comes back, and what it had played stops.
    cloud.line(&one, "up");
    until("the machine is back", || machine(&up, &one).filter(|it| it["life"] == "serving"));
    until("its stale game is stopped", || (!lives(game)).then_some(()));
    let back = machine(&up, &one).unwrap();
    assert!(back["detail"].as_str().unwrap_or_default().contains("was cut off"), "{back}");
    let (third, again, fresh) = play(&up);
    assert_eq!(again, one, "and it serves again");
    assert_ne!(fresh, game);
    assert_eq!(state(&up, &first), "failed", "what failed stays so");

    // One that dies is told apart: its provider no longer has it, so it is removed. Its session is placed anew, now that policy
    // says so, on a machine that is made for it.
    let apply = |ttl: &str| {
        let file = write(&home, &cloud.file(ttl, OnLoss::PlaceAnew));
        let applied = up.run(&["apply", file.to_str().unwrap()]);
        assert!(applied.status.success(), "{applied:?}");
    };
    apply("{ shutdown: 30m, delete: 30m }");
    cloud.burn(&two);
    until("the dead machine is removed", || machine(&up, &two).is_none().then_some(()));
    let anew = until("its session plays elsewhere", || {
        let on = up.json(&["allocation", "get", &second])["machineId"].clone();
        let three = machines(&up).into_iter().find(|machine| machine["id"] == on)?;
        (state(&up, &second) == "fulfilled" && three["display"] != *two).then_some(three)
    });
    assert_ne!(anew["display"], *one, "that one is taken");

    // It shrinks once nobody plays and time enough has passed: the machine whose server its game holds stays past its TTLs, the
    // other is drained, emptied and deleted.
    let held = machine(&up, &one).unwrap();
    for id in [&second, &third] {
        let ended = up.run(&["allocation", "delete", id]);
        assert!(ended.status.success(), "{ended:?}");
    }
    let server = cloud.tell(&up, &held, "hold=10m")["id"].to_string();
    until("it is held", || (up.server(&server)["status"] == "HELD").then_some(()));
    // So that it drains for as long as its game may take to stop.
    cloud.tell(&up, &anew, "ignore-sigterm");
    apply("{ shutdown: 1s, delete: 2s }");
    let name = anew["display"].as_str().unwrap();
    until("the machine that nobody holds drains", || {
        machine(&up, name).filter(|it| it["life"] == "draining")
    });
    until("the machine that nobody holds is gone", || machine(&up, name).is_none().then_some(()));
    assert_eq!(machine(&up, &one).unwrap()["life"], "serving", "a hold keeps it past its TTLs");
    let released = up.run(&["server", "release", &server]);
    assert!(released.status.success(), "{released:?}");
    until("every machine is gone", || machines(&up).is_empty().then_some(()));
    assert!(!Path::new(&cloud.machines.join(&one)).exists(), "its provider deleted it");
    let log = up.log();
    assert!(!log.contains("panicked"), "{log}");
}

/// The example that docs/reference/machine-providers.md names: it makes machines on this very host, and takes away all that was
/// of them; what arrives late for a machine that was deleted comes to nothing.
#[test]
fn the_example_of_a_provider_makes_a_machine_and_takes_all_of_it_away() {
    let home = Home::new();
    let beside = |name: &str| home.path().with_file_name(name);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/providers/local-agents");
    let program = program.canonicalize().unwrap();
    // The folder of this build is what cargo builds, some GB: its machines share this host's disk.
    let mainstay = beside("mainstay-in-place");
    let text = format!("#!/bin/sh\nexec {:?} \"$@\" --builds in-place\n", env!("CARGO_BIN_EXE_mainstay"));
    std::fs::write(&mainstay, text).unwrap();
    std::fs::set_permissions(&mainstay, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (folder, first_port) = (beside("local-machines"), 10_000 + std::process::id() % 50 * 40);
    let fleet = growing()
        .replace("machines: { join: allowed }\n", "")
        .replace("maxServers: 2 }", "maxServers: 4, provider: here }");
    let file = format!(
        "{fleet}    ttl: {{ shutdown: 1s, delete: 2s }}\n    placementTimeout: 2m\n\
         providers:\n  here:\n    command: {program:?}\n    slots: 1\n    maxMachines: 1\n    listEvery: 500ms\n    \
         env: {{ MACHINES: {folder:?}, MAINSTAY: {mainstay:?}, PORTS: \"{first_port}\" }}\n"
    );
    let up = home.up(&[write(&home, &file).to_str().unwrap()]);
    let (id, name, game) = play(&up);
    let instance = folder.join(up.file("credentials.json")["environmentId"].as_str().unwrap());
    let machine = instance.join(&name);
    assert!(machine.join("data").is_dir());
    assert!(!processes_of(&machine).is_empty());

    let ended = up.run(&["allocation", "delete", &id]);
    assert!(ended.status.success(), "{ended:?}");
    until("the machine is deleted", || machines(&up).is_empty().then_some(()));
    until("nothing of it is left", || (!machine.exists() && processes_of(&machine).is_empty()).then_some(()));
    assert!(!lives(game));
    let call = |verb: &str| {
        let mut command = Command::new(&program);
        command.arg(verb).env("MACHINES", &folder).env("MAINSTAY_MACHINE", &name);
        command.env("MAINSTAY_INSTANCE", instance.file_name().unwrap());
        let done = command.output().unwrap();
        assert!(done.status.success(), "{done:?}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    call("create");
    assert!(!machine.exists(), "what was deleted stays deleted");
    call("delete");
    assert_eq!(call("list").trim(), "{\"machines\":[]}");
}
