//! What makes a queue: every fault of a declaration at once, so that nobody mends them one by one.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::ops::Deref;

use super::expansion::{Delta, Expansion};
use super::gather::GATHER_MS_MAX;
use super::room::can_be_even;
use super::rule::{Missing, RuleKind, Wanted};
use super::{Declared, Rule};
use crate::amount::Amount;
use crate::attribute::{TEXT_BYTES_MAX, TEXTS_MAX};

/// "The minimum match size must be greater than or equal to 2".
pub const MATCH_SIZE_MIN: u32 = 2;
/// "the maximum match size must be less than or equal to 100".
pub const MATCH_SIZE_MAX: u32 = 100;
/// "(this limit is 32, if using teams)".
pub const MATCH_SIZE_WITH_TEAMS_MAX: u32 = 32;
/// The most teams: as many as the largest match with teams has players. Of any more some would be empty in every match.
pub const TEAMS_MAX: usize = MATCH_SIZE_WITH_TEAMS_MAX as usize;
/// "You can have a maximum of 20 rules defined for a single queue."
pub const RULES_MAX: usize = 20;
/// The most regions a queue may name: as many as one word has bits. PlayFab knows about 60.
pub const REGIONS_MAX: usize = 64;
/// The most bytes of what a queue is told and nothing reads, in all: the longest list that a rule could read, as JSON with quotes and commas.
pub const UNREAD_BYTES_MAX: usize = TEXTS_MAX * (TEXT_BYTES_MAX + 3) + 1 + RULE_NAME_CHARS_MAX;
/// The largest latency that a rule may allow, in milliseconds: what is measured above counts as one more, in 16 bits.
pub const LATENCY_MAX: u32 = 65_533;
const LATENCY_TOO_LARGE: &str = "a latency above 65533 ms; for no limit leave the rule out, or have it end";
/// Longest name of a queue or team.
const NAME_CHARS_MAX: usize = 64;
/// Longest name of a rule.
const RULE_NAME_CHARS_MAX: usize = 255;
/// The most values of a custom expansion, as many as a limit changes at most.
const CUSTOM_VALUES_MAX: usize = super::EXPANSIONS_MAX as usize;

/// A queue that can be matched: a declaration without a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSpec(Declared);

impl Deref for QueueSpec {
    type Target = Declared;

    fn deref(&self) -> &Declared {
        &self.0
    }
}

/// What is wrong with a declaration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Fault {
    /// Where: a field, or a rule or team by its name.
    pub place: String,
    /// What, with numbers.
    pub what: String,
}

impl Fault {
    /// Both, or everything that is wrong with either.
    ///
    /// # Errors
    /// The faults of the one, and then those of the other.
    pub fn both<A, B>(one: Result<A, Vec<Self>>, other: Result<B, Vec<Self>>) -> Result<(A, B), Vec<Self>> {
        match (one, other) {
            (Ok(one), Ok(other)) => Ok((one, other)),
            (Err(faults), Ok(_)) | (Ok(_), Err(faults)) => Err(faults),
            (Err(mut faults), Err(more)) => {
                faults.extend(more);
                Err(faults)
            }
        }
    }
}

impl QueueSpec {
    /// Checks a declaration.
    ///
    /// # Errors
    /// Every fault it has, in the order of its fields.
    pub fn new(declared: Declared) -> Result<Self, Vec<Fault>> {
        let mut faults = Faults(Vec::new());
        faults.sizes(&declared);
        faults.teams(&declared);
        faults.rules(&declared);
        let distinct: BTreeSet<String> = declared.regions.iter().map(|name| name.to_lowercase()).collect();
        faults
            .ensure(distinct.len() == declared.regions.len(), "regions", || "a region is named twice".into());
        faults.ensure(declared.regions.len() <= REGIONS_MAX, "regions", || {
            alloc::format!("{} regions, at most {REGIONS_MAX}", declared.regions.len())
        });
        let fits = |name: &Arc<str>| (1..=TEXT_BYTES_MAX).contains(&name.len());
        faults.ensure(declared.regions.iter().all(fits), "regions", || {
            alloc::format!("a region's name has 1 to {TEXT_BYTES_MAX} bytes")
        });
        let is_read = declared.rules.iter().any(|rule| matches!(rule.kind, RuleKind::RegionSelection { .. }));
        faults.ensure(declared.regions.is_empty() || is_read, "regions", || {
            "no RegionSelectionRule reads them".into()
        });
        let gather = declared.gather.ms();
        faults.ensure(gather <= GATHER_MS_MAX, "gather", || {
            alloc::format!("{gather} ms, at most {GATHER_MS_MAX}")
        });
        let unread = declared.unread.bytes();
        faults.ensure(unread <= UNREAD_BYTES_MAX, "DefaultAttributeValue", || {
            alloc::format!(
                "{unread} bytes that nothing reads, at most {UNREAD_BYTES_MAX}: leave out the defaults beside MatchAny, and the build where servers are off"
            )
        });
        if faults.0.is_empty() { Ok(Self(declared)) } else { Err(faults.0) }
    }

    /// As a journal kept it: it was checked when it was declared.
    #[must_use]
    pub const fn kept(declared: Declared) -> Self {
        Self(declared)
    }

    /// The declaration.
    #[must_use]
    pub const fn declared(&self) -> &Declared {
        &self.0
    }

    /// Whether tickets that were read for `other` can be matched by this one: whether each rule reads the same attribute
    /// in the same way, and the teams are the same.
    #[must_use]
    pub fn reads_as(&self, other: &Self) -> bool {
        let form = |spec: &Self| -> Vec<(Option<Wanted>, Option<super::Attribute>)> {
            spec.rules.iter().map(|rule| (rule.kind.wants(), rule.kind.attribute())).collect()
        };
        form(self) == form(other)
            && self.teams.iter().map(|team| &team.name).eq(other.teams.iter().map(|team| &team.name))
    }

    /// The place of a team in the list, by its name: as it is written, else without regard to case where that is one team's
    /// alone, as it was not always in queues that journals kept.
    #[must_use]
    pub fn team(&self, name: &str) -> Option<usize> {
        let mut folded =
            self.teams.iter().enumerate().filter(|(_, team)| team.name.eq_ignore_ascii_case(name));
        let exact = || self.teams.iter().position(|team| *team.name == *name);
        exact().or_else(|| folded.next().filter(|_| folded.next().is_none()).map(|(at, _)| at))
    }
}

struct Faults(Vec<Fault>);

impl Faults {
    fn ensure(&mut self, holds: bool, place: &str, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(Fault { place: place.to_string(), what: what() });
        }
    }

    fn sizes(&mut self, queue: &Declared) {
        self.name("name", &queue.name, NAME_CHARS_MAX);
        let (min, max) = (queue.min_match_size, queue.max_match_size);
        self.ensure(min >= MATCH_SIZE_MIN, "minMatchSize", || {
            alloc::format!("{min}, at least {MATCH_SIZE_MIN}")
        });
        self.ensure(max >= min, "maxMatchSize", || alloc::format!("{max}, below minMatchSize {min}"));
        let limit = if queue.teams.is_empty() { MATCH_SIZE_MAX } else { MATCH_SIZE_WITH_TEAMS_MAX };
        self.ensure(max <= limit, "maxMatchSize", || alloc::format!("{max}, at most {limit}"));
    }

    fn teams(&mut self, queue: &Declared) {
        if queue.teams.is_empty() {
            return;
        }
        self.ensure(queue.teams.len() >= 2, "teams", || "one team alone; none, or at least two".into());
        self.ensure(queue.teams.len() <= TEAMS_MAX, "teams", || {
            alloc::format!("{} teams, at most {TEAMS_MAX}", queue.teams.len())
        });
        let mut names = BTreeSet::new();
        for team in &queue.teams {
            let place = alloc::format!("team {}", team.name);
            self.name(&place, &team.name, NAME_CHARS_MAX);
            self.ensure(names.insert(team.name.to_ascii_lowercase()), &place, || {
                "named twice: teams are not told apart by case".into()
            });
            self.ensure(team.max >= 1, &place, || "maxTeamSize 0: nobody could be on it".into());
            self.ensure(team.min <= team.max, &place, || {
                alloc::format!("minTeamSize {} above maxTeamSize {}", team.min, team.max)
            });
        }
        let sum = |of: fn(&super::TeamSpec) -> u32| {
            queue.teams.iter().fold(0_u32, |sum, t| sum.saturating_add(of(t)))
        };
        let (least, most) = (sum(|team| team.min), sum(|team| team.max));
        self.ensure(least <= queue.max_match_size, "teams", || {
            alloc::format!("they need {least} players, and a match has at most {}", queue.max_match_size)
        });
        self.ensure(most >= queue.min_match_size, "teams", || {
            alloc::format!("they hold {most} players, and a match has at least {}", queue.min_match_size)
        });
    }

    fn rules(&mut self, queue: &Declared) {
        self.ensure(queue.rules.len() <= RULES_MAX, "rules", || {
            alloc::format!("{} rules, at most {RULES_MAX}", queue.rules.len())
        });
        let mut names = BTreeSet::new();
        let mut alone = [0_u8; 3];
        for rule in &queue.rules {
            let place = alloc::format!("rule {}", rule.name);
            self.name(&place, &rule.name, RULE_NAME_CHARS_MAX);
            self.ensure(names.insert(&rule.name), &place, || "named twice".into());
            self.ensure(!rule.kind.is_of_teams() || !queue.teams.is_empty(), &place, || {
                "it looks at teams, and the queue has none".into()
            });
            match &rule.kind {
                RuleKind::RegionSelection { .. } => alone[0] += 1,
                RuleKind::TeamSizeBalance { .. } => alone[1] += 1,
                RuleKind::TeamTicketSizeSimilarity => alone[2] += 1,
                RuleKind::StringEquality { .. }
                | RuleKind::Difference { .. }
                | RuleKind::SetIntersection { .. }
                | RuleKind::MatchTotal { .. }
                | RuleKind::TeamDifference { .. } => {}
            }
            self.rule(queue, &place, rule);
        }
        let single = ["RegionSelectionRule", "TeamSizeBalanceRule", "TeamTicketSizeSimilarityRule"];
        for (kind, count) in single.into_iter().zip(alone) {
            self.ensure(count <= 1, kind, || alloc::format!("{count} of them, a queue has at most one"));
        }
    }

    fn rule(&mut self, queue: &Declared, place: &str, rule: &Rule) {
        if let Some(attribute) = rule.kind.attribute() {
            self.ensure(!attribute.path.is_empty(), place, || "its attribute has no path".into());
        }
        match &rule.kind {
            RuleKind::StringEquality { missing, enforced, .. } => {
                self.expansion(place, enforced, |_| None);
                if let Missing::UseDefault(text) = missing {
                    self.text(place, text);
                }
            }
            RuleKind::Difference { allowed, .. } | RuleKind::TeamDifference { allowed, .. } => {
                self.expansion(place, allowed, |it| (it < Amount::ZERO).then_some("a negative difference"));
            }
            RuleKind::SetIntersection { missing, shared, .. } => {
                self.expansion(place, shared, |_| None);
                let ever = |least: u32| usize::try_from(least).is_ok_and(|least| least <= TEXTS_MAX);
                self.ensure(rule.lets(shared, ever), place, || {
                    alloc::format!("it can never hold: a list has at most {TEXTS_MAX} values")
                });
                if let Missing::UseDefault(texts) = missing {
                    texts.iter().for_each(|text| self.text(place, text));
                    self.ensure(texts.len() <= TEXTS_MAX, place, || {
                        alloc::format!("its default has {} values, at most {TEXTS_MAX}", texts.len())
                    });
                    let distinct: BTreeSet<&Arc<str>> = texts.iter().collect();
                    self.ensure(distinct.len() == texts.len(), place, || {
                        "its default names a value twice".into()
                    });
                }
            }
            RuleKind::MatchTotal { min, max, .. } => self.totals(place, min, max),
            RuleKind::RegionSelection { latency, .. } => {
                self.expansion(place, latency, |it| (it > LATENCY_MAX).then_some(LATENCY_TOO_LARGE));
            }
            RuleKind::TeamSizeBalance { allowed } => {
                self.expansion(place, allowed, |_| None);
                let sizes = queue.min_match_size..=queue.max_match_size;
                self.ensure(rule.lets(allowed, |most| can_be_even(queue, &[], &sizes, most)), place, || {
                    "it can never hold: no match has teams whose sizes differ by so little".into()
                });
            }
            RuleKind::TeamTicketSizeSimilarity => {}
        }
    }

    /// A text that stands for a missing one is no longer than those that are sent.
    fn text(&mut self, place: &str, text: &str) {
        self.ensure(text.len() <= TEXT_BYTES_MAX, place, || {
            alloc::format!("its default has {} bytes, at most {TEXT_BYTES_MAX}", text.len())
        });
    }

    fn totals(&mut self, place: &str, min: &Expansion<Amount>, max: &Expansion<Amount>) {
        for bound in [min, max] {
            self.expansion(place, bound, |it| (it < Amount::ZERO).then_some("a negative total"));
        }
        let times: Vec<u32> = [0].into_iter().chain(min.boundaries()).chain(max.boundaries()).collect();
        let crossed = times.into_iter().find(|at| match (min.after(*at), max.after(*at)) {
            (Some(min), Some(max)) => min > max,
            (None, _) | (_, None) => false,
        });
        if let Some(at) = crossed {
            self.ensure(false, place, || alloc::format!("after {at} s its Min is above its Max"));
        }
    }

    fn expansion<T: super::Threshold>(
        &mut self,
        place: &str,
        expansion: &Expansion<T>,
        wrong: impl Fn(T) -> Option<&'static str>,
    ) {
        let mut values = |values: &mut dyn Iterator<Item = T>| {
            if let Some(what) = values.filter_map(&wrong).next() {
                self.ensure(false, place, || what.into());
            }
        };
        match expansion {
            Expansion::Fixed(value) => values(&mut core::iter::once(*value)),
            Expansion::Linear { from, delta: Delta::Up(by) | Delta::Down(by), limit, every } => {
                values(&mut [*from, *by].into_iter().chain(*limit));
                self.ensure(*every > 0, place, || "secondsBetweenExpansions 0".into());
            }
            Expansion::Custom { base: _, values: all, every } => {
                values(&mut all.iter().filter_map(|value| *value));
                self.ensure(*every > 0, place, || "secondsBetweenExpansions 0".into());
                self.ensure(!all.is_empty(), place, || "a custom expansion without a value".into());
                self.ensure(all.len() <= CUSTOM_VALUES_MAX, place, || {
                    alloc::format!("{} values of an expansion, at most {CUSTOM_VALUES_MAX}", all.len())
                });
            }
        }
    }

    fn name(&mut self, place: &str, name: &str, chars_max: usize) {
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        self.ensure(begins && name.chars().all(allowed) && name.len() <= chars_max, place, || {
            alloc::format!(
                "the name must have 1 to {chars_max} letters, digits, `_` and `-`, and begin with a letter or digit"
            )
        });
    }
}
