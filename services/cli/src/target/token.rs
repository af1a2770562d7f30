//! What says who asks an instance elsewhere: read from a file, since lists of processes and histories of shells show flags.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::ApiUrl;
use crate::failure::{Exit, Failure};

/// The most read of a file: a JWT of the exchange has some 400 bytes, `credentials.json` as many.
const BYTES_MAX: u64 = 64 * 1024;

/// Who asks: the value of the header that says it. It shows itself to nobody else.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// A service account: what `account create -o json` answers, and `credentials.json`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Account {
    key_id: String,
    secret_key: String,
}

/// What the token exchange answers.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Exchanged {
    access_token: String,
}

/// JSON that says who asks.
#[derive(Deserialize)]
#[serde(untagged)]
enum Known {
    Account(Account),
    Exchanged(Exchanged),
}

impl Token {
    /// Of a service account.
    pub fn account(key_id: &str, secret_key: &str) -> Self {
        Self(format!("Basic {}", STANDARD.encode(format!("{key_id}:{secret_key}"))))
    }

    /// Of a file.
    pub fn read(file: &Path) -> Result<Self, Failure> {
        let mut text = String::new();
        let opened = File::open(file).and_then(|file| file.take(BYTES_MAX).read_to_string(&mut text));
        opened.map_err(|error| {
            Failure::new(Exit::Usage, "MS-U006", format!("cannot read {}", file.display())).why(error)
        })?;
        Self::parse(text.trim()).map_err(|why| {
            Failure::new(Exit::Usage, "MS-U055", format!("{} holds nothing that says who asks", file.display()))
                .why(why)
                .fix("write into it what one of these prints: mainstay account create --role viewer -o json, or the token exchange")
        })
    }

    /// The value of the header `Authorization`.
    pub fn header(&self) -> &str {
        &self.0
    }

    /// Of a text; else why it is none, without a word of it.
    fn parse(text: &str) -> Result<Self, &'static str> {
        if text.starts_with('{') {
            return match serde_json::from_str(text) {
                Ok(Known::Account(Account { key_id, secret_key })) => Ok(Self::account(&key_id, &secret_key)),
                Ok(Known::Exchanged(Exchanged { access_token })) => Self::bearer(&access_token),
                Err(_) => Err("it is JSON without keyId and secretKey, and without accessToken"),
            };
        }
        if text.starts_with(mainstay_wire::join::JOIN_TOKEN_BEGINS) {
            return Err("it is a join token, which lets machines in and asks nothing");
        }
        if text.is_empty() {
            return Err("it is empty");
        }
        match text.split_once(':') {
            Some((key_id, secret_key)) if is_plain(key_id) && is_plain(secret_key) => {
                Ok(Self::account(key_id, secret_key))
            }
            Some(_) => Err("it is neither keyId:secretKey nor a token of the exchange"),
            None => Self::bearer(text),
        }
    }

    /// A JWT: three parts, with points between.
    fn bearer(text: &str) -> Result<Self, &'static str> {
        let parts: Vec<&str> = text.split('.').collect();
        let is_part = |part: &&str| {
            !part.is_empty() && part.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_=".contains(&it))
        };
        if parts.len() == 3 && parts.iter().all(is_part) {
            Ok(Self(format!("Bearer {text}")))
        } else {
            Err("it is neither an account's key nor a token of the exchange")
        }
    }
}

/// Whether a text can stand in a header as it is.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Nothing says who asks there.
pub fn missing(url: &ApiUrl) -> Failure {
    Failure::new(Exit::Denied, "MS-U055", format!("nothing says who asks {url}"))
        .why("neither --token-file nor MAINSTAY_TOKEN_FILE names a file")
        .fix("on its host: mainstay account create --role viewer -o json; bring what that prints here, and name it: --token-file FILE")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_is_read_in_every_form_that_mainstay_gives_it() {
        let account = "Basic a2V5OnNlY3JldA==";
        for (text, header) in [
            (r#"{"keyId":"key","secretKey":"secret","role":"viewer"}"#, account),
            ("key:secret", account),
            ("aa.bb-_.cc", "Bearer aa.bb-_.cc"),
            (r#"{"accessToken":"aa.bb.cc"}"#, "Bearer aa.bb.cc"),
        ] {
            assert_eq!(Token::parse(text).unwrap().header(), header, "{text}");
        }
        assert_eq!(format!("{:?}", Token::account("key", "secret")), "Token");
    }

    #[test]
    fn what_says_nothing_is_told_without_a_word_of_it() {
        for (text, why) in [
            ("", "empty"),
            (r#"{"secretKey":"hunter2"}"#, "JSON without"),
            ("mainstay-join-1.hunter2.a.b", "join token"),
            ("hunter2", "neither an account's"),
            ("hunter2:a b", "neither keyId"),
            ("hunter2.a.b.c.d", "neither an account's"),
            (r#"{"accessToken":"hunter2"}"#, "neither an account's"),
        ] {
            let said = Token::parse(text).unwrap_err();
            assert!(said.contains(why) && !said.contains("hunter2"), "{text}: {said}");
        }
    }
}
