//! The lobby of a running control plane: its shard, the key it signs with, who watches, and how often who may ask.
//!
//! A certificate is made of durable state alone and signed when somebody is told of it: what a query reads is durable before it is
//! answered, so no certificate comes before its grant, and none is lost with the process.

mod limits;
mod signer;
mod watched;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::{SessionId, Timestamp};
use mainstay_journal::ShardName;
use mainstay_lobby::{Command, Lease, Lobby, PeerKey, Player, Rejection, Service, Session, Support};
use mainstay_runtime::{Growth, Handle, JournalHandle, MAILBOX_MAX, Reply, Shard, StoredCodec};
use mainstay_wire::lobby::{Certificate, LobbyKey, Pass, Receipt, text};
use mainstay_wire::native::{Addresses, CertificateView, LobbyView, Look, PassView, RelayView, SessionView};

pub(crate) use self::limits::Limits;
pub use self::signer::KeyError;
use self::signer::Signer;
use self::watched::LobbyHands;
pub(crate) use self::watched::{Watched, Watcher, Watching};
use crate::error::StartError;
use crate::relay::Tickets;

/// The name of the lobby's shard: the first slice, and for now the only one.
pub(crate) const LOBBY: &str = "lobby/0";

/// What the relay's secret is made for.
const RELAY_SECRET: &[u8] = b"relay tickets 1";

/// How a lobby is served.
#[derive(Debug, Clone)]
pub struct LobbyConfig {
    /// The folder of its key, for its owner's eyes alone; made where there is none.
    pub dir: PathBuf,
    /// Whether players may say by themselves who they are.
    pub logins: crate::playfab::Logins,
    /// How long tokens and passes of members last, by service; of one that is not named for [`mainstay_config::PASS_LIFE`].
    pub pass_lives: BTreeMap<Service, Duration>,
}

/// The lobby of a running control plane.
#[derive(Debug, Clone)]
pub(crate) struct Lobbies {
    shard: Handle<Lobby>,
    signer: Arc<Signer>,
    watched: Watched,
    limits: Arc<Limits>,
    logins: crate::playfab::Logins,
    pass_lives: Arc<BTreeMap<Service, Duration>>,
    offers: Offers,
    tickets: Tickets,
}

/// What a lobby sends peers to, so that they reach each other.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Offers {
    /// Where they ask how they are seen.
    pub(crate) stun: Option<SocketAddr>,
    /// What carries for them.
    pub(crate) relay: Option<SocketAddr>,
}

impl Lobbies {
    /// Reads the key, and replays the shard.
    pub(crate) async fn open(
        config: LobbyConfig,
        journal: &JournalHandle,
        offers: Offers,
    ) -> Result<Self, StartError> {
        let LobbyConfig { dir, logins, pass_lives } = config;
        let opened = tokio::task::spawn_blocking(move || Signer::open(&dir)).await;
        let signer = Arc::new(opened.map_err(|_| StartError::Thread)??);
        let tickets = Tickets::new(&signer.secret(RELAY_SECRET));
        let watched = Watched::default();
        let shard = Shard::start(mainstay_runtime::Config {
            name: ShardName::new(LOBBY).expect("`lobby/0` is a shard name"),
            journal: journal.clone(),
            initial: Lobby::default(),
            codec: StoredCodec,
            hands: LobbyHands::new(watched.clone()),
            due: |_why| Command::Due,
            mailbox_max: MAILBOX_MAX,
        })
        .await?;
        let (limits, pass_lives) = (Arc::new(Limits::new()), Arc::new(pass_lives));
        Ok(Self { shard, signer, watched, limits, logins, pass_lives, offers, tickets })
    }

    /// The shard itself.
    pub(crate) const fn shard(&self) -> &Handle<Lobby> {
        &self.shard
    }

    /// Who waits for news of sessions.
    pub(crate) const fn watched(&self) -> &Watched {
        &self.watched
    }

    /// How often who may ask what.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether players may say by themselves who they are.
    pub(crate) const fn logins(&self) -> crate::playfab::Logins {
        self.logins
    }

    /// How long what a member of its sessions is given lasts.
    pub(crate) fn pass_life(&self, service: Service) -> Duration {
        self.pass_lives.get(&service).copied().unwrap_or(mainstay_config::PASS_LIFE)
    }

    /// What is told of a lobby service.
    pub(crate) fn service(&self, service: Service, support: Support) -> LobbyView {
        LobbyView::of(service, support, &self.key(), self.offers.stun)
    }

    /// What certificates and passes are signed with.
    pub(crate) fn key(&self) -> LobbyKey {
        self.signer.key()
    }

    /// What lets members of its sessions be carried for.
    pub(crate) const fn tickets(&self) -> &Tickets {
        &self.tickets
    }

    /// A member's place at the relay, if there is one.
    pub(crate) fn relay(&self, session: SessionId, peer: &PeerKey) -> Option<RelayView> {
        self.offers.relay.map(|address| RelayView::of(address, &self.tickets.of(session, peer)))
    }

    /// Asks; a full mailbox is an error. Answers once what was decided is durable.
    pub(crate) async fn ask(&self, command: Command) -> Result<Reply<Lobby>, mainstay_runtime::Error> {
        let growth = growth(&command);
        self.shard.try_command(command, growth).await
    }

    /// Has services support this from now on; others stay as they are.
    pub(crate) async fn set_all(
        &self,
        supports: Vec<(Service, Support)>,
    ) -> Result<(), mainstay_runtime::Error> {
        for (service, migration) in supports {
            let answered =
                self.shard.command(Command::Configure { service, migration }, Growth::Shrinks).await?;
            if let Err(rejection) = answered {
                tracing::error!(%service, %rejection, "a lobby refuses what it always takes; this is our bug");
            }
        }
        Ok(())
    }

    /// Reads the state once it is durable.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Lobby, Timestamp) -> T + Send + 'static,
    ) -> Result<T, mainstay_runtime::Error> {
        self.shard.query(read).await
    }

    /// A session that goes on, and how it stands.
    pub(crate) async fn look(
        &self,
        id: SessionId,
    ) -> Result<Result<Seen, Rejection>, mainstay_runtime::Error> {
        self.read(move |lobby, now| lobby.session(id).map(|session| Seen::of(lobby, session, now))).await
    }

    /// What is told of a session.
    pub(crate) fn view(&self, seen: &Seen, addresses: Addresses) -> SessionView {
        let look = Look {
            migrates: seen.migrates,
            lease: seen.lease,
            certificate: self.certificate(&seen.session),
            addresses,
        };
        SessionView::of(&seen.session, look)
    }

    /// The proof of a session's host. `session` is as it durably is.
    pub(crate) fn certificate(&self, session: &Session) -> Option<CertificateView> {
        session.grant.map(|grant| self.certified(session.id, &grant))
    }

    /// The proof of a grant that is durable.
    pub(crate) fn certified(&self, session: SessionId, grant: &mainstay_lobby::Grant) -> CertificateView {
        let certificate = Certificate { session, epoch: grant.epoch, host: grant.host };
        CertificateView::of(&certificate, &self.signer.sign(&certificate.signed_bytes()))
    }

    /// For a host: that a renewal of its has been counted which another brought.
    pub(crate) fn receipt(&self, receipt: &Receipt) -> String {
        text(&self.signer.sign(&receipt.signed_bytes()).0)
    }

    /// What a member shows to other peers.
    pub(crate) fn pass(
        &self,
        session: SessionId,
        peer: PeerKey,
        player: &Player,
        expires: Timestamp,
    ) -> PassView {
        let pass = Pass { session, peer, player: player.clone(), expires };
        PassView::of(&pass, &self.signer.sign(&pass.signed_bytes()))
    }
}

/// What the files say of lobby services.
#[must_use]
pub fn supports(config: &mainstay_config::Config) -> Vec<(Service, Support)> {
    let supports = |service: &Service| {
        let written = &config.lobbies.get(service.name())?.supports_host_migration;
        Some((*service, if written.value { Support::Supported } else { Support::Unsupported }))
    };
    Service::ALL.iter().filter_map(supports).collect()
}

/// How long the files have passes of lobby services last.
#[must_use]
pub fn pass_lives(config: &mainstay_config::Config) -> BTreeMap<Service, Duration> {
    let life = |service: &Service| Some((*service, config.lobbies.get(service.name())?.pass_life.value));
    Service::ALL.iter().filter_map(life).collect()
}

/// A session at a moment.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) session: Arc<Session>,
    pub(crate) lease: Lease,
    pub(crate) migrates: bool,
    /// [`Lobby::goes_on`].
    pub(crate) goes_on: Result<(), Rejection>,
    pub(crate) now: Timestamp,
}

impl Seen {
    pub(crate) fn of(lobby: &Lobby, session: &Arc<Session>, now: Timestamp) -> Self {
        Self {
            session: Arc::clone(session),
            lease: lobby.lease(session, now),
            migrates: lobby.moves(session).is_ok(),
            goes_on: lobby.goes_on(session, now),
            now,
        }
    }
}

/// What a command does to the size of what is stored.
pub(crate) const fn growth(command: &Command) -> Growth {
    match command {
        Command::Create { .. } | Command::Reserve { .. } | Command::Join { .. } | Command::Update { .. } => {
            Growth::Grows
        }
        // A session goes on without room, too: its next host takes the place of the one before.
        Command::Configure { .. }
        | Command::Withdraw { .. }
        | Command::Introduce { .. }
        | Command::Leave { .. }
        | Command::Kick { .. }
        | Command::Claim { .. }
        | Command::HandOver { .. }
        | Command::End { .. }
        | Command::Due => Growth::Shrinks,
    }
}
