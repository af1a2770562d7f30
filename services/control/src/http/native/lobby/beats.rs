//! `/v1/sessions/{session}/beats`: signs of life, written nowhere.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use mainstay_core::{SessionId, Timestamp};
use mainstay_lobby::{Epoch, Grant, MEMBERS_MAX, Misses, Observation, PeerKey, Renewal};
use mainstay_wire::lobby::{Receipt, Renews};
use mainstay_wire::native::{BeatAnswer, BeatRequest, RelayedRenewal, lease_word};
use mainstay_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::super::super::App;
use super::super::super::failure::{Failure, Native};
use super::{acts, lobby, look, member, peer_of, session_of, signature_of};

pub(super) fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new().routes(routes!(beat))
}

/// A member lives. Of the host this renews its lease, and keeps those it hears in the session; of another it says whether it misses
/// the host, and brings a renewal that the host cannot bring itself.
#[utoipa::path(
    post,
    operation_id = "beat",
    path = "/v1/sessions/{session}/beats",
    tag = "lobby",
    params(("session" = String, Path, description = "The session's id")),
    request_body = BeatRequest,
    responses((status = 200, description = "How the session stands", body = BeatAnswer), (status = 403, description = "It is no member", body = Problem), (status = 409, description = "It misses a host that is gone, and this session gets no other", body = Problem), (status = 410, description = "It has ended", body = Problem), (status = 429, description = "Too often", body = Problem)),
)]
async fn beat(
    State(app): State<Arc<App>>,
    Path(named): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Json<BeatAnswer>, Native> {
    acts(&app, &headers)?;
    let session = session_of(&named)?;
    let peer = member(&app, &headers, session)?;
    let asked: BeatRequest = super::super::body(body)?;
    let lobbies = lobby(&app)?;
    lobbies.limits().beat(session, peer, app.now())?;
    let before = look(&app, session).await?;
    if !before.session.members.contains_key(&peer) {
        return Err(Failure::lobby(lobbies, session, &before.session.is_out(peer)).into());
    }
    let observed = observed(session, peer, &asked, before.session.grant, app.now())?;
    let brought = observed.iter().find_map(|observation| {
        let Observation::Renewed { renewal: Renewal::AsOf(at), .. } = observation else { return None };
        Some(*at)
    });
    for observation in observed {
        lobbies.shard().observe(observation).await?;
    }
    let after = look(&app, session).await?;
    if let Err(why) = &after.goes_on
        && asked.misses_host
    {
        return Err(Failure::lobby(lobbies, session, why).into());
    }
    let epoch = after.session.epoch();
    Ok(Json(BeatAnswer {
        as_of: after.now.unix_ms(),
        epoch: epoch.0,
        receipt: brought
            .filter(|renewed| epoch.0 == asked.epoch && after.lease.has_counted(*renewed, after.now))
            .map(|renewed| lobbies.receipt(&Receipt { session, epoch, renewed, as_of: after.now })),
        lease: lease_word(after.lease).to_owned(),
        revision: after.session.revision,
        migrates: after.migrates,
        certificate: (epoch.0 > asked.epoch).then(|| lobbies.certificate(&after.session)).flatten(),
    }))
}

/// What a sign of life tells the lobby.
fn observed(
    session: SessionId,
    peer: PeerKey,
    asked: &BeatRequest,
    grant: Option<Grant>,
    now: Timestamp,
) -> Result<Vec<Observation>, Native> {
    let epoch = Epoch(asked.epoch);
    let host = grant.filter(|grant| grant.epoch == epoch).map(|grant| grant.host);
    if host == Some(peer) {
        let (renewal, hears) = (Renewal::Now(asked.pace.into()), heard(asked)?);
        return Ok(vec![Observation::Renewed { session, epoch, host: peer, renewal, hears }]);
    }
    // What it said while nobody listened is as old as that.
    let age = asked.as_of.map_or(Duration::ZERO, |as_of| now.since(Timestamp::from_unix_ms(as_of)));
    let silent = asked.silent_ms.map(|ms| Duration::from_millis(ms).saturating_add(age));
    let misses = if asked.misses_host { Misses::Yes { silent } } else { Misses::No };
    let misses = Observation::Misses { session, epoch, peer, misses };
    let (Some(host), Some(relayed)) = (host, &asked.relayed) else { return Ok(vec![misses]) };
    let renewal = brought(session, epoch, host, relayed)?;
    Ok(vec![misses, Observation::Renewed { session, epoch, host, renewal, hears: heard(asked)? }])
}

/// Whom a host hears.
fn heard(asked: &BeatRequest) -> Result<Vec<PeerKey>, Native> {
    let most = usize::try_from(MEMBERS_MAX).unwrap_or(usize::MAX);
    if asked.hears.len() > most {
        let detail = format!("`hears` names {} members, at most {most}", asked.hears.len());
        return Err(Failure::bad_request(detail, "name members alone").into());
    }
    asked.hears.iter().map(|named| peer_of(named)).collect()
}

fn brought(
    session: SessionId,
    epoch: Epoch,
    host: PeerKey,
    relayed: &RelayedRenewal,
) -> Result<Renewal, Native> {
    let as_of = Timestamp::from_unix_ms(relayed.as_of);
    let renews = Renews { session, epoch, as_of };
    renews.verify(&host, &signature_of(&relayed.signature)?).map_err(Failure::unproven)?;
    Ok(Renewal::AsOf(as_of))
}
