//! The command line of `lobby` and `session`.

use clap::{Args, Subcommand, ValueEnum};

/// What can be done with lobby services.
#[derive(Debug, Subcommand)]
pub enum LobbyVerb {
    /// Both, and whether their sessions migrate
    List,
    /// One of them
    Get {
        /// lan or online
        service: String,
    },
    /// Whether a service's sessions migrate, from now on
    #[command(after_help = "Example:\n  mainstay lobby set online --supports-host-migration off")]
    Set {
        /// lan or online
        service: String,
        /// Off: none of its sessions moves to another host
        #[arg(long, value_enum)]
        supports_host_migration: OnOff,
    },
}

/// Whether something is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// What can be done with sessions that players host.
#[derive(Debug, Subcommand)]
pub enum SessionVerb {
    /// All of them
    List,
    /// One of them, with its host and its proof
    Get(OneSession),
    /// Who is in one, and who may become its host
    Candidates(OneSession),
    /// Throw a member out for ever; of the host, this moves the session
    Kick {
        #[command(flatten)]
        session: OneSession,
        /// The member: its id, or the beginning of it, as players and candidates show it, or its key; write -- before a key that begins with -o, -w or -h
        #[arg(allow_hyphen_values = true)]
        peer: String,
    },
    /// End one
    End(OneSession),
}

/// A session.
#[derive(Debug, Args)]
pub struct OneSession {
    /// Its id
    pub id: String,
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(subcommand)]
        verb: SessionVerb,
    }

    #[test]
    fn one_key_in_sixty_four_begins_with_a_hyphen() {
        for line in [&["session", "kick", "s", "-abc"][..], &["session", "kick", "s", "--", "-o"]] {
            let Line { verb: SessionVerb::Kick { session, peer } } = Line::parse_from(line) else {
                panic!("{line:?}")
            };
            assert_eq!((session.id.as_str(), Some(&peer.as_str())), ("s", line.last()));
        }
    }
}
