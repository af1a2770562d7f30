//! Whose socket is at the other end of a connection from this machine.
//!
//! The kernel knows: `sock_diag(7)` answers a question about one connection with `idiag_uid`, "the user ID of the socket
//! owner". It is asked about the client's own socket: its source is our peer, its destination we. Where a kernel has no
//! `tcp_diag`, `/proc/net/tcp` says the same in its column `uid` ("the effective UID of the creator of the socket",
//! `proc_pid_net(5)`), at the price of a walk through all sockets of the machine; so it is the second way.
//!
//! A socket's user is who made it (the file-system uid at that moment): it cannot be lent by a later change of uid. Once
//! a client has closed its end, the kernel may say nothing or 0; so it is asked as soon as a connection is accepted.

use std::net::{IpAddr, SocketAddr};

use procfs::net::{TcpNetEntry, tcp, tcp6};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};

/// `SOCK_DIAG_BY_FAMILY`, `NLM_F_REQUEST`, `NLMSG_ERROR`: `linux/sock_diag.h`, `linux/netlink.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
/// `AF_INET`, `AF_INET6`, `IPPROTO_TCP`.
const AF_INET: u8 = 2;
const AF_INET6: u8 = 10;
const IPPROTO_TCP: u8 = 6;
/// `struct nlmsghdr` and `struct inet_diag_req_v2`.
const HEADER_BYTES: usize = 16;
const REQUEST_BYTES: usize = HEADER_BYTES + 56;
/// Where `idiag_uid` stands: after the header, four bytes, the `inet_diag_sockid` of 48, and three numbers.
const UID_AT: usize = HEADER_BYTES + 4 + 48 + 12;
/// More than one answer takes (72 bytes and a few attributes).
const ANSWER_BYTES_MAX: usize = 1_024;

/// The user who made the socket at the other end of an accepted connection: `None` where the kernel knows no such socket,
/// which on this machine means that the client has closed it already.
pub(super) fn uid(ours: SocketAddr, theirs: SocketAddr) -> Option<u32> {
    let (ours, theirs) = (canonical(ours), canonical(theirs));
    match ask(theirs, ours) {
        Ok(Some(uid)) => Some(uid),
        // No such socket, or no such kernel module: it says the same of both.
        Ok(None) | Err(_) => look(theirs, ours),
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn ask(source: SocketAddr, destination: SocketAddr) -> Result<Option<u32>, Errno> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?;
    let kernel = SocketAddrNetlink::new(0, 0);
    sendto(&socket, &request(source, destination), SendFlags::empty(), &kernel)?;
    let mut answer = [0; ANSWER_BYTES_MAX];
    // The kernel has answered before the question's call returned.
    let (length, _) = recv(&socket, &mut answer, RecvFlags::DONTWAIT)?;
    Ok(uid_in(answer.get(..length).unwrap_or_default()))
}

/// `struct nlmsghdr`, then `struct inet_diag_req_v2` (`linux/inet_diag.h`), for one socket.
fn request(source: SocketAddr, destination: SocketAddr) -> [u8; REQUEST_BYTES] {
    let family = match (source.ip(), destination.ip()) {
        (IpAddr::V4(_), IpAddr::V4(_)) => AF_INET,
        (IpAddr::V6(_), _) | (_, IpAddr::V6(_)) => AF_INET6,
    };
    let mut bytes = Vec::with_capacity(REQUEST_BYTES);
    #[expect(clippy::cast_possible_truncation, reason = "a constant of 72")]
    bytes.extend((REQUEST_BYTES as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Sequence, and the kernel as the addressee.
    bytes.extend([0; 8]);
    bytes.extend([family, IPPROTO_TCP, 0, 0]);
    // Whatever its state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(source.port().to_be_bytes());
    bytes.extend(destination.port().to_be_bytes());
    for address in [source.ip(), destination.ip()] {
        bytes.extend(match address {
            IpAddr::V4(address) => {
                let mut wide = [0; 16];
                wide[..4].copy_from_slice(&address.octets());
                wide
            }
            IpAddr::V6(address) => address.octets(),
        });
    }
    // Any interface, and no cookie.
    bytes.extend([0; 4]);
    bytes.extend([0xff; 8]);
    let mut request = [0; REQUEST_BYTES];
    request.copy_from_slice(&bytes);
    request
}

/// The uid in an answer; `None` where it is an error or cut short.
fn uid_in(answer: &[u8]) -> Option<u32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let uid = answer.get(UID_AT..UID_AT + 4)?;
    (kind == SOCK_DIAG_BY_FAMILY).then(|| u32::from_ne_bytes([uid[0], uid[1], uid[2], uid[3]]))
}

/// The same from `/proc/net/tcp`.
fn look(source: SocketAddr, destination: SocketAddr) -> Option<u32> {
    let is = |entry: &TcpNetEntry| {
        canonical(entry.local_address) == source && canonical(entry.remote_address) == destination
    };
    [tcp(), tcp6()].into_iter().flatten().flatten().find(is).map(|entry| entry.uid)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};

    use nix::unistd::{Uid, setfsuid};

    use super::*;

    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        (client, server)
    }

    #[test]
    fn a_loopback_sockets_user_is_found_by_both_ways() {
        for ip in [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)] {
            let Ok(listener) = TcpListener::bind((ip, 0)) else {
                assert!(ip.is_ipv6(), "a machine may have no IPv6, and has IPv4");
                continue;
            };
            let (client, server) = pair(&listener);
            let (ours, theirs) = (server.local_addr().unwrap(), server.peer_addr().unwrap());
            let me = Uid::effective().as_raw();
            assert_eq!(uid(ours, theirs), Some(me), "{ip}");
            assert_eq!(look(theirs, ours), Some(me), "{ip}");
            drop(client);
        }
    }

    /// Where the agent is root: the user is the one who made the socket, not the agent's.
    #[test]
    fn a_socket_made_by_another_user_is_that_users() {
        if !Uid::effective().is_root() {
            // Only root can make sockets as somebody else; the row above holds for everybody.
            return;
        }
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let other = std::thread::spawn(move || {
            setfsuid(Uid::from_raw(61_000));
            TcpStream::connect(address).unwrap()
        });
        let (server, _) = listener.accept().unwrap();
        let client = other.join().unwrap();
        let (ours, theirs) = (server.local_addr().unwrap(), server.peer_addr().unwrap());
        assert_eq!(uid(ours, theirs), Some(61_000));
        assert_eq!(look(theirs, ours), Some(61_000));
        drop(client);
    }

    #[test]
    fn a_connection_that_is_not_there_is_nobodys() {
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        assert_eq!(uid(nowhere, nowhere), None);
    }

    #[test]
    fn an_answer_cut_short_or_of_another_kind_names_nobody() {
        let mut answer = [7; UID_AT + 4];
        answer[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        assert_eq!(uid_in(&answer), Some(0x0707_0707));
        for length in 0..answer.len() {
            assert_eq!(uid_in(&answer[..length]), None);
        }
        answer[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        assert_eq!(uid_in(&answer), None, "NLMSG_ERROR");
    }
}
