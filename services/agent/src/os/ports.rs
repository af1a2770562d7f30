//! Which ports are taken, and by whom: read from `/proc`, so that looking never disturbs a game that is just binding.

use std::collections::BTreeMap;
use std::fmt;

use procfs::net::{TcpState, tcp, tcp6, udp, udp6};
use procfs::process::FDTarget;

use super::OsError;

/// A transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
        })
    }
}

/// All ports taken on this machine (in this network namespace) at one moment.
///
/// A port is taken on any address: a game binds all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TakenPorts {
    sockets: BTreeMap<(u16, Transport), u64>,
}

/// Who has a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortHolder {
    /// The port.
    pub port: u16,
    /// Its transport.
    pub transport: Transport,
    /// The process, if it can be seen.
    pub process: Option<PortProcess>,
}

/// A process that has a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortProcess {
    /// Its name (`/proc/PID/comm`).
    pub name: String,
    /// Its pid.
    pub pid: i32,
}

impl fmt::Display for PortHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "port {}/{} is held by ", self.port, self.transport)?;
        match &self.process {
            Some(process) => write!(f, "{} (pid {})", process.name, process.pid),
            None => f.write_str("a process that this user cannot see"),
        }
    }
}

impl TakenPorts {
    /// Reads the tables of sockets.
    ///
    /// # Errors
    /// `/proc/net` cannot be read.
    pub fn read() -> Result<Self, OsError> {
        let mut sockets = BTreeMap::new();
        for (name, entries) in [("udp", udp()), ("udp6", udp6())] {
            for entry in found(name, entries)? {
                sockets.insert((entry.local_address.port(), Transport::Udp), entry.inode);
            }
        }
        for (name, entries) in [("tcp", tcp()), ("tcp6", tcp6())] {
            for entry in found(name, entries)?.into_iter().filter(|entry| entry.state == TcpState::Listen) {
                sockets.insert((entry.local_address.port(), Transport::Tcp), entry.inode);
            }
        }
        Ok(Self { sockets })
    }

    /// Says whether nobody has this port.
    #[must_use]
    pub fn is_free(&self, port: u16, transport: Transport) -> bool {
        !self.sockets.contains_key(&(port, transport))
    }

    /// Who has this port; nobody if it is free. Looks through every process's descriptors, so ask for one port, not
    /// for a range.
    ///
    /// # Errors
    /// `/proc` cannot be listed.
    pub fn holder(&self, port: u16, transport: Transport) -> Result<Option<PortHolder>, OsError> {
        let Some(&inode) = self.sockets.get(&(port, transport)) else { return Ok(None) };
        Ok(Some(PortHolder { port, transport, process: process_of(inode)? }))
    }
}

/// A table is missing where the kernel has no IPv6.
fn found<T>(name: &str, entries: Result<Vec<T>, procfs::ProcError>) -> Result<Vec<T>, OsError> {
    match entries {
        Ok(entries) => Ok(entries),
        Err(procfs::ProcError::NotFound(_)) => Ok(Vec::new()),
        Err(source) => Err(OsError::Proc { what: format!("net/{name}"), source }),
    }
}

fn process_of(inode: u64) -> Result<Option<PortProcess>, OsError> {
    let failed = |source| OsError::Proc { what: "processes".to_owned(), source };
    for process in procfs::process::all_processes().map_err(failed)? {
        // Processes end meanwhile, and other users' descriptors are closed to us.
        let Ok(process) = process else { continue };
        let Ok(mut descriptors) = process.fd() else { continue };
        let has_it = descriptors.any(|fd| matches!(fd, Ok(fd) if fd.target == FDTarget::Socket(inode)));
        if let (true, Ok(stat)) = (has_it, process.stat()) {
            return Ok(Some(PortProcess { name: stat.comm, pid: stat.pid }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn taken_ports_are_seen_with_their_holder_and_free_again_after() {
        let own = std::process::id().cast_signed();
        for address in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0"] {
            let udp = UdpSocket::bind(address).unwrap();
            let tcp = TcpListener::bind(address).unwrap();
            let ports = [
                (udp.local_addr().unwrap().port(), Transport::Udp),
                (tcp.local_addr().unwrap().port(), Transport::Tcp),
            ];
            let taken = TakenPorts::read().unwrap();
            for (port, transport) in ports {
                assert!(!taken.is_free(port, transport), "{port}/{transport}");
                let holder = taken.holder(port, transport).unwrap().unwrap();
                assert_eq!(holder.process.as_ref().unwrap().pid, own);
                let text = holder.to_string();
                assert!(text.starts_with(&format!("port {port}/{transport} is held by ")), "{text}");
                assert!(text.ends_with(&format!(" (pid {own})")), "{text}");
            }
            drop((udp, tcp));
            let taken = TakenPorts::read().unwrap();
            for (port, transport) in ports {
                assert_eq!(taken.holder(port, transport).unwrap(), None, "{port}/{transport} of {address}");
            }
        }
    }
}
