//! The stored form of every event: what the disk keeps, apart from what the rules speak of.
//!
//! Bytes of a turn are one byte of format and then its events as a postcard sequence; a chunk of a snapshot (a *story*) is
//! the same with each event's time before it. Each format of each state machine is one closed enum (`fleet_v1`, …), pinned
//! by golden bytes and never changed once released: a change is a new format, and the older one is read and raised to what
//! the rules know today. New code thereby always replays an old journal. An older program meets a newer format as
//! [`StoredError::Version`] and stops before it could misread it.

/// Enums whose cases the stored form and the rules name alike.
macro_rules! alike {
    ($($stored:ident = $domain:path { $($case:ident),* };)*) => {$(
        impl From<$domain> for $stored {
            fn from(value: $domain) -> Self {
                match value {
                    $(<$domain>::$case => Self::$case,)*
                }
            }
        }

        impl From<$stored> for $domain {
            fn from(value: $stored) -> Self {
                match value {
                    $($stored::$case => Self::$case,)*
                }
            }
        }
    )*};
}
use alike;

mod admission_v1;
mod catalog_v1;
mod catalog_v2;
mod catalog_v3;
mod cause_v2;
mod fleet_v1;
mod fleet_v2;
mod lobby_v1;
mod machine_v3;
mod players_v1;
mod queue_spec_v1;
mod queue_ticket_v1;
mod queue_v1;
mod slot_v1;
mod slot_v2;
mod slot_v3;
mod supervisor_v1;

use mainstay_core::{StateMachine, Timestamp};
use mainstay_fleet::Fleet;
use mainstay_fleet::catalog::Catalog;
use mainstay_lobby::Lobby;
use mainstay_matchmaking::Queue;
use mainstay_players::Players;
use mainstay_supervisor::Supervisor;
use serde::{Deserialize, Serialize};

use crate::port::SNAPSHOT_CHUNK_BYTES_MAX;

/// The first format of all state machines.
const V1: u8 = 1;
/// The format since servers can be held and reserved, and their processes misbehave. The supervisor's only appends
/// variants to its format 1, so that one enum reads both. So does a lobby's, since its sessions remember who was a member.
const V2: u8 = 2;
/// The format since machines come, go and are lost. Fleets and the catalog only append variants to their format 2, so that
/// one enum reads both; an older program stops at the number before it could meet one. A queue's did so with format 2, since
/// its matches are given servers, and with this one, since its backfill tickets end with their servers.
const V3: u8 = 3;
/// The format of a queue since its matches may be played in sessions of a lobby: it only appends variants.
const V4: u8 = 4;
/// The format of a queue since it can pause: it only appends variants.
const V5: u8 = 5;
/// The format of a queue since a limit with values of its own keeps what was set beside them: it only appends variants.
const V6: u8 = 6;
/// The format of a queue since it can gather those who come: it only appends variants.
const V7: u8 = 7;
/// The format of a queue since it keeps what it is told and nothing reads: it only appends variants.
const V8: u8 = 8;
/// The format of a queue since its tickets know that they were let go for want of a server: it only appends variants.
const V9: u8 = 9;
/// The format of a queue since it may fall behind and look at what it missed as one: it only appends variants.
const V10: u8 = 10;
/// What a chunk holds besides its events: the format, and their number as the longest varint.
const CHUNK_HEAD_BYTES_MAX: usize = 1 + 10;

/// Why stored bytes are no events. They passed their checksum, so another program wrote them, or ours has a bug.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// No byte at all.
    #[error("stored events are empty, without even a format (MS-J017)")]
    Empty,
    /// A format this program does not know.
    #[error(
        "stored events have format {found}; this program reads up to {newest}: use the newer program (MS-J005)"
    )]
    Version {
        /// The format.
        found: u8,
        /// The newest this program knows of that state machine's.
        newest: u8,
    },
    /// Bytes that are no event of their format.
    #[error("stored events do not decode at byte {at} (MS-J017)")]
    Shape {
        /// How many bytes had been read.
        at: usize,
        /// What the decoder said.
        #[source]
        cause: postcard::Error,
    },
    /// Bytes after the last event.
    #[error("stored events are followed by {0} bytes that belong to none (MS-J017)")]
    Trailing(usize),
}

/// A state machine whose events the journal stores.
pub trait Stored: StateMachine {
    /// Appends the stored form of a turn's events to `bytes`, in the newest format.
    fn store(events: &[Self::Event], bytes: &mut Vec<u8>);

    /// A turn's events, from any stored format.
    ///
    /// # Errors
    /// See [`StoredError`].
    fn load(bytes: &[u8]) -> Result<Vec<Self::Event>, StoredError>;

    /// Appends a chunk of a snapshot to `bytes`: events with the times they are applied at.
    fn store_story(story: &[(Timestamp, Self::Event)], bytes: &mut Vec<u8>);

    /// One chunk of a snapshot, from any stored format.
    ///
    /// # Errors
    /// See [`StoredError`].
    fn load_story(bytes: &[u8]) -> Result<Vec<(Timestamp, Self::Event)>, StoredError>;

    /// A whole snapshot in chunks of at most [`SNAPSHOT_CHUNK_BYTES_MAX`] bytes, except where one event alone is larger.
    /// At least one chunk, so that an empty state has a snapshot too. Of the story no more is held than one chunk.
    fn story_chunks(story: impl Iterator<Item = (Timestamp, Self::Event)>) -> impl Iterator<Item = Vec<u8>>;
}

/// The newest format of each state machine, which is written, and the older ones, which are raised to it when read.
macro_rules! stored {
    ($($machine:ty, $event:path, $newest:ident = $form:path $(, $older:ident = $old_form:path)*;)*) => {$(
        impl Stored for $machine {
            fn store(events: &[$event], bytes: &mut Vec<u8>) {
                let mut items = Items::default();
                events.iter().for_each(|event| items.push(&<$form>::from(event)));
                items.write($newest, bytes);
            }

            fn load(bytes: &[u8]) -> Result<Vec<$event>, StoredError> {
                match split(bytes)? {
                    ($newest, rest) => read::<$form, _>(rest),
                    $(($older, rest) => read::<$old_form, _>(rest),)*
                    (found, _) => Err(StoredError::Version { found, newest: $newest }),
                }
            }

            fn store_story(story: &[(Timestamp, $event)], bytes: &mut Vec<u8>) {
                let mut items = Items::default();
                story.iter().for_each(|(at, event)| items.push(&Timed(at.unix_ms(), <$form>::from(event))));
                items.write($newest, bytes);
            }

            fn load_story(bytes: &[u8]) -> Result<Vec<(Timestamp, $event)>, StoredError> {
                match split(bytes)? {
                    ($newest, rest) => read::<Timed<$form>, _>(rest),
                    $(($older, rest) => read::<Timed<$old_form>, _>(rest),)*
                    (found, _) => Err(StoredError::Version { found, newest: $newest }),
                }
            }

            fn story_chunks(
                story: impl Iterator<Item = (Timestamp, $event)>,
            ) -> impl Iterator<Item = Vec<u8>> {
                chunks($newest, story, |(at, event), bytes| append(&Timed(at.unix_ms(), <$form>::from(event)), bytes))
            }
        }
    )*};
}

stored! {
    Fleet, mainstay_fleet::Event, V3 = fleet_v2::Event<'_>, V2 = fleet_v2::Event<'_>, V1 = fleet_v1::Event<'_>;
    Catalog, mainstay_fleet::catalog::CatalogEvent,
        V3 = catalog_v2::Event<'_>, V2 = catalog_v2::Event<'_>, V1 = catalog_v1::Event<'_>;
    Queue, mainstay_matchmaking::Event,
        V10 = queue_v1::Event<'_>, V9 = queue_v1::Event<'_>, V8 = queue_v1::Event<'_>, V7 = queue_v1::Event<'_>, V6 = queue_v1::Event<'_>, V5 = queue_v1::Event<'_>, V4 = queue_v1::Event<'_>, V3 = queue_v1::Event<'_>, V2 = queue_v1::Event<'_>, V1 = queue_v1::Event<'_>;
    Lobby, mainstay_lobby::Event, V2 = lobby_v1::Event<'_>, V1 = lobby_v1::Event<'_>;
    Players, mainstay_players::Event, V1 = players_v1::Event<'_>;
    Supervisor, mainstay_supervisor::Event, V2 = supervisor_v1::Event<'_>, V1 = supervisor_v1::Event<'_>;
}

/// An event of a snapshot with its time in milliseconds.
#[derive(Serialize, Deserialize)]
struct Timed<E>(u64, E);

impl<S, E: From<S>> From<Timed<S>> for (Timestamp, E) {
    fn from(Timed(at, event): Timed<S>) -> Self {
        (Timestamp::from_unix_ms(at), event.into())
    }
}

/// A postcard sequence that is written item by item, so that its size is known as it grows.
#[derive(Default)]
struct Items {
    count: u64,
    bytes: Vec<u8>,
}

impl Items {
    fn push(&mut self, item: &impl Serialize) {
        append(item, &mut self.bytes);
        self.count += 1;
    }

    fn write(&self, format: u8, bytes: &mut Vec<u8>) {
        bytes.push(format);
        append(&self.count, bytes);
        bytes.extend_from_slice(&self.bytes);
    }
}

fn chunks<E>(
    format: u8,
    mut story: impl Iterator<Item = E>,
    encode: impl Fn(&E, &mut Vec<u8>),
) -> impl Iterator<Item = Vec<u8>> {
    // What the next chunk begins with; `None` once the last is told.
    let mut begun = Some(Items::default());
    let mut next = Vec::new();
    std::iter::from_fn(move || {
        let mut items = begun.take()?;
        for event in story.by_ref() {
            next.clear();
            encode(&event, &mut next);
            if items.count > 0
                && items.bytes.len() + next.len() + CHUNK_HEAD_BYTES_MAX > SNAPSHOT_CHUNK_BYTES_MAX
            {
                begun = Some(Items { count: 1, bytes: std::mem::take(&mut next) });
                break;
            }
            items.bytes.extend_from_slice(&next);
            items.count += 1;
        }
        let mut chunk = Vec::with_capacity(items.bytes.len() + CHUNK_HEAD_BYTES_MAX);
        items.write(format, &mut chunk);
        Some(chunk)
    })
}

fn append(item: &impl Serialize, bytes: &mut Vec<u8>) {
    let grown = postcard::to_extend(item, std::mem::take(bytes));
    *bytes = grown.expect("stored forms are plain data, and plain data always encodes into a growing buffer");
}

fn split(bytes: &[u8]) -> Result<(u8, &[u8]), StoredError> {
    bytes.split_first().map(|(version, rest)| (*version, rest)).ok_or(StoredError::Empty)
}

fn read<'a, S: Deserialize<'a>, E: From<S>>(bytes: &'a [u8]) -> Result<Vec<E>, StoredError> {
    let shape = |rest: &[u8], cause| StoredError::Shape { at: 1 + bytes.len() - rest.len(), cause };
    let (count, mut rest) = postcard::take_from_bytes::<u64>(bytes).map_err(|cause| shape(bytes, cause))?;
    let mut events = Vec::new();
    for _ in 0..count {
        let (event, after) = postcard::take_from_bytes::<S>(rest).map_err(|cause| shape(rest, cause))?;
        events.push(event.into());
        rest = after;
    }
    if rest.is_empty() { Ok(events) } else { Err(StoredError::Trailing(rest.len())) }
}
