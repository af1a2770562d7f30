//! What a line does to packets.

use std::time::Duration;

/// Whether packets pass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Passage {
    /// They do, as the line has them.
    Open(Line),
    /// None does, and nobody is told: no ICMP comes back.
    Cut,
}

/// How packets pass, one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// The least time a packet takes.
    pub delay: Duration,
    /// Up to so much is added, drawn for each packet, alike over the range: a later packet may overtake an earlier one by as
    /// much.
    pub jitter: Duration,
    /// Of a thousand packets, so many are lost, drawn for each.
    pub lost_per_mille: u16,
}

impl Line {
    /// A cable: no delay of its own, nothing lost.
    pub const CABLE: Self = Self { delay: Duration::ZERO, jitter: Duration::ZERO, lost_per_mille: 0 };

    /// The line of issue 5's figures: 50 ms there and back, one packet in a hundred lost each way.
    pub const FIGURES: Self =
        Self { delay: Duration::from_millis(25), jitter: Duration::ZERO, lost_per_mille: 10 };

    /// The same, where a packet is overtaken by those of 20 ms after it: what sessions of tests play over.
    pub const SHAKEN: Self = Self::FIGURES.shaken(Duration::from_millis(20));

    /// The same, with jitter.
    #[must_use]
    pub const fn shaken(self, jitter: Duration) -> Self {
        Self { jitter, ..self }
    }

    /// The same, with another loss.
    #[must_use]
    pub const fn losing(self, lost_per_mille: u16) -> Self {
        Self { lost_per_mille, ..self }
    }
}
