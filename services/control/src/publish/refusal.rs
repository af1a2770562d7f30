//! Why machines cannot have a build, or not yet.

use std::io;
use std::path::PathBuf;

use mainstay_wire::builds::{CODE_HEADER, ContentHash, ManifestError};
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

use crate::error::ApplyError;
use crate::store::StoreError;

/// Why machines cannot have a build, or not yet.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unpublished {
    /// The machine's fleet runs no such thing.
    #[error("the machine's fleet has no such build configuration")]
    NoConfiguration,
    /// Another revision is the newest, and what this one was made of is not known any more.
    #[error("a newer revision is on its way to the machine, and this one's files are gone")]
    Newer,
    /// There is nothing to give.
    #[error("the build has no files yet")]
    NoFiles,
    /// Nothing is kept.
    #[error("this control plane keeps no builds, so it has no place for their lists")]
    NoStore,
    /// What lies in the folder cannot be given.
    #[error("the build's folder {} cannot be given to machines: {why}", folder.display())]
    Unfit {
        /// The folder.
        folder: PathBuf,
        /// What is in the way.
        why: String,
    },
    /// The folder is the control plane's own.
    #[error("the build's folder {} is, or lies in, the control plane's own data directory", folder.display())]
    Private {
        /// The folder.
        folder: PathBuf,
    },
    /// The image cannot be given.
    #[error("the build's image {image} cannot be given to machines: {why}")]
    Image {
        /// As it is named.
        image: String,
        /// What is in the way.
        why: String,
    },
    /// The folder is not what it was.
    #[error("the build's folder {} has changed since it was published; its new version follows", folder.display())]
    Changed {
        /// The folder.
        folder: PathBuf,
    },
    /// Nobody has such bytes.
    #[error("no published build has bytes of this hash")]
    Unknown,
    /// What was kept of them is something else now.
    #[error("the bytes of {0} were damaged on the control plane's disk, and set aside")]
    Damaged(ContentHash),
    /// Too many at once.
    #[error("{0} files are being sent already, which is the most at once")]
    Busy(usize),
    /// A list that machines would refuse.
    #[error("machines would refuse the build: {0}")]
    Manifest(#[from] ManifestError),
    /// The disk failed.
    #[error("the control plane's disk failed: {0}")]
    Disk(#[from] io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The catalog refused, or gave no answer.
    #[error(transparent)]
    Catalog(#[from] ApplyError),
    /// The catalog gave no answer.
    #[error(transparent)]
    Runtime(#[from] mainstay_runtime::Error),
    /// Our bug.
    #[error("publishing failed: {0}")]
    Bug(String),
}

impl Unpublished {
    /// Its code, explained by `mainstay explain`.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NoConfiguration => "MS-S640",
            Self::Newer => "MS-S641",
            Self::NoFiles | Self::NoStore => "MS-S642",
            Self::Unfit { .. } | Self::Manifest(_) => "MS-S643",
            Self::Image { .. } => "MS-S647",
            Self::Private { .. } => "MS-S649",
            Self::Changed { .. } => "MS-S644",
            Self::Unknown => "MS-S645",
            Self::Busy(_) => "MS-S646",
            Self::Damaged(_) => "MS-S648",
            Self::Disk(_) | Self::Store(_) => "MS-U115",
            Self::Catalog(_) | Self::Runtime(_) | Self::Bug(_) => "MS-U109",
        }
    }

    fn mend(&self) -> &'static str {
        match self {
            Self::NoConfiguration => "does the machine speak for the fleet it joined?",
            Self::Newer => {
                "a session that has to start again under this one cannot: end it (mainstay allocation delete)"
            }
            Self::Changed { .. } => "it is asked for again by itself",
            Self::NoFiles => "upload its files, or name a folder as buildPath",
            Self::NoStore => "start it with a data directory",
            Self::Unfit { .. } | Self::Manifest(_) => {
                "mend the folder, or name one below it as buildPath that holds the game alone"
            }
            Self::Private { .. } => "name a folder that holds the game alone as buildPath",
            Self::Image { .. } => "make the image anew as said; skopeo inspect shows what is in it",
            Self::Unknown => "it is asked for again by itself, once the machine has the newest specification",
            Self::Busy(_) => "it is asked for again by itself",
            Self::Damaged(_) => {
                "upload the file that mainstay doctor names again, with the same bytes; what is of a folder or an image is kept \
                 again by itself"
            }
            Self::Disk(_) | Self::Store(_) => "see the control plane's disk and its rights",
            Self::Catalog(_) | Self::Runtime(_) => "see the control plane's log",
            Self::Bug(_) => "this is our bug: please report it with the log",
        }
    }

    const fn kind(&self) -> Code {
        match self {
            Self::NoConfiguration => Code::PermissionDenied,
            Self::Newer
            | Self::Changed { .. }
            | Self::NoFiles
            | Self::Unfit { .. }
            | Self::Private { .. }
            | Self::Image { .. }
            | Self::Manifest(_) => Code::FailedPrecondition,
            Self::NoStore => Code::Unimplemented,
            Self::Unknown => Code::NotFound,
            Self::Busy(_) => Code::ResourceExhausted,
            Self::Damaged(_) => Code::DataLoss,
            Self::Disk(_) | Self::Store(_) | Self::Catalog(_) | Self::Runtime(_) => Code::Unavailable,
            Self::Bug(_) => Code::Internal,
        }
    }
}

impl From<Unpublished> for Status {
    fn from(error: Unpublished) -> Self {
        let mut metadata = MetadataMap::new();
        metadata.insert(CODE_HEADER, MetadataValue::from_static(error.code()));
        Self::with_metadata(error.kind(), format!("{}: {error}; {}", error.code(), error.mend()), metadata)
    }
}
