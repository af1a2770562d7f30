//! The laws against what lives, in short turns, and whether everybody is heard and up to date.

use std::time::Duration;

use mainstay_core::ServerId;
use mainstay_fleet::{Life, Link, laws as fleet_laws};
use mainstay_journal::Head;
use mainstay_runtime::Error;
use mainstay_wire::agent::Fill;

use super::providers::providers;
use super::stored::told;
use super::{Finding, laws};
use crate::http::App;
use crate::shards::OpenFleet;

/// A fleet with at most so many servers and allocations is looked at whole in one turn of some milliseconds (measured on an
/// unoptimised build: 0.9 ms for 1,000 servers). A larger one is looked at in parts (0.04 ms for 1,000), and its indices
/// whole on the replayed copy alone.
const WHOLE_MAX: usize = 2_000;
/// Servers in one part.
const PART: usize = 1_000;
/// How late the turn of a deadline may come: a mailbox that is full, a disk that is slow.
const LATE_MAX: Duration = Duration::from_secs(5);
/// Further behind than this the history does not keep up: a second of the highest load that was measured.
const HISTORY_BEHIND_MAX: u64 = 100_000;

/// Everything that the shards and the streams say.
pub(crate) async fn live(app: &App) -> Vec<Finding> {
    let mut findings = Vec::new();
    let directory = app.fleets.now();
    for fleet in directory.all() {
        findings.push(indices(fleet).await);
        findings.push(holds(fleet).await);
        findings.push(machines(fleet).await);
        findings.extend(providers(fleet, &app.last_words).await);
    }
    findings.push(disks(app).await);
    findings.extend(builds(app).await);
    findings.push(configured(app).await);
    findings.push(clocks(app));
    findings.extend(elsewhere(app));
    findings.push(history(app).await);
    findings
}

fn unanswered(check: String, error: &Error) -> Finding {
    Finding::fail(check, error.to_string(), error.code(), error.mend())
}

/// Whether every hold that has run out has ended, by the servers themselves.
async fn holds(fleet: &OpenFleet) -> Finding {
    let check = format!("holds of fleet {}", fleet.spec.name);
    let looked = fleet.read(|state, now| {
        let held = state.servers(None).filter(|(_, server)| server.held_until().is_some()).count();
        (held, fleet_laws::overdue(state, now.back(LATE_MAX)))
    });
    match looked.await {
        Err(error) => unanswered(check, &error),
        Ok((held, overdue)) => {
            let broken: Vec<_> = overdue.err().into_iter().collect();
            laws(check, format!("{held} held, none past its time"), &told(&broken))
        }
    }
}

/// The live shard's indices against a full derivation.
async fn indices(fleet: &OpenFleet) -> Finding {
    let check = format!("live indices of fleet {}", fleet.spec.name);
    let size = fleet.read(|state, now| state.servers(None).count() + state.allocations(now).count()).await;
    let looked = match size {
        Err(error) => Err(error),
        Ok(size) if size <= WHOLE_MAX => fleet
            .read(|state, _| (told(&fleet_laws::all(state)), state.counts().total()))
            .await
            .map(|(broken, servers)| (broken, format!("{servers} servers, all laws, at one turn"))),
        Ok(_) => in_parts(fleet).await,
    };
    match looked {
        Ok((broken, held)) => laws(check, held, &broken),
        Err(error) => unanswered(check, &error),
    }
}

async fn in_parts(fleet: &OpenFleet) -> Result<(Vec<String>, String), Error> {
    let (mut broken, mut servers, mut parts, mut after) = (Vec::new(), 0, 0, None::<ServerId>);
    loop {
        let looked = fleet.read(move |state, _| fleet_laws::some(state, after, PART)).await?;
        broken.extend(told(&looked.broken));
        servers += looked.servers;
        parts += 1;
        match looked.last {
            Some(last) => after = Some(last),
            None => return Ok((broken, format!("{servers} servers in {parts} turns"))),
        }
    }
}

/// Whose agent is heard, and what stands on those that are not.
async fn machines(fleet: &OpenFleet) -> Finding {
    let check = format!("machines of fleet {}", fleet.spec.name);
    let counted = fleet.read(|state, _| {
        let (mut heard, mut silent, mut claimed) = (0_usize, Vec::new(), 0);
        let there = |life| match life {
            // On its way in or out: its provider is asked about it, and no agent of it is expected.
            Life::Requested { .. } | Life::Removing { .. } => false,
            Life::Serving | Life::Draining { .. } | Life::Emptied { .. } | Life::Lost { .. } => true,
        };
        for (id, machine) in state.machines().filter(|(_, machine)| there(machine.life)) {
            match machine.link() {
                Link::Up { .. } => heard += 1,
                Link::Silent => {
                    claimed += machine.counts().claimed();
                    silent.push(format!("{} ({id})", machine.name));
                }
            }
        }
        (heard, silent, claimed, state.machine_policy().lost_after)
    });
    let fix = "start its agent, or look at its network: its servers go on by their last orders meanwhile; where agents are \
               away for longer when they are upgraded, raise the fleet's lost.after";
    match counted.await {
        Err(error) => unanswered(check, &error),
        Ok((heard, silent, ..)) if silent.is_empty() => {
            Finding::ok(check, format!("{heard} heard, none silent"))
        }
        Ok((heard, silent, claimed, lost_after)) => {
            let named = silent.iter().take(super::TOLD_MAX).cloned().collect::<Vec<_>>().join(", ");
            let why = format!(
                "{} of {} not heard ({named}); {claimed} allocated or reserved servers are on them; a machine is lost, and its \
                 sessions with it, after {} s of silence",
                silent.len(),
                heard + silent.len(),
                lost_after.as_secs()
            );
            if claimed > 0 {
                Finding::fail(check, why, "MS-S620", fix)
            } else {
                Finding::warn(check, why, "MS-S620", fix)
            }
        }
    }
}

/// What takes room on the disks of machines that are heard. Which of it goes is each agent's own affair; that a disk is full,
/// or kept from being so by nothing that may go, is somebody's.
async fn disks(app: &App) -> Finding {
    let check = "disks of machines";
    let (mut told, mut full, mut over, mut most) = (0, Vec::new(), Vec::new(), 0);
    let directory = app.fleets.now();
    for fleet in directory.all() {
        let machines = fleet.read(|state, _| {
            state.machines().map(|(id, machine)| (id, machine.name.clone())).collect::<Vec<_>>()
        });
        let machines = match machines.await {
            Err(error) => return unanswered(check.to_owned(), &error),
            Ok(machines) => machines,
        };
        for (id, name) in machines {
            let Some(disk) = app.installing.disk(id) else { continue };
            told += 1;
            most = most.max(disk.used().saturating_mul(100) / disk.budget.max(1));
            if disk.fill == Fill::Full {
                full.push(format!("{name} ({id})"));
            } else if disk.used() > disk.budget {
                let [builds, cores, evidence, logs] =
                    [disk.builds, disk.cores, disk.evidence, disk.logs].map(|bytes| bytes >> 20);
                over.push(format!(
                    "{name} ({id}): {} of {} MiB (builds {builds}, cores {cores}, evidence {evidence}, logs {logs})",
                    disk.used() >> 20,
                    disk.budget >> 20
                ));
            }
        }
    }
    let named =
        |machines: &[String]| machines.iter().take(super::TOLD_MAX).cloned().collect::<Vec<_>>().join(", ");
    if !full.is_empty() {
        let why =
            format!("{} of {told} are full: {}; what is to start there waits", full.len(), named(&full));
        return Finding::fail(
            check,
            why,
            "MS-S622",
            "make room on them: servers wait, and go on by themselves",
        );
    }
    if !over.is_empty() {
        let why = format!(
            "{} of {told} hold more than their budget, and all of it is needed: {}",
            over.len(),
            named(&over)
        );
        let fix = "give them a larger disk or budget (machines: disk, or the agent's --disk), or fewer builds; or let games log less: logs of \
             the last hour stay";
        return Finding::warn(check, why, "MS-S623", fix);
    }
    Finding::ok(check, format!("{told} machines have told theirs; at most {most} % of a budget is used"))
}

/// What was found damaged of the builds that are kept here, where any are.
async fn builds(app: &App) -> Option<Finding> {
    app.store.as_ref()?;
    let check = "builds";
    let fix = "upload the named files again with the same bytes: every version that has them is mended; what no build names is of a \
               folder or an image, and is kept again when a machine asks for it";
    Some(match app.store(|store| store.damage()).await {
        Err(error) => {
            Finding::warn(check, error.to_string(), "MS-U115", "see the control plane's disk and its rights")
        }
        Ok(damage) if damage.is_empty() => {
            Finding::ok(check, "none of their files was found damaged when it was sent")
        }
        Ok(damage) => {
            let told = damage.iter().take(super::TOLD_MAX).map(|(hash, files)| {
                if files.is_empty() { hash.clone() } else { format!("{hash} ({})", files.join(", ")) }
            });
            let told = told.collect::<Vec<_>>().join("; ");
            Finding::fail(check, format!("{} were found damaged: {told}", damage.len()), "MS-S648", fix)
        }
    })
}

/// How far the clocks of machines that joined are from this one. Nothing depends on them but logs.
fn clocks(app: &App) -> Finding {
    let check = "clocks of machines";
    let (told, far) = app.desk.clocks();
    if far.is_empty() {
        return Finding::ok(check, format!("{told} machines have told their time, none is far off"));
    }
    let named: Vec<String> = far
        .iter()
        .take(super::TOLD_MAX)
        .map(|(machine, apart)| format!("{machine} by {} s", apart.as_secs()))
        .collect();
    let why = format!("{} of {told} are off: {}", far.len(), named.join(", "));
    Finding::warn(check, why, "MS-A008", "keep the machines' clocks in step by NTP: logs are read by them")
}

/// Whether every fleet has what the catalog says of it.
async fn configured(app: &App) -> Finding {
    let check = "configuration";
    let listed = app
        .catalog
        .query(|catalog, _| catalog.fleets().map(|spec| (spec.number, spec.revision)).collect::<Vec<_>>());
    match listed.await {
        Err(error) => unanswered(check.to_owned(), &error),
        Ok(listed) => {
            let directory = app.fleets.now();
            let has = |(number, revision): &&(_, u64)| {
                directory.number(*number).is_some_and(|open| open.spec.revision >= *revision)
            };
            let (all, have) = (listed.len(), listed.iter().filter(has).count());
            let why = format!("{have} of {all} fleets have what the catalog says of them");
            if all == have {
                Finding::ok(check, why)
            } else {
                let fix = "wait a moment: a fleet is told until it has taken it; if it stays, see the log";
                Finding::warn(check, why, "MS-U127", fix)
            }
        }
    }
}

/// Which laws are not run from here.
fn elsewhere(app: &App) -> Option<Finding> {
    let (joined, _) = app.desk.clocks();
    let machines = if joined == 1 { "machine" } else { "machines" };
    let why = format!(
        "the laws of the agents of {joined} {machines} are not run from here: mainstay doctor --data-dir DIR on each runs them"
    );
    (joined > 0).then(|| Finding::ok("agents of machines that joined", why))
}

/// How far the history is behind what is durable.
async fn history(app: &App) -> Finding {
    let check = "history";
    let fix = "see the log, and whether the disk is full: no state depends on the history";
    let heads = app.journal.work(|journal| journal.heads()).await;
    let heads: Vec<Head> = match heads {
        Ok(Ok(heads)) => heads,
        Ok(Err(error)) => return super::damage(check, &error),
        Err(error) => return super::damage(check, &error),
    };
    match app.told.read(move |history| history.behind(&heads)).await {
        Err(error) => Finding::warn(check, error.to_string(), "MS-U113", fix),
        Ok(behind) if behind <= HISTORY_BEHIND_MAX => {
            Finding::ok(check, format!("{behind} durable events are not told yet; it follows each second"))
        }
        Ok(behind) => Finding::warn(
            check,
            format!("{behind} durable events are not told yet; {HISTORY_BEHIND_MAX} would be normal at most"),
            "MS-U113",
            fix,
        ),
    }
}
