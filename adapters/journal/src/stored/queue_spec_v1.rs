//! Format 1 of what a queue matches by, and what formats 6 to 8 append to it.

use std::sync::Arc;

use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::{
    self, Declared, Enforced, Gather, QueueSpec, RuleKind, TeamSpec, Visibility,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub(super) struct Spec<'a> {
    name: &'a str,
    min_match_size: u32,
    max_match_size: u32,
    max_ticket_size: Option<u32>,
    #[serde(borrow)]
    teams: Vec<Team<'a>>,
    rules: Vec<Rule<'a>>,
    regions: Vec<&'a str>,
    players_matching: Shown,
    time_to_match: Shown,
}

/// Where matches are played, of a queue that gathers: beside the specification, like what a queue gathers for.
#[derive(Serialize, Deserialize)]
pub(super) enum Venue<'a> {
    Server {
        #[serde(borrow)]
        allocation: Allocation<'a>,
    },
    Session {
        lobby: &'a str,
    },
}

/// Of what a match gets its server. Beside the specification: those of format 1 have none.
#[derive(Serialize, Deserialize)]
pub(super) struct Allocation<'a> {
    fleet: &'a str,
    build_configuration: &'a str,
    #[serde(borrow)]
    build: Option<Build<'a>>,
}

#[derive(Serialize, Deserialize)]
enum Build<'a> {
    Id(&'a str),
    Alias(&'a str),
}

/// What nothing reads, beside the specification too.
#[derive(Serialize, Deserialize)]
pub(super) struct Unread<'a> {
    build_id: Option<&'a str>,
    build_alias: Option<&'a str>,
    #[serde(borrow)]
    defaults: Vec<(&'a str, &'a str)>,
}

impl<'a> From<&'a spec::Unread> for Unread<'a> {
    fn from(spec::Unread { build_id, build_alias, defaults }: &'a spec::Unread) -> Self {
        Self {
            build_id: build_id.as_deref(),
            build_alias: build_alias.as_deref(),
            defaults: defaults.iter().map(|(rule, json)| (&**rule, &**json)).collect(),
        }
    }
}

impl From<Unread<'_>> for spec::Unread {
    fn from(Unread { build_id, build_alias, defaults }: Unread<'_>) -> Self {
        Self {
            build_id: build_id.map(Into::into),
            build_alias: build_alias.map(Into::into),
            defaults: defaults.into_iter().map(|(rule, json)| (rule.into(), json.into())).collect(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Team<'a> {
    name: &'a str,
    min: u32,
    max: u32,
}

#[derive(Serialize, Deserialize)]
enum Shown {
    Hidden,
    ToPlayers,
}

#[derive(Serialize, Deserialize)]
struct Rule<'a> {
    name: &'a str,
    optional_after: Option<u32>,
    #[serde(borrow)]
    kind: Kind<'a>,
}

/// Amounts and weights are in millionths.
#[derive(Serialize, Deserialize)]
enum Kind<'a> {
    StringEquality {
        #[serde(borrow)]
        attribute: Attribute<'a>,
        weight: i64,
        missing: Missing<&'a str>,
        enforced: Expansion<()>,
    },
    Difference {
        attribute: Attribute<'a>,
        weight: i64,
        missing: Missing<i64>,
        merge: Merge,
        allowed: Expansion<i64>,
    },
    SetIntersection {
        attribute: Attribute<'a>,
        weight: i64,
        missing: Missing<Vec<&'a str>>,
        shared: Expansion<u32>,
    },
    MatchTotal {
        attribute: Attribute<'a>,
        weight: i64,
        min: Expansion<i64>,
        max: Expansion<i64>,
    },
    RegionSelection {
        path: &'a str,
        weight: i64,
        latency: Expansion<u32>,
    },
    TeamDifference {
        attribute: Attribute<'a>,
        default: i64,
        allowed: Expansion<i64>,
    },
    TeamSizeBalance {
        allowed: Expansion<u32>,
    },
    TeamTicketSizeSimilarity,
}

#[derive(Serialize, Deserialize)]
struct Attribute<'a> {
    source: Source,
    path: &'a str,
}

#[derive(Serialize, Deserialize)]
enum Source {
    User,
    PlayerEntity,
}

#[derive(Serialize, Deserialize)]
enum Missing<T> {
    UseDefault(T),
    MatchAny,
}

#[derive(Serialize, Deserialize)]
enum Merge {
    Min,
    Max,
    Average,
}

#[derive(Serialize, Deserialize)]
enum Expansion<T> {
    Fixed(T),
    Linear {
        from: T,
        delta: Delta<T>,
        limit: Option<T>,
        every: u32,
    },
    Custom {
        values: Vec<Option<T>>,
        every: u32,
    },
    /// Since format 6.
    CustomBeside {
        base: T,
        values: Vec<Option<T>>,
        every: u32,
    },
}

#[derive(Serialize, Deserialize)]
enum Delta<T> {
    Up(T),
    Down(T),
}

impl<'a> From<&'a QueueSpec> for Spec<'a> {
    fn from(spec: &'a QueueSpec) -> Self {
        let Declared {
            name,
            min_match_size,
            max_match_size,
            max_ticket_size,
            teams,
            rules,
            regions,
            visibility: Visibility { players_matching, time_to_match },
            venue: _,
            gather: _,
            unread: _,
        } = spec.declared();
        Self {
            name,
            min_match_size: *min_match_size,
            max_match_size: *max_match_size,
            max_ticket_size: *max_ticket_size,
            teams: teams
                .iter()
                .map(|TeamSpec { name, min, max }| Team { name, min: *min, max: *max })
                .collect(),
            rules: rules.iter().map(Into::into).collect(),
            regions: regions.iter().map(|region| &**region).collect(),
            players_matching: (*players_matching).into(),
            time_to_match: (*time_to_match).into(),
        }
    }
}

impl From<Spec<'_>> for QueueSpec {
    fn from(spec: Spec<'_>) -> Self {
        let team = |Team { name, min, max }: Team<'_>| TeamSpec { name: name.into(), min, max };
        Self::kept(Declared {
            name: spec.name.into(),
            min_match_size: spec.min_match_size,
            max_match_size: spec.max_match_size,
            max_ticket_size: spec.max_ticket_size,
            teams: spec.teams.into_iter().map(team).collect(),
            rules: spec.rules.into_iter().map(Into::into).collect(),
            regions: spec.regions.into_iter().map(Into::into).collect(),
            visibility: Visibility {
                players_matching: spec.players_matching.into(),
                time_to_match: spec.time_to_match.into(),
            },
            venue: None,
            gather: Gather::NONE,
            unread: spec::Unread::default(),
        })
    }
}

impl Spec<'_> {
    /// With a place for each match.
    pub(super) fn at(self, venue: spec::Venue) -> QueueSpec {
        let declared = QueueSpec::from(self).declared().clone();
        QueueSpec::kept(Declared { venue: Some(venue), ..declared })
    }

    /// The same of one that was told what nothing reads.
    pub(super) fn told(self, venue: Option<Venue<'_>>, ms: u32, unread: Unread<'_>) -> QueueSpec {
        let declared = self.gathering(venue, ms).declared().clone();
        QueueSpec::kept(Declared { unread: unread.into(), ..declared })
    }

    /// With a place for each match, if there is one, for one that gathers for so many milliseconds.
    pub(super) fn gathering(self, venue: Option<Venue<'_>>, ms: u32) -> QueueSpec {
        let declared = QueueSpec::from(self).declared().clone();
        let gather = Gather::for_ms(ms);
        QueueSpec::kept(Declared { venue: venue.map(Into::into), gather, ..declared })
    }
}

impl<'a> From<&'a spec::Venue> for Venue<'a> {
    fn from(venue: &'a spec::Venue) -> Self {
        match venue {
            spec::Venue::Server(allocation) => Self::Server { allocation: allocation.into() },
            spec::Venue::Session { lobby } => Self::Session { lobby },
        }
    }
}

impl From<Venue<'_>> for spec::Venue {
    fn from(venue: Venue<'_>) -> Self {
        match venue {
            Venue::Server { allocation } => Self::Server(allocation.into()),
            Venue::Session { lobby } => Self::Session { lobby: lobby.into() },
        }
    }
}

impl<'a> From<&'a spec::ServerAllocation> for Allocation<'a> {
    fn from(allocation: &'a spec::ServerAllocation) -> Self {
        let spec::ServerAllocation { fleet, build_configuration, build } = allocation;
        let build = build.as_ref().map(|build| match build {
            spec::PlayFabBuild::Id(id) => Build::Id(id),
            spec::PlayFabBuild::Alias(id) => Build::Alias(id),
        });
        Self { fleet, build_configuration, build }
    }
}

impl From<Allocation<'_>> for spec::ServerAllocation {
    fn from(Allocation { fleet, build_configuration, build }: Allocation<'_>) -> Self {
        let build = build.map(|build| match build {
            Build::Id(id) => spec::PlayFabBuild::Id(id.into()),
            Build::Alias(id) => spec::PlayFabBuild::Alias(id.into()),
        });
        Self { fleet: fleet.into(), build_configuration: build_configuration.into(), build }
    }
}

impl<'a> From<&'a spec::Rule> for Rule<'a> {
    fn from(spec::Rule { name, optional_after, kind }: &'a spec::Rule) -> Self {
        Self { name, optional_after: *optional_after, kind: kind.into() }
    }
}

impl From<Rule<'_>> for spec::Rule {
    fn from(Rule { name, optional_after, kind }: Rule<'_>) -> Self {
        Self { name: name.into(), optional_after, kind: kind.into() }
    }
}

impl<'a> From<&'a RuleKind> for Kind<'a> {
    fn from(kind: &'a RuleKind) -> Self {
        match kind {
            RuleKind::StringEquality { attribute, weight, missing, enforced } => Self::StringEquality {
                attribute: attribute.into(),
                weight: weight.get().millionths(),
                missing: Missing::of(missing, |text| &**text),
                enforced: Expansion::of(enforced, |Enforced| ()),
            },
            RuleKind::Difference { attribute, weight, missing, merge, allowed } => Self::Difference {
                attribute: attribute.into(),
                weight: weight.get().millionths(),
                missing: Missing::of(missing, |number| number.millionths()),
                merge: (*merge).into(),
                allowed: Expansion::of(allowed, Amount::millionths),
            },
            RuleKind::SetIntersection { attribute, weight, missing, shared } => Self::SetIntersection {
                attribute: attribute.into(),
                weight: weight.get().millionths(),
                missing: Missing::of(missing, |texts| texts.iter().map(|text| &**text).collect()),
                shared: Expansion::of(shared, |count| count),
            },
            RuleKind::MatchTotal { attribute, weight, min, max } => Self::MatchTotal {
                attribute: attribute.into(),
                weight: weight.get().millionths(),
                min: Expansion::of(min, Amount::millionths),
                max: Expansion::of(max, Amount::millionths),
            },
            RuleKind::RegionSelection { path, weight, latency } => Self::RegionSelection {
                path,
                weight: weight.get().millionths(),
                latency: Expansion::of(latency, |latency| latency),
            },
            RuleKind::TeamDifference { attribute, default, allowed } => Self::TeamDifference {
                attribute: attribute.into(),
                default: default.millionths(),
                allowed: Expansion::of(allowed, Amount::millionths),
            },
            RuleKind::TeamSizeBalance { allowed } => {
                Self::TeamSizeBalance { allowed: Expansion::of(allowed, |players| players) }
            }
            RuleKind::TeamTicketSizeSimilarity => Self::TeamTicketSizeSimilarity,
        }
    }
}

impl From<Kind<'_>> for RuleKind {
    fn from(kind: Kind<'_>) -> Self {
        match kind {
            Kind::StringEquality { attribute, weight, missing, enforced } => Self::StringEquality {
                attribute: attribute.into(),
                weight: weighted(weight),
                missing: missing.raised(Arc::from),
                enforced: enforced.raised(|()| Enforced),
            },
            Kind::Difference { attribute, weight, missing, merge, allowed } => Self::Difference {
                attribute: attribute.into(),
                weight: weighted(weight),
                missing: missing.raised(Amount::from_millionths),
                merge: merge.into(),
                allowed: allowed.raised(Amount::from_millionths),
            },
            Kind::SetIntersection { attribute, weight, missing, shared } => Self::SetIntersection {
                attribute: attribute.into(),
                weight: weighted(weight),
                missing: missing.raised(|texts| texts.into_iter().map(Arc::from).collect()),
                shared: shared.raised(|count| count),
            },
            Kind::MatchTotal { attribute, weight, min, max } => Self::MatchTotal {
                attribute: attribute.into(),
                weight: weighted(weight),
                min: min.raised(Amount::from_millionths),
                max: max.raised(Amount::from_millionths),
            },
            Kind::RegionSelection { path, weight, latency } => Self::RegionSelection {
                path: path.into(),
                weight: weighted(weight),
                latency: latency.raised(|latency| latency),
            },
            Kind::TeamDifference { attribute, default, allowed } => Self::TeamDifference {
                attribute: attribute.into(),
                default: Amount::from_millionths(default),
                allowed: allowed.raised(Amount::from_millionths),
            },
            Kind::TeamSizeBalance { allowed } => {
                Self::TeamSizeBalance { allowed: allowed.raised(|players| players) }
            }
            Kind::TeamTicketSizeSimilarity => Self::TeamTicketSizeSimilarity,
        }
    }
}

/// A weight is checked before it is stored.
fn weighted(millionths: i64) -> spec::Weight {
    spec::Weight::new(Amount::from_millionths(millionths)).unwrap_or(spec::Weight::DEFAULT)
}

impl<'a> From<&'a spec::Attribute> for Attribute<'a> {
    fn from(spec::Attribute { source, path }: &'a spec::Attribute) -> Self {
        Self { source: (*source).into(), path }
    }
}

impl From<Attribute<'_>> for spec::Attribute {
    fn from(Attribute { source, path }: Attribute<'_>) -> Self {
        Self { source: source.into(), path: path.into() }
    }
}

super::alike! {
    Shown = spec::Shown { Hidden, ToPlayers };
    Source = spec::Source { User, PlayerEntity };
    Merge = spec::Merge { Min, Max, Average };
}

impl<S> Missing<S> {
    fn of<'a, T>(missing: &'a spec::Missing<T>, each: impl Fn(&'a T) -> S) -> Self {
        match missing {
            spec::Missing::UseDefault(default) => Self::UseDefault(each(default)),
            spec::Missing::MatchAny => Self::MatchAny,
        }
    }

    fn raised<T>(self, each: impl Fn(S) -> T) -> spec::Missing<T> {
        match self {
            Self::UseDefault(default) => spec::Missing::UseDefault(each(default)),
            Self::MatchAny => spec::Missing::MatchAny,
        }
    }
}

impl<S> Expansion<S> {
    fn of<T: Copy>(expansion: &spec::Expansion<T>, each: impl Fn(T) -> S) -> Self {
        match expansion {
            spec::Expansion::Fixed(value) => Self::Fixed(each(*value)),
            spec::Expansion::Linear { from, delta, limit, every } => Self::Linear {
                from: each(*from),
                delta: match delta {
                    spec::Delta::Up(by) => Delta::Up(each(*by)),
                    spec::Delta::Down(by) => Delta::Down(each(*by)),
                },
                limit: limit.map(&each),
                every: *every,
            },
            spec::Expansion::Custom { base, values, every } => {
                let values = values.iter().map(|value| value.map(&each)).collect();
                match base {
                    None => Self::Custom { values, every: *every },
                    Some(base) => Self::CustomBeside { base: each(*base), values, every: *every },
                }
            }
        }
    }

    fn raised<T>(self, each: impl Fn(S) -> T) -> spec::Expansion<T> {
        match self {
            Self::Fixed(value) => spec::Expansion::Fixed(each(value)),
            Self::Linear { from, delta, limit, every } => spec::Expansion::Linear {
                from: each(from),
                delta: match delta {
                    Delta::Up(by) => spec::Delta::Up(each(by)),
                    Delta::Down(by) => spec::Delta::Down(each(by)),
                },
                limit: limit.map(&each),
                every,
            },
            Self::Custom { values, every } => spec::Expansion::Custom {
                base: None,
                values: values.into_iter().map(|value| value.map(&each)).collect(),
                every,
            },
            Self::CustomBeside { base, values, every } => spec::Expansion::Custom {
                base: Some(each(base)),
                values: values.into_iter().map(|value| value.map(&each)).collect(),
                every,
            },
        }
    }
}
