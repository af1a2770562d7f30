//! Whether somebody at a terminal is sure, before what cannot be brought back is gone.

use std::io::{self, BufRead, IsTerminal as _};

use crate::arguments::Output;
use crate::client::Client;
use crate::failure::{Exit, Failure};

/// Asks at a terminal; a script said what it wants, and nobody is there who could be asked.
pub fn sure(what: &str, client: &Client, format: &Output) -> Result<(), Failure> {
    if format.yes || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(());
    }
    eprint!("{what}, at {}? [y/N] ", client.api());
    if said_yes(&mut io::stdin().lock()) {
        return Ok(());
    }
    Err(Failure::new(Exit::Failed, "MS-U061", "nothing is done: nobody said yes")
        .fix("answer y, or say --yes"))
}

fn said_yes(input: &mut impl BufRead) -> bool {
    let mut answer = String::new();
    // What cannot be read is no yes.
    let _read = input.read_line(&mut answer);
    ["y", "yes"].iter().any(|yes| answer.trim().eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (answer, yes) in
            [("y\n", true), ("Yes\n", true), ("\n", false), ("", false), ("yep\n", false), ("n\n", false)]
        {
            assert_eq!(said_yes(&mut answer.as_bytes()), yes, "{answer:?}");
        }
    }
}
