//! What guest and host say to each other: a scenario on the kernel's command line, and words on a serial line.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Begins a line that is a word, so that whatever else comes over the wire is talk.
pub const MARK: &str = "@lab ";
/// The guest's end of the wire.
pub const WIRE: &str = "/dev/ttyS1";
/// Before the scenario on the kernel's command line.
pub const SCENARIO: &str = "lab.scenario=";

/// What the machine does after its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scenario {
    /// What the host's kernel may not have, or not let a test change: control groups of version 2, where cores go.
    Kernel,
    /// The systemd units.
    Units,
    /// Sessions begin and end, games hold and reserve their servers, and an operator works, until the power goes; after a cut,
    /// says first what is there.
    Power {
        /// What the choices are made from.
        seed: u64,
        /// How often this disk has been started, from 1 on.
        boot: u32,
        /// Whether what the product syncs is synced.
        syncs: Syncs,
        /// The service account that was made last, as `KEY:SECRET`: nothing of value is kept in the machine but by the product.
        account: Option<String>,
    },
}

/// What becomes of the product's syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syncs {
    /// They are done.
    Done,
    /// They are swallowed, and said to be done: what a product would be that forgot them.
    Swallowed,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel => f.write_str("kernel"),
            Self::Units => f.write_str("units"),
            Self::Power { seed, boot, syncs, account } => {
                let name = match syncs {
                    Syncs::Done => "power",
                    Syncs::Swallowed => "careless",
                };
                write!(f, "{name}/{seed}/{boot}/{}", account.as_deref().unwrap_or_default())
            }
        }
    }
}

impl FromStr for Scenario {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("{text:?} is no scenario");
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            ["kernel"] => Ok(Self::Kernel),
            ["units"] => Ok(Self::Units),
            [name @ ("power" | "careless"), seed, boot, account] => Ok(Self::Power {
                seed: seed.parse().map_err(|_| unknown())?,
                boot: boot.parse().map_err(|_| unknown())?,
                syncs: if name == "power" { Syncs::Done } else { Syncs::Swallowed },
                account: (!account.is_empty()).then(|| account.to_owned()),
            }),
            _ => Err(unknown()),
        }
    }
}

/// What is asked of the control plane: by a client of an allocation, by a game of its server, or by an operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Asked {
    /// A server for a new allocation.
    Allocate,
    /// The end of an allocation.
    Deallocate,
    /// That a server be held.
    Hold,
    /// That it be held no longer.
    Release,
    /// That a server be taken out of its pool.
    Reserve,
    /// That it be put back.
    Unreserve,
    /// Something of the operator's work.
    Work(Job),
}

/// What an operator asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Job {
    /// That a file be one of a build.
    Name,
    /// That the next bytes of it be kept.
    Send,
    /// That it be one no longer.
    Remove,
    /// That the build's files be its next version.
    Publish,
    /// That a build configuration be another.
    Change,
    /// A service account.
    Admit,
    /// The end of one.
    Revoke,
    /// A join token.
    Invite,
    /// The end of one.
    Withdraw,
    /// A ticket of a player.
    Search,
    /// Its end.
    Cancel,
}

impl Asked {
    /// All of it.
    pub const ALL: [Self; 17] = [
        Self::Allocate,
        Self::Deallocate,
        Self::Hold,
        Self::Release,
        Self::Reserve,
        Self::Unreserve,
        Self::Work(Job::Name),
        Self::Work(Job::Send),
        Self::Work(Job::Remove),
        Self::Work(Job::Publish),
        Self::Work(Job::Change),
        Self::Work(Job::Admit),
        Self::Work(Job::Revoke),
        Self::Work(Job::Invite),
        Self::Work(Job::Withdraw),
        Self::Work(Job::Search),
        Self::Work(Job::Cancel),
    ];
}

/// The fleets of the power cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fleet {
    /// Callers allocate its servers.
    Sessions,
    /// Games hold their servers.
    Held,
    /// Games reserve their servers.
    Pool,
}

impl Fleet {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sessions, Self::Held, Self::Pool];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sessions => "sessions",
            Self::Held => "held",
            Self::Pool => "pool",
        }
    }

    /// How many slots it has: more than its clients have sessions, so that no request is refused.
    #[must_use]
    pub const fn slots(self) -> u32 {
        match self {
            Self::Sessions => 6,
            Self::Held | Self::Pool => 1,
        }
    }
}

/// An allocation as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenAllocation {
    /// The caller's id.
    pub allocation_id: String,
    /// Waiting, placed, fulfilled, ended or failed.
    pub state: String,
    /// Its server, where it ever had one.
    pub server_id: Option<u64>,
    /// Why it ended.
    pub end_reason: Option<String>,
}

/// A server as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenServer {
    /// Its id.
    pub id: u64,
    /// The life of its process.
    pub process: String,
    /// Its process.
    pub pid: Option<u32>,
    /// Its session.
    pub allocation_id: Option<String>,
    /// Its fleet.
    pub fleet_name: String,
    /// What others see of it.
    pub status: String,
    /// Until when it is held.
    pub held_until: Option<String>,
    /// Its reservation.
    pub reservation_id: Option<String>,
}

/// The reservations of a server, from the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenReservations {
    /// How many were made.
    pub made: usize,
    /// Why they ended.
    pub ends: Vec<String>,
}

/// What stands of an operator's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenWork {
    /// The files that the build's next version will have.
    pub files: Vec<SeenFile>,
    /// The build's newest version; every byte of it was compared.
    pub version: u64,
    /// The command line of the build configuration.
    pub command_line: String,
    /// The service accounts beside the instance's own.
    pub accounts: Vec<String>,
    /// Whether the account that was made last may ask, where one was.
    pub account_may_ask: Option<bool>,
    /// The join tokens that are open.
    pub tokens: Vec<String>,
    /// The tickets that search.
    pub tickets: Vec<String>,
}

/// A file of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SeenFile {
    /// Its path.
    pub path: String,
    /// How many of its bytes have come.
    pub come: u64,
    /// Whether it is whole.
    pub whole: bool,
}

/// How many bytes a file of the build has.
pub const FILE_BYTES: u64 = 60_000;
/// How many are sent at once.
pub const PIECE_BYTES: u64 = 20_000;

/// What the guest says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "word", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Word {
    /// Something was looked at, and holds.
    Holds {
        /// What.
        what: String,
    },
    /// Somebody is about to send a request.
    Asking {
        /// What is asked.
        asked: Asked,
        /// Of which allocation, server, file (of bytes: `PATH/LAST`), account or token; or what a command line shall be.
        id: String,
    },
    /// The answer is there, and it is yes.
    Acknowledged {
        /// What was asked.
        asked: Asked,
        /// As it was asked.
        id: String,
        /// What the answer says: until when a server is held, which version it is, an account as `KEY:SECRET`, a token's id, a ticket's.
        told: Option<String>,
    },
    /// What stands after a start, once all servers and allocations have come to rest.
    Stands {
        /// All allocations.
        allocations: Vec<SeenAllocation>,
        /// All servers.
        servers: Vec<SeenServer>,
        /// The reservations that [`Fleet::Pool`]'s server ever had.
        reservations: SeenReservations,
        /// The operator's work.
        work: SeenWork,
        /// The acknowledgements that the guest had written into a file without a sync.
        unsynced_lines: usize,
    },
    /// The scenario ended well.
    Done,
    /// It did not.
    Failed {
        /// Why.
        why: String,
    },
}

impl Word {
    /// As a line, with its end.
    #[must_use]
    pub fn line(&self) -> String {
        let text = serde_json::to_string(self).expect("strings and numbers are JSON");
        format!("{MARK}{text}\n")
    }

    /// From a line; `None` where it is talk.
    ///
    /// # Errors
    /// A marked line that is no word.
    pub fn read(line: &str) -> Option<Result<Self, serde_json::Error>> {
        line.trim_end().strip_prefix(MARK).map(serde_json::from_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_and_words_are_read_as_they_are_written() {
        for scenario in [
            Scenario::Kernel,
            Scenario::Units,
            Scenario::Power { seed: u64::MAX, boot: 3, syncs: Syncs::Done, account: Some("k:s".to_owned()) },
            Scenario::Power { seed: 0, boot: 1, syncs: Syncs::Swallowed, account: None },
        ] {
            assert_eq!(scenario.to_string().parse(), Ok(scenario));
        }
        for text in ["", "kernel/1", "power", "power/1/1", "power/x/1/", "power/1/-1/"] {
            assert!(text.parse::<Scenario>().is_err(), "{text}");
        }
        let word = Word::Asking { asked: Asked::Deallocate, id: "a".to_owned() };
        let line = word.line();
        assert_eq!(line, "@lab {\"word\":\"asking\",\"asked\":\"deallocate\",\"id\":\"a\"}\n");
        assert_eq!(Word::read(&line.replace('\n', "\r\n")).unwrap().unwrap(), word);
        assert!(Word::read("[    0.0] talk").is_none());
        assert!(Word::read("@lab {\"word\":\"ackno").unwrap().is_err());
    }
}
