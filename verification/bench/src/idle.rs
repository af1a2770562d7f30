//! A machine full of idle servers: how long until all answer, and what agent and holders cost in CPU while nothing
//! happens but the checks of seed 001.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use mainstay_query::Protocol;

use crate::crash::number;
use crate::instance::{Instance, answers, wait};
use crate::{Failure, option, word};

/// How long one probe of a start waits: a machine that starts hundreds of games at once is slow to answer.
const PROBE: Duration = Duration::from_millis(500);

/// What idles.
struct Game {
    name: &'static str,
    protocol: Protocol,
    /// Which of its ports answers.
    port: &'static str,
    /// What a query costs in datagrams, both ways counted.
    datagrams: u64,
    build: String,
    configuration: String,
}

impl Game {
    fn teeworlds() -> Self {
        Self {
            name: "teeworlds",
            protocol: Protocol::Teeworlds,
            port: "port",
            datagrams: 4,
            build: "buildPath: /usr/games, executableName: teeworlds-server".into(),
            configuration: "    binaryPath: teeworlds-server
    commandLine: \"'sv_name bench; sv_port $$port$$; bindaddr 127.0.0.1; sv_register 0; sv_map dm1'\"
    queryType: teeworlds
"
            .into(),
        }
    }

    fn tugboat() -> Result<Self, Failure> {
        let program = std::env::current_exe()?;
        let folder = program.parent().ok_or("this program has no folder")?.display();
        let binary = program.file_name().ok_or("this program has no name")?.to_string_lossy();
        Ok(Self {
            name: "tugboat",
            protocol: Protocol::Sqp,
            port: "queryPort",
            datagrams: 4,
            build: format!("buildPath: \"{folder}\", executableName: \"{binary}\""),
            configuration: format!(
                "    binaryPath: \"{binary}\"
    commandLine: demo server --port $$port$$ --query-port $$query_port$$ --query sqp
    queryType: sqp
"
            ),
        })
    }

    fn configuration(&self, servers: u64, every: u64) -> String {
        let Self { name, build, configuration, .. } = self;
        format!(
            "version: 1.0
builds:
  {name}: {{ {build} }}
buildConfigurations:
  {name}:
    build: {name}
{configuration}    checks: {{ every: {every}s }}
fleets:
  {name}:
    buildConfigurations: [{name}]
    startOnProvision: true
    regions: {{ Local: {{ minAvailable: 0, maxServers: {servers} }} }}
    usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: {servers} }}]
machines: {{ join: none, ports: 20000-29999 }}
"
        )
    }
}

/// Measures.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let game = match word(arguments, "--game")?.as_deref() {
        None | Some("tugboat") => Game::tugboat()?,
        Some("teeworlds") => Game::teeworlds(),
        Some(other) => return Err(format!("--game {other}: teeworlds or tugboat").into()),
    };
    let count = option(arguments, "--servers")?.unwrap_or(1000);
    let seconds = option(arguments, "--seconds")?.unwrap_or(120);
    let every = option(arguments, "--checks-every")?.unwrap_or(60);

    let began = Instant::now();
    let instance = Instance::start(&game.configuration(count, every))?;
    let servers = wait("every server to be online", || {
        let servers = instance.servers()?;
        let online = servers.iter().filter(|server| server["process"] == "online").count();
        Ok((online == usize::try_from(count)?).then_some(servers))
    })?;
    let online = began.elapsed();
    for server in &servers {
        let port = u16::try_from(number(server, game.port)?)?;
        wait("an answer", || Ok(answers(&game.protocol, port, PROBE)?.then_some(())))?;
    }
    let answering = began.elapsed();

    let games: Vec<u64> = servers.iter().map(|server| number(server, "pid")).collect::<Result<_, _>>()?;
    let up = u64::from(instance.pid());
    let holders: Vec<u64> = games
        .iter()
        .map(|pid| parent(*pid))
        .collect::<Result<BTreeSet<u64>, Failure>>()?
        .into_iter()
        .collect();
    // The first checks of all follow the start; what is measured is the long run.
    std::thread::sleep(Duration::from_secs(every.min(60)));

    let before = (spent(&[up])?, spent(&holders)?, spent(&games)?, datagrams()?);
    let idling = Instant::now();
    std::thread::sleep(Duration::from_secs(seconds));
    let after = (spent(&[up])?, spent(&holders)?, spent(&games)?, datagrams()?);
    let idled = idling.elapsed().as_secs_f64();

    say!("{count} idle servers of {}, checks every {every} s, watched for {idled:.0} s:", game.name);
    say!(
        "  all online after {:.1} s, all answering after {:.1} s",
        online.as_secs_f64(),
        answering.as_secs_f64()
    );
    say!(
        "  queries   {:8.1} a second",
        per_second(after.3 - before.3, idled) / per_second(game.datagrams, 1.0)
    );
    for (what, spent) in
        [("up", after.0 - before.0), ("holders", after.1 - before.1), ("games", after.2 - before.2)]
    {
        say!("  {what:<9} {:8.2} % of a core", 100.0 * spent / idled);
    }
    Ok(())
}

/// What processes have spent, in seconds of CPU: to the nanosecond, where ticks would say nothing of an idle holder.
pub fn spent(pids: &[u64]) -> Result<f64, Failure> {
    let mut nanoseconds: u64 = 0;
    for pid in pids {
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let text = fs::read_to_string(thread?.path().join("schedstat"))?;
            nanoseconds += text.split_whitespace().next().ok_or("an empty schedstat")?.parse::<u64>()?;
        }
    }
    Ok(per_second(nanoseconds, 1e9))
}

/// The datagrams this machine has taken in.
fn datagrams() -> Result<u64, Failure> {
    let text = fs::read_to_string("/proc/net/snmp")?;
    let values = text
        .lines()
        .filter_map(|line| line.strip_prefix("Udp: "))
        .nth(1)
        .ok_or("no Udp in /proc/net/snmp")?;
    Ok(values.split_whitespace().next().ok_or("no datagrams in /proc/net/snmp")?.parse()?)
}

#[expect(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]
fn per_second(count: u64, seconds: f64) -> f64 {
    count as f64 / seconds
}

/// The parent of a process: a game's is its holder.
pub fn parent(pid: u64) -> Result<u64, Failure> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("PPid:")).ok_or("a process without a parent")?;
    Ok(line.trim().parse()?)
}
