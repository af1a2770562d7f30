//! The memory is asked for what is read soon. Whoever asks does not wait, as whoever reads does: so it answers for many at a time, while
//! something else is done. Nothing that is found depends on it.

use prefetch_index::prefetch_index;

/// Asks for the line of memory of one of some. What is beyond them is asked for in vain.
#[inline]
pub(super) fn fetch<T>(those: &[T], at: usize) {
    prefetch_index(those, at);
}
