//! Why there is no network.

use std::io;

use crate::HOSTS_MAX;

/// What a host does not allow, or does not have.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Namespaces and TUN devices are root's.
    #[error("only root can make network namespaces")]
    NotRoot,
    /// More hosts than the network has addresses for.
    #[error("{asked} hosts were asked for; a network has at most {HOSTS_MAX}")]
    TooManyHosts {
        /// How many.
        asked: usize,
    },
    /// A program that is not there.
    #[error("failed to run `{program}`: {source}")]
    Program {
        /// Which.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// A program that refused.
    #[error("`{words}` was refused: {said}")]
    Refused {
        /// Its words.
        words: String,
        /// What it said.
        said: String,
    },
    /// The system refused something else.
    #[error("failed to {what}: {source}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
}

impl Failure {
    pub(crate) fn to(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::System { what, source }
    }
}
