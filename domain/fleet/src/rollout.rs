//! Which servers still run what the operator has replaced: a build configuration of an older revision (its values were
//! edited, or its build has a new version), or one that the fleet no longer has.
//!
//! A server nobody plays on is restarted with the newest; one that is allocated or reserved finishes first (a progressive
//! installation), unless its revision lies below the fleet's floor for it (a forced one). So that a fleet keeps servers
//! to give while it changes, only a share of the pool is on its way at a time.

use mainstay_core::slot::{ConfigurationRef, Intent, Phase};
use mainstay_core::{BuildConfigurationId, ServerId};

use crate::cause::Cause;
use crate::claim::Claim;
use crate::fleet::Fleet;
use crate::machine::Link;
use crate::server::Server;

/// At most one in this many servers of the pool is being replaced at a time; one always may.
const SHARE: u32 = 4;

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
    pub(crate) fn is_outdated(&self, id: ServerId, server: &Server) -> bool {
        let Some(spec) = &self.spec else { return false };
        match server.claim {
            Claim::Allocated(_) | Claim::Reserved(_) => {
                spec.floor(server.configuration.id) > server.configuration.revision
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
                runs && server.configuration != self.current(id, server.configuration)
            }
        }
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

    /// The next server to restart for what the operator changed, while the pool can spare one.
    pub(crate) fn next_outdated(&self) -> Option<ServerId> {
        let first = self.outdated.first().copied()?;
        let pool: u32 = self.counts.values().map(crate::counts::Counts::unclaimed).sum();
        let room = (pool / SHARE).max(1) as usize;
        (self.rolling.len() < room).then_some(first)
    }

    /// Brings the indices of rollouts in line with one server.
    pub(crate) fn settle_rollout(&mut self, id: ServerId) {
        let Some(server) = self.servers.get(&id) else { return };
        let (outdated, rolling) = (self.is_outdated(id, server), self.is_rolling(server));
        keep(&mut self.outdated, id, outdated);
        keep(&mut self.rolling, id, rolling);
    }
}

fn keep(index: &mut alloc::collections::BTreeSet<ServerId>, id: ServerId, belongs: bool) {
    if belongs {
        index.insert(id);
    } else if !index.is_empty() {
        index.remove(&id);
    }
}
