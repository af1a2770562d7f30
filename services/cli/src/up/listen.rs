//! Where `up` listens. Every port is tried before anything starts, and one that is taken says who has it.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use mainstay_agent::os::ports::{TakenPorts, Transport};
use mainstay_control::{Door, listen_on};

use crate::arguments::PortChoice;
use crate::client::Ports;
use crate::failure::{Exit, Failure};

/// How often a free port is looked for that is free on every address.
const TRIES_MAX: usize = 32;

/// The addresses of an instance: loopback of both versions of IP, and what the operator named.
#[derive(Debug, Clone)]
pub struct Addresses {
    /// The native API and the allocation API.
    pub api: Vec<SocketAddr>,
    /// The agents' streams.
    pub agents: Vec<SocketAddr>,
    /// The local daemon of Multiplay's SDKs: 8086 is hard-coded in two of them.
    pub multiplay: Vec<SocketAddr>,
    /// Matchmaking for PlayFab's SDKs.
    pub playfab: Vec<SocketAddr>,
}

/// The same, listened at from here on: a port that were let go and taken again could be somebody else's in between.
#[derive(Debug)]
pub struct Doors {
    pub api: Vec<Door>,
    pub agents: Vec<Door>,
    pub multiplay: Games,
    pub playfab: Vec<Door>,
}

/// The way out where a port of `up` is taken.
const AUTO: &str = "stop it, or let Mainstay choose: --ports auto";

/// Chooses the addresses, and listens there. Ports that are chosen here are those of the run before,
/// where they are free: agents elsewhere know them.
pub fn choose(
    choice: PortChoice,
    beyond: &[IpAddr],
    before: Option<&Ports>,
) -> Result<(Addresses, Doors), Failure> {
    let had = |url: fn(&Ports) -> &str| {
        let url = before.map(url).unwrap_or_default();
        Wanted::Any { had: url.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or(0) }
    };
    let [api, agents, multiplay, playfab] = match choice {
        PortChoice::Fixed => [7420, 7421, 8086, 7422].map(Wanted::Only),
        PortChoice::Auto => {
            [had(|it| &it.api), had(|it| &it.agents), had(|it| &it.multiplay), had(|it| &it.playfab)]
        }
    };
    let (loopback, all) = (loopback(), hosts(beyond));
    // Held together, so that four free ports are four different ones.
    let held = every([
        hold(&all, api, "the API", AUTO),
        hold(&all, agents, "the agents' stream", AUTO),
        hold(&loopback, multiplay, "the Multiplay daemon", AUTO),
        hold(&all, playfab, "matchmaking for PlayFab's SDKs", AUTO),
    ])?;
    let [api, agents, multiplay, playfab] = held;
    let addresses = Addresses {
        api: addresses(&api)?,
        agents: addresses(&agents)?,
        multiplay: addresses(&multiplay)?,
        playfab: addresses(&playfab)?,
    };
    let doors = |held: Vec<TcpListener>, at: &[SocketAddr]| {
        held.into_iter().zip(at).map(|(listener, &at)| Door::Held { at, listener }).collect()
    };
    let doors = Doors {
        api: doors(api, &addresses.api),
        agents: doors(agents, &addresses.agents),
        multiplay: Games(multiplay),
        playfab: doors(playfab, &addresses.playfab),
    };
    Ok((addresses, doors))
}

fn addresses(held: &[TcpListener]) -> Result<Vec<SocketAddr>, Failure> {
    held.iter().map(TcpListener::local_addr).collect::<std::io::Result<_>>().map_err(gone)
}

/// All that are held, or one failure that names every port that is not free: who mends one after the other starts four
/// times.
fn every(held: [Result<Vec<TcpListener>, Failure>; 4]) -> Result<[Vec<TcpListener>; 4], Failure> {
    let (mut free, mut taken) = (Vec::new(), Vec::new());
    for held in held {
        match held {
            Ok(listeners) => free.push(listeners),
            Err(failure) => taken.push(failure),
        }
    }
    let mut taken = taken.into_iter();
    let Some(first) = taken.next() else {
        return free
            .try_into()
            .map_err(|_| Failure::new(Exit::Failed, "MS-U020", "a port is gone as it was taken"));
    };
    Err(taken.fold(first, |all, next| Failure {
        what: format!("{}; {}", all.what, next.what),
        why: Some([all.why, next.why].into_iter().flatten().collect::<Vec<_>>().join("; ")),
        ..all
    }))
}

/// The first address of a list: the one that is told where one is enough.
pub fn first(addresses: &[SocketAddr]) -> SocketAddr {
    let here = |address: &&SocketAddr| address.ip().is_loopback() && address.is_ipv4();
    let known = addresses.iter().find(here).or_else(|| addresses.first()).copied();
    match known {
        // A wildcard takes loopback as well.
        Some(address) if address.ip().is_unspecified() => {
            SocketAddr::from((Ipv4Addr::LOCALHOST, address.port()))
        }
        Some(address) => address,
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    }
}

/// Where this very host is: IPv6 only where there is any.
fn loopback() -> Vec<IpAddr> {
    let v6 = IpAddr::from(Ipv6Addr::LOCALHOST);
    let has_v6 = TcpListener::bind((v6, 0)).is_ok();
    std::iter::once(IpAddr::from(Ipv4Addr::LOCALHOST)).chain(has_v6.then_some(v6)).collect()
}

/// Loopback and what was named, without what a wildcard takes already. The IPv6 wildcard takes IPv4 too.
fn hosts(beyond: &[IpAddr]) -> Vec<IpAddr> {
    let (v4, v6) = (IpAddr::from(Ipv4Addr::UNSPECIFIED), IpAddr::from(Ipv6Addr::UNSPECIFIED));
    if beyond.contains(&v6) {
        return vec![v6];
    }
    let mut hosts = loopback();
    hosts.extend(beyond);
    if beyond.contains(&v4) {
        hosts.retain(|host| *host == v4 || host.is_ipv6());
    }
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// The port that is wanted.
#[derive(Debug, Clone, Copy)]
enum Wanted {
    /// This one.
    Only(u16),
    /// Any; rather the one of the run before, 0 where there was none.
    Any { had: u16 },
}

/// Where games reach their local daemon, held until it is served.
#[derive(Debug)]
pub struct Games(Vec<TcpListener>);

/// Holds the port that games reach their local daemon at; 0 takes a free one.
pub fn games(port: u16) -> Result<Games, Failure> {
    let wanted = if port == 0 { Wanted::Any { had: 0 } } else { Wanted::Only(port) };
    let fix = "stop it, or take another: --games-port PORT";
    hold(&loopback(), wanted, "the Multiplay daemon", fix).map(Games)
}

impl Games {
    /// What `server.json` calls it.
    pub fn url(&self) -> Result<String, Failure> {
        addresses(&self.0).map(|addresses| format!("http://{}", first(&addresses)))
    }

    /// To be served.
    pub fn listeners(self) -> Result<Vec<tokio::net::TcpListener>, Failure> {
        self.0
            .into_iter()
            .map(tokio::net::TcpListener::from_std)
            .collect::<std::io::Result<_>>()
            .map_err(gone)
    }
}

fn gone(error: std::io::Error) -> Failure {
    Failure::new(Exit::Failed, "MS-U020", "a port is gone as it was taken").why(error)
}

fn hold(hosts: &[IpAddr], wanted: Wanted, what: &str, fix: &str) -> Result<Vec<TcpListener>, Failure> {
    let (mut port, any) = match wanted {
        Wanted::Only(port) => (port, false),
        Wanted::Any { had } => (had, true),
    };
    let mut tries = 0;
    loop {
        tries += 1;
        match hold_all(hosts, port) {
            Ok(held) => return Ok(held),
            // Free on the first address, taken on another: the next draw.
            Err((_, error)) if any && error.kind() == ErrorKind::AddrInUse && tries < TRIES_MAX => port = 0,
            Err((at, error)) => {
                let why = if error.kind() == ErrorKind::AddrInUse { holder(port) } else { error.to_string() };
                return Err(Failure::new(
                    Exit::Failed,
                    "MS-U020",
                    format!("{what} needs port {port} on {at}"),
                )
                .why(why)
                .fix(fix));
            }
        }
    }
}

fn hold_all(hosts: &[IpAddr], port: u16) -> Result<Vec<TcpListener>, (IpAddr, std::io::Error)> {
    let mut held = Vec::with_capacity(hosts.len());
    let mut port = port;
    for &host in hosts {
        let listener = listen_on(SocketAddr::new(host, port)).map_err(|error| (host, error))?;
        port = listener.local_addr().map_err(|error| (host, error))?.port();
        held.push(listener);
    }
    Ok(held)
}

fn holder(port: u16) -> String {
    let holder = TakenPorts::read().and_then(|taken| taken.holder(port, Transport::Tcp));
    match holder {
        Ok(Some(holder)) => holder.to_string(),
        Ok(None) => format!("port {port} is taken"),
        Err(error) => format!("port {port} is taken, and who has it cannot be told: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between the choice and the start others look for free ports too.
    #[test]
    fn what_was_chosen_is_nobody_elses_until_it_is_served() {
        let Ok((addresses, doors)) = choose(PortChoice::Auto, &[], None) else { panic!("no port is free") };
        let Addresses { api, agents, multiplay, playfab } = addresses;
        let chosen = [api, agents, multiplay, playfab].concat();
        let is_free = |at: &&SocketAddr| TcpListener::bind(**at).is_ok();
        assert_eq!((chosen.iter().filter(is_free).count(), chosen.len() >= 4), (0, true), "{chosen:?}");
        drop(doors);
        assert_eq!(chosen.iter().filter(is_free).count(), chosen.len(), "{chosen:?}");
    }
}
