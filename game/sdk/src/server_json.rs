//! `$HOME/server.json`, by which Multiplay tells a game server what it is and which allocation it is for.
//!
//! The platform updates the file in place, truncating it first, so a reader now and then sees an empty or half-written
//! file: that is not an error, the last whole reading stands. Every value is a JSON string.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Error;

/// The file's name in the server's home.
pub const SERVER_JSON: &str = "server.json";
/// The longest file that is read: some twenty short fields and a configuration's own variables.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerJson {
    fields: BTreeMap<String, String>,
}

impl ServerJson {
    /// Reads the file in a home.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::Malformed`], also for the moment in which it is being written: read it again.
    pub fn read(home: &Path) -> Result<Self, Error> {
        let path = home.join(SERVER_JSON);
        let mut text = Vec::new();
        let read = File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut text));
        read.map_err(|source| Error::File { path: path.clone(), source })?;
        Self::parse(&text).map_err(|error| Error::Malformed { path, why: error.to_string() })
    }

    /// Reads a text. Values that are no strings are passed over.
    ///
    /// # Errors
    /// It is no JSON object.
    pub fn parse(text: &[u8]) -> Result<Self, serde_json::Error> {
        let all: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text)?;
        let strings = all.into_iter().filter_map(|(name, value)| match value {
            serde_json::Value::String(text) => Some((name, text)),
            serde_json::Value::Null
            | serde_json::Value::Bool(_)
            | serde_json::Value::Number(_)
            | serde_json::Value::Array(_)
            | serde_json::Value::Object(_) => None,
        });
        Ok(Self { fields: strings.collect() })
    }

    /// A field, standard or custom; `None` where it is missing or empty.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// `allocatedUUID`: the session the server is for.
    #[must_use]
    pub fn allocation(&self) -> Option<&str> {
        self.field("allocatedUUID")
    }

    /// `serverID`.
    #[must_use]
    pub fn server(&self) -> Option<u64> {
        self.field("serverID")?.parse().ok()
    }

    /// `port`: where players connect.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        self.field("port")?.parse().ok()
    }

    /// `queryPort`.
    #[must_use]
    pub fn query_port(&self) -> Option<u16> {
        self.field("queryPort")?.parse().ok()
    }

    /// `queryType`.
    #[must_use]
    pub fn query_type(&self) -> Option<&str> {
        self.field("queryType")
    }

    /// `localProxyUrl`: the local daemon.
    #[must_use]
    pub fn daemon(&self) -> Option<&str> {
        self.field("localProxyUrl")
    }
}

/// Watches the file by its time and length; cheap enough for once a second.
#[derive(Debug)]
pub struct Watch {
    path: Option<PathBuf>,
    seen: Option<(SystemTime, u64)>,
    last: ServerJson,
}

/// What a look at the file brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum News {
    /// Nothing.
    Same,
    /// A reading that differs from the last.
    Changed,
}

impl Watch {
    /// Watches `server.json` in this home, if there is one.
    #[must_use]
    pub fn new(home: Option<&Path>) -> Self {
        Self { path: home.map(|home| home.join(SERVER_JSON)), seen: None, last: ServerJson::default() }
    }

    /// The last whole reading.
    #[must_use]
    pub const fn last(&self) -> &ServerJson {
        &self.last
    }

    /// Looks at the file and says whether there is a new whole reading that differs. A missing file is no news.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn poll(&mut self) -> io::Result<News> {
        let Some(path) = &self.path else { return Ok(News::Same) };
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(News::Same),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        let stamp = (metadata.modified()?, metadata.len());
        if self.seen == Some(stamp) {
            return Ok(News::Same);
        }
        let mut text = Vec::new();
        file.by_ref().take(FILE_BYTES_MAX).read_to_end(&mut text)?;
        let Ok(read) = ServerJson::parse(&text) else { return Ok(News::Same) };
        self.seen = Some(stamp);
        if read == self.last {
            return Ok(News::Same);
        }
        self.last = read;
        Ok(News::Changed)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn follows_the_file_through_its_update_in_place() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(SERVER_JSON);
        let mut watch = Watch::new(Some(home.path()));
        assert_eq!(watch.poll().unwrap(), News::Same, "no file yet");

        fs::write(
            &path,
            r#"{"allocatedUUID":"","port":"9100","queryPort":"9101","queryType":"a2s","x":"y"}"#,
        )
        .unwrap();
        assert_eq!(watch.poll().unwrap(), News::Changed);
        let read = watch.last().clone();
        assert_eq!((read.allocation(), read.port(), read.query_port()), (None, Some(9100), Some(9101)));
        assert_eq!((read.query_type(), read.field("x")), (Some("a2s"), Some("y")));
        assert_eq!(watch.poll().unwrap(), News::Same);

        for broken in ["", "{\"allocatedUUID\":\"3f", "[]"] {
            fs::write(&path, broken).unwrap();
            assert_eq!(watch.poll().unwrap(), News::Same);
            assert_eq!(watch.last(), &read, "the last whole reading stands");
        }
        fs::write(&path, r#"{"allocatedUUID":"3f0e","port":"9100"}"#).unwrap();
        assert_eq!(watch.poll().unwrap(), News::Changed);
        assert_eq!(watch.last().allocation(), Some("3f0e"));
    }

    #[test]
    fn no_home_no_news() {
        assert_eq!(Watch::new(None).poll().unwrap(), News::Same);
    }

    #[test]
    fn what_is_no_string_is_passed_over() {
        let read = ServerJson::parse(br#"{"port":9100,"serverID":"7","localProxyUrl":null}"#).unwrap();
        assert_eq!((read.port(), read.server(), read.daemon()), (None, Some(7), None));
    }

    proptest! {
        #[test]
        fn whatever_stands_there_is_a_reading_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _reading_or_reason = ServerJson::parse(&bytes);
        }
    }
}
