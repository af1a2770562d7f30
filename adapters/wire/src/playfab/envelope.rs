//! What every answer is wrapped in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A call that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Success<T> {
    /// 200.
    pub code: u16,
    /// `OK`.
    pub status: String,
    /// What it came to; an empty object where there is nothing to tell.
    pub data: T,
}

impl<T> Success<T> {
    /// An answer.
    pub fn of(data: T) -> Self {
        Self { code: 200, status: "OK".to_owned(), data }
    }
}

/// A call that was refused. Its own code stands in the body even where the HTTP status says 200, for clients that ask for that
/// (`X-ReportErrorAsSuccess`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The HTTP status.
    pub code: u16,
    /// Its name.
    pub status: String,
    /// PlayFab's name of the error.
    pub error: String,
    /// Its number.
    pub error_code: u32,
    /// What is wrong, with numbers, and how it is mended.
    pub error_message: String,
    /// By field, or by what a call's page says, what is wrong: lists of texts, which is all that the C# SDK reads.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub error_details: BTreeMap<String, Vec<String>>,
    /// After how many seconds the call may be tried again, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_seconds: Option<u32>,
}
