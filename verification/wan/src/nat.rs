//! Routers that translate addresses, in the tiers that games know: built from nftables' rules.

use crate::shell::nft;
use crate::{Failure, ip};

/// Where a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the network itself, with an address of its own.
    Public,
    /// The same, with a second address.
    Twice,
    /// Behind a router.
    Behind(Nat),
}

/// What a router does (CRYENGINE's `ENatType`, RFC 4787).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nat {
    /// One UDP port of the host is forwarded to it, and leaves with the same number: anybody reaches it.
    Open {
        /// Which.
        port: u16,
    },
    /// A mapping for each of the host's ports, the same for all it sends to; only those it has sent to get through.
    Moderate,
    /// Another mapping for each it sends to.
    Strict,
}

/// A host's address behind its router: the same behind each.
pub(crate) const INSIDE: &str = "192.168.1.10";
const ROUTER: &str = "192.168.1.1";

/// Puts a router's rules into its namespace, and the line to its host.
pub(crate) fn build(nat: Nat, router: &str, host: &str) -> Result<(), Failure> {
    for words in [
        format!("-n {router} link add lan0 type veth peer name eth0 netns {host}"),
        format!("-n {router} address add {ROUTER}/24 dev lan0"),
        format!("-n {router} link set lan0 up"),
        format!("-n {host} address add {INSIDE}/24 dev eth0"),
        format!("-n {host} link set eth0 up"),
        format!("-n {host} route add default via {ROUTER}"),
        format!("netns exec {router} sysctl -q -w net.ipv4.ip_forward=1"),
    ] {
        ip(&words)?;
    }
    nft(router, &rules(nat)).map(drop)
}

/// What comes in unasked is dropped before it is tracked: a packet sent to punch a hole would otherwise leave an entry that
/// takes the port the hole needs.
fn rules(nat: Nat) -> String {
    let (forwarded, leaving, unasked) = match nat {
        Nat::Open { port } => (
            format!("iifname \"wan0\" udp dport {port} dnat to {INSIDE}"),
            format!("oifname \"wan0\" udp sport {port} masquerade to :{port}\n oifname \"wan0\" masquerade"),
            String::new(),
        ),
        Nat::Moderate => (String::new(), "oifname \"wan0\" masquerade".to_owned(), unasked_dropped()),
        Nat::Strict => {
            (String::new(), "oifname \"wan0\" masquerade fully-random".to_owned(), unasked_dropped())
        }
    };
    format!(
        "table ip nat {{\n chain before {{ type nat hook prerouting priority -100;\n {forwarded}\n }}\n \
         chain after {{ type nat hook postrouting priority 100;\n {leaving}\n }}\n}}\n{unasked}"
    )
}

fn unasked_dropped() -> String {
    "table ip filter {\n chain in { type filter hook input priority 0;\n iifname \"wan0\" ct state new drop\n }\n}\n"
        .to_owned()
}
