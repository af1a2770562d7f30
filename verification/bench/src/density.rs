//! Two hundred Teeworlds servers on one machine: how long until all answer, and what agent and holders cost in memory
//! over the games themselves.

use std::fs;
use std::time::{Duration, Instant};

use mainstay_query::Protocol;

use crate::crash::number;
use crate::idle::parent;
use crate::instance::{Instance, answers, wait};
use crate::{Failure, option};

fn configuration(servers: u64) -> String {
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
fleets:
  teeworlds:
    buildConfigurations: [dm1]
    startOnProvision: true
    regions: {{ Local: {{ minAvailable: 0, maxServers: {servers} }} }}
    usageSettings: [{{ hardwareType: METAL, maxServersPerMachine: {servers} }}]
"
    )
}

/// Measures.
pub fn run(arguments: &[String]) -> Result<(), Failure> {
    let count = option(arguments, "--servers")?.unwrap_or(200);
    let began = Instant::now();
    let instance = Instance::start(&configuration(count))?;
    let servers = wait("every server to be online", || {
        let servers = instance.servers()?;
        let online = servers.iter().filter(|server| server["process"] == "online").count();
        Ok((online == usize::try_from(count)?).then_some(servers))
    })?;
    let mut silent = 0;
    for server in &servers {
        let port = u16::try_from(number(server, "port")?)?;
        silent += u32::from(!answers(&Protocol::Teeworlds, port, Duration::from_millis(500))?);
    }
    let took = began.elapsed();
    let games: Result<Vec<u64>, Failure> = servers.iter().map(|server| number(server, "pid")).collect();
    let games = games?;
    let mut holders = 0;
    let mut holder_kib = 0;
    for pid in &games {
        let holder = parent(*pid)?;
        holders += 1;
        holder_kib += pss_kib(holder)?;
    }
    let up_kib = pss_kib(u64::from(instance.pid()))?;
    let games_kib: u64 = games.iter().map(|pid| pss_kib(*pid)).sum::<Result<u64, Failure>>()?;
    say!("{count} Teeworlds servers: all answering after {:.2} s ({silent} silent)", took.as_secs_f64());
    say!("  games    {:6} KiB PSS each", games_kib / count);
    say!("  holders  {:6} KiB PSS each ({holders} of them)", holder_kib / count);
    say!("  up       {:6} KiB PSS in all, {} KiB a server", up_kib, up_kib / count);
    say!("  agent and holders over the game: {} KiB a server", (holder_kib + up_kib) / count);
    Ok(())
}

/// Memory in proportion to how many share it, from the kernel.
pub fn pss_kib(pid: u64) -> Result<u64, Failure> {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:")).ok_or("no Pss in smaps_rollup")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}
