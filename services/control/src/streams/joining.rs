//! The calls of a machine that joins, or renews its credential.

use std::sync::Arc;

use mainstay_wire::agent::{Malformed, PROTOCOL};
use mainstay_wire::join::proto::machine_join_server::MachineJoin;
use mainstay_wire::join::{Join, Renew, proto};
use tonic::{Request, Response, Status};

use super::desk::{Desk, Told};

/// The largest request: a token, two names and a hash.
pub(super) const REQUEST_BYTES_MAX: usize = 4 * 1024;

pub(crate) struct Joining(pub(super) Arc<Desk>);

#[tonic::async_trait]
impl MachineJoin for Joining {
    async fn join(&self, request: Request<proto::JoinRequest>) -> Result<Response<proto::Standing>, Status> {
        let join = Join::try_from(request.into_inner()).map_err(malformed)?;
        let desk = Arc::clone(&self.0);
        // Of its own: what is durable must be told to the streams, also where the machine hangs up.
        whole(tokio::spawn(async move { desk.join(join).await }).await)
    }

    async fn renew(
        &self,
        request: Request<proto::RenewRequest>,
    ) -> Result<Response<proto::Standing>, Status> {
        let renew = Renew::try_from(request.into_inner()).map_err(malformed)?;
        let desk = Arc::clone(&self.0);
        whole(tokio::spawn(async move { desk.renew(renew).await }).await)
    }
}

fn whole(
    done: Result<Result<Told, Status>, tokio::task::JoinError>,
) -> Result<Response<proto::Standing>, Status> {
    let told = done.map_err(|_| Status::internal("the call broke off; this is our bug"))??;
    Ok(Response::new(proto::Standing {
        protocol: PROTOCOL,
        fleet: told.fleet.to_string(),
        fleet_name: told.fleet_name,
        region: told.region.to_string(),
        region_name: told.region_name,
        expires_in_ms: millis(told.expires_in),
        renew_in_ms: millis(told.renew_in),
        now_unix_ms: told.now.unix_ms(),
    }))
}

fn millis(span: std::time::Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

fn malformed(malformed: Malformed) -> Status {
    Status::invalid_argument(format!("MS-S604: {malformed}"))
}
