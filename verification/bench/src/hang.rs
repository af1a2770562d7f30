//! From a hang to the signal, and from the signal to answering again: tugboat's `hang` under `mainstay up`, with the
//! settings of its checks at their fastest (seed 001, misbehavior; the server is idle, so silence is answered by a restart).

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use mainstay_query::Protocol;

use crate::instance::{Instance, answers, wait};
use crate::report::{median, worst};
use crate::{Failure, option};

/// Lets this benchmark, and nobody else, command the game's faults.
const TOKEN: &str = "bench";
/// How long one probe waits: a local server answers in a fraction of a millisecond.
const PROBE: Duration = Duration::from_millis(2);
/// How long the game may take to obey.
const OBEYS_WITHIN: Duration = Duration::from_secs(5);
/// As many restarts as a policy can allow.
const RUNS_MAX: u64 = 60;

fn configuration(runs: u64) -> Result<String, Failure> {
    let program = std::env::current_exe()?;
    let folder = program.parent().ok_or("this program has no folder")?.display();
    let binary = program.file_name().ok_or("this program has no name")?.to_string_lossy();
    Ok(format!(
        "version: 1.0
builds:
  tugboat: {{ buildPath: \"{folder}\", executableName: \"{binary}\" }}
buildConfigurations:
  tugboat:
    build: tugboat
    queryType: sqp
    query: {{ timeout: 10ms }}
    binaryPath: \"{binary}\"
    commandLine: demo server --port $$port$$ --query-port $$query_port$$ --query sqp --control-token {TOKEN}
    limits: {{ cpu: 4, memoryMiB: 1024 }}
    checks: {{ every: 100ms, failures: 1, within: 1s }}
    restart: {{ attempts: {runs}, within: 30m }}
fleets:
  tugboat:
    buildConfigurations: [tugboat]
    startOnProvision: true
    regions: {{ Local: {{ minAvailable: 1, maxServers: 1 }} }}
    usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]
"
    ))
}

/// Measures.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let runs = option(arguments, "--runs")?.unwrap_or(30).min(RUNS_MAX);
    let instance = Instance::start(&configuration(runs)?)?;
    let (mut to_signal, mut to_answer) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let (signal, answer) = hang(&instance)?;
        to_signal.push(signal);
        to_answer.push(answer);
    }
    say!("a hang under checks every 100 ms, query timeout 10 ms, 1 failure; tugboat, {runs} hangs:");
    for (what, figures) in [("hang to SIGSEGV", &to_signal), ("SIGSEGV to answering", &to_answer)] {
        let (middle, worst) = (median(figures.iter().copied()), worst(figures));
        say!("  {what:<21} median {middle:6.1} ms   p99 {worst:6.1} ms");
    }
    Ok(())
}

/// One hang: how long until the signal had ended the game, and how long then until another answered, in milliseconds.
fn hang(instance: &Instance) -> Result<(f64, f64), Failure> {
    let server = wait("a running game", || {
        let servers = instance.servers()?;
        Ok(servers.into_iter().find(|server| server["process"] == "online" && server["pid"].is_u64()))
    })?;
    let port = |field: &str| -> Result<u16, Failure> {
        Ok(u16::try_from(server[field].as_u64().ok_or_else(|| format!("no {field} in {server}"))?)?)
    };
    let (game, query) = (port("port")?, port("queryPort")?);
    let pid = server["pid"].as_u64().ok_or("a running game has no pid")?;
    wait("a game that answers", || Ok(answers(&Protocol::Sqp, query, PROBE)?.then_some(())))?;
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, game));
    mainstay_tugboat::client::control(at, TOKEN, "hang", OBEYS_WITHIN)?;
    let hung = Instant::now();
    until(|| Ok(has_ended(pid)))?;
    let ended = Instant::now();
    until(|| answers(&Protocol::Sqp, query, PROBE))?;
    let milliseconds = |span: Duration| span.as_secs_f64() * 1000.0;
    Ok((milliseconds(ended - hung), milliseconds(ended.elapsed())))
}

/// A zombie has ended; its parent just has not looked yet.
fn has_ended(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X "))
}

fn until(mut holds: impl FnMut() -> Result<bool, Failure>) -> Result<(), Failure> {
    let began = Instant::now();
    while !holds()? {
        if began.elapsed() > Duration::from_secs(30) {
            return Err("nothing happened for 30 s".into());
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(())
}
