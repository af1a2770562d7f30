//! The rules of host migration, one example a sentence of seed 000, and its ballot tried in every order.
#![expect(clippy::unwrap_used, reason = "a test that fails may panic")]

mod advice;
mod bearing;
mod budget;
mod connections;
mod console;
mod copies;
mod defects;
mod epochs;
mod grammar;
mod joins;
mod keeping;
mod leaves;
mod levels;
mod listeners;
mod lobby;
mod missed_on_a_side;
mod model;
mod moves;
mod net;
mod order;
mod passes;
mod pasts;
mod rhythm;
mod scripts;
mod seal;
mod sealed;
mod sentences;
mod sides;
mod speech;
mod state;
mod strangers;
mod suitable;
mod terms;
mod two_sides;
mod witness;
