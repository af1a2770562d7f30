//! The stream to the control plane: desired state comes down, observed state goes up.
//!
//! A stream that breaks costs nothing but time. The next one says how every slot stands and is told again what is
//! wanted; orders carry their generations, so what comes twice or late does no harm. While there is no stream, servers
//! go on by their last orders.

mod orders;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use mainstay_wire::agent::Malformed;
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::brain::Brain;
use crate::config::Config;
use crate::error::Error;
use crate::roster::Roster;
use crate::slot::Context;
use crate::slot::ended::in_full;
use crate::statuses::Statuses;

/// The first pause before another try, and the longest: quick enough that nobody notices a restart of the plane, slow
/// enough that a thousand agents do not trample one that comes up.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Everything a stream needs.
pub(crate) struct Uplink {
    pub(crate) config: Config,
    pub(crate) roster: Mutex<Roster>,
    pub(crate) context: Arc<Context>,
    pub(crate) brain: Brain,
    pub(crate) statuses: Arc<Statuses>,
    pub(crate) boot_id: String,
}

/// Why a stream ended. All of these are tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamEnd {
    /// The plane's address is no address.
    #[error("the control plane's address {uri:?} is no URI (MS-S407)")]
    Address {
        /// What was given.
        uri: String,
        /// Why.
        #[source]
        source: tonic::transport::Error,
    },
    /// Nobody answers there.
    #[error("failed to reach the control plane at {uri}")]
    Unreachable {
        /// Where.
        uri: String,
        /// Why.
        #[source]
        source: tonic::transport::Error,
    },
    /// It ended the stream, with its reason.
    #[error("the control plane ended the stream: {0}")]
    Ended(tonic::Status),
    /// It closed the stream without a word.
    #[error("the control plane closed the stream")]
    Closed,
    /// It did not answer the hello.
    #[error("the control plane did not answer within {} s", .0.as_secs())]
    Mute(Duration),
    /// It said something that makes no sense.
    #[error("the control plane said something that makes no sense")]
    Malformed(#[source] Malformed),
    /// It welcomed other machines than those that said hello.
    #[error("the control plane welcomed {found} machines, {asked} had said hello")]
    OtherMachines {
        /// How many said hello.
        asked: usize,
        /// How many were welcomed.
        found: usize,
    },
    /// It orders a configuration that it has not sent.
    #[error(
        "the control plane ordered build configurations that it has not sent; it is asked for everything again"
    )]
    UnknownConfiguration,
    /// The list of machines could not be written.
    #[error(transparent)]
    Roster(#[from] Error),
    /// The rules take no orders now.
    #[error("orders cannot be taken now")]
    Refused(#[source] mainstay_runtime::Error),
    /// The agent ends.
    #[error("the agent ends")]
    AgentEnds,
}

impl Uplink {
    /// Keeps a stream, for as long as it is let.
    pub(crate) async fn run(self) {
        let mut pause = PAUSE_MIN;
        loop {
            let (end, welcomed) = stream::once(&self).await;
            if matches!(end, StreamEnd::AgentEnds) {
                return;
            }
            if welcomed == stream::Welcomed::Yes {
                pause = PAUSE_MIN;
            }
            tracing::warn!(error = %in_full(&end), again_in_ms = pause.as_millis(), "no stream to the control plane");
            sleep(pause + jitter(pause)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }
}

/// Up to half as long again, so that agents that lost their plane together do not come back together.
fn jitter(pause: Duration) -> Duration {
    // Without randomness there is no spread, and nothing worse.
    let share = getrandom::u32().unwrap_or(0) % 512;
    pause * share / 1024
}
