//! A real control plane over SQLite in a temporary directory, spoken to over loopback as its clients do.
#![cfg(test)]

mod access;
mod agent;
mod allocations;
mod configuration;
mod durable;
mod native;
mod refusals;
mod streams;
mod support;
