//! Why a control plane does not start, or does not take a declaration.

use std::net::SocketAddr;

use mainstay_fleet::catalog::CatalogRejection;

use crate::identity::IdentityError;
use crate::queues::Needed;
use crate::tls::TlsError;

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
    /// Beyond loopback without TLS.
    #[error(
        "{address} can be reached from other hosts, and there is no TLS: listen on 127.0.0.1 and ::1, or turn TLS on (MS-U120)"
    )]
    Unprotected {
        /// Which.
        address: SocketAddr,
    },
    /// Nowhere to listen.
    #[error("the control plane was given no address to listen on (MS-U110)")]
    Nowhere,
    /// No certificates.
    #[error("failed to set up TLS")]
    Tls(#[from] TlsError),
    /// No keys of the title.
    #[error("failed to open the title's keys")]
    Identity(#[from] IdentityError),
    /// No key of the lobby.
    #[error("failed to open the lobby's key")]
    Lobby(#[from] crate::lobby::KeyError),
    /// The system gave no thread.
    #[error("failed to read certificates or keys: the thread ended (MS-U125)")]
    Thread,
    /// A shard did not start.
    #[error("failed to start a shard")]
    Shard(#[from] mainstay_runtime::StartError),
    /// The catalog gave no answer.
    #[error("failed to ask the catalog")]
    Runtime(#[from] mainstay_runtime::Error),
    /// A queue did not open.
    #[error("failed to open the queues")]
    Queues(#[from] crate::queues::QueueError),
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
    /// Queues need what it takes away. Nothing of it was taken.
    #[error(transparent)]
    Needed(#[from] Needed),
    /// No answer: ask again.
    #[error(transparent)]
    Runtime(#[from] mainstay_runtime::Error),
}
