//! Frames become commands of bounded size.

use std::collections::BTreeSet;
use std::sync::Arc;

use mainstay_core::ServerId;
use mainstay_core::slot::{Order, Spec};
use mainstay_runtime::Error;
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
            ask(uplink, Command::TakeSpecs { specs: specs.to_vec() }).await?;
        }
    }
    let (known, unknown): (Vec<Order>, Vec<Order>) =
        frame.orders.into_iter().partition(|order| known.contains(&order.server));
    for order in unknown {
        tracing::error!(server = %order.server, machine = %frame.machine, "an order for a slot that is not here");
    }
    for orders in turns(known) {
        let refused: Vec<ServerId> = match ask(uplink, Command::TakeOrders { orders: orders.clone() }).await?
        {
            Answer::Orders(verdicts) => orders
                .iter()
                .zip(verdicts)
                .filter(|(_, verdict)| matches!(verdict, Verdict::UnknownConfiguration(_)))
                .map(|(order, _)| order.server)
                .collect(),
            Answer::Done | Answer::Ignored(_) => Vec::new(),
        };
        if !refused.is_empty() {
            tracing::error!(?refused, "orders name configurations that were not sent");
            return Err(StreamEnd::UnknownConfiguration);
        }
    }
    Ok(())
}

async fn ask(uplink: &Uplink, command: Command) -> Result<Answer, StreamEnd> {
    match uplink.brain.ask(command).await {
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
    use mainstay_core::slot::{ConfigurationRef, Intent, Session};
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
