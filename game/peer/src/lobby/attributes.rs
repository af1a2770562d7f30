//! What sessions of a lobby are found by.

use std::collections::BTreeMap;

use mainstay_wire::native::{Unfit, attribute_fits, attributes_fit};

/// Values by name, such as `mode` and `capture`: as many and as long as a lobby takes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Attributes(BTreeMap<String, String>);

/// Why no session has such an attribute.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct AttributeError(Unfit);

impl Attributes {
    /// Gives one a value, in place of the one that it has.
    ///
    /// # Errors
    /// More than 16; a name that is not 1 to 64 letters, digits and `_ - .`; a value of more than 256 bytes, or with control characters.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), AttributeError> {
        attribute_fits(name, value).map_err(AttributeError)?;
        let count = self.0.len() + usize::from(!self.0.contains_key(name));
        attributes_fit(count).map_err(AttributeError)?;
        self.0.insert(name.to_owned(), value.to_owned());
        Ok(())
    }

    /// The value of one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// As a lobby is told.
    pub(super) fn told(&self) -> BTreeMap<String, String> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_no_more_and_no_longer_ones_than_a_lobby_takes() {
        let mut attributes = Attributes::default();
        let says = |refused: Result<(), AttributeError>| refused.unwrap_err().to_string();
        assert!(says(attributes.set("", "ctf")).contains("1 to 64 letters"));
        assert!(says(attributes.set("a mode", "ctf")).contains("\"a mode\" is no attribute's name"));
        assert!(says(attributes.set(&"m".repeat(65), "ctf")).contains("1 to 64 letters"));
        assert!(says(attributes.set("mode", &"m".repeat(257))).contains("257 bytes, at most 256"));
        assert!(says(attributes.set("mode", "c\0tf")).contains("control characters"));
        (0..16).for_each(|at| attributes.set(&format!("m{at}"), "one").unwrap());
        assert!(says(attributes.set("mode", "ctf")).contains("17 attributes, at most 16"));
        attributes.set("m7", &"two ".repeat(64)).unwrap();
        assert_eq!(attributes.get("m7").map(str::len), Some(256), "an old one gets another value");
        assert_eq!((attributes.get("mode"), attributes.iter().count()), (None, 16));
    }
}
