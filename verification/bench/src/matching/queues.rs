//! The queues that are measured: the presets W1 to W7 of our reference on matchmaking performance (section 11; W8 is W3 with one game
//! among five that come, W9 is [of its own](super::adversarial)), and what its goals ask for besides.

use std::sync::Arc;

use mainstay_matchmaking::Amount;
use mainstay_matchmaking::spec::{
    Attribute, Declared, Delta, Enforced, Expansion, Fault, Gather, Merge, Missing, QueueSpec, Rule,
    RuleKind, Source, TeamSpec, Unread, Visibility, Weight,
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
    /// W3 with teams of twelve.
    W4,
    /// W3 with eight teams of four.
    W5,
    /// Four by skill, each alone: one tank, two who deal damage, one who supports.
    W6,
    /// Up to a hundred by skill and regions, in parties of up to four: as many as that at first, ten fewer every 5 s, fifty at least.
    W7,
    /// W3 with a rule of each of the eight types.
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
            "w4" => Some(Self::W4),
            "w5" => Some(Self::W5),
            "w6" => Some(Self::W6),
            "w7" => Some(Self::W7),
            "eight" => Some(Self::Eight),
            "late" => Some(Self::Late),
            _ => None,
        }
    }

    /// What its rules read.
    pub const fn reads(self) -> Reads {
        match self {
            Self::W1 => Reads::Skill,
            Self::W2 | Self::FourByFour => Reads::Teams,
            Self::W3 | Self::W4 | Self::Late => Reads::Everything,
            Self::W5 => Reads::Fours,
            Self::W6 => Reads::Roles,
            Self::W7 => Reads::Crowd,
            Self::Eight => Reads::Eight,
        }
    }

    /// The queue, for which those who come are gathered.
    pub fn queue(self, gather: Gather) -> Result<QueueSpec, Failure> {
        let even_at_any_price = || even(Expansion::Fixed(whole(3_500)));
        let (players, teams, rules) = match self {
            Self::W1 => (2, Vec::new(), vec![skill(Expansion::Fixed(whole(100)))]),
            Self::W2 => (10, teams(2, 5), vec![skill(Expansion::Fixed(whole(100))), even_at_any_price()]),
            Self::W3 => (10, teams(2, 5), full(reference())),
            Self::W4 => (24, teams(2, 12), full(reference())),
            Self::W5 => (32, teams(8, 4), full(reference())),
            Self::W6 => (4, Vec::new(), roles()),
            Self::W7 => (100, Vec::new(), crowd()),
            Self::Eight => (10, teams(2, 5), full(reference()).into_iter().chain(others()).collect()),
            Self::Late => {
                let values = [0, 50, 100, 150].map(|limit| Some(whole(limit))).into();
                (10, teams(2, 5), full(Expansion::Custom { base: None, values, every: 50 }))
            }
            Self::FourByFour => (8, teams(2, 4), vec![skill(reference()), even_at_any_price()]),
        };
        let declared = Declared {
            name: "bench".into(),
            min_match_size: if self == Self::W7 { players / 2 } else { players },
            max_match_size: players,
            max_ticket_size: None,
            teams,
            rules,
            regions: Vec::new(),
            visibility: Visibility::default(),
            venue: None,
            gather,
            unread: Unread::default(),
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
    let similar = Rule { optional_after: Some(20), ..rule("similar", RuleKind::TeamTicketSizeSimilarity) };
    vec![
        skill(allowed),
        region(),
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

/// What a match of four is made of.
fn roles() -> Vec<Rule> {
    let role = |name: &str, players: i32| total(name, Expansion::Fixed(whole(players)), players);
    vec![skill(reference()), role("tank", 1), role("damage", 2), role("support", 1)]
}

/// As many as there is room for, and after 25 s half of them.
fn crowd() -> Vec<Rule> {
    let min = Expansion::Linear {
        from: whole(100),
        delta: Delta::Down(whole(10)),
        limit: Some(whole(50)),
        every: 5,
    };
    vec![skill(reference()), region(), total("players", min, 100)]
}

fn region() -> Rule {
    let latency = Expansion::Linear { from: 60, delta: Delta::Up(20), limit: Some(200), every: 5 };
    let kind = RuleKind::RegionSelection { path: "latency".into(), weight: Weight::DEFAULT, latency };
    rule("region", kind)
}

fn total(name: &str, min: Expansion<Amount>, max: i32) -> Rule {
    let (attribute, weight) = (attribute(name), Weight::DEFAULT);
    rule(name, RuleKind::MatchTotal { attribute, weight, min, max: Expansion::Fixed(whole(max)) })
}

/// The three types that the reference queue lacks.
fn others() -> [Rule; 3] {
    let (weight, missing) = (Weight::DEFAULT, Missing::MatchAny);
    let enforced = Expansion::Fixed(Enforced);
    [
        rule("build", RuleKind::StringEquality { attribute: attribute("build"), weight, missing, enforced }),
        total("host", Expansion::Fixed(whole(1)), 10),
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

fn teams(teams: u32, players: u32) -> Vec<TeamSpec> {
    let team = |number| TeamSpec { name: format!("team-{number}").into(), min: players, max: players };
    (1..=teams).map(team).collect()
}

fn whole(number: i32) -> Amount {
    Amount::whole(number)
}
