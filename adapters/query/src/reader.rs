//! A cursor over bytes from outside: every read is checked, nothing is allocated beyond what was received.

use crate::limits::TEXT_BYTES_MAX;
use crate::malformed::Malformed;

/// The rest of a datagram.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) const fn left(&self) -> usize {
        self.rest.len()
    }

    pub(crate) fn bytes(&mut self, what: &'static str, count: usize) -> Result<&'a [u8], Malformed> {
        let Some((head, rest)) = self.rest.split_at_checked(count) else {
            return Err(Malformed::Short { what, needed: count, left: self.rest.len() });
        };
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], Malformed> {
        let Some((head, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(Malformed::Short { what, needed: N, left: self.rest.len() });
        };
        self.rest = rest;
        Ok(*head)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Malformed> {
        Ok(u8::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn u16_be(&mut self, what: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn u32_be(&mut self, what: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn u64_be(&mut self, what: &'static str) -> Result<u64, Malformed> {
        Ok(u64::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn f32_be(&mut self, what: &'static str) -> Result<f32, Malformed> {
        Ok(f32::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn u16_le(&mut self, what: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    pub(crate) fn u32_le(&mut self, what: &'static str) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// One length byte, then as many bytes of text.
    pub(crate) fn text_counted(&mut self, what: &'static str) -> Result<String, Malformed> {
        let count = usize::from(self.u8(what)?);
        Ok(text(self.bytes(what, count)?))
    }

    /// Bytes up to a zero, which is read too.
    pub(crate) fn text_closed(&mut self, what: &'static str) -> Result<String, Malformed> {
        let Some(end) = self.rest.iter().position(|&byte| byte == 0) else {
            return Err(Malformed::Unterminated { what, left: self.rest.len() });
        };
        let words = self.bytes(what, end)?;
        self.u8(what)?;
        Ok(text(words))
    }
}

/// Text as games send it: meant to be UTF-8, often not; cut at the limit, between characters.
pub(crate) fn text(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_past_the_end_says_what_was_missing() {
        let mut reader = Reader::new(&[1, 2]);
        assert_eq!(
            reader.u32_be("the token"),
            Err(Malformed::Short { what: "the token", needed: 4, left: 2 })
        );
        assert_eq!(reader.left(), 2, "a failed read takes nothing");
    }

    #[test]
    fn text_is_cut_between_characters() {
        let long = "é".repeat(200);
        let cut = text(long.as_bytes());
        assert_eq!(cut.len(), 254);
        assert_eq!(text(&[b'a', 0xff, b'b']), "a\u{fffd}b");
    }
}
