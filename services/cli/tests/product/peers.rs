//! `mainstay demo peers`: processes over real QUIC, whose host goes away.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::product::{Home, LIMIT, lines_of, until};

/// The migrations of one run, each a line of JSON.
fn migrations(arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_mainstay"))
        .args(["demo", "peers", "-o", "json"])
        .args(arguments)
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?}\n{out}\n{err}", output.status);
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Issue 5, section 6: "does it unattended and prints one JSON line a migration with at least `epoch`, `cause`, `newHost`,
/// `gapMs`, `peersKept`, `ackedLost`."
#[test]
fn a_session_of_eight_outlives_two_hosts_whose_power_is_cut() {
    let moves = migrations(&["--lan", "--players", "8", "--kill-host", "power-cut", "--times", "2"]);
    assert_eq!(moves.len(), 2, "{moves:?}");
    for (number, moved) in moves.iter().enumerate() {
        assert_eq!(moved["cause"], "catastrophic", "{moved}");
        assert_eq!(moved["peersKept"], 7 - number, "{moved}");
        assert_eq!(moved["ackedLost"], 0, "{moved}");
        assert!(moved["gapMs"].as_u64().is_some_and(|gap| gap > 0), "{moved}");
        assert_ne!(moved["newHost"], moved["oldHost"], "{moved}");
    }
    assert!(moves[0]["epoch"].as_u64() < moves[1]["epoch"].as_u64(), "{moves:?}");
    assert_eq!(moves[0]["newHost"], moves[1]["oldHost"]);
}

/// "`mainstay demo kill-host [--graceful|--power-cut|--freeze]` breaks it": the two ways that are no power cut. Whoever leaves says so, and a
/// frozen host is given up like a dead one.
#[test]
fn a_session_outlives_a_host_that_leaves_and_one_that_freezes() {
    for (way, cause) in [("graceful", "controlled"), ("freeze", "catastrophic")] {
        let moves = migrations(&["--lan", "--players", "4", "--kill-host", way]);
        assert_eq!(moves.len(), 1, "{moves:?}");
        assert_eq!(moves[0]["cause"], cause, "{moves:?}");
        assert_eq!((&moves[0]["peersKept"], &moves[0]["ackedLost"]), (&json!(3), &json!(0)), "{moves:?}");
    }
}

/// Of a host that freezes each time every line tells of a move of its own: the one before was told again, as the thawed host still stood as before.
#[test]
fn each_freeze_is_a_move_of_its_own() {
    let moves = migrations(&["--lan", "--players", "3", "--kill-host", "freeze", "--times", "3"]);
    let of = |name: &str| moves.iter().map(|it| it[name].clone()).collect::<Vec<_>>();
    let stamps: Vec<_> = moves.iter().map(|it| (it["epoch"].as_u64(), it["fork"].as_u64())).collect();
    assert!(moves.len() == 3 && stamps.is_sorted_by(|a, b| a < b), "{moves:?}");
    assert_eq!(of("newHost")[..2], of("oldHost")[1..], "{moves:?}");
    // Also of what the frozen host itself had been told, which was put out meanwhile.
    assert_eq!(of("ackedLost"), [json!(0), json!(0), json!(0)], "{moves:?}");
}

/// A demo that runs until it is told to end.
struct Demo {
    home: Home,
    process: Group,
    said: Receiver<String>,
}

impl Demo {
    fn start(players: &str) -> Self {
        Self::with(players, &[])
    }

    fn with(players: &str, more: &[&str]) -> Self {
        let demo = Self::gathering(Home::new(), players, more);
        until("its players play", || demo.note()["host"].is_object().then_some(()));
        demo
    }

    /// What it notes.
    fn note(&self) -> Value {
        let note = fs::read_to_string(self.home.path().join("demo-peers.json")).unwrap();
        serde_json::from_str(&note).unwrap()
    }

    /// One that has taken its data directory.
    fn gathering(home: Home, players: &str, more: &[&str]) -> Self {
        let mut command = home.command(&["demo", "peers", "--lan", "--players", players, "-o", "json"]);
        command.args(more);
        let command =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut process = Group(command.spawn().unwrap());
        let said = lines_of(process.0.stdout.take().unwrap());
        let demo = Self { home, process, said };
        let file = demo.home.path().join("demo-peers.json");
        let own = || file.exists() && demo.note()["command"] == demo.process.0.id();
        until("it is its own note", || own().then_some(()));
        demo
    }

    /// Another of the same data directory is refused: the note there is of one.
    #[track_caller]
    fn stays_alone(&self) {
        let mut second = self.home.command(&["demo", "peers", "--lan", "--players", "2"]);
        let second = second.stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let mut second = Group(second.spawn().unwrap());
        let ended = until("the second ends", || second.0.try_wait().unwrap());
        let mut said = String::new();
        second.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(ended.code(), Some(5), "{said}");
        assert!(said.contains("MS-U063"), "{said}");
    }

    /// `mainstay demo kill-host`, and what it tells of the move.
    #[track_caller]
    fn kill_host(&self, how: &[&str]) -> Value {
        let arguments = [&["demo", "kill-host"], how, &["-o", "json"]].concat();
        let output = self.home.command(&arguments).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{how:?}: {err}");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// A process and those that it starts.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // A demo's players would end once they notice that nobody reads them, which is after the test.
        let group = Pid::from_raw(i32::try_from(self.0.id()).unwrap_or(i32::MAX));
        let _ended = killpg(group, Signal::SIGKILL);
        let _waited = self.0.wait();
    }
}

/// Whoever stops the demo stops its players: each leaves as people do who quit, while somebody still reads what it says.
#[test]
fn a_demo_that_is_told_to_stop_has_its_players_leave() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut demo = Demo::start("3");
        kill(Pid::from_raw(i32::try_from(demo.process.0.id()).unwrap()), signal).unwrap();
        let ended = until("it ends", || demo.process.0.try_wait().unwrap());
        // Its players write there, too: it ends with the last of them.
        let mut said = String::new();
        demo.process.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(ended.code(), Some(0), "{signal}: {said}");
        assert!(!said.contains("MS-S222"), "{signal}: {said}");
    }
}

/// Nor does one that is killed leave anybody behind: a player whose power is cut, as the demo has it, does not read that nobody is there any more.
#[test]
fn a_demo_that_is_killed_leaves_nobody_behind_who_stands_still() {
    let mut demo = Demo::start("2");
    let pid = demo.process.0.id();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    let players: Vec<i32> = children.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(players.len(), 2, "{children}");
    players.iter().for_each(|pid| kill(Pid::from_raw(*pid), Signal::SIGSTOP).unwrap());
    demo.process.0.kill().unwrap();
    let errors = lines_of(demo.process.0.stderr.take().unwrap());
    // They write there, too: it ends with the last of them.
    until("all are gone", || match errors.try_recv() {
        Err(TryRecvError::Disconnected) => Some(()),
        Ok(_) | Err(TryRecvError::Empty) => None,
    });
}

/// Issue 5, section 6: "`mainstay demo kill-host [--graceful|--power-cut|--freeze]` breaks it": one a way, each against a demo that runs, and
/// the demo tells the same. Without a flag the host quits.
#[test]
fn each_way_of_kill_host_breaks_a_demo_that_runs() {
    let ways: [(&[&str], &str, &str); 4] = [
        (&["--freeze"], "freeze", "catastrophic"),
        (&["--power-cut"], "power-cut", "catastrophic"),
        (&["--graceful"], "graceful", "controlled"),
        (&[], "graceful", "controlled"),
    ];
    for (flags, how, cause) in ways {
        let demo = Demo::start("3");
        demo.stays_alone();
        let moved = demo.kill_host(flags);
        assert_eq!((&moved["how"], &moved["cause"]), (&json!(how), &json!(cause)), "{moved}");
        assert_eq!((&moved["peersKept"], &moved["ackedLost"]), (&json!(2), &json!(0)), "{moved}");
        assert_ne!(moved["newHost"], moved["oldHost"], "{moved}");
        let told = until("the demo tells of it", || {
            serde_json::from_str::<Value>(&demo.said.recv_timeout(LIMIT).ok()?).ok()
        });
        assert_eq!((&told["newHost"], &told["epoch"]), (&moved["newHost"], &moved["epoch"]), "{told}");
    }
    // Whoever is left alone is not taken away, for a while neither: nothing would move.
    let demo = Demo::start("2");
    let moved = demo.kill_host(&["--power-cut"]);
    until("it knows who is left", || (demo.note()["players"] == 1).then_some(()));
    for how in ["--graceful", "--power-cut", "--freeze"] {
        let output = demo.home.command(&["demo", "kill-host", how]).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stderr).contains("MS-U062"), "{how}, {moved}: {output:?}");
    }
    drop(demo);
    for verb in ["peers", "play", "kill-host"] {
        let output = Home::new().command(&["demo", verb, "-o", "name"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("MS-U050"), "before it begins: {output:?}");
    }
    let none = Home::new().command(&["demo", "kill-host"]).output().unwrap();
    let err = String::from_utf8_lossy(&none.stderr);
    assert!(!none.status.success() && err.contains("MS-U045"), "{err}");
}

/// What another demo noted in that data directory is over: its host is not looked for.
#[test]
fn kill_host_waits_for_a_demo_that_gathers_where_another_was_before() {
    let home = Home::new();
    let gone = r#"{"command":4194304,"session":"","last":null,"players":2,"others":1,"left":null,"host":{"pid":4194304,"peer":"ab"}}"#;
    fs::create_dir_all(home.path()).unwrap();
    fs::write(home.path().join("demo-peers.json"), gone).unwrap();
    let demo = Demo::gathering(home, "3", &[]);
    let moved = demo.kill_host(&["--power-cut"]);
    assert_eq!((&moved["peersKept"], &moved["ackedLost"]), (&json!(2), &json!(0)), "{moved}");
}

#[test]
fn a_host_that_was_stopped_goes_on_where_the_command_is_interrupted() {
    let demo = Demo::start("2");
    let mut frozen = demo.home.command(&["demo", "kill-host", "--freeze"]);
    let mut frozen = frozen.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let host = demo.note()["host"]["pid"].as_i64().unwrap();
    let is_stopped = || {
        let stat = fs::read_to_string(format!("/proc/{host}/stat")).unwrap();
        stat.rsplit(')').next().unwrap().trim_start().starts_with('T')
    };
    until("it is frozen", || is_stopped().then_some(()));
    kill(Pid::from_raw(i32::try_from(frozen.id()).unwrap()), Signal::SIGINT).unwrap();
    until("it ends", || frozen.try_wait().unwrap());
    assert!(!is_stopped());
}

/// A host that thaws before the others are over is waited for where none of them would go along, and both commands say so.
#[test]
fn a_host_that_freezes_is_waited_for_where_its_session_does_not_move() {
    let stays = ["--set", "net_automigrate_host=0"];
    let demo = Demo::with("2", &stays);
    let stayed = demo.kill_host(&["--freeze"]);
    assert_eq!((&stayed["event"], &stayed["how"]), (&json!("stayed"), &json!("freeze")), "{stayed}");
    drop(demo);
    let lines = migrations(&[&["--lan", "--players", "2", "--kill-host", "freeze"][..], &stays].concat());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["event"], "stayed", "{lines:?}");
}

/// A session that does not go on without its host is over once its members miss that: nobody waits for a move that cannot come.
#[test]
fn kill_host_says_that_the_session_has_ended_instead_of_moving() {
    let demo = Demo::with("2", &["--set", "net_automigrate_host=0"]);
    let output = demo.home.command(&["demo", "kill-host", "--power-cut"]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("MS-U044") && err.contains("instead of moving"), "{err}");
}

/// Seed 000: `net_show_new_host_hinting` "toggles whether the host hint list is displayed": as host a hint for every client, as a client one for
/// each other client; set at the console while it runs. And a session whose players gather goes to whoever suits better.
#[test]
fn the_console_shows_hints_and_gives_the_session_to_whoever_suits_better() {
    let mut host = Player::with(&[], None);
    let way = ["--via", &host.address.clone()];
    let mut member = Player::with(&way, Some(&host.session));
    let third = Player::with(&way, Some(&host.session));
    let hints = |line: &Value| line["hints"].as_array().map_or(0, Vec::len);
    let plays = |line: &Value| {
        line["event"] == "stands" && line["members"] == 3 && line["voters"] == 3 && line["linked"] == 2
    };
    host.says("nobody asked for hints", |line| plays(line) && hints(line) == 0 && line["shows"].is_null());
    for player in [&mut host, &mut member] {
        player.enters("set net_show_new_host_hinting 1");
        player.enters("set net_show_host_identification 1");
    }
    host.says("a hint for each client", |line| plays(line) && hints(line) == 2 && line["shows"] == "HOST");
    member.says("and one for each other client", |line| plays(line) && hints(line) == 1);
    host.enters("set net_typo 1");
    host.says("a name that there is not is refused", |line| line["event"] == "notSet");
    host.enters("give-over");
    host.says("nobody suits better", |line| line["event"] == "nobodyBetter");
    host.enters("set net_hostHintingNATTypeOverride 3");
    member.enters("set net_hostHintingNATTypeOverride 1");
    let is_strict = |hint: &Value| hint.as_str().is_some_and(|hint| hint.contains("Open"));
    host.says("the member is open", |line| {
        line["hints"].as_array().is_some_and(|hints| hints.iter().any(is_strict))
    });
    host.enters("give-over");
    for player in [&host, &member, &third] {
        let moved = player.says("it moves", |line| line["event"] == "moved");
        assert_eq!((&moved["cause"], &moved["ackedLost"]), (&json!("lobby"), &json!(0)), "{moved}");
    }
    host.says("and plays on as a client", |line| plays(line) && line["is"] != "HOST");
}

/// Issue 5: nothing that a member did is lost when its host's power is cut, whether the host knew of it or not.
#[test]
fn nothing_that_was_done_is_lost_when_a_hosts_power_is_cut() {
    let host = Player::with(&[], None);
    let way = ["--via", &host.address.clone()];
    let mut others = [0, 1].map(|_| Player::with(&way, Some(&host.session)));
    let plays = |line: &Value| {
        line["event"] == "stands" && line["members"] == 3 && line["voters"] == 3 && line["linked"] == 2
    };
    for player in &others {
        player.says("it steers", |line| plays(line) && line["deeds"].as_u64() > Some(4));
    }
    host.says("somebody could follow", |line| plays(line) && !line["anticipated"].is_null());
    drop(host);
    for player in &mut others {
        player.says("it moved", |line| line["event"] == "moved");
        // A bot does something twice a second: now and then all that it has done has come back to it.
        player.says("all that it has done is in the game", |line| {
            line["event"] == "stands" && line["members"] == 2 && line["deeds"] == line["done"]
        });
    }
}

/// A player that cannot come in says why itself, and nobody waits for it; a variable that there is not is refused at once, and so is losing
/// everybody.
#[test]
fn a_demo_that_cannot_begin_says_why() {
    for (arguments, says) in [
        (&["--lobby", "http://127.0.0.1:9"][..], "MS-U044"),
        (&["--lobby", "http://127.0.0.1:9"], "what a player itself says stands above"),
        (&["--set", "net_typo=1"], "net_migrate_timeout"),
        (&["--kill-host", "power-cut", "--times", "2"], "--times 1 at the most"),
    ] {
        let home = Home::new();
        let output = home.command(&["demo", "peers", "--players", "2"]).args(arguments).output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && err.contains(says), "{err}");
    }
    let home = Home::new();
    fs::create_dir_all(home.path().join("demo-peers.lock")).unwrap();
    let output = home.command(&["demo", "peers", "--players", "2", "--lan"]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("MS-U045") && err.contains("--data-dir DIR"), "{err}");
}

/// Issue 5, section 6: "terminal play for people […]; shows HOST, ANTICIPATED NEW HOST or MEMBER […] when the console variables say so".
/// In a real terminal, which `script` makes.
#[test]
fn a_person_plays_in_a_terminal() {
    let mainstay = env!("CARGO_BIN_EXE_mainstay");
    let play = format!(
        "stty rows 30 cols 120; exec '{mainstay}' demo peer --play --set net_show_host_identificiation=1"
    );
    let mut script = Command::new("script")
        .args(["--quiet", "--return", "--command", &play, "/dev/null"])
        .env("TERM", "xterm-256color")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut seen = Vec::new();
    let (mut keys, mut terminal) = (script.stdin.take().unwrap(), script.stdout.take().unwrap());
    // The one player there is is the host, and its terminal says so.
    while !String::from_utf8_lossy(&seen).contains("HOST") {
        let mut some = [0; 4096];
        let read = terminal.read(&mut some).unwrap();
        assert!(read > 0, "{}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&some[..read]);
    }
    keys.write_all(b"q").unwrap();
    let mut rest = String::new();
    terminal.read_to_string(&mut rest).unwrap();
    assert!(script.wait().unwrap().success());
    // What was drawn is gone with the screen; what is to be known stays.
    assert!(rest.ends_with("the session is over: this player left\r\n"), "{rest:?}");
}

/// The same through a lobby of the demo's own: every host is certified, and two players are as safe as eight.
#[test]
fn a_session_of_a_lobby_outlives_its_hosts_until_one_is_left() {
    let moves = migrations(&["--players", "3", "--kill-host", "power-cut", "--times", "2"]);
    assert_eq!(moves.len(), 2, "{moves:?}");
    for (number, moved) in moves.iter().enumerate() {
        assert_eq!(moved["cause"], "catastrophic", "{moved}");
        assert_eq!((&moved["epoch"], &moved["fork"]), (&json!(number + 2), &json!(0)), "certified: {moved}");
        assert_eq!(moved["peersKept"], 2 - number, "{moved}");
        assert_eq!(moved["ackedLost"], 0, "{moved}");
    }
}

/// A way to the lobby that stays where it is when the lobby comes back elsewhere.
struct Way {
    url: String,
    to: Arc<Mutex<Option<SocketAddr>>>,
}

impl Way {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let to = Arc::new(Mutex::new(None));
        let target = Arc::clone(&to);
        std::thread::spawn(move || {
            for caller in listener.incoming().map_while(Result::ok) {
                let Some(to) = *target.lock().unwrap() else { continue };
                std::thread::spawn(move || {
                    if let Ok(lobby) = TcpStream::connect(to) {
                        passes(caller, lobby);
                    }
                });
            }
        });
        Self { url, to }
    }

    /// Where the lobby listens now.
    fn leads_to(&self, api: &str) {
        *self.to.lock().unwrap() = Some(api.trim_start_matches("http://").parse().unwrap());
    }
}

/// Both ways, until both are closed.
fn passes(caller: TcpStream, lobby: TcpStream) {
    let back = (lobby.try_clone().unwrap(), caller.try_clone().unwrap());
    let one_way = |(mut from, mut to): (TcpStream, TcpStream)| {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        // The other end may have closed it first.
        let _closed = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    };
    let thread = std::thread::spawn(move || one_way(back));
    one_way((caller, lobby));
    thread.join().unwrap();
}

/// One player's process and its words.
pub struct Player {
    process: Child,
    said: Receiver<String>,
    pub session: String,
    address: String,
}

impl Player {
    fn new(lobby: &str, session: Option<&str>) -> Self {
        Self::with(&["--lobby", lobby], session)
    }

    /// One that knows its way to the session.
    pub fn with(way: &[&str], session: Option<&str>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
        command.args(["demo", "peer", "--bot", "--with-parent", "--bind", "127.0.0.1:0"]).args(way);
        command.args(session.iter().flat_map(|session| ["--session", session]));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let said = lines_of(process.stdout.take().unwrap());
        let mut player = Self { process, said, session: String::new(), address: String::new() };
        let started = player.says("it starts", |line| line["event"] == "started");
        player.session = started["session"].as_str().unwrap().to_owned();
        player.address = started["address"].as_str().unwrap().to_owned();
        player
    }

    /// A line at its console.
    fn enters(&mut self, line: &str) {
        writeln!(self.process.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// The next line that is meant.
    #[track_caller]
    pub fn says(&self, what: &str, is_meant: impl Fn(&Value) -> bool) -> Value {
        until(what, || {
            let line = self.said.recv_timeout(LIMIT).ok()?;
            serde_json::from_str(&line).ok().filter(|line| is_meant(line))
        })
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        let _ended = self.process.kill().and_then(|()| self.process.wait());
    }
}

/// Issue 5, section 7: "lobby down, lobby back". The lobby is killed, then the host: the others go on, unconfirmed and with one
/// host. The lobby is started again: that host gets the next epoch, and whoever follows it lives through nothing.
#[test]
fn a_session_goes_on_without_its_lobby_and_is_confirmed_when_that_is_back() {
    let home = Home::new();
    let file = home.path().with_file_name("mainstay.yaml");
    std::fs::write(&file, "version: 1.0\n").unwrap();
    let up = home.up(&[file.to_str().unwrap()]);
    let way = Way::new();
    way.leads_to(&up.caller().api);
    let first = Player::new(&way.url, None);
    let session = first.session.clone();
    let others = [0, 1].map(|_| Player::new(&way.url, Some(&session)));
    let is_settled = |line: &Value| {
        line["members"] == 3 && line["voters"] == 3 && line["linked"] == 2 && line["epoch"] == 1
    };
    first.says("somebody could follow", |line| {
        is_settled(line) && !line["anticipated"].is_null() && line["durable"].as_u64() > Some(0)
    });
    for player in &others {
        player.says("all are linked", |line| is_settled(line) && line["deeds"].as_u64() > Some(0));
    }
    up.kill_nine();
    drop(first);
    let moved = others.each_ref().map(|player| player.says("it moved", |line| line["event"] == "moved"));
    for line in &moved {
        assert_eq!((&line["epoch"], &line["newHost"]), (&json!(1), &moved[0]["newHost"]), "{line}");
        assert!(line["fork"].as_u64() > Some(0), "nobody certified it: {line}");
        assert_eq!(line["ackedLost"], 0, "{line}");
    }
    let up = home.up(&[file.to_str().unwrap()]);
    way.leads_to(&up.caller().api);
    for player in &others {
        let stands = player.says("it is certified", |line| {
            assert_ne!(line["event"], "moved", "only the number is new");
            line["epoch"] == 2 && line["fork"] == 0 && line["event"] == "stands"
        });
        assert_eq!(stands["host"], moved[0]["newHost"], "{stands}");
    }
    let seen = up.caller().get(&format!("/v1/sessions/{}", uuid::Uuid::parse_str(&session).unwrap())).json();
    assert_eq!((&seen["epoch"], &seen["lease"]), (&json!(2), &json!("held")), "{seen}");
}

/// Issue 5: "off means that no session of that service migrates", also where the flag is set while a session is played, and its host and the
/// lobby are lost at once: nobody can ask any more, and everybody knows.
#[test]
fn a_service_that_stops_to_support_migration_is_heeded_by_whoever_plays() {
    let home = Home::new();
    let up = home.up_bare();
    let way = Way::new();
    way.leads_to(&up.caller().api);
    let first = Player::new(&way.url, None);
    let others = [0, 1].map(|_| Player::new(&way.url, Some(&first.session)));
    let set = |to: &str| up.json(&["lobby", "set", "online", "--supports-host-migration", to]);
    for (to, is_anticipated) in [("off", false), ("on", true), ("off", false)] {
        assert_eq!(set(to)["supportsHostMigration"], is_anticipated);
        for player in &others {
            player.says(&format!("all know that it is {to}"), |line| {
                line["voters"] == 3 && line["linked"] == 2 && line["anticipated"].is_null() != is_anticipated
            });
        }
    }
    up.kill_nine();
    drop(first);
    for player in &others {
        let over = player.says("it is over", |line| {
            assert_ne!(line["event"], "moved", "{line}");
            line["event"] == "over"
        });
        assert_eq!(over["code"], "MS-S236", "{over}");
    }
}

/// A player who is no host starts its game a second time: the first process plays no more, though its pass lasts, and says why.
#[test]
fn of_two_processes_of_one_player_the_first_is_put_out_by_the_host() {
    let home = Home::new();
    let up = home.up_bare();
    let lobby = up.caller().api;
    let plays =
        |name: &str, session: Option<&str>| Player::with(&["--lobby", &lobby, "--player", name], session);
    let host = plays("ann", None);
    let session = host.session.clone();
    let two_play = |line: &Value| line["members"] == 2 && line["linked"] == 1 && line["event"] == "stands";
    let first = plays("ben", Some(&session));
    first.says("it plays", two_play);
    let second = plays("ben", Some(&session));
    let over = first.says("it is put out", |line| line["event"] == "over");
    assert_eq!(over["code"], "MS-S250", "{over}");
    second.says("it plays in its place", two_play);
    host.says("two play", two_play);
}

/// Issue 5, section 7: "lobby down, lobby back". The lobby stands still, and nobody knows yet; the host leaves, and
/// gives the session to another all the same, from the very tick it stood at. The lobby goes on: it certifies that one.
#[test]
fn a_host_that_leaves_while_its_lobby_stands_still_hands_over() {
    let home = Home::new();
    let up = home.up_bare();
    let lobby = up.caller().api;
    let mut first = Player::new(&lobby, None);
    let others = [0, 1].map(|_| Player::new(&lobby, Some(&first.session)));
    let is_settled = |line: &Value| {
        line["members"] == 3 && line["voters"] == 3 && line["linked"] == 2 && line["epoch"] == 1
    };
    first.says("somebody could follow", |line| {
        is_settled(line) && !line["anticipated"].is_null() && line["durable"].as_u64() > Some(0)
    });
    for player in &others {
        player.says("all are linked", |line| is_settled(line) && line["deeds"].as_u64() > Some(0));
    }
    up.signal(Signal::SIGSTOP);
    first.process.stdin.as_mut().unwrap().write_all(b"leave\n").unwrap();
    let moved = others.each_ref().map(|player| player.says("it moved", |line| line["event"] == "moved"));
    for line in &moved {
        assert_eq!((&line["cause"], &line["epoch"]), (&json!("controlled"), &json!(1)), "{line}");
        assert_eq!(line["newHost"], moved[0]["newHost"], "{line}");
        assert!(line["fork"].as_u64() > Some(0), "nobody certified it: {line}");
        assert_eq!(line["ackedLost"], 0, "{line}");
        // A second for the lobby; the rest is the machine's.
        assert!(line["gapMs"].as_u64() < Some(2_000), "{line}");
    }
    up.signal(Signal::SIGCONT);
    for player in &others {
        let stands = player.says("it is certified", |line| {
            assert_ne!(line["event"], "moved", "only the number is new");
            line["epoch"] == 2 && line["fork"] == 0 && line["event"] == "stands"
        });
        assert_eq!(stands["host"], moved[0]["newHost"], "{stands}");
    }
}

/// 0053: "a signed pass for peers, which is worth nothing without the private key". Somebody knows where the host and a member of a
/// session of a lobby are, and which session it is: without the lobby it is let in by neither. Whom the lobby throws out its host
/// puts out, though nobody told it so.
#[test]
fn an_intruder_is_not_let_in_and_whom_the_lobby_throws_out_is_put_out() {
    let home = Home::new();
    let up = home.up_bare();
    let lobby = up.caller().api;
    let host = Player::new(&lobby, None);
    let session = host.session.clone();
    let member = Player::with(&["--lobby", &lobby, "--player", "member"], Some(&session));
    host.says("both are in", |line| line["members"] == 2 && line["linked"] == 1);
    for door in [&host, &member] {
        let intruder = Player::with(&["--via", &door.address], Some(&session));
        let over = intruder.says("it is refused", |line| line["event"] == "over");
        assert_eq!(over["code"], "MS-S239", "{over}");
    }
    let last = host.says("it goes on", |line| line["event"] == "stands");
    assert_eq!(last["members"], 2, "{last}");

    let place = uuid::Uuid::parse_str(&session).unwrap().to_string();
    let seen = up.caller().get(&format!("/v1/sessions/{place}")).json();
    let members = seen["members"].as_array().unwrap();
    let id = members.iter().find(|known| known["player"] == "member").unwrap()["id"].as_str().unwrap();
    let nobody = up.run(&["session", "kick", &place, "0123456789"]);
    assert!(
        !nobody.status.success() && String::from_utf8_lossy(&nobody.stderr).contains("MS-U064"),
        "{nobody:?}"
    );
    assert!(up.run(&["session", "kick", &place, &id[..8]]).status.success(), "as the demo shows it");
    let over = member.says("it is put out", |line| line["event"] == "over");
    assert_eq!(over["code"], "MS-S237", "{over}");
    host.says("it is alone", |line| line["members"] == 1);
}

/// 0056: "half-way through the day that a pass lasts its holder has it renewed". A member asks nothing of its lobby, and two lives of
/// a pass go by. Then it stands still for longer than its host waits for it, and is put out: it comes in again, by a pass that is good.
#[test]
fn a_member_that_asks_for_nothing_is_let_in_again_after_two_lives_of_its_pass() {
    let home = Home::new();
    let file = home.path().with_file_name("mainstay.yaml");
    std::fs::write(&file, "version: 1.0\nlobbies: { online: { passLife: 20s } }\n").unwrap();
    let up = home.up(&[file.to_str().unwrap()]);
    let lobby = up.caller().api;
    let host = Player::new(&lobby, None);
    let member = Player::new(&lobby, Some(&host.session));
    let since = Instant::now();
    let plays = |line: &Value| line["event"] == "stands" && line["members"] == 2 && line["linked"] == 1;
    host.says("both are in", plays);
    member.says("two lives have gone by", |line| {
        assert_ne!(line["event"], "over", "{line}");
        plays(line) && since.elapsed() > Duration::from_secs(2 * 20)
    });
    let process = nix::unistd::Pid::from_raw(member.process.id().try_into().unwrap());
    nix::sys::signal::kill(process, Signal::SIGSTOP).unwrap();
    host.says("it is put out", |line| line["members"] == 1);
    nix::sys::signal::kill(process, Signal::SIGCONT).unwrap();
    let frozen = Instant::now();
    host.says("it is in again", |line| plays(line) && line["members"] == 2);
    member.says("and plays", |line| {
        assert_ne!(line["event"], "over", "{line}");
        plays(line) && frozen.elapsed() > Duration::from_secs(2)
    });
}
