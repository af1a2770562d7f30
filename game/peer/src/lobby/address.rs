//! Where a lobby is, what it offers beside its HTTP face, and where this peer is as seen on the way there.

use std::net::{SocketAddr, ToSocketAddrs as _, UdpSocket};

use ureq::http::Uri;
use ureq::http::uri::Scheme;

fn address_of(url: &str) -> Option<SocketAddr> {
    let url: Uri = url.parse().ok()?;
    let host = url.host()?.trim_matches(['[', ']']);
    let usual = if url.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    (host, url.port_u16().unwrap_or(usual)).to_socket_addrs().ok()?.next()
}

/// What a lobby offers at an address of its own that it does not know: the one it is reached at.
pub(super) fn at(url: &str, offered: SocketAddr) -> Option<SocketAddr> {
    if !offered.ip().is_unspecified() {
        return Some(offered);
    }
    address_of(url).map(|lobby| SocketAddr::new(lobby.ip(), offered.port()))
}

/// The address that packets to the lobby leave from, with the port of the peer's socket.
pub(super) fn seen_from(url: &str, bound: SocketAddr) -> Vec<SocketAddr> {
    if !bound.ip().is_unspecified() {
        return vec![bound];
    }
    let own = || {
        let lobby = address_of(url)?;
        let any: SocketAddr = if lobby.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0_u16; 8], 0).into() };
        let socket = UdpSocket::bind(any).ok()?;
        // Of UDP this sends nothing: the system says which of its addresses it would send from.
        socket.connect(lobby).ok()?;
        socket.local_addr().ok()
    };
    own().map(|own| SocketAddr::new(own.ip(), bound.port())).into_iter().collect()
}
