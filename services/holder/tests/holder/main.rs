//! Real holders with real games.

mod common;
mod life;
