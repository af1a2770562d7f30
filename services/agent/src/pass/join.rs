//! The first contact, which exchanges a join token for a credential, and the renewals after it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use mainstay_core::MachineKey;
use mainstay_runtime::Clock;
use mainstay_wire::agent::PROTOCOL;
use mainstay_wire::join::proto::machine_join_client::MachineJoinClient;
use mainstay_wire::join::{CLOCK_HEADER, CLOCKS_DIFFER_MAX, JoinToken, proto};
use tokio::time::{sleep, timeout};
use tonic::transport::Channel;

use super::file::{Kept, Stage};
use super::{MachinePass, PassError, connect, draw, hash};
use crate::error::Error;
use crate::roster::Roster;

/// How long the control plane may take to answer: it writes its answer down first.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// The first pause before another try of a first contact that reached nobody, and the longest.
const PAUSE_MIN: Duration = Duration::from_millis(200);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// What is asked for when a machine joins.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The address of agents' streams, as `https://HOST:7421`.
    pub uri: String,
    /// The token; needed until the machine has joined.
    pub token: Option<JoinToken>,
    /// The fleet's name or id; `None` for the token's.
    pub fleet: Option<String>,
    /// The region's name or id; `None` for the token's.
    pub region: Option<String>,
    /// What the machine calls itself, where whoever had it made says so; `None`: what it was called before, else a key of
    /// its own. A machine that has joined keeps the one it has.
    pub machine: Option<MachineKey>,
}

/// How long a credential is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Renewal {
    /// When to ask for the next; zero for now.
    pub(crate) renew_in: Duration,
}

impl MachinePass {
    /// The pass that an earlier start left in the agent's directory, or one for a token: tried until the control plane
    /// answers.
    ///
    /// # Errors
    /// See [`PassError`]; whoever cannot be reached is no error, and is tried again.
    pub async fn obtain(dir: &Path, asked: &Asked, clock: Arc<dyn Clock>) -> Result<Arc<Self>, PassError> {
        std::fs::create_dir_all(dir).map_err(|source| Error::Files {
            what: "make",
            path: dir.to_owned(),
            source,
        })?;
        let token = asked.token.clone();
        let kept = match Kept::read(dir)? {
            Some(kept) if kept.stage == Stage::Joined => {
                let is = |asked: &Option<String>, has: &str| {
                    asked.as_ref().is_none_or(|asked| asked.eq_ignore_ascii_case(has))
                };
                if !is(&asked.fleet, &kept.fleet) || !is(&asked.region, &kept.region) {
                    return Err(PassError::Elsewhere { fleet: kept.fleet, region: kept.region });
                }
                return Ok(Arc::new(Self::of(dir, token, kept, clock)));
            }
            Some(kept) => kept,
            None => Kept::drawn(dir, asked)?,
        };
        let token = token.ok_or(PassError::NoToken)?;
        // The token may be another than the one of a start that was broken off.
        let kept = Kept {
            ca: token.ca,
            fleet: asked.fleet.clone().unwrap_or_default(),
            region: asked.region.clone().unwrap_or_default(),
            ..kept
        };
        kept.write(dir)?;
        let pass = Self::of(dir, Some(token.clone()), kept, clock);
        let mut pause = PAUSE_MIN;
        loop {
            match pass.join(&asked.uri, &token).await {
                Ok(()) => return Ok(Arc::new(pass)),
                Err(error) if error.is_passing() => {
                    tracing::warn!(error = %crate::slot::ended::in_full(&error), again_in_ms = pause.as_millis(), "this machine has not joined yet");
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Joins once more, where the credential was refused and a token is there; says whether it did.
    pub(crate) async fn join_again(&self, uri: &str) -> Result<bool, PassError> {
        let Some(token) = self.token.clone() else { return Ok(false) };
        // A secret of its own, since the one that was refused may be spent. Kept before it is named, and named again after
        // an answer that was lost; shown only once it was taken.
        let before = self.kept().clone();
        if before.rejoin.is_none() {
            self.keep(Kept { rejoin: Some(draw()?), ..before })?;
        }
        self.join(uri, &token).await?;
        Ok(true)
    }

    /// One try to join.
    async fn join(&self, uri: &str, token: &JoinToken) -> Result<(), PassError> {
        let kept = self.kept().clone();
        let secret = kept.rejoin.clone().unwrap_or_else(|| kept.secret.clone());
        let channel = connect(uri, Some(token.ca)).await?;
        let request = proto::JoinRequest {
            protocol: PROTOCOL,
            token: token.reveal(),
            machine: kept.machine.0.into_bytes().to_vec(),
            fleet: kept.fleet.clone(),
            region: kept.region.clone(),
            secret_sha256: hash(&secret),
            agent_version: env!("CARGO_PKG_VERSION").to_owned(),
            now_unix_ms: self.clock.now().unix_ms(),
        };
        let standing = self.answer(MachineJoinClient::new(channel).join(request)).await?;
        let named = |given: &str, told: String| if given.is_empty() { told } else { given.to_owned() };
        let (fleet, region) =
            (named(&kept.fleet, standing.fleet_name), named(&kept.region, standing.region_name));
        tracing::info!(
            fleet,
            region,
            expires_in_s = standing.expires_in_ms / 1000,
            "this machine has joined"
        );
        self.keep(Kept {
            stage: Stage::Joined,
            ca: token.ca,
            fleet,
            region,
            secret,
            next: None,
            rejoin: None,
            ..kept
        })?;
        Ok(())
    }
}

impl Kept {
    /// A machine that begins: with the key it has where it was one before, and a secret of its own.
    fn drawn(dir: &Path, asked: &Asked) -> Result<Self, PassError> {
        let token = asked.token.as_ref().ok_or(PassError::NoToken)?;
        let before = Roster::key_for(dir, asked.fleet.as_deref(), asked.region.as_deref())?;
        let machine = match asked.machine.or(before) {
            Some(machine) => machine,
            None => MachineKey(random_key()?),
        };
        Ok(Self {
            stage: Stage::Asking,
            ca: token.ca,
            machine,
            fleet: String::new(),
            region: String::new(),
            secret: draw()?,
            next: None,
            rejoin: None,
        })
    }
}

fn random_key() -> Result<uuid::Uuid, PassError> {
    let mut bytes = [0; 16];
    let drawn = draw()?;
    bytes.copy_from_slice(&drawn.bytes()[..16]);
    Ok(uuid::Builder::from_random_bytes(bytes).into_uuid())
}

/// Says how long the credential is good for, and renews it where that is due.
pub(crate) async fn renew(pass: &MachinePass, channel: Channel) -> Result<Renewal, PassError> {
    let mut client = MachineJoinClient::new(channel);
    let kept = pass.kept().clone();
    let request = |fresh: Vec<u8>| proto::RenewRequest {
        protocol: PROTOCOL,
        credential: pass.credential().reveal(),
        secret_sha256: fresh,
        now_unix_ms: pass.clock.now().unix_ms(),
    };
    // One whose answer was lost is asked for again before anything else.
    let next = match kept.next.clone() {
        Some(next) => next,
        None => {
            let standing = pass.answer(client.renew(request(Vec::new()))).await?;
            if standing.renew_in_ms > 0 {
                return Ok(Renewal { renew_in: Duration::from_millis(standing.renew_in_ms) });
            }
            let next = draw()?;
            pass.keep(Kept { next: Some(next.clone()), ..kept.clone() })?;
            next
        }
    };
    let standing = pass.answer(client.renew(request(hash(&next)))).await?;
    pass.keep(Kept { secret: next, next: None, ..kept })?;
    tracing::info!(expires_in_s = standing.expires_in_ms / 1000, "the machine's credential is renewed");
    Ok(Renewal { renew_in: Duration::from_millis(standing.renew_in_ms) })
}

impl MachinePass {
    async fn answer(
        &self,
        call: impl Future<Output = Result<tonic::Response<proto::Standing>, tonic::Status>>,
    ) -> Result<proto::Standing, PassError> {
        let answered = timeout(ANSWER_WITHIN, call).await;
        let answered = answered.unwrap_or_else(|_elapsed| {
            Err(tonic::Status::deadline_exceeded("the control plane did not answer in time"))
        });
        let standing = answered.map_err(|status| {
            self.heed(&status);
            PassError::Refused(status)
        })?;
        let standing = standing.into_inner();
        self.compare_clocks(standing.now_unix_ms);
        Ok(standing)
    }

    /// Compares the clocks where a refusal tells the control plane's: a wrong one may be why.
    pub(crate) fn heed(&self, refusal: &tonic::Status) {
        let told = refusal.metadata().get(CLOCK_HEADER).and_then(|told| told.to_str().ok());
        if let Some(plane) = told.and_then(|told| told.parse().ok()) {
            self.compare_clocks(plane);
        }
    }

    fn compare_clocks(&self, plane: u64) {
        let apart = Duration::from_millis(plane.abs_diff(self.clock.now().unix_ms()));
        if apart > CLOCKS_DIFFER_MAX {
            tracing::warn!(
                code = "MS-S413",
                seconds = apart.as_secs(),
                "this machine's clock and the control plane's differ; the control plane's counts"
            );
        }
    }
}

impl PassError {
    /// Whether the same may go well a little later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            Self::Connect(error) => match error {
                super::ConnectError::Unreachable { .. }
                | super::ConnectError::Handshake { .. }
                | super::ConnectError::Stream { .. } => true,
                super::ConnectError::Address { .. }
                | super::ConnectError::Unprotected { .. }
                | super::ConnectError::Unpinned { .. }
                | super::ConnectError::OtherAuthority { .. } => false,
            },
            Self::Refused(status) => matches!(
                status.code(),
                tonic::Code::Unavailable | tonic::Code::DeadlineExceeded | tonic::Code::Cancelled
            ),
            Self::Files(_) | Self::Token(_) | Self::Random(_) | Self::NoToken | Self::Elsewhere { .. } => {
                false
            }
        }
    }
}
