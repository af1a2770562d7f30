//! What whoever is in no session of this peer's may take up of its memory: everybody who has its address can link to it.
//!
//! QUIC lets a stranger have few streams and little under way; and of packets that are not whole yet only so much is kept for each link.
//! Links are counted, so all strangers together take up no more than 4 MiB, and none the room of another. Once this peer has to do with whoever is
//! at its end, a link carries what links of members do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::door::LINKS_MAX;

/// How many streams a stranger has at once: it asks to be let in, shows its pass, and asks again.
pub(crate) const STREAMS_MAX: u32 = 8;
/// How much a stranger has under way, and how far ahead of all that has come it says anything: its longest packets, and as much again.
pub(crate) const WINDOW_BYTES: u32 = 64 * 1024;
/// How many bytes of packets that are not whole are kept of a stranger: one that asks to be let in takes some hundred.
const KEPT_BYTES_MAX: usize = 16 * 1024;
const _: () = assert!(LINKS_MAX * KEPT_BYTES_MAX <= 4 << 20);

/// What is kept of one link's packets that are not whole; those of whom this peer has met are not counted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Room(Arc<Counted>);

#[derive(Debug, Default)]
struct Counted {
    bytes: AtomicUsize,
    /// Whether this peer has to do with who is at the other end.
    met: AtomicBool,
}

impl Room {
    /// This peer has to do with who is at the other end.
    pub(crate) fn open(&self) {
        self.0.met.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub(crate) fn is_open(&self) -> bool {
        self.0.met.load(Ordering::Relaxed)
    }

    /// For one packet.
    pub(crate) fn share(&self) -> Share {
        Share { room: self.clone(), bytes: 0 }
    }
}

/// What one packet takes up, until it is whole or dropped.
#[derive(Debug)]
pub(crate) struct Share {
    room: Room,
    bytes: usize,
}

/// A stranger's packets are too much.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("packets of a stranger that are not whole take {bytes} bytes; {KEPT_BYTES_MAX} are kept")]
pub(crate) struct TooMuch {
    bytes: usize,
}

impl Share {
    /// It takes up so much by now, which is no less than before.
    pub(crate) fn grow(&mut self, to: usize) -> Result<(), TooMuch> {
        let Counted { bytes, met } = &*self.room.0;
        let more = to.saturating_sub(self.bytes);
        let all = bytes.fetch_add(more, Ordering::Relaxed) + more;
        self.bytes += more;
        if all > KEPT_BYTES_MAX && !met.load(Ordering::Relaxed) {
            return Err(TooMuch { bytes: all });
        }
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.room.0.bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_stranger_little_is_kept_and_of_a_member_all() {
        let room = Room::default();
        let (mut one, mut other) = (room.share(), room.share());
        assert_eq!(one.grow(KEPT_BYTES_MAX - 1), Ok(()));
        assert_eq!(one.grow(KEPT_BYTES_MAX), Ok(()), "it grows, and is not counted twice");
        assert_eq!(other.grow(1), Err(TooMuch { bytes: KEPT_BYTES_MAX + 1 }));
        drop((one, other));
        let mut later = room.share();
        assert_eq!(later.grow(KEPT_BYTES_MAX), Ok(()), "what is over takes up nothing");
        room.open();
        assert_eq!(later.grow(64 * KEPT_BYTES_MAX), Ok(()));
        assert_eq!(Room::default().share().grow(KEPT_BYTES_MAX), Ok(()), "each link has its own");
    }
}
