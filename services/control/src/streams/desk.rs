//! The desk where machines show tokens and credentials: it asks the catalog, and tells the streams what follows.
//!
//! Who has the newest stream of a machine with a credential sits in its seat. Seats are taken before the credential is
//! checked for the last time, and revoking looks at the seats after it is durable: whichever comes first, a revoked machine
//! has no stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mainstay_core::{FleetId, JoinTokenId, MachineKey, RegionId, Timestamp};
use mainstay_fleet::catalog::admission::{
    AdmissionCommand, AdmissionRejection, Admitted, NewToken, Scope, SecretHash,
};
use mainstay_fleet::catalog::{Catalog, CatalogAnswer, CatalogCommand, CatalogRejection};
use mainstay_fleet::{Observation, StreamId};
use mainstay_runtime::{Clock, Growth, Handle};
use mainstay_wire::join::{
    CLOCK_HEADER, CLOCKS_DIFFER_MAX, CaPin, Credential, Join, JoinToken, REFUSAL_CREDENTIAL, REFUSAL_HEADER,
    REFUSAL_SUPERSEDED, Renew, Secret,
};
use tonic::Status;
use tonic::metadata::{MetadataMap, MetadataValue};

use super::Outboxes;
use super::refusal::No;
use crate::doors::Peer;
use crate::http::sha256;
use crate::invitations::Invitations;
use crate::shards::Fleets;

/// How long a stream goes at most without a look at its credential's end, which a renewal moves.
const LOOK_EVERY: Duration = Duration::from_hours(1);

/// Where machines join.
pub(crate) struct Desk {
    catalog: Handle<Catalog>,
    fleets: Fleets,
    invitations: Arc<Invitations>,
    outboxes: Outboxes,
    clock: Arc<dyn Clock>,
    ca: Option<CaPin>,
    seats: Mutex<HashMap<MachineKey, StreamId>>,
    /// How far machines' clocks were from this one, as each last said: bounded by the machines that have a credential.
    apart: Mutex<HashMap<MachineKey, Duration>>,
}

/// How a machine's credential stands, as it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) fleet: FleetId,
    pub(crate) fleet_name: String,
    pub(crate) region: RegionId,
    pub(crate) region_name: String,
    pub(crate) expires_in: Duration,
    pub(crate) renew_in: Duration,
    pub(crate) now: Timestamp,
}

impl Desk {
    pub(crate) fn new(
        catalog: Handle<Catalog>,
        (fleets, invitations): (Fleets, Arc<Invitations>),
        outboxes: Outboxes,
        clock: Arc<dyn Clock>,
        ca: Option<CaPin>,
    ) -> Self {
        let (seats, apart) = (Mutex::default(), Mutex::default());
        Self { catalog, fleets, invitations, outboxes, clock, ca, seats, apart }
    }

    /// Makes a token, durable before its text is told; this is the only moment the text is known.
    pub(crate) async fn make_token(
        &self,
        (id, secret): (JoinTokenId, Secret),
        scope: Scope,
        uses: u32,
        (life, credential_life): (Duration, Duration),
    ) -> Result<String, No> {
        let ca = self.ca.ok_or(No::Unpinnable)?;
        let secret_sha256 = sha256(secret.bytes());
        let new = NewToken { secret_sha256, scope, uses, life, credential_life };
        self.ask(AdmissionCommand::MakeToken { token: id, new }, Growth::Grows).await?;
        self.invite().await?;
        Ok(JoinToken { ca, id, secret }.reveal())
    }

    /// Ends a token.
    pub(crate) async fn withdraw(&self, token: JoinTokenId) -> Result<(), No> {
        self.ask(AdmissionCommand::WithdrawToken(token), Growth::Shrinks).await?;
        self.invite().await
    }

    /// Every fleet hears which tokens are open now, before the change of one is answered.
    async fn invite(&self) -> Result<(), No> {
        Ok(self.invitations.tell(&self.catalog, &self.fleets).await?)
    }

    /// Ends a machine's credential, and its stream.
    pub(crate) async fn revoke(&self, machine: MachineKey) -> Result<(), No> {
        self.ask(AdmissionCommand::Revoke(machine), Growth::Shrinks).await?;
        let revoked = AdmissionRejection::Revoked { ago: Duration::ZERO };
        self.unseat(machine, &self.status(&revoked.into()));
        self.apart.lock().unwrap_or_else(PoisonError::into_inner).remove(&machine);
        // The token it came with has ended as well.
        self.invite().await
    }

    pub(super) async fn join(&self, join: Join) -> Result<Told, Status> {
        let told = self.redeem(&join).await;
        self.judge("a machine asked to join", join.machine, join.now_unix_ms, told)
    }

    pub(super) async fn renew(&self, renew: Renew) -> Result<Told, Status> {
        let credential: Credential = renew
            .credential
            .parse()
            .map_err(|error: mainstay_wire::join::TextError| self.status(&error.into()))?;
        let (machine, shown) = (credential.machine, sha256(credential.secret.bytes()));
        let told = match renew.fresh {
            None => self.look(machine, shown).await,
            Some(fresh) => {
                let renew = AdmissionCommand::Renew { machine, shown, fresh };
                self.admitted(renew, Growth::Shrinks).await
            }
        };
        self.judge("a machine asked for its next credential", machine, renew.now_unix_ms, told)
    }

    /// Checks a credential, seats the stream in the place of any older one, and checks once more, durably.
    pub(super) async fn show(
        &self,
        credential: &Credential,
        stream: StreamId,
        peer: Peer,
    ) -> Result<Told, Status> {
        let (machine, shown) = (credential.machine, sha256(credential.secret.bytes()));
        let looked = self.look(machine, shown).await;
        if let Err(no) = looked {
            return Err(self.refused("a machine showed its credential", machine, &no));
        }
        let older = self.seats().insert(machine, stream);
        if let Some(older) = older.filter(|older| *older != stream) {
            tracing::warn!(%machine, from = %peer.address, code = "MS-S609", "two agents have one machine's credential; the newer is heard");
            self.outboxes.cut(older, &superseded(&format!(" from {}", peer.address)));
        }
        let shown = self.admitted(AdmissionCommand::Show { machine, shown }, Growth::Shrinks).await;
        shown.map_err(|no| {
            self.leave(machine, stream);
            self.refused("a machine showed its credential", machine, &no)
        })
    }

    /// Checks a credential, and says of which fleet its machine is. No stream is seated for it.
    pub(super) async fn check(&self, credential: &Credential) -> Result<FleetId, Status> {
        let (machine, shown) = (credential.machine, sha256(credential.secret.bytes()));
        let looked = self.look(machine, shown).await;
        looked.map(|told| told.fleet).map_err(|no| self.refused("a machine asked for a build", machine, &no))
    }

    /// Waits until a machine's credential ends without having been renewed; says how.
    pub(super) async fn ended(&self, machine: MachineKey) -> Status {
        loop {
            let ends =
                self.catalog.query(move |catalog, now| (catalog.admission().ends(now, machine), now)).await;
            match ends {
                Ok((Ok(end), now)) => tokio::time::sleep(end.since(now).min(LOOK_EVERY)).await,
                Ok((Err(rejection), _)) => {
                    return self.refused("a machine's credential ended", machine, &rejection.into());
                }
                Err(error) => return self.status(&error.into()),
            }
        }
    }

    /// Gives a seat up, if it is still this stream's.
    pub(super) fn leave(&self, machine: MachineKey, stream: StreamId) {
        let mut seats = self.seats();
        if seats.get(&machine) == Some(&stream) {
            seats.remove(&machine);
        }
    }

    fn unseat(&self, machine: MachineKey, status: &Status) {
        let seat = self.seats().remove(&machine);
        if let Some(stream) = seat {
            self.outboxes.cut(stream, status);
        }
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<MachineKey, StreamId>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn redeem(&self, join: &Join) -> Result<Told, No> {
        let token: JoinToken = join.token.parse()?;
        if Some(token.ca) != self.ca {
            return Err(AdmissionRejection::UnknownToken.into());
        }
        let (id, shown) = (token.id, sha256(token.secret.bytes()));
        let scope = self
            .catalog
            .query(move |catalog, _| catalog.admission().scope_of(id, &shown))
            .await?
            .ok_or(AdmissionRejection::UnknownToken)?;
        let (fleet, region) = self.wanted(join, scope)?;
        let (machine, fresh) = (join.machine, join.fresh);
        let redeem = AdmissionCommand::Redeem { token: id, shown, machine, fleet, region, fresh };
        let told = self.admitted(redeem, Growth::Grows).await?;
        // Whoever spoke for the machine until now has another credential, which has just ended.
        self.unseat(machine, &superseded(""));
        self.expect(machine, (fleet, region)).await;
        self.invite().await?;
        Ok(told)
    }

    /// The machine's fleet waits for it, though that may have been the token's last use.
    async fn expect(&self, machine: MachineKey, (id, region): (FleetId, RegionId)) {
        let fleets = self.fleets.now();
        let Some(fleet) = fleets.id(id) else { return };
        if let Err(error) = fleet.shard.observe(Observation::Arriving { region, machine }).await {
            tracing::warn!(fleet = %fleet.spec.name, %error, "a fleet is not told of a machine on its way");
        }
    }

    /// The fleet and region a machine wants: as it says, else as its token says, else the only ones there are.
    fn wanted(&self, join: &Join, scope: Scope) -> Result<(FleetId, RegionId), No> {
        let fleets = self.fleets.now();
        let (token_fleet, token_region) = match scope {
            Scope::Anywhere => (None, None),
            Scope::Fleet(fleet) => (Some(fleet), None),
            Scope::Region(fleet, region) | Scope::Machine(fleet, region, _) => (Some(fleet), Some(region)),
        };
        let fleet = if join.fleet.is_empty() {
            let only = || {
                let mut all = fleets.all();
                all.next().filter(|_| all.next().is_none())
            };
            match token_fleet {
                Some(fleet) => fleets.id(fleet).ok_or_else(|| No::Fleet(fleet.to_string()))?,
                None => only().ok_or(No::Unsaid("fleet"))?,
            }
        } else {
            fleets.named(&join.fleet).ok_or_else(|| No::Fleet(join.fleet.clone()))?
        };
        let region = if join.region.is_empty() {
            let only = || match fleet.spec.regions.as_slice() {
                [only] => Some(only.id),
                _ => None,
            };
            token_region.or_else(only).ok_or(No::Unsaid("region"))?
        } else {
            fleet.region(&join.region).ok_or_else(|| No::Region(join.region.clone()))?
        };
        Ok((fleet.spec.id, region))
    }

    async fn look(&self, machine: MachineKey, shown: SecretHash) -> Result<Told, No> {
        let looked =
            self.catalog.query(move |catalog, now| catalog.admission().look(now, machine, &shown)).await?;
        Ok(self.told(looked?))
    }

    async fn admitted(&self, command: AdmissionCommand, growth: Growth) -> Result<Told, No> {
        match self.ask(command, growth).await? {
            CatalogAnswer::Admitted(admitted) => Ok(self.told(admitted)),
            CatalogAnswer::Done => Err(No::Bug),
        }
    }

    async fn ask(&self, command: AdmissionCommand, growth: Growth) -> Result<CatalogAnswer, No> {
        match self.catalog.try_command(CatalogCommand::Admission(command), growth).await? {
            Ok(answer) => Ok(answer),
            Err(CatalogRejection::Admission(rejection)) => Err(rejection.into()),
            Err(
                CatalogRejection::UnknownBuild { .. }
                | CatalogRejection::UnknownConfiguration { .. }
                | CatalogRejection::TooMany { .. }
                | CatalogRejection::Outdated { .. }
                | CatalogRejection::Unknown { .. }
                | CatalogRejection::InUse { .. }
                | CatalogRejection::FleetOnline { .. },
            ) => Err(No::Bug),
        }
    }

    fn told(&self, Admitted { fleet, region, expires, life }: Admitted) -> Told {
        let (fleets, now) = (self.fleets.now(), self.clock.now());
        let open = fleets.id(fleet);
        let expires_in = expires.since(now);
        Told {
            fleet,
            fleet_name: open.map(|open| open.spec.name.to_string()).unwrap_or_default(),
            region,
            region_name: open.map(|open| open.region_name(region)).unwrap_or_default(),
            expires_in,
            // In the middle of its life: as long again remains for a control plane that is away.
            renew_in: expires_in.saturating_sub(life / 2),
            now,
        }
    }

    fn judge(
        &self,
        what: &str,
        machine: MachineKey,
        its_clock: u64,
        told: Result<Told, No>,
    ) -> Result<Told, Status> {
        let now = self.clock.now().unix_ms();
        let apart = Duration::from_millis(now.abs_diff(its_clock));
        if apart > CLOCKS_DIFFER_MAX {
            tracing::warn!(%machine, code = "MS-A008", seconds = apart.as_secs(), "a machine's clock and this one differ; nothing depends on the machine's");
        }
        let told = told.map_err(|no| self.refused(what, machine, &no))?;
        self.apart.lock().unwrap_or_else(PoisonError::into_inner).insert(machine, apart);
        Ok(told)
    }

    /// How many machines that may come have told their time since this control plane started, and those that are further apart than they
    /// should be, with how far.
    pub(crate) fn clocks(&self) -> (usize, Vec<(MachineKey, Duration)>) {
        let apart = self.apart.lock().unwrap_or_else(PoisonError::into_inner);
        let far = apart.iter().filter(|(_, apart)| **apart > CLOCKS_DIFFER_MAX);
        (apart.len(), far.map(|(machine, apart)| (*machine, *apart)).collect())
    }

    fn refused(&self, what: &str, machine: MachineKey, no: &No) -> Status {
        tracing::warn!(%machine, code = no.code(), why = %no, "{what}: refused");
        self.status(no)
    }

    fn status(&self, no: &No) -> Status {
        let code = match no {
            No::Rules(_) | No::Text(_) => tonic::Code::Unauthenticated,
            No::Fleet(_) | No::Region(_) => tonic::Code::NotFound,
            No::Unsaid(_) => tonic::Code::InvalidArgument,
            No::Unpinnable => tonic::Code::FailedPrecondition,
            No::Runtime(_) => tonic::Code::Unavailable,
            No::Bug => tonic::Code::Internal,
        };
        let mut metadata = MetadataMap::new();
        metadata.insert(CLOCK_HEADER, MetadataValue::from(self.clock.now().unix_ms()));
        if no.is_of_credential() {
            metadata.insert(REFUSAL_HEADER, MetadataValue::from_static(REFUSAL_CREDENTIAL));
        }
        Status::with_metadata(code, format!("{}: {no}; {}", no.code(), no.mend()), metadata)
    }
}

fn superseded(from: &str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(REFUSAL_HEADER, MetadataValue::from_static(REFUSAL_SUPERSEDED));
    let why = format!(
        "MS-S609: another agent has connected{from} with this machine's credential, and the newer is heard; is its data \
         directory a copy? end one of the two, and start the other again"
    );
    Status::with_metadata(tonic::Code::Aborted, why, metadata)
}
