//! Launch parameters: every `$$variable$$` of Multiplay's command lines.
//!
//! The line is split before variables are put in ([`CommandLine`]), so a value with spaces stays one argument and no
//! value can add arguments. Values are not searched for variables again. A name that nobody knows stays as written:
//! Multiplay documents no other fate for it; [`unknown_variables`] lets the configuration's check warn.

use std::path::Path;

use mainstay_core::{CommandLine, Timestamp};

use super::GameFacts;

/// Every standard name, Unity's table first, then those met in public projects.
pub const STANDARD: &[&str] = &[
    "commandline",
    "config_dir",
    "fleetid",
    "game_exe",
    "log_dir",
    "file_dir",
    "machineid",
    "port",
    "query_port",
    "query_type",
    "serverid",
    "regionid",
    "regionname",
    "ip",
    "ipv6",
    "timestamp",
    "queryport",
    "server_log_dir",
    "port2",
    "work_dir",
];

/// The arguments of a start at `now` (wall clock).
#[must_use]
pub fn arguments(line: &CommandLine, facts: &GameFacts, now: Timestamp) -> Vec<String> {
    line.expand(|name| value_of(name, line, facts, now))
}

/// The value of one variable; none for a name that is neither standard nor custom.
///
/// * Directories end with `/`, as in Multiplay's examples (`/mnt/unity/logs/`).
/// * `commandline` is the command line as written, without its variables replaced: replacing would never end.
/// * `timestamp` is the start's time in unix seconds.
/// * `port2` is the legacy second port, the query port. Slots have no further ports, so `port3` to `port5` are not
///   known and stay as written.
/// * An address that the machine does not have is empty.
#[must_use]
pub fn value_of(name: &str, line: &CommandLine, facts: &GameFacts, now: Timestamp) -> Option<String> {
    let value = match name {
        "commandline" => line.text().to_owned(),
        "config_dir" => directory(&facts.config_dir),
        "fleetid" => facts.fleet.to_string(),
        "game_exe" => facts.executable.to_string_lossy().into_owned(),
        "log_dir" | "server_log_dir" => directory(&facts.log_dir),
        "file_dir" => directory(&facts.file_dir),
        "work_dir" => directory(&facts.work_dir),
        "machineid" => facts.machine.number().to_string(),
        "port" => facts.port.to_string(),
        "query_port" | "queryport" | "port2" => facts.query_port.to_string(),
        "query_type" => facts.query_type.clone(),
        "serverid" => facts.server.number().to_string(),
        "regionid" => facts.region.to_string(),
        "regionname" => facts.region_name.clone(),
        "ip" => facts.ipv4.map(|address| address.to_string()).unwrap_or_default(),
        "ipv6" => facts.ipv6.map(|address| address.to_string()).unwrap_or_default(),
        "timestamp" => (now.unix_ms() / 1000).to_string(),
        custom => {
            return facts.custom.iter().find(|(name, _)| name == custom).map(|(_, value)| value.clone());
        }
    };
    Some(value)
}

/// The names in a command line that nobody knows, in order.
pub fn unknown_variables<'a>(
    line: &'a CommandLine,
    custom: &'a [(String, String)],
) -> impl Iterator<Item = &'a str> {
    line.variables().filter(|name| !STANDARD.contains(name) && !custom.iter().any(|(known, _)| known == name))
}

/// A directory as games expect it: ending with a slash, so that `$$log_dir$$file` and `$$log_dir$$/file` both work.
pub(super) fn directory(path: &Path) -> String {
    let text = path.to_string_lossy();
    if text.ends_with('/') { text.into_owned() } else { format!("{text}/") }
}

#[cfg(test)]
pub(super) mod tests {
    use mainstay_core::{AllocationId, FleetId, FleetNumber, MachineId, RegionId, ServerId};
    use uuid::Uuid;

    use super::*;

    pub(crate) fn facts() -> GameFacts {
        let fleet = FleetNumber::new(1).unwrap();
        GameFacts {
            allocation: Some(AllocationId(Uuid::from_u128(0xa))),
            fleet: FleetId(Uuid::from_u128(0xf)),
            machine: MachineId::of(fleet, 2),
            server: ServerId::of(fleet, 7),
            region: RegionId(Uuid::from_u128(0xe)),
            region_name: "Europe West".into(),
            ipv4: Some("192.0.2.1".parse().unwrap()),
            ipv6: None,
            port: 9000,
            query_port: 9010,
            query_type: "sqp".into(),
            local_proxy_url: "http://localhost:8086".into(),
            config_dir: "/slots/7/home".into(),
            log_dir: "/slots/7/logs/".into(),
            work_dir: "/slots/7/own/".into(),
            file_dir: "/builds/arena".into(),
            executable: "/builds/arena/server".into(),
            custom: vec![("map".into(), "dm 1".into()), ("port".into(), "1".into())],
        }
    }

    /// Shows `every $$variable$$`.
    #[test]
    fn every_variable_has_its_value() {
        let now = Timestamp::from_unix_ms(1_700_000_000_999);
        let rows = [
            ("commandline", "$$commandline$$ -x"),
            ("config_dir", "/slots/7/home/"),
            ("fleetid", "00000000-0000-0000-0000-00000000000f"),
            ("game_exe", "/builds/arena/server"),
            ("log_dir", "/slots/7/logs/"),
            ("file_dir", "/builds/arena/"),
            ("machineid", "4294967298"),
            ("port", "9000"),
            ("query_port", "9010"),
            ("query_type", "sqp"),
            ("serverid", "4294967303"),
            ("regionid", "00000000-0000-0000-0000-00000000000e"),
            ("regionname", "Europe West"),
            ("ip", "192.0.2.1"),
            ("ipv6", ""),
            ("timestamp", "1700000000"),
            ("queryport", "9010"),
            ("server_log_dir", "/slots/7/logs/"),
            ("port2", "9010"),
            ("work_dir", "/slots/7/own/"),
            ("map", "dm 1"),
        ];
        let line = CommandLine::parse("$$commandline$$ -x").unwrap();
        for (name, value) in rows {
            assert_eq!(value_of(name, &line, &facts(), now).as_deref(), Some(value), "{name}");
        }
        let with_value: Vec<&str> = rows.iter().map(|(name, _)| *name).collect();
        for name in STANDARD {
            let is_known = with_value.contains(name);
            assert_eq!(is_known, value_of(name, &line, &facts(), now).is_some(), "{name}");
        }
        assert_eq!(value_of("PORT", &line, &facts(), now), None, "names are exact");
    }

    #[test]
    fn unitys_example_lines_become_arguments() {
        let now = Timestamp::from_unix_ms(0);
        let rows: &[(&str, &[&str])] = &[
            (
                "-port $$port$$ -queryport $$query_port$$ -log $$log_dir$$/Engine.log",
                &["-port", "9000", "-queryport", "9010", "-log", "/slots/7/logs//Engine.log"],
            ),
            ("-map $$map$$ +$$map$$", &["-map", "dm 1", "+dm 1"]),
            ("'sv_port $$port$$; bindaddr 0.0.0.0'", &["sv_port 9000; bindaddr 0.0.0.0"]),
            ("-6 $$ipv6$$ end", &["-6", "", "end"]),
            ("$$port5$$ $$nobody$$", &["$$port5$$", "$$nobody$$"]),
            ("$$commandline$$", &["$$commandline$$"]),
        ];
        for (text, expected) in rows {
            assert_eq!(arguments(&CommandLine::parse(text).unwrap(), &facts(), now), *expected, "{text}");
        }
    }

    #[test]
    fn unknown_names_are_listed() {
        let line = CommandLine::parse("$$port$$ $$map$$ $$Port$$ $$port4$$").unwrap();
        let facts = facts();
        let unknown: Vec<&str> = unknown_variables(&line, &facts.custom).collect();
        assert_eq!(unknown, ["Port", "port4"]);
    }
}
