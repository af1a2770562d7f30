//! A wide-area network on one host: what crosses it is delayed, shaken, lost and cut as told, because this is what host
//! migration is about and the kernels tests run on may have no `netem`.
//!
//! Every [`Host`] is a network namespace with a TUN device; behind a [`nat`] there is a router's namespace in between. One
//! thread, the carrier, reads every packet that leaves a host, looks up the [`mod@line`] it would take, and writes it to the
//! host it is for when its time has come. Nothing here knows what the packets hold. Lines are cut there; a host's own filter, which nftables is, cuts what comes to it.
//!
//! It needs Linux, root, iproute2, nftables for NAT, and `/dev/net/tun`; where one of them is not to be had,
//! [`Network::new`] says so, and the caller skips loudly. Namespaces that a killed process left behind are removed by the next
//! network made on the host.
//!
//! A process in the middle costs processor time that the hosts do not have: [`Network::counts`] tells how late packets were
//! written, so that a figure can be thrown away where the network itself was the bottleneck.

mod carrier;
mod failure;
mod filter;
mod host;
pub mod line;
mod names;
pub mod nat;
mod random;
mod shell;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use self::carrier::{Counts, IN_FLIGHT_MAX};
pub use self::failure::Failure;
pub use self::host::{HOSTS_MAX, Host};

use self::carrier::Carrier;
use self::line::{Line, Passage};
use self::names::Names;
use self::nat::Place;
use self::shell::ip;

/// Hosts, and the lines between them. Dropping it takes everything away.
#[derive(Debug)]
pub struct Network {
    hosts: Vec<Host>,
    weather: Arc<Mutex<Weather>>,
    /// Ends before the namespaces do.
    _carrier: Carrier,
    _names: Names,
}

/// What becomes of packets now.
#[derive(Debug)]
struct Weather {
    /// By sender, then by receiver.
    lines: Vec<Vec<Passage>>,
    counts: Counts,
}

impl Network {
    /// Hosts at the given places, each pair joined by the same line. The seed decides what is lost and how long each packet
    /// takes, though not when the hosts send.
    ///
    /// # Errors
    /// [`Failure`]: what this host does not allow, or does not have.
    pub fn new(places: &[Place], line: Line, seed: u64) -> Result<Self, Failure> {
        if places.len() > HOSTS_MAX {
            return Err(Failure::TooManyHosts { asked: places.len() });
        }
        let names = Names::claim()?;
        let mut hosts = Vec::with_capacity(places.len());
        let mut devices = Vec::with_capacity(places.len());
        for (index, &place) in places.iter().enumerate() {
            let (host, device) = Host::new(&names, index, place)?;
            hosts.push(host);
            devices.push(device);
        }
        let lines = vec![vec![Passage::Open(line); places.len()]; places.len()];
        let weather = Arc::new(Mutex::new(Weather { lines, counts: Counts::of(places.len()) }));
        let carrier = Carrier::start(devices, Arc::clone(&weather), seed)?;
        Ok(Self { hosts, weather, _carrier: carrier, _names: names })
    }

    /// The hosts, in the order of their places.
    #[must_use]
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// One host.
    ///
    /// # Panics
    /// Where there is no such host.
    #[must_use]
    #[track_caller]
    pub fn host(&self, index: usize) -> &Host {
        &self.hosts[index]
    }

    /// What becomes of packets from one host to another from now on; what is on its way already arrives.
    ///
    /// # Panics
    /// Where there is no such host.
    #[track_caller]
    pub fn set(&self, from: usize, to: usize, passage: Passage) {
        self.weather().lines[from][to] = passage;
    }

    /// The same both ways.
    ///
    /// # Panics
    /// Where there is no such host.
    #[track_caller]
    pub fn set_both(&self, one: usize, other: usize, passage: Passage) {
        self.set(one, other, passage);
        self.set(other, one, passage);
    }

    /// Both ways between one host and all others: a pulled plug, or its return.
    ///
    /// # Panics
    /// Where there is no such host.
    #[track_caller]
    pub fn set_all(&self, host: usize, passage: Passage) {
        for other in (0..self.hosts.len()).filter(|&other| other != host) {
            self.set_both(host, other, passage);
        }
    }

    /// What was carried so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.weather().counts.clone()
    }

    fn weather(&self) -> MutexGuard<'_, Weather> {
        lock(&self.weather)
    }
}

/// A panic under this lock can only come from a wrong index, before anything has changed.
fn lock(weather: &Mutex<Weather>) -> MutexGuard<'_, Weather> {
    weather.lock().unwrap_or_else(PoisonError::into_inner)
}
