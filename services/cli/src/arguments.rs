//! The command line, as a value.

mod ask;
mod lobby;
mod matching;
mod output;
mod reach;

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::up::doors::Door;

pub use self::ask::Ask;
pub use self::lobby::{LobbyVerb, OnOff, SessionVerb};
pub use self::matching::{
    BackfillVerb, DrawVerb, ListOf, MatchVerb, OfQueue, OneTicket, QueueVerb, TicketVerb, Waiting,
};
pub use self::output::{Colour, Format, Output, Reader, Time};
pub use self::reach::{ContextVerb, PlainHttp, Reach};

/// The most slots an agent offers: what one machine may bring.
const SLOTS_MAX: i64 = mainstay_fleet::SLOTS_PER_MACHINE_MAX as i64;

/// Keeps multiplayer game sessions alive.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    #[command(flatten)]
    pub reach: Reach,
    #[command(flatten)]
    pub output: Output,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run everything on this machine: control plane, agent, and the game servers of a file
    #[command(
        after_help = "Examples:\n  mainstay up --demo\n  mainstay up mainstay.yaml --data-dir /var/lib/mainstay"
    )]
    Up(UpArguments),
    /// Run this machine's agent alone, for a control plane elsewhere; SIGTERM leaves its servers playing
    Agent(AgentArguments),
    /// Read configuration files and say everything that is wrong with them
    #[command(after_help = "Examples:\n  mainstay check mainstay.yaml\n  mainstay check game.gsh -o json")]
    Check(CheckArguments),
    /// Instances by name
    #[command(subcommand, visible_alias = "contexts")]
    Context(ContextVerb),
    /// Explain an error code
    #[command(after_help = "Example:\n  mainstay explain MS-P006")]
    Explain {
        /// Such as MS-P006
        code: String,
    },
    /// What is asked of an instance.
    #[command(flatten)]
    Ask(Ask),
    /// What Mainstay does, shown with the small game of `up --demo`
    #[command(subcommand)]
    Demo(DemoVerb),
    /// The deterministic simulator: every seed is a world with its own faults
    Simulator(mainstay_simulator::command_line::Arguments),
    /// Benchmarks
    Bench(Passed),
}

impl Command {
    /// Whether what it answers has an id or a name. Of the others some do what they are told before they have an answer to write.
    pub const fn is_answered_by_names(&self) -> bool {
        match self {
            Self::Ask(ask) => ask.is_answered_by_names(),
            Self::Check(_) | Self::Demo(_) => false,
            Self::Up(_)
            | Self::Agent(_)
            | Self::Context(_)
            | Self::Explain { .. }
            | Self::Simulator(_)
            | Self::Bench(_) => true,
        }
    }

    /// Whether it only looks, and can look again.
    pub const fn watches(&self) -> bool {
        matches!(self, Self::Ask(ask) if ask.watches())
    }
}

/// What can be shown.
#[derive(Debug, Subcommand)]
pub enum DemoVerb {
    /// Four players are matched onto a server, its process is killed, one leaves and is replaced
    #[command(after_help = "Needs `mainstay up --demo` on this host.")]
    Play,
    /// A game that its players host: each a process of its own; its host goes away, and the session moves
    #[command(
        after_help = "Examples:\n  mainstay demo peers\n  mainstay demo peers --lan --players 8 --kill-host power-cut --times 2 -o json"
    )]
    Peers(PeersArguments),
    /// One player of such a game, in a process of its own; `--play` is a seat in it for a person
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Peer {
        /// `mainstay demo peer --help` tells them
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        options: Vec<String>,
    },
    /// Make the host of a running `demo peers` go away; without a flag, it quits the game
    #[command(after_help = "Needs `mainstay demo peers` on this host, with the same data directory.")]
    KillHost(KillHostArguments),
}

/// `mainstay demo kill-host`.
#[derive(Debug, Args)]
#[group(multiple = false)]
pub struct KillHostArguments {
    /// It quits the game, and hands over first
    #[arg(long)]
    pub graceful: bool,
    /// Nothing comes from it any more, and nothing answers for it
    #[arg(long)]
    pub power_cut: bool,
    /// It stands still for some seconds, and goes on as if nothing had been
    #[arg(long)]
    pub freeze: bool,
}

impl KillHostArguments {
    /// What was asked for.
    pub const fn how(&self) -> KillHost {
        match self {
            Self { power_cut: true, .. } => KillHost::PowerCut,
            Self { freeze: true, .. } => KillHost::Freeze,
            Self { graceful: true | false, .. } => KillHost::Graceful,
        }
    }
}

/// `mainstay demo peers`.
#[derive(Debug, Args)]
pub struct PeersArguments {
    /// How many players
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=64))]
    pub players: u8,
    /// Without any server: the players find and certify each other. Else a lobby of the demo's own does
    #[arg(long)]
    pub lan: bool,
    /// With the lobby that runs there, instead of one of its own
    #[arg(long, value_name = "URL", conflicts_with = "lan")]
    pub lobby: Option<String>,
    /// Certificates (PEM) of the authorities that alone vouch for it over https; else whom this system trusts
    #[arg(long, value_name = "FILE", requires = "lobby", conflicts_with = "lan")]
    pub lobby_ca: Option<PathBuf>,
    /// Make the host go away, tell of it, and end
    #[arg(long, value_enum)]
    pub kill_host: Option<KillHost>,
    /// How often
    #[arg(long, default_value_t = 1, requires = "kill_host", value_parser = clap::value_parser!(u8).range(1..=63))]
    pub times: u8,
    /// A console variable of every player, such as net_migrate_timeout=10; may be given several times
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<mainstay_tugboat::peers::options::Setting>,
}

/// How a host goes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KillHost {
    /// It quits the game, and hands over first.
    Graceful,
    /// Nothing comes from it any more, and nothing answers for it.
    PowerCut,
    /// It stands still for some seconds, and goes on as if nothing had been.
    Freeze,
}

impl KillHost {
    /// As it is written on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Graceful => "graceful",
            Self::PowerCut => "power-cut",
            Self::Freeze => "freeze",
        }
    }
}

/// Arguments that a part of Mainstay reads itself.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct Passed {
    /// Its arguments; `help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// `mainstay up`.
#[derive(Debug, Args)]
pub struct UpArguments {
    /// Configuration files; without any, mainstay.yaml or the only *.gsh here
    #[arg(value_name = "FILE", conflicts_with = "demo")]
    pub files: Vec<PathBuf>,
    /// A small real game, in a fleet that starts its servers at once
    #[arg(long)]
    pub demo: bool,
    /// Which ports to listen on
    #[arg(long, value_enum, default_value_t = PortChoice::Fixed)]
    pub ports: PortChoice,
    /// Stop when standard input closes, for parents that may die
    #[arg(long)]
    pub with_parent: bool,
    /// What becomes of its servers when it is told to stop
    #[arg(long, value_enum, default_value_t = OnStop::Stop)]
    pub on_stop: OnStop,
    /// Also listen here, for other hosts, over TLS: an address of this host, or :: for all of both versions of IP
    #[arg(long, value_name = "IP", env = "MAINSTAY_LISTEN", value_delimiter = ',')]
    pub listen: Vec<IpAddr>,
    /// Tell game peers how they are seen (STUN, RFC 5780): an address and port of this host, =, where a router stands before
    /// it, those that the outside finds it at; and a second of another IP and port, without which nobody learns how strictly a router translates
    #[arg(long, value_name = "IP:PORT[=IP:PORT]", value_delimiter = ',')]
    pub stun: Vec<Door>,
    /// Carry packets between players whom their routers keep apart: a UDP address and port of this host, =, where a router
    /// stands before it, those that the outside finds it at
    #[arg(long, value_name = "IP:PORT[=IP:PORT]")]
    pub relay: Option<Door>,
    /// Whether what other hosts reach is protected; `off` is for loopback alone
    #[arg(long, value_enum, default_value_t = TlsChoice::On)]
    pub tls: TlsChoice,
    /// A certificate for the HTTP API in PEM form, with those that lead to its authority; else one of our own authority
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key in PEM form
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// A further name or address of this host for the certificate of our own; may be given several times
    #[arg(long, value_name = "NAME")]
    pub tls_name: Vec<String>,
    /// How players reach this host: one IPv4 and one IPv6 address at most; else loopback, or with --listen the ones found
    #[arg(long, value_name = "IP")]
    pub advertise: Vec<IpAddr>,
}

/// What becomes of an instance's servers when it is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnStop {
    /// They are stopped, by their stop ladder.
    Stop,
    /// They play on; the next instance of the data directory finds them. For service managers.
    Leave,
}

/// Whether what other hosts reach is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TlsChoice {
    /// TLS everywhere beyond loopback.
    On,
    /// No TLS, and nothing beyond loopback.
    Off,
}

/// Which ports an instance listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PortChoice {
    /// The documented ones: 7420, 7421, 7422 and 8086.
    Fixed,
    /// Whatever is free; DIR/ports.json says which.
    Auto,
}

/// `mainstay agent`.
#[derive(Debug, Args)]
pub struct AgentArguments {
    /// The control plane's address for agents, such as https://10.0.0.1:7421
    #[arg(long, value_name = "URL")]
    pub join: String,
    /// The join token of `mainstay token create`; needed once. Other users of this host can read it in the list of
    /// processes: prefer --token-file, or the variable
    #[arg(
        long,
        value_name = "TOKEN",
        env = "MAINSTAY_JOIN_TOKEN",
        hide_env_values = true,
        conflicts_with = "token_file"
    )]
    pub token: Option<String>,
    /// A file that holds it
    #[arg(long, value_name = "FILE", env = "MAINSTAY_JOIN_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// The fleet this machine belongs to, by name or id; else the token's, or the only one
    #[arg(long)]
    pub fleet: Option<String>,
    /// The fleet's region this machine is in, by name or id; else the token's, or the only one
    #[arg(long)]
    pub region: Option<String>,
    /// What this machine calls itself, where a machine provider was told; else it draws a key of its own
    #[arg(long, value_name = "UUID", env = "MAINSTAY_MACHINE_KEY")]
    pub machine_key: Option<mainstay_core::MachineKey>,
    /// How many servers it holds; else as many as its fleet's usage settings state, or its cores and memory have room for
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=SLOTS_MAX))]
    pub slots: Option<u16>,
    /// Game and query ports, first and last
    #[arg(long, value_name = "FIRST-LAST", default_value = "20000-20999")]
    pub ports: String,
    /// How players reach this machine: one IPv4 and one IPv6 address at most; else those by which it reaches the control
    /// plane
    #[arg(long, value_name = "IP")]
    pub advertise: Vec<IpAddr>,
    /// What people call this machine; else its host name
    #[arg(long)]
    pub name: Option<String>,
    /// Where games reach their local daemon; two of Multiplay's SDKs know no other port than 8086, and 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 8086)]
    pub games_port: u16,
    /// Where what its servers run comes from: `fetch` gets builds from the control plane; `in-place` starts them where the
    /// configuration says, for a machine that shares the control plane's disk. Else `fetch`, but `in-place` for an agent that
    /// joins with the secret of the control plane's own host
    #[arg(long, value_name = "HOW", value_enum)]
    pub builds: Option<BuildsChoice>,
    /// How much of this machine's disk fetched builds, core dumps, evidence and logs may take together, such as 20G; else
    /// half of it
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub disk: Option<u64>,
}

/// Where what an agent's servers run comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BuildsChoice {
    /// From the control plane.
    Fetch,
    /// From the folders of the configuration, on this machine.
    InPlace,
}

/// A number of bytes: 500M, 20G, 1T, or a bare number of bytes.
fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = match text.strip_suffix(['K', 'M', 'G', 'T']) {
        Some(number) => (number, text.get(number.len()..).unwrap_or_default()),
        None => (text, ""),
    };
    let shift = match unit {
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _bytes => 0,
    };
    let number = number.parse::<u64>().ok().filter(|number| *number > 0);
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "write a size such as 20G (K, M, G, T, or bytes)".to_owned())
}

/// `mainstay check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Configuration files, merged as `up` merges them
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

/// `mainstay apply`.
#[derive(Debug, Args)]
pub struct ApplyArguments {
    /// The configuration file; what it names is found or created, nothing is deleted
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Say what is wrong with it, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Only if nobody has changed the configuration since this revision
    #[arg(long, value_name = "REVISION")]
    pub if_revision: Option<u64>,
}

/// What can be done with what is only looked at.
#[derive(Debug, Subcommand)]
pub enum Look {
    /// All of them
    List,
    /// One of them
    Get {
        /// Its id or name
        id: String,
    },
}

/// What can be done with machines.
#[derive(Debug, Subcommand)]
pub enum MachineVerb {
    /// All of them
    List,
    /// One of them
    Get {
        /// Its id or name
        id: String,
    },
    /// Let nothing begin on a machine any more; who plays there plays on, and its servers stop once nobody does
    Drain {
        /// Its id, 4294967297 or mch-1-1
        id: String,
    },
    /// Have a drained machine serve again
    Undrain {
        /// Its id, 4294967297 or mch-1-1
        id: String,
    },
    /// Take a machine that nobody plays on out of its fleet: its provider deletes it, or its credential ends
    Remove {
        /// Its id, 4294967297 or mch-1-1
        id: String,
    },
    /// End a machine's credential at once, and the join token it came with; its servers play on
    Revoke {
        /// Its id, 4294967297 or mch-1-1
        id: String,
    },
}

/// What can be done with join tokens.
#[derive(Debug, Subcommand)]
pub enum TokenVerb {
    /// Make one. Its text is told once
    #[command(
        after_help = "Examples:\n  mainstay token create --ttl 15m > token\n  mainstay token create --fleet arena --region Europe --uses 20 -o json"
    )]
    Create {
        /// How long it lasts: 1s to 7d
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = lifetime)]
        ttl: Duration,
        /// How many machines it lets in: 1 to 1000
        #[arg(long, default_value_t = 1)]
        uses: u32,
        /// The only fleet they may join, by name or id
        #[arg(long)]
        fleet: Option<String>,
        /// The only region of it, by name or id
        #[arg(long, requires = "fleet")]
        region: Option<String>,
        /// How long their credentials last unless renewed: 1s to 365d
        #[arg(long, value_name = "TIME", default_value = "30d", value_parser = lifetime)]
        credential_ttl: Duration,
    },
    /// All of them, without their secrets
    List,
    /// End one; machines that came with it stay
    Revoke {
        /// Its id
        id: String,
    },
}

/// What can be done with service accounts.
#[derive(Debug, Subcommand)]
pub enum AccountVerb {
    /// Make one. Its secret is told once
    #[command(after_help = "Example:\n  mainstay account create --role allocator -o json > account.json")]
    Create {
        /// What it may do
        #[arg(long, value_enum)]
        role: RoleChoice,
    },
    /// All of them, without their secrets
    List,
    /// End one at once, and the tokens bought with it
    Revoke {
        /// Its key id
        key: String,
    },
}

/// What a service account may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleChoice {
    /// Everything.
    Admin,
    /// Everything but let machines in and make accounts.
    Operator,
    /// Allocate, read and deallocate.
    Allocator,
    /// Read.
    Viewer,
}

/// A time in whole seconds with its unit: 90s, 15m, 1h, 30d.
fn lifetime(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no time: write 90s, 15m, 1h or 30d");
    let at = text.len().checked_sub(1).filter(|at| text.is_char_boundary(*at)).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(at);
    let seconds: u64 = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let count: u64 = number.parse().map_err(|_| wrong())?;
    count.checked_mul(seconds).map(Duration::from_secs).ok_or_else(wrong)
}

/// What can be done with servers.
#[derive(Debug, Subcommand)]
pub enum ServerVerb {
    /// All of them
    List {
        /// Only this fleet's, by name or id
        #[arg(long)]
        fleet: Option<String>,
        /// Only with this status: ALLOCATED, RESERVED, AVAILABLE, ONLINE, READY or HELD
        #[arg(long)]
        status: Option<String>,
    },
    /// One of them
    Get {
        /// Its id, 4294967297 or srv-1-1
        id: String,
    },
    /// Start one that is not allocated
    Start {
        /// Its id
        id: String,
    },
    /// Stop one that is neither allocated nor reserved
    Stop {
        /// Its id
        id: String,
    },
    /// Restart one that is neither allocated nor reserved
    Restart {
        /// Its id
        id: String,
    },
    /// Make another build configuration its active one: at once where nobody plays on it, else when it next starts for
    /// nobody
    #[command(after_help = "Example:\n  mainstay server configure srv-1-1 ranked")]
    Configure {
        /// Its id
        id: String,
        /// One of its fleet's build configurations, by name or id
        build_configuration: String,
    },
    /// End the hold or the reservation its game made
    #[command(visible_alias = "unhold")]
    Release {
        /// Its id
        id: String,
    },
    /// The last lines of its output
    Logs {
        /// Its id
        id: String,
        /// How many lines
        #[arg(short = 'n', long, default_value_t = 100)]
        lines: u32,
    },
}

/// What can be done with allocations.
#[derive(Debug, Subcommand)]
pub enum AllocationVerb {
    /// All of them, the newest first
    List {
        /// Only this fleet's, by name or id
        #[arg(long)]
        fleet: Option<String>,
    },
    /// One of them
    Get {
        /// Its id
        id: String,
    },
    /// Allocate a server
    #[command(
        after_help = "Examples:\n  mainstay allocation create --fleet tugboat\n  mainstay allocation create --fleet arena --region Europe --build-configuration ranked --payload @match.json"
    )]
    Create(CreateArguments),
    /// Deallocate
    Delete {
        /// Its id
        id: String,
    },
}

/// `mainstay allocation create`.
#[derive(Debug, Args)]
pub struct CreateArguments {
    /// The fleet, by name or id
    #[arg(long)]
    pub fleet: String,
    /// The region, by name or id; needed where the fleet has several
    #[arg(long)]
    pub region: Option<String>,
    /// The build configuration, by name or id; needed where the fleet has several
    #[arg(long)]
    pub build_configuration: Option<String>,
    /// The allocation's id (a UUID); made up where none is given
    #[arg(long)]
    pub id: Option<String>,
    /// Handed to the game: a text, or @FILE
    #[arg(long)]
    pub payload: Option<String>,
    /// Restart a running server first
    #[arg(long)]
    pub restart: bool,
    /// Do not wait until the server plays
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait, in seconds
    #[arg(long, default_value_t = 60)]
    pub timeout: u64,
}
