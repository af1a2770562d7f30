//! Random queues, and players for them. The simulator draws its queues here too, so that both live the same kinds of days.

use std::sync::Arc;

use mainstay_matchmaking::spec::{
    Attribute, Declared, Delta, Enforced, Expansion, Gather, Merge, Missing, QueueSpec, Rule, RuleKind,
    Source, TeamSpec, Unread, Visibility, Weight,
};
use mainstay_matchmaking::{Amount, Value};

/// Numbers from a seed (splitmix64).
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `sides`.
    pub fn below(&mut self, sides: u32) -> u32 {
        u32::try_from(self.roll() % u64::from(sides)).unwrap()
    }

    pub fn one_in(&mut self, sides: u32) -> bool {
        self.below(sides) == 0
    }
}

const TEXTS: [&str; 3] = ["a", "b", "c"];
/// Regions, as some write them.
pub const REGIONS: [&str; 3] = ["EastUs", "westEurope", "AsiaEast"];

fn number(number: f64) -> Amount {
    Amount::from_f64(number).unwrap()
}

/// A queue of random sizes, teams and rules.
pub fn queue(dice: &mut Dice) -> QueueSpec {
    loop {
        let teams = if dice.one_in(2) { teams(dice) } else { Vec::new() };
        let most: u32 =
            if teams.is_empty() { 2 + dice.below(4) } else { teams.iter().map(|team| team.max).sum() };
        let least = 2 + dice.below(most - 1);
        let mut rules: Vec<Rule> = Vec::new();
        for kind in 0..8 {
            if dice.one_in(3) && (kind < 5 || !teams.is_empty()) {
                let one = random_rule(dice, kind, &format!("rule{kind}"));
                let optional_after = dice.one_in(4).then(|| 5 * (1 + dice.below(4)));
                rules.push(Rule { optional_after, ..one });
            }
        }
        let declared = Declared {
            name: "queue".into(),
            min_match_size: least,
            max_match_size: most.max(2),
            max_ticket_size: None,
            teams,
            rules,
            regions: Vec::new(),
            visibility: Visibility::default(),
            venue: None,
            gather: Gather::NONE,
            unread: Unread::default(),
        };
        if let Ok(spec) = QueueSpec::new(declared) {
            return spec;
        }
    }
}

/// For how long a queue gathers that does: shorter and longer than a step, and no divisor of one.
pub fn gather(dice: &mut Dice) -> Gather {
    Gather::for_ms([100, 1_000, 2_300, 9_000][dice.below(4) as usize])
}

/// A queue of any kind that gathers; every other one of those that have the best matches of all who were gathered.
pub fn gathering(dice: &mut Dice) -> QueueSpec {
    let is_batched = dice.one_in(2);
    loop {
        let drawn = queue(dice);
        let mut declared = Declared { gather: gather(dice), ..drawn.declared().clone() };
        if is_batched {
            declared.min_match_size = declared.max_match_size;
            declared.rules.retain(|rule| match rule.kind {
                RuleKind::StringEquality { .. }
                | RuleKind::Difference { .. }
                | RuleKind::TeamDifference { .. }
                | RuleKind::TeamSizeBalance { .. }
                | RuleKind::TeamTicketSizeSimilarity => true,
                RuleKind::SetIntersection { .. }
                | RuleKind::MatchTotal { .. }
                | RuleKind::RegionSelection { .. } => false,
            });
            if !declared.rules.iter().any(|rule| matches!(rule.kind, RuleKind::Difference { .. })) {
                continue;
            }
        }
        if let Ok(spec) = QueueSpec::new(declared) {
            return spec;
        }
    }
}

fn teams(dice: &mut Dice) -> Vec<TeamSpec> {
    let max = 1 + dice.below(3);
    let teams = 2 + usize::from(dice.one_in(4));
    let team = |index: usize| TeamSpec {
        name: format!("team{index}").into(),
        min: max.min(1 + index as u32 % 2),
        max,
    };
    (0..teams).map(team).collect()
}

fn random_rule(dice: &mut Dice, kind: u32, name: &str) -> Rule {
    let weight = Weight::new(Amount::whole(1 + i32::try_from(dice.below(5)).unwrap())).unwrap();
    let attribute = Attribute { source: Source::User, path: name.into() };
    let rule = |name: &str, kind: RuleKind| Rule { name: name.into(), optional_after: None, kind };
    let fixed = |value: f64| Expansion::Fixed(number(value));
    let kind = match kind {
        0 => {
            let missing =
                if dice.one_in(2) { Missing::MatchAny } else { Missing::UseDefault(TEXTS[0].into()) };
            let enforced = match dice.below(3) {
                0 => Expansion::Custom { base: None, values: [Some(Enforced), None].into(), every: 7 },
                _ => Expansion::Fixed(Enforced),
            };
            RuleKind::StringEquality { attribute, weight, missing, enforced }
        }
        1 => {
            let missing = if dice.one_in(2) { Missing::MatchAny } else { Missing::UseDefault(number(3.0)) };
            let merge = [Merge::Min, Merge::Max, Merge::Average][dice.below(3) as usize];
            RuleKind::Difference { attribute, weight, missing, merge, allowed: growing_amount(dice, 2) }
        }
        2 => {
            let missing =
                if dice.one_in(2) { Missing::MatchAny } else { Missing::UseDefault([Arc::from("a")].into()) };
            let shared = match dice.below(3) {
                0 => Expansion::Linear { from: 2, delta: Delta::Down(1), limit: None, every: 6 },
                1 => Expansion::Custom { base: None, values: [Some(1), Some(2), Some(0)].into(), every: 4 },
                _ => Expansion::Fixed(1),
            };
            RuleKind::SetIntersection { attribute, weight, missing, shared }
        }
        3 => {
            let min = match dice.below(3) {
                0 => Expansion::Custom {
                    base: None,
                    values: [Some(number(4.0)), None, Some(number(1.0))].into(),
                    every: 8,
                },
                _ => fixed(1.0),
            };
            let max = match dice.below(3) {
                0 => Expansion::Custom {
                    base: None,
                    values: [Some(number(4.0)), Some(number(6.0))].into(),
                    every: 9,
                },
                _ => fixed(5.0),
            };
            RuleKind::MatchTotal { attribute, weight, min, max }
        }
        4 => {
            let latency = match dice.below(2) {
                0 => Expansion::Linear { from: 60, delta: Delta::Up(30), limit: Some(150), every: 5 },
                _ => Expansion::Fixed(100),
            };
            return rule("region", RuleKind::RegionSelection { path: "latency".into(), weight, latency });
        }
        5 => RuleKind::TeamDifference { attribute, default: number(2.0), allowed: growing_amount(dice, 1) },
        6 => RuleKind::TeamSizeBalance { allowed: Expansion::Fixed(dice.below(2)) },
        _ => RuleKind::TeamTicketSizeSimilarity,
    };
    rule(name, kind)
}

fn growing_amount(dice: &mut Dice, from: u32) -> Expansion<Amount> {
    let from = number(f64::from(dice.below(from + 1)));
    match dice.below(3) {
        0 => Expansion::Fixed(from),
        1 => Expansion::Linear { from, delta: Delta::Up(number(1.5)), limit: Some(number(5.0)), every: 5 },
        _ => Expansion::Custom {
            base: None,
            values: [Some(from), None, Some(number(1.0)), Some(number(4.0))].into(),
            every: 4,
        },
    }
}

/// A player's values for a queue.
pub fn values(dice: &mut Dice, spec: &QueueSpec) -> Vec<Option<Value>> {
    spec.rules.iter().map(|rule| value(dice, &rule.kind)).collect()
}

fn value(dice: &mut Dice, kind: &RuleKind) -> Option<Value> {
    let whole = |dice: &mut Dice, sides: u32| Value::Number(number(f64::from(dice.below(sides))));
    match kind {
        RuleKind::StringEquality { .. } => {
            (!dice.one_in(4)).then(|| Value::Text(TEXTS[dice.below(3) as usize].into()))
        }
        RuleKind::Difference { .. } => (!dice.one_in(6)).then(|| whole(dice, 8)),
        RuleKind::MatchTotal { .. } => Some(whole(dice, 3)),
        RuleKind::TeamDifference { .. } => (!dice.one_in(6)).then(|| whole(dice, 5)),
        RuleKind::SetIntersection { .. } => (!dice.one_in(6)).then(|| {
            let some: Vec<Arc<str>> =
                TEXTS.iter().filter(|_| !dice.one_in(2)).map(|text| Arc::from(*text)).collect();
            Value::Texts(some.into())
        }),
        RuleKind::RegionSelection { .. } => {
            let mut some: Vec<(Arc<str>, u32)> = Vec::new();
            for region in REGIONS {
                if some.is_empty() || !dice.one_in(3) {
                    let name = if dice.one_in(2) { region.to_owned() } else { region.to_uppercase() };
                    some.push((name.into(), 20 + 20 * dice.below(8)));
                }
            }
            Some(Value::Latencies(some.into()))
        }
        RuleKind::TeamSizeBalance { .. } | RuleKind::TeamTicketSizeSimilarity => None,
    }
}

/// The same rules with another limit of differences: its tickets stay.
pub fn tightened(spec: &QueueSpec, seed: u64) -> Vec<Rule> {
    let mut dice = Dice(seed);
    let change = |rule: &Rule| match &rule.kind {
        RuleKind::Difference { attribute, weight, missing, merge, .. } => {
            let (attribute, missing, merge, weight) = (attribute.clone(), missing.clone(), *merge, *weight);
            let allowed = growing_amount(&mut dice, 3);
            Rule { kind: RuleKind::Difference { attribute, weight, missing, merge, allowed }, ..rule.clone() }
        }
        RuleKind::StringEquality { .. }
        | RuleKind::SetIntersection { .. }
        | RuleKind::MatchTotal { .. }
        | RuleKind::RegionSelection { .. }
        | RuleKind::TeamDifference { .. }
        | RuleKind::TeamSizeBalance { .. }
        | RuleKind::TeamTicketSizeSimilarity => rule.clone(),
    };
    spec.rules.iter().map(change).collect()
}
