//! The face from its configuration: who the title is, and who calls it where.

use std::sync::Arc;

use axum::Router;
use mainstay_runtime::Clock;
use tokio::net::TcpListener;

use super::{Face, Logins, router};
use crate::allowance::Allowance;
use crate::doors::{self, Door};
use crate::error::StartError;
use crate::http::TokenKeys;
use crate::identity::{Identity, Title};
use crate::metrics::Metrics;
use crate::objects::Objects;
use crate::queues::Queues;

/// How PlayFab's SDKs are served.
#[derive(Debug)]
pub struct PlayFab {
    /// Where. Port 0 takes a free one. As the other faces: loopback is answered in the clear, whoever comes from elsewhere must
    /// speak TLS.
    pub listen: Vec<Door>,
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

impl PlayFab {
    /// Binds, and reads the title's keys.
    pub(crate) async fn open(
        self,
        kept: (Queues, Objects),
        (clock, metrics): (&Arc<dyn Clock>, Arc<Metrics>),
        tokens: Arc<TokenKeys>,
        allowance: Arc<Allowance>,
    ) -> Result<Opened, StartError> {
        let listeners = doors::open(self.listen)?;
        let (title, now) = (self.title, clock.now());
        let opened = tokio::task::spawn_blocking(move || Identity::open(title, now)).await;
        let identity = Arc::new(opened.map_err(|_| StartError::Thread)??);
        let who = (Arc::clone(&identity), self.logins, tokens);
        let face = Face::new(who, allowance, kept, (Arc::clone(clock), metrics));
        Ok(Opened { listeners, router: router(Arc::new(face)), identity })
    }
}
