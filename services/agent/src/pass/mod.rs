//! How this agent shows who it is: by the secret of the host, or by a machine's credential that it got for a join token.
//!
//! The machine draws its own secrets, and keeps each before it is named to anybody: an answer that is lost, or an agent
//! that is killed between two steps, costs a repeat and nothing more.

mod connect;
mod file;
mod join;
mod pinned;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mainstay_runtime::Clock;
use mainstay_wire::join::{CaPin, Credential, JoinToken, SecretError, TextError};

pub(crate) use connect::connect;
pub use connect::{ConnectError, PORT, host_and_port};
use file::Kept;
pub use join::Asked;
pub(crate) use join::renew;

use crate::error::Error;

/// How an agent shows who it is.
#[derive(Debug, Clone)]
pub enum Pass {
    /// By the secret that the control plane of this very host wrote down; over loopback alone.
    Host(HostSecret),
    /// By a machine's credential.
    Machine(Arc<MachinePass>),
}

impl Pass {
    /// What is shown now.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Host(secret) => secret.0.clone(),
            Self::Machine(pass) => pass.credential().reveal(),
        }
    }
}

/// The secret of agents on the control plane's own host.
#[derive(Clone)]
pub struct HostSecret(pub String);

impl std::fmt::Debug for HostSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HostSecret")
    }
}

/// A machine's credential, kept in the agent's directory.
pub struct MachinePass {
    dir: std::path::PathBuf,
    /// To join again with, where the credential is refused.
    token: Option<JoinToken>,
    kept: Mutex<Kept>,
    /// To compare with the control plane's.
    clock: Arc<dyn Clock>,
}

impl std::fmt::Debug for MachinePass {
    /// Without the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MachinePass").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// Why there is no pass.
#[derive(Debug, thiserror::Error)]
pub enum PassError {
    /// A file of the agent's, or what is in it.
    #[error(transparent)]
    Files(#[from] Error),
    /// The token is none.
    #[error("the join token is none: {0}")]
    Token(#[from] TextError),
    /// No random bytes.
    #[error(transparent)]
    Random(#[from] SecretError),
    /// There is neither a credential nor a token.
    #[error("this machine has not joined yet, and no join token was given (MS-S414)")]
    NoToken,
    /// What was asked for is not what the machine joined.
    #[error(
        "this machine has joined fleet {fleet}, region {region}; another one needs a data directory of its own (MS-S416)"
    )]
    Elsewhere {
        /// Its fleet.
        fleet: String,
        /// Its region.
        region: String,
    },
    /// The control plane could not be reached, or is another.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The control plane says no.
    #[error("the control plane does not let this machine in: {}", .0.message())]
    Refused(tonic::Status),
}

impl MachinePass {
    /// The fleet and region this machine has joined, as they are offered.
    #[must_use]
    pub fn joined(&self) -> (String, String) {
        let kept = self.kept();
        (kept.fleet.clone(), kept.region.clone())
    }

    /// What the machine calls itself.
    #[must_use]
    pub fn machine(&self) -> mainstay_core::MachineKey {
        self.kept().machine
    }

    pub(crate) fn ca(&self) -> CaPin {
        self.kept().ca
    }

    /// What is shown now.
    pub(crate) fn credential(&self) -> Credential {
        let kept = self.kept();
        Credential { machine: kept.machine, secret: kept.secret.clone() }
    }

    /// Whether there was a next secret whose answer never came: from now on that one is shown.
    pub(crate) fn try_next(&self) -> Result<bool, Error> {
        let mut kept = self.kept();
        let Some(next) = kept.next.clone() else { return Ok(false) };
        let changed = Kept { secret: next, next: None, ..kept.clone() };
        changed.write(&self.dir)?;
        *kept = changed;
        Ok(true)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, changed: Kept) -> Result<(), Error> {
        changed.write(&self.dir)?;
        *self.kept() = changed;
        Ok(())
    }

    fn of(dir: &Path, token: Option<JoinToken>, kept: Kept, clock: Arc<dyn Clock>) -> Self {
        Self { dir: dir.to_owned(), token, kept: Mutex::new(kept), clock }
    }
}

/// The hash by which the control plane knows a secret.
fn hash(secret: &mainstay_wire::join::Secret) -> Vec<u8> {
    use sha2::Digest as _;
    sha2::Sha256::digest(secret.bytes()).to_vec()
}

/// A secret of the system's own randomness.
fn draw() -> Result<mainstay_wire::join::Secret, SecretError> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| SecretError(error.to_string()))?;
    Ok(mainstay_wire::join::Secret::of(bytes))
}
