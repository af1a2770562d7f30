//! `machines`: whether others may join, the ports of this one's servers, and what may take room on its disk.

use crate::codes::Code;
use crate::model::{Join, Machines, PortRange};
use crate::place::Sourced;
use crate::problem::Problem;
use crate::read::{Check, Fields, Keys};
use crate::scalar;
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys {
    known: &["join", "ports", "disk"],
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
    Machines { join, ports: ports(check, &fields), disk: disk(check, &fields) }
}

/// Where nothing is written: this machine alone.
pub(crate) const fn nobody() -> Machines {
    Machines { join: Sourced::default_of(Join::None), ports: None, disk: None }
}

/// The smallest disk budget, in bytes: below it not even the output of a few servers fits.
const DISK_MIN: u64 = 1 << 20;

fn disk(check: &mut Check<'_>, fields: &Fields<'_>) -> Option<Sourced<u64>> {
    let parse = |text: &str| scalar::memory(text).filter(|bytes| *bytes >= DISK_MIN);
    let refuse = |problem: Problem| {
        problem
            .why("builds, core dumps, evidence and logs share it: a whole number of MiB, or with a unit, at least 1 MiB")
            .fix("for example disk: 20GiB")
    };
    fields.parsed(check, "disk", parse, refuse, Code::BadDisk)
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
