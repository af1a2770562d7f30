//! What games and the local daemon say to each other: Multiplay's SDK daemon, as its stock clients know it (reference
//! multiplay.md section 2).
//!
//! - [`centrifuge`]: the event socket's protocol, Centrifuge JSON version 1.
//! - [`event`]: what is published there.
//! - [`calls`]: the bodies of the HTTP calls.
//!
//! The two dialects of the ready calls differ in their paths alone, so they need nothing here.

pub mod calls;
pub mod centrifuge;
pub mod event;
#[cfg(test)]
mod tests;
