//! Frames become commands of bounded size.

use std::collections::BTreeSet;
use std::sync::Arc;

use mainstay_core::ServerId;
use mainstay_core::slot::{Intent, Order, Spec};
use mainstay_runtime::{Error, Growth};
use mainstay_supervisor::{Answer, Command, Verdict};
use mainstay_wire::agent::Frame;

use super::{StreamEnd, Uplink};

/// What one turn takes at most: the journal refuses a turn above 512 KiB, an order is below 100 bytes beside its
/// payload of at most 30 KB, and a configuration below 10 KB.
const TURN_ORDERS_MAX: usize = 512;
const TURN_PAYLOAD_BYTES_MAX: usize = 256 * 1024;
const TURN_SPECS_MAX: usize = 32;

/// Takes what one machine is told.
pub(super) async fn take(uplink: &Uplink, frame: Frame, known: &BTreeSet<ServerId>) -> Result<(), StreamEnd> {
    if let Some((_revision, specs)) = frame.specs {
        let specs: Vec<Arc<Spec>> = specs.into_iter().map(Arc::new).collect();
        for specs in specs.chunks(TURN_SPECS_MAX) {
            ask(uplink, Command::TakeSpecs { specs: specs.to_vec() }, Growth::Grows).await?;
        }
        uplink.context.builds.want(frame.machine, &specs);
    }
    let (known, unknown): (Vec<Order>, Vec<Order>) =
        frame.orders.into_iter().partition(|order| known.contains(&order.server));
    for order in unknown {
        tracing::error!(server = %order.server, machine = %frame.machine, "an order for a slot that is not here");
    }
    let (ending, starting): (Vec<Order>, Vec<Order>) =
        known.into_iter().partition(|order| match order.intent {
            Intent::Stop | Intent::Leave => true,
            Intent::Run | Intent::Renew => false,
        });
    // What ends something comes first, and is taken even while the disk is full.
    for (orders, growth) in [(ending, Growth::Shrinks), (starting, Growth::Grows)] {
        for orders in turns(orders) {
            obey(uplink, orders, growth).await?;
        }
    }
    Ok(())
}

/// Takes one turn's orders.
async fn obey(uplink: &Uplink, orders: Vec<Order>, growth: Growth) -> Result<(), StreamEnd> {
    let servers: Vec<ServerId> = orders.iter().map(|order| order.server).collect();
    let verdicts = match ask(uplink, Command::TakeOrders { orders }, growth).await? {
        Answer::Orders(verdicts) => verdicts,
        Answer::Done | Answer::Ignored(_) => Vec::new(),
    };
    let unknown = |verdict: &Verdict| match verdict {
        Verdict::UnknownConfiguration(_) => true,
        Verdict::Taken | Verdict::Same | Verdict::Older { .. } => false,
    };
    let refused: Vec<ServerId> =
        servers.into_iter().zip(&verdicts).filter(|(_, it)| unknown(it)).map(|(server, _)| server).collect();
    if refused.is_empty() {
        return Ok(());
    }
    tracing::error!(?refused, "orders name configurations that were not sent");
    Err(StreamEnd::UnknownConfiguration)
}

async fn ask(uplink: &Uplink, command: Command, growth: Growth) -> Result<Answer, StreamEnd> {
    match uplink.brain.ask(command, growth).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(rejection)) => {
            tracing::error!(%rejection, "the control plane asks for more than one agent can do");
            Ok(Answer::Done)
        }
        Err(Error::Lost(_) | Error::Stopping) => Err(StreamEnd::AgentEnds),
        Err(error @ (Error::Busy { .. } | Error::JournalFull)) => Err(StreamEnd::Refused(error)),
    }
}

/// Orders in parts that fit a turn.
fn turns(orders: Vec<Order>) -> Vec<Vec<Order>> {
    let mut turns: Vec<Vec<Order>> = Vec::new();
    let mut bytes = 0;
    for order in orders {
        let payload = order.allocation.as_ref().and_then(|session| session.payload.as_ref());
        let size = payload.map_or(0, |payload| payload.len());
        match turns.last_mut() {
            Some(turn) if turn.len() < TURN_ORDERS_MAX && bytes + size <= TURN_PAYLOAD_BYTES_MAX => {
                bytes += size;
                turn.push(order);
            }
            Some(_) | None => {
                bytes = size;
                turns.push(vec![order]);
            }
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::slot::{ConfigurationRef, Session};
    use mainstay_core::{AllocationId, BuildConfigurationId, FleetNumber, Generation};
    use uuid::Uuid;

    #[test]
    fn a_turn_never_outgrows_the_journal() {
        let fleet = FleetNumber::new(1).unwrap();
        let order = |n: u32, bytes: usize| Order {
            server: ServerId::of(fleet, n),
            generation: Generation::from_number(1),
            configuration: ConfigurationRef { id: BuildConfigurationId::of(fleet, 1), revision: 1 },
            allocation: Some(Session {
                allocation: AllocationId(Uuid::nil()),
                payload: Some("x".repeat(bytes).into()),
            }),
            intent: Intent::Run,
        };
        let sizes = |turns: Vec<Vec<Order>>| turns.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(turns((0..1100).map(|n| order(n, 1)).collect())), [512, 512, 76]);
        assert_eq!(sizes(turns((0..20).map(|n| order(n, 30_000)).collect())), [8, 8, 4]);
        assert_eq!(sizes(turns(vec![order(1, 300_000), order(2, 1)])), [1, 1]);
        assert_eq!(sizes(turns(vec![])), [0; 0]);
    }
}
