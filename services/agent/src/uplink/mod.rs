//! The stream to the control plane: desired state comes down, observed state goes up.
//!
//! A stream that breaks costs nothing but time. The next one says how every slot stands and is told again what is
//! wanted; orders carry their generations, so what comes twice or late does no harm. While there is no stream, servers
//! go on by their last orders.

mod looks;
mod orders;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use mainstay_wire::agent::Malformed;
use mainstay_wire::join::{REFUSAL_CREDENTIAL, REFUSAL_HEADER, REFUSAL_SUPERSEDED};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::asks::Asks;
use crate::brain::Brain;
use crate::config::Config;
use crate::error::Error;
use crate::pass::{ConnectError, MachinePass, Pass, PassError};
use crate::roster::Roster;
use crate::slot::Context;
use crate::slot::ended::in_full;
use crate::statuses::Statuses;

/// The first pause before another try, and the longest: quick enough that nobody notices a restart of the plane, slow
/// enough that a thousand agents do not trample one that comes up.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The pause after a refusal that nothing but an operator mends: a token, a revoked machine, a wrong clock.
const PAUSE_REFUSED: Duration = Duration::from_secs(30);

/// Everything a stream needs.
pub(crate) struct Uplink {
    pub(crate) config: Config,
    pub(crate) roster: Mutex<Roster>,
    pub(crate) context: Arc<Context>,
    pub(crate) brain: Brain,
    pub(crate) statuses: Arc<Statuses>,
    pub(crate) asks: Arc<Asks>,
    pub(crate) boot_id: String,
}

/// Why a stream ended. All of these are tried again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StreamEnd {
    /// There is no connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The credential could not be renewed.
    #[error("the machine's credential could not be renewed")]
    Renew(#[source] PassError),
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
    /// The fleet has room for more slots here than this machine had: it says hello with all of them.
    #[error("this machine has {slots} slots now, as its fleet has room for")]
    Grown {
        /// How many it has.
        slots: usize,
    },
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
            if let StreamEnd::Grown { .. } = end {
                tracing::info!("{end}");
                continue;
            }
            if welcomed == stream::Welcomed::Yes {
                pause = PAUSE_MIN;
            }
            let wait = match self.after(&end).await {
                After::Silence => {
                    tracing::error!(error = %in_full(&end), "this agent is silent from now on, until it is started again; its servers play on");
                    return;
                }
                After::Again => Duration::ZERO,
                After::Pause => pause,
                After::Refused => PAUSE_REFUSED,
            };
            tracing::warn!(error = %in_full(&end), again_in_ms = wait.as_millis(), "no stream to the control plane");
            sleep(wait + jitter(wait)).await;
            pause = (pause * 2).min(PAUSE_MAX);
        }
    }

    /// What follows the end of a stream.
    async fn after(&self, end: &StreamEnd) -> After {
        let status = match end {
            StreamEnd::Ended(status) | StreamEnd::Renew(PassError::Refused(status)) => status,
            StreamEnd::Connect(
                ConnectError::OtherAuthority { .. }
                | ConnectError::Unprotected { .. }
                | ConnectError::Unpinned { .. }
                | ConnectError::Address { .. },
            ) => return After::Refused,
            StreamEnd::Connect(_)
            | StreamEnd::Renew(_)
            | StreamEnd::Closed
            | StreamEnd::Mute(_)
            | StreamEnd::Malformed(_)
            | StreamEnd::OtherMachines { .. }
            | StreamEnd::UnknownConfiguration
            | StreamEnd::Roster(_)
            | StreamEnd::Refused(_)
            | StreamEnd::Grown { .. }
            | StreamEnd::AgentEnds => return After::Pause,
        };
        let told = status.metadata().get(REFUSAL_HEADER).and_then(|told| told.to_str().ok());
        match &self.config.plane.pass {
            Pass::Machine(_) if told == Some(REFUSAL_SUPERSEDED) => After::Silence,
            Pass::Machine(pass) if told == Some(REFUSAL_CREDENTIAL) => {
                pass.heed(status);
                self.after_refusal(pass).await
            }
            Pass::Machine(_) | Pass::Host(_) => {
                let refused = [tonic::Code::Unauthenticated, tonic::Code::PermissionDenied];
                if refused.contains(&status.code()) { After::Refused } else { After::Pause }
            }
        }
    }

    /// A credential that is refused: perhaps the next one is known already; perhaps there is a token to join again with.
    async fn after_refusal(&self, pass: &MachinePass) -> After {
        match pass.try_next() {
            Ok(true) => return After::Again,
            Ok(false) => {}
            Err(error) => {
                tracing::error!(error = %in_full(&error), "the machine's credential cannot be written");
                return After::Pause;
            }
        }
        match pass.join_again(&self.config.plane.uri).await {
            Ok(true) => After::Again,
            Ok(false) => After::Refused,
            Err(error) => {
                tracing::warn!(error = %in_full(&error), "this machine could not join again");
                if error.is_passing() { After::Pause } else { After::Refused }
            }
        }
    }
}

/// What follows the end of a stream.
enum After {
    /// Another try at once.
    Again,
    /// Another try soon.
    Pause,
    /// Another try, once somebody may have mended it.
    Refused,
    /// Nothing, until somebody starts this agent again.
    Silence,
}

/// Up to half as long again, so that agents that lost their plane together do not come back together.
fn jitter(pause: Duration) -> Duration {
    // Without randomness there is no spread, and nothing worse.
    let share = getrandom::u32().unwrap_or(0) % 512;
    pause * share / 1024
}
