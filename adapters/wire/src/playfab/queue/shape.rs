//! The keys of a queue, as PlayFab's API and its documentation write them: what may stand under each.
//!
//! Keys are in PlayFab's spelling and compared after their first letter is made a capital, so that a file may say
//! `minMatchSize` and pasted JSON `MinMatchSize`. Source: `MatchmakingQueueConfig` and its parts in PlayFab's API
//! specification; *Configuring matchmaking queues*; *Rule weights*.

use mainstay_matchmaking::spec::Fault;
use serde_json::{Map, Value};

use crate::nearest::nearest;

/// What stands under a key.
#[derive(Clone, Copy, Debug)]
pub enum Is {
    /// A text.
    Text,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A mapping.
    Object(&'static Shape),
    /// A list, of which an element may be nothing (`null`: an interval without a limit).
    List(&'static Self),
    /// A number, or a mapping with a `Value`.
    Override,
    /// A rule that says its type.
    Rule,
    /// Ours, and read by another.
    Elsewhere,
}

/// A mapping's keys.
#[derive(Debug)]
pub struct Shape {
    /// What it is, for sentences.
    pub what: &'static str,
    /// Its keys, those that others have as well in groups.
    groups: &'static [&'static [(&'static str, Is)]],
}

impl Shape {
    /// What stands under a key, its first letter a capital.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Is> {
        self.keys().find(|(known, _)| *known == key).map(|&(_, is)| is)
    }

    /// Its keys, with what stands under each.
    pub fn keys(&self) -> impl Iterator<Item = &'static (&'static str, Is)> + use<> {
        self.groups.iter().copied().flatten()
    }
}

/// A queue in either spelling, in PlayFab's. PlayFab's own calls pass over what they do not know; whoever speaks to Mainstay itself is told of it.
///
/// # Errors
/// Each key that is none, or that is there in both spellings.
pub fn named(queue: Value) -> Result<Value, Vec<Fault>> {
    let mut faults = Vec::new();
    let queue = named_as(Is::Object(&QUEUE), "", queue, &mut faults);
    if faults.is_empty() { Ok(queue) } else { Err(faults) }
}

fn named_as(is: Is, place: &str, value: Value, faults: &mut Vec<Fault>) -> Value {
    match (is, value) {
        (Is::Object(shape), Value::Object(sent)) => object(shape, place, sent, faults),
        (Is::Override, Value::Object(sent)) => object(&OVERRIDE, place, sent, faults),
        (Is::Rule, Value::Object(sent)) => match rule(&sent) {
            Some(shape) => object(shape, place, sent, faults),
            // Its type is told by who reads it.
            None => Value::Object(sent),
        },
        (Is::List(of), Value::Array(items)) => {
            let items = items.into_iter().enumerate();
            items.map(|(at, item)| named_as(*of, &format!("{place}[{at}]"), item, faults)).collect()
        }
        (
            Is::Object(_)
            | Is::Override
            | Is::Rule
            | Is::List(_)
            | Is::Text
            | Is::Number
            | Is::Boolean
            | Is::Elsewhere,
            value,
        ) => value,
    }
}

fn rule(sent: &Map<String, Value>) -> Option<&'static Shape> {
    let kind = sent.get("Type").or_else(|| sent.get("type"))?;
    RULES.iter().find(|(name, _)| kind == name).map(|&(_, shape)| shape)
}

fn object(shape: &Shape, place: &str, sent: Map<String, Value>, faults: &mut Vec<Fault>) -> Value {
    let mut read = Map::new();
    for (key, value) in sent {
        let name = capital(&key);
        let place = if place.is_empty() { key.clone() } else { format!("{place}.{key}") };
        let is = shape.get(&name).filter(|is| !matches!(is, Is::Elsewhere));
        let what = match is {
            Some(_) if read.contains_key(&name) => "it is there in two spellings: keep one".to_owned(),
            Some(is) => {
                let value = named_as(is, &place, value, faults);
                read.insert(name, value);
                continue;
            }
            None => {
                let here = shape.keys().filter(|(_, is)| !matches!(is, Is::Elsewhere));
                let known: Vec<&str> = here.map(|(known, _)| *known).collect();
                let meant = nearest(&name, known.iter().copied());
                let meant = meant.map(|known| format!("did you mean {known}? ")).unwrap_or_default();
                let all = known.join(", ");
                format!("{} {} has no such key; {meant}it has {all}", article(shape.what), shape.what)
            }
        };
        faults.push(Fault { place, what });
    }
    Value::Object(read)
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// A key in PlayFab's spelling.
fn capital(key: &str) -> String {
    let mut letters = key.chars();
    letters.next().map(|letter| letter.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// A queue.
pub const QUEUE: Shape = Shape {
    what: "queue",
    groups: &[&[
        ("Name", Is::Text),
        ("MinMatchSize", Is::Number),
        ("MaxMatchSize", Is::Number),
        ("MaxTicketSize", Is::Number),
        ("Teams", Is::List(&Is::Object(&TEAM))),
        ("StatisticsVisibilityToPlayers", Is::Object(&VISIBILITY)),
        ("ServerAllocationEnabled", Is::Boolean),
        ("BuildId", Is::Text),
        ("BuildAliasParams", Is::Object(&ALIAS)),
        ("Allocate", Is::Elsewhere),
        ("Session", Is::Text),
        ("Gather", Is::Text),
        ("Regions", Is::List(&Is::Text)),
        ("Rules", Is::List(&Is::Rule)),
        ("StringEqualityRules", Is::List(&Is::Object(&STRING_EQUALITY))),
        ("DifferenceRules", Is::List(&Is::Object(&DIFFERENCE))),
        ("SetIntersectionRules", Is::List(&Is::Object(&SET_INTERSECTION))),
        ("MatchTotalRules", Is::List(&Is::Object(&MATCH_TOTAL))),
        ("RegionSelectionRule", Is::Object(&REGION_SELECTION)),
        ("TeamDifferenceRules", Is::List(&Is::Object(&TEAM_DIFFERENCE))),
        ("TeamSizeBalanceRule", Is::Object(&TEAM_SIZE_BALANCE)),
        ("TeamTicketSizeSimilarityRule", Is::Object(&TEAM_TICKET_SIZE_SIMILARITY)),
    ]],
};

const TEAM: Shape = Shape {
    what: "team",
    groups: &[&[("Name", Is::Text), ("MinTeamSize", Is::Number), ("MaxTeamSize", Is::Number)]],
};

const VISIBILITY: Shape = Shape {
    what: "statisticsVisibilityToPlayers",
    groups: &[&[("ShowNumberOfPlayersMatching", Is::Boolean), ("ShowTimeToMatch", Is::Boolean)]],
};

const ALIAS: Shape = Shape { what: "buildAliasParams", groups: &[&[("AliasId", Is::Text)]] };

const ATTRIBUTE: Shape = Shape { what: "attribute", groups: &[&[("Path", Is::Text), ("Source", Is::Text)]] };

/// What every rule has.
const RULE: &[(&str, Is)] = &[("Type", Is::Text), ("Name", Is::Text), ("SecondsUntilOptional", Is::Number)];

/// How the limit of a rule may move.
const GIVES_WAY: &[(&str, Is)] = &[
    ("Expansion", Is::Object(&EXPANSION)),
    ("LinearExpansion", Is::Object(&EXPANSION)),
    ("CustomExpansion", Is::Object(&EXPANSION)),
];

/// The rules by what `Type` says of them.
pub const RULES: &[(&str, &Shape)] = &[
    ("StringEqualityRule", &STRING_EQUALITY),
    ("DifferenceRule", &DIFFERENCE),
    ("SetIntersectionRule", &SET_INTERSECTION),
    ("MatchTotalRule", &MATCH_TOTAL),
    ("RegionSelectionRule", &REGION_SELECTION),
    ("TeamDifferenceRule", &TEAM_DIFFERENCE),
    ("TeamSizeBalanceRule", &TEAM_SIZE_BALANCE),
    ("TeamTicketSizeSimilarityRule", &TEAM_TICKET_SIZE_SIMILARITY),
];

const STRING_EQUALITY: Shape = Shape {
    what: "StringEqualityRule",
    groups: &[
        RULE,
        &[
            ("Attribute", Is::Object(&ATTRIBUTE)),
            ("AttributeNotSpecifiedBehavior", Is::Text),
            ("DefaultAttributeValue", Is::Text),
            ("Weight", Is::Number),
            ("Expansion", Is::Object(&EXPANSION)),
        ],
    ],
};

const DIFFERENCE: Shape = Shape {
    what: "DifferenceRule",
    groups: &[
        RULE,
        GIVES_WAY,
        &[
            ("Attribute", Is::Object(&ATTRIBUTE)),
            ("AttributeNotSpecifiedBehavior", Is::Text),
            ("DefaultAttributeValue", Is::Number),
            ("Weight", Is::Number),
            ("MergeFunction", Is::Text),
            ("Difference", Is::Number),
            ("MaxDifference", Is::Number),
        ],
    ],
};

const SET_INTERSECTION: Shape = Shape {
    what: "SetIntersectionRule",
    groups: &[
        RULE,
        GIVES_WAY,
        &[
            ("Attribute", Is::Object(&ATTRIBUTE)),
            ("AttributeNotSpecifiedBehavior", Is::Text),
            ("DefaultAttributeValue", Is::List(&Is::Text)),
            ("Weight", Is::Number),
            ("MinIntersectionSize", Is::Number),
        ],
    ],
};

const MATCH_TOTAL: Shape = Shape {
    what: "MatchTotalRule",
    groups: &[
        RULE,
        &[
            ("Attribute", Is::Object(&ATTRIBUTE)),
            ("Weight", Is::Number),
            ("Min", Is::Number),
            ("Max", Is::Number),
            ("Expansion", Is::Object(&EXPANSION)),
        ],
    ],
};

const REGION_SELECTION: Shape = Shape {
    what: "RegionSelectionRule",
    groups: &[RULE, GIVES_WAY, &[("Path", Is::Text), ("Weight", Is::Number), ("MaxLatency", Is::Number)]],
};

const TEAM_DIFFERENCE: Shape = Shape {
    what: "TeamDifferenceRule",
    groups: &[
        RULE,
        GIVES_WAY,
        &[
            ("Attribute", Is::Object(&ATTRIBUTE)),
            ("DefaultAttributeValue", Is::Number),
            ("Difference", Is::Number),
            ("MaxDifference", Is::Number),
        ],
    ],
};

const TEAM_SIZE_BALANCE: Shape = Shape {
    what: "TeamSizeBalanceRule",
    groups: &[RULE, GIVES_WAY, &[("Difference", Is::Number), ("MaxDifference", Is::Number)]],
};

const TEAM_TICKET_SIZE_SIMILARITY: Shape = Shape { what: "TeamTicketSizeSimilarityRule", groups: &[RULE] };

/// How a rule gives way, of all types: each reads its own list of overrides.
const EXPANSION: Shape = Shape {
    what: "expansion",
    groups: &[&[
        ("Type", Is::Text),
        ("Delta", Is::Number),
        ("Limit", Is::Number),
        ("EnabledOverrides", Is::List(&Is::Boolean)),
        ("DifferenceOverrides", Is::List(&Is::Override)),
        ("MinIntersectionSizeOverrides", Is::List(&Is::Override)),
        ("MaxLatencyOverrides", Is::List(&Is::Override)),
        ("MinOverrides", Is::List(&Is::Override)),
        ("MaxOverrides", Is::List(&Is::Override)),
        ("SecondsBetweenExpansions", Is::Number),
    ]],
};

/// An override as the API writes it.
pub const OVERRIDE: Shape = Shape { what: "override", groups: &[&[("Value", Is::Number)]] };
