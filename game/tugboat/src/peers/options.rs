//! The command line of one peer of the game.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Parser, ValueEnum};
use mainstay_peer::Support;
use mainstay_peer::migration::{Level, SessionId, Settings, WithoutMajority};

/// One player of a game that its players host.
#[derive(Debug, Parser)]
#[command(name = "mainstay demo peer", disable_version_flag = true)]
pub struct Options {
    /// The session, 32 hexadecimal digits; without it, a new one is founded
    #[arg(long, requires = "way")]
    pub session: Option<Session>,
    /// Where a member of the session can be reached; may be given several times
    #[arg(long, value_name = "ADDRESS", requires = "session", group = "way")]
    pub via: Vec<SocketAddr>,
    /// The lobby that the session is in, and that certifies its hosts
    #[arg(long, value_name = "URL", group = "way")]
    pub lobby: Option<String>,
    /// Certificates (PEM) of the authorities that alone vouch for a lobby over https; else whom this system trusts
    #[arg(long, value_name = "FILE", requires = "lobby")]
    pub lobby_ca: Option<PathBuf>,
    /// A file with the player's entity token, which a lobby asks for that other hosts reach
    #[arg(long, value_name = "FILE", requires = "lobby")]
    pub entity_token_file: Option<PathBuf>,
    /// A file with the token of this player's seat in the session that a match has made
    #[arg(long, value_name = "FILE", requires = "lobby", conflicts_with = "entity_token_file")]
    pub seat_token_file: Option<PathBuf>,
    /// On this LAN, where nobody is told an address: say that a new session is there, or find the one of --session
    #[arg(long, group = "way")]
    pub lan: bool,
    /// Join a session that is found on this LAN, whichever has room
    #[arg(long, conflicts_with_all = ["session", "way"])]
    pub find: bool,
    /// Tell which sessions are found on this LAN, and end
    #[arg(long, conflicts_with_all = ["session", "way", "find"])]
    pub look: bool,
    /// Whether sessions on LANs move when their host goes (seed 000's flag of a lobby service)
    #[arg(long, value_enum, default_value_t = Moves::On)]
    pub lan_host_migration: Moves,
    /// As whom it comes to the lobby
    #[arg(long, value_name = "NAME", requires = "lobby")]
    pub player: Option<String>,
    /// The UDP address to bind; port 0 takes a free one
    #[arg(long, default_value = "0.0.0.0:0")]
    pub bind: SocketAddr,
    /// Steer by itself
    #[arg(long)]
    pub bot: bool,
    /// Play in this terminal
    #[arg(long, conflicts_with_all = ["bot", "with_parent"])]
    pub play: bool,
    /// A console variable; may be given several times. There are net_migrate_timeout (seconds), net_automigrate_host,
    /// net_show_host_identification, net_show_new_host_hinting (0 or 1), net_hostHintingNATTypeOverride and
    /// net_hostHintingActiveConnectionsOverride (numbers)
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<Setting>,
    /// What happens where no majority of the players can be had
    #[arg(long, value_enum, default_value_t = Alone::Fork)]
    pub without_majority: Alone,
    /// How much of the game goes along when the session moves
    #[arg(long, value_enum, default_value_t = GoesAlong::Asynchronous)]
    pub level: GoesAlong,
    /// Decides where the buoys float, in a session that it founds
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// End when standard input closes, for parents that may die
    #[arg(long)]
    pub with_parent: bool,
}

/// A session's id as 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Session(pub SessionId);

impl FromStr for Session {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = u128::from_str_radix(text, 16).ok().filter(|_| is_id);
        id.map(|id| Self(SessionId(id))).ok_or_else(|| format!("`{text}` is not 32 hexadecimal digits"))
    }
}

/// A console variable and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not of the form NAME=VALUE"))?;
        let mut settings = Settings::DEFAULT;
        settings.set(name, value).map_err(|why| why.to_string())?;
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}

/// [`WithoutMajority`] as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Alone {
    /// Play on unconfirmed, and merge when the sides meet.
    Fork,
    /// End.
    End,
    /// Stand still and wait.
    Hold,
}

impl From<Alone> for WithoutMajority {
    fn from(alone: Alone) -> Self {
        match alone {
            Alone::Fork => Self::Fork,
            Alone::End => Self::End,
            Alone::Hold => Self::Hold,
        }
    }
}

/// [`Support`] as a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Moves {
    /// They do.
    On,
    /// They end.
    Off,
}

impl From<Moves> for Support {
    fn from(moves: Moves) -> Self {
        match moves {
            Moves::On => Self::Supported,
            Moves::Off => Self::Unsupported,
        }
    }
}

/// [`Level`] as a word: the two in which a host waits for nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GoesAlong {
    /// Nothing: the new host goes on from what it has itself.
    None,
    /// Its state, for which nobody waits.
    Asynchronous,
}

impl From<GoesAlong> for Level {
    fn from(level: GoesAlong) -> Self {
        match level {
            GoesAlong::None => Self::None,
            GoesAlong::Asynchronous => Self::Asynchronous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_options() {
        let session = "00000000000000000000000000000007";
        let words = format!("peer --bot --session {session} --via 127.0.0.1:9 --set net_migrate_timeout=5");
        let options = Options::try_parse_from(words.split(' ')).unwrap();
        assert_eq!(options.session, Some(Session(SessionId(7))));
        assert_eq!(options.set[0].value, "5");
        let words = format!("peer --session {session} --lobby http://127.0.0.1:7700 --player ann");
        assert!(Options::try_parse_from(words.split(' ')).unwrap().lobby.is_some());
        for wrong in [
            "peer --session 7 --via 127.0.0.1:9",
            &format!("peer --session {session}"),
            "peer --set net",
            "peer --set net_typo=1",
            "peer --set net_migrate_timeout=0",
            "peer --player a",
            &format!("peer --session {session} --find"),
            "peer --lan --find",
        ] {
            assert_eq!(Options::try_parse_from(wrong.split(' ')).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }
}
