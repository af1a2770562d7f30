//! The PlayFab face: matchmaking as PlayFab's SDKs know it, and as much of logging in as they need.
//!
//! ```text
//!  door (path, method, body, envelope) ─▶ callers (tokens) ─▶ one file a group of calls ─▶ queues, players
//! ```
//!
//! Every call is a POST of JSON to the last two parts of its path, whatever stands before them, so that a title may have a prefix.
//! Every answer is an envelope, refusals too. Source: PlayFab's API specification, and decision 0041 where that is silent.

mod backfills;
mod call;
mod callers;
mod door;
mod inflated;
mod logins;
mod matches;
mod members;
mod objects;
mod opened;
mod queues;
mod refusal;
mod tickets;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use mainstay_core::Timestamp;
use mainstay_runtime::Clock;

pub(crate) use self::door::{BODY_BYTES_MAX, no_tls};
pub(crate) use self::opened::Opened;
pub use self::opened::PlayFab;
use crate::allowance::Allowance;
use crate::http::TokenKeys;
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::objects::Objects;
use crate::queues::Queues;

/// Whether players may say by themselves who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logins {
    /// They may: for games in the making, on this machine alone.
    Open,
    /// The title vouches for each.
    Vouched,
}

/// What every call needs.
struct Face {
    identity: Arc<Identity>,
    logins: Logins,
    queues: Queues,
    objects: Objects,
    clock: Arc<dyn Clock>,
    allowance: Arc<Allowance>,
    /// By which hosted processes are known.
    tokens: Arc<TokenKeys>,
    metrics: Arc<Metrics>,
}

impl Face {
    fn new(
        (identity, logins, tokens): (Arc<Identity>, Logins, Arc<TokenKeys>),
        allowance: Arc<Allowance>,
        (queues, objects): (Queues, Objects),
        (clock, metrics): (Arc<dyn Clock>, Arc<Metrics>),
    ) -> Self {
        Self { identity, logins, queues, objects, clock, allowance, tokens, metrics }
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

/// Every call.
fn router(face: Arc<Face>) -> Router {
    Router::new().fallback(door::open).layer(DefaultBodyLimit::max(BODY_BYTES_MAX)).with_state(face)
}
