//! I4, I5 and I9 of reference/host-migration.md, as `scripts` looks at them: which hosts act beside each other, what a minority acknowledges, and what
//! outlives a host.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use mainstay_core::Timestamp;
use mainstay_migration::{Acting, Epoch, Output, PeerId, Standing, StateId};
use proptest::prelude::*;

use crate::net::Net;

/// For how long a host acts that has lost its majority, and what passes between two looks.
const LEASE: Duration = Duration::from_millis(2_100);
/// Whoever was cut off, or stood still, is with the others again so long after, where it can be.
const TOGETHER: Duration = Duration::from_secs(5);

/// What was seen of a session.
#[derive(Debug, Default)]
pub struct Keeping {
    /// How much of what each told was looked at.
    read: BTreeMap<PeerId, usize>,
    acts: BTreeSet<PeerId>,
    /// Who had no majority when it was looked at last.
    unconfirmed: BTreeSet<PeerId>,
    /// Since when a host acts beside a newer one.
    beside: BTreeMap<PeerId, Timestamp>,
    acknowledged: StateId,
    /// When somebody was cut off last, or stood still.
    troubled: Option<Timestamp>,
    /// What each host has applied in its reign.
    applied: BTreeSet<(PeerId, PeerId, u64)>,
    /// How many new hosts could have been told what was acknowledged.
    pub kept: usize,
}

impl Keeping {
    /// Looks at what was told since.
    pub fn judge(&mut self, net: &Net, running: &[PeerId]) -> Result<(), TestCaseError> {
        if !net.cut.is_empty() || !net.frozen.is_empty() || net.weather.percent > 0 {
            self.troubled = Some(net.now);
        }
        let is_calm = self.troubled.is_none_or(|troubled| net.now >= troubled + TOGETHER);
        let holds = |id: &&PeerId| net.session(**id).held().id() >= self.acknowledged;
        let holder = running.iter().find(holds).copied().filter(|_| is_calm);
        let before = self.acknowledged;
        for (id, seen) in &net.seen {
            let from = self.read.insert(*id, seen.outputs.len()).unwrap_or_default();
            for output in &seen.outputs[from..] {
                self.hear(net, *id, output, holder.map(|holder| (holder, before)))?;
            }
        }
        let is_unconfirmed = |id: &&PeerId| net.session(**id).standing() == Some(Standing::Unconfirmed);
        self.unconfirmed = running.iter().filter(is_unconfirmed).copied().collect();
        self.judge_hosts(net, running)
    }

    fn hear(
        &mut self,
        net: &Net,
        id: PeerId,
        output: &Output,
        held: Option<(PeerId, StateId)>,
    ) -> Result<(), TestCaseError> {
        match output {
            Output::Act(Acting::Yes) => drop(self.acts.insert(id)),
            Output::Act(Acting::No) => drop(self.acts.remove(&id)),
            Output::Lead { stamp, state } => {
                self.applied.retain(|(host, ..)| *host != id);
                if let Some((holder, acknowledged)) = held.filter(|_| stamp.fork == 0) {
                    self.kept += usize::from(acknowledged != StateId::NONE);
                    let led = state.id();
                    prop_assert!(
                        led >= acknowledged,
                        "I9: {id} leads {stamp:?} from {led:?}, and {holder} holds {acknowledged:?}"
                    );
                }
            }
            Output::Durable(state) => {
                let standing = net.peers.get(&id).and_then(mainstay_migration::Session::standing);
                let is_minority = self.unconfirmed.contains(&id) && standing == Some(Standing::Unconfirmed);
                prop_assert!(!is_minority, "I5: {id} has no majority, and acknowledges {state:?}");
                self.acknowledged = self.acknowledged.max(*state);
            }
            Output::Apply { from, number, .. } => {
                prop_assert!(
                    self.applied.insert((id, *from, *number)),
                    "I9: {id} applies {number} of {from} twice"
                );
            }
            Output::Send { .. }
            | Output::Call(..)
            | Output::AskLobby { .. }
            | Output::Follow { .. }
            | Output::HostNoMore { .. }
            | Output::Connected { .. }
            | Output::Gone(_)
            | Output::NotTaken(_)
            | Output::SomebodyBetter(_)
            | Output::NobodyBetter
            | Output::Migrated(_)
            | Output::Progress(_)
            | Output::Discard(_)
            | Output::InputForgotten { .. }
            | Output::Rewritten { .. }
            | Output::Confirmed(_)
            | Output::StateWanted(_)
            | Output::NotSet(_)
            | Output::Ended(_) => {}
        }
        Ok(())
    }

    /// Of confirmed hosts that act the newest may, and each older one as long as its lease.
    fn judge_hosts(&mut self, net: &Net, running: &[PeerId]) -> Result<(), TestCaseError> {
        let certified = |id: &&PeerId| {
            let session = net.session(**id);
            session.standing() == Some(Standing::Confirmed)
                && session.stamp().fork == 0
                && self.acts.contains(*id)
        };
        let mut acting: Vec<(Epoch, PeerId)> =
            running.iter().filter(certified).map(|id| (net.session(*id).stamp().epoch, *id)).collect();
        acting.sort_unstable();
        let newest = acting.pop();
        let before = std::mem::take(&mut self.beside);
        let since = |id: PeerId| (id, before.get(&id).copied().unwrap_or(net.now));
        self.beside = acting.into_iter().map(|(_, id)| since(id)).collect();
        let late = self.beside.iter().find(|(_, since)| net.now > **since + LEASE);
        prop_assert!(late.is_none(), "I4: {late:?} acts beside {newest:?}");
        Ok(())
    }
}
