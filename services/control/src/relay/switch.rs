//! What a relay knows and decides: who can be reached where, whom each may send to, and how much.
//!
//! Nothing of it is durable. A member that hails again, as each does every few seconds, is known again after a restart.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Duration;

use mainstay_core::{SessionId, Timestamp};
use mainstay_wire::relay::Seat;

/// The most members a relay carries for at once: some 200 bytes each.
pub(super) const SEATS_MAX: usize = 20_000;
/// The most seats behind one address and port, which is one process: a machine in so many sessions at once.
pub(super) const SEATS_OF_ADDRESS_MAX: usize = 16;
/// How long a member is known after it has hailed: two lost hails and one more.
pub(super) const KNOWN_FOR: Duration = Duration::from_secs(60);
/// How much one member may send a second, and at once: a host of 64 with 200 bytes twenty times a second to each.
pub(super) const BYTES_A_SECOND: u64 = 256 * 1024;
/// How much all may: 200 Mbit/s, a fifth of what most machines are joined with.
pub(super) const ALL_BYTES_A_SECOND: u64 = 25_000_000;

/// Who can be reached where.
#[derive(Debug, Default)]
pub(super) struct Switch {
    seats: HashMap<Seat, Seated>,
    addresses: HashMap<SocketAddr, Vec<Seat>>,
    all: Purse,
    swept: Timestamp,
}

#[derive(Debug)]
struct Seated {
    session: SessionId,
    address: SocketAddr,
    until: Timestamp,
    purse: Purse,
}

/// Until when what was sent is paid for, in microseconds.
#[derive(Debug, Default)]
struct Purse(u64);

/// A second of the rate may be spent at once.
const BURST_US: u64 = 1_000_000;

impl Purse {
    fn pays(&mut self, now: Timestamp, bytes: usize, a_second: u64) -> bool {
        let now = now.unix_ms().saturating_mul(1_000);
        let cost = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_mul(1_000_000) / a_second;
        let after = self.0.max(now).saturating_add(cost);
        let pays = after <= now + BURST_US;
        if pays {
            self.0 = after;
        }
        pays
    }
}

/// What becomes of something to be carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carried {
    /// It goes there, and comes from that seat.
    To { address: SocketAddr, from: Seat },
    /// Whoever sent it has not hailed, or not as a member of that session.
    Stranger,
    /// Nobody has hailed for that seat lately.
    Nobody,
    /// More than one may send.
    TooMuch,
}

impl Switch {
    /// A member is there from now on. `false` where there is no room for it.
    pub(super) fn seat(
        &mut self,
        now: Timestamp,
        seat: Seat,
        session: SessionId,
        address: SocketAddr,
    ) -> bool {
        self.sweep(now);
        let is_known = self.seats.contains_key(&seat);
        let at = self.addresses.get(&address).map_or(0, Vec::len);
        let moves = self.seats.get(&seat).is_none_or(|seated| seated.address != address);
        if (!is_known && self.seats.len() >= SEATS_MAX) || (moves && at >= SEATS_OF_ADDRESS_MAX) {
            return false;
        }
        if moves {
            self.leave(seat);
            self.addresses.entry(address).or_default().push(seat);
        }
        let until = now + KNOWN_FOR;
        let seated =
            self.seats.entry(seat).or_insert(Seated { session, address, until, purse: Purse::default() });
        (seated.address, seated.until) = (address, until);
        true
    }

    /// Somebody is no member any more.
    pub(super) fn unseat(&mut self, seat: Seat) {
        self.leave(seat);
        self.seats.remove(&seat);
    }

    /// Where a packet of so many bytes goes that came from an address for a seat.
    pub(super) fn carry(&mut self, now: Timestamp, from: SocketAddr, to: Seat, bytes: usize) -> Carried {
        let Some(receiver) = self.seats.get(&to).filter(|seated| now < seated.until) else {
            return Carried::Nobody;
        };
        let (session, address) = (receiver.session, receiver.address);
        let is_of_session =
            |seat: &&Seat| self.seats.get(seat).is_some_and(|it| it.session == session && now < it.until);
        let Some(from) =
            self.addresses.get(&from).and_then(|seats| seats.iter().find(is_of_session)).copied()
        else {
            return Carried::Stranger;
        };
        let Some(sender) = self.seats.get_mut(&from) else { return Carried::Stranger };
        if !sender.purse.pays(now, bytes, BYTES_A_SECOND) || !self.all.pays(now, bytes, ALL_BYTES_A_SECOND) {
            return Carried::TooMuch;
        }
        Carried::To { address, from }
    }

    /// For how many it carries.
    pub(super) fn len(&self, now: Timestamp) -> usize {
        self.seats.values().filter(|seated| now < seated.until).count()
    }

    fn leave(&mut self, seat: Seat) {
        let Some(address) = self.seats.get(&seat).map(|seated| seated.address) else { return };
        if let Some(seats) = self.addresses.get_mut(&address) {
            seats.retain(|other| *other != seat);
            if seats.is_empty() {
                self.addresses.remove(&address);
            }
        }
    }

    /// Forgets whom it has not heard, once in a while.
    fn sweep(&mut self, now: Timestamp) {
        if now < self.swept + KNOWN_FOR {
            return;
        }
        self.swept = now;
        let gone: Vec<Seat> =
            self.seats.iter().filter(|(_, seated)| now >= seated.until).map(|(seat, _)| *seat).collect();
        gone.into_iter().for_each(|seat| self.unseat(seat));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: SessionId = SessionId(uuid::Uuid::from_u128(1));
    const OTHER: SessionId = SessionId(uuid::Uuid::from_u128(2));

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_unix_ms(1_000_000_000 + seconds * 1_000)
    }

    fn seat(number: u8) -> Seat {
        Seat([number; 15])
    }

    fn address(number: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, number], 5555))
    }

    fn seated(numbers: &[u8]) -> Switch {
        let mut switch = Switch::default();
        for number in numbers {
            assert!(switch.seat(at(0), seat(*number), SESSION, address(*number)));
        }
        switch
    }

    #[test]
    fn members_of_a_session_reach_each_other_and_nobody_else() {
        let mut switch = seated(&[1, 2]);
        assert!(switch.seat(at(0), seat(3), OTHER, address(3)));
        assert_eq!(
            switch.carry(at(1), address(1), seat(2), 100),
            Carried::To { address: address(2), from: seat(1) }
        );
        assert_eq!(switch.carry(at(1), address(3), seat(2), 100), Carried::Stranger, "of another session");
        assert_eq!(switch.carry(at(1), address(9), seat(2), 100), Carried::Stranger, "of none");
        assert_eq!(switch.carry(at(1), address(1), seat(9), 100), Carried::Nobody);
        switch.unseat(seat(2));
        assert_eq!(switch.carry(at(1), address(1), seat(2), 100), Carried::Nobody, "it has left");
    }

    #[test]
    fn one_process_has_seats_in_several_sessions() {
        let mut switch = seated(&[1, 2]);
        assert!(switch.seat(at(0), seat(11), OTHER, address(1)));
        assert!(switch.seat(at(0), seat(12), OTHER, address(2)));
        assert_eq!(
            switch.carry(at(1), address(1), seat(12), 1),
            Carried::To { address: address(2), from: seat(11) }
        );
    }

    #[test]
    fn who_hails_from_elsewhere_is_reached_there() {
        let mut switch = seated(&[1, 2]);
        assert!(switch.seat(at(5), seat(2), SESSION, address(7)));
        assert_eq!(
            switch.carry(at(6), address(1), seat(2), 1),
            Carried::To { address: address(7), from: seat(1) }
        );
        assert_eq!(switch.carry(at(6), address(2), seat(1), 1), Carried::Stranger, "no longer from there");
    }

    #[test]
    fn who_does_not_hail_is_forgotten() {
        let mut switch = seated(&[1, 2]);
        let later = 60;
        assert_eq!(switch.carry(at(later), address(1), seat(2), 1), Carried::Nobody);
        assert_eq!(switch.len(at(later)), 0);
        assert!(switch.seat(at(later), seat(1), SESSION, address(1)));
        assert_eq!((switch.seats.len(), switch.addresses.len()), (1, 1), "and makes room");
    }

    #[test]
    fn nobody_sends_more_than_its_share() {
        let mut switch = seated(&[1, 2, 3]);
        let packet = 1_024;
        let sent = |switch: &mut Switch, now| {
            let carried =
                |_: &usize| matches!(switch.carry(now, address(1), seat(2), packet), Carried::To { .. });
            (0..1_000).filter(carried).count()
        };
        assert_eq!(sent(&mut switch, at(1)), 256, "a second's at once");
        assert_eq!(switch.carry(at(1), address(1), seat(2), packet), Carried::TooMuch);
        assert!(matches!(switch.carry(at(1), address(3), seat(2), packet), Carried::To { .. }), "others may");
        assert_eq!(sent(&mut switch, at(2)), 256, "and as much each second");
    }

    #[test]
    fn there_is_an_end_to_seats() {
        let mut switch = Switch::default();
        let many = u8::try_from(SEATS_OF_ADDRESS_MAX).unwrap();
        for number in 0..many {
            assert!(switch.seat(at(0), seat(number), SESSION, address(1)));
        }
        assert!(!switch.seat(at(0), seat(many), SESSION, address(1)));
        assert!(switch.seat(at(0), seat(0), SESSION, address(1)), "who is there stays");
        for number in switch.len(at(0))..SEATS_MAX {
            let mut name = [0xff; 15];
            name[..4].copy_from_slice(&u32::try_from(number).unwrap().to_be_bytes());
            let port = 1_024 + u16::try_from(number).unwrap();
            assert!(switch.seat(at(0), Seat(name), SESSION, SocketAddr::new(address(2).ip(), port)));
        }
        assert!(!switch.seat(at(0), seat(99), SESSION, address(99)));
    }
}
