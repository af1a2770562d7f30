//! The HTTP faces: Multiplay's allocation API and the token exchange, and the native `/v1`.
//!
//! Every request goes the same way: who asks (401), whether what was sent can be read (400), whether they may (403), and
//! only then what the state says. Each face tells errors in its own shape, always with a code.

mod access;
mod admin;
mod crowd;
mod failure;
mod files;
mod heard;
mod listener;
mod metrics;
mod multiplay;
mod native;
mod pages;
mod room;
mod shape;
mod token;

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use mainstay_config::{MachineSize, Private};
use mainstay_fleet::catalog::Catalog;
use mainstay_runtime::{Clock, Handle, JournalHandle};
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;
use uuid::Uuid;

use crate::allowance::Allowance;
use crate::chronicle::Told;
use crate::config::LogTail;
use crate::doctor::HostChecks;
use crate::editor::Editor;
use crate::identity::Identity;
use crate::lobby::Lobbies;
use crate::metrics::Metrics;
use crate::objects::Objects;
use crate::providers::LastWords;
use crate::queues::Queues;
use crate::samples::Samples;
use crate::shards::Fleets;
use crate::store::Store;
use crate::streams::{Desk, Installing};

pub(crate) use access::{Access, sha256};
pub(crate) use failure::{CODE_HEADER, code_of, fix_of, request_id};
pub(crate) use listener::{accept, raised, serve};
pub(crate) use metrics::NO_ROUTE;
pub(crate) use native::matching::keep;
pub(crate) use pages::Pages;
pub(crate) use token::{Issuer, OfServer, TokenKeys};

/// What every handler needs.
pub(crate) struct App {
    pub(crate) catalog: Handle<Catalog>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) fleets: Fleets,
    pub(crate) queues: Queues,
    /// What players have stored.
    pub(crate) objects: Objects,
    /// Sessions that players host; `None`: there is no lobby.
    pub(crate) lobby: Option<Lobbies>,
    /// Who players are, where they log in.
    pub(crate) identity: Option<Arc<Identity>>,
    /// How often who shows an entity token may ask.
    pub(crate) allowance: Arc<Allowance>,
    pub(crate) access: Access,
    /// The accounts that the next start admits again.
    pub(crate) own_accounts: BTreeSet<String>,
    pub(crate) tokens: Arc<TokenKeys>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) project: Uuid,
    pub(crate) environment: Uuid,
    pub(crate) logs: Arc<dyn LogTail>,
    pub(crate) editor: Editor,
    pub(crate) machine: MachineSize,
    /// Why providers failed.
    pub(crate) last_words: LastWords,
    /// What no build may come from.
    pub(crate) private: Arc<Private>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) told: Told,
    pub(crate) samples: Samples,
    /// Where uploaded builds are; `None` where none are kept.
    pub(crate) store: Option<Store>,
    pub(crate) journal: JournalHandle,
    pub(crate) host: Arc<dyn HostChecks>,
    /// One examination at a time: each reads all that is kept.
    pub(crate) examining: Semaphore,
    /// One rehearsal at a time: they are for people who try rules, and of those that take long each takes a core from players.
    pub(crate) rehearsing: Arc<Semaphore>,
    /// How far machines are with what their servers run.
    pub(crate) installing: Installing,
}

/// Every call.
fn routes() -> Router<Arc<App>> {
    let (router, _document) = described().split_for_parts();
    router.merge(multiplay::routes()).merge(admin::routes())
}

/// Every call that is not Multiplay's, and what describes it.
fn described() -> OpenApiRouter<Arc<App>> {
    native::routes().merge(token::routes()).merge(metrics::routes()).merge(files::routes())
}

/// The largest body of a call that says nothing else: the largest allocation request. Beyond it nothing is read.
const BODY_BYTES_MAX: usize = mainstay_wire::multiplay::ALLOCATE_BODY_BYTES_MAX;

pub(crate) fn router(app: Arc<App>) -> Router {
    routes()
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), room::measured))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(axum::middleware::from_fn(shape::shaped))
        .layer(axum::middleware::from_fn_with_state(Arc::clone(&app), metrics::count))
        .with_state(app)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Where Multiplay's calls are, which its own documents describe.
    const MULTIPLAY: [&str; 3] = ["/v1/allocations/projects/", "/multiplay/", "/api/multiplay/"];

    /// The paths that the router itself has, as it lists them for debugging; it has no other way to say.
    fn served() -> BTreeSet<String> {
        let listed = format!("{:?}", routes());
        let (_, listed) = listed.split_once("Node { paths: {").expect("the router lists its paths");
        let (listed, _) = listed.split_once("} }").expect("the list ends");
        listed.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// Issue 3, point 8: "OpenAPI of the native API generated and served": neither the document nor the router has a path that
    /// the other does not have.
    #[test]
    fn every_path_of_the_router_is_described() {
        let ours = served().into_iter().filter(|path| !MULTIPLAY.iter().any(|root| path.starts_with(root)));
        let document = described().into_openapi();
        let described: BTreeSet<String> = document.paths.paths.keys().cloned().collect();
        assert_eq!(ours.collect::<BTreeSet<_>>(), described);
        for path in ["/metrics", "/v1/openapi.json", "/v1/files/{token}", "/auth/v1/token-exchange"] {
            assert!(described.contains(path), "{path}");
        }
    }
}
