//! What `up` says when it is ready: a screen for people, one line of JSON for programs.

use std::io::IsTerminal as _;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Ports;
use crate::failure::Failure;
use crate::output;
use crate::up::source::DEMO_NAME;

/// What there is to say.
pub struct Ready<'a> {
    /// Where it listens.
    pub ports: &'a Ports,
    /// Where its data is.
    pub data_dir: &'a Path,
    /// What it runs.
    pub source: &'a str,
    /// `GET /v1/status`.
    pub status: &'a Value,
    /// The first of `GET /v1/queues`.
    pub queues: &'a Value,
    /// How long it took.
    pub took: Duration,
}

/// Says it, in the form that standard output's reader wants.
pub fn say(ready: &Ready<'_>) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { output::write(&screen(ready)) } else { output::write(&line(ready)) }
}

fn line(ready: &Ready<'_>) -> String {
    let Ready { ports, data_dir, source, status, queues, took } = ready;
    let line = json!({
        "msg": "ready",
        "api": ports.api,
        "agents": ports.agents,
        "multiplay": ports.multiplay,
        "playfab": ports.playfab,
        "playfabTls": ports.playfab_tls,
        "listening": ports.listening,
        "dataDir": data_dir,
        "source": source,
        "servers": sum(status, "total"),
        "online": sum(status, "online"),
        "queues": names(queues),
        "tookMs": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    });
    format!("{line}\n")
}

fn screen(ready: &Ready<'_>) -> String {
    let Ready { ports, data_dir, source, status, queues, took } = ready;
    let mut parts = vec![format!(
        "mainstay {} · {}\n\n  Here is what is running{:33}source\n",
        env!("CARGO_PKG_VERSION"),
        reach(ports),
        ""
    )];
    for fleet in status["fleets"].as_array().into_iter().flatten() {
        let regions: Vec<&str> = names(&fleet["regions"]);
        let what = format!(
            "{} in {}: {} slots",
            show(&fleet["name"]),
            regions.join(", "),
            fleet["servers"]["total"]
        );
        parts.push(row("fleet", &what, source));
    }
    for queue in names(queues) {
        parts.push(row("queue", &format!("{queue}: players look for a match in it"), source));
    }
    parts.push(row("data", &format!("{} (kept between runs)", data_dir.display()), "--data-dir"));
    parts.push(format!(
        "\n  API         {}/v1\n  Multiplay   {}/v1/allocations   (credentials: {})\n  Game SDKs   {}\n  \
         PlayFab     {}\n",
        ports.api,
        ports.api,
        data_dir.join(crate::client::CREDENTIALS_FILE).display(),
        ports.multiplay,
        ports.playfab
    ));
    parts.push(format!(
        "\n  {} slots ready · {} servers online\n  Ready in {:.1} s\n",
        sum(status, "total"),
        sum(status, "online"),
        took.as_secs_f64()
    ));
    let at = if *data_dir == Path::new(".mainstay") {
        String::new()
    } else {
        format!(" --data-dir {}", data_dir.display())
    };
    if *source == DEMO_NAME {
        parts.push(format!("\n  Try:   mainstay demo play{at}     players are matched, their server is killed, one is replaced\n"));
    }
    let first = status["fleets"][0]["name"].as_str();
    parts.push(match first {
        Some(fleet) => format!(
            "\n  Next:  mainstay allocation create --fleet {fleet:?}{at}     a server for a session\n         mainstay server \
             list{at}                      where it is, and its pid\n         kill -9 PID, list again             it is \
             back, under the same allocation\n  Ctrl-C stops the servers, and ends.\n"
        ),
        None => {
            "\n  Next:  mainstay up --demo     a small real game\n         mainstay up FILE      your own\n"
                .to_owned()
        }
    });
    parts.concat()
}

/// Who reaches this instance.
fn reach(ports: &Ports) -> String {
    let beyond: Vec<&str> =
        ports.listening.agents.iter().filter(|url| url.starts_with("https")).map(String::as_str).collect();
    if beyond.is_empty() {
        "dev mode (this machine only)".to_owned()
    } else {
        format!("other machines join at {}", beyond.join(", "))
    }
}

fn row(label: &str, what: &str, source: &str) -> String {
    format!("    {label:<8} {what:<44} {source}\n")
}

fn names(values: &Value) -> Vec<&str> {
    values.as_array().into_iter().flatten().map(|value| show(&value["name"])).collect()
}

fn show(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}

/// A count of servers over all fleets.
pub fn sum(status: &Value, state: &str) -> u64 {
    let fleets = status["fleets"].as_array().into_iter().flatten();
    fleets.filter_map(|fleet| fleet["servers"][state].as_u64()).sum()
}
