//! What waits to be sent on each stream. Bounded: an agent that does not read is cut off, and told everything anew when it
//! connects again; nothing grows for its sake.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use mainstay_core::{MachineId, ServerId};
use mainstay_fleet::StreamId;
use mainstay_wire::agent::{Answer, Down, FRAME_ORDERS_BYTES_MAX, Frame, Look, Welcome, proto};
use tokio::sync::{mpsc, watch};
use tokio_stream::Stream;
use tonic::Status;

/// The most messages that wait on one stream. One message is what one sync released for the agent, so this is some hundred
/// milliseconds of silence at full load, and seconds at an ordinary one.
pub(crate) const OUTBOX_MESSAGES_MAX: usize = 256;

/// The outboxes of all streams. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outboxes(Arc<Mutex<HashMap<StreamId, Outbox>>>);

/// One stream's outbox.
#[derive(Debug, Clone)]
pub(crate) struct Outbox {
    messages: mpsc::Sender<Down>,
    end: Arc<watch::Sender<Option<Status>>>,
}

/// A message found no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NoRoom;

/// What goes down one stream, until its end.
pub(crate) struct Downward {
    messages: mpsc::Receiver<Down>,
    end: Pin<Box<dyn Future<Output = Status> + Send>>,
    ended: bool,
}

impl Outboxes {
    pub(crate) fn open(&self, stream: StreamId) -> (Outbox, Downward) {
        let (messages, waiting) = mpsc::channel(OUTBOX_MESSAGES_MAX);
        let (end, mut ended) = watch::channel(None);
        let outbox = Outbox { messages, end: Arc::new(end) };
        self.lock().insert(stream, outbox.clone());
        let end = Box::pin(async move {
            match ended.wait_for(Option::is_some).await.map(|status| (*status).clone()) {
                Ok(Some(status)) => status,
                Ok(None) | Err(_) => Status::unavailable("the control plane closed the stream"),
            }
        });
        (outbox, Downward { messages: waiting, end, ended: false })
    }

    pub(crate) fn close(&self, stream: StreamId) {
        self.lock().remove(&stream);
    }

    /// Puts frames on their streams, one message a stream and at most one frame a machine in it. A full outbox is cut.
    pub(crate) fn put(&self, frames: Vec<(StreamId, Frame)>) {
        let mut by_stream: BTreeMap<StreamId, Vec<Frame>> = BTreeMap::new();
        for (stream, frame) in frames {
            by_stream.entry(stream).or_default().push(frame);
        }
        let mut outboxes = self.lock();
        for (stream, frames) in by_stream {
            let Some(outbox) = outboxes.get(&stream) else { continue };
            if !outbox.put(frames) {
                tracing::warn!(
                    ?stream,
                    "an agent does not read its stream; it is cut, and will connect again"
                );
                outbox.cut(Status::resource_exhausted(format!(
                    "MS-S602: {OUTBOX_MESSAGES_MAX} messages wait for this agent; connect again"
                )));
                outboxes.remove(&stream);
            }
        }
    }

    /// Asks about a server's files. A full outbox is not cut for it: the question is not put.
    pub(crate) fn look(&self, stream: StreamId, look: Look) -> Result<(), NoRoom> {
        let outbox = self.lock().get(&stream).cloned().ok_or(NoRoom)?;
        outbox.messages.try_send(Down::Look(look)).map_err(|_| NoRoom)
    }

    /// Ends a stream.
    pub(crate) fn cut(&self, stream: StreamId, status: &Status) {
        if let Some(outbox) = self.lock().remove(&stream) {
            outbox.cut(status.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<StreamId, Outbox>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outbox {
    /// Says who the agent is; its stream is new, so there is room.
    pub(crate) fn welcome(&self, welcome: Welcome) {
        if self.messages.try_send(Down::Welcome(welcome)).is_err() {
            self.cut(Status::internal("the first message of a stream found no room"));
        }
    }

    /// Says what became of an ask. A full outbox is cut: the agent asks again on its next stream.
    pub(crate) fn answer(&self, answer: Answer) {
        if self.messages.try_send(Down::Answer(answer)).is_err() {
            self.cut(Status::resource_exhausted(format!(
                "MS-S602: {OUTBOX_MESSAGES_MAX} messages wait for this agent; connect again"
            )));
        }
    }

    /// Ends the stream; what waits on it is dropped.
    pub(crate) fn cut(&self, status: Status) {
        self.end.send_if_modified(|end| {
            let first = end.is_none();
            if first {
                *end = Some(status);
            }
            first
        });
    }

    /// Waits until the stream is cut, or its agent is gone.
    pub(crate) async fn ended(&self) {
        let mut end = self.end.subscribe();
        tokio::select! {
            _cut = end.wait_for(Option::is_some) => {}
            () = self.messages.closed() => {}
        }
    }

    fn put(&self, frames: Vec<Frame>) -> bool {
        let merged = merge(frames);
        split(merged).into_iter().all(|message| self.messages.try_send(Down::Frames(message)).is_ok())
    }
}

impl Stream for Downward {
    type Item = Result<proto::Down, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Poll::Ready(status) = self.end.as_mut().poll(cx) {
            self.ended = true;
            return Poll::Ready(Some(Err(status)));
        }
        match self.messages.poll_recv(cx) {
            Poll::Ready(Some(message)) => Poll::Ready(Some(Ok(message.into()))),
            // Its senders are gone; the end says how.
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// One frame a machine: the newest specs, and the newest order of each server, which replaces older ones.
fn merge(frames: Vec<Frame>) -> Vec<Frame> {
    if frames.len() == 1 {
        return frames;
    }
    let mut merged: BTreeMap<MachineId, Frame> = BTreeMap::new();
    for frame in frames {
        let Some(earlier) = merged.get_mut(&frame.machine) else {
            merged.insert(frame.machine, frame);
            continue;
        };
        if frame.specs.is_some() {
            (earlier.specs, earlier.slots) = (frame.specs, frame.slots);
        }
        let mut place: HashMap<ServerId, usize> =
            earlier.orders.iter().enumerate().map(|(place, order)| (order.server, place)).collect();
        for order in frame.orders {
            match place.get(&order.server) {
                Some(&place) => earlier.orders[place] = order,
                None => {
                    place.insert(order.server, earlier.orders.len());
                    earlier.orders.push(order);
                }
            }
        }
    }
    merged.into_values().collect()
}

/// Messages of at most [`FRAME_ORDERS_BYTES_MAX`] bytes of payload, give or take one order.
fn split(frames: Vec<Frame>) -> Vec<Vec<Frame>> {
    let (mut messages, mut message, mut bytes) = (Vec::new(), Vec::new(), 0);
    for Frame { machine, mut specs, mut slots, orders } in frames {
        let mut part = Vec::new();
        for order in orders {
            bytes += order_bytes(&order);
            part.push(order);
            if bytes >= FRAME_ORDERS_BYTES_MAX {
                let (specs, slots) = (specs.take(), slots.take());
                message.push(Frame { machine, specs, slots, orders: std::mem::take(&mut part) });
                messages.push(std::mem::take(&mut message));
                bytes = 0;
            }
        }
        if specs.is_some() || !part.is_empty() {
            message.push(Frame { machine, specs, slots, orders: part });
        }
    }
    if !message.is_empty() {
        messages.push(message);
    }
    messages
}

/// What an order takes on the wire: its payload, and some fifty bytes.
fn order_bytes(order: &mainstay_core::slot::Order) -> usize {
    let payload = order.allocation.as_ref().and_then(|session| session.payload.as_ref());
    50 + payload.map_or(0, |payload| payload.len())
}

#[cfg(test)]
mod tests;
