//! `$HOME/server.json`, by which Multiplay tells a game server what it is and which allocation it is for.
//!
//! The platform updates the file in place, truncating it first, so a reader now and then sees an empty or half-written
//! file: that is not an error, the last whole reading stands. Every value is a JSON string.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::SystemTime;

/// The longest file that is read: some twenty short fields and a configuration's own variables.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// What a game server wants to know of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ServerJson {
    /// `allocatedUUID`; `None` where it is empty.
    pub(crate) allocation: Option<String>,
    /// `port`.
    pub(crate) port: Option<u16>,
    /// `queryPort`.
    pub(crate) query_port: Option<u16>,
    /// `queryType`.
    pub(crate) query_type: Option<String>,
}

impl ServerJson {
    fn parse(text: &[u8]) -> Option<Self> {
        let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(text).ok()?;
        let field =
            |name: &str| fields.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let number = |name: &str| field(name)?.parse().ok();
        Some(Self {
            allocation: field("allocatedUUID"),
            port: number("port"),
            query_port: number("queryPort"),
            query_type: field("queryType"),
        })
    }
}

/// Watches the file by its time and length; cheap enough for once a second.
#[derive(Debug)]
pub(crate) struct Watch {
    path: Option<PathBuf>,
    seen: Option<(SystemTime, u64)>,
    last: ServerJson,
}

impl Watch {
    /// Watches `server.json` in this home, if there is one.
    pub(crate) fn new(home: Option<OsString>) -> Self {
        let path = home.map(|home| PathBuf::from(home).join("server.json"));
        Self { path, seen: None, last: ServerJson::default() }
    }

    /// The last whole reading.
    pub(crate) const fn last(&self) -> &ServerJson {
        &self.last
    }

    /// Looks at the file and says whether there is a new whole reading that differs. A missing file is no news.
    pub(crate) fn poll(&mut self) -> io::Result<News> {
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
        let Some(read) = ServerJson::parse(&text) else { return Ok(News::Same) };
        self.seen = Some(stamp);
        if read == self.last {
            return Ok(News::Same);
        }
        self.last = read;
        Ok(News::Changed)
    }
}

/// What a look at the file brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing.
    Same,
    /// A reading that differs from the last.
    Changed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn follows_the_file_through_its_update_in_place() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("server.json");
        let mut watch = Watch::new(Some(home.path().into()));
        assert_eq!(watch.poll().unwrap(), News::Same, "no file yet");

        fs::write(
            &path,
            r#"{"allocatedUUID":"","port":"9100","queryPort":"9101","queryType":"a2s","x":"y"}"#,
        )
        .unwrap();
        assert_eq!(watch.poll().unwrap(), News::Changed);
        let read = ServerJson {
            allocation: None,
            port: Some(9100),
            query_port: Some(9101),
            query_type: Some("a2s".into()),
        };
        assert_eq!(watch.last(), &read);
        assert_eq!(watch.poll().unwrap(), News::Same);

        for broken in ["", "{\"allocatedUUID\":\"3f", "[]"] {
            fs::write(&path, broken).unwrap();
            assert_eq!(watch.poll().unwrap(), News::Same);
            assert_eq!(watch.last(), &read, "the last whole reading stands");
        }
        fs::write(&path, r#"{"allocatedUUID":"3f0e","port":"9100"}"#).unwrap();
        assert_eq!(watch.poll().unwrap(), News::Changed);
        assert_eq!(watch.last().allocation.as_deref(), Some("3f0e"));
    }

    #[test]
    fn no_home_no_news() {
        assert_eq!(Watch::new(None).poll().unwrap(), News::Same);
    }
}
