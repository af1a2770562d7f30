//! What waits on a stream: merged, split, bounded.

use std::sync::Arc;

use mainstay_core::slot::{ConfigurationRef, Intent, Order, Session};
use mainstay_core::{AllocationId, BuildConfigurationId, FleetNumber, Generation};
use tokio_stream::StreamExt as _;
use tonic::Code;

use super::*;

fn machine(counter: u32) -> MachineId {
    MachineId::of(FleetNumber::new(1).unwrap(), counter)
}

fn order(server: u32, generation: u64, payload: usize) -> Order {
    Order {
        server: ServerId::of(FleetNumber::new(1).unwrap(), server),
        generation: Generation::from_number(generation),
        configuration: ConfigurationRef { id: BuildConfigurationId::from_number(1).unwrap(), revision: 1 },
        allocation: (payload > 0).then(|| Session {
            allocation: AllocationId::LOWEST,
            payload: Some(Arc::from("x".repeat(payload))),
        }),
        intent: Intent::Run,
    }
}

fn frame(of: u32, orders: Vec<Order>) -> Frame {
    Frame { machine: machine(of), specs: None, slots: None, orders }
}

async fn next(down: &mut Downward) -> Result<mainstay_wire::agent::Down, Status> {
    down.next().await.unwrap().map(|message| message.try_into().unwrap())
}

#[tokio::test]
async fn what_one_sync_released_is_one_message_with_one_frame_a_machine() {
    let outboxes = Outboxes::default();
    let (_outbox, mut down) = outboxes.open(StreamId(1));
    let (_other, mut other) = outboxes.open(StreamId(2));
    let on = |stream, frame| (StreamId(stream), frame);
    outboxes.put(vec![
        on(1, Frame { specs: Some((1, vec![])), ..frame(1, vec![order(1, 1, 0), order(2, 1, 0)]) }),
        on(1, frame(2, vec![order(9, 4, 0)])),
        on(2, frame(3, vec![order(7, 1, 0)])),
        on(1, frame(1, vec![order(1, 2, 0), order(3, 1, 0)])),
        on(3, frame(4, vec![order(8, 1, 0)])),
    ]);
    let Down::Frames(frames) = next(&mut down).await.unwrap() else { panic!() };
    let merged =
        Frame { specs: Some((1, vec![])), ..frame(1, vec![order(1, 2, 0), order(2, 1, 0), order(3, 1, 0)]) };
    assert_eq!(frames, [merged, frame(2, vec![order(9, 4, 0)])], "the newest order of each server");
    let Down::Frames(frames) = next(&mut other).await.unwrap() else { panic!() };
    assert_eq!(frames, [frame(3, vec![order(7, 1, 0)])]);
}

#[tokio::test]
async fn an_agent_that_does_not_read_is_cut_and_nothing_grows() {
    let outboxes = Outboxes::default();
    let (outbox, mut down) = outboxes.open(StreamId(1));
    let one = || vec![(StreamId(1), frame(1, vec![order(1, 1, 0)]))];
    for _ in 0..OUTBOX_MESSAGES_MAX {
        outboxes.put(one());
    }
    assert!(outboxes.lock().contains_key(&StreamId(1)), "full, and still whole");
    outboxes.put(one());
    assert!(!outboxes.lock().contains_key(&StreamId(1)));
    outbox.ended().await;
    let end = next(&mut down).await.unwrap_err();
    assert_eq!(end.code(), Code::ResourceExhausted, "the end comes before what waits");
    assert!(end.message().starts_with("MS-S602"), "{end:?}");
    assert!(down.next().await.is_none());
}

#[test]
fn large_payloads_are_split_over_messages_in_order() {
    let orders: Vec<Order> = (0..400).map(|server| order(server, 1, 30 * 1024)).collect();
    let whole = Frame { specs: Some((7, vec![])), ..frame(1, orders.clone()) };
    let messages = split(vec![whole]);
    assert!(messages.len() >= 3, "{}", messages.len());
    let frames: Vec<Frame> = messages.into_iter().flatten().collect();
    for frame in &frames {
        let bytes: usize = frame.orders.iter().map(order_bytes).sum();
        assert!(bytes <= FRAME_ORDERS_BYTES_MAX + 31 * 1024, "{bytes}");
    }
    assert_eq!(frames[0].specs, Some((7, vec![])), "specs come before the orders that name them");
    assert!(frames[1..].iter().all(|frame| frame.specs.is_none()));
    let back: Vec<Order> = frames.into_iter().flat_map(|frame| frame.orders).collect();
    assert_eq!(back, orders);
}

#[test]
fn a_frame_of_specs_alone_is_sent() {
    let specs = Frame { specs: Some((1, vec![])), ..frame(1, vec![]) };
    assert_eq!(split(vec![specs.clone()]), [vec![specs]]);
}
