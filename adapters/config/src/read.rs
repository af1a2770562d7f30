//! Reading a mapping of the schema: which keys it knows, and typed values out of it. Every problem is recorded and
//! reading goes on with the default, so that one pass finds them all.

use std::collections::BTreeMap;
use std::time::Duration;

use mainstay_wire::nearest::nearest;

use crate::codes::Code;
use crate::limits::{DurationRange, PROBLEMS_MAX};
use crate::place::{Place, Sourced, Sources};
use crate::problem::{Problem, quote, quote_list};
use crate::scalar;
use crate::tree::{Node, Value};

/// The problems found so far, and the texts to quote from.
pub(crate) struct Check<'a> {
    pub(crate) sources: &'a Sources,
    pub(crate) problems: Vec<Problem>,
    pub(crate) left_out: usize,
}

impl<'a> Check<'a> {
    pub(crate) const fn new(sources: &'a Sources) -> Self {
        Self { sources, problems: Vec::new(), left_out: 0 }
    }

    /// Records a problem; past the limit it is only counted, and not even built.
    pub(crate) fn report(&mut self, build: impl FnOnce(&Sources) -> Problem) {
        if self.problems.len() < PROBLEMS_MAX {
            let problem = build(self.sources);
            self.problems.push(problem);
        } else {
            self.left_out += 1;
        }
    }
}

/// A mapping whose keys have been checked.
pub(crate) struct Fields<'n> {
    /// What it is, for sentences: `build configuration "arena"`.
    pub(crate) owner: String,
    /// Where it, or the key it stands under, is.
    pub(crate) place: Place,
    entries: BTreeMap<&'n str, (&'n Node, &'n Node)>,
}

/// The keys a mapping knows: its own, and those that later versions will obey.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    pub(crate) known: &'static [&'static str],
    /// Key, and what it will do.
    pub(crate) later: &'static [(&'static str, &'static str)],
}

impl<'n> Fields<'n> {
    /// A mapping in which nothing is written.
    pub(crate) fn empty(owner: String, place: &Place) -> Self {
        Self { owner, place: place.clone(), entries: BTreeMap::new() }
    }

    /// Opens a mapping; nothing written counts as empty. `None` if the node is no mapping, which is recorded.
    pub(crate) fn open(
        check: &mut Check<'_>,
        owner: String,
        key: &Place,
        node: &'n Node,
        keys: Keys,
    ) -> Option<Self> {
        let mut fields = Self { owner, place: key.clone(), entries: BTreeMap::new() };
        for (key, value) in mapping(check, &fields.owner, key, node)? {
            let Some(name) = key_text(check, &fields.owner, key) else { continue };
            if name.starts_with("x-") {
                continue;
            }
            if let Some((_, what)) = keys.later.iter().find(|(later, _)| *later == name) {
                not_yet(check, &fields.owner, key, name, what);
            } else if !keys.known.contains(&name) {
                unknown_key(check, &fields.owner, key, name, keys);
            } else {
                fields.entries.insert(name, (key, value));
            }
        }
        Some(fields)
    }

    /// The key and value of a known key; nothing written counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<(&'n Node, &'n Node)> {
        self.entries.get(name).copied().filter(|(_, value)| !matches!(value.value, Value::Null))
    }

    /// A single value as text.
    pub(crate) fn text(&self, check: &mut Check<'_>, name: &str) -> Option<Sourced<String>> {
        let (key, value) = self.get(name)?;
        scalar_text(check, &self.named(name), &key.place, value)
            .map(|text| Sourced::written(text.to_owned(), value.place.clone()))
    }

    /// A single value that has to be there.
    pub(crate) fn required(&self, check: &mut Check<'_>, name: &str, fix: &str) -> Option<Sourced<String>> {
        if self.get(name).is_none() {
            check.report(|sources| {
                Problem::new(Code::MissingKey, format!("{} has no {name}", self.owner))
                    .at(sources, &self.place, format!("{name} is missing here"))
                    .lacking(name)
                    .fix(fix)
            });
        }
        self.text(check, name)
    }

    /// Any value that `parse` understands; a refused one is recorded by `refuse` and read as absent.
    pub(crate) fn parsed<T>(
        &self,
        check: &mut Check<'_>,
        name: &str,
        parse: impl FnOnce(&str) -> Option<T>,
        refuse: impl FnOnce(Problem) -> Problem,
        code: Code,
    ) -> Option<Sourced<T>> {
        let text = self.text(check, name)?;
        let parsed = parse(&text.value);
        if let (None, Some(place)) = (&parsed, text.place()) {
            check.report(|sources| {
                let what = format!("{} is {}", self.named(name), quote(&text.value));
                refuse(Problem::new(code, what).at(sources, place, "cannot be used"))
            });
        }
        parsed.map(|value| Sourced { value, origin: text.origin })
    }

    /// A whole number within bounds.
    pub(crate) fn whole(
        &self,
        check: &mut Check<'_>,
        name: &str,
        (min, max): (u64, u64),
    ) -> Option<Sourced<u64>> {
        let parse = |text: &str| scalar::whole(text).filter(|number| (min..=max).contains(number));
        let refuse = |problem: Problem| {
            problem
                .why(format!("{name} takes a whole number from {min} to {max}"))
                .fix(format!("write a number, such as {name}: {}", min.max(1)))
        };
        self.parsed(check, name, parse, refuse, Code::BadNumber)
    }

    /// A duration within a range, or its default.
    pub(crate) fn duration(
        &self,
        check: &mut Check<'_>,
        name: &str,
        default: Duration,
        range: DurationRange,
    ) -> Sourced<Duration> {
        let within = range.min..=range.max;
        let parse = |text: &str| scalar::duration(text).filter(|duration| within.contains(duration));
        let written = self.get(name).map(|(_, value)| value);
        let bare = written.and_then(|node| match &node.value {
            Value::Scalar(text) => scalar::whole(text),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        });
        let refuse = |problem: Problem| {
            let limits = format!(
                "{name} takes {} to {}: {}",
                scalar::show(range.min),
                scalar::show(range.max),
                range.reason
            );
            match bare {
                Some(number) => problem
                    .why("a number without a unit could be seconds, milliseconds or minutes")
                    .fix(format!("write the unit: {name}: {number}s")),
                None => problem.why(limits).fix(format!("for example {name}: {}", scalar::show(default))),
            }
        };
        let parsed = self.parsed(check, name, parse, refuse, Code::BadDuration);
        parsed.unwrap_or(Sourced::default_of(default))
    }

    /// Memory in bytes, at least 1 MiB.
    pub(crate) fn memory(&self, check: &mut Check<'_>, name: &str) -> Option<Sourced<u64>> {
        /// 1 PiB: no machine has more.
        const MOST: u64 = 1 << 50;
        let parse = |text: &str| scalar::memory(text).filter(|bytes| (1 << 20..=MOST).contains(bytes));
        let refuse = |problem: Problem| {
            problem
                .why("memory is a whole number of MiB, or a number with MiB, GiB, MB or GB; at least 1 MiB")
                .fix(format!("for example {name}: 512"))
        };
        self.parsed(check, name, parse, refuse, Code::BadSize)
    }

    /// One of a few words, compared without regard to case as YamlDotNet does, or the default.
    pub(crate) fn one_of<T: Copy>(
        &self,
        check: &mut Check<'_>,
        name: &str,
        words: &[(&str, T)],
    ) -> Option<Sourced<T>> {
        let typed = self.get(name).and_then(|(_, value)| match &value.value {
            Value::Scalar(text) => Some(text.as_str()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        });
        let parse = |text: &str| {
            words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text.trim())).map(|&(_, value)| value)
        };
        let refuse = |problem: Problem| {
            let known = || words.iter().map(|&(word, _)| word);
            let problem = problem.why(format!("known: {}", known().collect::<Vec<_>>().join(", ")));
            match nearest(typed.unwrap_or(""), known()) {
                Some(word) => problem.fix(format!("did you mean {name}: {word}?")),
                None => problem.fix("write one of the known words"),
            }
        };
        self.parsed(check, name, parse, refuse, Code::NotAllowed)
    }

    /// A boolean, or its default.
    pub(crate) fn boolean(&self, check: &mut Check<'_>, name: &str, default: bool) -> Sourced<bool> {
        let refuse = |problem: Problem| {
            problem.why("known: true, false").fix(format!("write {name}: true or {name}: false"))
        };
        let parsed = self.parsed(check, name, scalar::boolean, refuse, Code::NotAllowed);
        parsed.unwrap_or(Sourced::default_of(default))
    }

    /// A list of single values.
    pub(crate) fn texts(&self, check: &mut Check<'_>, name: &str) -> Vec<Sourced<String>> {
        let Some((key, value)) = self.get(name) else { return Vec::new() };
        let owner = self.named(name);
        list(check, &owner, &key.place, value)
            .iter()
            .filter_map(|item| {
                let text = scalar_text(check, &owner, &item.place, item)?;
                Some(Sourced::written(text.to_owned(), item.place.clone()))
            })
            .collect()
    }

    /// A mapping from names to single values; nothing written is the empty text.
    pub(crate) fn text_map(
        &self,
        check: &mut Check<'_>,
        name: &str,
    ) -> Vec<(Sourced<String>, Sourced<String>)> {
        let Some((key, value)) = self.get(name) else { return Vec::new() };
        let owner = self.named(name);
        let Some(entries) = mapping(check, &owner, &key.place, value) else { return Vec::new() };
        let mut texts = Vec::new();
        for (key, value) in entries {
            let Some(name) = key_text(check, &owner, key) else { continue };
            let text = match &value.value {
                Value::Null => Some(""),
                Value::Scalar(_) | Value::List(_) | Value::Map(_) => {
                    scalar_text(check, &format!("{owner} {}", quote(name)), &key.place, value)
                }
            };
            if let Some(text) = text {
                texts.push((
                    Sourced::written(name.to_owned(), key.place.clone()),
                    Sourced::written(text.to_owned(), value.place.clone()),
                ));
            }
        }
        texts
    }

    /// A key of this mapping, for sentences.
    pub(crate) fn named(&self, name: &str) -> String {
        format!("{name} of {}", self.owner)
    }
}

/// The entries of a mapping, each key once; nothing written counts as empty. `None` is recorded.
pub(crate) fn mapping<'n>(
    check: &mut Check<'_>,
    owner: &str,
    key: &Place,
    node: &'n Node,
) -> Option<Vec<(&'n Node, &'n Node)>> {
    let entries = match &node.value {
        Value::Map(entries) => entries,
        Value::Null => return Some(Vec::new()),
        Value::Scalar(_) | Value::List(_) => {
            wrong_shape(check, owner, key, node, "a mapping (keys with values, `key: value`)");
            return None;
        }
    };
    let mut first: BTreeMap<&str, &Node> = BTreeMap::new();
    let mut once = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        if let Value::Scalar(name) = &key.value
            && let Some(earlier) = first.insert(name, key)
        {
            check.report(|sources| {
                Problem::new(Code::DuplicateKey, format!("{owner} has {} twice", quote(name)))
                    .at(sources, &key.place, "written again here")
                    .at(sources, &earlier.place, "first written here")
                    .why("only one of them could count")
                    .fix("keep one, or rename one")
            });
            continue;
        }
        once.push((key, value));
    }
    Some(once)
}

/// The items of a list; nothing written counts as empty, and a wrong kind is recorded.
pub(crate) fn list<'n>(check: &mut Check<'_>, owner: &str, key: &Place, node: &'n Node) -> &'n [Node] {
    match &node.value {
        Value::List(items) => items,
        Value::Null => &[],
        Value::Scalar(_) | Value::Map(_) => {
            wrong_shape(check, owner, key, node, "a list (`[a, b]`, or lines that begin with `- `)");
            &[]
        }
    }
}

fn scalar_text<'n>(check: &mut Check<'_>, owner: &str, key: &Place, node: &'n Node) -> Option<&'n str> {
    match &node.value {
        Value::Scalar(text) => Some(text),
        Value::Null | Value::List(_) | Value::Map(_) => {
            wrong_shape(check, owner, key, node, "a single value");
            None
        }
    }
}

pub(crate) fn key_text<'n>(check: &mut Check<'_>, owner: &str, key: &'n Node) -> Option<&'n str> {
    match &key.value {
        Value::Scalar(text) => Some(text),
        Value::Null | Value::List(_) | Value::Map(_) => {
            wrong_shape(check, &format!("a key of {owner}"), &key.place, key, "a single value");
            None
        }
    }
}

/// Records that `node` is of the wrong kind; block collections are pointed at by their key.
pub(crate) fn wrong_shape(check: &mut Check<'_>, owner: &str, key: &Place, node: &Node, wanted: &str) {
    let place = match node.value {
        Value::Scalar(_) => &node.place,
        Value::Null | Value::List(_) | Value::Map(_) => key,
    };
    check.report(|sources| {
        Problem::new(Code::WrongShape, format!("{owner} is {}", node.value.kind()))
            .at(sources, place, format!("needs {wanted}"))
            .fix(format!("write {wanted} here"))
    });
}

fn not_yet(check: &mut Check<'_>, owner: &str, key: &Node, name: &str, what: &str) {
    check.report(|sources| {
        Problem::new(Code::NotYet, format!("{name} of {owner} is not yet in this version of Mainstay"))
            .at(sources, &key.place, "known, but cannot be obeyed yet")
            .why(format!("{name} will {what}; ignoring it would look as if it worked"))
            .fix(format!("remove it, or write x-{name} to keep it for later"))
    });
}

fn unknown_key(check: &mut Check<'_>, owner: &str, key: &Node, name: &str, keys: Keys) {
    check.report(|sources| {
        let known = || keys.known.iter().copied().chain(keys.later.iter().map(|&(key, _)| key));
        let problem = Problem::new(Code::UnknownKey, format!("{owner} has no key {}", quote(name)))
            .at(sources, &key.place, "unknown key")
            .why(format!("known: {}", keys.known.join(", ")));
        match nearest(name, known()) {
            Some(word) => problem.fix(format!("did you mean {word}?")),
            None => problem.fix("remove it, or begin its name with x- if it is a note of your own"),
        }
    });
}

/// Records that a name is not among the known ones, with the nearest.
pub(crate) fn unknown_name<'k>(
    sources: &Sources,
    problem: Problem,
    name: &Sourced<String>,
    label: &str,
    known: impl IntoIterator<Item = &'k str> + Clone,
) -> Problem {
    let problem = match name.place() {
        Some(place) => problem.at(sources, place, label),
        None => problem,
    };
    let problem = problem.why(format!("known: {}", quote_list(known.clone())));
    match nearest(&name.value, known) {
        Some(word) => problem.fix(format!("did you mean {}?", quote(word))),
        None => problem.fix("mend the name, or give the file that defines it as well"),
    }
}
