//! What is of another type than it should be, in the client's words: where it stands, what is needed there and what came; all of it at once.
//!
//! In PlayFab's API a name has one type wherever it stands, so one table of names is enough. It is asked about what was not read: whatever else
//! is wrong is told by the reader. But a list in the place of an object the reader takes for its fields, in their order, so that is asked of
//! every body.

use mainstay_matchmaking::spec::Fault;
use serde_json::Value;

/// The most faults that are told: who has more mends these first.
const FAULTS_MAX: usize = 20;
/// The most characters of a text that are told again.
const TOLD_CHARS_MAX: usize = 40;

/// What a field holds. Left out, `null` and, of a list, `{}` are nothing, and right everywhere.
#[derive(Debug, Clone, Copy)]
enum Type {
    /// A text.
    Text,
    /// One of these texts.
    Word(&'static [&'static str]),
    /// A number.
    Number,
    /// A number without a fraction.
    Whole,
    /// The same, from 0 on.
    Count,
    /// The number of a port.
    PortNumber,
    /// `true` or `false`.
    Flag,
    /// Fields.
    Object,
    /// Elements of one type.
    List(&'static Self),
    /// A port: `{"Name", "Num"}`, or the same within a `Port`.
    Port,
    /// What holds in an interval: a number, or the same within a `Value`.
    Override,
}

/// The type of a field by its name; `None` where any may stand, or none is known.
fn of(name: &str) -> Option<Type> {
    Some(match name {
        "AliasId"
        | "AttributeNotSpecifiedBehavior"
        | "BuildId"
        | "CustomId"
        | "EntityToken"
        | "EscapedDataObject"
        | "Fqdn"
        | "Gather"
        | "IPV4Address"
        | "Id"
        | "MatchId"
        | "MergeFunction"
        | "Name"
        | "ObjectName"
        | "Path"
        | "QueueName"
        | "Region"
        | "ServerCustomId"
        | "ServerId"
        | "Session"
        | "Source"
        | "TeamId"
        | "TicketId"
        | "TitleId"
        | "Type"
        | "TypeString" => Type::Text,
        "Protocol" => Type::Word(&["TCP", "UDP"]),
        "OnPlayerTakenOut" => Type::Word(&["Cancel", "GoOn"]),
        "Delta" | "Difference" | "Limit" | "Max" | "MaxDifference" | "Min" | "Value" | "Weight" => {
            Type::Number
        }
        "ExpectedProfileVersion" | "GiveUpAfterSeconds" => Type::Whole,
        "Num" => Type::PortNumber,
        "LeaseSeconds"
        | "MaxLatency"
        | "MaxMatchSize"
        | "MaxTeamSize"
        | "MaxTicketSize"
        | "MinIntersectionSize"
        | "MinMatchSize"
        | "MinTeamSize"
        | "Places"
        | "SecondsBetweenExpansions"
        | "SecondsUntilOptional" => Type::Count,
        "CreateAccount"
        | "DeleteObject"
        | "EscapeObject"
        | "ReturnMemberAttributes"
        | "ServerAllocationEnabled"
        | "ShowNumberOfPlayersMatching"
        | "ShowTimeToMatch" => Type::Flag,
        "Attribute"
        | "Attributes"
        | "BuildAliasParams"
        | "Creator"
        | "CustomExpansion"
        | "Entity"
        | "Expansion"
        | "LinearExpansion"
        | "MatchmakingQueue"
        | "Member"
        | "RegionSelectionRule"
        | "ServerDetails"
        | "StatisticsVisibilityToPlayers"
        | "TeamSizeBalanceRule"
        | "TeamTicketSizeSimilarityRule" => Type::Object,
        "DifferenceRules"
        | "MatchTotalRules"
        | "Members"
        | "MembersToMatchWith"
        | "Objects"
        | "Rules"
        | "SetIntersectionRules"
        | "StringEqualityRules"
        | "TeamDifferenceRules"
        | "Teams" => Type::List(&Type::Object),
        "Ports" => Type::List(&Type::Port),
        "Regions" => Type::List(&Type::Text),
        "EnabledOverrides" => Type::List(&Type::Flag),
        "DifferenceOverrides"
        | "MaxLatencyOverrides"
        | "MaxOverrides"
        | "MinIntersectionSizeOverrides"
        | "MinOverrides" => Type::List(&Type::Override),
        _ => return None,
    })
}

/// A body in which each object that is empty is written as one: Lua and PHP write it as they do an empty list, and nothing at all as `null`.
#[must_use]
pub fn opened(mut body: Value) -> Value {
    if body.is_null() {
        return Value::Object(serde_json::Map::new());
    }
    open(&mut body, Type::Object);
    body
}

fn open(value: &mut Value, wanted: Type) {
    if wanted.is_an_object() {
        open_empty(value);
    }
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                // What a game keeps in there is its own.
                if name == "DataObject" {
                    open_empty(value);
                } else if let Some(wanted) = of(name) {
                    open(value, wanted);
                }
            }
        }
        Value::Array(elements) => {
            if let Type::List(each) = wanted {
                elements.iter_mut().for_each(|element| open(element, *each));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn open_empty(value: &mut Value) {
    if value.as_array().is_some_and(Vec::is_empty) {
        *value = Value::Object(serde_json::Map::new());
    }
}

/// Everything of a body that is of another type than it should be, each with its place: `Members[6].Attributes`.
#[must_use]
pub fn faults(body: &Value) -> Vec<Fault> {
    look(body, Sought::Everything)
}

/// Lists where objects are needed, and `null` among them: the former a reader would take for their fields, the latter it has no words for.
#[must_use]
pub fn no_objects(body: &Value) -> Vec<Fault> {
    look(body, Sought::NoObjects)
}

fn look(body: &Value, sought: Sought) -> Vec<Fault> {
    let mut found = Found { faults: Vec::new(), sought };
    fields(body, "", &mut found);
    found.faults.truncate(FAULTS_MAX);
    found.faults
}

/// A field that is taken for left out, since it is of another type than it should be: so what else is wrong can be found.
pub(super) struct LeftOut {
    /// `rule NAME`, where it is a rule's.
    owner: Option<String>,
    field: String,
}

impl LeftOut {
    /// What stands at a fault's place.
    pub(super) fn of(body: &mut Value, place: &str) -> Self {
        let pointer = |place: &str| format!("/{}", place.replace(['.', '['], "/").replace(']', ""));
        let (of, field) = place.split_once('.').unwrap_or(("", place));
        let owner = body.pointer(&format!("{}/Name", pointer(of))).and_then(Value::as_str);
        let owner = owner.map(|name| format!("rule {name}"));
        // What is of a field's part is of the whole field.
        let field = field.split(['.', '[']).next().unwrap_or(field).to_ascii_lowercase();
        // An override is nothing without its `Value`.
        let whole = place.strip_suffix(".Value").unwrap_or(place);
        if let Some(value) = body.pointer_mut(&pointer(whole)) {
            *value = Value::Null;
        }
        Self { owner, field }
    }

    /// Whether a fault is that the field is missing, or of what is left of it.
    pub(super) fn is_missed_by(&self, fault: &Fault) -> bool {
        let Fault { place, what } = fault;
        let is_its_own = self.owner.as_ref().is_none_or(|owner| owner == place);
        is_its_own && [place, what].into_iter().any(|text| text.to_ascii_lowercase().contains(&self.field))
    }
}

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sought {
    Everything,
    NoObjects,
}

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// An object is needed, and there is a list, or nothing in a list.
    NoObject,
    Other,
}

struct Found {
    faults: Vec<Fault>,
    sought: Sought,
}

impl Found {
    /// Where it is one that is looked for.
    fn add(&mut self, (place, what): (String, String), kind: Kind) {
        match (self.sought, kind) {
            (Sought::Everything, _) | (Sought::NoObjects, Kind::NoObject) => {
                self.faults.push(Fault { place, what });
            }
            (Sought::NoObjects, Kind::Other) => {}
        }
    }
}

fn fields(object: &Value, place: &str, found: &mut Found) {
    for (name, value) in object.as_object().into_iter().flatten() {
        if found.faults.len() >= FAULTS_MAX {
            return;
        }
        if let Some(wanted) = of(name) {
            let dot = if place.is_empty() { "" } else { "." };
            judge(value, wanted, &format!("{place}{dot}{name}"), found);
        }
    }
}

fn judge(value: &Value, wanted: Type, place: &str, found: &mut Found) {
    match (wanted, value) {
        (_, Value::Null) => {}
        (Type::List(_), Value::Object(fields)) if fields.is_empty() => {}
        (Type::List(each), Value::Array(elements)) => {
            for (at, element) in elements.iter().enumerate() {
                let place = format!("{place}[{at}]");
                if element.is_null() && each.is_an_object() {
                    found.add(needed(*each, element, &place), Kind::NoObject);
                } else {
                    judge(element, *each, &place, found);
                }
            }
        }
        (Type::Port, Value::Object(port)) => match port.get("Port") {
            Some(inner) => judge(inner, Type::Port, &format!("{place}.Port"), found),
            None => {
                for name in
                    ["Name", "Num"].into_iter().filter(|name| port.get(*name).is_none_or(Value::is_null))
                {
                    found.add((format!("{place}.{name}"), "it is missing".to_owned()), Kind::Other);
                }
                fields(value, place, found);
            }
        },
        (Type::Object | Type::Override, Value::Object(_)) => fields(value, place, found),
        (wanted, value) if wanted.takes(value) => {}
        (wanted, value) => {
            let kind = if wanted.is_an_object() && value.is_array() { Kind::NoObject } else { Kind::Other };
            found.add(needed(wanted, value, place), kind);
        }
    }
}

/// That something else is needed at a place.
fn needed(wanted: Type, value: &Value, place: &str) -> (String, String) {
    (place.to_owned(), format!("{} is needed, and this is {}", wanted.told(), told(value)))
}

impl Type {
    /// Whether a value that holds no others is of it.
    fn takes(self, value: &Value) -> bool {
        let whole = || value.as_f64().is_some_and(|number| number.fract() == 0.0);
        match self {
            Self::Text => value.is_string(),
            Self::Word(words) => value.as_str().is_some_and(|text| words.contains(&text)),
            Self::Number | Self::Override => value.is_number(),
            Self::Whole => whole(),
            Self::Count => {
                whole() && value.as_f64().is_some_and(|it| (0.0..=f64::from(u32::MAX)).contains(&it))
            }
            Self::PortNumber => {
                whole() && value.as_f64().is_some_and(|it| (0.0..=f64::from(u16::MAX)).contains(&it))
            }
            Self::Flag => value.is_boolean(),
            Self::Object | Self::List(_) | Self::Port => false,
        }
    }

    const fn is_an_object(self) -> bool {
        match self {
            Self::Object | Self::Port => true,
            Self::Text
            | Self::Word(_)
            | Self::Number
            | Self::Whole
            | Self::Count
            | Self::PortNumber
            | Self::Flag
            | Self::List(_)
            | Self::Override => false,
        }
    }

    fn told(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Word(words) => words.join(" or "),
            Self::Number => "a number".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::Count => format!("a whole number from 0 to {}", u32::MAX),
            Self::PortNumber => format!("a whole number from 0 to {}", u16::MAX),
            Self::Flag => "true or false".to_owned(),
            Self::Object | Self::Port => "an object".to_owned(),
            Self::List(_) => "a list".to_owned(),
            Self::Override => "a number, or an object with a Value,".to_owned(),
        }
    }
}

/// What came: a single value as it is written, cut where it is long.
fn told(value: &Value) -> String {
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => match text.char_indices().nth(TOLD_CHARS_MAX) {
            Some((end, _)) => format!("the text {:?}…", &text[..end]),
            None => format!("the text {text:?}"),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
