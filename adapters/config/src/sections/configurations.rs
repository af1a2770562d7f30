//! `buildConfigurations`.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

use super::{checks, limits, query};
use crate::codes::Code;
use crate::limits::{
    COMMAND_LINE_BYTES_MAX, KILL_TIMEOUT, RESTART_WITHIN, START_TIMEOUT, VARIABLE_BYTES_MAX, VARIABLES_MAX,
};
use crate::model::{BuildConfiguration, Restart, Signal, Stop};
use crate::place::{Place, Sourced};
use crate::problem::{Problem, quote};
use crate::read::{Check, Fields, Keys};
use crate::tree::Node;
use mainstay_core::{CommandLine, STRIKES_MAX};
use mainstay_wire::nearest::nearest;

pub(super) const KEYS: Keys = Keys {
    known: &[
        "build",
        "queryType",
        "query",
        "binaryPath",
        "commandLine",
        "variables",
        "readiness",
        "cores",
        "speedMhz",
        "memoryMiB",
        "limits",
        "caps",
        "stop",
        "restart",
        "checks",
        "recovery",
        "startTimeout",
        "env",
    ],
    later: &[("protocol", "choose the game's SDK")],
};

pub(super) const STOP: Keys = Keys { known: &["signal", "killTimeout"], later: &[] };
pub(super) const RESTART: Keys = Keys { known: &["attempts", "within"], later: &[] };

/// The launch parameters a command line may name (reference, 3.2), the documented ones first; then what projects in
/// the wild use.
pub const LAUNCH_PARAMETERS: &[&str] = &[
    "port",
    "query_port",
    "query_type",
    "ip",
    "ipv6",
    "serverid",
    "machineid",
    "fleetid",
    "regionid",
    "regionname",
    "log_dir",
    "config_dir",
    "file_dir",
    "game_exe",
    "commandline",
    "timestamp",
    "queryport",
    "server_log_dir",
    "port2",
    "work_dir",
];

/// The fields `server.json` has of its own (reference, 3.1).
pub const SERVER_JSON_FIELDS: &[&str] = &[
    "allocatedUUID",
    "allocationUUID",
    "fleetID",
    "ip",
    "ipv6",
    "localProxyUrl",
    "machineID",
    "port",
    "queryPort",
    "queryType",
    "regionID",
    "regionName",
    "serverID",
    "serverFilesDir",
    "serverLogDir",
    "serverLogDirectory",
];

/// Seed 001: "By default, Multiplay Hosting only tries to restart the build executable process once".
const RESTART_ATTEMPTS: u32 = 1;
/// Seed 001: "more than a specific number of times within a 30-minute period".
const RESTART_WINDOW: Duration = Duration::from_secs(30 * 60);
/// The crash after the last restart must still be remembered for back-off to see it.
const RESTARTS_MAX: u64 = STRIKES_MAX as u64 - 1;
/// Reference, section 5: SIGTERM, then SIGKILL after 20 s.
const KILL_AFTER: Duration = Duration::from_secs(20);
/// Large worlds load slowly, and a start that is cut short looks like a crash.
const START_WITHIN: Duration = Duration::from_secs(120);

pub(crate) fn configuration(
    check: &mut Check<'_>,
    name: Sourced<String>,
    key: &Node,
    node: &Node,
) -> Option<BuildConfiguration> {
    let owner = format!("build configuration {}", quote(&name.value));
    let fields = Fields::open(check, owner, &key.place, node, KEYS)?;
    let build = fields.required(check, "build", "add build: with the name of one of the builds");
    let binary = fields.required(check, "binaryPath", "add binaryPath: with the binary's path in the build");
    let binary = binary.inspect(|binary| binary_path(check, &fields, binary));
    let variables = variables(check, &fields);
    let command_line = command_line(check, &fields, &variables);
    let limits = limits::limits(check, &fields);
    let checked = checks::checks(check, &fields);
    let caps = limits::caps(check, &fields, &limits, &checked);
    let stop = stop(check, &fields);
    let restart = restart(check, &fields);
    let query = query::query(check, &fields);
    let recovery = checks::recovery(check, &fields, &query);
    let env = env(check, &fields);
    let readiness = fields.boolean(check, "readiness", false);
    let start_timeout = fields.duration(check, "startTimeout", START_WITHIN, START_TIMEOUT);
    Some(BuildConfiguration {
        name,
        build: build?,
        binary_path: binary?,
        command_line,
        variables,
        query,
        readiness,
        limits,
        caps,
        stop,
        restart,
        checks: checked,
        recovery,
        start_timeout,
        env,
    })
}

fn binary_path(check: &mut Check<'_>, fields: &Fields<'_>, binary: &Sourced<String>) {
    let Some(place) = binary.place() else { return };
    let path = binary.value.trim();
    let leaves = Path::new(path).components().any(|part| part == Component::ParentDir);
    let (label, fix) = if path.is_empty() {
        ("is empty", "write the binary's path in the build".to_owned())
    } else if let Some(relative) = path.strip_prefix('/') {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", relative));
        ("begins with /", format!("binaryPath: {file} with the build's buildPath: {folder}/"))
    } else if leaves {
        ("leaves the build's folder", "set the build's buildPath to the folder above".to_owned())
    } else {
        return;
    };
    check.report(|sources| {
        let what = format!("{} is {}", fields.named("binaryPath"), quote(&binary.value));
        Problem::new(Code::BadBinaryPath, what)
            .at(sources, place, label)
            .why("binaryPath is relative to the build's folder")
            .fix(fix)
    });
}

fn command_line(
    check: &mut Check<'_>,
    fields: &Fields<'_>,
    variables: &BTreeMap<String, Sourced<String>>,
) -> Sourced<CommandLine> {
    let Some(text) = fields.text(check, "commandLine") else {
        return Sourced::default_of(CommandLine::default());
    };
    let Some(place) = text.place() else { return Sourced::default_of(CommandLine::default()) };
    if text.value.len() > COMMAND_LINE_BYTES_MAX || text.value.contains('\0') {
        check.report(|sources| {
            let what = format!("{} cannot be passed to a process", fields.named("commandLine"));
            let why = format!(
                "it has {} bytes; the limit is {COMMAND_LINE_BYTES_MAX}, and none may be zero",
                text.value.len()
            );
            Problem::new(Code::BadCommandLine, what)
                .at(sources, place, "too long, or with a zero byte")
                .why(why)
                .fix("move the settings into a file of the build")
        });
    }
    match CommandLine::parse(&text.value) {
        Ok(line) => {
            for name in line.variables() {
                if !LAUNCH_PARAMETERS.contains(&name) && !variables.contains_key(name) {
                    unknown_variable(check, fields, name, place, variables);
                }
            }
            Sourced::written(line, place.clone())
        }
        Err(unclosed) => {
            check.report(|sources| {
                let what = format!("{} has a quote that is never closed", fields.named("commandLine"));
                Problem::new(Code::BadCommandLine, what)
                    .at(sources, place, unclosed.to_string())
                    .why("quotes keep spaces inside one argument, so where this one ends is unknown")
                    .fix(format!("close it, or write \\{} for the character itself", unclosed.quote))
            });
            Sourced::default_of(CommandLine::default())
        }
    }
}

fn unknown_variable(
    check: &mut Check<'_>,
    fields: &Fields<'_>,
    name: &str,
    place: &Place,
    variables: &BTreeMap<String, Sourced<String>>,
) {
    check.report(|sources| {
        let known = || LAUNCH_PARAMETERS.iter().copied().chain(variables.keys().map(String::as_str));
        let written = format!("$${name}$$");
        let what = format!("{} uses {}, which has no value", fields.named("commandLine"), quote(&written));
        let problem = Problem::new(Code::UnknownVariable, what)
            .at(sources, &inside(sources.line(place), place, &written), "reaches the game as written")
            .why(format!("launch parameters: {}", LAUNCH_PARAMETERS[..16].join(", ")));
        match nearest(name, known()) {
            Some(near) => problem.fix(format!("did you mean $${near}$$?")),
            None => problem.fix(format!("define {name} under variables, or remove it")),
        }
    });
}

/// The place of `part` inside a place, where it stands on the same line.
fn inside(line: &str, place: &Place, part: &str) -> Place {
    let chars = |text: &str| u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    let start = place.column as usize - 1;
    let byte = line.char_indices().nth(start).map_or(line.len(), |(byte, _)| byte);
    line.get(byte..).and_then(|value| value.split_once(part)).map_or_else(
        || place.clone(),
        |(before, _)| Place {
            column: place.column + chars(before),
            length: chars(part),
            file: place.file.clone(),
            ..*place
        },
    )
}

fn variables(check: &mut Check<'_>, fields: &Fields<'_>) -> BTreeMap<String, Sourced<String>> {
    let usable = |name: &str| !name.trim().is_empty() && !name.contains('$');
    let variables = named_values(check, fields, "variables", usable);
    for (name, value) in &variables {
        let field = SERVER_JSON_FIELDS.iter().find(|field| field.eq_ignore_ascii_case(name));
        if let (Some(field), Some(place)) = (field, value.place()) {
            check.report(|sources| {
                let what =
                    format!("{} has {}, a field of server.json", fields.named("variables"), quote(name));
                Problem::new(Code::ShadowedVariable, what)
                    .at(sources, place, "will not be seen in server.json")
                    .why(format!("server.json's own {field} wins"))
                    .fix(format!("give it another name, such as game{}", capitalised(field)))
            });
        }
    }
    variables
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

fn env(check: &mut Check<'_>, fields: &Fields<'_>) -> BTreeMap<String, Sourced<String>> {
    let usable = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    named_values(check, fields, "env", usable)
}

fn named_values(
    check: &mut Check<'_>,
    fields: &Fields<'_>,
    key: &str,
    usable: impl Fn(&str) -> bool,
) -> BTreeMap<String, Sourced<String>> {
    let values = fields.text_map(check, key);
    if let Some((name, _)) = values.get(VARIABLES_MAX)
        && let Some(place) = name.place()
    {
        check.report(|sources| {
            Problem::new(Code::TooBig, format!("{} are too many", fields.named(key)))
                .at(sources, place, "one more than the limit")
                .why(format!("{} are written; the limit is {VARIABLES_MAX}", values.len()))
                .fix("move them into a file of the build")
        });
    }
    let mut named = BTreeMap::new();
    for (name, value) in values.into_iter().take(VARIABLES_MAX) {
        let long = value.value.len() > VARIABLE_BYTES_MAX || value.value.contains('\0');
        if let (true, Some(place)) = (!usable(&name.value) || long, name.place()) {
            let why = if long {
                format!("its value is over {VARIABLE_BYTES_MAX} bytes, or has a zero byte")
            } else {
                "names are letters, digits and _, and do not begin with a digit".into()
            };
            check.report(|sources| {
                let what = format!("{} cannot have {}", fields.named(key), quote(&name.value));
                Problem::new(Code::BadVariableName, what)
                    .at(sources, place, "not usable")
                    .why(why)
                    .fix("rename or shorten it")
            });
        }
        named.insert(name.value, value);
    }
    named
}

fn stop(check: &mut Check<'_>, fields: &Fields<'_>) -> Stop {
    let block = block(check, fields, "stop", STOP);
    Stop {
        signal: block.one_of(check, "signal", Signal::NAMES).unwrap_or(Sourced::default_of(Signal::Term)),
        kill_timeout: block.duration(check, "killTimeout", KILL_AFTER, KILL_TIMEOUT),
    }
}

fn restart(check: &mut Check<'_>, fields: &Fields<'_>) -> Restart {
    let block = block(check, fields, "restart", RESTART);
    let attempts = block.whole(check, "attempts", (0, RESTARTS_MAX));
    Restart {
        attempts: attempts
            .map(|attempts| attempts.map(super::fleets::small))
            .unwrap_or(Sourced::default_of(RESTART_ATTEMPTS)),
        within: block.duration(check, "within", RESTART_WINDOW, RESTART_WITHIN),
    }
}

/// A block of its own under a key; one that is absent or of the wrong kind reads as empty.
pub(crate) fn block<'n>(check: &mut Check<'_>, fields: &Fields<'n>, name: &str, keys: Keys) -> Fields<'n> {
    let opened = fields
        .get(name)
        .and_then(|(key, node)| Fields::open(check, fields.named(name), &key.place, node, keys));
    opened.unwrap_or_else(|| Fields::empty(fields.named(name), &fields.place))
}
