//! Real holders with real games.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test where they stand")]

mod common;
mod confine;
mod crowd;
mod golden;
mod life;
mod spawner;
mod talk;
