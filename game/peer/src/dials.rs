//! Calls under way. Whoever is not heard is dialed again and again, at all its addresses; as the network comes back all of these calls
//! would come through at once, and each link that is made in vain puts an older one out, with what is under way on it. The first that stands is enough.

use std::convert::Infallible;
use std::net::SocketAddr;

use mainstay_migration::PeerId;
use mainstay_wire::relay::Seat;
use tokio::sync::oneshot;

use crate::key::Whom;

/// Until when a call goes on: it ends when this does.
pub(crate) type HungUp = oneshot::Receiver<Infallible>;

/// Those of one peer.
#[derive(Debug, Default)]
pub(crate) struct Dials(Vec<Dial>);

#[derive(Debug)]
struct Dial {
    whom: Whom,
    address: SocketAddr,
    under_way: oneshot::Sender<Infallible>,
}

/// By which way somebody is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Course {
    /// From socket to socket.
    Direct,
    /// Through a relay.
    Relayed,
}

impl Course {
    /// The one to an address.
    pub(crate) fn to(address: SocketAddr) -> Self {
        if Seat::at(address).is_some() { Self::Relayed } else { Self::Direct }
    }
}

impl Dials {
    /// One more begins.
    pub(crate) fn begin(&mut self, whom: Whom, address: SocketAddr) -> HungUp {
        self.0.retain(|dial| !dial.under_way.is_closed());
        let (under_way, hung_up) = oneshot::channel();
        self.0.push(Dial { whom, address, under_way });
        hung_up
    }

    /// A link to that peer stands: whoever else calls it by the same way stops.
    pub(crate) fn hang_up(&mut self, peer: PeerId, course: Course) {
        self.0.retain(|dial| dial.whom != Whom::Peer(peer) || Course::to(dial.address) != course);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mainstay_core::SessionId;

    #[test]
    fn the_first_link_that_stands_ends_the_other_calls_to_its_peer_by_its_way() {
        let (one, other) = (PeerId(1), PeerId(2));
        let direct: SocketAddr = "192.0.2.1:5555".parse().unwrap();
        let relayed = Seat::of(SessionId::LOWEST, one).address();
        let mut dials = Dials::default();
        let calls = [
            (Whom::Peer(one), direct),
            (Whom::Peer(one), relayed),
            (Whom::Peer(other), direct),
            (Whom::Anybody, direct),
        ];
        let mut calls = calls.map(|(whom, address)| dials.begin(whom, address));
        let mut ended = |dials: &mut Dials, course| {
            dials.hang_up(one, course);
            calls.each_mut().map(|call| call.try_recv() == Err(oneshot::error::TryRecvError::Closed))
        };
        assert_eq!(ended(&mut dials, Course::Direct), [true, false, false, false]);
        assert_eq!(ended(&mut dials, Course::Relayed), [true, true, false, false]);
        drop(calls);
        let _hung_up = dials.begin(Whom::Anybody, direct);
        assert_eq!(dials.0.len(), 1, "what is over is forgotten");
    }
}
