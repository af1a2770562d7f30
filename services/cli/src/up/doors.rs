//! What game peers ask over UDP: where it is bound, and where the outside finds it. A router before this host, as every cloud has one,
//! makes these two addresses.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use mainstay_control::Offered;
use mainstay_control::StunAddresses::{self, One, Two};

use crate::failure::{Exit, Failure};

/// An address of this host, and, where the outside knows it by another, that one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Door {
    bind: SocketAddr,
    told: Option<SocketAddr>,
}

impl FromStr for Door {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = |text: &str| text.parse::<SocketAddr>().map_err(|_| format!("`{text}` is no IP:PORT"));
        let Some((bind, told)) = text.split_once('=') else {
            return Ok(Self { bind: address(text)?, told: None });
        };
        let (bind, told) = (address(bind)?, address(told)?);
        if told.ip().is_unspecified() || told.ip().is_multicast() || told.port() == 0 {
            return Err(format!("nobody finds {told}: name the IP and port that players send to"));
        }
        if told.is_ipv4() != bind.is_ipv4() {
            return Err(format!("{bind} and {told} are of two versions of IP"));
        }
        Ok(Self { bind, told: Some(told) })
    }
}

impl Door {
    /// Where players find it: where that was said; where it is bound to every address of this host, at the advertised one.
    fn told(self, advertised: &[IpAddr]) -> SocketAddr {
        let of_family = |ip: &&IpAddr| ip.is_ipv4() == self.bind.is_ipv4();
        match (self.told, advertised.iter().find(of_family)) {
            (Some(told), _) => told,
            (None, Some(ip)) if self.bind.ip().is_unspecified() => SocketAddr::new(*ip, self.bind.port()),
            (None, _) => self.bind,
        }
    }
}

/// What carries between players.
pub fn relay(door: Door, advertised: &[IpAddr]) -> Offered<SocketAddr> {
    Offered { bind: door.bind, told: door.told(advertised) }
}

/// Where game peers ask how they are seen: from two addresses they learn of their routers too.
pub fn stun(doors: &[Door], advertised: &[IpAddr]) -> Result<Option<Offered<StunAddresses>>, Failure> {
    let told = |door: Door| door.told(advertised);
    let offered = match *doors {
        [] => return Ok(None),
        [door] => Some(Offered { bind: One(door.bind), told: One(told(door)) }),
        [one, other] => pair(one.bind, other.bind)
            .zip(pair(told(one), told(other)))
            .map(|(bind, told)| Offered { bind, told }),
        _ => None,
    };
    offered.map(Some).ok_or_else(|| {
        Failure::new(Exit::Usage, "MS-U026", "the addresses of --stun do not go together")
            .why("a router is told from another by answers from two IP addresses of one family and two ports")
            .fix("give one address, or two with another IP and another port, as 203.0.113.1:3478,203.0.113.2:3479, and as the outside knows them")
    })
}

fn pair(primary: SocketAddr, other: SocketAddr) -> Option<StunAddresses> {
    let goes =
        primary.ip() != other.ip() && primary.port() != other.port() && primary.is_ipv4() == other.is_ipv4();
    goes.then_some(Two { primary, other })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(text: &str) -> Door {
        text.parse().unwrap()
    }

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn players_are_told_what_was_said_or_advertised_or_bound() {
        let advertised = ["203.0.113.9", "2001:db8::9"].map(|ip| ip.parse().unwrap());
        for (given, bind, told) in [
            ("10.0.0.5:3480=203.0.113.1:4480", "10.0.0.5:3480", "203.0.113.1:4480"),
            ("10.0.0.5:3480", "10.0.0.5:3480", "10.0.0.5:3480"),
            ("0.0.0.0:3480", "0.0.0.0:3480", "203.0.113.9:3480"),
            ("0.0.0.0:3480=203.0.113.1:3480", "0.0.0.0:3480", "203.0.113.1:3480"),
            ("[::]:3480", "[::]:3480", "[2001:db8::9]:3480"),
        ] {
            let offered = relay(door(given), &advertised);
            assert_eq!((offered.bind, offered.told), (address(bind), address(told)), "{given}");
        }
        let unsaid = relay(door("0.0.0.0:3480"), &[]);
        assert_eq!(unsaid.told, address("0.0.0.0:3480"), "peers take the address they reach the lobby at");
    }

    #[test]
    fn what_nobody_finds_is_refused() {
        for wrong in ["10.0.0.5", "10.0.0.5:1=", "10.0.0.5:1=0.0.0.0:1", "10.0.0.5:1=203.0.113.1:0"] {
            assert!(wrong.parse::<Door>().is_err(), "{wrong}");
        }
        let two_families = "10.0.0.5:1=[2001:db8::1]:1".parse::<Door>().unwrap_err();
        assert!(two_families.contains("two versions of IP"), "{two_families}");
    }

    #[test]
    fn two_addresses_of_stun_go_together_inside_and_outside() {
        let offered =
            stun(&[door("10.0.0.5:3478=203.0.113.1:3478"), door("10.0.0.6:3479=203.0.113.2:3479")], &[]);
        let told = offered.unwrap().unwrap().told;
        assert_eq!(told, Two { primary: address("203.0.113.1:3478"), other: address("203.0.113.2:3479") });
        for wrong in [
            ["10.0.0.5:3478=203.0.113.1:3478", "10.0.0.6:3479=203.0.113.1:3479"],
            ["10.0.0.5:3478=203.0.113.1:3478", "10.0.0.5:3479=203.0.113.2:3479"],
        ] {
            assert!(stun(&wrong.map(door), &[]).is_err(), "{wrong:?}");
        }
    }
}
