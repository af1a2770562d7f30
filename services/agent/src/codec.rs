//! The stored form of the rules' events, as the journal's adapter keeps it.

use mainstay_core::Timestamp;
use mainstay_journal::stored::Stored as _;
use mainstay_runtime::{Codec, CodecError};
use mainstay_supervisor::{Event, Supervisor};

/// `adapters/journal/stored`, for the runtime.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredCodec;

impl Codec<Supervisor> for StoredCodec {
    fn encode(&self, events: &[Event], bytes: &mut Vec<u8>) {
        Supervisor::store(events, bytes);
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<Event>, CodecError> {
        Ok(Supervisor::load(bytes)?)
    }

    fn decode_snapshot(&self, chunk: &[u8]) -> Result<Vec<(Timestamp, Event)>, CodecError> {
        Ok(Supervisor::load_story(chunk)?)
    }
}
