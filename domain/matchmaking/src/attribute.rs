//! What a player brings to a rule: the values that the rules of its queue read, and what they are worth for a whole ticket.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::amount::Amount;
use crate::spec::{Merge, Missing, QueueSpec, Rule, RuleKind, Wanted};

/// A player's attributes in a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attributes {
    /// What was sent, as JSON, to be handed out again. No rule reads it.
    pub raw: Option<Arc<str>>,
    /// What each rule of the queue found at its path, in the rules' order; `None` where nothing was there, or the rule reads
    /// nothing.
    pub values: Arc<[Option<Value>]>,
}

/// What was found at a rule's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A text.
    Text(Arc<str>),
    /// A number.
    Number(Amount),
    /// A list of texts.
    Texts(Arc<[Arc<str>]>),
    /// Latencies by region, in milliseconds.
    Latencies(Arc<[(Arc<str>, u32)]>),
    /// Something else: never what a rule wants, so that `"40"` is refused where 40 is wanted.
    Other(&'static str),
}

impl Value {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Number(_) => "a number",
            Self::Texts(_) => "a list of texts",
            Self::Latencies(_) => "a list of latencies",
            Self::Other(kind) => kind,
        }
    }
}

/// Longest text a rule compares, in bytes. Build names, modes and maps are shorter; what is longer is a mistake.
pub const TEXT_BYTES_MAX: usize = 256;
/// The most texts in a list. A shop of a hundred maps or packs is large; the engine's words hold ten times as many in all.
pub const TEXTS_MAX: usize = 128;
/// The most regions a player may have measured: as many as a queue can know.
pub const LATENCIES_MAX: usize = 64;

/// Why a player's attributes do not fit the queue's rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttributeFault {
    /// The attribute is missing, and the rule has nothing to put in its place.
    #[error("rule {rule} needs `{path}`, which is missing and has no default")]
    Missing {
        /// Which rule.
        rule: Arc<str>,
        /// Where it looked.
        path: Arc<str>,
    },
    /// The attribute is of another type.
    #[error("rule {rule} needs {wanted} at `{path}` and found {found}")]
    Type {
        /// Which rule.
        rule: Arc<str>,
        /// Where it looked.
        path: Arc<str>,
        /// What it wants.
        wanted: Wanted,
        /// What was there.
        found: &'static str,
    },
    /// The attribute is larger than rules compare.
    #[error("rule {rule}: `{path}` has {found}, at most {max}")]
    TooLarge {
        /// Which rule.
        rule: Arc<str>,
        /// Where it looked.
        path: Arc<str>,
        /// How large it is.
        found: usize,
        /// How large it may be.
        max: usize,
    },
    /// A sum of negative numbers could not be bounded while a match is built.
    #[error("rule {rule}: `{path}` is negative; what is summed up is not")]
    Negative {
        /// Which rule.
        rule: Arc<str>,
        /// Where it looked.
        path: Arc<str>,
    },
    /// No region was measured.
    #[error(
        "rule {rule}: the list of regions at `{path}` is empty: send each with its latency, as [{{\"region\": \"EastUs\", \"latency\": 80}}]"
    )]
    NoRegions {
        /// Which rule.
        rule: Arc<str>,
        /// Where it looked.
        path: Arc<str>,
    },
    /// None of the regions is one of the queue's.
    #[error("rule {rule}: none of the regions at `{path}` is one of the queue's")]
    UnknownRegions {
        /// Which rule.
        rule: Arc<str>,
        /// Where it looked.
        path: Arc<str>,
    },
    /// A backfill ticket says no region, or one that the queue does not have.
    #[error("rule {rule} needs the Region of ServerDetails, one of the queue's")]
    ServerRegion {
        /// Which rule.
        rule: Arc<str>,
    },
}

/// What a text rule sees of a ticket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// Nothing to compare: the ticket fits anyone.
    Any,
    /// All its players have this text.
    Same(Arc<str>),
    /// Its players differ: it fits nobody while the rule restricts.
    Mixed,
}

/// What the rules see of a ticket, in the order of each kind's rules.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Facts {
    /// How many players.
    pub players: u8,
    /// Texts.
    pub texts: Vec<Text>,
    /// Numbers that differ; `None`: fits anyone.
    pub numbers: Vec<Option<Amount>>,
    /// What all its players share; `None`: fits anyone.
    pub sets: Vec<Option<Vec<Arc<str>>>>,
    /// Sums over its players, for totals.
    pub totals: Vec<Amount>,
    /// The regions all its players measured, lower-case, with the worst latency of each.
    pub latencies: Vec<(Arc<str>, u32)>,
    /// Sums over its players, for the averages of teams.
    pub team_sums: Vec<Amount>,
}

/// The players whose values make up a ticket.
pub(crate) trait Party {
    fn players(&self) -> usize;
    fn attributes(&self, player: usize) -> &Attributes;
    /// Where the game of a backfill ticket runs; `None` of an ordinary one, whose players choose.
    fn region(&self) -> Option<Option<&str>>;
}

impl Facts {
    /// Reads a ticket's facts.
    pub(crate) fn of<P: Party + ?Sized>(spec: &QueueSpec, party: &P) -> Result<Self, AttributeFault> {
        let mut facts = Self { players: u8::try_from(party.players()).unwrap_or(u8::MAX), ..Self::default() };
        for (index, rule) in spec.rules.iter().enumerate() {
            let reader = Reader { rule: &rule.name, kind: &rule.kind, index, party };
            match &rule.kind {
                RuleKind::StringEquality { missing, .. } => facts.texts.push(reader.text(missing)?),
                RuleKind::Difference { missing, merge, .. } => {
                    facts.numbers.push(reader.number(missing, *merge)?);
                }
                RuleKind::SetIntersection { missing, .. } => facts.sets.push(reader.set(missing)?),
                RuleKind::MatchTotal { .. } => facts.totals.push(reader.total()?),
                RuleKind::RegionSelection { .. } => facts.latencies = reader.latencies(spec, rule)?,
                RuleKind::TeamDifference { default, .. } => {
                    facts.team_sums.push(reader.team_sum(*default)?);
                }
                RuleKind::TeamSizeBalance { .. } | RuleKind::TeamTicketSizeSimilarity => {}
            }
        }
        Ok(facts)
    }
}

/// Each player's number for each rule of team averages, in the rules' order.
pub(crate) fn team_numbers(spec: &QueueSpec, attributes: &Attributes) -> Vec<Amount> {
    let numbers = spec.rules.iter().enumerate().filter_map(|(index, rule)| match &rule.kind {
        RuleKind::TeamDifference { default, .. } => match attributes.values.get(index) {
            Some(Some(Value::Number(number))) => Some(*number),
            Some(_) | None => Some(*default),
        },
        RuleKind::StringEquality { .. }
        | RuleKind::Difference { .. }
        | RuleKind::SetIntersection { .. }
        | RuleKind::MatchTotal { .. }
        | RuleKind::RegionSelection { .. }
        | RuleKind::TeamSizeBalance { .. }
        | RuleKind::TeamTicketSizeSimilarity => None,
    });
    numbers.collect()
}

struct Reader<'a, P: ?Sized> {
    rule: &'a Arc<str>,
    kind: &'a RuleKind,
    index: usize,
    party: &'a P,
}

impl<P: Party + ?Sized> Reader<'_, P> {
    fn values(&self) -> impl Iterator<Item = Option<&Value>> + '_ {
        (0..self.party.players())
            .map(|player| self.party.attributes(player).values.get(self.index).and_then(Option::as_ref))
    }

    fn path(&self) -> Arc<str> {
        self.kind.attribute().map_or_else(|| "".into(), |attribute| attribute.path)
    }

    fn wrong(&self, wanted: Wanted, found: &Value) -> AttributeFault {
        AttributeFault::Type { rule: self.rule.clone(), path: self.path(), wanted, found: found.kind() }
    }

    fn large(&self, found: usize, max: usize) -> AttributeFault {
        AttributeFault::TooLarge { rule: self.rule.clone(), path: self.path(), found, max }
    }

    fn missing(&self) -> AttributeFault {
        AttributeFault::Missing { rule: self.rule.clone(), path: self.path() }
    }

    fn bounded(&self, text: &Arc<str>) -> Result<(), AttributeFault> {
        if text.len() > TEXT_BYTES_MAX { Err(self.large(text.len(), TEXT_BYTES_MAX)) } else { Ok(()) }
    }

    fn text(&self, missing: &Missing<Arc<str>>) -> Result<Text, AttributeFault> {
        let mut seen = Text::Any;
        for value in self.values() {
            let text = match (value, missing) {
                (Some(Value::Text(text)), _) => text,
                (Some(other), _) => return Err(self.wrong(Wanted::Text, other)),
                (None, Missing::UseDefault(default)) => default,
                (None, Missing::MatchAny) => continue,
            };
            self.bounded(text)?;
            seen = match seen {
                Text::Any => Text::Same(text.clone()),
                Text::Same(before) if before == *text => Text::Same(before),
                Text::Same(_) | Text::Mixed => Text::Mixed,
            };
        }
        // A ticket without players (an empty server's) has nothing to compare.
        Ok(seen)
    }

    fn number(&self, missing: &Missing<Amount>, merge: Merge) -> Result<Option<Amount>, AttributeFault> {
        let (mut count, mut sum, mut bounds) = (0, 0, None);
        for value in self.values() {
            let number = match (value, missing) {
                (Some(Value::Number(number)), _) => *number,
                (Some(other), _) => return Err(self.wrong(Wanted::Number, other)),
                (None, Missing::UseDefault(default)) => *default,
                (None, Missing::MatchAny) => continue,
            };
            count += 1;
            sum += number.millionths();
            let (low, high) = bounds.unwrap_or((number, number));
            bounds = Some((low.min(number), high.max(number)));
        }
        Ok(bounds.map(|(low, high)| match merge {
            Merge::Min => low,
            Merge::Max => high,
            Merge::Average => Amount::from_millionths(sum.div_euclid(count)),
        }))
    }

    fn set(&self, missing: &Missing<Arc<[Arc<str>]>>) -> Result<Option<Vec<Arc<str>>>, AttributeFault> {
        let mut shared: Option<Vec<Arc<str>>> = None;
        for value in self.values() {
            let texts = match (value, missing) {
                (Some(Value::Texts(texts)), _) => texts,
                // An empty list may be a list of anything.
                (Some(Value::Latencies(none)), _) if none.is_empty() => &Arc::default(),
                (Some(other), _) => return Err(self.wrong(Wanted::Texts, other)),
                (None, Missing::UseDefault(default)) => default,
                (None, Missing::MatchAny) => continue,
            };
            if texts.len() > TEXTS_MAX {
                return Err(self.large(texts.len(), TEXTS_MAX));
            }
            texts.iter().try_for_each(|text| self.bounded(text))?;
            let mut own = texts.to_vec();
            own.sort_unstable();
            own.dedup();
            shared = Some(match shared {
                None => own,
                Some(mut before) => {
                    before.retain(|text| own.binary_search(text).is_ok());
                    before
                }
            });
        }
        Ok(shared)
    }

    fn total(&self) -> Result<Amount, AttributeFault> {
        let mut sum = Amount::ZERO;
        for value in self.values() {
            match value {
                Some(Value::Number(number)) if *number < Amount::ZERO => {
                    return Err(AttributeFault::Negative { rule: self.rule.clone(), path: self.path() });
                }
                Some(Value::Number(number)) => sum = sum + *number,
                Some(other) => return Err(self.wrong(Wanted::Number, other)),
                None => return Err(self.missing()),
            }
        }
        Ok(sum)
    }

    fn team_sum(&self, default: Amount) -> Result<Amount, AttributeFault> {
        self.values().try_fold(Amount::ZERO, |sum, value| match value {
            Some(Value::Number(number)) => Ok(sum + *number),
            Some(other) => Err(self.wrong(Wanted::Number, other)),
            None => Ok(sum + default),
        })
    }

    /// "Instead of an array of latency measurements, the create request must specify a Region in the ServerDetails
    /// structure" (seed 004): its players are there already, so their way there counts nothing.
    fn latencies(&self, spec: &QueueSpec, rule: &Rule) -> Result<Vec<(Arc<str>, u32)>, AttributeFault> {
        let known = |region: &str| spec.regions.is_empty() || spec.regions.iter().any(|it| same(it, region));
        if let Some(region) = self.party.region() {
            let region =
                region.filter(|region| !region.is_empty() && region.len() <= TEXT_BYTES_MAX && known(region));
            let region = region.ok_or_else(|| AttributeFault::ServerRegion { rule: self.rule.clone() })?;
            return Ok(alloc::vec![(folded(&region.into()), 0)]);
        }
        let mut common: Option<Vec<(Arc<str>, u32)>> = None;
        for value in self.values() {
            let measured = match value {
                Some(Value::Latencies(measured)) => measured,
                Some(Value::Texts(none)) if none.is_empty() => &Arc::default(),
                Some(other) => return Err(self.wrong(Wanted::Latencies, other)),
                None => return Err(self.missing()),
            };
            if measured.len() > LATENCIES_MAX {
                return Err(self.large(measured.len(), LATENCIES_MAX));
            }
            measured.iter().try_for_each(|(region, _)| self.bounded(region))?;
            let mut own = Vec::with_capacity(measured.len());
            let known = measured.iter().filter(|(region, _)| known(region));
            own.extend(known.map(|(region, latency)| (folded(region), *latency)));
            // A region named twice counts by its worst.
            own.sort_unstable_by(|a: &(Arc<str>, u32), b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
            own.dedup_by(|later, first| later.0 == first.0);
            // Who measured none waits until the rule gives way, if it does.
            let may_be_none = measured.is_empty() && rule.optional_after.is_some();
            if own.is_empty() && !may_be_none {
                let (rule, path) = (self.rule.clone(), self.path());
                return Err(if measured.is_empty() {
                    AttributeFault::NoRegions { rule, path }
                } else {
                    AttributeFault::UnknownRegions { rule, path }
                });
            }
            common = Some(match common {
                None => own,
                Some(before) => worst_of_both(&before, &own),
            });
        }
        // Players without a region in common are no fault of one of them: their ticket breaks the rule by itself.
        Ok(common.unwrap_or_default())
    }
}

/// Of two lists in the order of regions, those in both.
fn worst_of_both(some: &[(Arc<str>, u32)], others: &[(Arc<str>, u32)]) -> Vec<(Arc<str>, u32)> {
    let mut others = others.iter().peekable();
    let both = some.iter().filter_map(|(region, latency)| {
        while others.next_if(|(other, _)| other < region).is_some() {}
        let (_, other) = others.next_if(|(other, _)| other == region)?;
        Some((region.clone(), *latency.max(other)))
    });
    both.collect()
}

/// Regions are compared without regard to case: PlayFab's own samples write `EastUs` and `EastUS`.
fn folded(region: &Arc<str>) -> Arc<str> {
    let is_folded = !region.bytes().any(|byte| byte.is_ascii_uppercase());
    if is_folded { region.clone() } else { region.to_ascii_lowercase().into() }
}

/// Whether two names are of one region.
pub(crate) fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}
