//! The texts that people and files carry: `mainstay-join-1.CA.ID.SECRET` and `mainstay-machine-1.KEY.SECRET`.
//!
//! A join token begins with the SHA-256 of the public key of the control plane's certificate authority, so that the first
//! contact is pinned already: k3s puts its CA's hash at the front of a token the same way
//! (<https://docs.k3s.io/cli/token>), and kubeadm's `--discovery-token-ca-cert-hash` is of the same bytes, the DER of the
//! SubjectPublicKeyInfo (RFC 7469, section 2.4). Each text has one spelling; nothing of a text that is refused is told.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainstay_core::{JoinTokenId, MachineKey};
use uuid::Uuid;

/// The longest text read, in bytes: the longer of the two has 158.
pub const TEXT_BYTES_MAX: usize = 256;

/// How the text of a join token begins, whatever its version.
pub const JOIN_TOKEN_BEGINS: &str = "mainstay-join-";

const JOIN: &str = "mainstay-join-1";
const MACHINE: &str = "mainstay-machine-1";

/// The SHA-256 of a certificate authority's public key (its DER SubjectPublicKeyInfo).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CaPin(pub [u8; 32]);

/// 256 random bits that nobody else has.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// The system gave no random bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct SecretError(pub String);

/// What lets a machine in.
#[derive(Clone, PartialEq, Eq)]
pub struct JoinToken {
    /// Whom to trust.
    pub ca: CaPin,
    /// Its public half.
    pub id: JoinTokenId,
    /// Its secret half.
    pub secret: Secret,
}

/// What a machine has for a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Credential {
    /// The machine: its public half.
    pub machine: MachineKey,
    /// Its secret half.
    pub secret: Secret,
}

/// Why a text is neither. It says nothing of what the text holds: it may be half of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Longer than any.
    #[error("it has {bytes} bytes, more than the {TEXT_BYTES_MAX} it could have")]
    TooLong {
        /// How many it has.
        bytes: usize,
    },
    /// It begins with something else.
    #[error("it does not begin with `{expected}.`")]
    Beginning {
        /// How it should.
        expected: &'static str,
    },
    /// It has more or fewer parts.
    #[error("it has {found} parts between its dots, not {expected}: was it copied whole?")]
    Parts {
        /// How many it has.
        found: usize,
        /// How many it should have.
        expected: usize,
    },
    /// A part is not what it should be.
    #[error("its {part} is not {shape}: was it copied whole?")]
    Part {
        /// Which.
        part: &'static str,
        /// What it should be.
        shape: &'static str,
    },
}

impl TextError {
    /// Its code, explained by `mainstay explain`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "MS-U106"
    }
}

impl Secret {
    /// A secret of given bytes, drawn by the caller.
    #[must_use]
    pub const fn of(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its bytes, to be hashed.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for CaPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for CaPin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for CaPin {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        const ERROR: TextError = TextError::Part { part: "fingerprint", shape: "64 lower-case hex digits" };
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(ERROR);
        }
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(ERROR),
        };
        let mut pin = [0; 32];
        for (byte, pair) in pin.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = (value(pair[0])? << 4) | value(pair[1])?;
        }
        Ok(Self(pin))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl fmt::Debug for JoinToken {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinToken").field("ca", &self.ca).field("id", &self.id).finish_non_exhaustive()
    }
}

impl fmt::Debug for Credential {
    /// Without the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credential").field("machine", &self.machine).finish_non_exhaustive()
    }
}

impl JoinToken {
    /// The text, secret and all.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{JOIN}.{}.{}.{}", self.ca, self.id.0.simple(), URL_SAFE_NO_PAD.encode(self.secret.0))
    }
}

impl Credential {
    /// The text, secret and all.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{MACHINE}.{}.{}", self.machine.0.simple(), URL_SAFE_NO_PAD.encode(self.secret.0))
    }
}

impl FromStr for JoinToken {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let [ca, id, secret] = parts(text, JOIN)?;
        Ok(Self { ca: ca.parse()?, id: JoinTokenId(uuid(id, "id")?), secret: secret_of(secret)? })
    }
}

impl FromStr for Credential {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let [machine, secret] = parts(text, MACHINE)?;
        Ok(Self { machine: MachineKey(uuid(machine, "machine")?), secret: secret_of(secret)? })
    }
}

fn parts<'a, const N: usize>(text: &'a str, expected: &'static str) -> Result<[&'a str; N], TextError> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(TextError::TooLong { bytes: text.len() });
    }
    let rest = text.strip_prefix(expected).and_then(|rest| rest.strip_prefix('.'));
    let parts: Vec<&str> = rest.ok_or(TextError::Beginning { expected })?.split('.').collect();
    let found = parts.len();
    parts.try_into().map_err(|_| TextError::Parts { found, expected: N })
}

fn uuid(text: &str, part: &'static str) -> Result<Uuid, TextError> {
    let id = Uuid::try_parse(text).ok().filter(|id| id.simple().to_string() == text);
    id.ok_or(TextError::Part { part, shape: "32 lower-case hex digits" })
}

fn secret_of(text: &str) -> Result<Secret, TextError> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
    let bytes = bytes.ok_or(TextError::Part { part: "secret", shape: "43 letters of base64url" })?;
    Ok(Secret(bytes))
}
