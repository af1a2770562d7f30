//! Why there is no identity.

use std::io;
use std::path::PathBuf;

/// Why the title's keys cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// Their file.
    #[error("failed to {what} {} (MS-U130)", path.display())]
    Files {
        /// The step.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Their file is none of ours.
    #[error(
        "{} holds no keys; restore it from a copy, or remove it: then every player gets another id, and logs in anew (MS-U131)",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The title's id is none.
    #[error("the title's id is empty or too long; restore credentials.json from a copy (MS-U131)")]
    Title,
    /// A token was not signed: a bug of ours.
    #[error("failed to sign (MS-U109)")]
    Sign(#[from] jsonwebtoken::errors::Error),
    /// The system has no random bytes to give.
    #[error("failed to read random bytes: {0} (MS-U130)")]
    Random(getrandom::Error),
}
