//! Multiplay's admin API (reference multiplay.md sections 1.2 and 3.9 to 3.11), under both of its path forms.
//!
//! Changes go through the catalog as everything else does; what is asked is judged in the same order as everywhere: who asks
//! (401), whether it can be read (400), whether they may (403), what is there (404), what the rules say (409, 424).

mod analytics;
mod builds;
mod call;
mod configurations;
mod fleets;
mod history;
mod logs;
mod machines;
mod order;
mod servers;
mod test_allocations;

use std::sync::Arc;

use axum::Router;
use axum::routing::MethodRouter;

use super::App;
pub(super) use call::Refused;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new()
        .merge(fleets::routes())
        .merge(analytics::routes())
        .merge(configurations::routes())
        .merge(builds::routes())
        .merge(servers::routes())
        .merge(logs::routes())
        .merge(machines::routes())
        .merge(test_allocations::routes())
}

/// Adds a resource of an area under the path form of Unity's C# client, and under that of its public gateway.
trait Area {
    fn area(self, area: &str, suffix: &str, methods: MethodRouter<Arc<App>>) -> Self;
}

impl Area for Router<Arc<App>> {
    fn area(self, area: &str, suffix: &str, methods: MethodRouter<Arc<App>>) -> Self {
        let place = format!("projects/{{project}}/environments/{{environment}}{suffix}");
        self.route(&format!("/api/multiplay/{area}/v4/{place}"), methods.clone())
            .route(&format!("/multiplay/{area}/v1/{place}"), methods)
    }
}
