//! The queues that are measured: the presets W1, W2 and W3 of our reference on matchmaking performance (section 11).

use std::sync::Arc;

use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::{
    Attribute, Declared, Delta, Expansion, Fault, Merge, Missing, QueueSpec, Rule, RuleKind, Source,
    TeamSpec, Visibility, Weight,
};

use super::workload::Reads;
use crate::Failure;

/// A preset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// One against one, skill within 100.
    W1,
    /// Five against five, solo, skill within 100, teams as even as they can be.
    W2,
    /// Five against five, parties, skill, regions, modes, even teams, similar parties.
    W3,
}

impl Preset {
    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "w1" => Some(Self::W1),
            "w2" => Some(Self::W2),
            "w3" => Some(Self::W3),
            _ => None,
        }
    }

    /// What its rules read.
    pub const fn reads(self) -> Reads {
        match self {
            Self::W1 => Reads::Skill,
            Self::W2 => Reads::Teams,
            Self::W3 => Reads::Everything,
        }
    }

    /// The queue.
    pub fn queue(self) -> Result<QueueSpec, Failure> {
        let (players, teams, rules) = match self {
            Self::W1 => (2, Vec::new(), vec![skill(Expansion::Fixed(whole(100)))]),
            Self::W2 => {
                (10, teams(), vec![skill(Expansion::Fixed(whole(100))), even(Expansion::Fixed(whole(3_500)))])
            }
            Self::W3 => (10, teams(), full()),
        };
        let declared = Declared {
            name: "bench".into(),
            min_match_size: players,
            max_match_size: players,
            max_ticket_size: None,
            teams,
            rules,
            regions: Vec::new(),
            visibility: Visibility::default(),
        };
        QueueSpec::new(declared).map_err(|faults: Vec<Fault>| format!("{faults:?}").into())
    }
}

fn full() -> Vec<Rule> {
    let grows = |from: i32, by: i32, limit: i32| {
        let delta = Delta::Up(whole(by));
        Expansion::Linear { from: whole(from), delta, limit: Some(whole(limit)), every: 5 }
    };
    let latency = Expansion::Linear { from: 60, delta: Delta::Up(20), limit: Some(200), every: 5 };
    let similar = Rule { optional_after: Some(20), ..rule("similar", RuleKind::TeamTicketSizeSimilarity) };
    vec![
        skill(grows(50, 50, 500)),
        rule(
            "region",
            RuleKind::RegionSelection { path: "latency".into(), weight: Weight::DEFAULT, latency },
        ),
        rule(
            "modes",
            RuleKind::SetIntersection {
                attribute: attribute("modes"),
                weight: Weight::DEFAULT,
                missing: Missing::MatchAny,
                shared: Expansion::Fixed(1),
            },
        ),
        even(grows(50, 25, 3_500)),
        similar,
    ]
}

fn skill(allowed: Expansion<Amount>) -> Rule {
    let (attribute, missing) = (attribute("skill"), Missing::MatchAny);
    rule(
        "skill",
        RuleKind::Difference { attribute, weight: Weight::DEFAULT, missing, merge: Merge::Average, allowed },
    )
}

fn even(allowed: Expansion<Amount>) -> Rule {
    rule("even", RuleKind::TeamDifference { attribute: attribute("skill"), default: whole(1_500), allowed })
}

fn rule(name: &str, kind: RuleKind) -> Rule {
    Rule { name: Arc::from(name), optional_after: None, kind }
}

fn attribute(path: &str) -> Attribute {
    Attribute { source: Source::User, path: path.into() }
}

fn teams() -> Vec<TeamSpec> {
    ["red", "blue"].map(|name| TeamSpec { name: name.into(), min: 5, max: 5 }).to_vec()
}

fn whole(number: i32) -> Amount {
    Amount::whole(number)
}
