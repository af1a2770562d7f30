//! `mainstay server`.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{every, segment};
use crate::arguments::{Output, ServerVerb};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Column, Shape};
use crate::target::Target;

const COLUMNS: &[Column] = &[
    ("id", "/display"),
    ("status", "/status"),
    ("process", "/process"),
    ("pid", "/pid"),
    ("fleet", "/fleetName"),
    ("machine", "/machineDisplay"),
    ("ip", "/ip"),
    ("port", "/port"),
    ("query port", "/queryPort"),
    ("build configuration", "/buildConfigurationName"),
    ("allocation", "/allocationId"),
    ("held until", "/heldUntil"),
    ("detail", "/detail"),
];

pub fn run(verb: &ServerVerb, target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let client = Client::of(target)?;
    match verb {
        ServerVerb::List { fleet, status } => {
            let filters: Vec<String> = [("fleet", fleet), ("status", status)]
                .into_iter()
                .filter_map(|(name, value)| Some(format!("{name}={}", segment(value.as_ref()?))))
                .collect();
            let query = if filters.is_empty() { String::new() } else { format!("?{}", filters.join("&")) };
            output::look(&Shape::Rows(COLUMNS), format, &|| every(&client, &format!("/v1/servers{query}")))?;
        }
        ServerVerb::Get { id } => output::look(&Shape::One, format, &|| client.get(&path(id)))?,
        ServerVerb::Start { id } => act(&client, id, "start", format)?,
        ServerVerb::Stop { id } => act(&client, id, "stop", format)?,
        ServerVerb::Restart { id } => act(&client, id, "restart", format)?,
        ServerVerb::Release { id } => act(&client, id, "release", format)?,
        ServerVerb::Configure { id, build_configuration } => {
            let body = json!({ "action": "configure", "buildConfiguration": build_configuration });
            let taken = client.post(&format!("{}/actions", path(id)), &body)?;
            if taken["deferred"] == true {
                format.hint("somebody plays on it: it changes when it next starts for nobody");
            }
            output::one(&client.get(&path(id))?, format)?;
        }
        ServerVerb::Logs { id, lines } => {
            let text = client.get_text(&format!("{}/logs?lines={lines}", path(id)))?;
            output::told(&json!({ "lines": lines_of(&text) }), &|_| text.clone(), format)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn act(client: &Client, id: &str, action: &str, format: &Output) -> Result<(), Failure> {
    client.post(&format!("{}/actions", path(id)), &json!({ "action": action }))?;
    output::one(&client.get(&path(id))?, format)
}

/// Output as programs read it: each line with the stream it came on.
fn lines_of(text: &str) -> Vec<Value> {
    let line = |line: &str| {
        let (stream, text) = line.split_once(' ').unwrap_or((line, ""));
        json!({ "stream": stream, "text": text })
    };
    text.lines().map(line).collect()
}

fn path(id: &str) -> String {
    format!("/v1/servers/{}", segment(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_told_line_by_line_with_its_stream() {
        let lines = lines_of("out begins\nout \nerr a b\n");
        let expected = [("out", "begins"), ("out", ""), ("err", "a b")]
            .map(|(stream, text)| json!({ "stream": stream, "text": text }));
        assert_eq!(lines, expected);
    }
}
