//! `machines`: a list of rules, or one mapping where a single rule is enough.

use std::collections::BTreeMap;

use super::configurations::block;
use crate::codes::Code;
use crate::model::{Join, MachineRule, Machines, PortRange};
use crate::place::Sourced;
use crate::problem::Problem;
use crate::read::{Check, Fields, Keys, list};
use crate::scalar;
use crate::tree::{Node, Value};

pub(super) const ONE: Keys = Keys { known: &["join", "match", "region", "ports"], later: &[] };
pub(super) const EACH: Keys = Keys { known: &["match", "region", "ports"], later: &[] };
pub(super) const MATCH: Keys = Keys { known: &["label"], later: &[] };

/// Ports below are the system's.
const FIRST_PORT: u16 = 1_024;
/// Most rules; each machine that joins is compared with all of them.
const RULES_MAX: usize = 256;

pub(crate) fn machines(check: &mut Check<'_>, key: &Node, node: &Node) -> Machines {
    if matches!(node.value, Value::Map(_)) {
        let Some(fields) = Fields::open(check, "machines".into(), &key.place, node, ONE) else {
            return nobody();
        };
        let words = [("allowed", Join::Allowed), ("none", Join::None)];
        let join = fields.one_of(check, "join", &words).unwrap_or(Sourced::default_of(Join::None));
        return Machines { join, rules: vec![rule(check, &fields)] };
    }
    let items = list(check, "machines", &key.place, node);
    if items.len() > RULES_MAX {
        check.report(|sources| {
            Problem::new(Code::TooBig, "machines has too many rules")
                .at(sources, &key.place, format!("{} rules", items.len()))
                .why(format!("the limit is {RULES_MAX}"))
                .fix("match several machines by one label")
        });
    }
    let rules: Vec<MachineRule> = items
        .iter()
        .take(RULES_MAX)
        .filter_map(|item| {
            let fields = Fields::open(check, "a rule of machines".into(), &item.place, item, EACH)?;
            Some(rule(check, &fields))
        })
        .collect();
    if rules.is_empty() {
        return nobody();
    }
    Machines { join: Sourced::written(Join::Allowed, key.place.clone()), rules }
}

/// Where nothing is written: this machine alone.
pub(crate) const fn nobody() -> Machines {
    Machines { join: Sourced::default_of(Join::None), rules: Vec::new() }
}

fn rule(check: &mut Check<'_>, fields: &Fields<'_>) -> MachineRule {
    let matching = block(check, fields, "match", MATCH);
    let labels: BTreeMap<_, _> =
        matching.text_map(check, "label").into_iter().map(|(name, value)| (name.value, value)).collect();
    MachineRule { labels, region: fields.text(check, "region"), ports: ports(check, fields) }
}

fn ports(check: &mut Check<'_>, fields: &Fields<'_>) -> Option<Sourced<PortRange>> {
    let parse = |text: &str| {
        let (first, last) = scalar::port_range(text)?;
        (first >= FIRST_PORT && last > first).then_some(PortRange { first, last })
    };
    let refuse = |problem: Problem| {
        problem
            .why(format!(
                "a range is first-last within {FIRST_PORT} and 65535, with at least 2 ports: one server has two"
            ))
            .fix("for example ports: 20000-20999")
    };
    fields.parsed(check, "ports", parse, refuse, Code::BadPorts)
}
