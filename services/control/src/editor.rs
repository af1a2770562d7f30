//! Changes the catalog: the one way, for the files of a start, the native API and the admin API alike.
//!
//! A change is answered once it is durable and every fleet has durably taken what the catalog says of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use mainstay_core::FleetNumber;
use mainstay_fleet::catalog::{Catalog, CatalogCommand, CatalogRejection, Declaration, Edit};
use mainstay_runtime::{Growth, Handle};

use crate::error::ApplyError;
use crate::shards::Configured;

/// How often a change is made anew because another came between: each time one of the others got through, so this many
/// would have to be lucky in a row.
const TRIES_MAX: usize = 16;

/// The catalog, and what the fleets have of it.
#[derive(Debug, Clone)]
pub(crate) struct Editor {
    catalog: Handle<Catalog>,
    configured: Configured,
}

impl Editor {
    pub(crate) const fn new(catalog: Handle<Catalog>, configured: Configured) -> Self {
        Self { catalog, configured }
    }

    /// Has these builds, build configurations and fleets.
    ///
    /// # Errors
    /// Where the catalog refuses or gives no answer.
    pub(crate) async fn declare(&self, declaration: Declaration, edit: Edit) -> Result<(), ApplyError> {
        self.change(CatalogCommand::Declare { declaration: Arc::new(declaration), edit }).await
    }

    /// Any change.
    ///
    /// # Errors
    /// Where the catalog refuses or gives no answer.
    pub(crate) async fn change(&self, command: CatalogCommand) -> Result<(), ApplyError> {
        self.catalog.command(command, Growth::Grows).await??;
        Ok(self.all_configured().await?)
    }

    /// A change that is composed from what the catalog says, by `compose`, which gets the revision to make it for; composed
    /// anew where another change came between.
    ///
    /// # Errors
    /// What `compose` refuses, and where the catalog refuses or gives no answer.
    pub(crate) async fn edit<E>(
        &self,
        compose: impl Fn(&Catalog) -> Result<CatalogCommand, E> + Clone + Send + 'static,
    ) -> Result<(), E>
    where
        E: From<ApplyError> + Send + 'static,
    {
        let mut tries = 1;
        loop {
            let compose = compose.clone();
            let composed = self.catalog.query(move |catalog, _| compose(catalog)).await;
            let command = composed.map_err(|error| E::from(error.into()))??;
            match self.change(command).await {
                Err(ApplyError::Refused(CatalogRejection::Outdated { .. })) if tries < TRIES_MAX => {
                    tries += 1
                }
                changed => return changed.map_err(E::from),
            }
        }
    }

    /// Waits until every fleet has durably taken what the catalog says of it.
    ///
    /// # Errors
    /// Where the catalog gives no answer, or fleets are no longer configured.
    pub(crate) async fn all_configured(&self) -> Result<(), mainstay_runtime::Error> {
        let wanted = self
            .catalog
            .query(|catalog, _| catalog.fleets().map(|spec| (spec.number, spec.revision)).collect::<Vec<_>>())
            .await?;
        let mut configured = self.configured.clone();
        let all = |has: &BTreeMap<FleetNumber, u64>| {
            wanted.iter().all(|(number, revision)| has.get(number).is_some_and(|has| has >= revision))
        };
        match configured.wait_for(all).await {
            Ok(_all) => Ok(()),
            Err(_keeper_ended) => Err(mainstay_runtime::Error::Stopping),
        }
    }
}
