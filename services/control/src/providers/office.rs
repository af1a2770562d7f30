//! Where errands are run, and providers asked which machines they have.

use std::collections::HashMap;
use std::error::Error as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{JoinTokenId, MachineId, MachineKey, RegionId, Timestamp};
use mainstay_fleet::catalog::admission::{Admission, AdmissionRejection, Scope};
use mainstay_fleet::{Answer, Command, Errand, Growth, Outcome, Verb};
use mainstay_runtime::{Clock, RETRY_AFTER};
use mainstay_wire::join::Secret;
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use uuid::Uuid;

use super::call::{Call, CallError, JOIN_TOKEN, Listed};
use super::{LastWords, Program, Programs};
use crate::http::raised;
use crate::shards::{Fleets, OpenFleet};
use crate::streams::{Desk, No};

/// The most calls at once: clouds refuse more, and each is a process here.
const CALLS_MAX: usize = 16;
/// How long the credential of a machine lasts that a provider made, and each renewal of it.
const CREDENTIAL_LIFE: Duration = Duration::from_hours(30 * 24);

/// Runs errands.
pub(crate) struct Office {
    pub(crate) programs: Programs,
    pub(crate) fleets: Fleets,
    pub(crate) desk: Arc<Desk>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Which instance this is: what a provider made for another is none of ours.
    pub(crate) instance: Uuid,
    /// Where agents are heard.
    pub(crate) agents: Vec<SocketAddr>,
    pub(crate) last_words: LastWords,
}

/// Why an errand came to nothing.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("this control plane was started without the provider of region {region} (MS-S634)")]
    NoProgram { region: RegionId },
    #[error("the machine gets no join token: {0} ({code})", code = .0.code())]
    Token(No),
    #[error("the system gives no random bytes: {0} (MS-S635)")]
    Random(getrandom::Error),
    #[error("the call failed")]
    Call(#[from] CallError),
    #[error("the fleet is gone")]
    NoFleet,
    #[error("the machine's credential cannot be ended: {0} ({code})", code = .0.code())]
    Revoke(No),
}

impl Office {
    /// Runs until the control plane ends; calls under way are killed then, and owed at the next start.
    pub(crate) async fn run(
        self,
        mut errands: mpsc::UnboundedReceiver<Errand>,
        mut closed: watch::Receiver<bool>,
    ) {
        let office = Arc::new(self);
        let places = Arc::new(Semaphore::new(CALLS_MAX));
        let mut running: HashMap<MachineId, JoinHandle<()>> = HashMap::new();
        let mut listing = JoinSet::new();
        for (&(fleet, region), program) in &office.programs {
            let (office, program) = (Arc::clone(&office), Arc::clone(program));
            listing.spawn(async move { office.list_for_ever(fleet, region, &program).await });
        }
        loop {
            let errand = tokio::select! {
                () = raised(&mut closed) => break,
                errand = errands.recv() => match errand {
                    Some(errand) => errand,
                    None => break,
                },
            };
            running.retain(|_, task| !task.is_finished());
            let machine = errand.machine;
            if let Some(older) = running.remove(&machine) {
                older.abort();
                // It ends with its call's processes.
                let _aborted = older.await;
            }
            let (office, places) = (Arc::clone(&office), Arc::clone(&places));
            let task = tokio::spawn(async move {
                // Never closed.
                let _place = places.acquire_owned().await;
                office.attend(errand).await;
            });
            running.insert(machine, task);
        }
        listing.shutdown().await;
        for task in running.into_values() {
            task.abort();
            let _aborted = task.await;
        }
    }

    async fn attend(&self, errand: Errand) {
        let (machine, verb) = (errand.machine, errand.verb);
        let outcome = match self.attempt(&errand).await {
            Ok(()) => {
                self.last_words.note(machine, None);
                Outcome::Done
            }
            Err(trouble) => {
                let why = in_full(&trouble);
                tracing::warn!(%machine, verb = word(verb), why, "a machine provider failed");
                self.last_words.note(machine, Some(why));
                Outcome::Failed
            }
        };
        let Some(fleet) = self.fleet_of(machine) else { return };
        tell(&fleet, Command::TakeOutcome { machine, verb, outcome }).await;
    }

    async fn attempt(&self, errand: &Errand) -> Result<(), Trouble> {
        let Errand { machine, key, region, verb } = *errand;
        let fleet = self.fleet_of(machine).ok_or(Trouble::NoFleet)?;
        let program = || self.programs.get(&(fleet.spec.id, region)).ok_or(Trouble::NoProgram { region });
        let mut facts = self.facts(&fleet, region);
        facts.extend(of_machine(machine, key));
        match verb {
            Verb::Create { slots, until } => {
                let program = program()?;
                let token = self.token(&fleet, region, key, until).await?;
                facts.push(("slots", slots.into()));
                facts.push(("joinUrl", self.join_url(program).into()));
                facts.push((JOIN_TOKEN, token.into()));
                facts.push(("until", mainstay_wire::multiplay::instant(until).to_string().into()));
                let _answer = Call { verb: "create", facts, program }.run().await?;
                tracing::info!(%machine, provider = program.name, "a machine is being made");
            }
            Verb::Delete => {
                let program = program()?;
                let _answer = Call { verb: "delete", facts, program }.run().await?;
                self.revoke(key).await?;
                tracing::info!(%machine, provider = program.name, "a machine is deleted");
            }
            Verb::Revoke => {
                self.revoke(key).await?;
                tracing::info!(%machine, "a machine was removed by an operator; its credential has ended");
            }
        }
        Ok(())
    }

    /// Ends a machine's credential, where it has one: it may never have joined, or be one of this host's own.
    async fn revoke(&self, key: MachineKey) -> Result<(), Trouble> {
        match self.desk.revoke(key).await {
            Ok(()) | Err(No::Rules(AdmissionRejection::NoCredential)) => Ok(()),
            Err(no) => Err(Trouble::Revoke(no)),
        }
    }

    /// A token for this machine alone, for as long as it is waited for.
    async fn token(
        &self,
        fleet: &OpenFleet,
        region: RegionId,
        key: MachineKey,
        until: Timestamp,
    ) -> Result<String, Trouble> {
        let mut bytes = [0; 48];
        getrandom::fill(&mut bytes).map_err(Trouble::Random)?;
        let (mut id, mut secret) = ([0; 16], [0; 32]);
        id.copy_from_slice(&bytes[..16]);
        secret.copy_from_slice(&bytes[16..]);
        let id = JoinTokenId(uuid::Builder::from_random_bytes(id).into_uuid());
        let life = until.since(self.clock.now());
        let life = life.clamp(Admission::TOKEN_LIFE_MIN, Admission::TOKEN_LIFE_MAX);
        let scope = Scope::Machine(fleet.spec.id, region, key);
        let made = self.desk.make_token((id, Secret::of(secret)), scope, 1, (life, CREDENTIAL_LIFE)).await;
        made.map_err(Trouble::Token)
    }

    /// Where machines join: as the configuration says; else the first address that other hosts reach, else loopback.
    fn join_url(&self, program: &Program) -> String {
        if let Some(url) = &program.join_url {
            return url.clone();
        }
        let beyond = |address: &&SocketAddr| !address.ip().is_loopback() && !address.ip().is_unspecified();
        let reached = self.agents.iter().find(beyond).or_else(|| self.agents.first());
        reached.map_or_else(String::new, |address| format!("https://{address}"))
    }

    async fn list_for_ever(&self, fleet: mainstay_core::FleetId, region: RegionId, program: &Program) {
        let mut beat = tokio::time::interval(program.list_every);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beat.tick().await;
            let Some(open) = self.fleets.now().id(fleet).cloned() else { continue };
            let made = open.spec.region(region).is_some_and(|region| match region.growth {
                Growth::Provided(_) => true,
                Growth::Fixed | Growth::MachinesMayJoin => false,
            });
            if made && let Err(trouble) = self.list(&open, region, program).await {
                let why = in_full(&trouble);
                tracing::warn!(provider = program.name, why, "a machine provider does not list its machines");
            }
        }
    }

    /// Compares what the provider has with what the fleet knows, and deletes what nobody knows.
    async fn list(&self, fleet: &OpenFleet, region: RegionId, program: &Program) -> Result<(), Trouble> {
        let asked = self.clock.now();
        let answer = Call { verb: "list", facts: self.facts(fleet, region), program }.run().await?;
        let Listed { machines } = serde_json::from_slice(&answer).map_err(CallError::Malformed)?;
        let known = |text: String| match text.parse::<MachineId>() {
            Ok(machine) if machine.fleet() == fleet.spec.number => Some(machine),
            Ok(_) => None,
            Err(_) => {
                tracing::warn!(
                    provider = program.name,
                    machine = text,
                    "a provider lists a machine that Mainstay never named; it is left alone"
                );
                None
            }
        };
        let machines = machines.into_iter().filter_map(known).collect();
        let told = tell(fleet, Command::TakeListing { region, asked, machines }).await;
        let Some(Answer::Orphans(orphans)) = told else { return Ok(()) };
        for machine in orphans {
            tracing::warn!(%machine, provider = program.name, "a provider has a machine that nobody knows; it is deleted");
            let mut facts = self.facts(fleet, region);
            facts.extend(of_machine(machine, MachineKey::made(fleet.spec.id, machine)));
            let _answer = Call { verb: "delete", facts, program }.run().await?;
        }
        Ok(())
    }

    fn facts(&self, fleet: &OpenFleet, region: RegionId) -> Vec<(&'static str, Value)> {
        vec![
            ("instance", self.instance.to_string().into()),
            ("fleet", fleet.spec.name.to_string().into()),
            ("fleetId", fleet.spec.id.to_string().into()),
            ("region", fleet.region_name(region).into()),
            ("regionId", region.to_string().into()),
        ]
    }

    fn fleet_of(&self, machine: MachineId) -> Option<OpenFleet> {
        self.fleets.now().number(machine.fleet()).cloned()
    }
}

fn of_machine(machine: MachineId, key: MachineKey) -> [(&'static str, Value); 2] {
    [("machine", machine.to_string().into()), ("machineKey", key.to_string().into())]
}

/// Says something to a fleet until it answers; `None` where it has ended or refuses.
async fn tell(fleet: &OpenFleet, command: Command) -> Option<Answer> {
    loop {
        match fleet.ask(command.clone()).await {
            Ok(answer) => return answer.ok(),
            Err(mainstay_runtime::Error::Busy { .. } | mainstay_runtime::Error::JournalFull) => {
                tokio::time::sleep(RETRY_AFTER).await;
            }
            Err(mainstay_runtime::Error::Stopping | mainstay_runtime::Error::Lost(_)) => return None,
        }
    }
}

const fn word(verb: Verb) -> &'static str {
    match verb {
        Verb::Create { .. } => "create",
        Verb::Delete => "delete",
        Verb::Revoke => "revoke",
    }
}

fn in_full(trouble: &Trouble) -> String {
    let mut text = trouble.to_string();
    let mut cause = trouble.source();
    while let Some(below) = cause {
        text = format!("{text}: {below}");
        cause = below.source();
    }
    text
}
