//! The agent's operating-system layer against the real system, with real holders and real games.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test where they stand")]

mod common;
mod groups;
mod slots;
