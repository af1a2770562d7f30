//! `$HOME/server.json`: what a game server reads about itself, exactly as Multiplay writes it.
//!
//! Three habits of stock clients rule here. Every value is a JSON string (a number or a nested object is fatal to the Go
//! SDK). The file is changed in place, truncated and written, because the Go SDK ignores a file renamed over it. And it
//! is written before anything is published, because clients read it when an event arrives.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use mainstay_core::AllocationId;
use nix::libc;
use serde_json::{Map, Value};

use super::variables::directory;
use super::{GameFacts, OsError};
use crate::os::slot_dirs::Owner;

/// The file's name in the slot's home.
pub const SERVER_JSON: &str = "server.json";

/// The longest file that is read back: a configuration's variables are below 10 KB.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The file's text: the standard fields, their older names, and the custom variables, all as strings.
#[must_use]
pub fn render(facts: &GameFacts) -> String {
    let mut fields = Map::new();
    for (name, value) in &facts.custom {
        fields.insert(name.clone(), Value::String(value.clone()));
    }
    for (name, value) in standard(facts) {
        fields.insert(name.to_owned(), Value::String(value));
    }
    Value::Object(fields).to_string()
}

/// The custom variables that a standard field hides.
pub fn hidden(facts: &GameFacts) -> impl Iterator<Item = &str> {
    let standard = standard(facts).map(|(name, _)| name);
    facts.custom.iter().map(|(name, _)| name.as_str()).filter(move |name| standard.contains(name))
}

/// Standard fields. `allocationUUID` and `serverLogDirectory` are the older names of two of them, still read by games
/// built years ago.
fn standard(facts: &GameFacts) -> [(&'static str, String); 16] {
    let allocation = facts.allocation.map(|id| id.to_string()).unwrap_or_default();
    let log_dir = directory(&facts.log_dir);
    [
        ("allocatedUUID", allocation.clone()),
        ("allocationUUID", allocation),
        ("fleetID", facts.fleet.to_string()),
        ("ip", facts.ipv4.map(|address| address.to_string()).unwrap_or_default()),
        ("ipv6", facts.ipv6.map(|address| address.to_string()).unwrap_or_default()),
        ("localProxyUrl", facts.local_proxy_url.clone()),
        ("machineID", facts.machine.number().to_string()),
        ("port", facts.port.to_string()),
        ("queryPort", facts.query_port.to_string()),
        ("queryType", facts.query_type.clone()),
        ("regionID", facts.region.to_string()),
        ("regionName", facts.region_name.clone()),
        ("serverID", facts.server.number().to_string()),
        ("serverFilesDir", directory(&facts.file_dir)),
        ("serverLogDir", log_dir.clone()),
        ("serverLogDirectory", log_dir),
    ]
}

/// Writes the file in place. When this returns, readers see the new text.
///
/// The home belongs to the slot's user, and the agent may be root, so nothing the game puts there is followed: a link,
/// a pipe, a second name of another file, or somebody else's file is removed and replaced.
///
/// # Errors
/// The home is missing or not writable, or the disk is full.
pub fn write(home: &Path, facts: &GameFacts, owner: Owner) -> Result<PathBuf, OsError> {
    let path = home.join(SERVER_JSON);
    let failed = |what| {
        let path = path.clone();
        move |source| OsError::Files { what, path, source }
    };
    let mut file = match open(&path, owner).map_err(failed("open"))? {
        Some(file) => file,
        None => {
            std::fs::remove_file(&path).map_err(failed("remove what a game put in place of"))?;
            create(&path, owner).map_err(failed("create"))?
        }
    };
    let text = render(facts);
    file.set_len(0).map_err(failed("truncate"))?;
    file.write_all(text.as_bytes()).map_err(failed("write"))?;
    Ok(path)
}

/// The session that the file names: `None` where it names none, or is not what was written. Only the file itself is read,
/// and not more of it than was ever written.
pub fn allocation(home: &Path) -> Option<AllocationId> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(home.join(SERVER_JSON)).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut text).ok()?;
    let fields: Map<String, Value> = serde_json::from_slice(&text).ok()?;
    fields.get("allocatedUUID")?.as_str()?.parse().ok()
}

/// The file if it is what it should be, a new one if there is none, nothing if something else is in its place.
fn open(path: &Path, owner: Owner) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    match options.open(path) {
        Ok(file) => {
            let found = file.metadata()?;
            let is_ours = found.is_file() && found.nlink() == 1 && owner.is_of(&found);
            Ok(is_ours.then_some(file))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path, owner).map(Some),
        Err(error) if matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO | libc::EACCES)) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn create(path: &Path, owner: Owner) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    owner.own(&file)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::os::variables::tests::facts;

    const WHOLE: &str = r#"{"allocatedUUID":"00000000-0000-0000-0000-00000000000a","allocationUUID":"00000000-0000-0000-0000-00000000000a","fleetID":"00000000-0000-0000-0000-00000000000f","ip":"192.0.2.1","ipv6":"","localProxyUrl":"http://localhost:8086","machineID":"4294967298","map":"dm 1","port":"9000","queryPort":"9010","queryType":"sqp","regionID":"00000000-0000-0000-0000-00000000000e","regionName":"Europe West","serverFilesDir":"/builds/arena/","serverID":"4294967303","serverLogDir":"/slots/7/logs/","serverLogDirectory":"/slots/7/logs/"}"#;

    /// Shows `every value is a JSON string`, `fields of server.json`.
    #[test]
    fn every_field_is_a_string_and_the_standard_wins_over_custom_names() {
        let facts = facts();
        assert_eq!(render(&facts), WHOLE);
        let as_the_go_sdk_reads: BTreeMap<String, String> = serde_json::from_str(WHOLE).unwrap();
        assert_eq!(as_the_go_sdk_reads["port"], "9000");
        assert_eq!(hidden(&facts).collect::<Vec<_>>(), ["port"]);
        let idle = GameFacts { allocation: None, ..facts };
        assert!(render(&idle).contains(r#""allocatedUUID":"","allocationUUID":"""#));
    }

    /// Shows `truncated and written in place`.
    #[test]
    fn the_file_is_changed_in_place_and_shrinks() {
        let home = tempfile::tempdir().unwrap();
        let long = GameFacts { region_name: "x".repeat(1000), ..facts() };
        let path = write(home.path(), &long, Owner::Agent).unwrap();
        let before = std::fs::metadata(&path).unwrap();
        assert_eq!(before.permissions().mode() & 0o777, 0o600);
        write(home.path(), &facts(), Owner::Agent).unwrap();
        assert_eq!(
            std::fs::metadata(&path).unwrap().ino(),
            before.ino(),
            "the same file, as watchers need it"
        );
        assert_eq!(std::fs::read_to_string(path).unwrap(), WHOLE);
    }

    #[test]
    fn nothing_that_a_game_puts_in_its_place_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let precious = home.path().join("precious");
        let path = home.path().join(SERVER_JSON);
        let tricks: [(&str, &dyn Fn()); 3] = [
            ("link", &|| symlink(&precious, &path).unwrap()),
            ("second name", &|| std::fs::hard_link(&precious, &path).unwrap()),
            ("pipe", &|| nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap()),
        ];
        for (name, play) in tricks {
            std::fs::write(&precious, "kept").unwrap();
            play();
            write(home.path(), &facts(), Owner::Agent).unwrap();
            assert_eq!(std::fs::read_to_string(&precious).unwrap(), "kept", "{name}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), WHOLE, "{name}");
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn the_session_is_read_back_whatever_a_game_puts_there() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(SERVER_JSON);
        assert_eq!(allocation(home.path()), None, "no file yet");
        write(home.path(), &facts(), Owner::Agent).unwrap();
        assert_eq!(allocation(home.path()), facts().allocation);
        write(home.path(), &GameFacts { allocation: None, ..facts() }, Owner::Agent).unwrap();
        assert_eq!(allocation(home.path()), None);
        for text in ["", "{", "[]", r#"{"allocatedUUID":7}"#, r#"{"allocatedUUID":"x"}"#, "\u{0}"] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(allocation(home.path()), None, "{text}");
        }
        std::fs::remove_file(&path).unwrap();
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(allocation(home.path()), None, "a pipe is not waited for");
    }

    #[test]
    fn a_missing_home_is_named() {
        let error = write(Path::new("/no/such/home"), &facts(), Owner::Agent).unwrap_err();
        assert_eq!((error.code(), error.to_string().as_str()), ("MS-S501", "open /no/such/home/server.json"));
    }
}
