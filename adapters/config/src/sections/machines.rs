//! `machines`: whether others may join, and the ports of this one's servers.

use crate::codes::Code;
use crate::model::{Join, Machines, PortRange};
use crate::place::Sourced;
use crate::problem::Problem;
use crate::read::{Check, Fields, Keys};
use crate::scalar;
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys {
    known: &["join", "ports"],
    later: &[("match", "choose machines by their labels"), ("region", "put machines into regions by rules")],
};

/// Ports below are the system's.
const FIRST_PORT: u16 = 1_024;

pub(crate) fn machines(check: &mut Check<'_>, key: &Node, node: &Node) -> Machines {
    let Some(fields) = Fields::open(check, "machines".into(), &key.place, node, KEYS) else {
        return nobody();
    };
    let words = [("allowed", Join::Allowed), ("none", Join::None)];
    let join = fields.one_of(check, "join", &words).unwrap_or(Sourced::default_of(Join::None));
    Machines { join, ports: ports(check, &fields) }
}

/// Where nothing is written: this machine alone.
pub(crate) const fn nobody() -> Machines {
    Machines { join: Sourced::default_of(Join::None), ports: None }
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
