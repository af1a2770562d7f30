//! A rule of a queue, as the API writes it, to and from the domain's.
//!
//! The eight types differ in which of these fields they have; what a type does not have is passed over, as PlayFab does. But for an
//! expansion: without it the queue would match by other limits than whoever wrote it believes.

use std::sync::Arc;

use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::{
    Attribute, Delta, Enforced, Expansion, Fault, Merge, Missing, Rule, RuleKind, Source, Unread, Weight,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::expansion::{Custom, Linear, amount, whole};
use crate::playfab::attributes::ROOT;
use crate::playfab::lenient;

/// A rule of any type.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct QueueRule {
    /// Its name.
    #[serde(deserialize_with = "lenient::or_default")]
    pub name: String,
    /// Where its attribute is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute: Option<QueueRuleAttribute>,
    /// Of a rule of regions: where the latencies are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `UseDefault` or `MatchAny`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attribute_not_specified_behavior: Option<String>,
    /// A text, a number or a list of texts, as the rule's type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_attribute_value: Option<Value>,
    /// How much its distance counts; 1 where it is absent.
    #[serde(serialize_with = "lenient::number_or_none", skip_serializing_if = "Option::is_none")]
    pub weight: Option<f64>,
    /// `Min`, `Max` or `Average`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merge_function: Option<String>,
    /// The largest difference: of numbers, of teams' averages, of teams' sizes.
    #[serde(serialize_with = "lenient::number_or_none", skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// How many list values are shared at least.
    #[serde(deserialize_with = "lenient::integer", skip_serializing_if = "Option::is_none")]
    pub min_intersection_size: Option<u32>,
    /// The least sum.
    #[serde(serialize_with = "lenient::number_or_none", skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The largest sum.
    #[serde(serialize_with = "lenient::number_or_none", skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The largest latency, in milliseconds.
    #[serde(deserialize_with = "lenient::integer", skip_serializing_if = "Option::is_none")]
    pub max_latency: Option<u32>,
    /// Of rules of texts and of sums: what holds, interval by interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expansion: Option<Custom>,
    /// How the limit moves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linear_expansion: Option<Linear>,
    /// Or what it is, interval by interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom_expansion: Option<Custom>,
    /// After how many seconds it no longer restricts.
    #[serde(deserialize_with = "lenient::integer", skip_serializing_if = "Option::is_none")]
    pub seconds_until_optional: Option<u32>,
}

/// Where an attribute is found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct QueueRuleAttribute {
    /// Its path.
    #[serde(deserialize_with = "lenient::or_default")]
    pub path: String,
    /// `User`, also where it is absent, or `PlayerEntity`.
    #[serde(deserialize_with = "lenient::or_default")]
    pub source: String,
}

/// The types of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    StringEquality,
    Difference,
    SetIntersection,
    MatchTotal,
    RegionSelection,
    TeamDifference,
    TeamSizeBalance,
    TeamTicketSizeSimilarity,
}

impl Type {
    pub(super) const fn of(kind: &RuleKind) -> Self {
        match kind {
            RuleKind::StringEquality { .. } => Self::StringEquality,
            RuleKind::Difference { .. } => Self::Difference,
            RuleKind::SetIntersection { .. } => Self::SetIntersection,
            RuleKind::MatchTotal { .. } => Self::MatchTotal,
            RuleKind::RegionSelection { .. } => Self::RegionSelection,
            RuleKind::TeamDifference { .. } => Self::TeamDifference,
            RuleKind::TeamSizeBalance { .. } => Self::TeamSizeBalance,
            RuleKind::TeamTicketSizeSimilarity => Self::TeamTicketSizeSimilarity,
        }
    }
}

/// Reads a rule, and notes what is wrong with it.
pub(super) struct Reading<'a> {
    pub(super) rule: &'a QueueRule,
    pub(super) faults: &'a mut Vec<Fault>,
}

impl Reading<'_> {
    /// The rule; `None` where a fault was noted.
    pub(super) fn declared(&mut self, kind: Type) -> Option<Rule> {
        let before = self.faults.len();
        self.expansions(kind);
        let kind = match kind {
            Type::StringEquality => self.string_equality(),
            Type::Difference => self.difference(),
            Type::SetIntersection => self.set_intersection(),
            Type::MatchTotal => self.match_total(),
            Type::RegionSelection => self.region_selection(),
            Type::TeamDifference => self.team_difference(),
            Type::TeamSizeBalance => self.team_size_balance(),
            Type::TeamTicketSizeSimilarity => Some(RuleKind::TeamTicketSizeSimilarity),
        };
        let kind = kind.filter(|_| self.faults.len() == before)?;
        let QueueRule { name, seconds_until_optional, .. } = self.rule;
        Some(Rule { name: name.as_str().into(), optional_after: *seconds_until_optional, kind })
    }

    fn string_equality(&mut self) -> Option<RuleKind> {
        let enforced = match &self.rule.expansion {
            None => Some(Expansion::Fixed(Enforced)),
            Some(custom) => self.noted(custom.enforced()),
        };
        let missing = self.missing(|value| value.as_str().map(Into::into), "a text");
        let (attribute, weight) = (self.attribute(), self.weight());
        Some(RuleKind::StringEquality {
            attribute: attribute?,
            weight: weight?,
            missing: missing?,
            enforced: enforced?,
        })
    }

    fn difference(&mut self) -> Option<RuleKind> {
        let missing =
            self.missing(|value| amount(value.as_f64()?, "").ok(), "a number of six decimal places");
        let merge = match self.rule.merge_function.as_deref() {
            None | Some("Average") => Some(Merge::Average),
            Some("Min") => Some(Merge::Min),
            Some("Max") => Some(Merge::Max),
            Some(other) => self.fault(format!("MergeFunction {other}: Min, Max or Average")),
        };
        let allowed = self.amounts(self.rule.difference, "Difference");
        let (attribute, weight) = (self.attribute(), self.weight());
        Some(RuleKind::Difference {
            attribute: attribute?,
            weight: weight?,
            missing: missing?,
            merge: merge?,
            allowed: allowed?,
        })
    }

    fn set_intersection(&mut self) -> Option<RuleKind> {
        let texts = |value: &Value| -> Option<Arc<[Arc<str>]>> {
            value.as_array()?.iter().map(|text| text.as_str().map(Arc::from)).collect()
        };
        let missing = self.missing(texts, "a list of texts");
        let shared = self.counts(self.rule.min_intersection_size, "MinIntersectionSize", Delta::Down);
        let (attribute, weight) = (self.attribute(), self.weight());
        Some(RuleKind::SetIntersection {
            attribute: attribute?,
            weight: weight?,
            missing: missing?,
            shared: shared?,
        })
    }

    fn match_total(&mut self) -> Option<RuleKind> {
        let (min, max) = (self.amount(self.rule.min, "Min"), self.amount(self.rule.max, "Max"));
        let bounds = match (&self.rule.expansion, min, max) {
            (None, Some(min), Some(max)) => Some((Expansion::Fixed(min), Expansion::Fixed(max))),
            (Some(custom), Some(min), Some(max)) => self.noted(custom.totals(min, max)),
            (_, None, _) | (_, _, None) => None,
        };
        let (attribute, weight) = (self.attribute(), self.weight());
        let (min, max) = bounds?;
        Some(RuleKind::MatchTotal { attribute: attribute?, weight: weight?, min, max })
    }

    fn region_selection(&mut self) -> Option<RuleKind> {
        let latency = self.counts(self.rule.max_latency, "MaxLatency", Delta::Up);
        let path = self.rule.path.as_deref().unwrap_or_default();
        let (is_path, weight) = (self.path(path), self.weight());
        is_path?;
        Some(RuleKind::RegionSelection { path: path.into(), weight: weight?, latency: latency? })
    }

    fn team_difference(&mut self) -> Option<RuleKind> {
        let default = self.rule.default_attribute_value.as_ref().and_then(Value::as_f64);
        let default = self.amount(default, "DefaultAttributeValue");
        let allowed = self.amounts(self.rule.difference, "Difference");
        let attribute = self.attribute();
        Some(RuleKind::TeamDifference { attribute: attribute?, default: default?, allowed: allowed? })
    }

    fn team_size_balance(&mut self) -> Option<RuleKind> {
        let difference = self.rule.difference.and_then(|number| self.noted(whole(number, "Difference")));
        let allowed = self.counts(difference, "Difference", Delta::Up);
        Some(RuleKind::TeamSizeBalance { allowed: allowed? })
    }

    /// None is there that rules of its type do not read.
    fn expansions(&mut self, kind: Type) {
        let (wanted, reads): (_, &[&str]) = match kind {
            Type::StringEquality => ("an Expansion with EnabledOverrides", &["Expansion"]),
            Type::MatchTotal => ("an Expansion with MinOverrides or MaxOverrides", &["Expansion"]),
            Type::Difference
            | Type::SetIntersection
            | Type::RegionSelection
            | Type::TeamDifference
            | Type::TeamSizeBalance => {
                ("a LinearExpansion or a CustomExpansion", &["LinearExpansion", "CustomExpansion"])
            }
            Type::TeamTicketSizeSimilarity => ("none", &[]),
        };
        let QueueRule { expansion, linear_expansion, custom_expansion, .. } = self.rule;
        let there = [
            ("Expansion", expansion.is_some()),
            ("LinearExpansion", linear_expansion.is_some()),
            ("CustomExpansion", custom_expansion.is_some()),
        ];
        for (name, _) in there.into_iter().filter(|(name, is_there)| *is_there && !reads.contains(name)) {
            self.fault::<()>(format!("its {name} is not read: rules of its type have {wanted}"));
        }
    }

    /// One expansion alone says how a limit moves.
    fn one_expansion(&mut self) -> Option<()> {
        match (&self.rule.linear_expansion, &self.rule.custom_expansion) {
            (Some(_), Some(_)) => self.fault("LinearExpansion and CustomExpansion: one of them".to_owned()),
            (_, None) | (None, _) => Some(()),
        }
    }

    /// Names with dots between: what else JSONPath has (`[0]`, `*`, `..`, filters) would find nothing here, for ever.
    fn path(&mut self, path: &str) -> Option<()> {
        let steps = path.strip_prefix(ROOT).unwrap_or(path);
        let is_name = |step: &str| {
            !step.is_empty() && step != "$" && !step.contains(['[', ']', '*', '?', '@', '\'', '"'])
        };
        if path.is_empty() || steps.split('.').all(is_name) {
            return Some(());
        }
        self.fault(format!("path `{path}`: names with dots between, as nestExample.exp or $.profile.mu"))
    }

    fn attribute(&mut self) -> Option<Attribute> {
        let named = self.rule.attribute.clone().unwrap_or_default();
        let source = match named.source.as_str() {
            "" | "User" => Some(Source::User),
            "PlayerEntity" => Some(Source::PlayerEntity),
            other => self.fault(format!("Attribute.Source {other}: User or PlayerEntity")),
        };
        self.path(&named.path)?;
        Some(Attribute { source: source?, path: named.path.into() })
    }

    fn weight(&mut self) -> Option<Weight> {
        let Some(weight) = self.rule.weight else { return Some(Weight::DEFAULT) };
        let amount = self.noted(amount(weight, "Weight"))?;
        match Weight::new(amount) {
            Some(weight) => Some(weight),
            None => self.fault(format!("Weight {weight}: above 0, at most {}", Weight::MAX)),
        }
    }

    fn missing<T>(&mut self, read: impl Fn(&Value) -> Option<T>, wanted: &str) -> Option<Missing<T>> {
        let QueueRule { attribute_not_specified_behavior, default_attribute_value, .. } = self.rule;
        match (attribute_not_specified_behavior.as_deref(), default_attribute_value) {
            (Some("MatchAny"), _) => Some(Missing::MatchAny),
            (None | Some("UseDefault"), Some(value)) => match read(value) {
                Some(value) => Some(Missing::UseDefault(value)),
                None => self.fault(format!("DefaultAttributeValue {value}: {wanted} is needed")),
            },
            (None | Some("UseDefault"), None) => self
                .fault("AttributeNotSpecifiedBehavior UseDefault needs a DefaultAttributeValue".to_owned()),
            (Some(other), _) => {
                self.fault(format!("AttributeNotSpecifiedBehavior {other}: UseDefault or MatchAny"))
            }
        }
    }

    fn amount(&mut self, number: Option<f64>, field: &str) -> Option<Amount> {
        match number {
            Some(number) => self.noted(amount(number, field)),
            None => self.fault(format!("{field} is missing, or no number")),
        }
    }

    fn amounts(&mut self, from: Option<f64>, field: &str) -> Option<Expansion<Amount>> {
        self.one_expansion()?;
        if let Some(custom) = &self.rule.custom_expansion {
            // It counts nothing, and may be missing; but it is told again, so it has to be a number that can be kept.
            let base = match from {
                None => None,
                Some(number) if number < 0.0 => {
                    return self.fault(format!("{field} {number}: not a negative one"));
                }
                Some(_) => Some(self.amount(from, field)?),
            };
            return self.noted(custom.amounts(base, field));
        }
        let from = self.amount(from, field)?;
        match &self.rule.linear_expansion {
            None => Some(Expansion::Fixed(from)),
            Some(linear) => self.noted(linear.amounts(from, field)),
        }
    }

    fn counts(
        &mut self,
        from: Option<u32>,
        field: &str,
        way: fn(u32) -> Delta<u32>,
    ) -> Option<Expansion<u32>> {
        self.one_expansion()?;
        if let Some(custom) = &self.rule.custom_expansion {
            return self.noted(custom.counts(from, field));
        }
        let Some(from) = from else { return self.fault(format!("{field} is missing, or no whole number")) };
        match &self.rule.linear_expansion {
            None => Some(Expansion::Fixed(from)),
            Some(linear) => self.noted(linear.counts((from, field), way)),
        }
    }

    fn noted<T>(&mut self, read: Result<T, String>) -> Option<T> {
        match read {
            Ok(read) => Some(read),
            Err(what) => self.fault(what),
        }
    }

    fn fault<T>(&mut self, what: String) -> Option<T> {
        self.faults.push(Fault { place: format!("rule {}", self.rule.name), what });
        None
    }
}

impl QueueRule {
    /// A rule as it is shown.
    pub(super) fn of(rule: &Rule) -> Self {
        let common = Self {
            name: rule.name.to_string(),
            seconds_until_optional: rule.optional_after,
            ..Self::default()
        };
        match &rule.kind {
            RuleKind::StringEquality { attribute, weight, missing, enforced } => Self {
                expansion: Custom::of_enforced(enforced),
                ..common.ranked(attribute, *weight).with_missing(missing, |text| text.to_string().into())
            },
            RuleKind::Difference { attribute, weight, missing, merge, allowed } => Self {
                merge_function: Some(word(*merge).to_owned()),
                ..common
                    .ranked(attribute, *weight)
                    .with_missing(missing, |number| number.to_f64().into())
                    .with_difference(allowed)
            },
            RuleKind::SetIntersection { attribute, weight, missing, shared } => Self {
                min_intersection_size: Some(shared.set().unwrap_or_default()),
                linear_expansion: Linear::of_counts(shared),
                custom_expansion: Custom::of_counts(shared, |it| &mut it.min_intersection_size_overrides),
                ..common.ranked(attribute, *weight).with_missing(missing, |texts| {
                    texts.iter().map(ToString::to_string).collect::<Vec<_>>().into()
                })
            },
            RuleKind::MatchTotal { attribute, weight, min, max } => Self {
                min: Some(min.set().unwrap_or_default().to_f64()),
                max: Some(max.set().unwrap_or_default().to_f64()),
                expansion: Custom::of_totals(min, max),
                ..common.ranked(attribute, *weight)
            },
            RuleKind::RegionSelection { path, weight, latency } => Self {
                path: Some(path.to_string()),
                weight: Some(weight.get().to_f64()),
                max_latency: Some(latency.set().unwrap_or_default()),
                linear_expansion: Linear::of_counts(latency),
                custom_expansion: Custom::of_counts(latency, |it| &mut it.max_latency_overrides),
                ..common
            },
            RuleKind::TeamDifference { attribute, default, allowed } => Self {
                attribute: Some(attribute.into()),
                default_attribute_value: Some(default.to_f64().into()),
                ..common.with_difference(allowed)
            },
            RuleKind::TeamSizeBalance { allowed } => Self {
                difference: Some(allowed.set().unwrap_or_default().into()),
                linear_expansion: Linear::of_counts(allowed),
                custom_expansion: Custom::of_counts(allowed, |it| &mut it.difference_overrides),
                ..common
            },
            RuleKind::TeamTicketSizeSimilarity => common,
        }
    }

    /// A default that stands for no player's value, since a missing one matches any, with the rule's name.
    pub(super) fn unread_default(&self, kind: Type) -> Option<(Arc<str>, Arc<str>)> {
        let default = self.default_attribute_value.as_ref()?;
        let is_unread = match kind {
            Type::StringEquality | Type::Difference | Type::SetIntersection => {
                self.attribute_not_specified_behavior.as_deref() == Some("MatchAny")
            }
            // Rules of these types have no such behavior, and it is passed over.
            Type::MatchTotal
            | Type::RegionSelection
            | Type::TeamDifference
            | Type::TeamSizeBalance
            | Type::TeamTicketSizeSimilarity => false,
        };
        is_unread.then(|| (self.name.as_str().into(), default.to_string().into()))
    }

    /// With the default that it was told and nothing reads.
    pub(super) fn with_unread(self, unread: &Unread) -> Self {
        let own = unread.defaults.iter().find(|(rule, _)| **rule == *self.name);
        // What was sent was JSON.
        match own.and_then(|(_, json)| serde_json::from_str(json).ok()) {
            Some(default) => Self { default_attribute_value: Some(default), ..self },
            None => self,
        }
    }

    fn ranked(self, attribute: &Attribute, weight: Weight) -> Self {
        Self { attribute: Some(attribute.into()), weight: Some(weight.get().to_f64()), ..self }
    }

    fn with_missing<T>(self, missing: &Missing<T>, show: impl Fn(&T) -> Value) -> Self {
        let (behavior, default) = match missing {
            Missing::MatchAny => ("MatchAny", None),
            Missing::UseDefault(value) => ("UseDefault", Some(show(value))),
        };
        let attribute_not_specified_behavior = Some(behavior.to_owned());
        Self { attribute_not_specified_behavior, default_attribute_value: default, ..self }
    }

    fn with_difference(self, allowed: &Expansion<Amount>) -> Self {
        Self {
            difference: Some(allowed.set().unwrap_or_default().to_f64()),
            linear_expansion: Linear::of_amounts(allowed),
            custom_expansion: Custom::of_amounts(allowed),
            ..self
        }
    }
}

const fn word(merge: Merge) -> &'static str {
    match merge {
        Merge::Min => "Min",
        Merge::Max => "Max",
        Merge::Average => "Average",
    }
}

impl From<&Attribute> for QueueRuleAttribute {
    fn from(attribute: &Attribute) -> Self {
        let source = match attribute.source {
            Source::User => "User",
            Source::PlayerEntity => "PlayerEntity",
        };
        Self { path: attribute.path.to_string(), source: source.to_owned() }
    }
}
