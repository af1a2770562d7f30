//! Why a build is not here yet.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use mainstay_wire::builds::{CODE_HEADER, ContentHash, ImageError, ManifestError};
use tonic::Code;

use crate::pass::ConnectError;

/// The longest code, in bytes: what a message about installs takes.
const CODE_BYTES_MAX: usize = 16;

/// Why a build is not here yet. All of these are tried again, and none is a game's fault.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The control plane does not give it.
    #[error("the control plane does not give it: {}", .0.message())]
    Refused(tonic::Status),
    /// Nothing comes any more.
    #[error("no byte came for {0} s")]
    Silent(u64),
    /// The line broke.
    #[error("{have} of {size} bytes have come; the rest is asked for from there")]
    Cut {
        /// How many have come.
        have: u64,
        /// How many there are.
        size: u64,
    },
    /// What came is something else.
    #[error("what came has the hash {found}, and {wanted} was wanted; it is thrown away")]
    Differs {
        /// What was asked for.
        wanted: ContentHash,
        /// What came.
        found: ContentHash,
    },
    /// More came than there is.
    #[error("more than the {size} bytes of {wanted} came; they are thrown away")]
    TooMuch {
        /// What was asked for.
        wanted: ContentHash,
        /// How many bytes it has.
        size: u64,
    },
    /// A list of files that cannot be used.
    #[error("the build's list of files cannot be used: {0}")]
    Manifest(#[from] ManifestError),
    /// An image that cannot be used.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A layer that cannot be unpacked.
    #[error("a layer of the image cannot be unpacked: {0}")]
    Layer(String),
    /// What the control plane says makes no sense.
    #[error("the control plane said something that makes no sense")]
    Malformed(#[from] mainstay_wire::agent::Malformed),
    /// What lay here has changed.
    #[error("{path} is not what was put there: its bytes changed on this disk; it is fetched again")]
    Damaged {
        /// The file, within the install.
        path: String,
    },
    /// No room.
    #[error("it needs {needed} more bytes, and {room} can be had: {why}")]
    NoRoom {
        /// How many are missing on this disk.
        needed: u64,
        /// How many there are, with everything deleted that may be.
        room: u64,
        /// Which limit it is.
        why: &'static str,
    },
    /// This machine runs no images.
    #[error("the build is a container image, and this machine does not run those: {0}")]
    NoImages(String),
    /// The disk failed.
    #[error("failed to {what} {}", path.display())]
    Files {
        /// The step.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl BuildError {
    /// Its code, explained by `mainstay explain`.
    pub(crate) fn code(&self) -> Cow<'static, str> {
        let code = match self {
            Self::Connect(_) | Self::Silent(_) | Self::Cut { .. } => "MS-S430",
            Self::Refused(status) => return refusal(status),
            Self::Differs { .. } | Self::TooMuch { .. } => "MS-S432",
            Self::Manifest(_) | Self::Malformed(_) | Self::Image(_) | Self::Layer(_) => "MS-S433",
            Self::Damaged { .. } => "MS-S434",
            Self::NoRoom { .. } => "MS-S435",
            Self::NoImages(_) => "MS-S436",
            Self::Files { source, .. } if is_full(source) => "MS-S435",
            Self::Files { .. } => "MS-S437",
        };
        Cow::Borrowed(code)
    }

    /// The way out.
    pub(crate) fn mend(&self) -> &'static str {
        match self {
            Self::Connect(_) | Self::Silent(_) | Self::Cut { .. } => {
                "it goes on where it ended, once the control plane answers"
            }
            // It says itself how it is mended.
            Self::Refused(status) if status.code() == Code::FailedPrecondition => "it is asked for again",
            Self::Refused(_) => "see the control plane's log",
            Self::Differs { .. } | Self::TooMuch { .. } => {
                "if it comes again, something between changes bytes, or the control plane's disk does"
            }
            Self::Manifest(_) | Self::Image(_) | Self::Layer(_) => {
                "mend the build as said, and apply the configuration again"
            }
            Self::Malformed(_) => "is the control plane of a newer version? upgrade this machine's agent",
            Self::Damaged { .. } => "if it happens again, look at this machine's disk",
            Self::NoRoom { .. } => "give this machine a larger disk, or its agent a larger --disk",
            Self::NoImages(_) => "install runc on this machine, and let its agent run as root",
            Self::Files { source, .. } if is_full(source) => "make room on this machine's disk",
            Self::Files { .. } => "see the cause: rights, or a disk that fails",
        }
    }

    /// A step on the disk that failed.
    pub(crate) fn files(what: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Files { what, path, source }
    }
}

/// The control plane's own code, where it says one.
fn refusal(status: &tonic::Status) -> Cow<'static, str> {
    let told = status.metadata().get(CODE_HEADER).and_then(|code| code.to_str().ok());
    match told.filter(|told| told.starts_with("MS-") && told.len() <= CODE_BYTES_MAX) {
        Some(told) => Cow::Owned(told.to_owned()),
        None => Cow::Borrowed("MS-S431"),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
