//! What a game is told over the event socket: that its server was allocated, or deallocated.

use mainstay_core::{AllocationId, ServerId};
use serde::{Serialize, Serializer, ser::SerializeStruct as _};
use uuid::Uuid;

/// What happened to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// It has a session now.
    Allocated,
    /// Its session is over.
    Deallocated,
}

impl EventKind {
    /// The word on the wire (Go SDK, `event.go`).
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allocated => "AllocateEventType",
            Self::Deallocated => "DeallocateEventType",
        }
    }
}

/// One event. It may come more than once, always with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// Which start of the server it was told to.
    pub run: u64,
    /// The server.
    pub server: ServerId,
    /// The session.
    pub allocation: AllocationId,
}

impl Event {
    /// The event's id: the same for the same thing told again, so that who counts ids counts each thing once. Made from
    /// what it says (RFC 9562, version 8), because a daemon that starts again must find the same one.
    #[must_use]
    pub fn id(&self) -> Uuid {
        let mut bytes = self.allocation.0.into_bytes();
        for (byte, run) in bytes.iter_mut().zip(self.run.to_be_bytes()) {
            *byte ^= run;
        }
        bytes[15] ^= match self.kind {
            EventKind::Allocated => 0,
            EventKind::Deallocated => 0xff,
        };
        uuid::Builder::from_custom_bytes(bytes).into_uuid()
    }
}

impl Serialize for Event {
    /// `ServerID` is a number, the rest are strings: the Go SDK's types are exact.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Event", 4)?;
        fields.serialize_field("EventType", self.kind.word())?;
        fields.serialize_field("EventID", &self.id())?;
        fields.serialize_field("ServerID", &self.server.number())?;
        fields.serialize_field("AllocationID", &self.allocation)?;
        fields.end()
    }
}
