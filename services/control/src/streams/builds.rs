//! The calls by which machines get what their servers run (`proto/builds.proto`).

use std::pin::Pin;
use std::sync::Arc;

use mainstay_core::FleetId;
use mainstay_core::slot::ConfigurationRef;
use mainstay_wire::agent::Malformed;
use mainstay_wire::builds::proto::builds_server::Builds;
use mainstay_wire::builds::proto::{Chunk, FetchRequest, ResolveRequest, Resolved};
use mainstay_wire::builds::{CHUNK_BYTES_MAX, CREDENTIAL_HEADER, ContentHash, Resolved as Resolution, hash};
use mainstay_wire::join::Credential;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _, SeekFrom};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::desk::Desk;
use super::session::of_this_host;
use crate::doors::Peer;
use crate::publish::{Publisher, Unpublished};
use crate::shards::Fleets;

/// The largest request: a credential is in the header.
pub(super) const REQUEST_BYTES_MAX: usize = 4 * 1024;
/// The most files that are being sent at once; a machine asks for four. Each holds a descriptor and a chunk, some 300 KB, so
/// all of them 80 MB; further ones are told to come back.
const FETCHES_MAX: usize = 256;

pub(crate) struct BuildDesk {
    desk: Arc<Desk>,
    fleets: Fleets,
    publisher: Publisher,
    token_sha256: [u8; 32],
    places: Arc<Semaphore>,
}

/// Who asks.
enum Asker {
    /// An agent of this host, for any fleet.
    Host,
    /// A machine of one fleet.
    Of(FleetId),
}

impl BuildDesk {
    pub(super) fn new(desk: Arc<Desk>, fleets: Fleets, publisher: Publisher, token_sha256: [u8; 32]) -> Self {
        Self { desk, fleets, publisher, token_sha256, places: Arc::new(Semaphore::new(FETCHES_MAX)) }
    }

    async fn who<T>(&self, request: &Request<T>) -> Result<Asker, Status> {
        let shown = request.metadata().get(CREDENTIAL_HEADER).and_then(|shown| shown.to_str().ok());
        let none = || Status::unauthenticated("MS-A001: a build is given for a machine's credential alone");
        let shown = shown.and_then(|shown| shown.strip_prefix("Bearer ")).ok_or_else(none)?;
        if let Ok(credential) = shown.parse::<Credential>() {
            return Ok(Asker::Of(self.desk.check(&credential).await?));
        }
        let no_door = || Status::internal("a call came in by no door; this is our bug");
        let peer = request.extensions().get::<Peer>().copied().ok_or_else(no_door)?;
        of_this_host(peer, shown, &self.token_sha256)?;
        Ok(Asker::Host)
    }

    /// A revision of a configuration, in a fleet of the asker's: the newest, also where the fleet has it no more and a server
    /// plays it on; or an older one that a server of it is to run, as far as its files are still known.
    async fn resolved(&self, asker: &Asker, asked: ConfigurationRef) -> Result<Resolution, Unpublished> {
        let fleets = self.fleets.now();
        let may = |fleet: &&crate::shards::OpenFleet| match asker {
            Asker::Host => true,
            Asker::Of(id) => fleet.spec.id == *id,
        };
        let mut specs = fleets.all().filter(may).flat_map(|fleet| &fleet.spec.configurations);
        let known = specs.find(|spec| spec.configuration.id == asked.id);
        if let Some(spec) = known.filter(|spec| spec.configuration == asked) {
            return self.publisher.resolve(spec).await;
        }
        for fleet in fleets.all().filter(may) {
            let kept = fleet.read(move |state, _| state.configuration(asked).cloned()).await?;
            if let Some(spec) = kept {
                return if self.publisher.is_newest(asked).await? {
                    self.publisher.resolve(&spec).await
                } else {
                    self.publisher.resolve_older(&spec).await
                };
            }
        }
        Err(if known.is_some() { Unpublished::Newer } else { Unpublished::NoConfiguration })
    }
}

#[tonic::async_trait]
impl Builds for BuildDesk {
    async fn resolve(&self, request: Request<ResolveRequest>) -> Result<Response<Resolved>, Status> {
        let asker = self.who(&request).await?;
        let asked = ConfigurationRef::try_from(request.into_inner()).map_err(malformed)?;
        Ok(Response::new(self.resolved(&asker, asked).await?.into()))
    }

    type FetchStream = Pin<Box<dyn Stream<Item = Result<Chunk, Status>> + Send>>;

    /// A hash is known to whoever was given the list it is in, so it is all that is asked for beside the credential.
    async fn fetch(&self, request: Request<FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let _asker = self.who(&request).await?;
        let FetchRequest { sha256, from } = request.into_inner();
        let hash = hash(&sha256, "FetchRequest", "sha256").map_err(malformed)?;
        let place =
            Arc::clone(&self.places).try_acquire_owned().map_err(|_| Unpublished::Busy(FETCHES_MAX))?;
        let (file, size) = self.publisher.open(hash).await?;
        let mut file = tokio::fs::File::from_std(file);
        file.seek(SeekFrom::Start(from.min(size))).await.map_err(Unpublished::Disk)?;
        let left = size.saturating_sub(from);
        // Whoever goes on from somewhere compares the whole, and asks for all of it again where that is not what it should be.
        let check = (from == 0).then(|| (self.publisher.clone(), hash, Sha256::new()));
        let sending = Sending { file: file.take(left), check, _place: place };
        let chunks = futures_util::stream::try_unfold(sending, |mut sending| async move {
            let mut data = Vec::with_capacity(CHUNK_BYTES_MAX);
            let limit = u64::try_from(CHUNK_BYTES_MAX).unwrap_or(u64::MAX);
            (&mut sending.file).take(limit).read_to_end(&mut data).await.map_err(Unpublished::Disk)?;
            if data.is_empty() {
                sending.judge().await;
                return Ok::<_, Status>(None);
            }
            if let Some((_, _, sent)) = &mut sending.check {
                sent.update(&data);
            }
            Ok(Some((Chunk { data }, sending)))
        });
        Ok(Response::new(Box::pin(chunks)))
    }
}

/// A file on its way to a machine.
struct Sending {
    file: tokio::io::Take<tokio::fs::File>,
    /// Who is told where it is not what its name says, the name, and the hash of what was sent of it; where all of it is sent.
    check: Option<(Publisher, ContentHash, Sha256)>,
    _place: OwnedSemaphorePermit,
}

impl Sending {
    /// All of it is sent: was it what was asked for?
    async fn judge(self) {
        let Some((publisher, wanted, sent)) = self.check else { return };
        let found = ContentHash::of(sent.finalize().into());
        if found != wanted {
            publisher.was_not(wanted, found).await;
        }
    }
}

fn malformed(malformed: Malformed) -> Status {
    Status::invalid_argument(format!("MS-S604: {malformed}"))
}
