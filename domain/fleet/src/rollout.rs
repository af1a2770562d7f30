//! Which servers still run what the operator has replaced: a build configuration of an older revision (its values were
//! edited, or its build has a new version), or one that the fleet no longer has.
//!
//! A server nobody plays on is restarted with the newest: at once where its build configuration was edited ("the active
//! build configuration has been changed", seed 003), and progressively where its build has a new version. Then only a share
//! of the pool is on its way at a time, so that the fleet keeps servers to give. One that is allocated or reserved finishes
//! first, unless its revision lies below the fleet's floor for it (a forced installation).

use alloc::collections::BTreeSet;

use mainstay_core::slot::{ConfigurationRef, Intent, Phase};
use mainstay_core::{BuildConfigurationId, ServerId};

use crate::cause::Cause;
use crate::claim::Claim;
use crate::fleet::Fleet;
use crate::machine::Link;
use crate::server::Server;

/// At most one in this many servers of the pool is being replaced at a time; one always may.
const SHARE: u32 = 4;

/// Why a server is to be restarted; what goes at once comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outdated {
    /// Its build configuration is another: at once.
    Edited,
    /// Its build has a new version: progressively.
    Rebuilt,
}

impl Outdated {
    pub(crate) const ALL: [Self; 2] = [Self::Edited, Self::Rebuilt];
}

impl Fleet {
    /// What a server would run if it started now, for nobody: what it was assigned, else the newest revision of what it
    /// runs, else what idle servers run.
    pub(crate) fn current(&self, id: ServerId, runs: ConfigurationRef) -> ConfigurationRef {
        let Some(spec) = &self.spec else { return runs };
        let of = |id: BuildConfigurationId| spec.configuration(id).map(|spec| spec.configuration);
        let assigned = self.assigned.get(&id).and_then(|assigned| of(*assigned));
        assigned.or_else(|| of(runs.id)).or_else(|| spec.idle_configuration()).unwrap_or(runs)
    }

    /// What idle servers run: what this one was assigned, else the fleet's first.
    pub(crate) fn idle_configuration(&self, id: ServerId) -> Option<ConfigurationRef> {
        let spec = self.spec.as_ref()?;
        let assigned = self.assigned.get(&id).and_then(|assigned| spec.configuration(*assigned));
        assigned.map(|spec| spec.configuration).or_else(|| spec.idle_configuration())
    }

    /// Whether a server must be restarted for what the operator changed, now that nothing it is for forbids it.
    pub(crate) fn outdated_by(&self, id: ServerId, server: &Server) -> Option<Outdated> {
        let spec = self.spec.as_ref()?;
        match server.claim {
            Claim::Allocated(_) | Claim::Reserved(_) => {
                let forced = spec.floor(server.configuration.id) > server.configuration.revision;
                forced.then_some(Outdated::Rebuilt)
            }
            Claim::Free | Claim::Held { .. } => {
                let runs = match (server.intent, &server.seen) {
                    (Intent::Stop, _) => false,
                    (Intent::Run | Intent::Renew, _) => true,
                    (Intent::Leave, Some(seen)) => match seen.phase {
                        Phase::Starting { .. } | Phase::Online { .. } => true,
                        Phase::Stopped(_)
                        | Phase::Stopping { .. }
                        | Phase::BackedOff { .. }
                        | Phase::PreRecovery { .. }
                        | Phase::Lost => false,
                    },
                    (Intent::Leave, None) => false,
                };
                let current = self.current(id, server.configuration);
                (runs && server.configuration != current)
                    .then(|| self.change_of(server.configuration, current))
            }
        }
    }

    /// What became of a build configuration. A new version of its build changes where that lies, at most.
    fn change_of(&self, from: ConfigurationRef, to: ConfigurationRef) -> Outdated {
        let (Some(old), Some(new)) = (self.specs.get(&from), self.specs.get(&to)) else {
            return Outdated::Edited;
        };
        let mut rebuilt = old.clone();
        rebuilt.configuration.revision = to.revision;
        rebuilt.launch.folder.clone_from(&new.launch.folder);
        if rebuilt == *new { Outdated::Rebuilt } else { Outdated::Edited }
    }

    /// Whether a server is on its way to what the operator changed it to, as far as is known. One whose machine is not
    /// heard holds nobody up.
    pub(crate) fn is_rolling(&self, server: &Server) -> bool {
        let heard = match self.machines.get(&server.machine).map(|machine| machine.link) {
            Some(Link::Up { .. }) => true,
            Some(Link::Silent) | None => false,
        };
        if !heard || server.cause != Cause::RolledOut || !server.claim.is_open() {
            return false;
        }
        let Some(seen) = &server.seen else { return true };
        seen.generation < server.generation
            || match seen.phase {
                Phase::Starting { .. } | Phase::Stopping { .. } => true,
                Phase::Online { .. }
                | Phase::Stopped(_)
                | Phase::BackedOff { .. }
                | Phase::PreRecovery { .. }
                | Phase::Lost => false,
            }
    }

    /// The next server to restart for what the operator changed: of those with a new version of their build while the pool
    /// can spare one.
    pub(crate) fn next_outdated(&self) -> Option<ServerId> {
        let (by, first) = self.outdated.first().copied()?;
        match by {
            Outdated::Edited => Some(first),
            Outdated::Rebuilt => {
                let pool: u32 = self.counts.values().map(crate::counts::Counts::unclaimed).sum();
                let room = (pool / SHARE).max(1) as usize;
                (self.rolling.len() < room).then_some(first)
            }
        }
    }

    /// Brings the indices of rollouts in line with one server.
    pub(crate) fn settle_rollout(&mut self, id: ServerId) {
        let Some(server) = self.servers.get(&id) else { return };
        let (outdated, rolling) = (self.outdated_by(id, server), self.is_rolling(server));
        for by in Outdated::ALL {
            keep(&mut self.outdated, (by, id), outdated == Some(by));
        }
        keep(&mut self.rolling, id, rolling);
    }
}

fn keep<K: Ord>(index: &mut BTreeSet<K>, key: K, belongs: bool) {
    if belongs {
        index.insert(key);
    } else if !index.is_empty() {
        index.remove(&key);
    }
}
