//! How a machine gets in: the texts of join tokens and of machines' credentials, and `proto/join.proto`.

#[cfg(test)]
mod tests;
mod text;

use std::time::Duration;

use mainstay_core::MachineKey;

pub use text::{
    CaPin, Credential, JOIN_TOKEN_BEGINS, JoinToken, Secret, SecretError, TEXT_BYTES_MAX, TextError,
};

use crate::agent::{Malformed, NAME_BYTES_MAX, PROTOCOL};

/// What travels, generated from `proto/join.proto`.
#[expect(missing_docs, reason = "generated; every message is described in join.proto")]
#[expect(clippy::allow_attributes, reason = "tonic writes this module")]
pub mod proto {
    tonic::include_proto!("mainstay.join.v1");
}

/// The name that the control plane's own certificate carries for agents, wherever they reach it: what is pinned is its
/// certificate authority, and that has one control plane.
pub const TLS_NAME: &str = "control-plane.mainstay.internal";

/// The header of a refusal that says what time it is for the control plane, in milliseconds since 1970, so that a machine
/// whose clock differs can say so.
pub const CLOCK_HEADER: &str = "mainstay-now-unix-ms";

/// The header of a refusal that a machine acts upon, and what it then says.
pub const REFUSAL_HEADER: &str = "mainstay-refusal";
/// The credential opens nothing any more: a new one is worth asking for.
pub const REFUSAL_CREDENTIAL: &str = "credential";
/// Another agent speaks for the machine: this one must be silent.
pub const REFUSAL_SUPERSEDED: &str = "superseded";

/// How far two clocks may differ before somebody is told: far above what a network adds, far below what ends a token early.
pub const CLOCKS_DIFFER_MAX: Duration = Duration::from_secs(30);

/// A machine that shows a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Join {
    /// The token, as text: it is read when it is judged.
    pub token: String,
    /// The machine.
    pub machine: MachineKey,
    /// Its fleet's name or id; empty for the token's.
    pub fleet: String,
    /// Its region's name or id; empty for the token's.
    pub region: String,
    /// The hash of the secret it drew.
    pub fresh: [u8; 32],
    /// Its program's version, for people.
    pub agent_version: String,
    /// Its clock.
    pub now_unix_ms: u64,
}

/// A machine that shows its credential, and perhaps names its next secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Renew {
    /// The credential, as text.
    pub credential: String,
    /// The hash of the next secret; `None` only asks how long this one lasts.
    pub fresh: Option<[u8; 32]>,
    /// Its clock.
    pub now_unix_ms: u64,
}

impl TryFrom<proto::JoinRequest> for Join {
    type Error = Malformed;

    fn try_from(request: proto::JoinRequest) -> Result<Self, Malformed> {
        const IN: &str = "JoinRequest";
        protocol(request.protocol)?;
        let machine = uuid::Uuid::from_slice(&request.machine);
        let bytes = request.machine.len();
        Ok(Self {
            token: bounded(request.token, TEXT_BYTES_MAX, IN, "token")?,
            machine: MachineKey(machine.map_err(|_| Malformed::Uuid {
                message: IN,
                field: "machine",
                bytes,
            })?),
            fleet: bounded(request.fleet, NAME_BYTES_MAX, IN, "fleet")?,
            region: bounded(request.region, NAME_BYTES_MAX, IN, "region")?,
            fresh: hash(&request.secret_sha256, IN)?,
            agent_version: bounded(request.agent_version, NAME_BYTES_MAX, IN, "agent_version")?,
            now_unix_ms: request.now_unix_ms,
        })
    }
}

impl TryFrom<proto::RenewRequest> for Renew {
    type Error = Malformed;

    fn try_from(request: proto::RenewRequest) -> Result<Self, Malformed> {
        const IN: &str = "RenewRequest";
        protocol(request.protocol)?;
        let fresh = &request.secret_sha256;
        Ok(Self {
            credential: bounded(request.credential, TEXT_BYTES_MAX, IN, "credential")?,
            fresh: if fresh.is_empty() { None } else { Some(hash(fresh, IN)?) },
            now_unix_ms: request.now_unix_ms,
        })
    }
}

fn protocol(found: u32) -> Result<(), Malformed> {
    if found == PROTOCOL { Ok(()) } else { Err(Malformed::Protocol { found }) }
}

fn bounded(
    text: String,
    max: usize,
    message: &'static str,
    field: &'static str,
) -> Result<String, Malformed> {
    let found = text.len();
    if found <= max { Ok(text) } else { Err(Malformed::TooLong { message, field, found, max }) }
}

fn hash(bytes: &[u8], message: &'static str) -> Result<[u8; 32], Malformed> {
    let found = bytes.len();
    bytes.try_into().map_err(|_| Malformed::TooLong { message, field: "secret_sha256", found, max: 32 })
}
