//! What people, parents and the system say to one player's process: lines, keys and signals, each read on a thread that does nothing
//! else.

use std::io::{self, BufRead};
use std::iter;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread;

use nix::sys::signal::{SigSet, Signal};
use ratatui::crossterm::event::{self, KeyEvent, KeyEventKind};

use crate::peers::options::Options;
use crate::peers::process::ProcessError;

/// How many console lines wait, and are read at once: what people say between two ticks is heard with the second.
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

/// What has been said and not been heard yet.
pub(super) struct Console {
    /// That there was a signal: it does not wait behind lines.
    signals: Receiver<()>,
    lines: Receiver<Said>,
}

impl Console {
    /// All that has been said since.
    pub(super) fn since(&self) -> impl Iterator<Item = Said> + '_ {
        let signal = iter::from_fn(|| self.signals.try_recv().ok()).map(|()| Said::Signal);
        signal.chain(self.lines.try_iter().take(LINES_MAX))
    }
}

/// Signals and the console, each on a thread that does nothing else.
pub(super) fn listen(options: &Options) -> Result<Console, ProcessError> {
    let system = |what| move |source| ProcessError::System { what, source };
    if options.with_parent {
        wake_with_parent().map_err(system("wake as its parent dies"))?;
    }
    let (console, lines) = sync_channel(LINES_MAX);
    let (signal, signals_heard) = sync_channel(1);
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.thread_block().map_err(io::Error::from).map_err(system("block SIGTERM"))?;
    let play = options.play;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while signals.wait().is_ok() {
                // One that waits says as much as two.
                if signal.try_send(()) == Err(TrySendError::Disconnected(())) {
                    break;
                }
            }
        })
        .map_err(system("start a thread"))?;
    thread::Builder::new()
        .name("console".to_owned())
        .spawn(move || if play { read_keys(&console) } else { read_console(&console) })
        .map_err(system("start a thread"))?;
    Ok(Console { signals: signals_heard, lines })
}

/// A parent that is killed closes the console, and a process that it has stopped does not read that: the system has it go on, and it leaves as all others do.
#[cfg(target_os = "linux")]
fn wake_with_parent() -> io::Result<()> {
    Ok(nix::sys::prctl::set_pdeathsig(Signal::SIGCONT)?)
}

/// Elsewhere the console alone tells.
#[cfg(not(target_os = "linux"))]
fn wake_with_parent() -> io::Result<()> {
    Ok(())
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

    /// As many as come between two ticks are heard with the second, and a signal before them.
    #[test]
    fn a_signal_waits_behind_no_line() {
        let (signal, signals) = sync_channel(1);
        let (line, lines) = sync_channel(LINES_MAX);
        let console = Console { signals, lines };
        let said = || Said::Line("begin".to_owned());
        (0..LINES_MAX).for_each(|_| line.send(said()).unwrap());
        signal.send(()).unwrap();
        let heard: Vec<Said> = console.since().collect();
        assert_eq!(heard[0], Said::Signal);
        assert_eq!(heard[1..], iter::repeat_with(said).take(LINES_MAX).collect::<Vec<_>>());
        assert_eq!(console.since().next(), None);
    }

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
