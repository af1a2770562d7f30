//! The face from its configuration: who the title is, where its players' objects are kept, and who calls it where.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use mainstay_core::StateMachine;
use mainstay_journal::ShardName;
use mainstay_players::Players;
use mainstay_runtime::{Clock, Handle, JournalHandle, MAILBOX_MAX, NoHands, Shard, StoredCodec};
use tokio::net::TcpListener;

use super::{Face, Logins, router};
use crate::doors;
use crate::error::StartError;
use crate::http::TokenKeys;
use crate::identity::{Identity, Title};
use crate::queues::Queues;
use crate::shards::PLAYERS;

/// How PlayFab's SDKs are served.
#[derive(Debug, Clone)]
pub struct PlayFab {
    /// Where. Port 0 takes a free one. As the other faces: loopback is answered in the clear, whoever comes from elsewhere must
    /// speak TLS.
    pub listen: Vec<SocketAddr>,
    /// Who the title is.
    pub title: Title,
    /// Whether players may say by themselves who they are.
    pub logins: Logins,
}

/// What is served, and where.
pub(crate) struct Opened {
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) router: Router,
    pub(crate) identity: Arc<Identity>,
}

/// What players have stored, replayed.
pub(crate) async fn players(journal: &JournalHandle) -> Result<Handle<Players>, StartError> {
    let started = Shard::start(mainstay_runtime::Config {
        name: ShardName::new(PLAYERS).expect("`players/0` is a shard name"),
        journal: journal.clone(),
        initial: Players::default(),
        codec: StoredCodec,
        hands: NoHands,
        due: players_due,
        mailbox_max: MAILBOX_MAX,
    });
    Ok(started.await?)
}

impl PlayFab {
    /// Binds, and reads the title's keys.
    pub(crate) async fn open(
        self,
        (queues, players): (Queues, Handle<Players>),
        clock: &Arc<dyn Clock>,
        tokens: Arc<TokenKeys>,
    ) -> Result<Opened, StartError> {
        let listeners = doors::bind(&self.listen)?;
        let (title, now) = (self.title, clock.now());
        let opened = tokio::task::spawn_blocking(move || Identity::open(title, now)).await;
        let identity = Arc::new(opened.map_err(|_| StartError::Thread)??);
        let face =
            Face::new((Arc::clone(&identity), self.logins, tokens), queues, players, Arc::clone(clock));
        Ok(Opened { listeners, router: router(Arc::new(face)), identity })
    }
}

/// Stored objects have no deadlines.
const fn players_due(why: <Players as StateMachine>::Why) -> <Players as StateMachine>::Command {
    match why {}
}
