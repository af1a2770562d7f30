//! What people, parents and the system say to one player's process: lines, keys and signals, each read on a thread that does nothing
//! else.

use std::io::{self, BufRead};
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
    let mut input = io::BufReader::new(io::stdin().lock());
    loop {
        let say = read_line(&mut input).map_or(Said::Closed, Said::Line);
        let closed = say == Said::Closed;
        if said.send(say).is_err() || closed {
            return;
        }
    }
}

/// The next line; `None` at the end. Of one that is too long the beginning, with a sign that there was more: no command is known by that. Bytes that
/// are no text stand as signs for that, too.
fn read_line(input: &mut impl BufRead) -> Option<String> {
    let (mut line, mut cut) = (Vec::new(), false);
    loop {
        let read = io::Read::take(&mut *input, LINE_BYTES_MAX).read_until(b'\n', &mut line).ok()?;
        let ends = read == 0 || line.ends_with(b"\n");
        if read == 0 && line.is_empty() {
            return None;
        }
        let beginning = line.trim_ascii_end().len().min(LINE_BYTES_MAX as usize);
        cut |= beginning < line.trim_ascii_end().len();
        if ends {
            let text = String::from_utf8_lossy(&line[..beginning]).trim().to_owned();
            return Some(if cut { format!("{text}…") } else { text });
        }
        line.truncate(LINE_BYTES_MAX as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<String> {
        let mut input = io::BufReader::new(bytes);
        std::iter::from_fn(|| read_line(&mut input)).collect()
    }

    #[test]
    fn a_line_that_is_no_text_ends_nothing() {
        assert_eq!(lines(b"set a 1\n\xff\xfe\n\nleave"), ["set a 1", "\u{fffd}\u{fffd}", "", "leave"]);
    }

    /// What stands behind 1,024 bytes is no command of its own, and what stands before is not taken for the whole.
    #[test]
    fn a_line_that_is_too_long_is_one_line() {
        let most = LINE_BYTES_MAX as usize;
        let long = [&vec![b'x'; most][..], b"leave\nbegin\n"].concat();
        assert_eq!(lines(&long), [format!("{}…", "x".repeat(most)), "begin".to_owned()]);
        let padded = [b"leave", &vec![b' '; 3 * most][..], b"not\n"].concat();
        assert_eq!(lines(&padded), ["leave…"]);
        assert_eq!(lines(&[&vec![b'x'; most][..], b"\n"].concat()), ["x".repeat(most)]);
    }
}
