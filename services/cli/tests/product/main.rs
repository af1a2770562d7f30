//! The whole product as a stranger meets it: `mainstay up` as a process of its own, real game servers, real sockets, and
//! callers who know nothing but its ports and credentials. One program for all of it, linked once.
#![expect(clippy::unwrap_used, reason = "a test's helper fails the test where it stands")]

mod allocations;
mod applying;
mod behind_routers;
mod builds;
mod by_hand;
mod caller;
mod dashboards;
mod demo;
mod doctor;
mod elsewhere;
mod examples;
mod far;
mod finding;
mod full_disk;
mod game;
mod host_calls;
mod images;
mod in_c;
mod joining;
mod lan;
mod listening;
mod lives;
mod lobby;
mod looking;
mod matching;
mod migrating;
mod misbehaving;
mod namespaces;
mod operating;
mod peers;
mod placing;
mod playfab;
mod product;
mod providing;
mod query;
mod reach;
mod refusals;
mod secure_lobby;
mod stock;
mod stopping;
mod terminal;
mod tokens;
mod unheard;
