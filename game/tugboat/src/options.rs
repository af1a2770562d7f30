//! Tugboat's command line.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::fault::Plan;

/// A small game server to try Mainstay with.
#[derive(Debug, Parser)]
#[command(name = "tugboat", disable_version_flag = true)]
pub(crate) struct Options {
    /// The game's UDP port; without it server.json's, else 9000; 0 takes a free one.
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// The UDP port for queries; without it server.json's, else one above the game's.
    #[arg(long)]
    pub(crate) query_port: Option<u16>,
    /// The query protocol; without it server.json's, else sqp.
    #[arg(long)]
    pub(crate) query: Option<QueryKind>,
    /// The address both ports are bound to; without it every one of the host, IPv4 and IPv6.
    #[arg(long)]
    pub(crate) bind: Option<IpAddr>,
    /// Where the log is appended; without it, to stdout.
    #[arg(long)]
    pub(crate) log: Option<PathBuf>,
    /// The server's name.
    #[arg(long, default_value = "tugboat")]
    pub(crate) name: String,
    /// How many can play.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=24))]
    pub(crate) max_players: u8,
    /// Decides where the buoys float.
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// A way to misbehave, such as crash@2s or eat-memory=300M@1s; may be given several times.
    #[arg(long = "fault")]
    pub(crate) faults: Vec<Plan>,
    /// Tells the host with each session that its players may come.
    #[arg(long)]
    pub(crate) ready: bool,
    /// Keeps the places of a match's players filled: who leaves is replaced through the queue it came from.
    #[arg(long)]
    pub(crate) backfill: bool,
    /// Lets whoever knows it, on this machine alone, command faults and calls to the host; without it nobody can.
    #[arg(long, env = "TUGBOAT_CONTROL_TOKEN", hide_env_values = true)]
    pub(crate) control_token: Option<String>,
}

/// How the server is asked whether it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum QueryKind {
    /// Unity's protocol.
    Sqp,
    /// Valve's protocol.
    A2s,
    /// Not at all.
    None,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_options() {
        let words = "tugboat --port 1 --query a2s --fault crash@2s --fault slow-start=1s --max-players 24";
        let options = Options::try_parse_from(words.split(' ')).unwrap();
        assert_eq!((options.port, options.query), (Some(1), Some(QueryKind::A2s)));
        assert_eq!(options.faults.len(), 2);
        for wrong in
            ["tugboat --max-players 25", "tugboat --max-players 0", "tugboat --fault no", "tugboat x"]
        {
            assert_eq!(Options::try_parse_from(wrong.split(' ')).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }
}
