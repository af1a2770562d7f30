//! Colours of states. They say nothing that the word does not: who sees none reads the same.

use std::io::{self, IsTerminal as _};

use comfy_table::{Cell, Color, Table};

use crate::arguments::Colour;

/// The columns and fields that hold states.
const STATES: [&str; 6] = ["status", "state", "process", "phase", "life", "agent"];

/// Whether colours are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tones {
    Shown,
    Hidden,
}

impl Tones {
    /// As was asked for.
    pub fn of(colour: Colour) -> Self {
        match colour {
            Colour::Always => {
                // The library that writes them looks at NO_COLOR as well, and a flag goes before a variable.
                crossterm::style::force_color_output(true);
                Self::Shown
            }
            Colour::Auto if io::stdout().is_terminal() && !is_plain() => Self::Shown,
            Colour::Auto | Colour::Never => Self::Hidden,
        }
    }

    /// Has a table show them.
    pub fn dress(self, table: &mut Table) {
        match self {
            Self::Shown => {
                table.enforce_styling().style_text_only();
            }
            Self::Hidden => {
                table.force_no_tty();
            }
        }
    }

    /// A cell, with the colour of its state where it has one.
    pub fn cell(self, heading: &str, text: String) -> Cell {
        let field = heading.rsplit('.').next().unwrap_or(heading);
        let tone = STATES.contains(&field).then(|| tone(&text)).flatten();
        match (self, tone) {
            (Self::Shown, Some(tone)) => Cell::new(text).fg(tone),
            (Self::Shown, None) | (Self::Hidden, _) => Cell::new(text),
        }
    }
}

/// Whether the environment wants none (<https://no-color.org>), or the terminal knows none.
fn is_plain() -> bool {
    let is =
        |name: &str, plain: fn(&std::ffi::OsStr) -> bool| std::env::var_os(name).is_some_and(|it| plain(&it));
    is("NO_COLOR", |it| !it.is_empty()) || is("TERM", |it| it == "dumb")
}

/// A state's colour: green where somebody plays or all is well, blue what runs for nobody yet, magenta what is kept, yellow what is on
/// its way, red what failed, grey what is idle or over.
fn tone(state: &str) -> Option<Color> {
    let state = state.to_ascii_lowercase();
    Some(match state.as_str() {
        "allocated" | "playing" | "matched" | "ok" | "ready" | "connected" | "live" | "open" | "serving" => {
            Color::Green
        }
        "online" => Color::Blue,
        "held" | "reserved" => Color::Magenta,
        "starting" | "stopping" | "waiting" | "placed" | "warn" | "draining" | "silent" | "requested" => {
            Color::Yellow
        }
        _ if state.starts_with("waitingfor") => Color::Yellow,
        "crashed" | "backedoff" | "failed" | "fail" | "lost" | "revoked" | "canceled" => Color::Red,
        "available" | "stopped" | "offline" | "ended" | "expired" | "usedup" | "withdrawn" | "removing"
        | "emptied" => Color::DarkGrey,
        _ => return None,
    })
}
