//! What a responder tells about its server: the source of every answer, given anew with each datagram.

use std::time::Duration;

/// A server's state as queries show it. Texts longer than [`crate::TEXT_BYTES_MAX`] bytes are cut on the wire.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Status {
    /// The server's name.
    pub name: String,
    /// The game, or its mode (`gameType` in SQP, `game` in A2S).
    pub game: String,
    /// The build's name, often empty (`buildId` in SQP).
    pub build: String,
    /// The map.
    pub map: String,
    /// The game's version (A2S alone).
    pub version: String,
    /// The game port (SQP alone).
    pub port: u16,
    /// Everyone connected; the count in every answer is this list's length.
    pub players: Vec<Player>,
    /// How many there is room for.
    pub max_players: u16,
    /// Figures for SQP's metrics chunk; only the first ten are sent.
    pub metrics: Vec<f32>,
    /// Settings for `A2S_RULES`, name and value.
    pub rules: Vec<(String, String)>,
}

/// One connected player.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Player {
    /// The name.
    pub name: String,
    /// The score.
    pub score: i32,
    /// How long connected.
    pub connected: Duration,
}
