//! Build configurations and builds with their files (reference 3.3 and 3.10).

use jiff::Timestamp as Instant;
use mainstay_core::slot::{Launch, ReadySignal, Spec};
use mainstay_fleet::catalog::{Build, Written};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::OS_FAMILY;
use crate::multiplay::instant;

/// A variable of a build configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigurationPair {
    /// Its place in the list; told, never asked.
    #[serde(default)]
    pub id: u64,
    /// Its name.
    pub key: String,
    /// Its value.
    pub value: String,
}

/// A build configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildConfigurationAnswer {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its build's id.
    #[serde(rename = "buildID")]
    pub build_id: u64,
    /// Its build's name.
    pub build_name: String,
    /// Its variables.
    pub configuration: Vec<ConfigurationPair>,
    /// sqp, a2s, none, or another protocol of ours.
    pub query_type: String,
    /// The executable, relative to the build.
    pub binary_path: String,
    /// Its arguments.
    pub command_line: String,
    /// Always 1, so that `cores` times `speed` is the limit. Deprecated by its makers.
    pub cores: u64,
    /// MHz a server may use, where a core has 1,000: thousandths of a core.
    pub speed: u64,
    /// MiB a server may use.
    pub memory: u64,
    /// Whether an allocation waits for its game's ready call.
    pub readiness: bool,
    /// Which revision.
    pub version: u64,
    /// When it was last changed.
    pub updated_at: Instant,
    /// When it was made.
    pub created_at: Instant,
}

/// A build configuration in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildConfigurationItem {
    /// Its id.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// Its build's id.
    #[serde(rename = "buildID")]
    pub build_id: u64,
    /// Its build's name.
    pub build_name: String,
    /// A fleet that has it.
    #[serde(rename = "fleetID", default, skip_serializing_if = "Option::is_none")]
    pub fleet_id: Option<Uuid>,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet_name: Option<String>,
    /// Which revision.
    pub version: u64,
    /// When it was last changed.
    pub updated_at: Instant,
    /// When it was made.
    pub created_at: Instant,
}

/// What a build configuration shall be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildConfigurationRequest {
    /// Its name.
    pub name: String,
    /// Its build's id.
    #[serde(rename = "buildID")]
    pub build_id: u64,
    /// Its variables; left out: as they are, and none of a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<Vec<ConfigurationPair>>,
    /// sqp, a2s, none, or another protocol of ours.
    pub query_type: String,
    /// The executable, relative to the build.
    pub binary_path: String,
    /// Its arguments.
    pub command_line: String,
    /// Cores a server may use. Deprecated by its makers: 0 or nothing leaves it as it is.
    #[serde(default)]
    pub cores: u64,
    /// MHz of each core.
    #[serde(default)]
    pub speed: u64,
    /// MiB.
    #[serde(default)]
    pub memory: u64,
    /// Whether an allocation waits for its game's ready call; left out: as it is, and not of a new one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readiness: Option<bool>,
}

impl BuildConfigurationAnswer {
    /// A build configuration, with its CPU limit in MHz.
    #[must_use]
    pub fn of(spec: &Spec, build_name: &str, speed: u64, written: Written) -> Self {
        let pairs = (0..).zip(&spec.launch.variables);
        Self {
            id: spec.configuration.id.number(),
            name: spec.name.to_string(),
            build_id: spec.build.number(),
            build_name: build_name.to_owned(),
            configuration: pairs
                .map(|(id, (key, value))| ConfigurationPair { id, key: key.clone(), value: value.clone() })
                .collect(),
            query_type: spec.query.as_ref().map_or_else(|| "none".to_owned(), |query| query.protocol.clone()),
            binary_path: spec.launch.binary.clone(),
            command_line: spec.launch.command_line.clone(),
            cores: 1,
            speed,
            memory: spec.limits.memory_mib.into(),
            readiness: matches!(spec.ready_signal, ReadySignal::Awaited),
            version: spec.configuration.revision.into(),
            updated_at: instant(written.updated),
            created_at: instant(written.created),
        }
    }
}

/// A bucket of Unity's content delivery; ours is the build itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ccd {
    /// Derived from the build's id.
    #[serde(rename = "bucketID")]
    pub bucket_id: Uuid,
}

/// A build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildAnswer {
    /// Its name.
    pub build_name: String,
    /// Its id.
    #[serde(rename = "buildID")]
    pub build_id: u64,
    /// FILE_UPLOAD, or CONTAINER where it is an image.
    pub build_type: String,
    /// Where its files are.
    pub ccd: Ccd,
    /// Its image, where it is a CONTAINER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
    /// Its newest version; 0 before the first.
    pub cfv: u32,
    /// PENDING before the first version, SYNCED after.
    pub sync_status: String,
    /// When it was last changed.
    pub updated: Instant,
    /// LINUX.
    pub os_family: String,
}

/// A build in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildItem {
    /// The build.
    #[serde(flatten)]
    pub build: BuildAnswer,
    /// How many build configurations start it.
    pub build_configurations: usize,
}

impl BuildAnswer {
    /// A build.
    #[must_use]
    pub fn of(build: &Build, written: Written, bucket: Uuid) -> Self {
        let place = build.declared.folder.as_str();
        let there = build.release.is_some() || !place.is_empty() && place != IMAGE_TO_COME;
        Self {
            build_name: build.declared.name.to_string(),
            build_id: build.id.number(),
            build_type: if Launch::is_image(&build.declared.folder) { "CONTAINER" } else { "FILE_UPLOAD" }
                .to_owned(),
            ccd: Ccd { bucket_id: bucket },
            container: Launch::is_image(&build.declared.folder)
                .then(|| Container { image_tag: build.declared.folder.clone() }),
            cfv: build.release.map_or(0, |release| release.version),
            sync_status: if there { "SYNCED" } else { "PENDING" }.to_owned(),
            updated: instant(written.updated),
            os_family: OS_FAMILY.to_owned(),
        }
    }
}

/// A build to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildCreate {
    /// Its name.
    pub build_name: String,
    /// LINUX, or not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub os_family: Option<String>,
    /// FILE_UPLOAD, which is also meant where it is left out, or CONTAINER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_type: Option<String>,
    /// The image of a CONTAINER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
}

/// The place of an image whose archive is not uploaded yet; once it is, its path follows.
pub const IMAGE_TO_COME: &str = "oci-archive:";

/// A container image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Where it is, as `image:` of a `mainstay.yaml` says: `docker://REGISTRY/NAME:TAG`, or on the control plane's disk
    /// `oci-archive:/FILE.tar[:NAME]` or `oci:/FOLDER[:NAME]`. A bare tag, as stock clients send: an archive of the OCI layout that
    /// is uploaded as the build's one file.
    pub image_tag: String,
}

/// What a build shall be called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildUpdate {
    /// Its name.
    pub build_name: String,
}

/// A version to be made of the files there are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionRequest {
    /// Whether allocated servers change at once.
    #[serde(default)]
    pub force_rollout: bool,
    /// Of a CONTAINER: the image of the new version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Container>,
}

/// A file to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildFileRequest {
    /// Its path within the build.
    pub path: String,
}

/// A file of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BuildFile {
    /// Its path within the build.
    pub path: String,
    /// MD5 of its bytes in hexadecimal; empty before they are there.
    pub content_hash: String,
    /// Whether its bytes are there.
    pub uploaded: bool,
    /// Where they are sent to, by PUT, without credentials, for an hour.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed_url: Option<String>,
}

/// A page of a build's files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildFiles {
    /// From which on.
    pub offset: usize,
    /// How many at most.
    pub limit: usize,
    /// By path.
    pub results: Vec<BuildFile>,
}

/// How far a build's newest version has come in one fleet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildInstall {
    /// Where its files are.
    pub ccd: Ccd,
    /// The fleet.
    pub fleet_name: String,
    /// Machines that have been told the newest.
    pub completed_machines: u64,
    /// Machines that have not.
    pub pending_machines: u64,
    /// Machines where it failed.
    pub failures: Vec<BuildInstallFailure>,
    /// By region.
    pub regions: Vec<BuildInstallRegion>,
}

/// A machine where an installation failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInstallFailure {
    /// Which.
    #[serde(rename = "machineID")]
    pub machine_id: u64,
    /// Why.
    pub reason: String,
    /// When.
    pub updated: Instant,
}

/// How far in one region.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BuildInstallRegion {
    /// Which.
    pub region_name: String,
    /// Machines that have been told the newest.
    pub completed_machines: u64,
    /// Machines that have not.
    pub pending_machines: u64,
    /// Machines where it failed.
    pub failures: u64,
}
