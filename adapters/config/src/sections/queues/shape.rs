//! The keys of a queue, as PlayFab's API and its documentation write them: what may stand under each.
//!
//! Keys are in PlayFab's spelling and compared after their first letter is made a capital, so that a file may say
//! `minMatchSize` and pasted JSON `MinMatchSize`. Source: `MatchmakingQueueConfig` and its parts in PlayFab's API
//! specification; *Configuring matchmaking queues*; *Rule weights*.

/// What stands under a key.
#[derive(Clone, Copy, Debug)]
pub(super) enum Is {
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
pub(super) struct Shape {
    /// What it is, for sentences.
    pub(super) what: &'static str,
    /// Its keys.
    pub(super) keys: &'static [(&'static str, Is)],
}

impl Shape {
    /// What stands under a key, its first letter a capital.
    pub(super) fn get(&self, key: &str) -> Option<Is> {
        self.keys.iter().find(|(known, _)| *known == key).map(|&(_, is)| is)
    }
}

/// A queue.
pub(super) const QUEUE: Shape = Shape {
    what: "queue",
    keys: &[
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
        ("Rules", Is::List(&Is::Rule)),
        ("StringEqualityRules", Is::List(&Is::Object(&STRING_EQUALITY))),
        ("DifferenceRules", Is::List(&Is::Object(&DIFFERENCE))),
        ("SetIntersectionRules", Is::List(&Is::Object(&SET_INTERSECTION))),
        ("MatchTotalRules", Is::List(&Is::Object(&MATCH_TOTAL))),
        ("RegionSelectionRule", Is::Object(&REGION_SELECTION)),
        ("TeamDifferenceRules", Is::List(&Is::Object(&TEAM_DIFFERENCE))),
        ("TeamSizeBalanceRule", Is::Object(&TEAM_SIZE_BALANCE)),
        ("TeamTicketSizeSimilarityRule", Is::Object(&TEAM_TICKET_SIZE_SIMILARITY)),
    ],
};

const TEAM: Shape = Shape {
    what: "team",
    keys: &[("Name", Is::Text), ("MinTeamSize", Is::Number), ("MaxTeamSize", Is::Number)],
};

const VISIBILITY: Shape = Shape {
    what: "statisticsVisibilityToPlayers",
    keys: &[("ShowNumberOfPlayersMatching", Is::Boolean), ("ShowTimeToMatch", Is::Boolean)],
};

const ALIAS: Shape = Shape { what: "buildAliasParams", keys: &[("AliasId", Is::Text)] };

const ATTRIBUTE: Shape = Shape { what: "attribute", keys: &[("Path", Is::Text), ("Source", Is::Text)] };

/// The rules by what `Type` says of them.
pub(super) const RULES: &[(&str, &Shape)] = &[
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
    keys: &[
        ("Type", Is::Text),
        ("Name", Is::Text),
        ("Attribute", Is::Object(&ATTRIBUTE)),
        ("AttributeNotSpecifiedBehavior", Is::Text),
        ("DefaultAttributeValue", Is::Text),
        ("Weight", Is::Number),
        ("Expansion", Is::Object(&EXPANSION)),
        ("SecondsUntilOptional", Is::Number),
    ],
};

const DIFFERENCE: Shape = Shape {
    what: "DifferenceRule",
    keys: &[
        ("Type", Is::Text),
        ("Name", Is::Text),
        ("Attribute", Is::Object(&ATTRIBUTE)),
        ("AttributeNotSpecifiedBehavior", Is::Text),
        ("DefaultAttributeValue", Is::Number),
        ("Weight", Is::Number),
        ("MergeFunction", Is::Text),
        ("Difference", Is::Number),
        ("MaxDifference", Is::Number),
        ("Expansion", Is::Object(&EXPANSION)),
        ("LinearExpansion", Is::Object(&EXPANSION)),
        ("CustomExpansion", Is::Object(&EXPANSION)),
        ("SecondsUntilOptional", Is::Number),
    ],
};

const SET_INTERSECTION: Shape = Shape {
    what: "SetIntersectionRule",
    keys: &[
        ("Type", Is::Text),
        ("Name", Is::Text),
        ("Attribute", Is::Object(&ATTRIBUTE)),
        ("AttributeNotSpecifiedBehavior", Is::Text),
        ("DefaultAttributeValue", Is::List(&Is::Text)),
        ("Weight", Is::Number),
        ("MinIntersectionSize", Is::Number),
        ("Expansion", Is::Object(&EXPANSION)),
        ("LinearExpansion", Is::Object(&EXPANSION)),
        ("CustomExpansion", Is::Object(&EXPANSION)),
        ("SecondsUntilOptional", Is::Number),
    ],
};

const MATCH_TOTAL: Shape = Shape {
    what: "MatchTotalRule",
    keys: &[
        ("Type", Is::Text),
        ("Name", Is::Text),
        ("Attribute", Is::Object(&ATTRIBUTE)),
        ("Weight", Is::Number),
        ("Min", Is::Number),
        ("Max", Is::Number),
        ("Expansion", Is::Object(&EXPANSION)),
        ("SecondsUntilOptional", Is::Number),
    ],
};

const REGION_SELECTION: Shape = Shape {
    what: "RegionSelectionRule",
    keys: &[
        ("Type", Is::Text),
        ("Name", Is::Text),
        ("Path", Is::Text),
        ("Weight", Is::Number),
        ("MaxLatency", Is::Number),
        ("Expansion", Is::Object(&EXPANSION)),
        ("LinearExpansion", Is::Object(&EXPANSION)),
        ("CustomExpansion", Is::Object(&EXPANSION)),
        ("SecondsUntilOptional", Is::Number),
    ],
};

const TEAM_DIFFERENCE: Shape = Shape {
    what: "TeamDifferenceRule",
    keys: &[
        ("Type", Is::Text),
        ("Name", Is::Text),
        ("Attribute", Is::Object(&ATTRIBUTE)),
        ("DefaultAttributeValue", Is::Number),
        ("Difference", Is::Number),
        ("MaxDifference", Is::Number),
        ("Expansion", Is::Object(&EXPANSION)),
        ("LinearExpansion", Is::Object(&EXPANSION)),
        ("CustomExpansion", Is::Object(&EXPANSION)),
        ("SecondsUntilOptional", Is::Number),
    ],
};

const TEAM_SIZE_BALANCE: Shape = Shape {
    what: "TeamSizeBalanceRule",
    keys: &[
        ("Type", Is::Text),
        ("Name", Is::Text),
        ("Difference", Is::Number),
        ("MaxDifference", Is::Number),
        ("Expansion", Is::Object(&EXPANSION)),
        ("LinearExpansion", Is::Object(&EXPANSION)),
        ("CustomExpansion", Is::Object(&EXPANSION)),
        ("SecondsUntilOptional", Is::Number),
    ],
};

const TEAM_TICKET_SIZE_SIMILARITY: Shape = Shape {
    what: "TeamTicketSizeSimilarityRule",
    keys: &[("Type", Is::Text), ("Name", Is::Text), ("SecondsUntilOptional", Is::Number)],
};

/// How a rule gives way, of all types: each reads its own list of overrides.
const EXPANSION: Shape = Shape {
    what: "expansion",
    keys: &[
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
    ],
};

/// An override as the API writes it.
pub(super) const OVERRIDE: Shape = Shape { what: "override", keys: &[("Value", Is::Number)] };
