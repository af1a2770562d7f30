//! The queues that are measured: the presets W1, W2 and W3 of our reference on matchmaking performance (section 11), and what its
//! goals ask for besides.

use std::sync::Arc;

use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::{
    Attribute, Declared, Delta, Enforced, Expansion, Fault, Gather, Merge, Missing, QueueSpec, Rule,
    RuleKind, Source, TeamSpec, Visibility, Weight,
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
    /// The same with a rule of each of the eight types.
    Eight,
    /// W3 in which nobody's skill is near anybody's for the first 50 s: a pool that stands.
    Late,
    /// Four against four, for which parties of three alone can never do.
    FourByFour,
}

impl Preset {
    /// By its name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "w1" => Some(Self::W1),
            "w2" => Some(Self::W2),
            "w3" => Some(Self::W3),
            "eight" => Some(Self::Eight),
            "late" => Some(Self::Late),
            _ => None,
        }
    }

    /// What its rules read.
    pub const fn reads(self) -> Reads {
        match self {
            Self::W1 => Reads::Skill,
            Self::W2 => Reads::Teams,
            Self::W3 | Self::Late => Reads::Everything,
            Self::Eight => Reads::Eight,
            Self::FourByFour => Reads::Teams,
        }
    }

    /// The queue, for which those who come are gathered.
    pub fn queue(self, gather: Gather) -> Result<QueueSpec, Failure> {
        let (players, teams, rules) = match self {
            Self::W1 => (2, Vec::new(), vec![skill(Expansion::Fixed(whole(100)))]),
            Self::W2 => (
                10,
                teams(5),
                vec![skill(Expansion::Fixed(whole(100))), even(Expansion::Fixed(whole(3_500)))],
            ),
            Self::W3 => (10, teams(5), full(reference())),
            Self::Eight => (10, teams(5), full(reference()).into_iter().chain(others()).collect()),
            Self::Late => {
                let values = [0, 50, 100, 150].map(|limit| Some(whole(limit))).into();
                (10, teams(5), full(Expansion::Custom { base: None, values, every: 50 }))
            }
            Self::FourByFour => (8, teams(4), vec![skill(reference()), even(Expansion::Fixed(whole(3_500)))]),
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
            venue: None,
            gather,
        };
        QueueSpec::new(declared).map_err(|faults: Vec<Fault>| format!("{faults:?}").into())
    }
}

fn grows(from: i32, by: i32, limit: i32) -> Expansion<Amount> {
    let delta = Delta::Up(whole(by));
    Expansion::Linear { from: whole(from), delta, limit: Some(whole(limit)), every: 5 }
}

/// By how much skill may differ in the reference queue.
fn reference() -> Expansion<Amount> {
    grows(50, 50, 500)
}

fn full(allowed: Expansion<Amount>) -> Vec<Rule> {
    let latency = Expansion::Linear { from: 60, delta: Delta::Up(20), limit: Some(200), every: 5 };
    let similar = Rule { optional_after: Some(20), ..rule("similar", RuleKind::TeamTicketSizeSimilarity) };
    vec![
        skill(allowed),
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

/// The three types that the reference queue lacks.
fn others() -> [Rule; 3] {
    let (weight, missing) = (Weight::DEFAULT, Missing::MatchAny);
    let enforced = Expansion::Fixed(Enforced);
    let (min, max) = (Expansion::Fixed(whole(1)), Expansion::Fixed(whole(10)));
    [
        rule("build", RuleKind::StringEquality { attribute: attribute("build"), weight, missing, enforced }),
        rule("hosts", RuleKind::MatchTotal { attribute: attribute("host"), weight, min, max }),
        rule("balance", RuleKind::TeamSizeBalance { allowed: Expansion::Fixed(0) }),
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

fn teams(players: u32) -> Vec<TeamSpec> {
    ["red", "blue"].map(|name| TeamSpec { name: name.into(), min: players, max: players }).to_vec()
}

fn whole(number: i32) -> Amount {
    Amount::whole(number)
}
