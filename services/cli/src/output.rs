//! Answers on standard output: tables and words for people; for programs the JSON as it came, or the same in another writing.

mod moment;
mod tone;
mod watch;
mod yaml;

use std::io::{self, Write};

use comfy_table::{Cell, ContentArrangement, Table, presets};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use self::tone::Tones;
use self::watch::Source;
use crate::arguments::{Format, Output, Time};
use crate::failure::{Exit, Failure};
use crate::follow::Follow;

/// A column: its heading, and where its value is in a row's JSON.
pub type Column = (&'static str, &'static str);

/// How an answer is shown to people.
pub enum Shape<'a> {
    /// A list: a row each, with these columns.
    Rows(&'a [Column]),
    /// One thing: a line a field.
    One,
    /// Words that are made of it.
    Words(&'a dyn Fn(&Value) -> String),
}

/// What things are known by, the best name first: what `get` takes.
const NAMES: [&str; 8] = ["display", "allocationId", "id", "keyId", "name", "service", "code", "peer"];

/// Writes a list.
pub fn list(rows: &Value, columns: &[Column], format: &Output) -> Result<(), Failure> {
    write(&text(rows, &Shape::Rows(columns), format)?)
}

/// Writes one thing.
pub fn one(thing: &Value, format: &Output) -> Result<(), Failure> {
    write(&text(thing, &Shape::One, format)?)
}

/// Writes what people want to have in words.
pub fn told(thing: &Value, words: &dyn Fn(&Value) -> String, format: &Output) -> Result<(), Failure> {
    write(&text(thing, &Shape::Words(words), format)?)
}

/// Writes, for a program, one of the things that are told one after the other: a line of JSON, or an entry of a list in YAML.
pub fn event(thing: &Value, format: &Output) -> Result<(), Failure> {
    write(&entry(thing, format)?)
}

/// What happened, for people, where they asked for certain fields of it: each with its name, in one line.
pub fn asked_for(facts: &Value, format: &Output) -> Option<String> {
    let picked = (!format.fields.is_empty()).then(|| picked(facts, &format.fields))?;
    let words = format.fields.iter().map(|field| format!("{field} {}", cell(picked.get(field))));
    Some(words.collect::<Vec<_>>().join(", "))
}

/// Writes what is fetched: once, or with `--watch` again and again.
pub fn look(
    shape: &Shape<'_>,
    format: &Output,
    fetch: &dyn Fn() -> Result<Value, Failure>,
) -> Result<(), Failure> {
    if format.watch {
        return watch::watch(shape, format, Source::Asked(fetch));
    }
    write(&text(&fetch()?, shape, format)?)
}

/// Writes one thing that tells of itself: once, or with `--watch` whenever it does.
pub fn follow(thing: Follow<'_>, format: &Output) -> Result<(), Failure> {
    if format.watch {
        return watch::watch(&Shape::One, format, Source::Told(thing));
    }
    one(&thing.now()?, format)
}

/// A list as people see it.
pub fn table(rows: &Value, columns: &[Column], format: &Output) -> String {
    let style = Style::of(format);
    let mut table = style.table();
    table.set_header(columns.iter().map(|(heading, _)| heading.to_uppercase()));
    for row in rows.as_array().into_iter().flatten() {
        table.add_row(columns.iter().map(|(heading, pointer)| style.cell(heading, row.pointer(pointer))));
    }
    format!("{}\n", table.trim_fmt())
}

/// How values stand in tables.
struct Style {
    time: Time,
    now: Timestamp,
    tones: Tones,
}

impl Style {
    fn of(format: &Output) -> Self {
        Self { time: format.time, now: Timestamp::now(), tones: Tones::of(format.color) }
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        self.tones.dress(&mut table);
        table
    }

    fn cell(&self, heading: &str, value: Option<&Value>) -> Cell {
        let moment =
            value.and_then(Value::as_str).and_then(|text| moment::written(text, self.time, self.now));
        self.tones.cell(heading, moment.unwrap_or_else(|| cell(value)))
    }
}

/// Writes text. A reader that went away (`| head`) is no error.
pub fn write(text: &str) -> Result<(), Failure> {
    written(text).map(drop)
}

/// Whether somebody reads standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    Here,
    Gone,
}

fn written(text: &str) -> Result<Audience, Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(Audience::Here),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Audience::Gone),
        Err(error) => {
            Err(Failure::new(Exit::Failed, "MS-U009", "failed to write to standard output").why(error))
        }
    }
}

/// An answer as it is written.
fn text(answer: &Value, shape: &Shape<'_>, format: &Output) -> Result<String, Failure> {
    let picked = (!format.fields.is_empty()).then(|| picked(answer, &format.fields));
    let said = picked.as_ref().unwrap_or(answer);
    Ok(match (format.format, shape) {
        (Format::Json, _) => format!("{said:#}\n"),
        (Format::Jsonl, _) => each(said).iter().map(|row| format!("{row}\n")).collect(),
        (Format::Yaml, _) => yaml::document(said),
        (Format::Name, _) => {
            let names = each(answer).into_iter().map(name).collect::<Result<Vec<_>, _>>()?;
            names.iter().map(|name| format!("{name}\n")).collect()
        }
        (Format::Table | Format::Wide, Shape::Rows(columns)) => match &picked {
            Some(_) => chosen(said, format),
            None if format.format == Format::Wide => wide(said, columns, format),
            None => table(said, columns, format),
        },
        (Format::Table | Format::Wide, Shape::Words(words)) if picked.is_none() => words(said),
        (Format::Table | Format::Wide, Shape::One | Shape::Words(_)) => {
            let style = Style::of(format);
            let mut table = style.table();
            for (key, value) in said.as_object().into_iter().flatten() {
                table.add_row([Cell::new(key), style.cell(key, Some(value))]);
            }
            format!("{}\n", table.trim_fmt())
        }
    })
}

/// One of several answers.
fn entry(thing: &Value, format: &Output) -> Result<String, Failure> {
    let each = match format.format {
        Format::Json => Format::Jsonl,
        Format::Jsonl | Format::Yaml | Format::Name | Format::Table | Format::Wide => format.format,
    };
    text(&json!([thing]), &Shape::One, &Output { format: each, ..format.clone() })
}

/// The rows of a list; or the one thing.
fn each(answer: &Value) -> Vec<&Value> {
    answer.as_array().map_or_else(|| vec![answer], |rows| rows.iter().collect())
}

/// What a row is known by, if it is by anything.
fn known_by(row: &Value) -> Option<String> {
    let name = NAMES.iter().find_map(|field| row.get(*field).filter(|name| !name.is_null()));
    name.map(|name| cell(Some(name)))
}

fn name(row: &Value) -> Result<String, Failure> {
    known_by(row).ok_or_else(|| {
        Failure::new(Exit::Usage, "MS-U047", "this answer has neither an id nor a name")
            .fix("ask for -o json, or for the fields you want: --fields a,b")
    })
}

/// The fields that were asked for, by the names they were asked by; null where there is no such thing.
fn picked(answer: &Value, fields: &[String]) -> Value {
    let of = |row: &Value| {
        let found = |field: &String| row.pointer(&format!("/{}", field.replace('.', "/"))).cloned();
        Value::Object(
            fields
                .iter()
                .map(|field| (field.clone(), found(field).unwrap_or_default()))
                .collect::<Map<_, _>>(),
        )
    };
    match answer {
        Value::Array(rows) => rows.iter().map(of).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => of(answer),
    }
}

/// A table of the fields that were asked for.
fn chosen(rows: &Value, format: &Output) -> String {
    let style = Style::of(format);
    let mut table = style.table();
    table.set_header(format.fields.iter().map(|field| field.to_uppercase()));
    for row in rows.as_array().into_iter().flatten() {
        table.add_row(format.fields.iter().map(|field| style.cell(field, row.get(field))));
    }
    format!("{}\n", table.trim_fmt())
}

/// A table with its columns, and behind them every field that none of them shows.
fn wide(rows: &Value, columns: &[Column], format: &Output) -> String {
    let style = Style::of(format);
    let shown = |field: &String| columns.iter().any(|(_, pointer)| pointer.strip_prefix('/') == Some(field));
    let mut more: Vec<&String> = Vec::new();
    for field in rows.as_array().into_iter().flatten().filter_map(Value::as_object).flat_map(Map::keys) {
        if !shown(field) && !more.contains(&field) {
            more.push(field);
        }
    }
    let mut table = style.table();
    let headings = columns.iter().map(|(heading, _)| heading.to_uppercase());
    table.set_header(headings.chain(more.iter().map(|field| field.to_uppercase())));
    for row in rows.as_array().into_iter().flatten() {
        let cells = columns.iter().map(|(heading, pointer)| style.cell(heading, row.pointer(pointer)));
        table.add_row(cells.chain(more.iter().map(|field| style.cell(field, row.get(*field)))));
    }
    format!("{}\n", table.trim_fmt())
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "-".into(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Array(values)) => {
            values.iter().map(|value| cell(Some(value))).collect::<Vec<_>>().join(", ")
        }
        Some(Value::Object(fields)) => {
            let named = fields.get("name").or_else(|| fields.get("id")).or_else(|| fields.get("player"));
            named.map_or_else(|| Value::Object(fields.clone()).to_string(), |name| cell(Some(name)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Colour;

    fn shown(answer: &Value, format: Format, fields: &[&str]) -> String {
        let fields = fields.iter().map(ToString::to_string).collect();
        text(answer, &Shape::Rows(&[("who", "/id")]), &Output { format, fields, ..Output::default() })
            .unwrap()
    }

    #[test]
    fn a_list_is_written_as_it_was_asked_for() {
        let rows = json!([{ "id": "a", "server": { "region": "EU" } }, { "id": "b", "places": 2 }]);
        let (all, some) = (&[][..], &["id", "server.region"][..]);
        for (format, fields, written) in [
            (Format::Table, all, "WHO\n a\n b\n"),
            (
                Format::Wide,
                all,
                "WHO  SERVER                PLACES\n a    {\"region\":\"EU\"}  -\n b    -                 2\n",
            ),
            (
                Format::Jsonl,
                all,
                "{\"id\":\"a\",\"server\":{\"region\":\"EU\"}}\n{\"id\":\"b\",\"places\":2}\n",
            ),
            (Format::Yaml, all, "- id: \"a\"\n  server:\n    region: \"EU\"\n- id: \"b\"\n  places: 2\n"),
            (Format::Name, all, "a\nb\n"),
            (Format::Name, &["places"], "a\nb\n"),
            (Format::Table, some, "ID  SERVER.REGION\n a   EU\n b   -\n"),
            (
                Format::Jsonl,
                some,
                "{\"id\":\"a\",\"server.region\":\"EU\"}\n{\"id\":\"b\",\"server.region\":null}\n",
            ),
        ] {
            let seen = shown(&rows, format, fields);
            let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            match format {
                Format::Table | Format::Wide => assert_eq!(squeezed(&seen), squeezed(written), "{seen}"),
                Format::Json | Format::Jsonl | Format::Yaml | Format::Name => assert_eq!(seen, written),
            }
        }
    }

    #[test]
    fn events_are_lines_of_json_and_one_list_in_yaml() {
        let written = |format, fields: &[&str]| {
            let fields = fields.iter().map(ToString::to_string).collect();
            entry(&json!({ "epoch": 2, "gapMs": 24 }), &Output { format, fields, ..Output::default() })
                .unwrap()
        };
        assert_eq!(written(Format::Json, &[]), "{\"epoch\":2,\"gapMs\":24}\n");
        assert_eq!(written(Format::Yaml, &[]), "- epoch: 2\n  gapMs: 24\n");
        assert_eq!(written(Format::Json, &["gapMs"]), "{\"gapMs\":24}\n");
    }

    #[test]
    fn what_has_no_name_is_not_written_by_one() {
        let output = Output { format: Format::Name, ..Output::default() };
        assert_eq!(text(&json!({ "pairs": 3 }), &Shape::One, &output).unwrap_err().code, "MS-U047");
        let candidates = json!([{ "peer": "p1", "player": "alice" }, { "id": null, "name": "b" }]);
        assert_eq!(text(&candidates, &Shape::Rows(&[]), &output).unwrap(), "p1\nb\n");
    }

    #[test]
    fn states_are_coloured_where_that_is_wanted_and_spelled_either_way() {
        let rows = json!([{ "id": "a", "state": "CRASHED" }, { "id": "ONLINE", "state": "other" }]);
        let columns = [("who", "/id"), ("state", "/state"), ("id", "/id")];
        let shown = |color| table(&rows, &columns, &Output { color, ..Output::default() });
        let (plain, coloured) = (shown(Colour::Never), shown(Colour::Always));
        let red = "\u{1b}[38;5;9mCRASHED\u{1b}[39m";
        assert!(!plain.contains('\u{1b}') && coloured.contains(red), "{coloured:?}");
        assert_eq!(coloured.matches('\u{1b}').count(), 2, "{coloured:?}");
        assert_eq!(
            coloured.replace("\u{1b}[38;5;9m", "").replace("\u{1b}[39m", ""),
            plain,
            "columns stand as before"
        );
    }

    #[test]
    fn cells_show_what_a_person_would_look_for() {
        let rows = [
            (json!(null), "-"),
            (json!("ONLINE"), "ONLINE"),
            (json!(7), "7"),
            (json!([{"name": "ranked", "id": 1}, {"id": 2}]), "ranked, 2"),
            (json!([{"player": "alice", "team": "red"}]), "alice"),
            (json!({"why": "x"}), "{\"why\":\"x\"}"),
        ];
        for (value, shown) in rows {
            assert_eq!(cell(Some(&value)), shown, "{value}");
        }
    }
}
