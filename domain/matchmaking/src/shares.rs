//! What many tickets have alike is kept once: a waiting ticket of one player is small, and a heap's smallest piece is not.

use crate::members::Origin;

/// Soft: it may begin anew at any instant.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shares {
    origin: Option<Origin>,
}

impl Shares {
    /// Where a ticket came from: nearly always from its player alone, or from where the one before did.
    pub(crate) fn origin(&mut self, origin: &Origin) -> Origin {
        if origin.is_of_first() {
            return origin.clone();
        }
        match &self.origin {
            Some(known) if known == origin => known.clone(),
            Some(_) | None => self.origin.insert(origin.clone()).clone(),
        }
    }
}
