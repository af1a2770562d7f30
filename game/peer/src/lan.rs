//! Sessions on a LAN, found without any server: each host says by multicast DNS that it has one (RFC 6762, RFC 6763), and whoever
//! looks for one hears it.
//!
//! What is said is named for the session and its host, so nobody has to ask whether a name is free, and a new host does not
//! contend with what is remembered of the one before: of several hosts of a session, the newest is meant.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mainstay_migration::{Epoch, Migratable, PeerId, SessionId, Stamp, Terms, WithoutMajority};
use mdns_sd::{
    DaemonStatus, IfKind, Receiver, ResolvedService, ScopedIp, ServiceDaemon, ServiceEvent, ServiceInfo,
};

use crate::Joining;
use crate::clock::after;

/// What sessions are announced as.
pub const SERVICE: &str = "_mainstay._udp.local.";
/// The form of what is said.
const FORM: &str = "1";
/// The longest name of a session in bytes: a string of a TXT record has 255, its key included.
pub const NAME_BYTES_MAX: usize = 128;
/// How many hosts one search remembers: more than anybody chooses from.
const FOUND_MAX: usize = 256;
/// How many addresses of one host are tried.
const DOORS_MAX: usize = 16;
/// How long a process waits for the word that its sessions are gone to leave it: the LAN forgets them by itself, later.
const FAREWELL_WITHIN: Duration = Duration::from_millis(500);

/// A session that somebody on this LAN hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSession {
    /// Which.
    pub session: SessionId,
    /// For people.
    pub name: String,
    /// Whether it goes on with another host.
    pub migratable: Migratable,
    /// What its sides do that have no majority.
    pub without_majority: WithoutMajority,
    /// How many play.
    pub members: u32,
    /// How many it has at most.
    pub size: u32,
    /// Whether newcomers are let in.
    pub joining: Joining,
    /// Its host.
    pub host: PeerId,
    /// Which one that is: a later one has a higher stamp.
    pub stamp: Stamp,
    /// Where its host is.
    pub doors: Vec<SocketAddr>,
}

/// Why nothing can be found or announced on a LAN.
#[derive(Debug, thiserror::Error)]
pub enum LanError {
    /// The system gives no sockets or no thread for it.
    #[error("cannot speak multicast DNS")]
    Mdns(#[source] mdns_sd::Error),
    /// The name is too long.
    #[error("the session's name has {length} bytes, at most {NAME_BYTES_MAX} are announced")]
    Name {
        /// How many it has.
        length: usize,
    },
}

/// A look around on the LAN, which goes on until it is dropped.
#[derive(Debug)]
pub struct Search {
    ears: Ears,
}

impl Search {
    /// Begins to look.
    ///
    /// # Errors
    /// Where the system refuses multicast DNS.
    pub fn start() -> Result<Self, LanError> {
        let daemon = ServiceDaemon::new().map_err(LanError::Mdns)?;
        Ok(Self { ears: Ears::open(&daemon)? })
    }

    /// Waits so long for a host that `is_meant`, be it that it was found before.
    pub fn find(
        &mut self,
        patience: Duration,
        is_meant: impl Fn(&FoundSession) -> bool,
    ) -> Option<FoundSession> {
        let until = after(patience);
        loop {
            if let Some(found) = self.sessions().into_iter().find(&is_meant) {
                return Some(found);
            }
            let event = self.ears.events.recv_deadline(until).ok()?;
            self.ears.hear(event);
        }
    }

    /// What stands: each session once, with its newest host.
    pub fn sessions(&mut self) -> Vec<FoundSession> {
        self.ears.listen();
        let mut newest: BTreeMap<SessionId, &FoundSession> = BTreeMap::new();
        for found in self.ears.known.values() {
            let known = newest.entry(found.session).or_insert(found);
            if known.stamp < found.stamp {
                *known = found;
            }
        }
        newest.into_values().cloned().collect()
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        // It has said nothing that is to be taken back.
        let _status = self.ears.daemon.shutdown();
    }
}

/// Everything on this LAN that answers within that time.
///
/// # Errors
/// Where the system refuses multicast DNS.
pub fn search(patience: Duration) -> Result<Vec<FoundSession>, LanError> {
    let mut search = Search::start()?;
    let _none = search.find(patience, |_| false);
    Ok(search.sessions())
}

/// What hosts say.
struct Ears {
    daemon: ServiceDaemon,
    events: Receiver<ServiceEvent>,
    known: BTreeMap<String, FoundSession>,
}

impl std::fmt::Debug for Ears {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ears").field("known", &self.known).finish_non_exhaustive()
    }
}

impl Ears {
    fn open(daemon: &ServiceDaemon) -> Result<Self, LanError> {
        let events = daemon.browse(SERVICE).map_err(LanError::Mdns)?;
        Ok(Self { daemon: daemon.clone(), events, known: BTreeMap::new() })
    }

    fn listen(&mut self) {
        while let Ok(event) = self.events.try_recv() {
            self.hear(event);
        }
        // The library lets go of whoever has left too much unread.
        if self.events.is_disconnected()
            && let Ok(events) = self.daemon.browse(SERVICE)
        {
            self.events = events;
        }
    }

    /// What is new of a host that is known has room, however many are.
    fn take(&mut self, name: &str, found: FoundSession) {
        if self.known.len() < FOUND_MAX || self.known.contains_key(name) {
            self.known.insert(name.to_owned(), found);
        } else {
            tracing::debug!(name, most = FOUND_MAX, "not taken from the LAN: there are too many");
        }
    }

    fn hear(&mut self, event: ServiceEvent) {
        match event {
            ServiceEvent::ServiceResolved(service) => match read(&service) {
                Some(found) => self.take(service.get_fullname(), found),
                None => tracing::debug!(name = service.get_fullname(), "not taken from the LAN"),
            },
            ServiceEvent::ServiceRemoved(_, name) => drop(self.known.remove(&name)),
            // Of what a later version of the library may tell, nothing is a session.
            ServiceEvent::SearchStarted(_)
            | ServiceEvent::ServiceFound(..)
            | ServiceEvent::SearchStopped(_)
            | _ => {}
        }
    }
}

/// What a host says of its session, as it reads on the LAN.
fn read(service: &ResolvedService) -> Option<FoundSession> {
    let text = |key: &str| service.get_property_val_str(key);
    let number = |key: &str| text(key)?.parse::<u32>().ok();
    let id = |key: &str| {
        let digits = text(key).filter(|digits| digits.len() == 32)?;
        u128::from_str_radix(digits, 16).ok()
    };
    if text("form") != Some(FORM) {
        return None;
    }
    let is_reached = |ip: &IpAddr| match ip {
        IpAddr::V4(_) => true,
        // It says nothing without the interface, and a book of addresses does not hold that.
        IpAddr::V6(ip) => !ip.is_unicast_link_local(),
    };
    let mut addresses: Vec<IpAddr> =
        service.get_addresses().iter().map(ScopedIp::to_ip_addr).filter(is_reached).collect();
    addresses.sort_unstable();
    addresses.truncate(DOORS_MAX);
    Some(FoundSession {
        session: SessionId(id("session")?),
        name: text("name").filter(|name| name.len() <= NAME_BYTES_MAX)?.to_owned(),
        migratable: match text("migrates")? {
            "yes" => Migratable::Yes,
            "no" => Migratable::No,
            _ => return None,
        },
        without_majority: match text("alone")? {
            "fork" => WithoutMajority::Fork,
            "end" => WithoutMajority::End,
            "hold" => WithoutMajority::Hold,
            _ => return None,
        },
        members: number("members")?,
        size: number("size")?,
        joining: match text("open") {
            // Hosts before said nothing of it, and were open.
            Some("yes") | None => Joining::Open,
            Some("no") => Joining::Closed,
            Some(_) => return None,
        },
        host: PeerId(id("host")?),
        stamp: Stamp { epoch: Epoch(number("epoch")?), fork: number("fork")? },
        doors: addresses.into_iter().map(|ip| SocketAddr::new(ip, service.get_port())).collect(),
    })
    .filter(|found| !found.doors.is_empty())
}

/// What a host says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) stamp: Stamp,
    pub(crate) members: usize,
    pub(crate) joining: Joining,
    /// What the session was made with.
    pub(crate) terms: Terms,
}

/// By what a session is known on a LAN, whoever is its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sign {
    pub(crate) session: SessionId,
    pub(crate) name: String,
}

/// One member's voice on the LAN: while it is the host, it says so. Dropped, it takes back what it said.
#[derive(Debug)]
pub(crate) struct Voice {
    me: PeerId,
    bound: SocketAddr,
    sign: Sign,
    ears: Ears,
    said: Option<(Word, String)>,
}

/// The word that a voice's sessions are gone, while it is on its way.
#[derive(Debug)]
pub(crate) struct Farewell(Receiver<DaemonStatus>);

impl Farewell {
    pub(crate) fn wait(&self) {
        // Where it did not get out in time, it will be forgotten.
        let _late = self.0.recv_timeout(FAREWELL_WITHIN);
    }
}

impl Voice {
    pub(crate) fn new(me: PeerId, bound: SocketAddr, sign: Sign) -> Result<Self, LanError> {
        let length = sign.name.len();
        if length > NAME_BYTES_MAX {
            return Err(LanError::Name { length });
        }
        let daemon = ServiceDaemon::new().map_err(LanError::Mdns)?;
        Ok(Self { me, bound, sign, ears: Ears::open(&daemon)?, said: None })
    }

    /// This peer is the host: says so, where that is news. What the library has no room for is said the next time.
    pub(crate) fn say(&mut self, word: Word) {
        if self.said.as_ref().is_some_and(|(said, _)| *said == word) {
            return;
        }
        let said = self.info(word).and_then(|info| {
            let name = info.get_fullname().to_owned();
            self.ears.daemon.register(info).map(|()| name)
        });
        match said {
            Ok(name) => self.said = Some((word, name)),
            Err(error) => tracing::debug!(session = %self.sign.session, %error, "not announced yet"),
        }
    }

    /// It is not the host, or no longer: it says nothing, and hears what others say, so that it knows them once it is.
    pub(crate) fn hush(&mut self) {
        self.ears.listen();
        if let Some((_, name)) = &self.said
            && self.ears.daemon.unregister(name).is_ok()
        {
            self.said = None;
        }
    }

    fn info(&self, word: Word) -> mdns_sd::Result<ServiceInfo> {
        let Sign { session, name } = &self.sign;
        let Terms { size, migratable, without_majority, .. } = word.terms;
        let said = [
            ("form", FORM.to_owned()),
            ("session", format!("{:032x}", session.0)),
            ("host", format!("{:032x}", self.me.0)),
            ("name", name.clone()),
            ("epoch", word.stamp.epoch.0.to_string()),
            ("fork", word.stamp.fork.to_string()),
            ("members", word.members.to_string()),
            ("size", size.to_string()),
            ("open", if word.joining == Joining::Open { "yes" } else { "no" }.to_owned()),
            ("migrates", if migratable == Migratable::Yes { "yes" } else { "no" }.to_owned()),
            (
                "alone",
                match without_majority {
                    WithoutMajority::Fork => "fork",
                    WithoutMajority::End => "end",
                    WithoutMajority::Hold => "hold",
                }
                .to_owned(),
            ),
        ];
        // At most 63 bytes: the session, and half of the host's fingerprint.
        let instance = format!("{:032x}-{:016x}", session.0, self.me.0 >> 64);
        let machine = format!("mainstay-{:016x}.local.", self.me.0 >> 64);
        let ip = self.bound.ip();
        let info = |ips: &[IpAddr]| {
            ServiceInfo::new(SERVICE, &instance, &machine, ips, self.bound.port(), &said[..])
        };
        let mut info = match ip {
            IpAddr::V4(ip) if ip.is_unspecified() => {
                let mut info = info(&[])?.enable_addr_auto();
                info.set_interfaces(vec![IfKind::IPv4]);
                info
            }
            IpAddr::V6(ip) if ip.is_unspecified() => info(&[])?.enable_addr_auto(),
            IpAddr::V4(_) | IpAddr::V6(_) => {
                let mut info = info(&[ip])?;
                info.set_interfaces(vec![IfKind::Addr(ip)]);
                info
            }
        };
        // It holds the half of a key's fingerprint: nobody else has it.
        info.set_requires_probe(false);
        Ok(info)
    }

    /// Other hosts of this session: sides of it that have lost each other.
    pub(crate) fn rivals(&mut self) -> Vec<FoundSession> {
        self.ears.listen();
        let of_it = |found: &&FoundSession| found.session == self.sign.session && found.host != self.me;
        self.ears.known.values().filter(of_it).cloned().collect()
    }

    /// Takes back what was said; `None` where the library is gone.
    pub(crate) fn leave(self) -> Option<Farewell> {
        self.ears.daemon.shutdown().ok().map(Farewell)
    }
}

#[cfg(test)]
mod tests {
    use mainstay_migration::{Level, OrderName};

    use super::*;

    #[test]
    fn what_a_host_says_is_what_is_found() {
        let sign = Sign { session: SessionId(7), name: "harbour".to_owned() };
        let terms = Terms {
            order: OrderName::Documented,
            migratable: Migratable::Yes,
            without_majority: WithoutMajority::Hold,
            level: Level::Asynchronous,
            size: 8,
        };
        let bound = SocketAddr::from(([127, 0, 0, 1], 5_555));
        let voice = Voice::new(PeerId(9), bound, sign).unwrap();
        for joining in [Joining::Open, Joining::Closed] {
            let stamp = Stamp { epoch: Epoch(3), fork: 1 };
            let said = voice.info(Word { stamp, members: 2, joining, terms }).unwrap();
            let found = read(&said.as_resolved_service()).unwrap();
            assert_eq!((found.joining, found.stamp, found.members, found.size), (joining, stamp, 2, 8));
            assert_eq!((found.session, found.host, found.doors), (SessionId(7), PeerId(9), vec![bound]));
        }
        // The library says nothing more for it.
        drop(voice.leave());
    }
}
