//! `credential.json`: who this machine is to its control plane. For its owner's eyes alone; written whole or not at all.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use mainstay_core::MachineKey;
use mainstay_wire::join::{CaPin, Credential, Secret};
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Its name in the agent's directory.
pub(super) const CREDENTIAL_FILE: &str = "credential.json";
/// The version written and read.
const VERSION: u32 = 1;
/// The longest file read: two texts and two names of at most 256 bytes.
const BYTES_MAX: u64 = 16 * 1024;

/// What is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    pub(super) stage: Stage,
    pub(super) ca: CaPin,
    pub(super) machine: MachineKey,
    /// As offered, and named to the control plane.
    pub(super) fleet: String,
    pub(super) region: String,
    pub(super) secret: Secret,
    /// The next one, from before it is named to the control plane until the answer is here.
    pub(super) next: Option<Secret>,
    /// The one to join again with, from before it is named to the control plane until the answer is here.
    pub(super) rejoin: Option<Secret>,
}

/// How far the machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Stage {
    /// The secret may have been named with a token; the answer is not here.
    Asking,
    /// The control plane has taken it.
    Joined,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    version: u32,
    stage: Stage,
    ca: String,
    fleet: String,
    region: String,
    credential: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rejoin: Option<String>,
}

impl Kept {
    /// What is kept in a directory, if anything.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, Error> {
        let path = dir.join(CREDENTIAL_FILE);
        let mut bytes = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(BYTES_MAX + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Files { what: "read", path, source }),
        }
        Self::of(&bytes).map(Some).map_err(|why| Error::Credential { path, why })
    }

    /// Reads the file's bytes. What is wrong is told without what they hold.
    fn of(bytes: &[u8]) -> Result<Self, String> {
        if bytes.len() as u64 > BYTES_MAX {
            return Err(format!("it has more than {BYTES_MAX} bytes"));
        }
        let written: Written = serde_json::from_slice(bytes)
            .map_err(|error| format!("it is not the JSON expected, at line {}", error.line()))?;
        if written.version != VERSION {
            return Err(format!("it is of version {}; this program reads {VERSION}", written.version));
        }
        let text = |error: mainstay_wire::join::TextError| error.to_string();
        let credential: Credential = written.credential.parse().map_err(text)?;
        let secret = |kept: Option<String>| kept.map(|kept| kept.parse::<Credential>()).transpose();
        let (next, rejoin) = (secret(written.next).map_err(text)?, secret(written.rejoin).map_err(text)?);
        Ok(Self {
            stage: written.stage,
            ca: written.ca.parse().map_err(text)?,
            machine: credential.machine,
            fleet: written.fleet,
            region: written.region,
            secret: credential.secret,
            next: next.map(|next| next.secret),
            rejoin: rejoin.map(|rejoin| rejoin.secret),
        })
    }

    pub(super) fn write(&self, dir: &Path) -> Result<(), Error> {
        let Self { stage, ca, machine, fleet, region, secret, next, rejoin } = self;
        let text = |secret: &Secret| Credential { machine: *machine, secret: secret.clone() }.reveal();
        let written = Written {
            version: VERSION,
            stage: *stage,
            ca: ca.to_string(),
            fleet: fleet.clone(),
            region: region.clone(),
            credential: text(secret),
            next: next.as_ref().map(text),
            rejoin: rejoin.as_ref().map(text),
        };
        crate::files::write(dir, CREDENTIAL_FILE, &written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn kept() -> Kept {
        Kept {
            stage: Stage::Joined,
            ca: CaPin([1; 32]),
            machine: MachineKey(uuid::Uuid::from_u128(7)),
            fleet: "arena".to_owned(),
            region: "Home".to_owned(),
            secret: Secret::of([2; 32]),
            next: Some(Secret::of([3; 32])),
            rejoin: None,
        }
    }

    #[test]
    fn it_comes_back_and_only_its_owner_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Kept::read(dir.path()).unwrap(), None);
        kept().write(dir.path()).unwrap();
        assert_eq!(Kept::read(dir.path()).unwrap(), Some(kept()));
        let mode = std::fs::metadata(dir.path().join(CREDENTIAL_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    /// Cut anywhere, or with any byte changed: the same credential, another one that reads well, or a reason.
    #[test]
    fn a_damaged_file_is_a_reason_and_tells_nothing_of_what_it_held() {
        let dir = tempfile::tempdir().unwrap();
        kept().write(dir.path()).unwrap();
        let whole = std::fs::read(dir.path().join(CREDENTIAL_FILE)).unwrap();
        // The last byte is a line's end, and no more.
        for end in 0..whole.len() - 1 {
            let why = Kept::of(&whole[..end]).unwrap_err();
            assert!(!why.contains("AgICAgIC"), "{why}");
        }
        for at in 0..whole.len() {
            for byte in [0, b'"', b'x', 0xff] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                if let Err(why) = Kept::of(&bytes) {
                    assert!(!why.contains("AgICAgIC"), "{why}");
                }
            }
        }
        assert!(Kept::of(&vec![b' '; 20_000]).unwrap_err().contains("more than"));
    }
}
