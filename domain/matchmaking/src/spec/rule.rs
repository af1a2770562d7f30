//! The eight rule types, as PlayFab publishes them.
//!
//! Sources: `MatchmakingQueueConfig` of PlayFab's API specification, and the page *Configuring matchmaking queues*.

use alloc::sync::Arc;

use super::expansion::{Expansion, Threshold};
use crate::amount::Amount;

/// One rule of a queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Unique in its queue, 1 to 255 letters, digits, `_` and `-`, a letter or digit first.
    pub name: Arc<str>,
    /// After so many seconds the rule no longer restricts the tickets that have waited that long; its distance counts on.
    pub optional_after: Option<u32>,
    /// What it asks for.
    pub kind: RuleKind,
}

impl Rule {
    /// Whether it lets tickets be, now or once they have waited: by asking nothing, or a limit that allows it.
    pub(super) fn lets<T: Threshold>(&self, limit: &Expansion<T>, allows: impl Fn(T) -> bool) -> bool {
        let mut limits = core::iter::once(0).chain(limit.boundaries()).map(|at| limit.after(at));
        self.optional_after.is_some() || limits.any(|limit| limit.is_none_or(&allows))
    }

    /// Whether it lets a player be, now or once it has waited, who lacks its attribute and stands for its default. It does not where that is
    /// a list of fewer values than are to be shared: the specification allows such a queue, in which the attribute cannot be left out.
    #[must_use]
    pub fn lets_its_default(&self) -> bool {
        match &self.kind {
            RuleKind::SetIntersection { missing: Missing::UseDefault(texts), shared, .. } => {
                self.lets(shared, |least| usize::try_from(least).is_ok_and(|least| least <= texts.len()))
            }
            RuleKind::SetIntersection { missing: Missing::MatchAny, .. }
            | RuleKind::StringEquality { .. }
            | RuleKind::Difference { .. }
            | RuleKind::MatchTotal { .. }
            | RuleKind::RegionSelection { .. }
            | RuleKind::TeamDifference { .. }
            | RuleKind::TeamSizeBalance { .. }
            | RuleKind::TeamTicketSizeSimilarity => true,
        }
    }
}

/// What a rule asks for. The first five restrict and rank; the last three look at whole teams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuleKind {
    /// A text that is the same across all tickets of a match.
    StringEquality {
        /// Where the text is.
        attribute: Attribute,
        /// How much the rule's distance counts.
        weight: Weight,
        /// What a player without the attribute stands for.
        missing: Missing<Arc<str>>,
        /// When the rule restricts, over time: `Some` while it does.
        enforced: Expansion<Enforced>,
    },
    /// A number that differs by at most so much between any two tickets of a match.
    Difference {
        /// Where the number is.
        attribute: Attribute,
        /// How much the rule's distance counts.
        weight: Weight,
        /// What a player without the attribute stands for.
        missing: Missing<Amount>,
        /// How the numbers of a ticket's players become the ticket's.
        merge: Merge,
        /// The largest allowed difference.
        allowed: Expansion<Amount>,
    },
    /// A list of texts of which all tickets of a match share at least so many.
    SetIntersection {
        /// Where the list is.
        attribute: Attribute,
        /// How much the rule's distance counts.
        weight: Weight,
        /// What a player without the attribute stands for.
        missing: Missing<Arc<[Arc<str>]>>,
        /// How many are shared at least.
        shared: Expansion<u32>,
    },
    /// A number whose sum over all players of a match lies within bounds, both inclusive.
    MatchTotal {
        /// Where the number is. It is never missing: the published rule has neither a default nor a behaviour.
        attribute: Attribute,
        /// How much the rule's distance counts.
        weight: Weight,
        /// The least sum.
        min: Expansion<Amount>,
        /// The largest sum.
        max: Expansion<Amount>,
    },
    /// A region to which every player's latency is at most so much.
    RegionSelection {
        /// The attribute that holds the latencies; always sent with the ticket.
        path: Arc<str>,
        /// How much the rule's distance counts.
        weight: Weight,
        /// The largest allowed latency, in milliseconds.
        latency: Expansion<u32>,
    },
    /// A number whose averages over each team differ by at most so much.
    TeamDifference {
        /// Where the number is.
        attribute: Attribute,
        /// What a player without the attribute counts.
        default: Amount,
        /// The largest allowed difference.
        allowed: Expansion<Amount>,
    },
    /// The sizes of the teams, which differ by at most so many players.
    TeamSizeBalance {
        /// The largest allowed difference.
        allowed: Expansion<u32>,
    },
    /// Either every team has a large party, or none has.
    TeamTicketSizeSimilarity,
}

/// Where an attribute is found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Attribute {
    /// Who supplies it.
    pub source: Source,
    /// Its path there: `mu`, `nestExample.exp`, `$.playerSkill.skillDetail.mu`.
    pub path: Arc<str>,
}

/// Who supplies an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// It comes with the ticket.
    User,
    /// It is stored with the player.
    PlayerEntity,
}

/// What a player stands for who lacks an attribute (`AttributeNotSpecifiedBehavior`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing<T> {
    /// This value.
    UseDefault(T),
    /// Anything: the player satisfies the rule with anyone.
    MatchAny,
}

/// How the numbers of a ticket's players become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merge {
    /// The least.
    Min,
    /// The largest.
    Max,
    /// The average, to six places, rounded down.
    Average,
}

/// That a rule restricts, in an interval of its expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Enforced;

impl Threshold for Enforced {
    fn up(self, _by: Self, _times: u32) -> Self {
        self
    }

    fn down(self, _by: Self, _times: u32) -> Self {
        self
    }
}

/// A multiplier of a rule's distance: above 0, at most 1000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(Amount);

impl Weight {
    /// "If no weight is specified, the default value is 1."
    pub const DEFAULT: Self = Self(Amount::ONE);
    /// "Weight must be a number greater than 0 and up to 1000 (inclusive)."
    pub const MAX: Amount = Amount::whole(1000);

    /// `None` outside of the allowed range.
    #[must_use]
    pub fn new(weight: Amount) -> Option<Self> {
        (weight > Amount::ZERO && weight <= Self::MAX).then_some(Self(weight))
    }

    /// The multiplier.
    #[must_use]
    pub const fn get(self) -> Amount {
        self.0
    }
}

impl RuleKind {
    /// What its attribute must be, where it has one.
    #[must_use]
    pub const fn wants(&self) -> Option<Wanted> {
        match self {
            Self::StringEquality { .. } => Some(Wanted::Text),
            Self::Difference { .. } | Self::MatchTotal { .. } | Self::TeamDifference { .. } => {
                Some(Wanted::Number)
            }
            Self::SetIntersection { .. } => Some(Wanted::Texts),
            Self::RegionSelection { .. } => Some(Wanted::Latencies),
            Self::TeamSizeBalance { .. } | Self::TeamTicketSizeSimilarity => None,
        }
    }

    /// Where its attribute is, where it has one.
    #[must_use]
    pub fn attribute(&self) -> Option<Attribute> {
        match self {
            Self::StringEquality { attribute, .. }
            | Self::Difference { attribute, .. }
            | Self::SetIntersection { attribute, .. }
            | Self::MatchTotal { attribute, .. }
            | Self::TeamDifference { attribute, .. } => Some(attribute.clone()),
            Self::RegionSelection { path, .. } => {
                Some(Attribute { source: Source::User, path: path.clone() })
            }
            Self::TeamSizeBalance { .. } | Self::TeamTicketSizeSimilarity => None,
        }
    }

    /// Whether it looks at teams.
    #[must_use]
    pub const fn is_of_teams(&self) -> bool {
        match self {
            Self::TeamDifference { .. } | Self::TeamSizeBalance { .. } | Self::TeamTicketSizeSimilarity => {
                true
            }
            Self::StringEquality { .. }
            | Self::Difference { .. }
            | Self::SetIntersection { .. }
            | Self::MatchTotal { .. }
            | Self::RegionSelection { .. } => false,
        }
    }
}

/// What an attribute must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// A text.
    Text,
    /// A number.
    Number,
    /// A list of texts.
    Texts,
    /// A list of `{region, latency}`.
    Latencies,
}

impl core::fmt::Display for Wanted {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Texts => "a list of texts",
            Self::Latencies => "a list of {region, latency}",
        })
    }
}
