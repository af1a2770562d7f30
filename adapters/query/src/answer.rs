//! What a server said about itself, whatever the protocol.

/// A server's answer: it lives, and this is what it said. A field is `None` where the protocol, or this server, does not
/// say it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Everyone connected: playing, watching, and bots where the server counts them.
    pub players: Option<u32>,
    /// How many the server has room for.
    pub max_players: Option<u32>,
    /// The server's name, at most [`crate::TEXT_BYTES_MAX`] bytes; not to be trusted as anything but text.
    pub name: Option<String>,
    /// The map it plays, as short.
    pub map: Option<String>,
}
