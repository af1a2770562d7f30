//! The key of a lobby: made once, and kept as long as anybody may hold a certificate.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mainstay_journal::durable;
use mainstay_wire::lobby::{LobbyKey, Signature, bytes, text};
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use crate::kept;

/// The file of the key: 256 random bits in base64url.
const FILE: &str = "lobby.key";

/// Why a lobby has no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Its file.
    #[error("failed to {what} {} (MS-G018)", path.display())]
    Files {
        /// The step.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Its file is none of ours.
    #[error(
        "{} holds no key; restore it from a copy, or remove it: then the certificates of sessions that go on are worth nothing (MS-G018)",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The system has no random bytes to give.
    #[error("failed to read random bytes: {0} (MS-G018)")]
    Random(getrandom::Error),
}

/// What signs.
pub(super) struct Signer {
    pair: Ed25519KeyPair,
    key: LobbyKey,
}

impl std::fmt::Debug for Signer {
    /// Without what is secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signer").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Signer {
    /// Reads the key, or makes it: durable before anything is signed with it. Blocks.
    pub(super) fn open(dir: &Path) -> Result<Self, KeyError> {
        let path = dir.join(FILE);
        let files = |what, path: &Path| {
            let path = path.to_owned();
            move |source| KeyError::Files { what, path, source }
        };
        kept::folder(dir).map_err(files("make", dir))?;
        let damaged = || KeyError::Damaged { path: path.clone() };
        let seed: [u8; 32] = match fs::read_to_string(&path) {
            Ok(kept) => {
                kept::only_its_owners(&path).map_err(files("close to others", &path))?;
                bytes(kept.trim()).ok_or_else(damaged)?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let mut seed = [0; 32];
                getrandom::fill(&mut seed).map_err(KeyError::Random)?;
                durable::write(dir, FILE, text(&seed).as_bytes(), 0o600).map_err(files("write", &path))?;
                seed
            }
            Err(source) => return Err(KeyError::Files { what: "read", path, source }),
        };
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|_| damaged())?;
        let key = pair.public_key().as_ref().try_into().map(LobbyKey).map_err(|_| damaged())?;
        Ok(Self { pair, key })
    }

    pub(super) const fn key(&self) -> LobbyKey {
        self.key
    }

    /// A secret of this lobby for one purpose, always the same: a signature that is never told to anybody. No statement begins
    /// like it.
    pub(super) fn secret(&self, purpose: &[u8]) -> [u8; 64] {
        self.sign(&[b"mainstay lobby secret 1\0", purpose].concat()).0
    }

    /// The same for the same bytes, always.
    pub(super) fn sign(&self, bytes: &[u8]) -> Signature {
        let signature = self.pair.sign(bytes);
        Signature(signature.as_ref().try_into().expect("an Ed25519 signature has 64 bytes"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn the_key_is_made_once_for_its_owner_alone_and_damage_is_no_new_key() {
        let dir = tempfile::tempdir().unwrap();
        let made = Signer::open(dir.path()).unwrap();
        let path = dir.path().join(FILE);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let again = Signer::open(dir.path()).unwrap();
        assert_eq!((again.key(), again.sign(b"x")), (made.key(), made.sign(b"x")));
        fs::write(&path, "nonsense").unwrap();
        assert!(matches!(Signer::open(dir.path()), Err(KeyError::Damaged { .. })));
    }
}
