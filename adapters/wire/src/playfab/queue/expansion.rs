//! How a rule's limit changes while tickets wait, as the API writes it.
//!
//! Overrides are objects with a `Value`, bare numbers (the documentation's examples), or `null` where the rule does not
//! restrict in an interval.

use std::fmt::Display;

use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::{Delta, Enforced, Expansion};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::playfab::lenient;

/// A limit that moves by steps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Linear {
    /// By how much each time.
    #[serde(deserialize_with = "lenient::or_default", serialize_with = "lenient::number")]
    pub delta: f64,
    /// Where it stops.
    #[serde(serialize_with = "lenient::number_or_none", skip_serializing_if = "Option::is_none")]
    pub limit: Option<f64>,
    /// Seconds between two moves.
    #[serde(deserialize_with = "lenient::integer_or_default")]
    pub seconds_between_expansions: u32,
}

/// A limit for each interval. Each type of rule has one of the lists, that of sums one for each bound.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Custom {
    /// Of rules of texts: whether it restricts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enabled_overrides: Option<Vec<Option<bool>>>,
    /// The largest differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference_overrides: Option<Vec<Option<Override>>>,
    /// How many are shared at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_intersection_size_overrides: Option<Vec<Option<Override>>>,
    /// The largest latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_latency_overrides: Option<Vec<Option<Override>>>,
    /// The least sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_overrides: Option<Vec<Option<Override>>>,
    /// The largest sums.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_overrides: Option<Vec<Option<Override>>>,
    /// The length of an interval.
    #[serde(deserialize_with = "lenient::integer_or_default")]
    pub seconds_between_expansions: u32,
}

/// What holds in an interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Override {
    /// As the API writes it.
    Object {
        /// The value.
        #[serde(rename = "Value", serialize_with = "lenient::number")]
        value: f64,
    },
    /// As the documentation does.
    Bare(#[serde(serialize_with = "lenient::number")] f64),
    /// Neither, so that its rule can say so.
    Other(Value),
}

impl Override {
    fn value(&self) -> Result<f64, String> {
        match self {
            Self::Object { value } | Self::Bare(value) => Ok(*value),
            Self::Other(other) => {
                Err(format!("override {other}: a number, an object with a number as its `Value`, or null"))
            }
        }
    }
}

impl Linear {
    pub(super) fn amounts(&self, from: Amount, field: &str) -> Result<Expansion<Amount>, String> {
        let delta = amount(self.delta.abs(), "Delta")?;
        let delta = if self.delta < 0.0 { Delta::Down(delta) } else { Delta::Up(delta) };
        let limit = self.limit.map(|limit| amount(limit, "Limit")).transpose()?;
        moves((from, field), delta, limit)?;
        Ok(Expansion::Linear { from, delta, limit, every: self.seconds_between_expansions })
    }

    pub(super) fn counts(
        &self,
        (from, field): (u32, &str),
        way: fn(u32) -> Delta<u32>,
    ) -> Result<Expansion<u32>, String> {
        let delta = way(whole(self.delta, "Delta")?);
        let limit = self.limit.map(|limit| whole(limit, "Limit")).transpose()?;
        moves((from, field), delta, limit)?;
        Ok(Expansion::Linear { from, delta, limit, every: self.seconds_between_expansions })
    }

    pub(super) fn of_amounts(limit: &Expansion<Amount>) -> Option<Self> {
        match limit {
            Expansion::Linear { delta, limit, every, .. } => Some(Self {
                delta: match delta {
                    Delta::Up(by) => by.to_f64(),
                    Delta::Down(by) => -by.to_f64(),
                },
                limit: limit.map(Amount::to_f64),
                seconds_between_expansions: *every,
            }),
            Expansion::Fixed(_) | Expansion::Custom { .. } => None,
        }
    }

    pub(super) fn of_counts(limit: &Expansion<u32>) -> Option<Self> {
        match limit {
            Expansion::Linear { delta: Delta::Up(by) | Delta::Down(by), limit, every, .. } => Some(Self {
                delta: (*by).into(),
                limit: limit.map(Into::into),
                seconds_between_expansions: *every,
            }),
            Expansion::Fixed(_) | Expansion::Custom { .. } => None,
        }
    }
}

impl Custom {
    pub(super) fn enforced(&self) -> Result<Expansion<Enforced>, String> {
        self.has_only("Expansion", &["EnabledOverrides"])?;
        let Some(overrides) = &self.enabled_overrides else {
            return Err("its Expansion has no EnabledOverrides".to_owned());
        };
        let values = overrides.iter().map(|on| on.unwrap_or_default().then_some(Enforced)).collect();
        Ok(Expansion::Custom { base: None, values, every: self.seconds_between_expansions })
    }

    /// "If MinOverrides or MaxOverrides is missing, the base value holds" (*Matchmaking configuration examples*).
    pub(super) fn totals(
        &self,
        min: Amount,
        max: Amount,
    ) -> Result<(Expansion<Amount>, Expansion<Amount>), String> {
        self.has_only("Expansion", &["MinOverrides", "MaxOverrides"])?;
        let of = |overrides: &Option<Vec<Option<Override>>>, base| match overrides {
            None => Ok(Expansion::Fixed(base)),
            Some(overrides) => self.each(Some(base), overrides, |value| amount(value, "override")),
        };
        Ok((of(&self.min_overrides, min)?, of(&self.max_overrides, max)?))
    }

    pub(super) fn amounts(&self, base: Option<Amount>, field: &str) -> Result<Expansion<Amount>, String> {
        self.each(base, self.of_field(field)?, |value| amount(value, "override"))
    }

    pub(super) fn counts(&self, base: Option<u32>, field: &str) -> Result<Expansion<u32>, String> {
        self.each(base, self.of_field(field)?, |value| whole(value, "an override"))
    }

    /// The list that a rule with this limit has. Another rule's is no slip that may be passed over: the limit would be another.
    fn of_field(&self, field: &str) -> Result<&[Option<Override>], String> {
        let wanted = format!("{field}Overrides");
        self.has_only("CustomExpansion", &[&wanted])?;
        let lists =
            [&self.difference_overrides, &self.min_intersection_size_overrides, &self.max_latency_overrides];
        let own = lists.into_iter().flatten().next();
        own.map(Vec::as_slice).ok_or_else(|| format!("its CustomExpansion has no {wanted}"))
    }

    /// Whether it has no list but these.
    fn has_only(&self, place: &str, wanted: &[&str]) -> Result<(), String> {
        let lists = [
            ("EnabledOverrides", self.enabled_overrides.is_some()),
            ("DifferenceOverrides", self.difference_overrides.is_some()),
            ("MinIntersectionSizeOverrides", self.min_intersection_size_overrides.is_some()),
            ("MaxLatencyOverrides", self.max_latency_overrides.is_some()),
            ("MinOverrides", self.min_overrides.is_some()),
            ("MaxOverrides", self.max_overrides.is_some()),
        ];
        match lists.into_iter().find(|(name, is_there)| *is_there && !wanted.contains(name)) {
            Some((other, _)) => {
                Err(format!("its {place} has {other}, which is of other rules: {}", wanted.join(", ")))
            }
            None => Ok(()),
        }
    }

    fn each<T>(
        &self,
        base: Option<T>,
        overrides: &[Option<Override>],
        read: impl Fn(f64) -> Result<T, String>,
    ) -> Result<Expansion<T>, String> {
        let read = |it: &Option<Override>| it.as_ref().map(|it| read(it.value()?)).transpose();
        let values = overrides.iter().map(read).collect::<Result<_, _>>()?;
        Ok(Expansion::Custom { base, values, every: self.seconds_between_expansions })
    }

    pub(super) fn of_enforced(limit: &Expansion<Enforced>) -> Option<Self> {
        let (values, every) = custom(limit)?;
        let overrides = values.iter().map(|it| Some(it.is_some())).collect();
        Some(Self { enabled_overrides: Some(overrides), ..Self::each_of(every) })
    }

    pub(super) fn of_totals(min: &Expansion<Amount>, max: &Expansion<Amount>) -> Option<Self> {
        let shown = |limit| custom(limit).map(|(values, every)| (overrides(values, Amount::to_f64), every));
        let (min, max) = (shown(min), shown(max));
        let every = min.as_ref().or(max.as_ref()).map(|(_, every)| *every)?;
        let (min_overrides, max_overrides) = (min.map(|(it, _)| it), max.map(|(it, _)| it));
        Some(Self { min_overrides, max_overrides, ..Self::each_of(every) })
    }

    pub(super) fn of_amounts(limit: &Expansion<Amount>) -> Option<Self> {
        let (values, every) = custom(limit)?;
        Some(Self { difference_overrides: Some(overrides(values, Amount::to_f64)), ..Self::each_of(every) })
    }

    /// The limits of a rule that counts, under the name that the rule's type has for them.
    pub(super) fn of_counts(
        limit: &Expansion<u32>,
        place: fn(&mut Self) -> &mut Option<Vec<Option<Override>>>,
    ) -> Option<Self> {
        let (values, every) = custom(limit)?;
        let mut shown = Self::each_of(every);
        *place(&mut shown) = Some(overrides(values, f64::from));
        Some(shown)
    }

    fn each_of(every: u32) -> Self {
        Self { seconds_between_expansions: every, ..Self::default() }
    }
}

fn custom<T>(limit: &Expansion<T>) -> Option<(&[Option<T>], u32)> {
    match limit {
        Expansion::Custom { values, every, .. } => Some((values, *every)),
        Expansion::Fixed(_) | Expansion::Linear { .. } => None,
    }
}

fn overrides<T: Copy>(values: &[Option<T>], show: impl Fn(T) -> f64) -> Vec<Option<Override>> {
    values.iter().map(|value| value.map(|value| Override::Object { value: show(value) })).collect()
}

/// A number of a rule. One that is not 0 and would be kept as 0 asks for what it does not say.
pub(super) fn amount(number: f64, field: &str) -> Result<Amount, String> {
    match Amount::from_f64(number) {
        None => Err(format!("{field} {number}: at most {}", Amount::MAX)),
        Some(Amount::ZERO) if number != 0.0 => {
            Err(format!("{field} {number}: it has six decimal places, by which it would be 0"))
        }
        Some(amount) => Ok(amount),
    }
}

/// Whether a limit that begins so ever moves: one that does not was meant otherwise.
fn moves<T: PartialOrd + Default + Display>(
    (from, field): (T, &str),
    delta: Delta<T>,
    limit: Option<T>,
) -> Result<(), String> {
    let (Delta::Up(by) | Delta::Down(by)) = &delta;
    if *by == T::default() {
        return Err(format!("its linear expansion never moves {field}: Delta is 0, or missing"));
    }
    match (delta, limit) {
        (Delta::Up(_), Some(limit)) if limit < from => Err(format!(
            "its linear expansion never moves {field} {from}: Limit {limit} is below, and Delta goes up"
        )),
        (Delta::Down(_), Some(limit)) if limit > from => Err(format!(
            "its linear expansion never moves {field} {from}: Limit {limit} is above, and Delta goes down"
        )),
        (Delta::Up(_) | Delta::Down(_), _) => Ok(()),
    }
}

/// A count, which JSON may write as `5` or `5.0`.
pub(super) fn whole(number: f64, field: &str) -> Result<u32, String> {
    let fits = number >= 0.0 && number <= f64::from(u32::MAX) && number.fract() == 0.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was just checked")]
    let counted = fits.then_some(number as u32);
    counted.ok_or_else(|| format!("{field} {number}: a whole number is needed, and not a negative one"))
}
