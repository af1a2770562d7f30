//! Tokens: who, what for, and until when, signed by one of the title's keys.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use mainstay_core::Timestamp;
use mainstay_matchmaking::Entity;
use serde::{Deserialize, Serialize};

use super::Holder;
use super::keys::Key;

/// The longest token read: ours have some 400 bytes.
const TOKEN_BYTES_MAX: usize = 2_048;

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Purpose {
    /// The calls of entities (`X-EntityToken`).
    Entity,
    /// Getting an entity token (`X-Authorization`).
    Session,
}

/// Why a token proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// It is not ours, or for something else.
    #[error("the token is not one of this title's, or for something else")]
    Invalid,
    /// It has run out.
    #[error("the token has run out")]
    Expired,
}

/// What a token says.
#[derive(Serialize, Deserialize)]
struct Claims {
    /// Whose, as `type!id`.
    sub: String,
    /// Of which title.
    aud: String,
    /// What for.
    r#use: Purpose,
    /// The account of a player.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account: Option<String>,
    exp: u64,
    iat: u64,
}

pub(super) fn sign(
    key: &Key,
    title: &str,
    purpose: Purpose,
    holder: &Holder,
    now: Timestamp,
    expires: Timestamp,
) -> Result<String, jsonwebtoken::errors::Error> {
    let claims = Claims {
        sub: holder.entity.as_str().to_owned(),
        aud: title.to_owned(),
        r#use: purpose,
        account: holder.account.clone(),
        exp: expires.unix_ms() / 1000,
        iat: now.unix_ms() / 1000,
    };
    let header = Header { kid: Some(key.id.clone()), ..Header::new(Algorithm::HS256) };
    jsonwebtoken::encode(&header, &claims, &EncodingKey::from_secret(key.bytes()))
}

pub(super) fn read(
    good: &[Key],
    title: &str,
    purpose: Purpose,
    token: &str,
    now: Timestamp,
) -> Result<Holder, Fault> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(Fault::Invalid);
    }
    let header = jsonwebtoken::decode_header(token).map_err(|_| Fault::Invalid)?;
    let key = good.iter().find(|key| header.kid.as_deref() == Some(&*key.id)).ok_or(Fault::Invalid)?;
    let mut validation = Validation::new(Algorithm::HS256);
    // Compared with the one clock, below.
    validation.validate_exp = false;
    validation.required_spec_claims.clear();
    validation.set_audience(&[title]);
    let key = DecodingKey::from_secret(key.bytes());
    let claims = jsonwebtoken::decode::<Claims>(token, &key, &validation).map_err(|_| Fault::Invalid)?.claims;
    if claims.r#use != purpose {
        return Err(Fault::Invalid);
    }
    if now.unix_ms() / 1000 >= claims.exp {
        return Err(Fault::Expired);
    }
    let (kind, id) = claims.sub.split_once('!').ok_or(Fault::Invalid)?;
    let entity = Entity::new(kind, id).ok_or(Fault::Invalid)?;
    Ok(Holder { entity, account: claims.account })
}
