//! The named limits of the runtime, each with its reason.

use std::time::Duration;

/// The most messages one shard's mailbox holds. At 20,000 turns a second a full mailbox is 0.2 s of work: a caller who
/// finds it full is better told so than kept waiting.
pub const MAILBOX_MAX: usize = 4_096;

/// The most messages taken from the mailbox at once: one hand-over to the writer. At 10 µs a turn it holds the task for
/// 2.5 ms at most before others run and answers are let go.
pub const CHUNK_COMMANDS_MAX: usize = 256;

/// Encoded bytes after which a chunk ends, so that what is decided at the brim of a full disk still fits the reserve.
pub const CHUNK_BYTES_MAX: usize = 64 * 1024;

/// What a caller who was refused for want of room is told to wait before the next try.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The longest sleep before a deadline is compared with the clock again: timers stand still while a computer sleeps, the
/// one clock does not, so after waking a deadline is late by at most this.
pub const SLEEP_MAX: Duration = Duration::from_secs(30);

/// How long a deadline that a turn could not clear (the journal was full) waits for its next turn.
pub const DUE_RETRY: Duration = Duration::from_millis(200);

/// How often the store is asked for room, or reached for again, while it has none or is away.
pub const SPACE_PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// How often a lease that is not exclusive is renewed (architecture.md section 4: renew 0.5 s, lease 2 s).
pub const LEASE_RENEWAL_INTERVAL: Duration = Duration::from_millis(500);

/// The most durable batches a reader of the tail may lag behind before it must read the journal itself: with batches of
/// at most 1 MiB this bounds what a slow reader keeps in memory.
pub const TAIL_BATCHES_MAX: usize = 64;
