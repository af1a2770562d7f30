//! The line on which builds come: resolved by name, fetched by hash, from the byte on at which the last try ended.

use std::sync::Arc;
use std::time::Duration;

use mainstay_core::slot::ConfigurationRef;
use mainstay_wire::builds::proto::builds_client::BuildsClient;
use mainstay_wire::builds::proto::{FetchRequest, ResolveRequest};
use mainstay_wire::builds::{CHUNK_BYTES_MAX, CREDENTIAL_HEADER, ContentHash, Resolved};
use sha2::Digest as _;
use tokio::time::timeout;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::transport::Channel;
use tonic::{Request, Status};

use super::cache::{self, Cache, Object, Reference};
use super::failure::BuildError;
use crate::config::Plane;
use crate::pass::{Pass, connect};

/// How long the control plane may take to say what a configuration is made of: it may have to read a folder of many GB
/// first, and says so then.
const RESOLVED_WITHIN: Duration = Duration::from_secs(60);
/// How long no byte may come before a fetch counts as broken.
const SILENT_MAX: Duration = Duration::from_secs(30);

/// A connection for builds.
#[derive(Clone)]
pub(super) struct Line {
    client: BuildsClient<Channel>,
    bearer: MetadataValue<Ascii>,
}

impl Line {
    pub(super) async fn open(plane: &Plane) -> Result<Self, BuildError> {
        let ca = match &plane.pass {
            Pass::Host(_) => None,
            Pass::Machine(pass) => Some(pass.ca()),
        };
        let channel = connect(&plane.uri, ca).await?;
        // A little more than a chunk: its message has a few bytes around it.
        let client = BuildsClient::new(channel).max_decoding_message_size(2 * CHUNK_BYTES_MAX);
        let bearer = format!("Bearer {}", plane.pass.shown());
        let wrong = |_| {
            BuildError::Refused(Status::unauthenticated("what this agent would show is no header's text"))
        };
        let mut bearer: MetadataValue<Ascii> = bearer.parse().map_err(wrong)?;
        bearer.set_sensitive(true);
        Ok(Self { client, bearer })
    }

    fn ask<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert(CREDENTIAL_HEADER, self.bearer.clone());
        request
    }

    /// What a configuration's revision is made of.
    pub(super) async fn resolve(&self, configuration: ConfigurationRef) -> Result<Reference, BuildError> {
        let mut client = self.client.clone();
        let answer = timeout(RESOLVED_WITHIN, client.resolve(self.ask(ResolveRequest::from(configuration))));
        let silent = |_| BuildError::Silent(RESOLVED_WITHIN.as_secs());
        let resolved = answer.await.map_err(silent)?.map_err(BuildError::Refused)?;
        Ok(Resolved::try_from(resolved.into_inner())?.into())
    }

    /// Fetches bytes of which there are at most `size`, on top of those that have come already; returns when the object is
    /// here, whole and synced. `came` hears of every byte that counts.
    pub(super) async fn fetch(
        &self,
        cache: &Arc<Cache>,
        object: Object,
        size: Size,
        came: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), BuildError> {
        let begun = on_disk(cache, move |cache| {
            let (hash, have) = cache.come(object)?;
            if have > size.most() {
                cache.drop_partial(object)?;
                return Ok((sha2::Sha256::new(), 0, cache.append(object)?));
            }
            Ok((hash, have, cache.append(object)?))
        });
        let (mut hash, mut have, mut file) = begun.await?;
        came(have);
        if !size.is_whole(have) {
            let mut client = self.client.clone();
            let request = FetchRequest { sha256: object.hash.bytes().to_vec(), from: have };
            let opened = timeout(SILENT_MAX, client.fetch(self.ask(request)));
            let mut chunks = opened.await.map_err(silent)?.map_err(BuildError::Refused)?.into_inner();
            while let Some(chunk) =
                timeout(SILENT_MAX, chunks.message()).await.map_err(silent)?.map_err(BuildError::Refused)?
            {
                have = have.saturating_add(chunk.data.len() as u64);
                if have > size.most() {
                    on_disk(cache, move |cache| cache.drop_partial(object)).await?;
                    return Err(BuildError::TooMuch { wanted: object.hash, size: size.most() });
                }
                came(chunk.data.len() as u64);
                (hash, file) = on_disk(cache, move |cache| {
                    let failed = BuildError::files("write", cache.partial(object));
                    cache::write(&mut file, &chunk.data).map_err(failed)?;
                    hash.update(&chunk.data);
                    Ok((hash, file))
                })
                .await?;
            }
            if size.is_short(have) {
                return Err(BuildError::Cut { have, size: size.most() });
            }
        }
        on_disk(cache, move |cache| {
            let found = ContentHash::of(hash.finalize().into());
            if found != object.hash {
                cache.drop_partial(object)?;
                return Err(BuildError::Differs { wanted: object.hash, found });
            }
            cache.keep(object)
        })
        .await
    }
}

/// How many bytes are expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Size {
    /// So many.
    Exactly(u64),
    /// Whatever comes, and no more than this.
    AtMost(u64),
}

impl Size {
    const fn most(self) -> u64 {
        match self {
            Self::Exactly(size) | Self::AtMost(size) => size,
        }
    }

    fn is_whole(self, have: u64) -> bool {
        self == Self::Exactly(have)
    }

    const fn is_short(self, have: u64) -> bool {
        match self {
            Self::Exactly(size) => have < size,
            Self::AtMost(_) => false,
        }
    }
}

fn silent(_elapsed: tokio::time::error::Elapsed) -> BuildError {
    BuildError::Silent(SILENT_MAX.as_secs())
}

/// Work that waits for the disk, on a thread of its own.
pub(super) async fn on_disk<T: Send + 'static>(
    cache: &Arc<Cache>,
    work: impl FnOnce(&Cache) -> Result<T, BuildError> + Send + 'static,
) -> Result<T, BuildError> {
    let cache = Arc::clone(cache);
    match tokio::task::spawn_blocking(move || work(&cache)).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Cancelled: the process is ending.
            Err(_) => std::future::pending().await,
        },
    }
}
