//! `limits` and `caps` of a build configuration, and `.gsh`'s older cores, speedMhz and memoryMiB.

use mainstay_core::density::CORE_MHZ;

use super::configurations::block;
use crate::codes::Code;
use crate::limits::{GSH_MEMORY_MIB, GSH_SPEED_MHZ};
use crate::model::{Caps, Checks, CpuLimit, CpuQuota, Limits};
use crate::place::{Origin, Sourced};
use crate::problem::Problem;
use crate::read::{Check, Fields, Keys};
use crate::scalar;

pub(super) const LIMITS: Keys = Keys { known: &["cpu", "memoryMiB"], later: &[] };
pub(super) const CAPS: Keys = Keys { known: &["cpuQuota", "memoryMiB"], later: &[] };

/// The older keys, replaced by usageSettings since Unity's CLI 1.6; where one of them is written the others take
/// `.gsh`'s defaults.
const OLDER: [&str; 3] = ["cores", "speedMhz", "memoryMiB"];
/// More cores than any machine has.
const CORES_MAX: u64 = 4_096;

pub(crate) fn limits(check: &mut Check<'_>, fields: &Fields<'_>) -> Limits {
    let older = OLDER.iter().find_map(|name| fields.get(name));
    if let (Some((older, _)), Some((key, _))) = (older, fields.get("limits")) {
        check.report(|sources| {
            Problem::new(Code::LimitsTwice, format!("{} has its limits twice", fields.owner))
                .at(sources, &key.place, "limits are written here")
                .at(sources, &older.place, "and here in the older form")
                .why("limits replaces cores, speedMhz and memoryMiB")
                .fix("keep limits and remove cores, speedMhz and memoryMiB")
        });
    }
    let block = block(check, fields, "limits", LIMITS);
    let written = Limits {
        cpu: cores(check, &block, "cpu").map(|cpu| cpu.map(CpuLimit::Millicores)),
        memory_bytes: block.memory(check, "memoryMiB"),
    };
    if older.is_some() { older_limits(check, fields) } else { written }
}

fn older_limits(check: &mut Check<'_>, fields: &Fields<'_>) -> Limits {
    /// Faster than any processor.
    const MHZ_MAX: u64 = 100_000;
    let cores = fields.whole(check, "cores", (1, CORES_MAX));
    let speed = fields.whole(check, "speedMhz", (1, MHZ_MAX));
    let origin = [&cores, &speed]
        .into_iter()
        .flatten()
        .map(|value| value.origin.clone())
        .next()
        .unwrap_or(Origin::Default);
    let megahertz =
        cores.map_or(1, |cores| cores.value) * speed.map_or(u64::from(GSH_SPEED_MHZ), |speed| speed.value);
    let memory = fields.memory(check, "memoryMiB");
    Limits {
        cpu: Some(Sourced { value: CpuLimit::Megahertz(megahertz), origin }),
        memory_bytes: Some(memory.unwrap_or(Sourced::default_of(GSH_MEMORY_MIB << 20))),
    }
}

/// A number of cores, in thousandths.
fn cores(check: &mut Check<'_>, fields: &Fields<'_>, name: &str) -> Option<Sourced<u32>> {
    let parse = |text: &str| {
        let cores = scalar::thousandths(text).filter(|cores| (1..=CORES_MAX * 1_000).contains(cores))?;
        u32::try_from(cores).ok()
    };
    let refuse = |problem: Problem| {
        problem
            .why(format!("{name} counts cores, from 0.001 to {CORES_MAX}, with at most three decimals"))
            .fix(format!("for example {name}: 0.5"))
    };
    fields.parsed(check, name, parse, refuse, Code::BadNumber)
}

pub(crate) fn caps(check: &mut Check<'_>, fields: &Fields<'_>, limits: &Limits, checks: &Checks) -> Caps {
    let block = block(check, fields, "caps", CAPS);
    let off = block.get("cpuQuota").is_some_and(|(_, node)| match &node.value {
        crate::tree::Value::Scalar(text) => scalar::boolean(text) == Some(false),
        crate::tree::Value::Null | crate::tree::Value::List(_) | crate::tree::Value::Map(_) => false,
    });
    let quota = if off { None } else { cores(check, &block, "cpuQuota") };
    let caps = Caps {
        cpu_quota: quota.map_or(Sourced::default_of(CpuQuota::Off), |quota| quota.map(CpuQuota::Millicores)),
        memory_bytes: block.memory(check, "memoryMiB"),
    };
    memory_cap_above_tolerance(check, fields, limits, &caps, checks.memory_tolerance_bytes.value);
    quota_above_tolerance(check, fields, limits, &caps, checks.cpu_tolerance_percent.value);
    caps
}

fn memory_cap_above_tolerance(
    check: &mut Check<'_>,
    fields: &Fields<'_>,
    limits: &Limits,
    caps: &Caps,
    tolerance_bytes: u64,
) {
    let unstated = Sourced::default_of(GSH_MEMORY_MIB << 20);
    let limit = limits.memory_bytes.as_ref().unwrap_or(&unstated);
    let Some(cap) = &caps.memory_bytes else { return };
    let Some(place) = cap.place() else { return };
    let least = limit.value.saturating_add(tolerance_bytes);
    if cap.value > least {
        return;
    }
    check.report(|sources| {
        let what = format!("the memory cap of {} is too near its limit", fields.owner);
        let mib = |bytes: u64| format!("{} MiB", bytes >> 20);
        let problem = Problem::new(Code::CapTooLow, what).at(sources, place, mib(cap.value));
        let problem = match limit.place() {
            Some(limit_place) => problem.at(sources, limit_place, format!("the limit, {}", mib(limit.value))),
            None => problem.why(format!("the limit is {} by default", mib(limit.value))),
        };
        problem
            .why(format!(
                "the check tolerates {} MB above the limit, {} in all; a cap there would kill before it",
                tolerance_bytes / 1_000_000,
                mib(least)
            ))
            .fix(format!("write at least memoryMiB: {}, or remove the cap", (least >> 20) + 1))
    });
}

/// Of a common core: which machine it will be is not known yet.
const fn millicores(megahertz: u64) -> u64 {
    megahertz * 1_000 / CORE_MHZ
}

fn quota_above_tolerance(
    check: &mut Check<'_>,
    fields: &Fields<'_>,
    limits: &Limits,
    caps: &Caps,
    tolerance_percent: u32,
) {
    let CpuQuota::Millicores(quota) = caps.cpu_quota.value else { return };
    let limit = match limits.cpu {
        Some(Sourced { value: CpuLimit::Millicores(limit), .. }) => u64::from(limit),
        Some(Sourced { value: CpuLimit::Megahertz(megahertz), .. }) => millicores(megahertz),
        None => millicores(GSH_SPEED_MHZ.into()),
    };
    let Some(place) = caps.cpu_quota.place() else { return };
    let least = limit * (100 + u64::from(tolerance_percent));
    if u64::from(quota) * 100 > least {
        return;
    }
    check.report(|sources| {
        let what = format!("the CPU quota of {} hides the check of CPU use", fields.owner);
        Problem::new(Code::QuotaHidesCheck, what)
            .at(sources, place, "at or below what the check tolerates")
            .why(format!(
                "the limit is {limit} thousandths of a core, and the check tolerates {tolerance_percent} % more"
            ))
            .fix("raise the quota, or write cpuQuota: off")
    });
}
