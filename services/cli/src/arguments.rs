//! The command line, as a value.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Keeps multiplayer game sessions alive.
///
/// First day: `mainstay up --demo`, `mainstay server list`, `mainstay allocation create --fleet tugboat`, `mainstay
/// status`, `mainstay check FILE`.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Where the running instance keeps its data, and how it is found
    #[arg(long, global = true, value_name = "DIR", default_value = ".mainstay", env = "MAINSTAY_DATA_DIR")]
    pub data_dir: PathBuf,
    /// How answers are written to standard output
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Table)]
    pub output: Format,
}

/// How answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// For programs.
    Json,
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
    /// Bring what a configuration file says to a running instance: all of it, or nothing and every reason at once
    #[command(
        after_help = "Examples:\n  mainstay apply mainstay.yaml\n  mainstay apply mainstay.yaml --dry-run -o json"
    )]
    Apply(ApplyArguments),
    /// Explain an error code
    #[command(after_help = "Example:\n  mainstay explain MS-P006")]
    Explain {
        /// Such as MS-P006
        code: String,
    },
    /// What is running, and where
    Status,
    /// Fleets
    #[command(subcommand, visible_aliases = ["fleets", "fl"])]
    Fleet(Look),
    /// Machines
    #[command(subcommand, visible_aliases = ["machines", "mch"])]
    Machine(Look),
    /// Servers
    #[command(subcommand, visible_aliases = ["servers", "srv"])]
    Server(ServerVerb),
    /// Allocations
    #[command(subcommand, visible_aliases = ["allocations", "alc"])]
    Allocation(AllocationVerb),
    /// The deterministic simulator: every seed is a world with its own faults
    Simulator(mainstay_simulator::command_line::Arguments),
    /// Benchmarks
    Bench(Passed),
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
}

/// What becomes of an instance's servers when it is told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnStop {
    /// They are stopped, by their stop ladder.
    Stop,
    /// They play on; the next instance of the data directory finds them. For service managers.
    Leave,
}

/// Which ports an instance listens on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PortChoice {
    /// The documented ones: 7420, 7421 and 8086.
    Fixed,
    /// Whatever is free; DIR/ports.json says which.
    Auto,
}

/// `mainstay agent`.
#[derive(Debug, Args)]
pub struct AgentArguments {
    /// The control plane's agent address, such as http://10.0.0.1:7421
    #[arg(long, value_name = "URL")]
    pub join: String,
    /// A file that holds the join token
    #[arg(long, value_name = "FILE")]
    pub token_file: PathBuf,
    /// The fleet this machine belongs to, by name or id
    #[arg(long)]
    pub fleet: String,
    /// The fleet's region this machine is in, by name or id
    #[arg(long)]
    pub region: String,
    /// How many servers it holds
    #[arg(long)]
    pub slots: u16,
    /// Game and query ports, first and last
    #[arg(long, value_name = "FIRST-LAST", default_value = "20000-20999")]
    pub ports: String,
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
