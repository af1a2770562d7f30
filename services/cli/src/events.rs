//! Server-sent events, as the API tells what becomes of one thing. A thread of its own reads them, so that who waits for the next one can look at
//! the clock and at its own reader in between.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long nothing may come: three times as long as the API is silent (15 s). After that the line is dead.
const SILENT_MAX: Duration = Duration::from_secs(45);
/// How long the first event may take, which the API sends at once: something on the way keeps the others back as well then.
const FIRST_WITHIN: Duration = Duration::from_secs(5);
/// The longest line that is read: a session of many members has some 100 KB.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// How many events wait to be looked at before no more are read.
const UNSEEN_MAX: usize = 64;

/// A stream of events.
pub struct Events {
    lines: Receiver<Said>,
    /// When it would count as dead.
    dead_at: Instant,
}

/// What a stream says.
#[derive(Debug, PartialEq)]
enum Said {
    /// That it lives.
    Alive,
    /// An event: its data.
    Event(Value),
}

/// What was heard of a stream.
#[derive(Debug, PartialEq)]
pub enum Heard {
    /// An event: its data.
    Event(Value),
    /// Nothing yet.
    Nothing,
    /// It has ended, or is dead.
    Over,
}

impl Events {
    /// Reads a body's events.
    pub fn of(body: impl Read + Send + 'static) -> Self {
        let (says, lines) = sync_channel(UNSEEN_MAX);
        // It ends with the stream, or with the next line after nobody listens.
        let _reader = thread::spawn(move || read(body, &says));
        Self { lines, dead_at: Instant::now() + FIRST_WITHIN }
    }

    /// The next event, where it comes within so long.
    pub fn next(&mut self, within: Duration) -> Heard {
        let until = Instant::now() + within;
        loop {
            let left = until.min(self.dead_at).saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(said) => {
                    self.dead_at = Instant::now() + SILENT_MAX;
                    if let Said::Event(data) = said {
                        return Heard::Event(data);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Heard::Over,
                Err(RecvTimeoutError::Timeout) if Instant::now() >= self.dead_at => return Heard::Over,
                Err(RecvTimeoutError::Timeout) => return Heard::Nothing,
            }
        }
    }
}

/// Reads until the end, what cannot be read, or nobody listens.
fn read(body: impl Read, says: &SyncSender<Said>) {
    let mut body = BufReader::new(body);
    let (mut line, mut data) = (Vec::new(), String::new());
    loop {
        line.clear();
        let read = (&mut body).take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
        if !read.is_ok_and(|read| read > 0) || line.last() != Some(&b'\n') {
            return;
        }
        let Ok(text) = std::str::from_utf8(&line) else { return };
        if let Some(said) = heard(text.trim_end_matches(['\r', '\n']), &mut data)
            && says.send(said).is_err()
        {
            return;
        }
    }
}

/// What a line says together with the data of those before it (WHATWG HTML, 9.2.6). What kind an event is of does not matter here.
fn heard(line: &str, data: &mut String) -> Option<Said> {
    if line.is_empty() {
        let whole = std::mem::take(data);
        return serde_json::from_str(&whole).ok().map(Said::Event);
    }
    if line.starts_with(':') {
        return Some(Said::Alive);
    }
    if let Some(more) = line.strip_prefix("data:") {
        if !data.is_empty() {
            data.push('\n');
        }
        if data.len() + more.len() <= usize::try_from(LINE_BYTES_MAX).unwrap_or(usize::MAX) {
            data.push_str(more.strip_prefix(' ').unwrap_or(more));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn events_are_heard_one_after_another_until_the_end() {
        let text =
            "event: ticket\r\ndata: {\"n\":1}\r\n\r\n:\n\nid: 7\ndata:{\ndata: \"n\":2}\n\ndata: {\"n\":3}";
        let mut events = Events::of(text.as_bytes());
        let heard: Vec<Heard> = (0..3).map(|_| events.next(Duration::from_secs(60))).collect();
        assert_eq!(heard, [Heard::Event(json!({ "n": 1 })), Heard::Event(json!({ "n": 2 })), Heard::Over]);
    }

    #[test]
    fn a_stream_that_says_nothing_is_waited_for_no_longer_than_was_said() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let mut events = Events::of(reader);
        assert_eq!(events.next(Duration::from_millis(1)), Heard::Nothing);
        events.dead_at = Instant::now();
        assert_eq!(events.next(Duration::from_secs(60)), Heard::Over);
    }
}
