//! Newer orders are taken and obeyed at once; older ones are ignored.

use alloc::collections::BTreeSet;

use mainstay_core::Turn;
use mainstay_core::slot::{Intent, Order};

use crate::decide::obey;
use crate::{Answer, Event, Rejection, SLOTS_MAX, Supervisor, Verdict};

pub(super) fn decide(turn: &mut Turn<'_, Supervisor>, orders: &[Order]) -> Result<Answer, Rejection> {
    let slots = turn.state().slots().count();
    let new: BTreeSet<_> = orders
        .iter()
        .map(|order| order.server)
        .filter(|&server| turn.state().slot(server).is_none())
        .collect();
    if slots + new.len() > SLOTS_MAX {
        return Err(Rejection::SlotsFull { slots, asked: new.len(), limit: SLOTS_MAX });
    }
    Ok(Answer::Orders(orders.iter().map(|order| take(turn, order)).collect()))
}

fn take(turn: &mut Turn<'_, Supervisor>, order: &Order) -> Verdict {
    if let Some(slot) = turn.state().slot(order.server) {
        let newest = slot.order.generation;
        if order.generation == newest {
            return Verdict::Same;
        }
        if order.generation < newest {
            return Verdict::Older { newest };
        }
    }
    let starts = match order.intent {
        Intent::Run | Intent::Renew => true,
        Intent::Stop | Intent::Leave => false,
    };
    if starts && turn.state().spec(order.configuration).is_none() {
        return Verdict::UnknownConfiguration(order.configuration);
    }
    turn.emit(Event::OrderTaken { order: order.clone() });
    obey::obey(turn, order);
    Verdict::Taken
}
