//! The agents' streams: one gRPC call an agent, for as long as both live; and the desk where machines join.

mod asks;
mod builds;
mod desk;
mod installs;
mod joining;
mod looks;
mod outbox;
mod refusal;
mod session;

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mainstay_fleet::StreamId;
use mainstay_runtime::Clock;
use mainstay_wire::agent::proto::agent_link_server::{AgentLink, AgentLinkServer};
use mainstay_wire::agent::{MESSAGE_BYTES_MAX, proto};
use mainstay_wire::builds::proto::builds_server::BuildsServer;
use mainstay_wire::join::proto::machine_join_server::MachineJoinServer;
use tokio::sync::{Semaphore, watch};
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

use crate::doors::Peer;
use crate::http::{Issuer, TokenKeys};
use crate::metrics::Metrics;
use crate::publish::Publisher;
use crate::queues::Queues;
use crate::shards::Fleets;

pub(crate) use desk::Desk;
pub(crate) use installs::{Disks, Installing};
pub(crate) use looks::{Looking, Unseen};
pub(crate) use outbox::Outboxes;
pub(crate) use refusal::No;

/// The most agents at once. Each costs a task and two bounded queues, some 100 KB at worst; past this a fleet belongs on
/// several control planes.
pub(crate) const STREAMS_MAX: usize = 4_096;
/// How long a new stream may take to its hello, before its place is given to another.
pub(crate) const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// How often a quiet stream is tested, and how long the answer may take. With the 10 s together an agent that vanished
/// without a word is taken as gone well before its machine's servers would be missed.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(5);
/// See [`PING_INTERVAL`].
pub(crate) const PING_WITHIN: Duration = Duration::from_secs(5);

/// What streams are counted by, and what games that ask on them are given tokens with.
#[derive(Clone)]
pub(crate) struct Watching {
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tokens: Arc<TokenKeys>,
    pub(crate) issuer: Issuer,
    pub(crate) queues: Queues,
}

/// Accepts agents.
pub(crate) struct Streams {
    fleets: Fleets,
    outboxes: Outboxes,
    token_sha256: [u8; 32],
    desk: Arc<Desk>,
    watching: Watching,
    publisher: Publisher,
    installing: Installing,
    looking: Looking,
    next_stream: AtomicU64,
    places: Arc<Semaphore>,
    /// Becomes true when the control plane ends.
    closing: watch::Receiver<bool>,
}

impl Streams {
    pub(crate) fn new(
        fleets: Fleets,
        outboxes: Outboxes,
        token_sha256: [u8; 32],
        desk: Arc<Desk>,
        (publisher, installing, looking): (Publisher, Installing, Looking),
        closing: watch::Receiver<bool>,
        watching: Watching,
    ) -> Self {
        Self {
            fleets,
            outboxes,
            token_sha256,
            desk,
            watching,
            publisher,
            installing,
            looking,
            next_stream: AtomicU64::new(1),
            places: Arc::new(Semaphore::new(STREAMS_MAX)),
            closing,
        }
    }

    /// The agents' streams, the desk where machines join, and the one where they get builds.
    pub(crate) fn into_services(
        self,
    ) -> (AgentLinkServer<Self>, MachineJoinServer<joining::Joining>, BuildsServer<builds::BuildDesk>) {
        let join = MachineJoinServer::new(joining::Joining(Arc::clone(&self.desk)))
            .max_decoding_message_size(joining::REQUEST_BYTES_MAX);
        let (desk, fleets) = (Arc::clone(&self.desk), self.fleets.clone());
        let given = builds::BuildDesk::new(desk, fleets, self.publisher.clone(), self.token_sha256);
        let given = BuildsServer::new(given).max_decoding_message_size(builds::REQUEST_BYTES_MAX);
        let link = AgentLinkServer::new(self)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        (link, join, given)
    }
}

#[tonic::async_trait]
impl AgentLink for Streams {
    type ConnectStream = Pin<Box<dyn Stream<Item = Result<proto::Down, Status>> + Send>>;

    async fn connect(
        &self,
        request: Request<Streaming<proto::Up>>,
    ) -> Result<Response<Self::ConnectStream>, Status> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| {
            Status::resource_exhausted(format!("MS-S601: {STREAMS_MAX} agents are connected already"))
        })?;
        let stream = StreamId(self.next_stream.fetch_add(1, Ordering::Relaxed));
        let peer = request
            .extensions()
            .get::<Peer>()
            .copied()
            .ok_or_else(|| Status::internal("a stream came in by no door; this is our bug"))?;
        let (outbox, down) = self.outboxes.open(stream);
        let session = session::Session {
            stream,
            fleets: self.fleets.clone(),
            token_sha256: self.token_sha256,
            desk: Arc::clone(&self.desk),
            peer,
            outbox,
            installing: self.installing.clone(),
            looking: self.looking.clone(),
            closing: self.closing.clone(),
            watching: self.watching.clone(),
        };
        let outboxes = self.outboxes.clone();
        let up = request.into_inner();
        tokio::spawn(async move {
            session.run(up).await;
            outboxes.close(stream);
            drop(place);
        });
        Ok(Response::new(Box::pin(down)))
    }
}
