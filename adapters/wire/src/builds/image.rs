//! The manifest and the configuration of a container image, as the OCI image specification (v1.1) has them, and Docker's
//! image manifest of version 2, which has the same shape. Read strictly where something is used, and not at all elsewhere.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{ContentHash, FILE_BYTES_MAX};

/// The largest manifest or configuration read, in bytes: the specification's own limit for manifests.
pub const IMAGE_MANIFEST_BYTES_MAX: usize = 4 << 20;
/// The most layers: what overlay file systems take, so what builders stay below.
const LAYERS_MAX: usize = 128;
/// The most words of an environment, and the longest of them, in bytes.
const ENVIRONMENT_MAX: usize = 1_024;
const WORD_BYTES_MAX: usize = 32 << 10;

/// What an image is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageManifest {
    /// Its configuration, and the size of that.
    pub config: (ContentHash, u64),
    /// Its layers, the lowest first.
    pub layers: Vec<Layer>,
}

/// A layer of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// Of its bytes as they travel.
    pub hash: ContentHash,
    /// How many they are.
    pub size: u64,
    /// What they are.
    pub form: LayerForm,
}

/// How a layer is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerForm {
    /// By tar.
    Tar,
    /// By tar and gzip.
    Gzip,
}

/// What an image says of its processes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageConfig {
    /// `NAME=value`.
    pub environment: Vec<(String, String)>,
    /// Where its processes start; `/` where it says nothing.
    pub working_dir: String,
}

/// What is wrong with an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// It cannot be read.
    #[error("the image's {what} cannot be read: {why}")]
    Form {
        /// What of it.
        what: &'static str,
        /// Why.
        why: String,
    },
    /// A hash of another kind.
    #[error("the image names `{0}`; only sha256 is taken")]
    Digest(String),
    /// A packing that is not known.
    #[error("a layer of the image is `{0}`; layers are tar or tar with gzip here")]
    Layer(String),
    /// Too many, or too large.
    #[error("the image has {0}, which is more than is taken")]
    TooLarge(String),
}

#[derive(Deserialize)]
struct ManifestText {
    config: Descriptor,
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    digest: String,
    size: u64,
}

#[derive(Deserialize)]
struct ConfigText {
    #[serde(default)]
    config: Option<ProcessText>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProcessText {
    #[serde(default)]
    env: Option<Vec<String>>,
    #[serde(default)]
    working_dir: Option<String>,
}

impl ImageManifest {
    /// From what came, or was kept.
    ///
    /// # Errors
    /// Whatever is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, ImageError> {
        let text: ManifestText = json(bytes, "manifest")?;
        if text.layers.is_empty() || text.layers.len() > LAYERS_MAX {
            return Err(ImageError::TooLarge(format!("{} layers of 1 to {LAYERS_MAX}", text.layers.len())));
        }
        let config = (digest(&text.config.digest)?, text.config.size);
        if config.1 > IMAGE_MANIFEST_BYTES_MAX as u64 {
            return Err(ImageError::TooLarge(format!("a configuration of {} bytes", config.1)));
        }
        let layers = text.layers.iter().map(layer).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { config, layers })
    }

    /// Everything it names, each once, with its size.
    #[must_use]
    pub fn blobs(&self) -> Vec<(ContentHash, u64)> {
        let layers = self.layers.iter().map(|layer| (layer.hash, layer.size));
        let mut seen = BTreeSet::new();
        std::iter::once(self.config).chain(layers).filter(|(hash, _)| seen.insert(*hash)).collect()
    }
}

impl ImageConfig {
    /// From what came, or was kept.
    ///
    /// # Errors
    /// Whatever is wrong with it.
    pub fn read(bytes: &[u8]) -> Result<Self, ImageError> {
        let text: ConfigText = json(bytes, "configuration")?;
        let process = text.config.unwrap_or(ProcessText { env: None, working_dir: None });
        let words = process.env.unwrap_or_default();
        if words.len() > ENVIRONMENT_MAX || words.iter().any(|word| word.len() > WORD_BYTES_MAX) {
            return Err(ImageError::TooLarge(format!("{} words of environment", words.len())));
        }
        let bad = |why: &str| ImageError::Form { what: "configuration", why: why.to_owned() };
        let word = |word: &String| {
            let (name, value) =
                word.split_once('=').ok_or_else(|| bad("a word of its environment has no name"))?;
            let usable = !name.is_empty() && !word.contains('\0');
            usable.then(|| (name.to_owned(), value.to_owned())).ok_or_else(|| bad("its environment"))
        };
        let environment = words.iter().map(word).collect::<Result<_, _>>()?;
        let working_dir = process.working_dir.filter(|dir| !dir.is_empty()).unwrap_or_else(|| "/".to_owned());
        if !working_dir.starts_with('/') || working_dir.contains('\0') {
            return Err(bad("its working directory is not absolute"));
        }
        Ok(Self { environment, working_dir })
    }
}

fn json<'b, T: Deserialize<'b>>(bytes: &'b [u8], what: &'static str) -> Result<T, ImageError> {
    if bytes.len() > IMAGE_MANIFEST_BYTES_MAX {
        return Err(ImageError::TooLarge(format!("a {what} of {} bytes", bytes.len())));
    }
    serde_json::from_slice(bytes).map_err(|error| ImageError::Form { what, why: error.to_string() })
}

fn digest(text: &str) -> Result<ContentHash, ImageError> {
    let hash = text.strip_prefix("sha256:").and_then(|hash| hash.parse().ok());
    hash.ok_or_else(|| ImageError::Digest(text.chars().take(100).collect()))
}

fn layer(descriptor: &Descriptor) -> Result<Layer, ImageError> {
    let form = match descriptor.media_type.as_str() {
        "application/vnd.oci.image.layer.v1.tar" => LayerForm::Tar,
        "application/vnd.oci.image.layer.v1.tar+gzip"
        | "application/vnd.docker.image.rootfs.diff.tar.gzip" => LayerForm::Gzip,
        other => return Err(ImageError::Layer(other.chars().take(100).collect())),
    };
    if descriptor.size > FILE_BYTES_MAX {
        return Err(ImageError::TooLarge(format!("a layer of {} bytes", descriptor.size)));
    }
    Ok(Layer { hash: digest(&descriptor.digest)?, size: descriptor.size, form })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn manifest(layer_type: &str, digest: &str, size: u64) -> String {
        let config = ContentHash::of([1; 32]);
        format!(
            r#"{{"schemaVersion":2,"config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"sha256:{config}","size":7}},"layers":[{{"mediaType":"{layer_type}","digest":"{digest}","size":{size}}}]}}"#
        )
    }

    const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

    #[test]
    fn an_image_is_its_configuration_and_its_layers() {
        let hash = ContentHash::of([2; 32]);
        let read = ImageManifest::read(manifest(GZIP, &format!("sha256:{hash}"), 9).as_bytes()).unwrap();
        assert_eq!(read.layers, [Layer { hash, size: 9, form: LayerForm::Gzip }]);
        assert_eq!(read.blobs(), [(ContentHash::of([1; 32]), 7), (hash, 9)]);
        let config =
            br#"{"architecture":"amd64","config":{"Env":["PATH=/bin","A=b=c"],"WorkingDir":"/srv"}}"#;
        let config = ImageConfig::read(config).unwrap();
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(config.environment, [pair("PATH", "/bin"), pair("A", "b=c")]);
        assert_eq!(config.working_dir, "/srv");
        assert_eq!(ImageConfig::read(b"{}").unwrap().working_dir, "/");
    }

    #[test]
    fn what_is_hostile_or_not_known_is_refused() {
        let hash = format!("sha256:{}", ContentHash::of([2; 32]));
        for (layer, digest, size) in [
            ("application/vnd.oci.image.layer.v1.tar+zstd", hash.as_str(), 1),
            (GZIP, "sha512:00", 1),
            (GZIP, "sha256:../../../etc/passwd", 1),
            (GZIP, hash.as_str(), u64::MAX),
        ] {
            assert!(
                ImageManifest::read(manifest(layer, digest, size).as_bytes()).is_err(),
                "{layer} {digest}"
            );
        }
        for config in [
            r#"{"config":{"Env":["=x"]}}"#,
            r#"{"config":{"Env":["NAME"]}}"#,
            r#"{"config":{"WorkingDir":"srv"}}"#,
            "7",
        ] {
            assert!(ImageConfig::read(config.as_bytes()).is_err(), "{config}");
        }
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_the_end_is_an_image_or_a_reason(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _manifest = ImageManifest::read(&bytes);
            let _config = ImageConfig::read(&bytes);
        }
    }
}
