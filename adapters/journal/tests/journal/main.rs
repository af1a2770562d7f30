//! The contract of the port, and every store against it.

mod compact;
mod contract;
mod damage;
mod fixture;
mod full_disk;
mod history;
mod kill;
mod memory;
mod postgres;
mod sqlite;
mod stored;
