//! What must be true of every world after every event, one law or group of laws a file. The rules' own laws
//! (`mainstay_fleet::laws`, `mainstay_supervisor::laws`) run beside these: [`domain`].

pub(crate) mod convergence;
pub(crate) mod domain;
pub(crate) mod durable;
pub(crate) mod early;
pub(crate) mod endings;
pub(crate) mod generations;
pub(crate) mod hearing;
pub(crate) mod holds;
pub(crate) mod machines;
pub(crate) mod oracle;
pub(crate) mod placement;
pub(crate) mod processes;

use std::fmt;

/// A law that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{law}: {detail}")]
pub struct Broken {
    /// The law, in one sentence.
    pub law: String,
    /// What was found instead.
    pub detail: String,
}

impl Broken {
    pub(crate) fn new(law: impl fmt::Display, detail: impl fmt::Display) -> Self {
        Self { law: law.to_string(), detail: detail.to_string() }
    }
}

/// The law holds, or here is what was found instead; `detail` is not evaluated where it holds.
pub(crate) fn ensure<D: fmt::Display>(
    holds: bool,
    law: &'static str,
    detail: impl FnOnce() -> D,
) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken::new(law, detail())) }
}
