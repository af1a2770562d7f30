//! `providers`: programs of the studio that make and delete machines.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::fleets::small;
use crate::codes::Code;
use crate::limits::{
    PROVIDER_CALL, PROVIDER_CREATE, PROVIDER_LIST, PROVIDER_MACHINES_MAX, PROVIDER_RETRY,
    SERVERS_PER_MACHINE_MAX,
};
use crate::model::Provider;
use crate::place::Sourced;
use crate::problem::{Problem, quote};
use crate::read::{Check, Fields, Keys};
use crate::tree::Node;

pub(super) const KEYS: Keys = Keys {
    known: &[
        "command",
        "arguments",
        "env",
        "slots",
        "maxMachines",
        "createTimeout",
        "retry",
        "callTimeout",
        "listEvery",
        "joinUrl",
    ],
    later: &[],
};

/// How long a machine may take until it joins: clouds need one to three minutes, and some images a while more.
const CREATE_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// The first pause after a failure.
const RETRY: Duration = Duration::from_secs(1);
/// How long one call may take: longer than the slowest API, shorter than anybody's patience.
const CALL_TIMEOUT: Duration = Duration::from_secs(60);
/// How often orphans are looked for: each may cost money, none costs much in a minute.
const LIST_EVERY: Duration = Duration::from_secs(60);
/// The most machines unless a file says otherwise: enough to begin with, and no bill that ruins anybody.
const MACHINES_MAX: u32 = 16;

pub(crate) fn provider(
    check: &mut Check<'_>,
    name: Sourced<String>,
    key: &Node,
    node: &Node,
) -> Option<Provider> {
    let fields = Fields::open(check, format!("provider {}", quote(&name.value)), &key.place, node, KEYS)?;
    let command = fields.required(check, "command", "add command: with the program that makes machines").map(
        |written| {
            let file = written.place().map(|place| place.file.clone());
            written.map(|command| resolve(file.as_deref().unwrap_or(""), &command))
        },
    );
    if fields.get("slots").is_none() {
        check.report(|sources| {
            Problem::new(Code::MissingKey, format!("{} has no slots", fields.owner))
                .at(sources, &key.place, "slots is missing here")
                .lacking("slots")
                .why("growth is counted in whole machines, before the first of them is there")
                .fix("add slots: with the number of servers on one of its machines")
        });
    }
    let slots = fields.whole(check, "slots", (1, SERVERS_PER_MACHINE_MAX));
    let machines = fields.whole(check, "maxMachines", (1, PROVIDER_MACHINES_MAX));
    let env: BTreeMap<_, _> =
        fields.text_map(check, "env").into_iter().map(|(name, value)| (name.value, value)).collect();
    let read = Provider {
        arguments: fields.texts(check, "arguments"),
        env,
        max_machines: machines.map_or(Sourced::default_of(MACHINES_MAX), |machines| machines.map(small)),
        create_timeout: fields.duration(check, "createTimeout", CREATE_TIMEOUT, PROVIDER_CREATE),
        retry: fields.duration(check, "retry", RETRY, PROVIDER_RETRY),
        call_timeout: fields.duration(check, "callTimeout", CALL_TIMEOUT, PROVIDER_CALL),
        list_every: fields.duration(check, "listEvery", LIST_EVERY, PROVIDER_LIST),
        join_url: fields.text(check, "joinUrl"),
        command: command?,
        slots: slots?.map(small),
        name,
    };
    Some(read)
}

/// A command with a slash counts from the folder of its file; a bare name is looked for in `PATH`.
fn resolve(file: &str, command: &str) -> PathBuf {
    if !command.contains('/') {
        return PathBuf::from(command);
    }
    Path::new(file).parent().unwrap_or(Path::new("")).join(command).components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_count_from_their_file() {
        for (file, command, found) in [
            ("games/mainstay.yaml", "./machines", "games/machines"),
            ("mainstay.yaml", "bin/machines", "bin/machines"),
            ("games/mainstay.yaml", "/opt/machines", "/opt/machines"),
            ("games/mainstay.yaml", "machines", "machines"),
        ] {
            assert_eq!(resolve(file, command), PathBuf::from(found), "{command} of {file}");
        }
    }
}
