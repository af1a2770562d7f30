//! Answers on standard output: a table for people, or the JSON as it came for programs.

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::Value;

use crate::arguments::Format;
use crate::failure::{Exit, Failure};

/// A column: its heading, and where its value is in a row's JSON.
pub type Column = (&'static str, &'static str);

/// Writes a list.
pub fn list(rows: &Value, columns: &[Column], format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => json(rows),
        Format::Table => {
            let mut table = plain_table();
            table.set_header(columns.iter().map(|(heading, _)| heading.to_uppercase()));
            for row in rows.as_array().into_iter().flatten() {
                table.add_row(columns.iter().map(|(_, pointer)| cell(row.pointer(pointer))));
            }
            write(&format!("{}\n", table.trim_fmt()))
        }
    }
}

/// Writes one thing.
pub fn one(thing: &Value, format: Format) -> Result<(), Failure> {
    match format {
        Format::Json => json(thing),
        Format::Table => {
            let mut table = plain_table();
            for (key, value) in thing.as_object().into_iter().flatten() {
                table.add_row([key.clone(), cell(Some(value))]);
            }
            write(&format!("{}\n", table.trim_fmt()))
        }
    }
}

/// Writes a line of JSON.
pub fn json(value: &Value) -> Result<(), Failure> {
    write(&format!("{value:#}\n"))
}

/// Writes text. A reader that went away (`| head`) is no error.
pub fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            Err(Failure::new(Exit::Failed, "MS-U009", "failed to write to standard output").why(error))
        }
    }
}

fn plain_table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
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
    use serde_json::json;

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
