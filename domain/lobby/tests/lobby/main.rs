//! What a lobby promises: seed 000's sentences, the lease, and the laws over random stories.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod again;
mod days;
mod lease;
mod members;
mod searching;
mod seats;
mod world;
