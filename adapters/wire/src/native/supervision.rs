//! What is read of a server's process, and how its last one ended, as the API shows them.

use jiff::Timestamp as Instant;
use mainstay_core::slot::{Exit, Fault, Heard, Incident, Killer, Reading};
use mainstay_core::{AllocationId, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::multiplay::instant;

/// What an agent last read of a server's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadingView {
    /// CPU since the check before, in thousandths of a core; absent at the first check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_millis: Option<u32>,
    /// Memory that only this server needs, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// `answers`, `silent`, or `unasked` where it has no query protocol.
    pub query: String,
    /// Players, where its query tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub players: Option<u32>,
    /// Players at most, where its query tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub players_max: Option<u32>,
}

/// A reading, and when it was taken: the evidence of an incident keeps the newest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DatedReadingView {
    /// When, by the agent's clock.
    pub at: Instant,
    /// What was read.
    #[serde(flatten)]
    pub reading: ReadingView,
}

/// A process that ended as nobody wished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct IncidentView {
    /// When its agent noticed.
    #[schema(value_type = String, format = DateTime)]
    pub at: Instant,
    /// `crash`, or `misbehaviour` where it failed a check too often and was ended for it.
    pub kind: String,
    /// The check it failed: `cpu`, `memory` or `query`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// How, in words.
    pub cause: String,
    /// Its exit code, where it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it, where one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether that was the kernel, for memory above the slot's cap.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_memory: bool,
    /// The session it was for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = "uuid")]
    pub allocation_id: Option<AllocationId>,
    /// What it ran.
    pub build_configuration_id: u64,
    /// Which revision of it.
    pub build_configuration_revision: u32,
    /// Which start of its machine it was; the evidence on the machine is kept under this number.
    pub run: u64,
    /// The last lines it wrote to its standard output and error, or else to the newest of its own logs.
    pub last_words: String,
    /// The core dump on its machine, where the host kept one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<String>,
}

impl ReadingView {
    /// A reading.
    #[must_use]
    pub fn of(Reading { cpu_millis, memory_bytes, heard }: &Reading) -> Self {
        let (query, players, players_max) = match heard {
            Heard::Unasked => ("unasked", None, None),
            Heard::Silence => ("silent", None, None),
            Heard::Answer { players, players_max } => ("answers", *players, *players_max),
        };
        let (cpu_millis, memory_bytes) = (*cpu_millis, *memory_bytes);
        Self { cpu_millis, memory_bytes, query: query.to_owned(), players, players_max }
    }
}

impl DatedReadingView {
    /// A reading taken then.
    #[must_use]
    pub fn of(at: Timestamp, reading: &Reading) -> Self {
        Self { at: instant(at), reading: ReadingView::of(reading) }
    }
}

impl IncidentView {
    /// An incident.
    #[must_use]
    pub fn of(incident: &Incident) -> Self {
        let (kind, check) = match incident.fault {
            Fault::Crash => ("crash", None),
            Fault::Misbehaviour(check) => ("misbehaviour", Some(check.word().to_owned())),
        };
        let (exit_code, signal, out_of_memory) = match &incident.exit {
            Some(Exit::Code(code)) => (Some(*code), None, false),
            Some(Exit::Signal { signal, killed_by: Killer::Unknown }) => (None, Some(*signal), false),
            Some(Exit::Signal { signal, killed_by: Killer::OutOfMemory }) => (None, Some(*signal), true),
            Some(Exit::NotStarted(_)) | None => (None, None, false),
        };
        Self {
            at: instant(incident.at),
            kind: kind.to_owned(),
            check,
            cause: incident.cause.to_string(),
            exit_code,
            signal,
            out_of_memory,
            allocation_id: incident.allocation,
            build_configuration_id: incident.configuration.id.number(),
            build_configuration_revision: incident.configuration.revision,
            run: incident.run,
            last_words: incident.last_words.to_string(),
            core: incident.core.as_ref().map(ToString::to_string),
        }
    }
}
