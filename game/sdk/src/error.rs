//! What can go wrong between a game and its host.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// `server.json` cannot be read.
    #[error("failed to read {}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// `server.json` is none, or is being written at this moment.
    #[error("{} is no server.json: {why}", path.display())]
    Malformed {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// `server.json` does not say what is needed.
    #[error("server.json has no {0}: is this server started by Mainstay?")]
    Missing(&'static str),
    /// `localProxyUrl` is no address.
    #[error("localProxyUrl is {0:?}, and should be http://HOST:PORT")]
    Address(String),
    /// The daemon does not answer.
    #[error("failed to reach the local daemon at {url}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The daemon cannot do it now; the same call is safe to make again.
    #[error("the local daemon says to come back in {} s: {detail}", after.as_secs())]
    Later {
        /// When to come back.
        after: Duration,
        /// Why.
        detail: String,
    },
    /// The daemon refuses.
    #[error("the local daemon refuses ({status}): {detail}")]
    Refused {
        /// The HTTP status: 409 where a hold cannot be had in the server's state.
        status: u16,
        /// Our code, such as `MS-H003`.
        code: Option<String>,
        /// Why, and the way out.
        detail: String,
    },
    /// The daemon answers what it never should.
    #[error("the local daemon's answer makes no sense: {0}")]
    Senseless(String),
    /// The players' attributes did not fit the session's payload, and whom the rules let to them cannot be told without.
    #[error(
        "the attributes of the match's players did not fit the session's payload: look for players by a backfill ticket of your own, with what GetMatch tells"
    )]
    AttributesLeftOut,
    /// The system gives no thread.
    #[error("failed to start a thread")]
    Thread(#[source] io::Error),
}
