//! What `mainstay doctor` finds: a check a row, with why, how to mend it and a code.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a check came out. The order is that of their weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Everything works; something will be missed, or is on its way to fail.
    Warn,
    /// Something is broken.
    Fail,
}

/// One check and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What was checked, in words that never change: `journal chain`, `laws of fleet arena`.
    pub check: String,
    /// How it came out.
    pub status: Verdict,
    /// What was found, with numbers.
    pub why: String,
    /// How it is mended; absent where nothing is to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The code to look it up by; absent where nothing is wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Everything that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorView {
    /// The worst that was found.
    pub status: Verdict,
    /// Each check.
    pub checks: Vec<Finding>,
}

impl Finding {
    /// All is well.
    #[must_use]
    pub fn ok(check: impl Into<String>, why: impl Into<String>) -> Self {
        Self { check: check.into(), status: Verdict::Ok, why: why.into(), fix: None, code: None }
    }

    /// Something is missing.
    #[must_use]
    pub fn warn(check: impl Into<String>, why: impl Into<String>, code: &str, fix: &str) -> Self {
        Self::found(Verdict::Warn, check.into(), why.into(), code, fix)
    }

    /// Something is broken.
    #[must_use]
    pub fn fail(check: impl Into<String>, why: impl Into<String>, code: &str, fix: &str) -> Self {
        Self::found(Verdict::Fail, check.into(), why.into(), code, fix)
    }

    fn found(status: Verdict, check: String, why: String, code: &str, fix: &str) -> Self {
        let (fix, code) = (Some(fix.to_owned()), Some(code.to_owned()));
        Self { check, status, why, fix, code }
    }
}

impl DoctorView {
    /// Of its checks; without any there is nothing that is wrong.
    #[must_use]
    pub fn of(checks: Vec<Finding>) -> Self {
        let status = checks.iter().map(|check| check.status).max().unwrap_or(Verdict::Ok);
        Self { status, checks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_is_as_bad_as_its_worst_check() {
        let ok = || Finding::ok("disk", "10 GiB are free");
        let warn = || Finding::warn("cores", "none are kept", "MS-U034", "set core_pattern");
        let fail = || Finding::fail("journal chain", "a turn is missing", "MS-J003", "restore it");
        let status = |checks| DoctorView::of(checks).status;
        assert_eq!(status(vec![]), Verdict::Ok);
        assert_eq!(status(vec![ok(), warn()]), Verdict::Warn);
        assert_eq!(status(vec![fail(), warn(), ok()]), Verdict::Fail);
    }
}
