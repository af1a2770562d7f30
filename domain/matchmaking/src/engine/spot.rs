//! Where those stand in their index who were met last: of them are those who leave next, as a rule, and they are not sought again.

use super::slab::Handle;

/// A place in an index, as a walk passes it. It may be another's by the time it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub run: u32,
    pub block: u16,
    pub slot: u16,
}

/// More than a search meets, as a rule.
const KEPT: usize = 128;

/// Of each who was met last, as long as nobody else takes its place here.
#[derive(Debug, Clone)]
pub(super) struct Spots {
    those: [(Handle, Spot); KEPT],
}

impl Default for Spots {
    fn default() -> Self {
        Self { those: [(Handle::MAX, Spot { run: u32::MAX, block: 0, slot: 0 }); KEPT] }
    }
}

impl Spots {
    #[inline]
    pub(super) const fn keep(&mut self, handle: Handle, spot: Spot) {
        self.those[handle as usize % KEPT] = (handle, spot);
    }

    /// Where somebody stood when it was met, where that is known.
    #[inline]
    pub(super) fn of(&self, handle: Handle) -> Option<Spot> {
        let (kept, spot) = self.those[handle as usize % KEPT];
        (kept == handle).then_some(spot)
    }
}
