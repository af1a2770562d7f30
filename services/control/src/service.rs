//! Starts a control plane, and ends it.

use std::net::SocketAddr;
use std::sync::Arc;

use mainstay_fleet::catalog::{Catalog, CatalogCommand, CredentialDeclaration, Declaration, Edit};
use mainstay_journal::ShardName;
use mainstay_runtime::{Growth, MAILBOX_MAX, Shard, StoredCodec};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::Server;

use crate::chronicle::Told;
use crate::config::Config;
use crate::editor::Editor;
use crate::error::{ApplyError, StartError};
use crate::http::{Access, App, TokenKeys, raised, router, serve, sha256};
use crate::samples::Samples;
use crate::shards::{CATALOG, CatalogHands, Fleets, Keeper, catalog_due};
use crate::store::Store;
use crate::streams::{Outboxes, PING_INTERVAL, PING_WITHIN, Streams};

/// How long shutting down waits for calls that are being answered.
const FAREWELL: std::time::Duration = std::time::Duration::from_secs(5);

/// Who changes the catalog where nobody asked by a call: the files a control plane is started with.
const ITSELF: &str = "start";

/// Starts control planes.
#[derive(Debug)]
pub struct Control;

/// A running control plane.
#[derive(Debug)]
pub struct Handle {
    api: SocketAddr,
    agents: SocketAddr,
    catalog: mainstay_runtime::Handle<Catalog>,
    editor: Editor,
    fleets: Fleets,
    closing: watch::Sender<bool>,
    failed: watch::Receiver<Option<Arc<str>>>,
    serving: Vec<JoinHandle<()>>,
}

impl Control {
    /// Binds, replays, opens every fleet the catalog lists, and serves.
    ///
    /// # Errors
    /// Where an address is taken, or what is stored cannot be read.
    pub async fn start(config: Config) -> Result<Handle, StartError> {
        let api = bind(config.listen.api).await?;
        let agents = bind(config.listen.agents).await?;
        let store = config.builds.as_deref().map(open_store).transpose()?;
        let (closing, closed) = watch::channel(false);
        let (fail, failed) = watch::channel(None);
        let (outboxes, fleets, samples) = (Outboxes::default(), Fleets::default(), Samples::default());

        let (keeper, hands, configured) = Keeper::new(
            config.journal.clone(),
            outboxes.clone(),
            fleets.clone(),
            Arc::clone(&config.metrics),
        );
        let catalog = start_catalog(&config, hands).await?;
        let keeping = tokio::spawn(keep(keeper, catalog.clone(), fail.clone()));
        let access = admit(&catalog, config.credentials).await?;

        let editor = Editor::new(catalog.clone(), configured);
        let mut handle = Handle {
            api: api.0,
            agents: agents.0,
            catalog: catalog.clone(),
            editor: editor.clone(),
            fleets: fleets.clone(),
            closing,
            failed,
            serving: vec![keeping],
        };
        handle.editor.all_configured().await?;

        let app = Arc::new(App {
            catalog,
            editor,
            fleets: fleets.clone(),
            access,
            tokens: TokenKeys::of(&config.join_token),
            clock: config.clock,
            project: config.project,
            environment: config.environment,
            logs: config.logs,
            machine: config.machine,
            metrics: config.metrics,
            told: Told::open(config.history.as_deref()),
            samples: samples.clone(),
            store,
        });
        handle.serving.push(tokio::spawn(samples.run(fleets.clone(), closed.clone())));
        let streams = Streams::new(fleets, outboxes, sha256(config.join_token.as_bytes()), closed.clone());
        handle.serving.push(tokio::spawn(serve(api.1, router(app), closed.clone())));
        handle.serving.push(tokio::spawn(serve_agents(agents.1, streams, closed, fail)));
        Ok(handle)
    }
}

impl Handle {
    /// Where the HTTP faces are.
    #[must_use]
    pub const fn api(&self) -> SocketAddr {
        self.api
    }

    /// Where agents connect.
    #[must_use]
    pub const fn agents(&self) -> SocketAddr {
        self.agents
    }

    /// Declares builds, build configurations and fleets; returns once every fleet has what the catalog says of it, so that
    /// machines may join.
    ///
    /// # Errors
    /// Where the catalog refuses or gives no answer.
    pub async fn apply(&self, declaration: Declaration) -> Result<(), ApplyError> {
        self.editor.declare(declaration, Edit::by(ITSELF)).await
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
        Ok(())
    }
}

fn open_store(folder: &std::path::Path) -> Result<Store, StartError> {
    Store::open(folder).map_err(|cause| StartError::Store { folder: folder.to_owned(), cause })
}

async fn bind(address: SocketAddr) -> Result<(SocketAddr, TcpListener), StartError> {
    let listen = |cause| StartError::Listen { address, cause };
    let listener = TcpListener::bind(address).await.map_err(listen)?;
    Ok((listener.local_addr().map_err(listen)?, listener))
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
    listener: TcpListener,
    streams: Streams,
    closed: watch::Receiver<bool>,
    fail: watch::Sender<Option<Arc<str>>>,
) {
    let served = Server::builder()
        .tcp_nodelay(true)
        .http2_keepalive_interval(Some(PING_INTERVAL))
        .http2_keepalive_timeout(Some(PING_WITHIN))
        .add_service(streams.into_service())
        .serve_with_incoming_shutdown(TcpListenerStream::new(listener), until(closed))
        .await;
    if let Err(error) = served {
        fail.send_replace(Some(format!("the agents' listener failed: {error}").into()));
    }
}

async fn until(mut closed: watch::Receiver<bool>) {
    raised(&mut closed).await;
}
