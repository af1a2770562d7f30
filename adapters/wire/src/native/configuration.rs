//! The configuration: builds, build configurations and fleets as the catalog has them, and what is wrong with one sent.

use jiff::Timestamp as Instant;
use mainstay_core::FleetId;
use mainstay_fleet::FleetSpec;
use mainstay_fleet::catalog::{Build, Catalog};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::BuildConfigurationView;
use crate::multiplay::instant;

/// What the catalog has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigurationView {
    /// How often it was changed.
    pub revision: u64,
    /// Who changed it last: a credential's key id, or `start` for the files of `up`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_by: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub changed_at: Option<Instant>,
    /// Builds, by name.
    pub builds: Vec<BuildView>,
    /// Build configurations, by name.
    pub build_configurations: Vec<BuildConfigurationView>,
    /// Fleets, in the order they were first declared.
    pub fleets: Vec<FleetName>,
    /// The queues that what was sent has set, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<String>,
    /// What was probably not meant so, in what was sent; the form of `mainstay check -o json`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<serde_json::Value>,
}

/// A build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildView {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Where machines find it; absent before its first release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Its newest release, where its files were uploaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

/// A fleet, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FleetName {
    /// Its id.
    #[schema(value_type = String, format = "uuid")]
    pub id: FleetId,
    /// Its name.
    pub name: String,
    /// The high half of its servers' ids.
    pub number: u32,
    /// Raised by each change of it.
    pub revision: u64,
}

impl ConfigurationView {
    /// What a catalog has.
    #[must_use]
    pub fn of(catalog: &Catalog) -> Self {
        let revision = catalog.revision();
        let changed = revision.number > 0;
        Self {
            revision: revision.number,
            changed_by: changed.then(|| revision.by.to_string()),
            changed_at: changed.then(|| instant(revision.at)),
            builds: catalog.builds().map(BuildView::of).collect(),
            build_configurations: catalog.configurations().map(BuildConfigurationView::of).collect(),
            fleets: catalog.fleets().map(|spec| FleetName::of(spec)).collect(),
            queues: Vec::new(),
            warnings: Vec::new(),
        }
    }
}

impl BuildView {
    fn of(build: &Build) -> Self {
        let folder = &build.declared.folder;
        Self {
            id: build.id.number(),
            name: build.declared.name.to_string(),
            folder: (!folder.is_empty()).then(|| folder.clone()),
            version: build.release.map(|release| release.version),
        }
    }
}

impl FleetName {
    fn of(spec: &FleetSpec) -> Self {
        Self { id: spec.id, name: spec.name.to_string(), number: spec.number.get(), revision: spec.revision }
    }
}
