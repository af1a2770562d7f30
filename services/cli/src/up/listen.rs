//! Where `up` listens. Every port is tried before anything starts, and one that is taken says who has it.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use mainstay_agent::os::ports::{TakenPorts, Transport};

use crate::arguments::PortChoice;
use crate::failure::{Exit, Failure};

/// The addresses of an instance; loopback, for dev mode is for this machine alone.
#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// The native API and the allocation API.
    pub api: SocketAddr,
    /// The agents' streams.
    pub agents: SocketAddr,
    /// The local daemon of Multiplay's SDKs: 8086 is hard-coded in two of them.
    pub multiplay: SocketAddr,
}

/// Chooses the addresses, and shows that they are free now.
pub fn choose(choice: PortChoice) -> Result<Addresses, Failure> {
    let (api, agents, multiplay) = match choice {
        PortChoice::Fixed => (7420, 7421, 8086),
        PortChoice::Auto => (0, 0, 0),
    };
    // Held together, so that three free ports are three different ones.
    let held = [
        hold(api, "the API")?,
        hold(agents, "the agents' stream")?,
        hold(multiplay, "the Multiplay daemon")?,
    ];
    let address = |listener: &TcpListener| {
        listener.local_addr().map_err(|error| {
            Failure::new(Exit::Failed, "MS-U020", "a port is gone as it was taken").why(error)
        })
    };
    let [api, agents, multiplay] = &held;
    Ok(Addresses { api: address(api)?, agents: address(agents)?, multiplay: address(multiplay)? })
}

fn hold(port: u16, what: &str) -> Result<TcpListener, Failure> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        let why = if error.kind() == ErrorKind::AddrInUse { holder(port) } else { error.to_string() };
        Failure::new(Exit::Failed, "MS-U020", format!("{what} needs port {port}"))
            .why(why)
            .fix("stop it, or let Mainstay choose: --ports auto")
    })
}

fn holder(port: u16) -> String {
    let holder = TakenPorts::read().and_then(|taken| taken.holder(port, Transport::Tcp));
    match holder {
        Ok(Some(holder)) => holder.to_string(),
        Ok(None) => format!("port {port} is taken"),
        Err(error) => format!("port {port} is taken, and who has it cannot be told: {error}"),
    }
}
