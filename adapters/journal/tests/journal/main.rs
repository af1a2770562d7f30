//! The contract of the port, and every store against it.
#![expect(
    clippy::unwrap_used,
    reason = "clippy knows only functions marked as tests; what they share is tests too"
)]

mod compact;
mod contract;
mod damage;
mod fixture;
mod full_disk;
mod golden;
mod golden_queue;
mod history;
mod kill;
mod memory;
mod order;
mod postgres;
mod sqlite;
mod stored;
mod stored_admission;
mod stored_lobby;
mod stored_players;
mod stored_queue;
