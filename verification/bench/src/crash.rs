//! From a crash to answering again, Teeworlds: SIGKILL of the game under `mainstay up`, beside the bare fork, exec and
//! probe of the same server in the same run.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mainstay_query::Protocol;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::instance::{Instance, answers, wait};
use crate::report::{median, worst};
use crate::{Failure, option};

const TEEWORLDS: &str = "/usr/games/teeworlds-server";
/// How long one probe waits: a local server answers in a fraction of a millisecond.
const PROBE: Duration = Duration::from_millis(2);

/// The restart policy allows as many crashes as are measured.
fn configuration(crashes: u64) -> String {
    format!(
        "version: 1.0
builds:
  teeworlds: {{ buildPath: /usr/games, executableName: teeworlds-server }}
buildConfigurations:
  dm1:
    build: teeworlds
    binaryPath: teeworlds-server
    commandLine: \"'sv_name bench; sv_port $$port$$; bindaddr 127.0.0.1; sv_register 0; sv_map dm1'\"
    queryType: teeworlds
    restart: {{ attempts: {}, within: 30m }}
fleets:
  teeworlds:
    buildConfigurations: [dm1]
    regions: {{ Local: {{ minAvailable: 0, maxServers: 1 }} }}
    usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: 1 }}]
",
        crashes.min(60)
    )
}

/// Measures.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let crashes = option(arguments, "--runs")?.unwrap_or(30);
    let instance = Instance::start(&configuration(crashes))?;
    let allocation = instance.allocate("teeworlds", 1)?;
    let server = format!("/v1/servers/{}", allocation["serverId"]);
    let port = u16::try_from(allocation["gamePort"].as_u64().ok_or("the allocation has no port")?)?;
    let (mut ours, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..crashes.min(60) {
        ours.push(recover(&instance, &server, port)?);
        bare.push(start_bare(port + 1)?);
    }
    let after = instance.get(&format!("/v1/allocations/{}", uuid::Uuid::from_u128(1)))?;
    if !after["ended"].is_null() {
        return Err(format!("the allocation did not last: {after}").into());
    }
    let (ours_median, bare_median) = (median(ours.iter().copied()), median(bare.iter().copied()));
    say!("crash to answering again, Teeworlds, {} crashes under one allocation:", ours.len());
    say!("  mainstay        median {ours_median:6.1} ms   p99 {:6.1} ms", worst(&ours));
    say!("  bare fork-exec  median {bare_median:6.1} ms   p99 {:6.1} ms", worst(&bare));
    say!("  ratio of medians {:.2}", ours_median / bare_median);
    Ok(())
}

fn recover(instance: &Instance, server: &str, port: u16) -> Result<f64, Failure> {
    let pid = wait("a running game", || {
        let server = instance.get(server)?;
        Ok((server["process"] == "online").then(|| server["pid"].as_i64()).flatten())
    })?;
    let killed = Instant::now();
    kill(Pid::from_raw(i32::try_from(pid)?), Signal::SIGKILL)?;
    gone(pid)?;
    until_answers(port)?;
    let took = killed.elapsed();
    Ok(took.as_secs_f64() * 1000.0)
}

/// Waits until a killed process no longer holds its port, so that not its last answer is taken for the first.
fn gone(pid: i64) -> Result<(), Failure> {
    wait("the killed game to be gone", || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        Ok(stat.map_or(true, |stat| stat.contains(") Z ") || stat.contains(") X ")).then_some(()))
    })
}

fn start_bare(port: u16) -> Result<f64, Failure> {
    let line = format!("sv_name bare; sv_port {port}; bindaddr 127.0.0.1; sv_register 0; sv_map dm1");
    let began = Instant::now();
    let mut process = Command::new(TEEWORLDS)
        .arg(line)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let answered = until_answers(port);
    let took = began.elapsed();
    process.kill()?;
    process.wait()?;
    answered?;
    Ok(took.as_secs_f64() * 1000.0)
}

fn until_answers(port: u16) -> Result<(), Failure> {
    let began = Instant::now();
    while !answers(&Protocol::Teeworlds, port, PROBE)? {
        if began.elapsed() > Duration::from_secs(30) {
            return Err(format!("nothing answered on port {port} for 30 s").into());
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    Ok(())
}

/// The figure of a server's JSON, where it is one.
pub fn number(value: &Value, field: &str) -> Result<u64, Failure> {
    value[field].as_u64().ok_or_else(|| format!("no {field} in {value}").into())
}
