//! Starts a control plane, and ends it.

use std::net::SocketAddr;
use std::sync::Arc;

use mainstay_config::Private;
use mainstay_fleet::FleetSpec;
use mainstay_fleet::catalog::{Catalog, CatalogCommand, CredentialDeclaration, Declaration, Edit};
use mainstay_journal::ShardName;
use mainstay_matchmaking::spec::QueueSpec;
use mainstay_runtime::{Growth, MAILBOX_MAX, Shard, StoredCodec};
use tokio::net::{TcpListener, UdpSocket};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

use crate::allowance::Allowance;
use crate::chronicle::Told;
use crate::config::{Config, Listen, Offered, as_told};
use crate::doors::{self, Guard, Refused, Wire};
use crate::editor::Editor;
use crate::error::{ApplyError, StartError};
use crate::far_files::FarFiles;
use crate::http::{Access, App, Issuer, TokenKeys, accept, raised, router, serve, sha256};
use crate::invitations::Invitations;
use crate::lobby::{Lobbies, Offers};
use crate::objects::Objects;
use crate::playfab::{self, Opened};
use crate::providers::{Errands, LastWords, Office};
use crate::publish::Publisher;
use crate::queues::{Placement, QueueError, Queues};
use crate::relay::Relay;
use crate::samples::Samples;
use crate::shards::{CATALOG, CatalogHands, Fleets, Keeper, catalog_due};
use crate::store::Store;
use crate::streams::{
    Desk, HELLO_WITHIN, Installing, Looking, Outboxes, PING_INTERVAL, PING_WITHIN, STREAMS_MAX, Streams,
    Watching,
};
use crate::stun::Stun;
use crate::tls::{Certificates, Tls};

/// How long shutting down waits for calls that are being answered.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(5);
/// The most connections of agents at once: one each, and some for those that only join.
const AGENT_CONNECTIONS_MAX: usize = STREAMS_MAX + 1_024;
/// Greeted connections on their way to the service that serves them.
const GREETED_MAX: usize = 64;

/// Who changes the catalog where nobody asked by a call: the files a control plane is started with.
const ITSELF: &str = "start";

/// Starts control planes.
#[derive(Debug)]
pub struct Control;

/// A running control plane.
#[derive(Debug)]
pub struct Handle {
    api: Vec<SocketAddr>,
    agents: Vec<SocketAddr>,
    ca: Option<mainstay_wire::join::CaPin>,
    catalog: mainstay_runtime::Handle<Catalog>,
    editor: Editor,
    fleets: Fleets,
    queues: Queues,
    playfab: Vec<SocketAddr>,
    objects: Objects,
    lobby: Option<Lobbies>,
    closing: watch::Sender<bool>,
    failed: watch::Receiver<Option<Arc<str>>>,
    serving: Vec<JoinHandle<()>>,
}

impl Control {
    /// Binds, replays, opens every fleet the catalog lists, and serves.
    ///
    /// # Errors
    /// Where an address is taken, or what is stored cannot be read.
    pub async fn start(mut config: Config) -> Result<Handle, StartError> {
        protected(&config)?;
        let synced = Arc::clone(&config.metrics);
        config.journal.hear_syncs(move |took| synced.synced(took));
        let certificates = certificates(config.tls.clone(), &config.clock).await?;
        let api = doors::open(std::mem::take(&mut config.listen.api))?;
        let agents = doors::open(std::mem::take(&mut config.listen.agents))?;
        let stun = match config.stun {
            Some(offered) => Some(Stun::bind(offered, &config.clock, &config.metrics).await?),
            None => None,
        };
        let relay = match config.relay {
            Some(Offered { bind: address, told }) => {
                let bound = UdpSocket::bind(address).await;
                Some((bound.map_err(|cause| StartError::Listen { address, cause })?, told))
            }
            None => None,
        };
        let store = config.builds.as_deref().map(open_store).transpose()?;
        let (closing, closed) = watch::channel(false);
        let (fail, failed) = watch::channel(None);
        let (outboxes, fleets, samples) = (Outboxes::default(), Fleets::default(), Samples::default());

        let (errands, owed) = Errands::channel();
        let invitations = Arc::new(Invitations::default());
        let (keeper, hands, configured) = Keeper::new(
            config.journal.clone(),
            (outboxes.clone(), errands),
            (fleets.clone(), Arc::clone(&invitations)),
            Arc::clone(&config.metrics),
        );
        let catalog = start_catalog(&config, hands).await?;
        let lobby = match config.lobby.take() {
            Some(lobby) => {
                let offers = Offers {
                    stun: stun.as_ref().and_then(Stun::address),
                    relay: relay.as_ref().map(|(socket, address)| as_told(*address, socket)),
                };
                Some(Lobbies::open(lobby, &config.journal, offers).await?)
            }
            None => None,
        };
        let relay = relay.zip(lobby.clone());
        let relay =
            relay.map(|((socket, _), lobby)| Relay::new(socket, lobby, &config.clock, &config.metrics));
        let placement = Placement::new(fleets.clone(), lobby.clone(), Arc::clone(&config.clock));
        let objects = Objects::open(&config.journal).await?;
        let read = (config.playfab_builds, objects.clone());
        let queues = Queues::open(config.journal.clone(), placement.clone(), read).await?;
        let tokens = Arc::new(TokenKeys::of(&config.join_token));
        let allowance = Arc::new(Allowance::new());
        let playfab = match config.playfab.take() {
            Some(playfab) => {
                let kept = (queues.clone(), objects.clone());
                let seen = (&config.clock, Arc::clone(&config.metrics));
                Some(playfab.open(kept, seen, Arc::clone(&tokens), Arc::clone(&allowance)).await?)
            }
            None => None,
        };
        let keeping = tokio::spawn(keep(keeper, catalog.clone(), fail.clone()));
        let own_accounts = config.credentials.iter().map(|own| own.key.to_string()).collect();
        let access = admit(&catalog, config.credentials).await?;

        let editor = Editor::new(catalog.clone(), configured);
        let mut handle = Handle {
            api: addresses(&api),
            agents: addresses(&agents),
            ca: certificates.as_ref().map(|certificates| certificates.pin()),
            catalog: catalog.clone(),
            editor: editor.clone(),
            fleets: fleets.clone(),
            queues: queues.clone(),
            playfab: playfab.as_ref().map(|open| addresses(&open.listeners)).unwrap_or_default(),
            objects: objects.clone(),
            lobby: lobby.clone(),
            closing,
            failed,
            serving: vec![keeping],
        };
        handle.editor.all_configured().await?;
        placement.begin();
        queues.tell_without_servers();

        let (faces, agents_tls) = match &certificates {
            Some(shown) => (Some(shown.of_faces()?), Some(shown.of_agents()?)),
            None => (None, None),
        };
        if let Some(certificates) = certificates {
            handle.serving.push(tokio::spawn(certificates.keep(Arc::clone(&config.clock), closed.clone())));
        }
        let desk = Arc::new(Desk::new(
            catalog.clone(),
            (fleets.clone(), invitations),
            outboxes.clone(),
            Arc::clone(&config.clock),
            handle.ca,
        ));
        let private = Arc::new(config.history.as_deref().map(Private::of).unwrap_or_default());
        let guarded = (Arc::clone(&config.clock), Arc::clone(&private));
        let publisher = Publisher::new(store.clone(), catalog.clone(), editor.clone(), guarded);
        let (installing, looking) = (Installing::default(), Looking::new(outboxes.clone()));
        // Of no consequence to a stop: whatever it has not looked at is looked at by the next start.
        let looked = publisher.clone();
        tokio::spawn(async move { looked.look_at_all().await });
        handle.serving.push(tokio::spawn(publisher.clone().sweep(fleets.clone(), closed.clone())));
        let last_words = LastWords::default();
        let office = Office {
            last_words: last_words.clone(),
            programs: config.providers,
            fleets: fleets.clone(),
            desk: Arc::clone(&desk),
            clock: Arc::clone(&config.clock),
            instance: config.environment,
            agents: handle.agents.clone(),
        };
        handle.serving.push(tokio::spawn(office.run(owed, closed.clone())));
        let identity = playfab.as_ref().map(|open| Arc::clone(&open.identity));
        if let Some(Opened { listeners, router, identity, .. }) = playfab {
            let guard = Guard { tls: faces.clone(), refuses: playfab::no_tls };
            handle.serving.push(tokio::spawn(identity.keep(Arc::clone(&config.clock), closed.clone())));
            handle.serving.push(tokio::spawn(serve(listeners, guard, router, closed.clone())));
        }
        let app = Arc::new(App {
            catalog,
            editor,
            installing: installing.clone(),
            last_words,
            desk: Arc::clone(&desk),
            fleets: fleets.clone(),
            queues: queues.clone(),
            objects,
            lobby,
            identity,
            allowance,
            access,
            own_accounts,
            tokens,
            clock: config.clock,
            project: config.project,
            environment: config.environment,
            logs: Arc::new(FarFiles::new(config.logs, fleets.clone(), looking.clone())),
            machine: config.machine,
            private,
            metrics: config.metrics,
            told: Told::open(config.history.as_deref()),
            samples: samples.clone(),
            store,
            journal: config.journal,
            host: config.host,
            examining: Semaphore::new(1),
            rehearsing: Arc::new(Semaphore::new(1)),
        });
        let sampling =
            samples.run(fleets.clone(), Arc::clone(&app.metrics), Arc::clone(&app.clock), closed.clone());
        handle.serving.push(tokio::spawn(sampling));
        let watching = Watching {
            metrics: Arc::clone(&app.metrics),
            clock: Arc::clone(&app.clock),
            tokens: Arc::clone(&app.tokens),
            issuer: Issuer { project: config.project, environment: config.environment },
            queues,
        };
        let streams = Streams::new(
            fleets,
            outboxes,
            sha256(config.join_token.as_bytes()),
            desk,
            (publisher, installing, looking),
            closed.clone(),
            watching,
        );
        let guard = Guard { tls: faces, refuses: Refused::natively };
        handle.serving.push(tokio::spawn(serve(api, guard, router(app), closed.clone())));
        if let Some(stun) = stun {
            handle.serving.push(tokio::spawn(stun.serve(closed.clone())));
        }
        if let Some(relay) = relay {
            handle.serving.push(tokio::spawn(relay.serve(closed.clone())));
        }
        let guard = Guard { tls: agents_tls, refuses: Refused::natively };
        handle.serving.push(tokio::spawn(serve_agents(agents, guard, streams, closed, fail)));
        Ok(handle)
    }
}

impl Handle {
    /// Where the HTTP faces are: the first address.
    #[must_use]
    pub fn api(&self) -> SocketAddr {
        first(&self.api)
    }

    /// Where agents connect: the first address.
    #[must_use]
    pub fn agents(&self) -> SocketAddr {
        first(&self.agents)
    }

    /// Where PlayFab's SDKs are served: the first address.
    #[must_use]
    pub fn playfab(&self) -> Option<SocketAddr> {
        self.playfab.first().copied()
    }

    /// What agents pin: the public key of the certificate authority; `None` without TLS.
    #[must_use]
    pub const fn ca(&self) -> Option<mainstay_wire::join::CaPin> {
        self.ca
    }

    /// Declares builds, build configurations and fleets; returns once every fleet has what the catalog says of it, so that
    /// machines may join.
    ///
    /// # Errors
    /// Where the catalog refuses or gives no answer.
    pub async fn apply(&self, declaration: Declaration) -> Result<(), ApplyError> {
        self.apply_before(declaration, &[]).await
    }

    /// The same, before these queues are set: they get their servers elsewhere after, so that nothing is kept for what they are now.
    ///
    /// # Errors
    /// Where the catalog refuses or gives no answer; and where other queues get their servers of what would be gone.
    pub async fn apply_before(
        &self,
        declaration: Declaration,
        queues: &[Arc<QueueSpec>],
    ) -> Result<(), ApplyError> {
        self.queues.keep(&declaration, queues)?;
        self.editor.declare(declaration, Edit::by(ITSELF)).await
    }

    /// Has queues match by these from now on; others stay as they are.
    ///
    /// # Errors
    /// Where one does not take it; those before it have.
    pub async fn set_queues(&self, specs: Vec<Arc<QueueSpec>>) -> Result<(), QueueError> {
        self.queues.set_all(specs).await
    }

    /// Has lobby services support this from now on; others stay as they are.
    ///
    /// # Errors
    /// Where the lobby gives no answer.
    pub async fn set_lobbies(
        &self,
        supports: Vec<(mainstay_lobby::Service, mainstay_lobby::Support)>,
    ) -> Result<(), mainstay_runtime::Error> {
        match &self.lobby {
            Some(lobby) => lobby.set_all(supports).await,
            None => Ok(()),
        }
    }

    /// Whether the configuration of this SHA-256 is another than was last taken whole at a start: one that is not, is not
    /// taken again, so that what was changed since by calls stays.
    ///
    /// # Errors
    /// Where the catalog gives no answer.
    pub async fn is_new(&self, configuration: [u8; 32]) -> Result<bool, mainstay_runtime::Error> {
        self.catalog.query(move |catalog, _| catalog.start_taken() != Some(configuration)).await
    }

    /// Everything of the configuration of this SHA-256 is taken; remembered durably.
    ///
    /// # Errors
    /// Where the catalog gives no answer.
    pub async fn taken(&self, configuration: [u8; 32]) -> Result<(), ApplyError> {
        self.catalog.command(CatalogCommand::TakeStart(configuration), Growth::Grows).await??;
        Ok(())
    }

    /// The longest that a server's stop takes before it is killed, of every build configuration there is.
    ///
    /// # Errors
    /// Where the catalog gives no answer.
    pub async fn longest_stop(&self) -> Result<std::time::Duration, mainstay_runtime::Error> {
        let longest = |catalog: &Catalog| catalog.configurations().map(|spec| spec.stop.kill_after).max();
        Ok(self.catalog.query(move |catalog, _| longest(catalog)).await?.unwrap_or_default())
    }

    /// Of each fleet there is, whatever declared it, its name and those of its regions.
    ///
    /// # Errors
    /// Where the catalog gives no answer.
    pub async fn regions(&self) -> Result<Vec<(String, Vec<String>)>, mainstay_runtime::Error> {
        let regions = |spec: &Arc<FleetSpec>| {
            (spec.name.to_string(), spec.regions.iter().map(|region| region.name.to_string()).collect())
        };
        self.catalog.query(move |catalog, _| catalog.fleets().map(regions).collect()).await
    }

    /// Waits until something failed that the process should end for; says what.
    pub async fn failed(&self) -> Arc<str> {
        let mut failed = self.failed.clone();
        match failed.wait_for(Option::is_some).await.map(|why| (*why).clone()) {
            Ok(Some(why)) => why,
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Takes no more calls, ends the agents' streams (their servers go on), and waits until everything accepted is durable
    /// and answered. The journal's thread is the caller's to stop after this.
    ///
    /// # Errors
    /// Where a shard's leadership ended first.
    pub async fn shutdown(self) -> Result<(), mainstay_runtime::Error> {
        self.closing.send_replace(true);
        let mut serving = self.serving.into_iter();
        let keeping = serving.next();
        let farewell = async {
            for task in serving {
                let _panicked = task.await;
            }
        };
        if tokio::time::timeout(FAREWELL, farewell).await.is_err() {
            tracing::warn!(within = ?FAREWELL, "some calls were not ended in time");
        }
        self.catalog.drain().await?;
        if let Some(keeping) = keeping {
            let _panicked = keeping.await;
        }
        for fleet in self.fleets.now().all() {
            fleet.shard.drain().await?;
        }
        self.queues.drain().await?;
        self.objects.drain().await?;
        if let Some(lobby) = self.lobby {
            lobby.shard().drain().await?;
        }
        Ok(())
    }
}

fn open_store(folder: &std::path::Path) -> Result<Store, StartError> {
    Store::open(folder).map_err(|cause| StartError::Store { folder: folder.to_owned(), cause })
}

/// Refuses to be heard beyond loopback in the clear.
fn protected(config: &Config) -> Result<(), StartError> {
    let Listen { api, agents } = &config.listen;
    if api.is_empty() || agents.is_empty() {
        return Err(StartError::Nowhere);
    }
    let playfab = config.playfab.iter().flat_map(|playfab| &playfab.listen);
    let mut all = api.iter().chain(agents).chain(playfab);
    match all.find(|door| config.tls.is_none() && !doors::is_loopback(door.address().ip())) {
        Some(door) => Err(StartError::Unprotected { address: door.address() }),
        None => Ok(()),
    }
}

async fn certificates(
    tls: Option<Tls>,
    clock: &Arc<dyn mainstay_runtime::Clock>,
) -> Result<Option<Arc<Certificates>>, StartError> {
    let Some(tls) = tls else { return Ok(None) };
    let now = clock.now();
    let opened = tokio::task::spawn_blocking(move || Certificates::open(&tls, now)).await;
    Ok(Some(Arc::new(opened.map_err(|_| StartError::Thread)??)))
}

fn addresses(listeners: &[TcpListener]) -> Vec<SocketAddr> {
    // A listener that is bound has an address.
    listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
}

fn first(addresses: &[SocketAddr]) -> SocketAddr {
    addresses.first().copied().unwrap_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)))
}

async fn start_catalog(
    config: &Config,
    hands: CatalogHands,
) -> Result<mainstay_runtime::Handle<Catalog>, StartError> {
    Ok(Shard::start(mainstay_runtime::Config {
        name: ShardName::new(CATALOG).expect("`catalog` is a shard name"),
        journal: config.journal.clone(),
        initial: Catalog::default(),
        codec: StoredCodec,
        hands,
        due: catalog_due,
        mailbox_max: MAILBOX_MAX,
    })
    .await?)
}

/// Makes credentials durable in the catalog, and gives everything it knows to those who check.
async fn admit(
    catalog: &mainstay_runtime::Handle<Catalog>,
    credentials: Vec<CredentialDeclaration>,
) -> Result<Access, StartError> {
    for credential in credentials {
        let admitted = catalog.command(CatalogCommand::Admit(credential), Growth::Grows).await?;
        admitted.map_err(StartError::Credential)?;
    }
    let known = catalog.query(|catalog, _| catalog.credentials().cloned().collect::<Vec<_>>()).await?;
    Ok(Access::new(known))
}

async fn keep(
    keeper: Keeper,
    catalog: mainstay_runtime::Handle<Catalog>,
    fail: watch::Sender<Option<Arc<str>>>,
) {
    if let Err(error) = keeper.run(catalog).await {
        let mut why = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(below) = cause {
            why = format!("{why}: {below}");
            cause = below.source();
        }
        fail.send_replace(Some(why.into()));
    }
}

async fn serve_agents(
    listeners: Vec<TcpListener>,
    guard: Guard,
    streams: Streams,
    closed: watch::Receiver<bool>,
    fail: watch::Sender<Option<Arc<str>>>,
) {
    let (greeted, wires) = mpsc::channel(GREETED_MAX);
    let places = Arc::new(Semaphore::new(AGENT_CONNECTIONS_MAX));
    for listener in listeners {
        let closed = closed.clone();
        tokio::spawn(greet_agents(listener, guard.clone(), Arc::clone(&places), greeted.clone(), closed));
    }
    drop(greeted);
    let (link, join, given) = streams.into_services();
    let served = Server::builder()
        .tcp_nodelay(true)
        .http2_keepalive_interval(Some(PING_INTERVAL))
        .http2_keepalive_timeout(Some(PING_WITHIN))
        .add_service(link)
        .add_service(join)
        .add_service(given)
        .serve_with_incoming_shutdown(ReceiverStream::new(wires), until(closed))
        .await;
    if let Err(error) = served {
        fail.send_replace(Some(format!("the agents' listener failed: {error}").into()));
    }
}

async fn greet_agents(
    listener: TcpListener,
    guard: Guard,
    places: Arc<Semaphore>,
    greeted: mpsc::Sender<std::io::Result<Wire>>,
    mut closed: watch::Receiver<bool>,
) {
    loop {
        let (stream, place) = tokio::select! {
            () = raised(&mut closed) => return,
            accepted = accept(&listener, &places) => accepted,
        };
        let (guard, greeted) = (guard.clone(), greeted.clone());
        tokio::spawn(async move {
            if let Some(wire) = doors::greet(stream, place, &guard, HELLO_WITHIN).await {
                // Nobody serves any more: the control plane is ending.
                let _ending = greeted.send(Ok(wire)).await;
            }
        });
    }
}

async fn until(mut closed: watch::Receiver<bool>) {
    raised(&mut closed).await;
}
