//! Who players and game servers are: the title, the tokens it signs, and the keys it signs them with.
//!
//! A data directory is one *title*. A player's id is an HMAC of the title and the studio's own id of the player, so a login
//! writes nothing and the same player has the same id for ever. A token says whose it is and until when; nothing of it is kept
//! but how many were given out. What never leaves the host are the keys (`identity/keys.json`).

mod error;
mod keys;
mod minted;
mod token;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jsonwebtoken::{Algorithm, EncodingKey};
use mainstay_core::Timestamp;
use mainstay_matchmaking::{Caller, Entity};
use mainstay_runtime::Clock;
use subtle::ConstantTimeEq as _;
use tokio::sync::watch;

pub use error::IdentityError;
use keys::Keys;
use minted::Minted;
pub(crate) use minted::TooMany;
pub(crate) use token::{Fault, Purpose};

use crate::config::SECRET_BYTES_MAX;
use crate::http::{raised, sha256};

/// How long a token is good. PlayFab's entity tokens last a day; its SDKs renew them an hour before.
pub(crate) const TOKEN_LIFE: Duration = Duration::from_hours(24);
/// How often the keys' ages are looked at.
const LOOK_EVERY: Duration = Duration::from_hours(1);
/// How many hexadecimal digits an id has: 64 bits.
const ID_DIGITS: usize = 16;
/// The type of the title's own entity.
const TITLE: &str = "title";

/// What an identity is made of.
#[derive(Clone)]
pub struct Title {
    /// What clients name it by: letters and digits, as PlayFab's.
    pub id: Arc<str>,
    /// The hashes of what proves the title itself (`X-SecretKey`), 256 random bits in base64: one, and while it is being changed the one
    /// before as well.
    pub secrets_sha256: Vec<[u8; 32]>,
    /// Where its keys are kept, for their owner's eyes alone.
    pub dir: PathBuf,
}

/// The title of a control plane.
pub(crate) struct Identity {
    title: Title,
    keys: Keys,
    minted: Mutex<Minted>,
}

/// A player, as logins tell it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Player {
    /// Its account over all titles (`PlayFabId`).
    pub(crate) account: String,
    /// The player in this title.
    pub(crate) entity: Entity,
}

/// Whose a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    /// Who.
    pub(crate) entity: Entity,
    /// The account of a player, where it logged in: of its entity alone nobody can tell.
    pub(crate) account: Option<String>,
}

/// A token, and how long it is good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) expires: Timestamp,
}

impl std::fmt::Debug for Title {
    /// Without what proves it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Title").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Identity {
    /// Reads the keys, or makes them. Blocks: it reads and writes files.
    pub(crate) fn open(title: Title, now: Timestamp) -> Result<Self, IdentityError> {
        let keys = Keys::open(&title.dir, now)?;
        Ok(Self { title, keys, minted: Mutex::default() })
    }

    /// What clients name the title by.
    pub(crate) fn title_id(&self) -> &str {
        &self.title.id
    }

    /// Whether this is the title's secret; compared in constant time.
    pub(crate) fn is_title_secret(&self, shown: &str) -> bool {
        let is_it = |known: &[u8; 32]| bool::from(sha256(shown.as_bytes()).ct_eq(known));
        shown.len() <= SECRET_BYTES_MAX && self.title.secrets_sha256.iter().any(is_it)
    }

    /// The title itself.
    pub(crate) fn title(&self) -> Result<Entity, IdentityError> {
        Entity::new(TITLE, &self.title.id).ok_or(IdentityError::Title)
    }

    /// The player of a studio's own id.
    pub(crate) fn player(&self, custom_id: &str) -> Result<Player, IdentityError> {
        let account = self.derived("master_player_account", custom_id)?;
        let entity = self.derived(Entity::PLAYER, custom_id)?;
        Ok(Player { account, entity: Entity::new(Entity::PLAYER, &entity).ok_or(IdentityError::Title)? })
    }

    /// The game server of a studio's own id.
    pub(crate) fn game_server(&self, custom_id: &str) -> Result<Entity, IdentityError> {
        let id = self.derived(Entity::GAME_SERVER, custom_id)?;
        Entity::new(Entity::GAME_SERVER, &id).ok_or(IdentityError::Title)
    }

    /// Whether it has the shape of a player or game server of this title. Which ids were told to anybody is kept nowhere.
    pub(crate) fn could_have_made(&self, entity: &Entity) -> bool {
        let digit = |digit: u8| digit.is_ascii_digit() || (b'A'..=b'F').contains(&digit);
        let id = entity.id().as_bytes();
        [Entity::PLAYER, Entity::GAME_SERVER].contains(&entity.kind())
            && id.len() == ID_DIGITS
            && id.iter().copied().all(digit)
    }

    /// As many hexadecimal digits as PlayFab's ids have: the first 64 bits of an HMAC-SHA256.
    fn derived(&self, kind: &str, custom_id: &str) -> Result<String, IdentityError> {
        use base64::Engine as _;
        // None of the parts but the last may hold a 0, so no two lists of parts are one text.
        let text = format!("{}\0{kind}\0{custom_id}", self.title.id);
        let key = EncodingKey::from_secret(&self.keys.ids());
        let mac = jsonwebtoken::crypto::sign(text.as_bytes(), &key, Algorithm::HS256)?;
        let mac = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(mac).unwrap_or_default();
        let bytes = mac.first_chunk::<8>().ok_or(IdentityError::Title)?;
        Ok(format!("{:0ID_DIGITS$X}", u64::from_be_bytes(*bytes)))
    }

    /// Signs a token.
    pub(crate) fn mint(
        &self,
        purpose: Purpose,
        holder: &Holder,
        now: Timestamp,
    ) -> Result<Token, IdentityError> {
        let expires = now + TOKEN_LIFE;
        let text = token::sign(&self.keys.newest(), &self.title.id, purpose, holder, now, expires)?;
        Ok(Token { text, expires })
    }

    /// Counts what is given out to one of the players.
    pub(crate) fn count(&self, holder: &Entity, now: Timestamp) -> Result<(), TooMany> {
        self.minted.lock().unwrap_or_else(PoisonError::into_inner).count(holder, now)
    }

    /// Whose a token is, while it is good.
    pub(crate) fn read(&self, purpose: Purpose, token: &str, now: Timestamp) -> Result<Holder, Fault> {
        token::read(&self.keys.good(now), &self.title.id, purpose, token, now)
    }

    /// What the rules of matching know the holder as.
    pub(crate) fn caller(&self, holder: &Holder) -> Caller {
        match holder.entity.kind() {
            TITLE => Caller::Title,
            Entity::GAME_SERVER => Caller::Server(holder.entity.clone()),
            _player => Caller::Player(holder.entity.clone()),
        }
    }

    /// Changes keys when their time has come, until told to end.
    pub(crate) async fn keep(self: Arc<Self>, clock: Arc<dyn Clock>, mut closed: watch::Receiver<bool>) {
        loop {
            tokio::select! {
                () = raised(&mut closed) => return,
                () = tokio::time::sleep(LOOK_EVERY) => {}
            }
            let (identity, now) = (Arc::clone(&self), clock.now());
            let rotated = tokio::task::spawn_blocking(move || identity.keys.rotate(now)).await;
            if let Ok(Err(error)) = rotated {
                tracing::error!(%error, "the key of tokens is not changed; the one before is used until the next try");
            }
        }
    }
}

#[cfg(test)]
mod tests;
