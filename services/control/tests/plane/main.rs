//! A real control plane over SQLite in a temporary directory, spoken to over loopback as its clients do.
#![cfg(test)]

mod access;
mod admin;
mod agent;
mod allocations;
mod asks;
mod beyond;
mod clock;
mod configuration;
mod durable;
mod entities;
mod logs;
mod native;
mod operating;
mod pages;
mod played;
mod playfab;
mod queues;
mod reached;
mod reasons;
mod refusals;
mod removed;
mod scenarios;
mod series;
mod streams;
mod support;
mod surfaces;
mod uploads;
