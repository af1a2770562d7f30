//! What a control plane is told at its start.

use std::io::{Read, Seek};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use mainstay_config::MachineSize;
use mainstay_core::ServerId;
use mainstay_fleet::catalog::CredentialDeclaration;
use mainstay_runtime::{Clock, JournalHandle};
use uuid::Uuid;

use crate::doctor::HostChecks;
use crate::doors::Door;
use crate::lobby::LobbyConfig;
use crate::metrics::Metrics;
use crate::playfab::PlayFab;
use crate::providers::Programs;
use crate::queues::Builds;
use crate::slot_files::SlotFile;
use crate::tls::Tls;

/// The longest secret read from a header, in bytes: ours have 43 characters (256 bits in base64).
pub const SECRET_BYTES_MAX: usize = 1024;

/// What a control plane is made of.
pub struct Config {
    /// Where its shards are kept. Its thread is the caller's to stop, after [`crate::Handle::shutdown`].
    pub journal: JournalHandle,
    /// The one clock.
    pub clock: Arc<dyn Clock>,
    /// Where it listens. Loopback unless the operator says otherwise.
    pub listen: Listen,
    /// The project in the paths of the Multiplay face.
    pub project: Uuid,
    /// The environment in them.
    pub environment: Uuid,
    /// Who may ask, besides those the catalog knows already.
    pub credentials: Vec<CredentialDeclaration>,
    /// What an agent on this host must show, over loopback. 256 random bits; also what tokens of the token exchange are signed with, by way of a hash.
    pub join_token: String,
    /// How what listens beyond loopback is protected; `None` listens on loopback alone, and nobody joins with a token.
    pub tls: Option<Tls>,
    /// Where servers' output is read, where that is on this machine.
    pub logs: Arc<dyn LogTail>,
    /// How large a machine is that a configuration says nothing of: this one.
    pub machine: MachineSize,
    /// What is counted; the same that follows the durable tail.
    pub metrics: Arc<Metrics>,
    /// The data directory whose history the faces read, and of which machines are given nothing; `None`: there is none.
    pub history: Option<PathBuf>,
    /// The folder of uploaded builds, made where there is none; `None`: none are taken. On the disk of the machines that run
    /// them, since agents do not fetch builds yet.
    pub builds: Option<PathBuf>,
    /// What `doctor` looks at beside the shards.
    pub host: Arc<dyn HostChecks>,
    /// The programs of machine providers.
    pub providers: Programs,
    /// Matchmaking as PlayFab's SDKs know it; `None`: it is not served.
    pub playfab: Option<PlayFab>,
    /// Sessions that players host; `None`: there is no lobby.
    pub lobby: Option<LobbyConfig>,
    /// What runs on the servers of queues that were pasted from PlayFab.
    pub playfab_builds: Builds,
    /// Where game peers ask how they are seen; `None`: nowhere. In the clear, and open to all: it tells each its own address.
    pub stun: Option<Offered<mainstay_stun::Addresses>>,
    /// Where packets are carried between members of the lobby's sessions whom their routers keep apart; `None`: nowhere. Open to
    /// all, and of use to members alone.
    pub relay: Option<Offered<SocketAddr>>,
}

/// What players are sent to: a router before this host may give it another address outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offered<T> {
    /// Where it listens.
    pub bind: T,
    /// Where players find it: an unspecified IP is the one that they reach the lobby at, and port 0 the one that was bound.
    pub told: T,
}

/// What players are told of a socket.
pub(crate) fn as_told(told: SocketAddr, socket: &tokio::net::UdpSocket) -> SocketAddr {
    match (told.port(), socket.local_addr()) {
        (0, Ok(bound)) => SocketAddr::new(told.ip(), bound.port()),
        (_, _) => told,
    }
}

impl std::fmt::Debug for Config {
    /// Without the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("listen", &self.listen)
            .field("project", &self.project)
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}

/// Where a control plane listens. The IPv6 wildcard takes IPv4 too. Loopback is answered in the clear; whoever comes from elsewhere
/// must speak TLS.
#[derive(Debug)]
pub struct Listen {
    /// The HTTP faces; at least one.
    pub api: Vec<Door>,
    /// The agents' streams; at least one.
    pub agents: Vec<Door>,
}

/// A file of a server, to be read wherever it is.
pub struct OpenFile {
    /// How many bytes it had when it was opened.
    pub length: u64,
    /// Its bytes.
    pub bytes: Box<dyn SlotBytes>,
}

/// What a server wrote, to be read from any place.
pub trait SlotBytes: Read + Seek + Send {}

impl<T: Read + Seek + Send> SlotBytes for T {}

impl OpenFile {
    /// A file on this disk.
    ///
    /// # Errors
    /// Where its length cannot be read.
    pub fn here(file: std::fs::File) -> std::io::Result<Self> {
        Ok(Self { length: file.metadata()?.len(), bytes: Box::new(file) })
    }
}

/// Reads the end of a server's output.
pub trait LogTail: Send + Sync + 'static {
    /// The last `lines` lines, oldest first; `None` where this machine has no such server. May block: it gets a thread.
    ///
    /// # Errors
    /// Where the files cannot be read.
    fn tail(&self, server: ServerId, lines: usize) -> std::io::Result<Option<String>>;

    /// The files of a server that are shown; `None` where this machine has no such server. May block.
    ///
    /// # Errors
    /// Where the folders cannot be read.
    fn files(&self, server: ServerId) -> std::io::Result<Option<Vec<SlotFile>>>;

    /// One of them, to read; `None` where there is none. May block.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn open(&self, server: ServerId, path: &str) -> std::io::Result<Option<OpenFile>>;

    /// How many more bytes the disk takes. May block.
    ///
    /// # Errors
    /// Where the disk does not say.
    fn free(&self) -> std::io::Result<u64>;
}

/// No servers' output is on this machine.
#[derive(Debug, Clone, Copy)]
pub struct NoLogs;

impl LogTail for NoLogs {
    fn tail(&self, _server: ServerId, _lines: usize) -> std::io::Result<Option<String>> {
        Ok(None)
    }

    fn files(&self, _server: ServerId) -> std::io::Result<Option<Vec<SlotFile>>> {
        Ok(None)
    }

    fn open(&self, _server: ServerId, _path: &str) -> std::io::Result<Option<OpenFile>> {
        Ok(None)
    }

    fn free(&self) -> std::io::Result<u64> {
        Ok(0)
    }
}
