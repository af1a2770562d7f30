//! Answers that are told as they change, or looked at again and again: at a terminal the newest stands in the place of the one before; else each change
//! is a line of JSON, as it came, for programs.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value, json};

use super::{Audience, Shape, known_by, picked, text, written};
use crate::arguments::{Output, Reader};
use crate::failure::{Exit, Failure};
use crate::follow::Follow;

/// How often it is looked at most: often enough for a person, and a few calls a second are nothing to an instance.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// How many times as long as a look took nothing is asked: who watches a long list takes a tenth of what answers it, at most.
const LOOKS_APART: u32 = 10;
/// How seldom it is looked at, however long that takes: a person still sees that the watch goes on.
const LOOK_SELDOM: Duration = Duration::from_secs(20);

/// From the terminal's upper left corner on, with nothing below.
const CLEARED: &str = "\x1b[H\x1b[2J";

/// Where answers come from.
pub enum Source<'a> {
    /// They are asked for, again and again.
    Asked(&'a dyn Fn() -> Result<Value, Failure>),
    /// They are told.
    Told(Follow<'a>),
}

impl Source<'_> {
    /// The next answer, where there is one within a moment.
    fn next(&mut self) -> Result<Option<Value>, Failure> {
        match self {
            Self::Asked(fetch) => fetch().map(Some),
            Self::Told(follow) => follow.next(LOOK_AGAIN),
        }
    }

    /// How long nothing is asked after an answer that took so long.
    fn pause(&self, took: Duration) -> Duration {
        match self {
            Self::Asked(_) => pause(took),
            Self::Told(_) => Duration::ZERO,
        }
    }
}

/// Looks until what is looked at has ended, or nobody reads any more.
pub fn watch(shape: &Shape<'_>, format: &Output, mut source: Source<'_>) -> Result<(), Failure> {
    let person = io::stdout().is_terminal() && format.reader() == Reader::Person;
    let mut before: Option<Value> = None;
    // What stands at the terminal: how long ago something was changes though nothing else does.
    let mut stands = String::new();
    loop {
        let began = Instant::now();
        let now = match (source.next(), &before) {
            (Ok(Some(now)), _) => now,
            (Ok(None), Some(before)) => before.clone(),
            (Ok(None), None) => continue,
            (Err(failure), Some(before)) if is_over(failure.exit) => {
                let last = if person { format!("{}\n", failure.what) } else { gone(before) };
                return super::write(&last);
            }
            (Err(failure), _) => return Err(failure),
        };
        let took = began.elapsed();
        let said = match (&before, person) {
            (_, true) => {
                let seen = text(&now, shape, format)?;
                let is_new = before.is_none() || seen != stands;
                stands = seen;
                if is_new { format!("{CLEARED}{stands}") } else { String::new() }
            }
            (before, false) => changes(before.as_ref(), &now, format),
        };
        if written(&said)? == Audience::Gone {
            return Ok(());
        }
        if now.get("ended").is_some_and(|ended| !ended.is_null()) {
            return Ok(());
        }
        before = Some(now);
        if waited(source.pause(took)) == Audience::Gone {
            return Ok(());
        }
    }
}

/// Whether that ends what was there a moment ago, rather than the watch of it.
const fn is_over(exit: Exit) -> bool {
    match exit {
        Exit::NotFound | Exit::Gone => true,
        Exit::Failed | Exit::Usage | Exit::Denied | Exit::Refused | Exit::TimedOut | Exit::Unreachable => {
            false
        }
    }
}

/// How long nothing is asked after a look that took so long.
fn pause(took: Duration) -> Duration {
    took.saturating_mul(LOOKS_APART).clamp(LOOK_AGAIN, LOOK_SELDOM)
}

/// Waits so long, or until nobody reads any more: while nothing changes nothing is written, which would tell.
fn waited(pause: Duration) -> Audience {
    let out = io::stdout();
    // Without a wish for anything it is told of errors and hang-ups alone.
    let mut ends = [PollFd::new(&out, PollFlags::empty())];
    match poll(&mut ends, Timespec::try_from(pause).ok().as_ref()) {
        Ok(1..) => Audience::Gone,
        // A signal woke it: it is looked a little early.
        Ok(0) | Err(_) => Audience::Here,
    }
}

/// What is new or otherwise than before, a line each; of what is gone, its id and that it is gone.
fn changes(before: Option<&Value>, now: &Value, format: &Output) -> String {
    let (before, now) = (before.map(|before| rows(before, format)).unwrap_or_default(), rows(now, format));
    let differs = |(key, row): &(&String, &Value)| before.get(*key) != Some(*row);
    let gone = before.keys().filter(|key| !now.contains_key(*key)).map(|key| gone_row(key));
    now.iter()
        .filter(differs)
        .map(|(_, row)| row.clone())
        .chain(gone)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// That all of it is gone.
fn gone(before: &Value) -> String {
    let rows = super::each(before);
    rows.into_iter().enumerate().map(|(place, row)| format!("{}\n", gone_row(&key(place, row)))).collect()
}

fn gone_row(key: &str) -> Value {
    json!({ "id": key, "gone": true })
}

/// What a row of a list is told apart by: its name, or its place where it has none.
fn key(place: usize, row: &Value) -> String {
    known_by(row).unwrap_or_else(|| format!("#{}", place + 1))
}

/// What is compared: a list's rows by their keys; or the one thing, which stays the same one whatever it is called.
fn rows(answer: &Value, format: &Output) -> Map<String, Value> {
    let said = |row: &Value| {
        if format.fields.is_empty() { row.clone() } else { picked(row, &format.fields) }
    };
    match answer.as_array() {
        Some(rows) => rows.iter().enumerate().map(|(place, row)| (key(place, row), said(row))).collect(),
        None => Map::from_iter([(String::new(), said(answer))]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Format;

    #[test]
    fn only_what_changed_is_told_and_what_is_gone() {
        let all = Output { format: Format::Json, watch: true, ..Output::default() };
        let status = Output { fields: vec!["status".to_owned()], ..all };
        let before = json!([{ "id": "a", "status": "x", "n": 1 }, { "id": "b", "status": "x" }]);
        let now = json!([{ "id": "a", "status": "x", "n": 2 }, { "id": "c", "status": "y" }]);
        let gone = "{\"gone\":true,\"id\":\"b\"}\n";
        let a = "{\"id\":\"a\",\"n\":2,\"status\":\"x\"}\n";
        let c = "{\"id\":\"c\",\"status\":\"y\"}\n";
        assert_eq!(changes(Some(&before), &now, &all), format!("{a}{c}{gone}"));
        assert_eq!(changes(Some(&before), &now, &status), format!("{{\"status\":\"y\"}}\n{gone}"));
        assert_eq!(changes(None, &now, &all), format!("{a}{c}"));
        assert_eq!(changes(Some(&now), &now, &all), "");
    }

    #[test]
    fn rows_without_a_name_are_told_apart_by_their_places() {
        let all = Output { format: Format::Json, watch: true, ..Output::default() };
        let before = json!([{ "n": 1 }, { "n": 2 }, { "n": 3 }]);
        let now = json!([{ "n": 1 }, { "id": null, "n": 4 }]);
        let gone = "{\"gone\":true,\"id\":\"#3\"}\n";
        assert_eq!(changes(Some(&before), &now, &all), format!("{{\"id\":null,\"n\":4}}\n{gone}"));
        // Why a ticket is not matched has no id, and the ticket that it is in the end has one.
        let last = changes(Some(&json!({ "waitedSeconds": 1 })), &json!({ "id": "a" }), &all);
        assert_eq!(last, "{\"id\":\"a\"}\n");
    }

    #[test]
    fn what_takes_long_is_asked_for_less_often() {
        assert_eq!(pause(Duration::from_millis(3)), LOOK_AGAIN);
        assert_eq!(pause(Duration::from_millis(100)), Duration::from_secs(1));
        assert_eq!(pause(Duration::from_secs(60)), LOOK_SELDOM);
    }
}
