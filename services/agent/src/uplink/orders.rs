//! Frames become commands of bounded size. What a full disk does not take waits here, and the stream goes on: the control
//! plane goes on hearing how the servers stand.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mainstay_core::slot::{Intent, Order, Spec};
use mainstay_core::{MachineId, ServerId};
use mainstay_runtime::{Error, Growth, RETRY_AFTER};
use mainstay_supervisor::{Answer, Command, Verdict};
use mainstay_wire::agent::Frame;

use super::{StreamEnd, Uplink};
use crate::os::ports::{TakenPorts, Transport};
use crate::roster::Grown;
use crate::slot::ended::in_full;

/// What one turn takes at most: the journal refuses a turn above 512 KiB, an order is below 100 bytes beside its
/// payload of at most 30 KB, and a configuration below 10 KB.
const TURN_ORDERS_MAX: usize = 512;
const TURN_PAYLOAD_BYTES_MAX: usize = 256 * 1024;
const TURN_SPECS_MAX: usize = 32;

/// What a full disk does not take yet, by machine: the newest of each, since orders are levels. Bounded by what the machines
/// have of slots and configurations.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    machines: BTreeMap<MachineId, Later>,
}

#[derive(Debug, Default)]
struct Later {
    specs: Option<Vec<Arc<Spec>>>,
    orders: BTreeMap<ServerId, Order>,
}

/// Whether something was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taken {
    Yes,
    /// The disk is full.
    NotYet,
}

impl Waiting {
    /// Waits until what waits is to be tried again; for ever where nothing does.
    pub(super) async fn turn(&self) {
        if self.machines.is_empty() {
            std::future::pending().await
        } else {
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }

    /// Takes what one machine is told.
    pub(super) async fn take(
        &mut self,
        uplink: &Uplink,
        frame: Frame,
        known: &BTreeSet<ServerId>,
    ) -> Result<(), StreamEnd> {
        if let Some(slots) = frame.slots {
            grow(uplink, frame.machine, slots).await?;
        }
        let later = self.machines.entry(frame.machine).or_default();
        if let Some((_revision, specs)) = frame.specs {
            let specs: Vec<Arc<Spec>> = specs.into_iter().map(Arc::new).collect();
            uplink.context.builds.want(frame.machine, &specs);
            later.specs = Some(specs);
        }
        for order in frame.orders {
            if known.contains(&order.server) {
                later.orders.insert(order.server, order);
            } else {
                tracing::error!(server = %order.server, machine = %frame.machine, "an order for a slot that is not here");
            }
        }
        self.again(uplink).await
    }

    /// Tries what waits.
    pub(super) async fn again(&mut self, uplink: &Uplink) -> Result<(), StreamEnd> {
        for later in self.machines.values_mut() {
            later.obey(uplink).await?;
        }
        self.machines.retain(|_, later| later.specs.is_some() || !later.orders.is_empty());
        if !self.machines.is_empty() {
            uplink.context.builds.disk().met_full(&"orders of the control plane");
        }
        Ok(())
    }
}

/// Has as many slots on a machine as its fleet has room for, where its operator does not say how many; that takes another hello.
async fn grow(uplink: &Uplink, machine: MachineId, slots: u32) -> Result<(), StreamEnd> {
    let slots = usize::try_from(slots).unwrap_or(usize::MAX);
    let mut roster = uplink.roster.lock().await;
    let grown = TakenPorts::read().map_err(|source| crate::Error::System { source }).and_then(|taken| {
        let is_free = |port| taken.is_free(port, Transport::Udp) && taken.is_free(port, Transport::Tcp);
        roster.grow(&uplink.config, machine, slots, is_free)
    });
    match grown {
        Ok(Grown::Yes) => Err(StreamEnd::Grown { slots }),
        Ok(Grown::No) => Ok(()),
        // It serves with those it has.
        Err(error) => {
            tracing::error!(%machine, slots, error = %in_full(&error), "this machine does not get more slots");
            Ok(())
        }
    }
}

impl Later {
    async fn obey(&mut self, uplink: &Uplink) -> Result<(), StreamEnd> {
        if let Some(specs) = self.specs.take() {
            for part in specs.chunks(TURN_SPECS_MAX) {
                let taken = Command::TakeSpecs { specs: part.to_vec() };
                if ask(uplink, taken, Growth::Grows).await?.is_none() {
                    self.specs = Some(specs);
                    break;
                }
            }
            uplink.context.builds.renew();
        }
        let (ending, starting): (Vec<Order>, Vec<Order>) =
            std::mem::take(&mut self.orders).into_values().partition(|order| match order.intent {
                Intent::Stop | Intent::Leave => true,
                Intent::Run | Intent::Renew => false,
            });
        // What ends something comes first, and is taken even while the disk is full. What starts something may name a
        // configuration that is not taken yet.
        for (orders, growth) in [(ending, Growth::Shrinks), (starting, Growth::Grows)] {
            for orders in turns(orders) {
                let waits = growth == Growth::Grows && self.specs.is_some();
                if waits || obey(uplink, &orders, growth).await? == Taken::NotYet {
                    self.orders.extend(orders.into_iter().map(|order| (order.server, order)));
                }
            }
        }
        Ok(())
    }
}

/// Takes one turn's orders.
async fn obey(uplink: &Uplink, orders: &[Order], growth: Growth) -> Result<Taken, StreamEnd> {
    let servers: Vec<ServerId> = orders.iter().map(|order| order.server).collect();
    let verdicts = match ask(uplink, Command::TakeOrders { orders: orders.to_vec() }, growth).await? {
        Some(Answer::Orders(verdicts)) => verdicts,
        Some(Answer::Done | Answer::Ignored(_)) => Vec::new(),
        None => return Ok(Taken::NotYet),
    };
    let unknown = |verdict: &Verdict| match verdict {
        Verdict::UnknownConfiguration(_) => true,
        Verdict::Taken | Verdict::Same | Verdict::Older { .. } => false,
    };
    let refused: Vec<ServerId> =
        servers.into_iter().zip(&verdicts).filter(|(_, it)| unknown(it)).map(|(server, _)| server).collect();
    if refused.is_empty() {
        return Ok(Taken::Yes);
    }
    tracing::error!(?refused, "orders name configurations that were not sent");
    Err(StreamEnd::UnknownConfiguration)
}

/// `None` where the disk is full.
async fn ask(uplink: &Uplink, command: Command, growth: Growth) -> Result<Option<Answer>, StreamEnd> {
    match uplink.brain.ask(command, growth).await {
        Ok(Ok(answer)) => Ok(Some(answer)),
        Ok(Err(rejection)) => {
            tracing::error!(%rejection, "the control plane asks for more than one agent can do");
            Ok(Some(Answer::Done))
        }
        Err(Error::Lost(_) | Error::Stopping) => Err(StreamEnd::AgentEnds),
        Err(Error::JournalFull) => Ok(None),
        Err(error @ Error::Busy { .. }) => Err(StreamEnd::Refused(error)),
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
