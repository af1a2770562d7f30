//! What a player or a member shows to its lobby.

use std::fmt;

/// A token: whoever has it is taken for whom it was given to, so it is shown to the lobby alone, and never printed.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// For a header.
    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

impl From<String> for Token {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for Token {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token")
    }
}

#[cfg(test)]
mod tests {
    use super::super::door::{As, Door, Longest};
    use super::super::{Online, Trust};
    use super::*;

    /// Logs and panics print what they are given: whatever holds a token may be in it.
    #[test]
    fn nothing_that_holds_a_token_prints_it() {
        let secret = "of-nobody-else";
        let token = Token::from(secret);
        let online = |entity_token, seat_token| Online {
            url: "http://127.0.0.1:1".to_owned(),
            trust: Trust::System,
            entity_token,
            seat_token,
            player: None,
            addresses: Vec::new(),
        };
        let both = online(Some(token.clone()), Some(token.clone()));
        let [by_login, by_seat] = [(Some(token.clone()), None), (None, Some(token.clone()))]
            .map(|(entity, seat)| Door::new(&online(entity, seat), crate::key::provider(), Longest(1)));
        for printed in [
            format!("{token:?} {both:#?}"),
            format!("{by_login:?} {by_seat:?}"),
            format!("{:?}", As::Member(&token)),
        ] {
            assert!(!printed.contains(secret) && printed.contains("a token"), "{printed}");
        }
        assert_eq!(token.text(), secret);
    }
}
