//! Answers that are looked at again and again: at a terminal the newest stands in the place of the one before; else each change
//! is a line of JSON, as it came, for programs.

use std::io::{self, IsTerminal as _, Write as _};
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{NAMES, Shape, picked, text};
use crate::arguments::{Output, Reader};
use crate::failure::{Exit, Failure};

/// How often it is looked: often enough for a person, and a few calls a second are nothing to an instance.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// From the terminal's upper left corner on, with nothing below.
const CLEARED: &str = "\x1b[H\x1b[2J";

/// Looks until what is looked at has ended, or nobody reads any more.
pub fn watch(
    shape: &Shape<'_>,
    format: &Output,
    fetch: &dyn Fn() -> Result<Value, Failure>,
) -> Result<(), Failure> {
    let person = io::stdout().is_terminal() && format.reader() == Reader::Person;
    let mut before = None;
    loop {
        let now = fetch()?;
        let said = match (&before, person) {
            (Some(before), true) if *before == now => String::new(),
            (Some(_) | None, true) => format!("{CLEARED}{}", text(&now, shape, format)?),
            (before, false) => changes(before.as_ref(), &now, format),
        };
        if is_gone(io::stdout().lock().write_all(said.as_bytes()).and_then(|()| io::stdout().flush()))? {
            return Ok(());
        }
        if now.get("ended").is_some_and(|ended| !ended.is_null()) {
            return Ok(());
        }
        before = Some(now);
        thread::sleep(LOOK_AGAIN);
    }
}

/// Whether nobody reads any more.
fn is_gone(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(false),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(true),
        Err(error) => {
            Err(Failure::new(Exit::Failed, "MS-U009", "failed to write to standard output").why(error))
        }
    }
}

/// What is new or otherwise than before, a line each; of what is gone, its id and that it is gone.
fn changes(before: Option<&Value>, now: &Value, format: &Output) -> String {
    let (before, now) = (before.map(|before| rows(before, format)).unwrap_or_default(), rows(now, format));
    let differs = |(key, row): &(&String, &Value)| before.get(*key) != Some(*row);
    let gone =
        before.keys().filter(|key| !now.contains_key(*key)).map(|key| json!({ "id": key, "gone": true }));
    now.iter()
        .filter(differs)
        .map(|(_, row)| row.clone())
        .chain(gone)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// What is compared: rows by their names, or the one thing.
fn rows(answer: &Value, format: &Output) -> Map<String, Value> {
    let said = |row: &Value| {
        if format.fields.is_empty() { row.clone() } else { picked(row, &format.fields) }
    };
    let named = |row: &Value| {
        let name = NAMES.iter().find_map(|field| row.get(*field));
        let name = name.map(|name| name.as_str().map_or_else(|| name.to_string(), str::to_owned));
        (name.unwrap_or_default(), said(row))
    };
    answer.as_array().map_or_else(|| Map::from_iter([named(answer)]), |rows| rows.iter().map(named).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Format;

    #[test]
    fn only_what_changed_is_told_and_what_is_gone() {
        let all = Output { format: Format::Json, fields: Vec::new(), watch: true };
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
}
