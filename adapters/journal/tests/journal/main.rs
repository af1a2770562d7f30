//! The contract of the port, and every store against it.

mod contract;
mod damage;
mod fixture;
mod full_disk;
mod kill;
mod memory;
mod sqlite;
mod stored;
