//! What people, parents and the system say to one player's process: lines, keys and signals, each read on a thread that does nothing
//! else.

use std::io::{self, BufRead as _};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use nix::sys::signal::{SigSet, Signal};
use ratatui::crossterm::event::{self, KeyEvent, KeyEventKind};

use crate::peers::options::Options;
use crate::peers::process::ProcessError;

/// How many console lines wait.
const LINES_MAX: usize = 64;
/// How long a console line is at most, in bytes.
const LINE_BYTES_MAX: u64 = 1_024;

/// What people and parents say.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A line of the console.
    Line(String),
    /// A key, where a person plays.
    Key(KeyEvent),
    /// Nobody is there any more.
    Closed,
    /// SIGTERM or SIGINT.
    Signal,
}

/// Signals and the console, each on a thread that does nothing else.
pub(super) fn listen(options: &Options) -> Result<Receiver<Said>, ProcessError> {
    let system = |what| move |source| ProcessError::System { what, source };
    let (said, heard) = sync_channel(LINES_MAX);
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.thread_block().map_err(io::Error::from).map_err(system("block SIGTERM"))?;
    let (console, play) = (said.clone(), options.play);
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while signals.wait().is_ok() {
                if said.send(Said::Signal).is_err() {
                    break;
                }
            }
        })
        .map_err(system("start a thread"))?;
    thread::Builder::new()
        .name("console".to_owned())
        .spawn(move || if play { read_keys(&console) } else { read_console(&console) })
        .map_err(system("start a thread"))?;
    Ok(heard)
}

fn read_keys(said: &SyncSender<Said>) {
    loop {
        let say = match event::read() {
            Ok(event::Event::Key(key)) if key.kind != KeyEventKind::Release => Said::Key(key),
            // The next draw has the new size.
            Ok(_) => continue,
            Err(_) => Said::Closed,
        };
        let closed = say == Said::Closed;
        if said.send(say).is_err() || closed {
            return;
        }
    }
}

fn read_console(said: &SyncSender<Said>) {
    let mut input = io::BufReader::new(io::Read::take(io::stdin().lock(), u64::MAX));
    loop {
        let mut line = String::new();
        let read = io::Read::take(&mut input, LINE_BYTES_MAX).read_line(&mut line);
        let say = match read {
            Ok(1..) => Said::Line(line.trim().to_owned()),
            Ok(0) | Err(_) => Said::Closed,
        };
        let closed = say == Said::Closed;
        if said.send(say).is_err() || closed {
            return;
        }
    }
}
