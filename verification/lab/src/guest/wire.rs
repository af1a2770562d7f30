//! The guest's end of the wire.

use std::fs::{File, OpenOptions};
use std::io::Write as _;

use mainstay_lab::words::{WIRE, Word};

/// Says a word; one write, so that words of several threads do not mix.
pub fn say(word: &Word) {
    talk(&word.line());
}

/// Says that something was looked at, and holds.
pub fn holds(what: impl Into<String>) {
    say(&Word::Holds { what: what.into() });
}

/// For a person who looks for the reason of a failure.
pub fn talk(text: &str) {
    let mut wire: File =
        OpenOptions::new().write(true).open(WIRE).expect("the machine has a second serial port");
    wire.write_all(text.as_bytes()).expect("the host listens");
}
