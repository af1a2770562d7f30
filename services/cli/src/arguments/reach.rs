//! The command line of whom a command asks: the instance of a data directory here, or one elsewhere.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde::{Deserialize, Serialize};

/// Which instance is meant. What is said here goes before what the environment says, whoever says it.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which instance")]
pub struct Reach {
    /// Where the instance of this host keeps its data, and how it is found [env: MAINSTAY_DATA_DIR] [default: .mainstay]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Ask the instance whose API is there, on whichever host [env: MAINSTAY_API_URL]
    #[arg(long, global = true, value_name = "https://HOST:PORT")]
    pub api_url: Option<String>,
    /// Ask the instance of this name: `mainstay context create` gives names [env: MAINSTAY_CONTEXT]
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// A file with what says who asks there: an account, or a token of the exchange [env: MAINSTAY_TOKEN_FILE]
    // `agent` has a flag of this name and id of its own.
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Certificates (PEM) of the authorities that alone vouch for it; else whom this system trusts [env: MAINSTAY_CA]
    #[arg(long, global = true, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// How far what says who asks may go without TLS
    #[arg(long, global = true, value_name = "HOW FAR", value_enum)]
    pub plain_http: Option<PlainHttp>,
}

/// How far credentials may go in the clear.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlainHttp {
    /// Not beyond this host.
    #[default]
    Loopback,
    /// Wherever it leads: whoever carries it can read them. For a network that is protected by other means.
    Anywhere,
}

impl Reach {
    /// The flag that says that an instance elsewhere is meant, where one does.
    pub const fn elsewhere(&self) -> Option<&'static str> {
        match self {
            Self { api_url: Some(_), .. } => Some("--api-url"),
            Self { context: Some(_), .. } => Some("--context"),
            Self { ca: Some(_), .. } => Some("--ca"),
            Self { plain_http: Some(_), .. } => Some("--plain-http"),
            Self { data_dir: _, api_url: None, context: None, token_file: _, ca: None, plain_http: None } => {
                None
            }
        }
    }
}

/// What can be done with names of instances.
#[derive(Debug, Subcommand)]
pub enum ContextVerb {
    /// All of them
    List,
    /// Have a name stand for what the flags say: an instance elsewhere, or a data directory of this host
    #[command(
        after_help = "Examples:\n  mainstay context create production --api-url https://games.example:7420 --token-file account.json --ca ca.pem\n  mainstay context create local --data-dir /var/lib/mainstay"
    )]
    Create {
        /// The name
        name: String,
    },
    /// Ask that one from now on, where nobody says which
    Use {
        /// Its name
        name: String,
    },
    /// Forget one; the files that it names stay
    Delete {
        /// Its name
        name: String,
    },
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::arguments::{Arguments, Command};

    #[test]
    fn an_agents_token_file_is_its_own_and_everybody_elses_may_stand_before_or_behind_the_command() {
        let agent = ["mainstay", "agent", "--join", "https://a", "--token-file", "join"];
        let Command::Agent(agent) = Arguments::parse_from(agent).command else { panic!("{agent:?}") };
        assert_eq!(agent.token_file, Some("join".into()));
        for line in [
            ["mainstay", "--api-url", "https://a", "--token-file", "t", "queue", "list"],
            ["mainstay", "queue", "--api-url", "https://a", "list", "--token-file", "t"],
        ] {
            let reach = Arguments::parse_from(line).reach;
            assert_eq!((reach.api_url.as_deref(), reach.token_file), (Some("https://a"), Some("t".into())));
        }
    }
}
