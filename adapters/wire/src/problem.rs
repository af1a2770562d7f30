//! The native face's error body (RFC 9457, `application/problem+json`), and the codes this crate's readers give.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error as the native HTTP face tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// The HTTP status, again, for those who only see the body.
    pub status: u16,
    /// The code, explained by `mainstay explain`.
    pub code: String,
    /// What, in a few words; the same for every problem of the code.
    pub title: String,
    /// Why, with numbers.
    pub detail: String,
    /// The way out: a command or an edit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fix: Option<String>,
    /// Where to read more.
    pub docs: String,
    /// The path that was asked for.
    pub instance: String,
    /// Every problem of what was sent, where there can be several; the form of `mainstay check -o json`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    #[schema(value_type = Vec<Object>)]
    pub problems: Vec<serde_json::Value>,
    /// Of a claim that came too late: the proof of the host that there is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub certificate: Option<crate::native::CertificateView>,
}

impl Problem {
    /// Its media type.
    pub const CONTENT_TYPE: &str = "application/problem+json";

    /// Where a code is explained.
    #[must_use]
    pub fn docs_of(code: &str) -> String {
        format!("mainstay explain {code}")
    }
}
