//! Why a control plane does not start, or does not take a declaration.

use std::net::SocketAddr;

use mainstay_fleet::catalog::CatalogRejection;

/// Why a control plane did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// An address is taken, or not ours.
    #[error("failed to listen on {address} (MS-U110)")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// The folder of uploaded builds cannot be made.
    #[error("failed to open the store of builds in {} (MS-U115)", folder.display())]
    Store {
        /// Which folder.
        folder: std::path::PathBuf,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
    /// A shard did not start.
    #[error("failed to start a shard")]
    Shard(#[from] mainstay_runtime::StartError),
    /// The catalog gave no answer.
    #[error("failed to ask the catalog")]
    Runtime(#[from] mainstay_runtime::Error),
    /// A credential was refused.
    #[error("failed to admit a credential")]
    Credential(#[source] CatalogRejection),
    /// The system has no random bytes to give.
    #[error("failed to read random bytes: {0}")]
    Random(getrandom::Error),
}

/// Why a declaration was not taken.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The rules refuse it. Nothing of it was taken.
    #[error(transparent)]
    Refused(#[from] CatalogRejection),
    /// No answer: ask again.
    #[error(transparent)]
    Runtime(#[from] mainstay_runtime::Error),
}
