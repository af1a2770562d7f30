//! The contract of the port, and every store against it.

mod contract;
mod fixture;
mod memory;
mod sqlite;
