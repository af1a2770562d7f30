//! The stored form of events, as the journal's adapter keeps it.

use mainstay_core::{StateMachine, Timestamp};
use mainstay_journal::stored::Stored;
use mainstay_runtime::{Codec, CodecError};

/// `adapters/journal/stored`, for the runtime.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoredCodec;

impl<S: Stored + StateMachine> Codec<S> for StoredCodec {
    fn encode(&self, events: &[S::Event], bytes: &mut Vec<u8>) {
        S::store(events, bytes);
    }

    fn decode(&self, bytes: &[u8]) -> Result<Vec<S::Event>, CodecError> {
        Ok(S::load(bytes)?)
    }

    fn decode_snapshot(&self, chunk: &[u8]) -> Result<Vec<(Timestamp, S::Event)>, CodecError> {
        Ok(S::load_story(chunk)?)
    }
}
