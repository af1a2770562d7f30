//! How machines get what their servers run: `proto/builds.proto`, hashes of content, and manifests of builds.

mod hash;
mod image;
mod manifest;
mod path;

pub use hash::{ContentHash, HashError};
pub use image::{IMAGE_MANIFEST_BYTES_MAX, ImageConfig, ImageError, ImageManifest, Layer, LayerForm};
pub use manifest::{
    BUILD_BYTES_MAX, FILES_MAX, LinkEntry, MANIFEST_BYTES_MAX, Manifest, ManifestError, ManifestFile,
};
pub use path::{PATH_BYTES_MAX, PathError, SEGMENT_BYTES_MAX, checked_path};

use mainstay_core::BuildConfigurationId;
use mainstay_core::slot::ConfigurationRef;

use crate::agent::Malformed;

/// What travels, generated from `proto/builds.proto`.
#[expect(missing_docs, reason = "generated; every message is described in builds.proto")]
#[expect(clippy::allow_attributes, reason = "tonic writes this module")]
pub mod proto {
    tonic::include_proto!("mainstay.builds.v1");
}

/// The largest single file: the largest files of games are archives of some GB.
pub const FILE_BYTES_MAX: u64 = 16 << 30;
/// How many bytes one chunk has at most: large enough that its message costs nothing beside it, small enough that a
/// hundred fetches at once hold no more than some tens of MB.
pub const CHUNK_BYTES_MAX: usize = 256 << 10;
/// The header that carries a machine's credential, or the host's secret, after `Bearer `.
pub const CREDENTIAL_HEADER: &str = "authorization";
/// The header of a refusal that carries its code.
pub const CODE_HEADER: &str = "mainstay-code";

/// What a build configuration's revision is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resolved {
    /// Files, by the hash of their [`Manifest`].
    Files(ContentHash),
    /// An OCI image, by the hash of its manifest.
    Image(ContentHash),
    /// What every machine has on its own disk.
    InPlace,
}

impl From<Resolved> for proto::Resolved {
    fn from(resolved: Resolved) -> Self {
        use proto::resolved::Form;
        let package = |hash: ContentHash| proto::Package { manifest: hash.bytes().to_vec() };
        let form = match resolved {
            Resolved::Files(hash) => Form::Files(package(hash)),
            Resolved::Image(hash) => Form::Image(package(hash)),
            Resolved::InPlace => Form::InPlace(proto::InPlace {}),
        };
        Self { form: Some(form) }
    }
}

impl TryFrom<proto::Resolved> for Resolved {
    type Error = Malformed;

    fn try_from(resolved: proto::Resolved) -> Result<Self, Malformed> {
        use proto::resolved::Form;
        let missing = Malformed::Missing { message: "Resolved", field: "form" };
        match resolved.form.ok_or(missing)? {
            Form::Files(package) => Ok(Self::Files(hash(&package.manifest, "Package", "manifest")?)),
            Form::Image(package) => Ok(Self::Image(hash(&package.manifest, "Package", "manifest")?)),
            Form::InPlace(proto::InPlace {}) => Ok(Self::InPlace),
        }
    }
}

impl From<ConfigurationRef> for proto::ResolveRequest {
    fn from(configuration: ConfigurationRef) -> Self {
        Self { configuration: configuration.id.number(), revision: configuration.revision }
    }
}

impl TryFrom<proto::ResolveRequest> for ConfigurationRef {
    type Error = Malformed;

    fn try_from(request: proto::ResolveRequest) -> Result<Self, Malformed> {
        let id = BuildConfigurationId::from_number(request.configuration);
        let id =
            id.map_err(|cause| Malformed::Id { message: "ResolveRequest", field: "configuration", cause })?;
        Ok(Self { id, revision: request.revision })
    }
}

/// A hash that came as bytes.
///
/// # Errors
/// Another length than 32 bytes.
pub fn hash(bytes: &[u8], message: &'static str, field: &'static str) -> Result<ContentHash, Malformed> {
    let wrong =
        |_| Malformed::Meaningless { message, field, value: i64::try_from(bytes.len()).unwrap_or(-1) };
    bytes.try_into().map(ContentHash::of).map_err(wrong)
}
