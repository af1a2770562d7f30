//! The rules of slots, shown from outside: by the sentences they come from, and by every order of events.

mod machine;
mod misbehaviour;
mod sentences;
mod world;
