//! The SHA-256 of bytes: their name, wherever they are.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The SHA-256 of some bytes; written as 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct ContentHash([u8; 32]);

/// A text that is no such hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a SHA-256 is 64 hexadecimal digits in lower case")]
pub struct HashError;

impl ContentHash {
    /// Of its 32 bytes.
    #[must_use]
    pub const fn of(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Its 32 bytes.
    #[must_use]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ContentHash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Self, HashError> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _other => Err(HashError),
        };
        let mut bytes = [0; 32];
        if text.len() != 64 {
            return Err(HashError);
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            if let [high, low] = pair {
                *byte = digit(*high)? << 4 | digit(*low)?;
            }
        }
        Ok(Self(bytes))
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        let mut text = Self::with_capacity(64);
        // Writing to a String does not fail.
        let _written = write!(text, "{hash}");
        text
    }
}

impl TryFrom<String> for ContentHash {
    type Error = HashError;

    fn try_from(text: String) -> Result<Self, HashError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_read_as_it_is_written_and_nothing_else_is() {
        let hash = ContentHash::of(std::array::from_fn(|n| u8::try_from(n * 8 + 1).unwrap()));
        assert_eq!(hash.to_string().parse(), Ok(hash));
        let text = hash.to_string();
        for wrong in [text[1..].to_owned(), text.to_uppercase(), format!("{text}00"), "é".repeat(32)] {
            assert_eq!(wrong.parse::<ContentHash>(), Err(HashError), "{wrong}");
        }
    }
}
