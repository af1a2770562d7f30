//! What bounds the memory and the unsynced bytes of a writer.

/// The bounds of a [`super::Writer`]. [`Limits::STANDARD`] is what the product runs with; tests take smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest turn in bytes.
    pub turn_bytes_max: usize,
    /// The most turns in one batch.
    pub batch_turns_max: usize,
    /// The most bytes in one batch (a batch takes one turn even if larger).
    pub batch_bytes_max: usize,
    /// From this many unsynced turns on nothing more is decided until a sync.
    pub unsynced_turns_max: usize,
    /// From this many unsynced bytes on nothing more is decided until a sync.
    pub unsynced_bytes_max: usize,
    /// From this many waiting reads and rejections on nothing more is decided until a sync.
    pub waits_max: usize,
    /// Below this much reserve nothing more is decided: what is decided already must still fit.
    pub reserve_floor_bytes: u64,
}

impl Limits {
    /// A turn of 64 MiB holds the largest commands: rules that read something else end each of a queue's two million tickets, 19 bytes
    /// apiece, and a fleet of 100,000 servers is told anew what to run. An ordinary one is less than 512 KiB. A batch of
    /// 1 MiB syncs in a few milliseconds here. 16,384 unsynced turns are 256 turns for each of 64 callers. Two batches may
    /// be unsynced (one in flight, one behind it), plus one ordinary turn that was decided at the brim; written as pages they take
    /// at most twice their size, so 6 MiB of the 16 MiB reserve are kept for them. A larger one waits until somebody makes room.
    pub const STANDARD: Self = Self {
        turn_bytes_max: 64 * 1024 * 1024,
        batch_turns_max: 4_096,
        batch_bytes_max: 1024 * 1024,
        unsynced_turns_max: 16_384,
        unsynced_bytes_max: 2 * 1024 * 1024,
        waits_max: 16_384,
        reserve_floor_bytes: 6 * 1024 * 1024,
    };
}
