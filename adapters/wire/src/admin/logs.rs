//! Log files, their search, and other files of servers (reference 3.11).

use jiff::Timestamp as Instant;
use mainstay_core::FleetId;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// A file a server wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogFile {
    /// Its path within the slot.
    pub file: String,
    /// Bytes.
    pub size: u64,
    /// Where it is read without credentials, for an hour.
    #[serde(rename = "downloadURL", default, skip_serializing_if = "Option::is_none")]
    pub download_url: Option<String>,
    /// When it was last written.
    pub last_modified: Instant,
}

/// Where something is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Without credentials, for an hour.
    pub url: String,
}

/// A search.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogSearch {
    /// Lines that have all these words, without regard to case. Empty: every line.
    #[serde(default)]
    pub query: String,
    /// How many at most.
    #[serde(default)]
    pub size: usize,
    /// Where.
    #[serde(default)]
    pub filters: LogFilters,
    /// From the answer before; the other fields are then ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pagination_token: Option<String>,
}

/// Where to search.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogFilters {
    /// In this fleet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet_id: Option<FleetId>,
    /// In this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_id: Option<String>,
    /// In this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// In files written after this; lines have no times of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Instant>,
    /// Leaves nothing out: a file that was written since may have lines from before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Instant>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogSearchAnswer {
    /// How many are in `hits`.
    pub count: usize,
    /// By server, file and line.
    pub hits: Vec<LogHit>,
    /// For the next page; empty on the last.
    pub pagination_token: String,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogHit {
    /// What it says.
    pub message: String,
    /// Where it is.
    pub metadata: LogMetadata,
}

/// Where a line is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogMetadata {
    /// Its fleet.
    pub fleet_id: FleetId,
    /// Its place: server, file and byte.
    pub message_id: String,
    /// Its server.
    pub server_id: String,
    /// Its file.
    pub source: String,
    /// When its file was last written: lines carry no time of their own.
    pub timestamp: Instant,
}

/// Whether lines are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogStatus {
    /// ENABLED, DISABLED or LIMIT_REACHED.
    pub status: String,
}

/// Whether lines shall be kept.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LogStatusRequest {
    /// Whether.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// The same by the word that is told: ENABLED or DISABLED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// How much is kept, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogUsage {
    /// In use.
    pub usage: f64,
    /// The most there can be.
    pub capacity: f64,
    /// What is left of it.
    pub remaining: f64,
}

/// A file whose lines can be searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogSource {
    /// What a filter names.
    pub source: String,
    /// Its name.
    pub name: String,
}

/// A fleet whose lines can be searched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogFleet {
    /// Its id.
    pub id: FleetId,
    /// Its name.
    pub name: String,
    /// Whether it is gone.
    pub deleted: bool,
}

/// A file that shall be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DownloadRequest {
    /// Its path within the slot; `source` of the logs area.
    #[serde(alias = "source", alias = "file")]
    pub path: String,
    /// Its server, where the source does not name one.
    #[serde(
        default,
        alias = "serverID",
        deserialize_with = "number_or_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub server_id: Option<u64>,
}

/// The files area has a server's id as a number, the logs area as a text: either is taken.
fn number_or_text<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Id {
        Number(u64),
        Text(String),
    }
    match Option::deserialize(reader)? {
        None => Ok(None),
        Some(Id::Number(id)) => Ok(Some(id)),
        Some(Id::Text(id)) => id.parse().map(Some).map_err(|_| D::Error::custom("no id of a server")),
    }
}

/// A file of a server, as the files area lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileItem {
    /// Its name.
    pub filename: String,
    /// Its path within the slot.
    pub path: String,
    /// Bytes.
    pub file_size: u64,
    /// When it was made, as far as the file system says.
    pub created_at: Instant,
    /// When it was last written.
    pub last_modified: Instant,
    /// Its fleet.
    pub fleet: FileOwner,
    /// Its machine.
    pub machine: FileLocation,
    /// Its server.
    #[serde(rename = "serverID")]
    pub server_id: u64,
}

/// A fleet, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileOwner {
    /// Its id.
    pub id: FleetId,
    /// Its name.
    pub name: String,
}

/// A machine, in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLocation {
    /// Its id.
    pub id: u64,
    /// Its region's name.
    pub location: String,
}
