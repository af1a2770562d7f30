//! `mainstay doctor`: every law against the running instance and its journal, or against a stopped data directory, and
//! what this host gives.

mod host;
mod stopped;

use std::path::Path;
use std::process::ExitCode;

use mainstay_control::doctor::{DoctorView, Finding, Verdict};
use serde_json::Value;

use crate::arguments::Output;
use crate::client::{At, Client};
use crate::failure::{Exit, Failure};
use crate::output::{self, Column};
use crate::target::Target;

const COLUMNS: &[Column] =
    &[("status", "/status"), ("check", "/check"), ("why", "/why"), ("fix", "/fix"), ("code", "/code")];

pub fn run(target: &Target, format: &Output) -> Result<ExitCode, Failure> {
    let checks = match target {
        Target::Here(data_dir) => here(data_dir)?,
        Target::Elsewhere(_) => running(&Client::of(target)?)?,
    };
    let view = DoctorView::of(checks);
    say(&view, format)?;
    Ok(match view.status {
        Verdict::Ok | Verdict::Warn => ExitCode::SUCCESS,
        Verdict::Fail => ExitCode::FAILURE,
    })
}

/// The instance of a data directory, whether it runs or not, and this host.
fn here(data_dir: &Path) -> Result<Vec<Finding>, Failure> {
    if !data_dir.is_dir() {
        return Err(Failure::new(
            Exit::Unreachable,
            "MS-U001",
            format!("no data directory {}", data_dir.display()),
        )
        .fix("start an instance: mainstay up --demo; or name its folder: --data-dir DIR"));
    }
    let mut checks = match Client::here(data_dir).and_then(|client| running(&client)) {
        Ok(found) => found,
        Err(failure) => match failure.exit {
            Exit::Unreachable | Exit::TimedOut => {
                let mut found = stopped::look(data_dir, &failure);
                found.push(host::ports());
                found
            }
            Exit::Failed | Exit::Usage | Exit::NotFound | Exit::Gone | Exit::Denied | Exit::Refused => {
                return Err(failure);
            }
        },
    };
    checks.extend(host::look(data_dir));
    Ok(checks)
}

/// What the instance finds of itself, and whether its other doors are open where it is this host's.
fn running(client: &Client) -> Result<Vec<Finding>, Failure> {
    let told = client.get("/v1/doctor")?;
    let view: DoctorView = serde_json::from_value(told).map_err(|error| {
        Failure::new(
            Exit::Failed,
            "MS-U033",
            "the instance answers in a shape that this program does not know",
        )
        .why(error)
        .fix("use the program of the instance's own version")
    })?;
    let mut checks = vec![Finding::ok("instance", format!("runs and answers at {}", client.api()))];
    if let At::Here(ports) = client.at() {
        checks.extend(host::doors(ports));
    }
    checks.extend(view.checks);
    Ok(checks)
}

fn say(view: &DoctorView, format: &Output) -> Result<(), Failure> {
    let bug = |error| Failure::new(Exit::Failed, "MS-U033", "what was found cannot be written").why(error);
    let words = |said: &Value| {
        let count = |verdict| view.checks.iter().filter(|check| check.status == verdict).count();
        let (ok, warn, fail) = (count(Verdict::Ok), count(Verdict::Warn), count(Verdict::Fail));
        let checks = output::table(&said["checks"], COLUMNS, format);
        format!("{checks}\n{ok} ok, {warn} to look at, {fail} broken\n")
    };
    output::told(&serde_json::to_value(view).map_err(bug)?, &words, format)
}

/// A row's cells hold one line.
pub fn one_line(text: &impl std::fmt::Display) -> String {
    Value::from(text.to_string()).as_str().unwrap_or_default().replace('\n', " ")
}
