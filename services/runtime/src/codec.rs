//! The seam between a state machine's events and their stored form, which `adapters/journal/stored` owns.

use mainstay_core::{StateMachine, Timestamp};
use mainstay_journal::stored::Stored;

/// What does not fit in stored bytes.
pub type CodecError = Box<dyn std::error::Error + Send + Sync>;

/// Turns events into stored bytes and back. Encoding cannot fail: an event that was applied must be storable.
pub trait Codec<S: StateMachine>: Send + Sync + 'static {
    /// The stored form of one turn's events, appended to `bytes`.
    fn encode(&self, events: &[S::Event], bytes: &mut Vec<u8>);

    /// One turn's events, from any stored version.
    ///
    /// # Errors
    /// Where the bytes are no turn this program knows.
    fn decode(&self, bytes: &[u8]) -> Result<Vec<S::Event>, CodecError>;

    /// One chunk of a snapshot: events with the times they are applied at.
    ///
    /// # Errors
    /// Where the bytes are no chunk this program knows.
    fn decode_snapshot(&self, chunk: &[u8]) -> Result<Vec<(Timestamp, S::Event)>, CodecError>;
}

/// The stored form of `adapters/journal/stored`: what every shard of the product is kept in.
#[derive(Debug, Clone, Copy)]
pub struct StoredCodec;

impl<S: Stored> Codec<S> for StoredCodec {
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
