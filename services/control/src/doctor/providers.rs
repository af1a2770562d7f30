//! What machine providers were asked, and what they last said where they failed.

use mainstay_core::MachineId;
use mainstay_fleet::{Fleet, Life};

use super::Finding;
use crate::providers::LastWords;
use crate::shards::OpenFleet;

/// What is looked for of a fleet.
struct Errands {
    /// How many machines a provider is to make.
    asked: usize,
    /// How many it is to take back.
    parting: usize,
    /// Those whose errand has failed, and how often in a row.
    failed: Vec<(MachineId, u32)>,
    /// Regions whose newest machines never came, each with how many in a row.
    never_came: Vec<(String, u32)>,
}

impl Errands {
    fn of(fleet: &Fleet) -> Self {
        let mut errands = Self { asked: 0, parting: 0, failed: Vec::new(), never_came: Vec::new() };
        for (id, machine) in fleet.machines() {
            match machine.life {
                Life::Requested { .. } => errands.asked += 1,
                Life::Removing { .. } => errands.parting += 1,
                Life::Serving | Life::Draining { .. } | Life::Emptied { .. } | Life::Lost { .. } => continue,
            }
            let failures = fleet.errand_failures(id);
            if failures > 0 {
                errands.failed.push((id, failures));
            }
        }
        for region in fleet.spec().into_iter().flat_map(|spec| &spec.regions) {
            let failures = fleet.never_came(region.id);
            if failures > 0 {
                errands.never_came.push((region.name.to_string(), failures));
            }
        }
        errands
    }
}

/// Where a fleet's providers are asked for something, or its newest machines never came: what they last said.
pub(super) async fn providers(fleet: &OpenFleet, words: &LastWords) -> Option<Finding> {
    let check = format!("providers of fleet {}", fleet.spec.name);
    let errands = match fleet.read(|state, _| Errands::of(state)).await {
        Ok(errands) => errands,
        Err(error) => return Some(Finding::fail(check, error.to_string(), error.code(), error.mend())),
    };
    let Errands { asked, parting, failed, never_came } = errands;
    if failed.is_empty() && never_came.is_empty() {
        let why = format!("{asked} machines are being made, {parting} given back; no call has failed");
        return (asked + parting > 0).then(|| Finding::ok(check, why));
    }
    let call = |(machine, failures): &(MachineId, u32)| {
        let said = words.of(*machine).unwrap_or_else(|| "see the log for what it said".to_owned());
        format!("of {machine} {failures} times in a row: {said}")
    };
    let region =
        |(region, failures): &(String, u32)| format!("{failures} machines in a row never came to {region}");
    let told: Vec<String> =
        failed.iter().map(call).chain(never_came.iter().map(region)).take(super::TOLD_MAX).collect();
    let why = format!(
        "{asked} machines are being made, {parting} given back; calls failed, or machines never came: {}",
        told.join("; ")
    );
    let fix = "mend the provider's program as it says: it is asked again by itself; see docs/reference/machine-providers.md";
    Some(Finding::warn(check, why, "MS-S632", fix))
}
