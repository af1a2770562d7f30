//! Which regions a machine may join that nobody knows yet: the tokens are the catalog's, and who waits for a server waits
//! in a fleet. So every fleet is told until when a join token for each of its regions is open: when it is opened, and after
//! every change of a token, before whoever made the change hears that it is done.

use std::time::Duration;

use mainstay_core::{FleetId, MachineKey, RegionId, Timestamp};
use mainstay_fleet::Observation;
use mainstay_fleet::catalog::Catalog;
use mainstay_fleet::catalog::admission::{Scope, TokenStage};
use mainstay_runtime::Handle;
use tokio::sync::Mutex;

use crate::shards::Fleets;

/// How long a machine that has its credential is waited for: its agent connects at once, and where that fails, tries again
/// within half this time.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);

/// Tells fleets of open tokens, one reading of the catalog after another: an older one never overtakes a newer.
#[derive(Debug, Default)]
pub(crate) struct Invitations(Mutex<Vec<Arriving>>);

/// A machine that has exchanged its token, and is on its way. Bounded: one that is due no more goes with the next look.
#[derive(Debug)]
struct Arriving {
    machine: MachineKey,
    fleet: FleetId,
    region: RegionId,
    until: Timestamp,
}

impl Invitations {
    /// A machine has exchanged its token: it is on its way, though that may have been the token's last use.
    pub(crate) async fn expect(
        &self,
        machine: MachineKey,
        (fleet, region): (FleetId, RegionId),
        now: Timestamp,
    ) {
        let mut arriving = self.0.lock().await;
        arriving.retain(|other| now < other.until && other.machine != machine);
        arriving.push(Arriving { machine, fleet, region, until: now + ARRIVES_WITHIN });
    }

    /// Whether a machine that has joined had been on its way: fleets that were told so are to be told anew.
    pub(crate) async fn arrived(&self, machine: MachineKey) -> bool {
        let mut arriving = self.0.lock().await;
        let before = arriving.len();
        arriving.retain(|other| other.machine != machine);
        arriving.len() < before
    }

    /// Tells every open fleet how things stand.
    ///
    /// # Errors
    /// Where the catalog has ended. A fleet that has ended is passed over: it is told at its next opening.
    pub(crate) async fn tell(
        &self,
        catalog: &Handle<Catalog>,
        fleets: &Fleets,
    ) -> Result<(), mainstay_runtime::Error> {
        let arriving = self.0.lock().await;
        let open = catalog.query(open).await?;
        for fleet in fleets.now().all() {
            for region in &fleet.spec.regions {
                let invited = until(&open, fleet.spec.id, region.id);
                let coming = arriving.iter().filter(|it| (it.fleet, it.region) == (fleet.spec.id, region.id));
                let until = invited.into_iter().chain(coming.map(|machine| machine.until)).max();
                let told = fleet.shard.observe(Observation::Invited { region: region.id, until }).await;
                if let Err(error) = told {
                    tracing::warn!(fleet = %fleet.spec.name, %error, "a fleet is not told of open join tokens");
                }
            }
        }
        Ok(())
    }
}

/// Whom each open token lets in, and until when. Those of machine providers are for machines that their fleets have asked
/// for, and count by themselves.
fn open(catalog: &Catalog, now: Timestamp) -> Vec<(Scope, Timestamp)> {
    let open = catalog.admission().tokens().filter(|(_, token)| match token.stage {
        TokenStage::Open { .. } => now < token.expires,
        TokenStage::UsedUp | TokenStage::Withdrawn => false,
    });
    let lets_in = |scope: &Scope| match scope {
        Scope::Anywhere | Scope::Fleet(_) | Scope::Region(..) => true,
        Scope::Machine(..) => false,
    };
    open.map(|(_, token)| (token.made.scope, token.expires)).filter(|(scope, _)| lets_in(scope)).collect()
}

fn until(open: &[(Scope, Timestamp)], fleet: FleetId, region: RegionId) -> Option<Timestamp> {
    open.iter().filter(|(scope, _)| scope.holds(fleet, region)).map(|(_, expires)| *expires).max()
}
