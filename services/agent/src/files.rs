//! What the agent keeps in small files beside its journal: whole or not at all, and for its own eyes.

use std::io;
use std::path::Path;

use mainstay_journal::durable;
use serde::Serialize;

use crate::error::Error;

/// Only the agent's own user reads it.
const MODE: u32 = 0o600;

/// Writes a value as JSON, with a line's end.
pub(crate) fn write<T: Serialize>(dir: &Path, name: &str, value: &T) -> Result<(), Error> {
    let text = serde_json::to_vec(value).map_err(io::Error::from);
    let written = text.and_then(|text| durable::write(dir, name, &[&*text, b"\n"].concat(), MODE));
    written.map_err(|source| Error::Files { what: "write", path: dir.join(name), source })
}
