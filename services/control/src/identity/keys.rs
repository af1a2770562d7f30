//! The keys of a title: one that ids are made with, for ever, and those that tokens are signed with, one after another.
//!
//! A new key signs from the moment it is made; the one before it is believed until the last token it signed has run out. So keys
//! change without anybody being logged out.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mainstay_core::Timestamp;
use mainstay_journal::durable;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{IdentityError, TOKEN_LIFE};
use crate::kept;

/// The file of the keys.
const FILE: &str = "keys.json";
/// How long a key signs. Longer than a token's life, so that no more than one former key is believed at any time.
const KEY_LIFE: Duration = Duration::from_hours(7 * 24);

/// 256 random bits.
#[derive(Clone, Copy)]
pub(super) struct Secret([u8; 32]);

/// A key that signs, or signed.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Key {
    /// What tokens name it by.
    pub(super) id: String,
    secret: Secret,
    /// Since when it signs, in milliseconds since 1970.
    since: u64,
}

/// What the file holds.
#[derive(Clone, Serialize, Deserialize)]
struct Kept {
    /// What ids of players are made with.
    ids: Secret,
    /// The newest first.
    signing: Vec<Key>,
}

/// The keys, and where they are kept.
pub(super) struct Keys {
    dir: PathBuf,
    kept: RwLock<Arc<Kept>>,
}

impl Keys {
    /// Reads them, or makes them once.
    pub(super) fn open(dir: &Path, now: Timestamp) -> Result<Self, IdentityError> {
        let path = dir.join(FILE);
        let files = |what, path: &Path| {
            let path = path.to_owned();
            move |source| IdentityError::Files { what, path, source }
        };
        kept::folder(dir).map_err(files("make", dir))?;
        let keys = match fs::read(&path) {
            Ok(text) => {
                kept::only_its_owners(&path).map_err(files("close to others", &path))?;
                serde_json::from_slice(&text).map_err(|source| IdentityError::Damaged { path, source })?
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let made = Kept { ids: Secret::random()?, signing: vec![Key::made(now)?] };
                write(dir, &made)?;
                made
            }
            Err(source) => return Err(IdentityError::Files { what: "read", path, source }),
        };
        let keys = Self { dir: dir.to_owned(), kept: RwLock::new(Arc::new(keys)) };
        keys.rotate(now)?;
        Ok(keys)
    }

    fn now(&self) -> Arc<Kept> {
        Arc::clone(&self.kept.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What ids are made with.
    pub(super) fn ids(&self) -> [u8; 32] {
        self.now().ids.0
    }

    /// What signs now.
    pub(super) fn newest(&self) -> Key {
        // A file without a key gets one as it is opened.
        self.now().signing.first().cloned().expect("there is always a key: opening and rotating see to it")
    }

    /// Those whose tokens are believed.
    pub(super) fn good(&self, now: Timestamp) -> Vec<Key> {
        let kept = self.now();
        let mut good: Vec<Key> = kept.signing.first().cloned().into_iter().collect();
        let former = kept.signing.windows(2).filter(|pair| !is_over(&pair[0], now));
        good.extend(former.map(|pair| pair[1].clone()));
        good
    }

    /// A new key where the newest has signed long enough, and none of those that nobody needs; durable before it is used.
    pub(super) fn rotate(&self, now: Timestamp) -> Result<(), IdentityError> {
        let kept = self.now();
        let is_fresh = |key: &Key| now < Timestamp::from_unix_ms(key.since) + KEY_LIFE;
        if kept.signing.first().is_some_and(is_fresh) {
            return Ok(());
        }
        let mut signing = vec![Key::made(now)?];
        signing.extend(self.good(now));
        let next = Kept { ids: kept.ids, signing };
        write(&self.dir, &next)?;
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        Ok(())
    }
}

/// Whether everything that was signed before this key has run out.
fn is_over(successor: &Key, now: Timestamp) -> bool {
    now >= Timestamp::from_unix_ms(successor.since) + TOKEN_LIFE
}

fn write(dir: &Path, keys: &Kept) -> Result<(), IdentityError> {
    let path = dir.join(FILE);
    let written = serde_json::to_string_pretty(keys).map_err(io::Error::from);
    let written = written.and_then(|text| durable::write(dir, FILE, text.as_bytes(), 0o600));
    written.map_err(|source| IdentityError::Files { what: "write", path, source })
}

impl Key {
    fn made(now: Timestamp) -> Result<Self, IdentityError> {
        let id = getrandom::u64().map_err(IdentityError::Random)?;
        Ok(Self { id: format!("{id:016x}"), secret: Secret::random()?, since: now.unix_ms() })
    }

    pub(super) const fn bytes(&self) -> &[u8; 32] {
        &self.secret.0
    }
}

impl Secret {
    fn random() -> Result<Self, IdentityError> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(IdentityError::Random)?;
        Ok(Self(bytes))
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        // Without the text: it is a secret.
        bytes.map(Self).ok_or_else(|| serde::de::Error::custom("a secret is 32 bytes in base64"))
    }
}
