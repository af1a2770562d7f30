//! What a queue asks for: sizes, teams and rules.

pub(crate) mod check;
pub(crate) mod expansion;
pub(crate) mod gather;
pub(crate) mod room;
pub(crate) mod rule;

use alloc::sync::Arc;
use alloc::vec::Vec;

pub(crate) use self::check::TEAMS_MAX;
pub use self::check::{Fault, QueueSpec, UNREAD_BYTES_MAX};
pub use self::expansion::{Delta, EXPANSIONS_MAX, Expansion, Threshold};
pub use self::gather::{GATHER_MS_MAX, Gather};
pub use self::room::NoRoom;
pub use self::rule::{Attribute, Enforced, Merge, Missing, Rule, RuleKind, Source, Wanted, Weight};

/// A queue as it is declared, before it is checked: every field as PlayFab's `MatchmakingQueueConfig` has it, less what
/// belongs to placement, and what is Mainstay's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    /// 1 to 64 letters, digits, `_` and `-`, a letter or digit first; case-sensitive.
    pub name: Arc<str>,
    /// The least players of a match.
    pub min_match_size: u32,
    /// The most players of a match.
    pub max_match_size: u32,
    /// The most players of a ticket; `None`, and PlayFab's 0, where only the match bounds it.
    pub max_ticket_size: Option<u32>,
    /// The teams, in order; none, or at least two.
    pub teams: Vec<TeamSpec>,
    /// The rules, in order.
    pub rules: Vec<Rule>,
    /// The regions there are, where that is known: others are refused. Empty: any.
    pub regions: Vec<Arc<str>>,
    /// What players may see of the queue's statistics.
    pub visibility: Visibility,
    /// Where a match is played; `None`: the queue does not care.
    pub venue: Option<Venue>,
    /// How long those who come are gathered before they are looked at.
    pub gather: Gather,
    /// What it was told and nothing reads.
    pub unread: Unread,
}

/// What a queue was told and nothing reads, kept to be shown as it came: whoever turns it on again finds it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unread {
    /// `BuildId`, while `ServerAllocationEnabled` is false.
    pub build_id: Option<Arc<str>>,
    /// `BuildAliasParams.AliasId`, likewise.
    pub build_alias: Option<Arc<str>>,
    /// `DefaultAttributeValue` beside `MatchAny`: by rule, each a text of JSON.
    pub defaults: Vec<(Arc<str>, Arc<str>)>,
}

impl Unread {
    /// The same of a queue whose servers are said otherwise.
    #[must_use]
    pub fn without_build(self) -> Self {
        Self { build_id: None, build_alias: None, ..self }
    }

    /// What it takes, in bytes.
    fn bytes(&self) -> usize {
        let builds = self.build_id.iter().chain(&self.build_alias).map(|id| id.len());
        let defaults = self.defaults.iter().map(|(rule, json)| rule.len() + json.len());
        builds.chain(defaults).sum()
    }
}

/// Where matches are played. None is formed before it has its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Venue {
    /// On a server of a fleet.
    Server(ServerAllocation),
    /// In a session that its players host, of this lobby service.
    Session {
        /// `lan` or `online`.
        lobby: Arc<str>,
    },
}

/// Of what a match gets its server (`ServerAllocationEnabled`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAllocation {
    /// The fleet, by name or id: whatever has that name when a server is asked for.
    pub fleet: Arc<str>,
    /// One of its build configurations, by name or id.
    pub build_configuration: Arc<str>,
    /// What a queue that was pasted calls it, to be shown as it came.
    pub build: Option<PlayFabBuild>,
}

/// What PlayFab's queues call what runs on their servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlayFabBuild {
    /// `BuildId`.
    Id(Arc<str>),
    /// `BuildAliasParams.AliasId`.
    Alias(Arc<str>),
}

impl PlayFabBuild {
    /// PlayFab's id of it, either way.
    #[must_use]
    pub const fn id(&self) -> &Arc<str> {
        let (Self::Id(id) | Self::Alias(id)) = self;
        id
    }

    /// Of what a queue that names it gets its servers: of the fleet and build configuration that stand for it here; or, where none do,
    /// of those that its own text names as `FLEET/BUILDCONFIGURATION`, as queues in our words are shown, so that what is shown can be
    /// set again. `None` where neither says.
    #[must_use]
    pub fn allocation(self, stands_for: Option<(Arc<str>, Arc<str>)>) -> Option<ServerAllocation> {
        if let Some((fleet, build_configuration)) = stands_for {
            return Some(ServerAllocation { fleet, build_configuration, build: Some(self) });
        }
        let (fleet, rest) =
            self.id().split_once('/').filter(|(fleet, rest)| !fleet.is_empty() && !rest.is_empty())?;
        Some(ServerAllocation { fleet: fleet.into(), build_configuration: rest.into(), build: None })
    }
}

/// A team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamSpec {
    /// Unique in its queue; 1 to 64 characters as a queue's name.
    pub name: Arc<str>,
    /// The least players.
    pub min: u32,
    /// The most players.
    pub max: u32,
}

/// What players may see of a queue's statistics (`StatisticsVisibilityToPlayers`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Visibility {
    /// How many players are matching.
    pub players_matching: Shown,
    /// How long matching takes.
    pub time_to_match: Shown,
}

/// Whether something is shown to players.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shown {
    /// To servers and the title alone.
    #[default]
    Hidden,
    /// To everyone.
    ToPlayers,
}
