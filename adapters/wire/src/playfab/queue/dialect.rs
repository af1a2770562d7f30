//! The documentation's way of writing a queue, turned into the API's.
//!
//! One list `Rules`, whose elements name their `Type`; one `Expansion`, with or without a `Type` of its own; and `MaxDifference` for
//! `Difference` (*Rule weights*). The last two are read in the API's lists too: who moves a rule from one to the other takes them along.
//! Overrides as bare numbers are read wherever overrides are.

use mainstay_matchmaking::spec::Fault;
use serde_json::{Map, Value};

/// A type of rules.
struct Kind {
    /// Its `Type`.
    name: &'static str,
    home: Home,
    gives_way: GivesWay,
}

/// Where the API has the rules of a type.
enum Home {
    List(&'static str),
    Single(&'static str),
}

/// What the API calls the expansions of a type.
#[derive(Clone, Copy)]
enum GivesWay {
    /// `LinearExpansion` and `CustomExpansion`.
    EitherWay,
    /// `Expansion`, which is custom.
    ByIntervals,
}

/// How an expansion goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Linear,
    Custom,
}

const KINDS: [Kind; 8] = [
    Kind::new("StringEqualityRule", Home::List("StringEqualityRules"), GivesWay::ByIntervals),
    Kind::new("DifferenceRule", Home::List("DifferenceRules"), GivesWay::EitherWay),
    Kind::new("SetIntersectionRule", Home::List("SetIntersectionRules"), GivesWay::EitherWay),
    Kind::new("MatchTotalRule", Home::List("MatchTotalRules"), GivesWay::ByIntervals),
    Kind::new("TeamDifferenceRule", Home::List("TeamDifferenceRules"), GivesWay::EitherWay),
    Kind::new("RegionSelectionRule", Home::Single("RegionSelectionRule"), GivesWay::EitherWay),
    Kind::new("TeamSizeBalanceRule", Home::Single("TeamSizeBalanceRule"), GivesWay::EitherWay),
    Kind::new(
        "TeamTicketSizeSimilarityRule",
        Home::Single("TeamTicketSizeSimilarityRule"),
        GivesWay::EitherWay,
    ),
];

/// A queue in the API's dialect, from either, without the rules that cannot be turned; and all that cannot.
pub(super) fn typed(queue: Value) -> (Value, Vec<Fault>) {
    let Value::Object(mut fields) = queue else {
        let none = Value::Object(Map::new());
        return (none, vec![of_queue("a queue is an object")]);
    };
    let mut faults = Vec::new();
    match fields.remove("Rules") {
        None | Some(Value::Null) => {}
        Some(Value::Array(rules)) => {
            faults.extend(rules.into_iter().filter_map(|rule| put(&mut fields, rule).err()));
        }
        Some(_) => faults.push(of_queue("Rules is a list")),
    }
    for kind in &KINDS {
        for rule in kind.rules(&mut fields).iter_mut().filter_map(Value::as_object_mut) {
            let wrong = kind.settle(rule);
            let place = format!("rule {}", rule.get("Name").and_then(Value::as_str).unwrap_or_default());
            faults.extend(wrong.into_iter().map(|what| Fault { place: place.clone(), what }));
        }
    }
    (Value::Object(fields), faults)
}

fn of_queue(what: impl Into<String>) -> Fault {
    Fault { place: "queue".to_owned(), what: what.into() }
}

/// An element of `Rules`, where the API has it.
fn put(queue: &mut Map<String, Value>, rule: Value) -> Result<(), Fault> {
    let Value::Object(mut rule) = rule else { return Err(of_queue("an element of Rules is an object")) };
    let kind = match rule.remove("Type") {
        Some(Value::String(kind)) => kind,
        Some(_) | None => return Err(of_queue("an element of Rules has a Type")),
    };
    let Some(kind) = KINDS.iter().find(|it| it.name == kind) else {
        return Err(of_queue(format!("there is no rule of Type {kind}")));
    };
    match kind.home {
        Home::Single(name) => {
            if queue.get(name).is_some_and(|it| !it.is_null()) {
                return Err(of_queue(format!("a queue has at most one {name}")));
            }
            queue.insert(name.to_owned(), Value::Object(rule));
        }
        Home::List(name) => {
            let mut list = match queue.remove(name) {
                Some(Value::Array(list)) => list,
                Some(_) | None => Vec::new(),
            };
            list.push(Value::Object(rule));
            queue.insert(name.to_owned(), Value::Array(list));
        }
    }
    Ok(())
}

impl Kind {
    const fn new(name: &'static str, home: Home, gives_way: GivesWay) -> Self {
        Self { name, home, gives_way }
    }

    /// Those of a queue in the API's dialect.
    fn rules<'a>(&self, queue: &'a mut Map<String, Value>) -> &'a mut [Value] {
        match self.home {
            Home::Single(name) => queue.get_mut(name).map(std::slice::from_mut).unwrap_or_default(),
            Home::List(name) => {
                queue.get_mut(name).and_then(Value::as_array_mut).map(Vec::as_mut_slice).unwrap_or_default()
            }
        }
    }

    /// Has a rule say its limit and its expansion by the API's names; all that is wrong with that.
    fn settle(&self, rule: &mut Map<String, Value>) -> Vec<String> {
        if let Some(difference) = rule.remove("MaxDifference")
            && is_left_out(rule, "Difference")
        {
            rule.insert("Difference".to_owned(), difference);
        }
        let mut wrong = Vec::new();
        for way in [Way::Linear, Way::Custom] {
            if let Some(Value::Object(expansion)) = rule.get(way.name()) {
                wrong.extend(way.holds_only_its_own(expansion, way.name()).err());
            }
        }
        wrong.extend(self.settle_expansion(rule).err());
        if !wrong.is_empty() {
            // What else is wrong with the rule is asked of what is left.
            let all = ["Expansion", Way::Linear.name(), Way::Custom.name()];
            rule.retain(|name, _| !all.contains(&name.as_str()));
        }
        wrong
    }

    fn settle_expansion(&self, rule: &mut Map<String, Value>) -> Result<(), String> {
        let Some(Value::Object(expansion)) = rule.get_mut("Expansion") else { return Ok(()) };
        let way = Way::of(expansion, self.gives_way)?;
        way.holds_only_its_own(expansion, "Expansion")?;
        if let (GivesWay::ByIntervals, Way::Custom) = (self.gives_way, way) {
            return Ok(());
        }
        if !is_left_out(rule, way.name()) {
            return Err(format!("Expansion and {}: one of them", way.name()));
        }
        let expansion = rule.remove("Expansion").unwrap_or_default();
        rule.insert(way.name().to_owned(), expansion);
        Ok(())
    }
}

impl Way {
    /// The way of an `Expansion`: as it says, else by what it holds.
    fn of(expansion: &mut Map<String, Value>, gives_way: GivesWay) -> Result<Self, String> {
        match (expansion.remove("Type"), gives_way) {
            (Some(Value::String(kind)), _) if kind == "Linear" => Ok(Self::Linear),
            (Some(Value::String(kind)), _) if kind == "Custom" => Ok(Self::Custom),
            (Some(kind), _) if !kind.is_null() => {
                Err(format!("an Expansion is Linear or Custom, not {kind}"))
            }
            (_, gives_way) => {
                let holds = |way: Self| way.first_of(expansion).is_some();
                match (holds(Self::Linear), holds(Self::Custom), gives_way) {
                    (true, ..) => Ok(Self::Linear),
                    (_, true, _) | (.., GivesWay::ByIntervals) => Ok(Self::Custom),
                    (false, false, GivesWay::EitherWay) => {
                        Err("its Expansion has neither a Delta nor overrides".to_owned())
                    }
                }
            }
        }
    }

    /// What the API calls such an expansion.
    const fn name(self) -> &'static str {
        match self {
            Self::Linear => "LinearExpansion",
            Self::Custom => "CustomExpansion",
        }
    }

    const fn other(self) -> Self {
        match self {
            Self::Linear => Self::Custom,
            Self::Custom => Self::Linear,
        }
    }

    /// The first field of these that only expansions of this way have.
    fn first_of(self, expansion: &Map<String, Value>) -> Option<&str> {
        let is_own = |name: &str| match self {
            Self::Linear => ["Delta", "Limit"].contains(&name),
            Self::Custom => name.ends_with("Overrides"),
        };
        let there = expansion.iter().filter(|(_, value)| !value.is_null());
        there.map(|(name, _)| &**name).find(|name| is_own(name))
    }

    /// What the other way alone has would be passed over.
    fn holds_only_its_own(self, expansion: &Map<String, Value>, place: &str) -> Result<(), String> {
        let (own, other) = match self {
            Self::Linear => ("linear", "custom"),
            Self::Custom => ("custom", "linear"),
        };
        match self.other().first_of(expansion) {
            None => Ok(()),
            Some(field) => Err(format!("its {place} is {own}, and has {field}, which {other} ones have")),
        }
    }
}

/// Whether a field is absent or `null`.
fn is_left_out(rule: &Map<String, Value>, field: &str) -> bool {
    rule.get(field).is_none_or(Value::is_null)
}
