//! A2S, Valve's server queries: `A2S_INFO`, and on the answering side `A2S_PLAYER` and `A2S_RULES` too. All numbers are
//! little-endian, texts end with a zero, and every packet begins with four bytes of ones.
//!
//! | packet | bytes after the ones |
//! |---|---|
//! | info request | `54`, `Source Engine Query` and a zero; after a challenge also the token |
//! | players, rules request | `55`, `56`; the token, all ones to ask for one |
//! | challenge | `41`, token u32 |
//! | info | `49`, protocol u8, name, map, folder, game, app id u16, players u8, slots u8, bots u8, kind u8, platform u8, locked u8, VAC u8, version |
//! | players | `44`, count u8, then index u8, name, score i32, seconds f32 for each |
//! | rules | `45`, count u16, then name and value for each |
//!
//! Source: Valve's "Server queries" page; the wire of Unity's Go SDK 0.5.4, python-a2s 1.4.2 and quakestat 2.17.

mod packet;
mod prober;
mod responder;

pub use packet::{Info, Request};
pub use responder::Responder;

pub(crate) use prober::Prober;
