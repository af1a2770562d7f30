//! Which regions a machine may join that nobody knows yet: the tokens are the catalog's, and who waits for a server waits
//! in a fleet. So every fleet is told until when a join token for each of its regions is open: when it is opened, and after
//! every change of a token, before whoever made the change hears that it is done.

use mainstay_core::{FleetId, RegionId, Timestamp};
use mainstay_fleet::Observation;
use mainstay_fleet::catalog::Catalog;
use mainstay_fleet::catalog::admission::{Scope, TokenStage};
use mainstay_runtime::Handle;
use tokio::sync::Mutex;

use crate::shards::Fleets;

/// Tells fleets of open tokens, one reading of the catalog after another: an older one never overtakes a newer.
#[derive(Debug, Default)]
pub(crate) struct Invitations(Mutex<()>);

impl Invitations {
    /// Tells every open fleet how things stand.
    ///
    /// # Errors
    /// Where the catalog has ended. A fleet that has ended is passed over: it is told at its next opening.
    pub(crate) async fn tell(
        &self,
        catalog: &Handle<Catalog>,
        fleets: &Fleets,
    ) -> Result<(), mainstay_runtime::Error> {
        let _turn = self.0.lock().await;
        let open = catalog.query(open).await?;
        for fleet in fleets.now().all() {
            for region in &fleet.spec.regions {
                let until = until(&open, fleet.spec.id, region.id);
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
